"""Window functions of signal processing, and i0."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.checks import concrete_or_error
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.selection import _where
from tinyjax.numpy.ufuncs import abs, cos, sqrt
from tinyjax.transforms.custom import custom_jvp
from tinyjax.transforms.subprogram import subprogram


@subprogram
def i0(x):
    """The modified Bessel function of the first kind, of order 0, elementwise."""
    (x,) = promote_args_inexact("i0", x)
    if not dtypes.issubdtype(x.dtype, np.floating):
        raise ValueError(f"Unsupported input type to jax.numpy.i0: {x.dtype}")
    return _i0(x)


@custom_jvp
def _i0(x):
    """exp(abs(x)) times the scaled function."""
    magnitude = lax.abs(x)
    return lax.mul(lax.exp(magnitude), lax.bessel_i0e(magnitude))


@_i0.defjvp
def _i0_jvp(primals, tangents):
    """The derivative is i1, and 0 at 0, where abs has none."""
    (x,), (t,) = primals, tangents
    out = _i0(x)
    magnitude = lax.abs(x)
    slope = lax.mul(lax.exp(magnitude), lax.mul(lax.sign(x), lax.bessel_i1e(magnitude)))
    return out, _where(x == 0, 0.0, lax.mul(t, slope))


def samples(name, M):
    """-> 0 ... M - 1 as floats; or None and what every window of one sample is."""
    M = concrete_or_error(int, M, f"M argument of jnp.{name}")
    dtype = dtypes.default_float_dtype()
    if M <= 1:
        return None, lax.full((M,), 1, dtype)
    return lax.iota(dtype, M), M


def bartlett(M):
    """A triangle of M samples."""
    n, M = samples("bartlett", M)
    return M if n is None else 1 - abs(2 * n + 1 - M) / (M - 1)


def blackman(M):
    """The Blackman window of M samples."""
    n, M = samples("blackman", M)
    if n is None:
        return M
    return 0.42 - 0.5 * cos(2 * np.pi * n / (M - 1)) + 0.08 * cos(4 * np.pi * n / (M - 1))


def hamming(M):
    """The Hamming window of M samples."""
    n, M = samples("hamming", M)
    return M if n is None else 0.54 - 0.46 * cos(2 * np.pi * n / (M - 1))


def hanning(M):
    """The Hann window of M samples."""
    n, M = samples("hanning", M)
    return M if n is None else 0.5 * (1 - cos(2 * np.pi * n / (M - 1)))


def kaiser(M, beta):
    """The Kaiser window of M samples; the larger beta, the narrower."""
    n, M = samples("kaiser", M)
    if n is None:
        return M
    middle = 0.5 * (M - 1)
    return i0(beta * sqrt(1 - ((n - middle) / middle) ** 2)) / i0(beta)
