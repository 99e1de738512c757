"""jit(f, check=True) compares programs: whatever became part of one is noticed when it changes,
however the function got it, and nothing else is. And check_pure on odd objects and rare effects."""

import contextvars
import functools
import itertools
import math
import os
import pprint
import random
import sys
import threading
import types
import warnings
from unittest import mock

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import check_pure
from tinyjax.errors import ImpureFunctionError

X = jnp.ones(3)


# ---- state that the function does not read -------------------------------------------------------


class Options:
    def __init__(self):
        self.rate, self.history = 0.5, []


class Trainer:
    def __init__(self):
        self.rate, self.losses, self.options = 2.0, [], Options()

    def step(self, x):
        return x * self.rate * self.options.rate


options, config = Options(), {"rate": 0.5, "history": []}


def test_what_is_not_read_may_change():
    trainer = Trainer()
    step = jax.jit(trainer.step, check=True)
    from_global = jax.jit(lambda x: x * options.rate, check=True)
    from_dict = jax.jit(lambda x: x * config["rate"], check=True)
    first = step(X), from_global(X), from_dict(X)
    for things in (trainer.losses, trainer.options.history, options.history, config["history"]):
        things.append(1.0)
    for before, now in zip(first, (step(X), from_global(X), from_dict(X)), strict=True):
        assert np.array_equal(before, now)
    trainer.options.rate = 3.0
    with pytest.raises(ImpureFunctionError, match="(?s)options.rate.*0.5 -> 3.0"):
        step(X)


def test_a_new_kind_of_argument_is_checked_anew():
    @jax.jit(check=True)
    def f(x):
        if x.ndim:
            print(x)
        return x * 2

    assert f(1.0) == 2.0
    with pytest.raises(ImpureFunctionError, match="`print`"):
        f(X)


# ---- state that became part of the program -------------------------------------------------------


class Scaled:
    def scale(me, x):  # noqa: N805
        return x * me.k


scaled, space, table = Scaled(), types.SimpleNamespace(a=2.0), {"s": 2.0}
scaled.k = 2.0
weight, depth, hidden = jnp.ones(3), [1, 2], lambda x: x * 2


def by_partial(x, d):
    return x * d["s"]


def set_global(name, value):
    globals()[name] = value


def set_in_module(value):
    math.for_a_test = value


STALE = {  # function, change, name that is reported
    "method": (scaled.scale, lambda v: setattr(scaled, "k", v), "me.k"),
    "method of a global": (lambda x: scaled.scale(x), lambda v: setattr(scaled, "k", v), "k` "),
    "getattr": (lambda x: x * getattr(space, "a"), lambda v: setattr(space, "a", v), "space.a"),  # noqa: B009
    "vars": (lambda x: x * vars(space)["a"], lambda v: setattr(space, "a", v), "space.a"),
    "partial": (functools.partial(by_partial, d=table), lambda v: table.update(s=v), "d['s']"),
    "module": (lambda x: x * math.for_a_test, set_in_module, "math.for_a_test"),
    "function": (
        lambda x: hidden(x),
        lambda v: set_global("hidden", lambda x: x * v),
        "hidden",
    ),
    "array": (lambda x: x * weight, lambda v: set_global("weight", X * v), "weight"),
    "length": (lambda x: x * len(depth), lambda v: depth.extend([1] * int(v)), "depth`"),
}


@pytest.mark.parametrize("name", STALE)
def test_a_stale_value_is_found(name):
    f, change, variable = STALE[name]
    change(2.0)
    jitted = jax.jit(f, check=True)
    jitted(X)
    jitted(X)
    change(3.0)
    with pytest.raises(ImpureFunctionError, match="after the function had been traced") as caught:
        jitted(X)
    assert f"`{variable}" in str(caught.value) or variable in str(caught.value)
    change(2.0)


def test_a_function_that_is_defined_again_as_it_was():
    jitted = jax.jit(lambda x: hidden(x), check=True)
    set_global("hidden", lambda x: x * 2)
    jitted(X)
    set_global("hidden", lambda x: x * 2)
    assert np.array_equal(jitted(X), X * 2)


