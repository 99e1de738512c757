"""Eager operations on large arrays run as compiled programs: the same values, types and checks."""

import gc
import weakref

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.primitives.large import HUGE, LARGE
from tinyjax.transforms.eager import program_of

N = LARGE + 100
RNG = np.random.default_rng(0)
FLOATS = RNG.normal(size=(N // 100, 100)).astype(np.float32)
INTEGERS = RNG.integers(-9, 9, FLOATS.shape).astype(np.int32)

OPERATIONS = {
    "exp": (lambda xp, x, i: xp.exp(x), 1e-6),
    "sum": (lambda xp, x, i: xp.sum(x, axis=0), 2e-5),
    "max": (lambda xp, x, i: xp.max(x, axis=1), 0),
    "where": (lambda xp, x, i: xp.where(x > 0, x, -x), 0),
    "to_int": (lambda xp, x, i: x.astype("int32"), 0),
    "divide": (lambda xp, x, i: x / (x + 9), 1e-6),
    "square": (lambda xp, x, i: x**2, 1e-7),
    "cumsum": (lambda xp, x, i: xp.cumsum(x, axis=1), 1e-4),
    "var": (lambda xp, x, i: xp.var(x, axis=0), 1e-5),
    "clip": (lambda xp, x, i: xp.clip(x, -1, 1), 0),
    "transpose": (lambda xp, x, i: x.T, 0),
    "remainder": (lambda xp, x, i: i % 5, 0),
    "wraps_around": (lambda xp, x, i: (i + np.int32(2**31 - 5)) * i, 0),
    "stack": (lambda xp, x, i: xp.stack([x, x]), 0),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_values(name):
    f, tolerance = OPERATIONS[name]
    x, i = jnp.asarray(FLOATS), jnp.asarray(INTEGERS)
    with np.errstate(all="ignore"):
        want = f(np, FLOATS, INTEGERS)
    first, second = f(jnp, x, i), f(jnp, x, i)
    assert first.dtype == want.dtype and first.shape == want.shape and not first.weak_type
    np.testing.assert_allclose(first, want, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(first, second)


def test_it_is_a_compiled_program():
    program_of.cache_clear()
    lax.exp(jnp.ones(N - 200))
    assert program_of.cache_info().currsize == 0
    for _ in range(2):
        lax.exp(jnp.ones(N))
    assert program_of.cache_info()[:2] == (1, 1)  # hits, misses
    lax.add(jnp.ones(N), 1.0)  # NumPy does that as fast
    assert program_of.cache_info().currsize == 1
    assert lax.add(jnp.ones(HUGE), 1.0)[-1] == 2
    assert program_of.cache_info().currsize == 2


def test_division_by_zero_of_integers():
    """XLA's answers: x / 0 = -1, x % 0 = x, the smallest integer / -1 = itself."""
    x = jnp.full(N, -(2**31), jnp.int32)
    assert (lax.div(x, jnp.zeros(N, jnp.int32)) == -1).all()
    assert (lax.rem(x, jnp.zeros(N, jnp.int32)) == x).all()
    assert (lax.div(x, jnp.full(N, -1, jnp.int32)) == x).all()


def test_weak_types():
    x = jnp.broadcast_to(jnp.asarray(2.5), (N,))
    assert x.weak_type and jnp.exp(x).weak_type and lax.floor(x).weak_type
    assert not (jnp.exp(x) + jnp.ones(N)).weak_type


def test_nan_is_found():
    x = jnp.zeros(N).at[7].set(-1.0)
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        jnp.log(x)
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        jnp.var(x.at[0].set(jnp.inf))
    assert np.isnan(jnp.log(x)[7])


def test_shapes_that_do_not_fit():
    with pytest.raises(TypeError, match="shape"):
        lax.pow(jnp.ones(N), jnp.ones(N + 1))


def test_derivatives():
    x = jnp.asarray(FLOATS)
    np.testing.assert_allclose(jax.grad(lambda x: jnp.sum(jnp.exp(x)))(x), np.exp(FLOATS), 1e-5)


def test_views_stay_views():
    """Nothing is copied where NumPy need not."""
    x = jnp.asarray(FLOATS)
    assert np.shares_memory(x.T, x) and np.shares_memory(x.reshape(-1), x)


# ---- loops ---------------------------------------------------------------------------------------


LOOPS = {
    "scan": lambda f, x: lax.scan(lambda_of(f, "scan"), x, jnp.arange(3.0))[0],
    "fori": lambda f, x: lax.fori_loop(0, 3, lambda_of(f, "fori"), x),
    "fori_while": lambda f, x: lax.fori_loop(0, jnp.asarray(3), lambda_of(f, "fori"), x),
    "while": lambda f, x: lax.while_loop(below_ten, lambda_of(f, "while"), x),
}
_made: dict = {}


def below_ten(x):
    """A predicate."""
    return x < 10


def lambda_of(f, kind):
    """A body of this kind: the same function for the same f."""
    bodies = {
        "scan": lambda c, x: (f(c), x),
        "fori": lambda i, c: f(c),
        "while": f,
    }
    return _made.setdefault((f, kind), bodies[kind])


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_traced_once(name):
    count = []

    def double(x):
        count.append(1)
        return 2 * x

    for start in (1.0, 2.0, 4.0):
        want = 16.0 if name == "while" else 8 * start
        assert LOOPS[name](double, jnp.float32(start)) == want
    assert len(count) == 1
    jax.clear_caches()
    LOOPS[name](double, jnp.float32(1))
    assert len(count) == 2


def test_a_loop_that_captured_a_tracer_is_traced_again():
    def total(scale):
        return lax.fori_loop(0, 3, lambda i, c: c + scale, 0.0)

    for k in range(3):
        assert jax.grad(total)(float(k)) == 3

    def of_outer(y):
        def add(i, c):
            return c + y

        return lax.fori_loop(0, 3, add, y)

    assert jax.jit(of_outer)(1.0) == 4 and jax.jit(of_outer)(2.0) == 8


def test_bodies_are_not_kept():
    def call():
        def body(i, x):
            return x + 1

        lax.fori_loop(0, 3, body, 0)
        return weakref.ref(body)

    ref = call()
    gc.collect()
    assert ref() is None
