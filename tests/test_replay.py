"""Eager calls that repeat run from recordings: the same values, checks and errors as the first."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.primitives.large import LARGE
from tinyjax.transforms.replay import REPEATS, recorded

MANY = REPEATS + 3

X = np.array([0.5, -1.5, 2.0], np.float32)
CALLS = {
    "sum": lambda x: jnp.sum(x),
    "sum_axis": lambda x: jnp.sum(jnp.outer(x, x), axis=1, keepdims=True),
    "mean_of_integers": lambda x: jnp.mean(x.astype("int32")),
    "var": lambda x: jnp.var(x),
    "median": lambda x: jnp.median(x),
    "remainder": lambda x: x % 0.7,
    "floor_divide": lambda x: x // jnp.float32(0.7),
    "hypot": lambda x: jnp.hypot(x, 1.0),
    "where": lambda x: jnp.where(x > 0, x, 0),
    "clip": lambda x: jnp.clip(x, 0.0, 1.0),
    "stack": lambda x: jnp.stack([x, 2 * x]),
    "split": lambda x: jnp.split(x, 3),
    "linspace": lambda x: jnp.linspace(0, 1, 5),
    "searchsorted": lambda x: jnp.searchsorted(jnp.sort(x), x),
    "meshgrid": lambda x: jnp.meshgrid(x, x),
    "softmax": lambda x: jax.nn.softmax(x),
    "logsumexp": lambda x: jax.nn.logsumexp(x),
    "solve": lambda x: jnp.linalg.solve(jnp.diag(x), x),
    "polyval": lambda x: jnp.polyval(x, x),
    "weak": lambda x: jnp.hypot(3.0, 4.0),
    "weak_sum": lambda x: jnp.sum(jnp.asarray(2.5)),
    "power": lambda x: jnp.abs(x) ** x,
    "promoted": lambda x: x + jnp.arange(3),
    "ranks": lambda x: jnp.ones((2, 3)) * x,
    "complex": lambda x: jnp.abs(x + 1j),
    "bfloat16": lambda x: jnp.sum(x.astype(jnp.bfloat16)),
    "random": lambda x: jax.random.choice(jax.random.key(0), x),
}


def bits(result):
    """Everything that is to be the same."""
    leaves = jax.tree.leaves(result)
    return [(x.dtype, x.shape, x.weak_type, np.asarray(x).tobytes()) for x in leaves]


@pytest.mark.parametrize("name", CALLS)
def test_every_call_computes_the_same(name):
    x = jnp.asarray(X)
    first = bits(CALLS[name](x))
    for _ in range(MANY):
        assert bits(CALLS[name](x)) == first


def test_recording_computes_from_the_arguments():
    for k in range(MANY):
        assert float(jnp.sum(jnp.asarray([1.0, k]))) == 1.0 + k
        assert float(jnp.var(jnp.asarray([0.0, 2.0 * k]))) == k * k


@pytest.fixture
def runs():
    """A recorded function, and how often Python ran it."""
    count = []

    @recorded
    def f(x, y=None, scale=1.0):
        count.append(1)
        return [jnp.sin(x) * scale, y]

    return f, count


def test_python_runs_until_a_call_has_repeated(runs):
    f, count = runs
    for _ in range(3 * MANY):
        out, none = f(jnp.asarray(X), scale=2.0)
        assert none is None
        np.testing.assert_allclose(out, 2 * np.sin(X), rtol=1e-6)
    assert len(count) == REPEATS + 1  # one of them to record


def test_numbers_are_told_apart(runs):
    f, _ = runs
    x = jnp.asarray(1.0)
    for scale, want in [(0.0, "0.0"), (-0.0, "-0.0"), (1, "0.84147"), (True, "0.84147")] * MANY:
        assert str(f(x, scale=scale)[0])[:7] == want


def test_dtype_follows_the_flag():
    for _ in range(MANY):
        assert jnp.sum(jnp.asarray([1, 2])).dtype == np.int32
        with jax.enable_x64(True):
            assert jnp.sum(jnp.asarray([1, 2])).dtype == np.int64


def test_nan_is_found_where_it_was_recorded():
    x = jnp.asarray([0.0])
    for _ in range(MANY):
        assert np.isnan(jnp.hypot(x, jnp.nan)).all()
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        jnp.hypot(x, jnp.nan)


def test_values_that_must_be_known_are():
    """jnp.repeat needs the counts: such a call is never recorded, and goes on working."""
    for k in range(MANY):
        assert jnp.repeat(jnp.arange(2), jnp.asarray([1, k])).shape == (1 + k,)


def test_errors_repeat():
    for _ in range(MANY):
        with pytest.raises(TypeError, match="sum requires ndarray or scalar"):
            jnp.sum([1, 2])
        with pytest.raises(ValueError, match="axis 3 is out of bounds"):
            jnp.sum(jnp.ones(2), axis=3)


def test_derivatives_of_what_was_recorded():
    x = jnp.asarray(X)
    for _ in range(MANY):
        jnp.var(x)
    np.testing.assert_allclose(jax.grad(jnp.var)(x), 2 * (X - X.mean()) / 3, rtol=1e-6)
    assert "name=_var" in str(jax.make_jaxpr(jnp.var)(x))


def test_recording_keeps_no_argument():
    def call():
        x = jnp.asarray(X)
        for _ in range(MANY):
            jnp.median(x)
        return weakref.ref(x)

    ref = call()
    gc.collect()
    assert ref() is None


def test_large_arrays_run_as_compiled_programs(runs):
    f, count = runs
    x = jnp.ones(LARGE)
    first = f(x)[0]
    for _ in range(MANY):
        assert (f(x)[0] == first).all()
    assert len(count) == 1
    np.testing.assert_allclose(first, np.sin(np.ones(LARGE)), rtol=1e-6)


def test_what_fails_to_be_traced_just_runs():
    seen = []

    @recorded
    def f(x):
        seen.append(float(x))
        return x

    for k in range(MANY):
        assert f(jnp.asarray(float(k))) == k
    assert seen == [float(k) for k in range(MANY)]


# ---- NumPy's warnings ----------------------------------------------------------------------------


def test_no_warning_of_numpy_shows_and_its_settings_stay():
    zero, large = jnp.zeros(3), jnp.full(3, 3e38)
    with warnings.catch_warnings(), np.errstate(divide="raise", over="warn"):
        warnings.simplefilter("error")
        before = np.geterr()
        for _ in range(MANY):
            assert np.isinf(1 / zero).all() and np.isinf(large * large).all()
            assert np.isnan(jnp.var(large * large))
        assert np.geterr() == before
        with pytest.raises(FloatingPointError):
            np.ones(1) / np.zeros(1)


def test_settings_stay_after_an_error():
    before = np.geterr()
    with pytest.raises(ValueError, match="broadcast"):
        jax.lax.add_p.bind(jnp.ones(2), jnp.ones(3))
    assert np.geterr() == before
