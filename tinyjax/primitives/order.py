"""Order and size: max, min, absolute values, signs, rounding, remainders."""

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.primitives.arithmetic import (
    ANY,
    NUMBER,
    REAL,
    boolean,
    const,
    div,
    eq,
    full_of,
    ge,
    mul,
    nary,
    neg,
    scale,
    unary,
)
from tinyjax.primitives.broadcasting import RoundingMethod
from tinyjax.primitives.complex_parts import conj, real
from tinyjax.primitives.linear import convert
from tinyjax.primitives.rules import Elementwise, WithoutDerivative, identity
from tinyjax.primitives.selection import select, without_zeros

# ---- order and sign ------------------------------------------------------------------------------


def balanced_eq(x, ans, y):
    """1 where x is the answer, 1/2 where x and y both are."""
    return div(
        select(eq(x, ans), full_of(ans, 1), full_of(ans, 0)),
        select(eq(y, ans), full_of(ans, 2), full_of(ans, 1)),
    )


def larger_partials():
    """The derivatives of max and min: half each where the operands are equal."""
    return (
        lambda ans, x, y: scale(balanced_eq(x, ans, y)),
        lambda ans, x, y: scale(balanced_eq(y, ans, x)),
    )


def sign_of(x):
    """-1, 0 or 1; NaN and signed zeros stay; for complex numbers x / |x|."""
    if x.dtype.kind != "c":
        return np.sign(x) if x.dtype.kind in "iu" else np.copysign(np.sign(x), x).astype(x.dtype)
    return np.where(x == 0, x, x / np.where(x == 0, 1, np.abs(x))).astype(x.dtype)


def abs_partial(ans, x):
    """The slope of |x|: 1 at zero, as JAX has it; for complex x the projection on x."""
    if x.dtype.kind == "c":
        unit = div(conj(x), without_zeros(convert(ans, x.dtype)))
        return lambda t: real(mul(t, unit))
    positive = ge(x, const(x, 0))
    return lambda t: select(positive, t, neg(t))


def real_part_dtype(dtype):
    """The dtype of absolute values."""
    return dtypes.to_floating_dtype(dtype) if dtype.kind == "c" else dtype


def extreme(ufunc, before):
    """max or min; complex numbers are ordered by their real parts, then by their imaginary ones."""

    def impl(x, y):
        if x.dtype.kind != "c":
            return ufunc(x, y)
        first = np.where(x.real == y.real, before(x.imag, y.imag), before(x.real, y.real))
        return np.where(first, x, y)

    return impl


max_p = Elementwise("max", extreme(np.maximum, np.greater), *larger_partials(), accepts=ANY)
min_p = Elementwise("min", extreme(np.minimum, np.less), *larger_partials(), accepts=ANY)
sign_p = Elementwise("sign", sign_of, None, accepts=NUMBER)
abs_p = Elementwise("abs", np.abs, abs_partial, accepts="ifc", dtype=real_part_dtype)
floor_p = Elementwise("floor", np.floor, None, accepts="f")
ceil_p = Elementwise("ceil", np.ceil, None, accepts="f")
is_finite_p = Elementwise("is_finite", np.isfinite, None, dtype=boolean, accepts="f")
nextafter_p = WithoutDerivative("nextafter", np.nextafter, accepts="f")

max_, min_, sign, abs_ = nary(max_p), nary(min_p), unary(sign_p), unary(abs_p)
floor, ceil, is_finite = unary(floor_p), unary(ceil_p), unary(is_finite_p)
next_after = nary(nextafter_p)


def nextafter(x1, x2):
    """The float after x1 on the way to x2; arguments and errors as of add."""
    return next_after(x1, x2)


class Round(Elementwise):
    """round[rounding_method] x: 0 away from zero at halves, 1 to the even neighbour."""

    def impl(self, x, *, rounding_method):
        if rounding_method == 1:
            return np.rint(x)
        away = np.trunc(x + np.copysign(np.asarray(0.5, x.dtype), x)).astype(x.dtype)
        big = np.abs(x) >= 2.0 ** (np.finfo(x.dtype).nmant if x.dtype.kind == "f" else 7)
        just_below = np.abs(x) == np.nextafter(np.asarray(0.5, x.dtype), np.asarray(0, x.dtype))
        out = np.where(just_below, np.copysign(np.asarray(0, x.dtype), x), away)
        return np.where(big, x, out).astype(x.dtype)


round_p = Round("round", None, None, accepts="f")


def round_(x, rounding_method=RoundingMethod.AWAY_FROM_ZERO):
    """Round to integers: halves away from zero (0) or to the even neighbour (1)."""
    x = lift(x)
    round_p.check_dtypes([x.dtype])
    return round_p.bind(x, rounding_method=int(rounding_method))


# ---- remainder -----------------------------------------------------------------------------------


def remainder(x, y):
    """XLA's remainder: the sign of the dividend; x rem 0 = x for integers."""
    out = np.fmod(x, y)
    return out if x.dtype.kind not in "iu" else np.where(y == 0, x, out).astype(x.dtype)


def rem_partial_y(ans, x, y):
    """d rem(x, y)/dy = -trunc(x / y)."""
    return lambda t: mul(neg(t), mul(sign(div(x, y)), floor(abs_(div(x, y)))))


rem_p = Elementwise("rem", remainder, lambda a, x, y: identity, rem_partial_y, accepts=REAL)
rem = nary(rem_p)
