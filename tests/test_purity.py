"""check_pure, jit(f, check=True) and the flag check_purity: each kind of impurity is found and
named, with its line and the pure version; what is pure is left alone."""

import builtins
import collections
import dataclasses
import datetime
import functools
import importlib
import logging
import os
import random
import subprocess
import sys
import time
import types
import uuid

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import check_pure, lax
from tinyjax.errors import ImpureFunctionError
from tinyjax.purity import Finding, PurityReport


def only(f, *args, **kwargs):
    """The only finding of a check."""
    report = check_pure(f, *args, **kwargs)
    assert not report and not report.ok
    assert len(report.findings) == 1, str(report)
    finding = report.findings[0]
    for line in (str(finding), repr(report)):
        assert finding.variable in line or finding.kind == "hidden state"
    assert len(str(finding).splitlines()) <= 8, str(finding)
    return finding


def expect(finding, kind, variable, text, *rewrite):
    """Assert what a finding is, on which line of this file, and lines of its rewrite."""
    assert (finding.kind, finding.variable) == (kind, variable), str(finding)
    assert text in finding.text, str(finding)
    assert finding.file == __file__
    lines = [line.strip() for line in finding.rewrite.splitlines()]
    for line in rewrite:
        assert line in lines, str(finding)


# ---- the four of every tutorial ------------------------------------------------------------------

factor = 2.0


def reads_a_global(x):
    return x * factor


def set_factor(value):
    global factor
    factor = value


def test_a_global_that_changes():
    finding = only(reads_a_global, 1.0)
    expect(finding, "global read", "factor", "return x * factor", "def reads_a_global(x, factor):")
    assert "set_factor() binds it anew" in finding.message
    assert finding.function == "reads_a_global"


def hidden_random(x):
    return x + np.random.normal(size=3)


def test_hidden_random_numbers():
    before = np.random.get_state()[2]
    finding = only(hidden_random, jnp.ones(3))
    expect(
        finding,
        "random state",
        "numpy.random",
        "np.random.normal(size=3)",
        "def hidden_random(x, key):",
        "return x + jax.random.normal(key, (3,))",
        "hidden_random(x, subkey)",
    )
    assert np.random.get_state()[2] == before


@pytest.mark.parametrize("kept", [False, True])
def test_the_normal_number_that_numpy_keeps(kept):
    """NumPy makes normal numbers in pairs; the second is handed out later, without a draw."""
    np.random.seed(0)
    if kept:
        np.random.normal()

    def noisy(x):
        x = 2 * x
        return x + np.random.normal()

    before = np.random.get_state()
    finding = only(noisy, 1.0)
    assert finding.kind == "random state" and finding.text == "return x + np.random.normal()"
    assert "jax.random.normal(key, ())" in finding.rewrite
    assert all(np.array_equal(a, b) for a, b in zip(np.random.get_state(), before, strict=True))


def mutates(params, x):
    params["w"] = params["w"] - 0.1
    return x * params["w"]


def test_a_mutated_argument():
    params = {"w": 1.0}
    expect(
        only(mutates, params, 1.0),
        "mutated argument",
        "params['w']",
        'params["w"] = params["w"] - 0.1',
        "params = {**params, 'w': params['w'] - 0.1}",
        "return x * params['w'], params",
        "y, params = mutates(params, x)",
    )
    assert params == {"w": 1.0}


def prints(x):
    print("x is", x)
    return x * 2


def test_printing(capsys):
    finding = only(prints, 1.0)
    expect(finding, "I/O", "print", 'print("x is", x)', 'jax.debug.print("x is {}", x)')
    assert capsys.readouterr().out == ""


# ---- what is written -----------------------------------------------------------------------------

counter = 0
history = []
settings = {"train": {"step": 0}}
totals = np.zeros(3)
namespace = types.SimpleNamespace(step=0)
queue = collections.deque()


def counts(x):
    global counter
    counter += 1
    return x * counter


