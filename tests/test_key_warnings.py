"""Two draws from one key warn, unless the flag warn_key_reuse is off: which do, and the words."""

import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import random
from tinyjax.errors import KeyReuseWarning
from tinyjax.example_libraries import stax
from tinyjax.nn import initializers

MAKERS = [random.key, random.PRNGKey]


def heard(f, *args):
    """The texts of what a call warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(*args)
    assert all(w.category is KeyReuseWarning for w in caught)
    assert all(w.filename == __file__ for w in caught)
    return [str(w.message) for w in caught]


def heard_anywhere(f):
    """The texts of what a call warns of, in whatever file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f()
    return [str(w.message) for w in caught]


# ---- what warns ---------------------------------------------------------------------------------


def two_lines(key):
    x = random.normal(key)
    return x + random.uniform(key)


def in_a_loop(key):
    for _ in range(3):
        random.normal(key)


def named(key):
    return random.normal(key=key), random.bits(key=key)


def inside_jit(key):
    jax.jit(two_lines)(key)


def inside_vmap(key):
    jax.vmap(two_lines)(random.split(key, 3))


def inside_grad(key):
    jax.grad(lambda x: x * two_lines(key))(1.0)


def inside_scan(key):
    jax.lax.scan(lambda c, k: (c + two_lines(k), None), 0.0, random.split(key, 3))


def captured_by_jit(key):
    jax.jit(lambda x: x + two_lines(key))(1.0)


def initialized(key):
    make = initializers.glorot_normal()
    return make(key, (2, 3)), make(key, (3, 2))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("f", [
    two_lines, in_a_loop, named, inside_jit, inside_vmap, inside_grad, inside_scan,
    captured_by_jit, initialized,
])  # fmt: skip
def test_two_draws_warn_once(f, make):
    (text,) = heard(f, make(0))
    assert text.startswith("Two draws from ")
    assert "test_key_warnings.py" in text
    assert len(text.splitlines()) <= 8


def test_the_words():
    def sample():
        noise = random.key(0)
        a = random.normal(noise, (2,))
        b = random.uniform(noise, (2,))
        return a, b

    (text,) = heard(sample)
    lines, start = text.splitlines(), sample.__code__.co_firstlineno
    assert lines[0].startswith("Two draws from the key `noise`")
    assert lines[1].startswith("Used first at ")
    assert lines[1].endswith(f":{start + 2} (sample): a = random.normal(noise, (2,))")
    assert lines[2].startswith("used again at ")
    assert lines[2].endswith(f":{start + 3} (sample): b = random.uniform(noise, (2,))")
    assert "`noise, sub = jax.random.split(noise)`" in text
    assert "`sub = jax.random.fold_in(noise, i)`" in text
    assert "`jax.random.clone(noise)`" in text
    assert 'jax.config.update("jax_warn_key_reuse", False)' in text
    (text,) = heard(in_a_loop, random.key(0))
    assert text.splitlines()[2] == "and once more in the same line, when it ran again."


def test_lines_without_text():
    """At the plain prompt nobody keeps the text."""
    space = {"random": random}
    code = "def f(key):\n    random.normal(key)\n    random.normal(key)\n"
    exec(compile(code, "<prompt>", "exec"), space)
    with pytest.warns(KeyReuseWarning) as caught:
        space["f"](random.key(0))
    lines = str(caught[0].message).splitlines()
    assert lines[1:3] == ["Used first at <prompt>:2 (f)", "used again at <prompt>:3 (f)"]


# ---- what does not ------------------------------------------------------------------------------


def split_first(key):
    key, sub = random.split(key)
    return random.normal(key), random.normal(sub)


def draw_and_split(key):
    return random.normal(key), random.split(key), random.split(key), random.fold_in(key, 1)


def cloned(key):
    return random.normal(key), random.normal(random.clone(key))


def branches(key):
    jax.lax.cond(True, lambda: random.normal(key), lambda: random.uniform(key))


def traced_anew(key):
    f = jax.jit(lambda x: x + random.normal(key, x.shape))
    return f(np.ones(2)), f(np.ones(3)), jax.make_jaxpr(f)(np.ones(2))


def called_twice(key):
    f = jax.jit(random.normal)
    return f(key), f(key)


def value_and_slope(key):
    f = lambda x: x * random.normal(key)
    return f(1.0), jax.grad(f)(1.0), jax.jit(f)(1.0)


def captured_by_loops(key):
    jax.lax.scan(lambda c, x: (c + random.normal(key), None), 0.0, np.arange(3.0))
    jax.lax.fori_loop(0, 3, lambda i, c: c + random.normal(random.fold_in(key, i)), 0)


