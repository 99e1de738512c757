"""Modified Bessel functions, scaled: bessel_i0e, bessel_i1e."""

import numpy as np

from tinyjax.array import lift
from tinyjax.primitives.arithmetic import div, eq, mul, sub
from tinyjax.primitives.creation import full_like
from tinyjax.primitives.order import sign
from tinyjax.primitives.rules import Elementwise
from tinyjax.primitives.selection import select

#: Where the asymptotic series takes over from the integral.
FAR = 50.0
#: cos at the middles of equal parts of [0, pi]: there the integrand's mean converges fast.
COSINES = np.cos((np.arange(160) + 0.5) * np.pi / 160)


def scaled(order, x):
    """exp(-abs(x)) * I_order(x), in double precision.

    Near: the mean of exp(x * (cos(t) - 1)) * cos(order * t) over t in [0, pi].
    """
    x64 = np.abs(x.astype(np.float64))
    near = np.minimum(x64, FAR)[..., None]
    weights = COSINES if order else 1.0
    inner = np.mean(np.exp(near * (COSINES - 1)) * weights, -1)
    out = np.where(x64 <= FAR, inner, far_away(order, np.maximum(x64, FAR)))
    out = np.where(np.isnan(x64), np.nan, out)
    return (np.sign(x) * out if order else out).astype(x.dtype)


def far_away(order, x):
    """The asymptotic series of exp(-x) * I_order(x), for large x."""
    total = term = np.ones_like(x)
    with np.errstate(invalid="ignore"):
        for k in range(1, 20):
            term = term * ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k * x)
            total = total + term
        return total / np.sqrt(2 * np.pi * x)


def i0e_partial(ans, x):
    """i1e(x) - sign(x) * i0e(x)."""
    return lambda t: mul(t, sub(bessel_i1e(x), mul(sign(x), ans)))


def i1e_partial(ans, x):
    """i0e(x) - i1e(x) * (sign(x) + 1 / x), and 1/2 at 0."""
    zero = eq(x, full_like(x, 0))
    safe = select(zero, full_like(x, 1), x)
    slope = sub(bessel_i0e(safe), mul(ans, sign(safe)))
    slope = sub(slope, div(ans, safe))
    slope = select(zero, full_like(x, 0.5), slope)
    return lambda t: mul(t, slope)


bessel_i0e_p = Elementwise("bessel_i0e", lambda x: scaled(0, x), i0e_partial, accepts="f")
bessel_i1e_p = Elementwise("bessel_i1e", lambda x: scaled(1, x), i1e_partial, accepts="f")


def bessel_i0e(x):
    """exp(-abs(x)) times the modified Bessel function of order 0, elementwise."""
    x = lift(x)
    bessel_i0e_p.check_dtypes([x.dtype])
    return bessel_i0e_p.bind(x)


def bessel_i1e(x):
    """exp(-abs(x)) times the modified Bessel function of order 1, elementwise."""
    x = lift(x)
    bessel_i1e_p.check_dtypes([x.dtype])
    return bessel_i1e_p.bind(x)