def test_a_global_is_written():
    finding = only(counts, 1.0)
    rewrite = ["def counts(x, counter):", "counter = counter + 1", "return x * counter, counter"]
    expect(finding, "global write", "counter", "counter += 1", *rewrite)
    assert finding.rewrite.endswith("y, counter = counts(x, counter)")
    assert "(0 -> 1)" in finding.message
    assert counter == 0


def makes_a_global(x):
    global made_here
    made_here = x.shape
    return x


def test_a_global_that_was_not_there():
    expect(only(makes_a_global, jnp.ones(3)), "global write", "made_here", "made_here = x.shape")
    assert "made_here" not in globals()


def test_a_variable_of_the_enclosing_function_is_written():
    n = 0

    def f(x):
        nonlocal n
        n = n + 2
        return x

    expect(only(f, 1.0), "closure write", "n", "n = n + 2", "def f(x, n):", "return x, n")
    assert n == 0


def nested_dict(x):
    first = len(settings)
    settings["train"]["step"] = 1 + first
    return x


def test_a_global_dict_is_changed():
    expect(
        only(nested_dict, 1.0),
        "mutated global",
        "settings['train']['step']",
        'settings["train"]["step"] = 1 + first',
        "settings = {**settings, 'train': {**settings['train'], 'step': 1 + first}}",
    )
    assert settings == {"train": {"step": 0}}


def numpy_global(x):
    totals[0] += 1
    return x


def test_a_global_numpy_array_is_changed():
    finding = only(numpy_global, 1.0)
    line = "totals[0] += 1"
    expect(finding, "mutated global", "totals", line, "totals = jnp.asarray(totals).at[0].add(1)")
    assert totals[0] == 0


def attribute_of_global(x):
    namespace.step += 1
    queue.append(3)
    return x


def test_several_findings_and_their_report():
    report = check_pure(attribute_of_global, 1.0)
    assert [f.variable for f in report] == ["namespace.step", "queue"]
    assert len(report) == 2 and report[1].kind == "mutated global"
    assert str(report).startswith("attribute_of_global is not pure (2 findings):\n1. ")
    assert "\n2. " in str(report)
    assert namespace.step == 0 and not queue


def method(name, *args):
    """A statement, its rewrite: a method of a list of the enclosing function."""
    things = {"list": [3, 1], "set": {1}, "dict": {"a": 1}}[args[0]]

    def f(x):
        getattr(things, name)(*args[1:])
        return x

    return f, things


@pytest.mark.parametrize(
    "case",
    [("append", "list", 2), ("clear", "set"), ("update", "dict", {"b": 2}), ("sort", "list")],
)
def test_methods_that_change(case):
    f, things = method(*case)
    before = things.copy()
    finding = only(f, 1.0)
    assert finding.kind == "mutated closure" and finding.variable.startswith("things")
    assert "getattr(things, name)" in finding.text
    assert things == before


def test_an_argument_list_grows():
    def f(xs):
        xs.append(1.0)
        return xs[0]

    line = "xs.append(1.0)"
    expect(only(f, [1.0]), "mutated argument", "xs", line, "xs = [*xs, 1.0]", "y, xs = f(xs)")


def test_a_function_that_changes_what_it_is_given():
    def step(d):
        d["n"] = 2.0

    def f(params):
        step(params)
        return params["n"]

    finding = only(f, {"n": 1.0})
    words = "# Let step take `params` as an argument, and return a changed copy."
    expect(finding, "mutated argument", "params['n']", 'd["n"] = 2.0', words)
    assert finding.function == "step"


def test_numpy_arguments():
    def f(x):
        x[0] = 1.0
        return x

    def g(x):
        x += 1
        return x

    def fine(x):
        x = jnp.asarray(x) * 1
        x += 1
        return x

    finding = only(f, np.ones(3))
    expect(finding, "mutated argument", "x", "x[0] = 1.0", "x = jnp.asarray(x).at[0].set(1.0)")
    expect(only(g, np.ones(3)), "mutated argument", "x", "x += 1", "x = x + 1")
    assert check_pure(fine, np.ones(3)) and check_pure(g, jnp.ones(3))
    with pytest.raises(TypeError, match="at"):
        check_pure(f, jnp.ones(3))