def test_the_program_that_another_jit_has_traced():
    f = lambda x: x * space.a
    space.a = 2.0
    jax.jit(f)(X)
    space.a = 5.0
    with pytest.raises(ImpureFunctionError, match="changed after it had been traced"):
        jax.jit(f, check=True)(X)
    space.a = 2.0


def test_a_stale_value_in_an_inner_jit():
    inner = jax.jit(lambda x: x * space.a)
    outer = jax.jit(lambda x: inner(x) + 1, check=True)
    outer(X)
    space.a = 7.0
    with pytest.raises(ImpureFunctionError, match="space.a"):
        outer(X)
    space.a = 2.0


def test_it_is_set_back_when_it_changes_something_now():
    log = []

    class Switch:
        on = False

    def f(x):
        if Switch.on:
            log.append(1)
        return x

    jitted = jax.jit(f, check=True)
    jitted(X)
    Switch.on = True
    with pytest.raises(ImpureFunctionError, match="`log`"):
        jitted(X)
    assert not log


@pytest.mark.parametrize("transform", [jax.grad, jax.vmap, jax.jit])
def test_with_transformations_around(transform):
    f = jax.jit(lambda x: jnp.sin(x * 2.0), check=True)
    argument = X if transform is jax.vmap else 1.0
    first = transform(f)(argument)
    assert np.array_equal(first, transform(f)(argument))


# ---- objects that raise --------------------------------------------------------------------------


class Lazy:
    def __getattr__(self, name):
        raise RuntimeError(f"not now: {name}")


class Proxy:
    @property
    def __class__(self):
        raise RuntimeError("no class yet")


class NoText:
    def __repr__(self):
        raise RuntimeError("no text")


no_text = NoText()


def test_odd_objects_do_no_harm(monkeypatch):
    for name, x in (("lazy", Lazy()), ("proxy", Proxy())):  # pytest would look at them
        monkeypatch.setitem(globals(), name, x)
    assert check_pure(lambda x: x * 2, X)
    assert check_pure(lambda x: x * 2 if (lazy, proxy, no_text) else x, X)  # noqa: F821
    report = check_pure(lambda x, box: setattr(box, "v", no_text) or x, X, Options())
    assert report[0].variable == "box.v"
    with pytest.raises(TypeError, match="y is an object of type"):
        jax.jit(lambda x, y: x)(X, no_text)


# ---- rare effects --------------------------------------------------------------------------------

context, numbers, called, from_thread = contextvars.ContextVar("context"), itertools.count(), 0, []
recorder, produced = mock.Mock(), (i for i in range(9))


def starts_a_thread(x):
    thread = threading.Thread(target=lambda: from_thread.append(1))
    thread.start()
    thread.join()
    return x


def unpacks(x):
    a, _ = {"aa", "b"}
    return x * len(a)


EFFECTS = {
    "environ": (lambda x: os.environ.update(A_TEST="1") or x, "os.environ"),
    "module": (lambda x: setattr(math, "a_test", 1) or x, None),
    "globals": (lambda x: globals().update(a_test=1) or x, "globals()['a_test']"),
    "context": (lambda x: context.set(1) and x, "context"),
    "thread": (starts_a_thread, "from_thread"),
    "count": (lambda x: (next(numbers), x)[1], "numbers"),
    "generator": (lambda x: (next(produced), x)[1], "produced"),
    "mock": (lambda x: (recorder(1), x)[1], "recorder"),
    "reads environ": (lambda x: x * len(os.environ["PATH"]), "os.environ"),
    "getenv": (lambda x: x * len(os.getenv("PATH")), "os.environ"),
    "pprint": (lambda x: pprint.pprint(x) or x, "pprint.pprint"),
    "warn": (lambda x: warnings.warn("a", stacklevel=1) or x, "warnings.warn"),
    "id": (lambda x: x * (id(x) % 7), "id"),
    "pop": (lambda x: x * len({"aa", "b"}.pop()), "{'aa', 'b'}"),
    "unpack": (unpacks, "{'aa', 'b'}"),
}


