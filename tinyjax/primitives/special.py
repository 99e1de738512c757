"""Special functions of NumPy arrays: error functions and the gamma family.

All but erf_inv compute in double precision and round once. erf_inv is computed in the operand's
own precision with the polynomials that XLA uses, because random normals rest on its exact digits.
"""

import functools
import math

import numpy as np

# ---- in double precision ------------------------------------------------------------------------


def in_float64(f):
    """Compute in double precision, then round to the last operand's dtype."""

    @functools.wraps(f)
    def impl(*xs):
        return np.asarray(f(*[np.asarray(x, np.float64) for x in xs])).astype(xs[-1].dtype)

    return impl


@functools.cache
def error_function(name):
    """erf or erfc: SciPy's, which is fast, or else the standard library's, one by one."""
    try:
        import scipy.special
    except ImportError:
        one_by_one = np.frompyfunc(getattr(math, name), 1, 1)
        return lambda x: np.asarray(one_by_one(x), np.float64)
    return getattr(scipy.special, name)


@in_float64
def erf(x):
    """2/sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    return error_function("erf")(x)


@in_float64
def erfc(x):
    """1 - erf(x), without cancellation for large x."""
    return error_function("erfc")(x)


# ---- the inverse of erf -------------------------------------------------------------------------

# Giles, "Approximating the erfinv function" (2010): for w = -log(1 - x**2) below 5 and above.
CENTRAL = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip


def giles(x):
    """erf_inv in float32."""
    w = -np.log1p(-x * x)
    central = w < 5
    v = np.where(central, w - np.float32(2.5), np.sqrt(w) - np.float32(3))
    p = np.zeros_like(v)
    for a, b in zip(CENTRAL, TAIL):
        p = np.where(central, np.float32(a), np.float32(b)) + p * v
    return np.where(np.abs(x) == 1, x * np.float32(np.inf), p * x)


def refined(x):
    """erf_inv in float64: Halley steps from Giles' estimate, on the side where erfc is precise."""
    side, rest = np.abs(x), 1 - np.abs(x)
    inside = np.minimum(side, 1 - 2.0**-24)
    y = np.asarray(giles(inside.astype(np.float32)), np.float64)
    # beyond float32's last number below 1: the leading term of the tail
    far = np.sqrt(-np.log(np.maximum(rest, 1e-300) * np.sqrt(np.pi) * np.maximum(y, 1)))
    y = np.where(rest < 2.0**-23, far, y)
    for _ in range(4):
        error = np.where(side < 0.5, erf(y) - side, rest - erfc(y))
        step = error / (2 / np.sqrt(np.pi) * np.exp(-y * y))
        y = y - step / (1 + y * step)
    return np.where(side == 1, x * np.inf, np.where(side > 1, np.nan, np.copysign(y, x)))


def erf_inv(x):
    """The y with erf(y) = x; infinite at -1 and 1, NaN outside."""
    if x.dtype == np.float64:
        return refined(x)
    return giles(x.astype(np.float32)).astype(x.dtype)


# ---- the gamma family ---------------------------------------------------------------------------

LANCZOS_G = 7
LANCZOS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
    1.5056327351493116e-7,
)  # fmt: skip


@in_float64
def lgamma(x):
    """log |gamma(x)|, by Lanczos' approximation; infinite at the poles."""
    reflect = x < 0.5
    z = np.where(reflect, -x, x - 1)
    series = LANCZOS[0] + sum(c / (z + k) for k, c in enumerate(LANCZOS) if k)
    t = z + LANCZOS_G + 0.5
    out = 0.5 * math.log(2 * math.pi) + (z + 0.5 - t / np.log(t)) * np.log(t) + np.log(series)
    fraction = np.abs(x) - np.floor(np.abs(x))
    least = np.minimum(fraction, 1 - fraction)
    # |gamma(x) gamma(1 - x)| = pi / |sin(pi x)|, where sin(pi f) = pi f sinc(f)
    out = np.where(reflect, -np.log(least) - np.log(np.sinc(least)) - out, out)
    out = np.where((x == 1) | (x == 2), 0.0, out)
    return np.where(np.isinf(x) | (reflect & (least == 0)), np.inf, out)


# B(2k) / (2k) of the asymptotic series of digamma
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


@in_float64
def digamma(x):
    """The derivative of lgamma: recurrence to 10, asymptotic series; NaN at the poles."""
    reflect = x < 0.5
    z = np.where(reflect, 1 - x, x)
    shift = np.zeros_like(z)
    for _ in range(10):
        small = z < 10
        shift = np.where(small, shift - 1 / z, shift)
        z = np.where(small, z + 1, z)
    series = sum(c / z ** (2 * k + 2) for k, c in enumerate(DIGAMMA_SERIES))
    out = shift + np.log(z) - 0.5 / z - series
    fraction = x - np.round(x)  # tan(pi x) has period 1
    out = np.where(reflect, out - np.pi / np.tan(np.pi * fraction), out)
    return np.where((x <= 0) & (x == np.floor(x)), np.nan, out)


# B(2k) / (2k)! of the Euler-Maclaurin formula
BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000)


@in_float64
def zeta(s, q):
    """Hurwitz' sum of (k + q)**-s over k >= 0, for s > 1: Euler and Maclaurin's formula.

    As in XLA the formula starts at q + 10, so far below zero it is not precise.
    """
    head = sum((q + k) ** -s for k in range(10))
    end = q + 10
    out = head + end ** (1 - s) / (s - 1) + end**-s / 2
    factor, power = s, end ** (-s - 1)
    for k, b in enumerate(BERNOULLI):
        out = out + b * factor * power
        factor = factor * (s + 2 * k + 1) * (s + 2 * k + 2)
        power = power / (end * end)
    out = np.where((s < 1) | (q == np.inf), np.nan, out)
    pole = (q <= 0) & (q == np.floor(q))
    out = np.where(pole, np.where(s % 2 == 0, np.inf, np.nan), out)
    return np.where(s == 1, np.inf, out)


@in_float64
def polygamma(m, x):
    """The m-th derivative of digamma, for integers m >= 0."""
    sign = np.where(m % 2 == 1, 1.0, -1.0)
    out = sign * np.exp(lgamma(m + 1)) * zeta(m + 1, x)
    out = np.where(m == 0, digamma(x), out)
    return np.where((m < 0) | (m != np.floor(m)), np.nan, out)