class Box:
    """An object that is no pytree."""

    def __init__(self):
        self.value, self.array = 1.0, np.zeros(2)


def test_attributes_of_an_argument():
    def f(box, x):
        box.value = 2.0
        return x * box.value

    box = Box()
    finding = only(f, box, 1.0)
    expect(finding, "mutated argument", "box.value", "box.value = 2.0", "y, box.value = f(box, x)")
    assert box.value == 1.0


class Keeper:
    """An object with containers."""

    def __init__(self):
        self.items, self.seen = [1, 2], {}

    def first(self, x):
        self.items[0] = 3
        return x * self.items[0]

    def note(self, x):
        self.seen["shape"] = x.shape
        return x


def test_containers_of_objects():
    keeper = Keeper()
    finding = only(keeper.first, X)
    rewrite = ["# Take `self.items` as an argument, and return a changed copy of it."]
    expect(finding, "mutated attribute", "self.items[0]", "self.items[0] = 3", *rewrite)
    rewrite = ["# Take `self.seen` as an argument, and return a changed copy of it."]
    expect(only(keeper.note, X), "mutated attribute", "self.seen", "self.seen[", *rewrite)
    assert (keeper.items, keeper.seen) == ([1, 2], {})


def test_an_object_leaks_but_a_pytree_does_not():
    def f(box, x):
        box.value = x
        return x

    @jax.tree_util.register_pytree_node_class
    class Params:
        def __init__(self, w):
            self.w = w

        def tree_flatten(self):
            return (self.w,), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

        def step(self, x):
            self.w = self.w - x
            return self.w

        def loss(self, x):
            return (self.w * x).sum()

    expect(only(f, Box(), 1.0), "leaked tracer", "box.value", "box.value = x", "value = x")
    rewrite = ["w = self.w - x", "return w, w", "# and the caller keeps it in `self.w`"]
    finding = only(Params.step, Params(X), X)
    expect(finding, "mutated argument", "self.w", "self.w = self.w - x", *rewrite)
    assert check_pure(Params.loss, Params(X), X) and check_pure(jax.grad(Params.loss), Params(X), X)