def assigns_in_module(x):
    math.a_test = 1
    return x


EFFECTS["module"] = assigns_in_module, "math.a_test"


@pytest.mark.parametrize("name", EFFECTS)
def test_rare_effects(name):
    f, variable = EFFECTS[name]
    report = check_pure(f, X)
    assert variable in [finding.variable for finding in report], str(report)
    assert all(len(str(finding).splitlines()) <= 8 for finding in report)
    assert "A_TEST" not in os.environ and not hasattr(math, "a_test") and "a_test" not in globals()
    assert context.get(None) is None and not from_thread and not recorder.called


def test_bodies_that_do_not_run():
    def generator(x):
        from_thread.append(1)
        yield x

    async def coroutine(x):
        from_thread.append(1)
        return x

    for f in (generator, coroutine):
        report = check_pure(f, X)
        assert [finding.kind for finding in report] == ["not run"]
        assert "its body has not run" in str(report)


def test_seeded_generators_are_pure():
    assert check_pure(lambda x: x * np.random.RandomState(0).rand(), X)
    assert check_pure(lambda x: x * np.random.default_rng(0).random(), X)
    assert check_pure(lambda x: x * random.Random(0).random(), X)
    assert not check_pure(lambda x: x * np.random.RandomState().rand(), X)
    assert not check_pure(lambda x: x * np.random.default_rng().random(), X)


def test_sets_whose_order_cannot_matter():
    def f(x):
        x = x + 1 if any(name == "a" for name in {"a", "b"}) else x
        return {k: x for k in set("ab")}, max({1, 2})  # noqa: C420

    assert check_pure(f, X)


# ---- names and places ----------------------------------------------------------------------------


class Counting:
    total = 0

    def __init__(self):
        self.n, self.sum, self.cache = 0, 0.0, None

    def both(self, x):
        self.n += 1
        self.sum = self.sum + x
        return x

    def lazily(self, x):
        if self.cache is None:
            self.cache = np.ones(3)
        return x * self.cache

    @classmethod
    def of_class(cls, x):
        cls.total += 1
        return x


def test_each_attribute_has_its_own_finding_and_line():
    found = check_pure(Counting().both, X)
    pairs = [(f.variable, f.text) for f in found]
    assert pairs == [("self.n", "self.n += 1"), ("self.sum", "self.sum = self.sum + x")]


def test_every_draw_has_a_finding():
    def draws(x):
        a = np.random.rand()
        b = np.random.normal()
        c = np.random.uniform()
        return x + a + b + c

    found = check_pure(draws, X)
    assert [f.line - draws.__code__.co_firstlineno for f in found] == [1, 2, 3]
    assert all("a key of its own" in f.rewrite for f in found)


def test_a_class_and_a_partial_have_their_names():
    found = check_pure(Counting.of_class, X)
    assert [f.variable for f in found] == ["Counting.total"]

    def grow(x, acc):
        acc.append(1)
        return x

    (finding,) = check_pure(functools.partial(grow, acc=[]), X)
    assert finding.variable == "acc" and "what functools.partial hands in" in finding.message


def test_types_instead_of_arrays_and_the_report_in_a_notebook():
    report = check_pure(lambda x: x * 2, jax.ShapeDtypeStruct((3,), jnp.float32))
    assert report
    assert report._repr_html_().startswith("<pre>&lt;lambda&gt; is pure")


def test_a_cache_is_said_mildly():
    (finding,) = check_pure(Counting().lazily, X)
    assert "a cache\nNo harm, if it is the same for all calls." in finding.message


def test_what_a_library_generates_is_not_the_users():
    stats = pytest.importorskip("scipy.stats")
    (finding,) = check_pure(lambda x: x + stats.norm.rvs(), X)
    assert finding.file == __file__ and "stats.norm.rvs()" in finding.text
    assert sys.modules[__name__].X is X
