"""Division with a remainder, and the parts that floating-point numbers are made of."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import Array
from tinyjax.numpy.checks import check_out, ensure_arraylike
from tinyjax.numpy.comparisons import isinf, isnan, logical_and
from tinyjax.numpy.promotion import (
    const,
    constant_like,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    promote_dtypes_inexact,
    to_shape,
)
from tinyjax.numpy.selection import _where
from tinyjax.numpy.ufuncs import ceil, exp2, floor
from tinyjax.transforms.custom import custom_jvp
from tinyjax.transforms.subprogram import subprogram

# ---- division -----------------------------------------------------------------------------------


@subprogram
def floor_divide(x1, x2, /):
    """x1 / x2 rounded down, elementwise: what Python's // does.

    >>> import tinyjax.numpy as jnp
    >>> jnp.floor_divide(jnp.array([7, -7]), 2)
    Array([ 3, -4], dtype=int32)
    """
    x1, x2 = promote_args_numeric("floor_divide", x1, x2)
    if x1.dtype.kind == "c":
        raise TypeError("floor_divide does not support complex-valued inputs")
    if x1.dtype.kind == "u":
        return lax.div(x1, x2)
    if x1.dtype.kind == "i":
        quotient = lax.div(x1, x2)
        rounded_up = logical_and(lax.sign(x1) != lax.sign(x2), lax.rem(x1, x2) != 0)
        return _where(rounded_up, quotient - 1, quotient)
    return float_divmod(x1, x2)[0]


@subprogram
def remainder(x1, x2, /):
    """x1 - floor_divide(x1, x2) * x2, elementwise: the sign of x2, as Python's %.

    >>> import tinyjax.numpy as jnp
    >>> jnp.remainder(jnp.array([7, -7]), 3)
    Array([1, 2], dtype=int32)
    """
    x1, x2 = promote_args_numeric("remainder", x1, x2)
    zero = constant_like(x1, 0)
    if x2.dtype.kind in "iu":
        x2 = _where(x2 == 0, lax.full_like(x2, 1), x2)
    mod = lax.rem(x1, x2)
    nonzero = lax.ne(mod, zero)
    other_sign = lax.ne(lax.lt(mod, zero), lax.lt(x2, zero))
    mod = lax.select(lax.bitwise_and(other_sign, nonzero), lax.add(mod, x2), mod)
    return (
        mod if x2.dtype.kind in "iu" else signed_zeros(mod, to_shape(lax.lt(x2, zero), mod.shape))
    )


def signed_zeros(x, negative):
    """x, but its zeros are -0.0 where negative holds, and 0.0 elsewhere."""
    zero = Array(np.zeros((), x.dtype), bool(x.weak_type), literal=True)  # -0.0 + 0.0 is 0.0
    return lax.select(negative, lax.neg(lax.add(lax.neg(x), zero)), lax.add(x, zero))


def mod(x1, x2, /):
    """See remainder."""
    return remainder(x1, x2)


@subprogram
def fmod(x1, x2, /):
    """The remainder with the sign of x1, elementwise, as C's fmod."""
    x1, x2 = ensure_arraylike("fmod", x1, x2)
    if dtypes.issubdtype(dtypes.result_type(x1, x2), np.integer):
        x2 = _where(x2 == 0, lax.full_like(x2, 1), x2)
    return lax.rem(*promote_args_numeric("fmod", x1, x2))


@subprogram
def divmod(x1, x2, /):
    """-> floor_divide(x1, x2), remainder(x1, x2)."""
    x1, x2 = promote_args_numeric("divmod", x1, x2)
    if x1.dtype.kind in "iu":
        return floor_divide(x1, x2), remainder(x1, x2)
    return float_divmod(x1, x2)


def float_divmod(x1, x2):
    """Quotient and remainder of floats: the remainder is exact, the quotient follows from it."""
    mod = lax.rem(x1, x2)
    quotient = lax.div(_where(x2 == 0, x1, lax.sub(x1, mod)), x2)
    other_sign = lax.bitwise_and(mod != 0, lax.sign(x2) != lax.sign(mod))
    mod = lax.select(other_sign, mod + x2, mod)
    quotient = lax.select(other_sign, quotient - 1.0, quotient)
    return lax.round(quotient), mod