def test_variables_of_modules(tmp_path, monkeypatch):
    (tmp_path / "purity_settings.py").write_text("scale, table = 2.0, {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("purity_settings")
    monkeypatch.setitem(globals(), "purity_settings", module)

    def f(x):
        purity_settings.scale = 3.0  # noqa: F821
        return x

    expect(only(f, X), "global write", "purity_settings.scale", "= 3.0", "scale = 3.0")
    assert module.scale == 2.0 and check_pure(lambda x: x * purity_settings.scale, X)  # noqa: F821


memo = {}


def test_a_cache_of_ones_own():
    def f(x):
        if 3 not in memo:
            memo[3] = np.arange(3)
        return x * memo[3]

    finding = only(f, X)
    expect(finding, "mutated global", "memo", "memo[3] =")
    assert "a cache\n" in finding.message and "No harm" in finding.message
    assert finding.rewrite == "# Make it before the first call, and hand it in as an argument."
    assert not memo


DEFAULT = "# Let `acc` be None by default; make a new one in the function and return it."


def test_defaults():
    def f(x, acc=[]):  # noqa: B006
        acc.append(1)
        return x

    expect(only(f, 1.0), "mutated default", "acc", "acc.append(1)", DEFAULT)


def test_attributes_of_functions_and_classes():
    def f(x):
        f.calls += 1
        return x

    f.calls = 0

    class Model:
        total = 0

        def loss(self, x):
            Model.total += 1
            return x

    expect(only(f, 1.0), "mutated attribute", "f.calls", "f.calls += 1")
    expect(only(Model().loss, 1.0), "mutated attribute", "Model.total", "Model.total += 1")
    assert f.calls == Model.total == 0


# ---- leaks ---------------------------------------------------------------------------------------


def leaks_global(x):
    global last_hidden
    last_hidden = jnp.sin(x)
    return last_hidden * 2


def leaks_list(x):
    h = jnp.sin(x)
    history.append(h)
    return h * 2


class Leaky:
    def __init__(self):
        self.w, self.last = 2.0, None

    def __call__(self, x):
        self.last = x * self.w
        return self.last


def test_a_tracer_leaks_into_a_global():
    finding = only(leaks_global, 1.0)
    rewrite = ["last_hidden = jnp.sin(x)", "y, last_hidden = leaks_global(x)"]
    expect(finding, "leaked tracer", "last_hidden", "last_hidden = jnp.sin(x)", *rewrite)
    assert "float32[]" in finding.message and "a global" in finding.message
    assert "last_hidden" not in globals()


def test_a_tracer_leaks_into_a_list():
    rewrite = ["return h * 2, h", "history.append(kept)  # outside of leaks_list"]
    expect(only(leaks_list, 1.0), "leaked tracer", "history[0]", "history.append(h)", *rewrite)
    assert history == []


def test_a_tracer_leaks_into_an_attribute():
    finding = only(Leaky(), 1.0)
    rewrite = ["last = x * self.w", "return last, last", "# and the caller keeps it in `self.last`"]
    expect(finding, "leaked tracer", "self.last", "self.last = x * self.w", *rewrite)
    assert "an attribute" in finding.message


def test_a_tracer_leaks_into_a_closure_and_out_of_a_scan():
    kept, seen = None, {}

    def f(x):
        nonlocal kept
        kept = x * 2
        return x

    def g(x):
        def body(c, y):
            seen["c"] = c
            return c + y, y

        return lax.scan(body, 0.0, x)

    expect(only(f, 1.0), "leaked tracer", "kept", "kept = x * 2", "y, kept = f(x)")
    expect(only(g, jnp.ones(3)), "leaked tracer", "seen['c']", 'seen["c"] = c')
    assert kept is None and seen == {}


# ---- calls ---------------------------------------------------------------------------------------

log = logging.getLogger("purity")
generator = np.random.default_rng(0)


def opens(x):
    with builtins.open(os.devnull, "w") as file:
        file.write("x")
    return x


CALLS = {
    "time": (lambda x: x * time.time(), "time", "time.time", "f(x, time.time())"),
    "perf_counter": (
        lambda x: x * time.perf_counter(),
        "time",
        "time.perf_counter",
        "def f(x, now):",
    ),
    "now": (lambda x: x * datetime.datetime.now().hour, "time", "datetime.now", "def f(x, now):"),
    "sleep": (lambda x: time.sleep(0) or x, "time", "time.sleep", "# Wait outside"),
    "urandom": (lambda x: x + os.urandom(1)[0], "entropy", "os.urandom", "# Take a key"),
    "uuid4": (lambda x: x + uuid.uuid4().int % 7, "entropy", "uuid.uuid4", "# Take a key"),
    "stdout": (
        lambda x: sys.stdout.write("a") and x,
        "I/O",
        "sys.stdout.write",
        "# Do it outside",
    ),
    "log": (lambda x: log.info("a %s", x) or x, "I/O", "log.info", "jax.debug.callback(log.info"),
    "open": (opens, "I/O", "builtins.open", "# Write it outside"),
    "system": (lambda x: os.system("true") or x, "I/O", "os.system", "# Do it outside"),
    "random": (lambda x: x * random.random(), "random state", "random", "jax.random.uniform"),
    "randint": (lambda x: x * random.randint(1, 2), "random state", "random", "jax.random.randint"),
    "rng": (lambda x: x * generator.normal(), "random state", "generator", "jax.random.normal"),
    "unseeded": (
        lambda x: x * np.random.default_rng().uniform(),
        "entropy",
        "numpy.random.default_rng",
        "jax.random.uniform(key, ())",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    f, kind, variable, rewrite = CALLS[name]
    finding = only(f, 1.0)
    assert (finding.kind, finding.variable) in ((kind, variable), (kind, variable.split(".")[-1]))
    assert rewrite in finding.rewrite, str(finding)


def test_states_of_generators_are_set_back():
    before = generator.bit_generator.state, random.getstate()
    check_pure(lambda x: x + generator.normal() + random.random(), 1.0)
    assert (generator.bit_generator.state, random.getstate()) == before


def test_print_with_an_f_string():
    def f(x):
        print(f"loss {x} of {x.shape}", 'a "word"')
        return x

    rewrite = 'jax.debug.print("loss {} of {} a \\"word\\"", x, x.shape)'
    expect(only(f, jnp.ones(3)), "I/O", "print", "print(f", rewrite)


def test_input_is_handed_in(monkeypatch):
    monkeypatch.setattr(sys, "stdin", __import__("io").StringIO("2\n2\n"))
    finding = only(lambda x: x * float(input("n? ")), 1.0)
    assert finding.rewrite.splitlines()[:2] == [
        "value = float(input('n? '))  # before",
        "def f(x, value):",
    ]


# ---- sets, and what others change ----------------------------------------------------------------

words = {"w", "b"}


def over_a_set(x):
    for word in words:
        x = x + len(word)
    return x


def test_loops_over_sets():
    expect(
        only(over_a_set, 1.0),
        "set order",
        "words",
        "for word in words:",
        "for word in sorted(words):",
    )

    def f(params):
        return sum([params[k] for k in set(params)])

    expect(only(f, {"a": 1.0}), "set order", "set(params)", "for k in set(params)")
    assert check_pure(lambda x: x + len(words) + ("w" in words) + len(sorted(words)), 1.0)
    assert check_pure(lambda x: x + sum(map(len, sorted(words))), 1.0)


weights = {"w": 1.0}


def test_a_dict_of_parameters_that_training_changes():
    def loss(x):
        return x * weights["w"]

    finding = only(loss, 1.0)
    expect(finding, "global read", "weights", 'weights["w"]', "def loss(x, weights):")
    assert "train() changes it" in finding.message


def train():
    weights["w"] = weights["w"] - 0.1


def test_a_closure_that_the_loop_binds_anew():
    params = 1.0

    def loss(x):
        return x * params

    finding = only(loss, 2.0)
    expect(finding, "closure read", "params", "return x * params", "loss(x, params)")
    for _ in range(2):
        params = params - 0.1


class Model:
    def __init__(self):
        self.w, self.n = 1.0, [2]

    def loss(self, x):
        return x * self.w

    def size(self, x):
        return x * self.n[0]

    def update(self):
        self.w -= 0.1


def test_an_attribute_that_another_method_changes():
    model = Model()
    finding = only(model.loss, 1.0)
    rewrite = ["# Make `self.w` an argument of loss."]
    expect(finding, "attribute read", "self.w", "return x * self.w", *rewrite)
    assert "Model.update() changes it" in finding.message
    assert check_pure(model.size, 1.0)


def test_two_traces_that_differ():
    numbers = iter(range(100))
    finding = only(lambda x: x * next(numbers), 1.0)
    assert finding.kind == "hidden state" and "two different programs" in finding.message


# ---- transformed functions -----------------------------------------------------------------------

WRAPPERS = {
    "grad": jax.grad,
    "jit": jax.jit,
    "vmap": lambda f: lambda x: jax.vmap(f)(jnp.ones(3) * x),
    "jit of grad": lambda f: jax.jit(jax.grad(f)),
    "partial": lambda f: functools.partial(f),
    "checkpoint": jax.checkpoint,
    "hessian": jax.hessian,
    "value_and_grad": jax.value_and_grad,
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_through_transformations(name):
    expect(only(WRAPPERS[name](counts), 1.0), "global write", "counter", "counter += 1")


def test_an_inner_jit_that_was_traced_before():
    @jax.jit
    def inner(x):
        history.append(1)
        return x

    inner(1.0)
    history.clear()
    size = inner._cache_size()
    finding = only(lambda x: inner(x) + 1, 1.0)
    expect(finding, "mutated global", "history", "history.append(1)")
    assert inner._cache_size() == size and inner.cache_info().misses == 1


def test_errors_of_the_function_are_raised():
    with pytest.raises(ZeroDivisionError):
        check_pure(lambda x: x / (1 // 0), 1.0)
    with pytest.raises(TypeError, match="takes a function"):
        check_pure(3)

    def f(x):
        history.append(1)
        raise ValueError("no")

    report = check_pure(f, 1.0)
    assert report[0].variable == "history" and isinstance(report.error, ValueError)
    assert "(Tracing stopped with ValueError.)" in str(report)


# ---- no false alarms -----------------------------------------------------------------------------

SIZES, TABLE, CONST = [3, 4, 5], {"relu": jax.nn.relu, "tanh": jnp.tanh}, jnp.arange(3.0)
NAME, DEEP, GRID = "a", {"layers": [{"n": 3}]}, np.arange(3.0)
LATER = None


@dataclasses.dataclass(frozen=True)
class Config:
    n: int = 3

    def scale(self, x):
        return x * self.n


CONFIG = Config()


class Layer:
    def __init__(self, n):
        self.w, self.act = jnp.ones(n), jnp.tanh

    def __call__(self, x):
        return self.act(x * self.w)


class Net:
    def __init__(self):
        self.layers = [Layer(3), Layer(3)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def loss(self, x):
        return self(x).sum()

    @functools.cached_property
    def size(self):
        return len(self.layers)


NET, INNER = Net(), jax.jit(lambda x: x * CONST)


@jax.custom_jvp
def own_jvp(x):
    return jnp.sin(x)


@own_jvp.defjvp
def own_jvp_rule(primals, tangents):
    return own_jvp(*primals), jnp.cos(primals[0]) * tangents[0]


@jax.custom_vjp
def own_vjp(x):
    return jnp.sin(x)


own_vjp.defvjp(lambda x: (own_vjp(x), x), lambda x, g: (jnp.cos(x) * g,))


def local_lists(x):
    out, d = [], {}
    for i in range(3):
        out.append(x * SIZES[i])
    d["a"] = x
    d.update(b=x)
    out += [d["b"]]
    grow(x, out)
    box = types.SimpleNamespace(x=x)
    box.x = box.x + 1
    return sum(out) + d["a"] + box.x


def grow(x, acc):
    acc.append(x)
    return acc


def local_closures(x):
    count = 0

    def f(y):
        nonlocal count
        count += 1
        return y * count

    for w in (1.0, 2.0):
        x = jax.vmap(lambda v: v * w)(x)  # noqa: B023
    return f(x) + f(x)


def scan_body(x):
    def body(c, y):
        c = {**c, "k": c["k"] + y}
        return c, y * len(SIZES)

    return lax.scan(body, {"k": x}, jnp.ones(4))


def copied(params, x):
    params = dict(params)
    params["w"] = params["w"] * 2
    return params["w"] * x


def callbacks(x):
    jax.debug.print("x {}", x)
    jax.debug.callback(history.append, x)
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def constants(x):
    x = TABLE["relu"](x) + CONFIG.scale(x) + INNER(x) + GRID + DEEP["layers"][0]["n"]
    return x * NET.size if NAME == "a" and LATER is None else x


def seeded(x):
    return x + np.random.default_rng(0).normal(size=3) + jax.random.normal(jax.random.key(0), (3,))


@functools.lru_cache
def remembered(n):
    return np.arange(n)


def silent(x):
    if NAME == "b":
        print(x)
        history.append(x)
    return x * AFTER


AFTER = 3.0


def either(x):
    return x * EITHER


if sys.platform == "linux":
    EITHER = 1.0
else:
    EITHER = 2.0


X = jnp.ones(3)
PURE = [
    (local_lists, X),
    (local_closures, X),
    (scan_body, 1.0),
    (copied, {"w": X}, X),
    (callbacks, X),
    (constants, X),
    (seeded, X),
    (silent, X),
    (either, X),
    (lambda x: x * remembered(3), X),
    (NET, X),
    (NET.loss, X),
    (jax.grad(NET.loss), X),
    (jax.hessian(NET.loss), X),
    (jax.jit(NET.loss), X),
    (own_jvp, 1.0),
    (jax.grad(own_jvp), 1.0),
    (own_vjp, 1.0),
    (jax.grad(own_vjp), 1.0),
    (jax.jit(jax.vmap(INNER)), jnp.ones((2, 3))),
    (functools.partial(lambda x, n: x * n, n=2), X),
    (lambda x, n: sum([x] * n), X, 3),
    (lambda x, name: x * len(name), X, "relu"),
    (lambda x, net: net(x), X, NET),
    (lambda p: p["a"] + p["b"][0], {"a": 1.0, "b": [2.0]}),
    (lambda x: lax.cond(x.sum() > 0, lambda v: v * AFTER, lambda v: v - CONST, x), X),
    (lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x)), X),
    (lambda x: lax.fori_loop(0, 3, lambda i, c: c + i, x), X),
    (lambda x: jnp.where(x > 0, x, 0.0).at[0].set(1.0), X),
    (lambda x: f"{x.shape}" and x, X),
    (jax.checkpoint(lambda x: jnp.sin(x) * CONST), X),
    (jax.value_and_grad(lambda p, x: (p["w"] * x).sum()), {"w": X}, X),
    (lambda key: jax.random.normal(jax.random.split(key)[0], (3,)), jax.random.key(0)),
]


@pytest.mark.parametrize("number", range(len(PURE)))
def test_no_false_alarm(number):
    f, *args = PURE[number]
    report = check_pure(f, *args)
    assert report.ok and bool(report) and len(report) == 0, str(report)
    assert str(report).endswith(
        "is pure: traced twice, it changed nothing and read nothing that changes."
    )


TRIES = [(X,), (X, X), (jnp.eye(2),), (jnp.arange(3),), (jax.random.key(0),)]


@pytest.mark.parametrize("module", ["numpy", "lax", "nn", "random"])
def test_no_false_alarm_on_the_library(module):
    module, checked = getattr(jax, module), 0
    for name in sorted(module.__all__):
        f = getattr(module, name)
        if isinstance(f, (type, types.ModuleType)) or not callable(f):
            continue
        for args in TRIES:
            try:
                report = check_pure(f, *args)
            except Exception:  # not arguments for this function
                continue
            assert report.ok, str(report)
            checked += 1
            break
    assert checked > 10


# ---- jit -----------------------------------------------------------------------------------------


def test_jit_with_check_raises_before_the_first_trace():
    f = jax.jit(counts, check=True)
    with pytest.raises(ImpureFunctionError, match="counts is not pure \\(1 finding\\)"):
        f(1.0)
    assert counter == 0

    @jax.jit(check=True)
    def g(x):
        return x * 2

    assert g(1.0) == 2.0 and g(3.0) == 6.0


def test_jit_with_check_and_static_arguments():
    f = jax.jit(lambda x, n: sum([x] * n), static_argnums=1, check=True)
    assert f(1.0, 3) == 3.0 and f(1.0, 4) == 4.0


def test_what_was_captured_must_stay():
    box = Model()
    f = jax.jit(box.size, check=True)
    assert f(1.0) == 2.0
    box.w = 3.0  # size does not read it
    assert f(1.0) == 2.0
    box.n[0] = 5
    with pytest.raises(ImpureFunctionError, match="(?s)self.n\\[0\\].*after the function.*2 -> 5"):
        f(1.0)


def test_static_objects_that_compare_by_value_may_change():
    class Scale:
        def __init__(self):
            self.factor = 2.0

        def __hash__(self):
            return hash(self.factor)

        def __eq__(self, other):
            return type(other) is Scale and self.factor == other.factor

        @functools.partial(jax.jit, static_argnums=0, check=True)
        def apply(self, x):
            return x * self.factor

    class Careless(Scale):
        __hash__, __eq__ = object.__hash__, object.__eq__

    scale, careless = Scale(), Careless()
    assert scale.apply(1.0) == careless.apply(1.0) == 2.0
    scale.factor = careless.factor = 3.0
    assert scale.apply(1.0) == 3.0  # another static value, another program
    with pytest.raises(ImpureFunctionError, match="self.factor.*2.0 -> 3.0"):
        careless.apply(1.0)


def test_a_global_that_is_bound_anew_after_the_trace():
    f = jax.jit(lambda x: x * AFTER, check=True)
    f(1.0)
    globals()["AFTER"] = 4.0
    try:
        with pytest.raises(ImpureFunctionError, match="AFTER.*3.0 -> 4.0"):
            f(1.0)
    finally:
        globals()["AFTER"] = 3.0
    f(1.0)


def test_the_flag():
    impure, pure = jax.jit(lambda x: counts(x) + 1), jax.jit(lambda x: x + 1)
    assert jax.config.tinyjax_check_purity is False
    impure(1.0)
    set_counter(0)
    with jax.check_purity():
        with pytest.raises(ImpureFunctionError, match="counter"):
            impure(1.0)
        with pytest.raises(ImpureFunctionError, match="counter"):
            jax.grad(impure)(1.0)
        assert pure(1.0) == 2.0 and jax.grad(pure)(1.0) == 1.0
        assert jnp.linalg.norm(X) > 1
    impure(1.0)


def set_counter(value):
    globals()["counter"] = value


def test_jaxprs_do_not_change():
    f = lambda x: jnp.sin(x) * 2
    with jax.check_purity():
        checked = str(jax.make_jaxpr(jax.jit(f))(1.0))
    assert checked == str(jax.make_jaxpr(jax.jit(f))(1.0))


# ---- the report ----------------------------------------------------------------------------------


def test_the_report_is_a_list_of_findings():
    report = check_pure(counts, 1.0)
    assert isinstance(report, PurityReport) and report.traces == 2
    assert all(isinstance(f, Finding) for f in report)
    assert [f.line for f in report] == [counts.__code__.co_firstlineno + 2]
    assert repr(report) == str(report)


# ---- where there is no file ----------------------------------------------------------------------

SESSION = """
import tinyjax as jax, tinyjax.numpy as jnp, numpy as np
count, kept, names = 0, [], {"a", "b"}
def f(params, x):
    global count
    count += 1
    kept.append(x)
    params["w"] = np.random.rand()
    for name in names:
        x = x + len(name)
    return x * count

report = jax.check_pure(f, {"w": 1.0}, 2.0)
for finding in report: print(finding.kind, finding.variable, finding.line, finding.file)

print(report.findings[0].rewrite)
print(jax.check_pure(lambda x: jnp.sin(x) * len(names), 1.0))
"""


def run(*options, text):
    """What Python prints when it is given a text."""
    command = [sys.executable, *options]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout


def test_without_a_file():
    for out, name in (
        (run("-", text=SESSION), "<stdin>"),
        (run("-c", SESSION, text=""), "<string>"),
    ):
        assert f"global write count 6 {name}" in out, out
        assert f"leaked tracer kept[0] 7 {name}" in out
        assert f"mutated argument params['w'] 8 {name}" in out
        assert f"random state numpy.random 8 {name}" in out
        assert f"set order names 9 {name}" in out
        assert "# Let it take `count`" in out or "# Take `count` as an argument" in out
        assert "<lambda> is pure" in out


NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in [
    "import tinyjax as jax; scale = 2.0; W = {'w': 1.0}",
    "def f(x):\\n    return x * scale\\njax.check_pure(f, 1.0)",
    "scale = 2.0",
    "jax.check_pure(f, 1.0)",
    "scale = scale * 2",
    "jax.check_pure(f, 1.0)",
    "def g(x):\\n    print(x)\\n    return x * W['w']\\n%timeit -n1 -r1 1",
    "for i in range(2):\\n    W['w'] = W['w'] - 0.1",
    "jax.check_pure(g, 1.0)",
]:
    shell.run_cell(cell, store_history=True)
"""


def test_in_a_notebook():
    out = run("-c", NOTEBOOK, text="")
    assert out.count("f is pure") == 2
    assert "f reads `scale`, and Cell In[5], line 1 binds it anew" in out
    assert "at Cell In[2]:2 (f):  return x * scale" in out
    assert "at Cell In[7]:2 (g):  print(x)" in out
    assert "g reads `W`, and Cell In[8], line 2 changes it" in out


def test_long_lines_are_cut():
    def f(x):
        print("a line of more than eighty letters is cut before it is shown, so that it fits", x)
        return x

    assert "...\n" in str(only(f, 1.0))