def failed(key):
    for _ in range(2):
        with pytest.raises(ValueError, match="dtype"):
            random.normal(key, dtype="int32")


def flag_off(key):
    with jax.warn_key_reuse(False):
        two_lines(key)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("f", [
    split_first, draw_and_split, cloned, branches, traced_anew, called_twice, value_and_slope,
    captured_by_loops, failed, flag_off,
])  # fmt: skip
def test_what_does_not_warn(f, make):
    assert heard(f, make(0)) == []


def test_equal_keys_are_two_keys():
    assert heard(lambda: [random.normal(random.key(0)) for _ in range(2)]) == []
    keys = random.split(random.key(0), 2)
    assert heard(lambda: [random.normal(keys[0]) for _ in range(2)]) == []  # the flag sees these


def test_a_cell_that_runs_again():
    """In a notebook the key is often made in another cell."""
    space = {"random": random, "key": random.key(0)}
    cell = "x = random.normal(key)\ndef f():\n    return random.bits(key)\n"

    def run(number, text):
        exec(compile(text, f"<unread {number}>", "exec"), space)

    assert heard_anywhere(lambda: [run(k, cell) for k in range(3)]) == []
    (text,) = heard_anywhere(lambda: run(3, "y = random.bits(key)"))
    assert text.splitlines()[1] == "Used first at <unread 2>:1 (<module>)"


def test_once_per_place():
    """Python's filter would do that, too, but it would have to make up its mind each time."""
    key = random.key(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            random.normal(key)
            random.uniform(key)
    assert len(caught) == 2


def test_as_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error", KeyReuseWarning)
        with pytest.raises(KeyReuseWarning, match="Two draws from the key `key`"):
            two_lines(random.key(0))


def test_a_script_hears_of_it():
    script = """
        import tinyjax as jax
        key = jax.random.PRNGKey(0)
        for _ in range(3):
            x = jax.random.normal(key)
    """
    command = [sys.executable, "-"]
    text = textwrap.dedent(script)
    out = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    assert out.stderr.count("KeyReuseWarning: Two draws from") == 1


def test_the_flag_for_errors_takes_the_place_of_the_warning():
    def run():
        with jax.debug_key_reuse(True), pytest.raises(jax.errors.KeyReuseError):
            two_lines(random.key(0))

    assert heard(run) == []


# ---- the library's own draws --------------------------------------------------------------------


def test_one_call_of_a_sampler_is_one_draw():
    samplers = {
        "ball": (3,), "beta": (2.0, 1.0), "binomial": (5, 0.5), "choice": (5, (3,), False),
        "dirichlet": (jnp.ones(3),), "f": (2.0, 3.0), "gamma": (2.0,), "maxwell": (),
        "generalized_normal": (2.0,), "multinomial": (5, jnp.array([0.5, 0.5])),
        "orthogonal": (3,), "permutation": (50,), "poisson": (20.0,), "randint": ((3,), 0, 9),
        "t": (2.0,), "truncated_normal": (-1.0, 1.0), "wald": (1.0,),
    }  # fmt: skip
    for name, args in samplers.items():
        f = lambda key, name=name, args=args: getattr(random, name)(key, *args)
        for make in MAKERS:
            assert heard(f, make(0)) == []
            assert heard(jax.jit(f), make(0)) == []
            key = make(0)
            assert len(heard(lambda key=key, f=f: (f(key), f(key)))) == 1


def test_initializers_and_layers():
    names = ["glorot_normal", "he_uniform", "lecun_normal", "orthogonal", "uniform", "normal"]
    for name in [*names, "truncated_normal", "delta_orthogonal"]:
        shape = (3, 4, 4) if name == "delta_orthogonal" else (3, 4)
        assert heard(getattr(initializers, name)(), random.key(0), shape) == []
    init, apply = stax.serial(
        stax.Dense(4), stax.Relu, stax.Dropout(0.5), stax.Dense(2), stax.LogSoftmax
    )

    def train(key):
        first, rest = random.split(key)
        _, params = init(first, (-1, 3))
        return apply(params, jnp.ones((2, 3)), rng=rest)

    assert heard(train, random.PRNGKey(0)) == []


def test_cost():
    """A draw looks at its key in a fraction of the time that the numbers take."""
    draws = sys.modules["tinyjax.random.draws"]
    note, calls = draws.note, []
    draws.note = lambda *args: calls.append(args)
    try:
        random.normal(random.key(0))
        random.choice(random.key(0), 5, (2,), replace=False)
    finally:
        draws.note = note
    assert len(calls) == 2  # one for each call of the user