@subprogram
def modf(x, /, out=None):
    """-> the fraction and the whole part of x, both with its sign, elementwise."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("modf", x))
    check_out("modf", out)
    whole = _where(lax.ge(x, const(x, 0)), floor(x), ceil(x))
    return x - whole, whole


# ---- signs --------------------------------------------------------------------------------------

_INT_OF_BITS = {16: np.int16, 32: np.int32, 64: np.int64}


@subprogram
def signbit(x, /):
    """Whether the sign is negative, elementwise: also that of -0.0 and -nan."""
    (x,) = promote_args("signbit", x)
    if x.dtype.kind in "iu":
        return lax.lt(x, constant_like(x, 0))
    if x.dtype == bool:
        return lax.full_like(x, False, dtype=np.bool_)
    if not dtypes.issubdtype(x.dtype, np.floating):
        raise ValueError(f"jax.numpy.signbit is not well defined for {x.dtype}")
    info = dtypes.finfo(x.dtype)
    if info.bits not in _INT_OF_BITS:
        raise NotImplementedError("jax.numpy.signbit only supports 16, 32, and 64-bit types.")
    bits = lax.bitcast_convert_type(x, _INT_OF_BITS[info.bits])
    return lax.convert_element_type(bits >> (info.nexp + info.nmant), np.bool_)


@subprogram
def copysign(x1, x2, /):
    """abs(x1) with the sign of x2, elementwise. Raises TypeError for complex numbers."""
    x1, x2 = promote_args_inexact("copysign", x1, x2)
    if x1.dtype.kind == "c":
        raise TypeError("copysign does not support complex-valued inputs")
    return _where(signbit(x2), -lax.abs(x1), lax.abs(x1))


# ---- neighbours ---------------------------------------------------------------------------------


def nextafter(x, y, /):
    """The next float after x in the direction of y, elementwise."""
    return lax.nextafter(*promote_args_inexact("nextafter", x, y))


def spacing(x, /):
    """The distance to the next float away from zero, elementwise."""
    (x,) = promote_args_inexact("spacing", x)
    if x.dtype.kind == "c":
        raise ValueError("jnp.spacing is not defined for complex inputs.")
    inf = const(x, np.inf)
    if x.dtype == np.float16:
        return lax.nextafter(x, inf) - x
    smallest = dtypes.finfo(x.dtype).smallest_subnormal
    result = lax.nextafter(x, copysign(inf, x)) - x
    return _where(result == 0, copysign(smallest, x), result)


# ---- mantissa and exponent ----------------------------------------------------------------------


@subprogram
def frexp(x, /):
    """-> mantissa in [0.5, 1) with the sign of x, and exponent: x = mantissa * 2**exponent."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("frexp", x))
    if x.dtype.kind == "c":
        raise TypeError("frexp does not support complex-valued inputs")
    return _frexp(x)


@custom_jvp
def _frexp(x):
    """frexp, by its bits."""
    info = dtypes.finfo(x.dtype)
    mask, bias = (1 << info.nexp) - 1, 1 - info.minexp
    bits, exponent = normalized_bits(x, info)
    exponent = exponent + (((bits >> info.nmant) & mask) - bias + 1)
    bits = bits & ~(mask << info.nmant)
    bits = bits | ((bias - 1) << info.nmant)
    mantissa = lax.bitcast_convert_type(bits, x.dtype)
    special = isinf(x) | isnan(x) | (x == 0)
    exponent = _where(special, lax.full_like(exponent, 0), exponent)
    return _where(special, x, mantissa), lax.convert_element_type(exponent, np.int32)


@_frexp.defjvp
def _frexp_jvp(primals, tangents):
    """The exponent is locally constant."""
    (x,), (t,) = primals, tangents
    mantissa, exponent = frexp(x)
    zero = np.zeros(exponent.shape, dtypes.float0)
    return (mantissa, exponent), (t * exp2(-exponent.astype(t.dtype)), zero)


def normalized_bits(x, info):
    """-> the bits of x, subnormal numbers scaled up, and the exponent that undoes the scaling."""
    integer = _INT_OF_BITS[info.bits]
    subnormal = lax.abs(x) < info.tiny
    scaled = _where(subnormal, x * const(x, 1 << info.nmant), x)
    exponent = _where(subnormal, integer(-info.nmant), integer(0))
    return lax.bitcast_convert_type(scaled, integer), exponent


@subprogram
def ldexp(x1, x2, /):
    """x1 * 2**x2, elementwise, for integers x2."""
    x1, x2 = ensure_arraylike("ldexp", x1, x2)
    if x1.dtype.kind == "c" or x2.dtype.kind not in "biu":
        raise ValueError(f"ldexp not supported for input types {(x1.dtype, x2.dtype)}")
    (x1,) = promote_args_inexact("ldexp", x1)
    x2 = lax.convert_element_type(x2, x1.dtype)
    mantissa, exponent = frexp(x1)
    exponent = (exponent.astype(x2.dtype) + x2).astype(x1.dtype)
    mantissa = _where(exponent > 0, mantissa * 2, mantissa)
    exponent = _where(exponent > 0, exponent - 1, exponent)
    x = mantissa * (2 ** exponent.astype(mantissa.dtype))
    return _where(isinf(x1) | (x1 == 0), x1, x)


# ---- sin(x) / x ---------------------------------------------------------------------------------


@subprogram
def sinc(x, /):
    """sin(pi x) / (pi x), elementwise, and 1 at 0; differentiable there."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("sinc", x))
    at_zero = lax.eq(x, const(x, 0))
    pi_x = lax.mul(const(x, np.pi), x)
    safe = _where(at_zero, const(x, 1), pi_x)
    return _where(at_zero, sinc_near_zero(0)(pi_x), lax.div(lax.sin(safe), safe))


def sinc_near_zero(k):
    """The k-th derivative of sin(x) / x at 0, as a function of x with the right derivative."""

    @custom_jvp
    def _sinc_maclaurin(x):
        if k % 2:
            return x * 0
        return x * 0 + const(x, (-1) ** (k // 2) / (k + 1))

    @_sinc_maclaurin.defjvp
    def _sinc_maclaurin_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return sinc_near_zero(k)(x), sinc_near_zero(k + 1)(x) * t

    return _sinc_maclaurin
