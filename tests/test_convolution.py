"""Convolution: printed forms, and what it refuses."""

import re

import cards.convolution
import jax
import numpy as np
import pytest

import tinyjax

CASES = {case.name: case for case in cards.convolution.CASES}


def programs(world, case):
    """The plain program and its derivatives."""

    def f(*args):
        return case.fun(world.lax, *args)

    yield f
    if case.diff:
        yield lambda *args: world.jvp(f, args, args)
        yield world.grad(lambda *args: world.numpy.sum(f(*args) ** 2), argnums=(0, 1))


#: With groups, derivatives reshape; the oracle's reshapes permute, too.
PLAIN = [name for name in CASES if "groups" not in name]


@pytest.mark.parametrize("name", PLAIN)
def test_printed(name):
    """Plain programs, forward and reverse derivatives print as the oracle's."""
    case = CASES[name]
    for ours, theirs in zip(programs(tinyjax, case), programs(jax, case)):
        got, want = tinyjax.make_jaxpr(ours)(*case.args), jax.make_jaxpr(theirs)(*case.args)
        assert re.sub(r"np\.int64\((-?\d+)\)", r"\1", str(want)) == str(got)


X, W = np.ones((1, 2, 5, 5), np.float32), np.ones((3, 2, 2, 2), np.float32)
REFUSED = {
    "dtypes": (lambda lax: lax.conv(X, W.astype(np.int32), (1, 1), "SAME"), TypeError, "dtypes"),
    "ranks": (lambda lax: lax.conv(X, W[0], (1, 1), "SAME"), TypeError, "ndim to be equal"),
    "features": (lambda lax: lax.conv(X[:, :1], W, (1, 1), "SAME"), ValueError, "1 // 1 != 2"),
    "padding": (lambda lax: lax.conv(X, W, (1, 1), "FULL"), RuntimeError, "padding type"),
    "pairs": (
        lambda lax: lax.conv_general_dilated(X, W, (1, 1), 3),
        ValueError,
        "sequence of",
    ),
    "letters": (
        lambda lax: lax.conv_general_dilated(X, W, (1, 1), "SAME", dimension_numbers="NCHW"),
        TypeError,
        "three texts",
    ),
    "groups": (
        lambda lax: lax.conv_general_dilated(
            X, W, (1, 1), "SAME", feature_group_count=2, batch_group_count=2
        ),
        ValueError,
        "At most one",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors(case):
    """Bad arguments are refused, and named."""
    call, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        call(tinyjax.lax)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_vectors(mode):
    """jnp.convolve and jnp.correlate are NumPy's."""
    a, v = np.arange(5, dtype=np.float32), np.array([1.0, 2.0, 0.5], np.float32)
    jnp = tinyjax.numpy
    np.testing.assert_allclose(jnp.convolve(a, v, mode), np.convolve(a, v, mode))
    np.testing.assert_allclose(jnp.correlate(a, v, mode), np.correlate(a, v, mode))
    np.testing.assert_allclose(jnp.correlate(v, a, mode), np.correlate(v, a, mode))
    want = str(jax.make_jaxpr(lambda a, v: jax.numpy.convolve(a, v, mode))(a, v))
    assert str(tinyjax.make_jaxpr(lambda a, v: jnp.convolve(a, v, mode))(a, v)) == want


def test_polynomials():
    """What is made of convolutions: products of polynomials, and polynomials from roots."""
    jnp = tinyjax.numpy
    a, b = np.array([1.0, 2.0, 3.0], np.float32), np.array([2.0, -1.0], np.float32)
    np.testing.assert_allclose(jnp.polymul(a, b), np.polymul(a, b))
    np.testing.assert_allclose(jnp.poly(a), np.poly(a), rtol=1e-5)
    q, r = jnp.polydiv(a, b)
    np.testing.assert_allclose(jnp.polyadd(jnp.polymul(q, b), r), a, rtol=1e-5)
    np.testing.assert_allclose(
        np.sort(np.abs(jnp.roots(a))), np.sort(np.abs(np.roots(a))), rtol=1e-4
    )
    x = np.linspace(0, 1, 7, dtype=np.float32)
    np.testing.assert_allclose(jnp.polyfit(x, 2 * x**2 - x, 2), [2, -1, 0], atol=1e-4)


@pytest.mark.parametrize(
    "dtype, wide", [("int8", "int32"), ("uint8", "int32"), ("float16", "float32")]
)
def test_wider_results(dtype, wide):
    """Products are made at the dtype of the result."""
    images = np.array([[[100, 3, 120, 7]]]).astype(dtype)
    windows = np.array([[[90, 100]]]).astype(dtype)
    run = lambda lax: lax.conv_general_dilated(
        images, windows, (1,), "SAME", preferred_element_type=wide
    )
    ours, oracle = run(tinyjax.lax), run(jax.lax)
    assert ours.dtype == oracle.dtype
    np.testing.assert_array_equal(ours, oracle)
