"""jax.numpy.fft against the oracle: lengths, axes, norms, errors, derivatives, batches."""

import inspect

import jax
import numpy as np
import pytest
from jnp_check import check, check_error

import tinyjax

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 5)).astype(np.float32)
Z = (X + 1j * RNG.normal(size=(4, 5))).astype(np.complex64)
BIG = RNG.normal(size=(2, 3, 2, 3, 4)).astype(np.float32)
ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
TWO = ["fft2", "ifft2", "rfft2", "irfft2"]
MANY = ["fftn", "ifftn", "rfftn", "irfftn"]


def call(name, *args, **settings):
    """A function of jax.numpy and an array."""
    return lambda jnp, x: getattr(jnp.fft, name)(x, *args, **settings)


def operand(name):
    """Real numbers for transforms that want them."""
    return X if name.startswith(("rfft", "ihfft")) else Z


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ONE)
def test_one_axis(name, norm):
    x = operand(name)
    for n in (None, 1, 3, 8):
        for axis in (-1, 0):
            check(call(name, n, axis, norm), x)


@pytest.mark.parametrize("name", TWO + MANY)
def test_several_axes(name):
    x = operand(name)
    for norm in (None, "ortho"):
        for s in (None, (3, 6)):
            for axes in (-2, -1), (1, 0):
                check(call(name, s, axes, norm), x)


@pytest.mark.parametrize("name", MANY)
def test_many_axes(name):
    function = {"s": None}
    check(lambda jnp, x: getattr(jnp.fft, name)(x, **function), BIG)
    check(lambda jnp, x: getattr(jnp.fft, name)(x[0]), BIG)
    check(lambda jnp, x: getattr(jnp.fft, name)(x, s=(2, 4)), BIG)
    check(lambda jnp, x: getattr(jnp.fft, name)(x, axes=(2,)), BIG)
    check(lambda jnp, x: getattr(jnp.fft, name)(x, axes=()), operand(name))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["fft", "ifft", "irfft"])
def test_dtypes(name, dtype):
    check(lambda jnp, x: getattr(jnp.fft, name)(x.astype(dtype)), np.array([0, 1, 2, 3, 1]))


def test_rfft_of_integers():
    check(lambda jnp, x: jnp.fft.rfft(x), np.array([0, 1, 2, 3], np.int32))


def test_wide_numbers():
    with jax.enable_x64(True), tinyjax.enable_x64(True):
        for name in ("fft", "irfft"):
            got = getattr(tinyjax.numpy.fft, name)(Z.astype(np.complex128))
            want = getattr(jax.numpy.fft, name)(Z.astype(np.complex128))
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name, n):
    check(lambda jnp: getattr(jnp.fft, name)(n))
    check(lambda jnp: getattr(jnp.fft, name)(n, d=0.1))
    check(lambda jnp: getattr(jnp.fft, name)(n, dtype="float16"))


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_shifts(n):
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, (1,), (0, 1)):
            check(call(name, axes), RNG.normal(size=(n, 3)))


def test_errors():
    check_error(lambda jnp, x: jnp.fft.fft(x, 0), X, words=["positive"])
    check_error(lambda jnp, x: jnp.fft.fft(x, axis=[0]), X, words=["multiple axes"])
    check_error(lambda jnp, x: jnp.fft.fftn(x, axes=(1, 1)), X, words=["repeated"])
    check_error(lambda jnp, x: jnp.fft.fftn(x, (3,), (0, 1)), X, words=["different lengths"])
    check_error(lambda jnp, x: jnp.fft.fft2(x, axes=(0,)), X, words=["2 axes"])
    check_error(lambda jnp, x: jnp.fft.rfft(x), Z, words=["real"])
    check_error(lambda jnp, x: jnp.fft.fft(x, norm="no"), X, words=["norm"])
    check_error(lambda jnp: jnp.fft.fftfreq([3]), words=["int"])
    check_error(lambda jnp: jnp.fft.rfftfreq(3, [1]), words=["single"])
    check_error(lambda jnp, x: jnp.fft.fft([1.0, 2.0]), X, words=["array"])


@pytest.mark.parametrize("name", ONE)
def test_derivatives_and_batches(name):
    x = operand(name)

    def run(world):
        def f(x):
            return abs(getattr(world.numpy.fft, name)(x)).sum()

        return world.jit(world.vmap(world.grad(f)))(x), world.vmap(f, 1)(x)

    for got, want in zip(run(tinyjax), run(jax)):
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)


def test_signatures():
    for name in tinyjax.numpy.fft.__all__:
        ours = inspect.signature(getattr(tinyjax.numpy.fft, name))
        oracle = inspect.signature(getattr(jax.numpy.fft, name))
        ours, oracle = (
            [(p.name, p.kind, p.default) for p in s.parameters.values()] for s in (ours, oracle)
        )
        assert ours == oracle
