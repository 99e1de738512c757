"""Comparisons, logic and bits, elementwise."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.checks import check_out, ensure_arraylike
from tinyjax.numpy.promotion import (
    const,
    constant_like,
    just,
    promote_args,
    promote_args_numeric,
    promote_args_ordered,
    promote_dtypes,
)
from tinyjax.numpy.reductions import any as any_
from tinyjax.numpy.selection import _where
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import subprogram

# ---- comparisons --------------------------------------------------------------------------------


@just(lax.eq_p, "biufc")
def equal(x, y, /):
    """x == y, elementwise, after promotion: an array of booleans."""
    return lax.eq(*promote_args_ordered("equal", x, y))


@just(lax.ne_p, "biufc")
def not_equal(x, y, /):
    """x != y, elementwise, after promotion."""
    return lax.ne(*promote_args_ordered("not_equal", x, y))


@just(lax.lt_p, "biuf")
def less(x, y, /):
    """x < y, elementwise, after promotion; complex numbers by real, then imaginary part."""
    return ordered(lax.lt, *promote_args_ordered("less", x, y))


@just(lax.le_p, "biuf")
def less_equal(x, y, /):
    """x <= y, elementwise, after promotion; see less."""
    return ordered(lax.le, *promote_args_ordered("less_equal", x, y))


@just(lax.gt_p, "biuf")
def greater(x, y, /):
    """x > y, elementwise, after promotion; see less."""
    return ordered(lax.gt, *promote_args_ordered("greater", x, y))


@just(lax.ge_p, "biuf")
def greater_equal(x, y, /):
    """x >= y, elementwise, after promotion; see less."""
    return ordered(lax.ge, *promote_args_ordered("greater_equal", x, y))


def ordered(op, x, y):
    """A comparison, which for complex numbers is lexicographic."""
    if x.dtype.kind != "c":
        return op(x, y)
    tie = lax.eq(lax.real(x), lax.real(y))
    return lax.select(tie, op(lax.imag(x), lax.imag(y)), op(lax.real(x), lax.real(y)))


# ---- logic --------------------------------------------------------------------------------------


def to_bool(x):
    """x != 0, unless x is boolean already."""
    return x if x.dtype == bool else lax.ne(x, const(x, 0))


@just(lax.and_p, "b")
def logical_and(x, y, /):
    """Whether both are nonzero, elementwise."""
    return lax.bitwise_and(*map(to_bool, promote_args("logical_and", x, y)))


@just(lax.or_p, "b")
def logical_or(x, y, /):
    """Whether one is nonzero, elementwise."""
    return lax.bitwise_or(*map(to_bool, promote_args("logical_or", x, y)))


@just(lax.xor_p, "b")
def logical_xor(x, y, /):
    """Whether exactly one is nonzero, elementwise."""
    return lax.bitwise_xor(*map(to_bool, promote_args("logical_xor", x, y)))


@recorded
def logical_not(x, /):
    """Whether x is zero, elementwise."""
    return lax.bitwise_not(*map(to_bool, promote_args("logical_not", x)))


# ---- kinds of numbers ---------------------------------------------------------------------------


@recorded
def isnan(x, /):
    """Whether x is not a number, elementwise.

    >>> import tinyjax.numpy as jnp
    >>> jnp.isnan(jnp.array([1.0, jnp.nan]))
    Array([False,  True], dtype=bool)
    """
    x = ensure_arraylike("isnan", x)
    return lax.ne(x, x)


@recorded
def isfinite(x, /):
    """Whether x is neither infinite nor nan, elementwise."""
    x = ensure_arraylike("isfinite", x)
    if dtypes.issubdtype(x.dtype, np.floating):
        return lax.is_finite(x)
    if x.dtype.kind == "c":
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.full_like(x, True, dtype=np.bool_)


@subprogram
def isinf(x, /):
    """Whether x is infinite, elementwise."""
    x = ensure_arraylike("isinf", x)
    if dtypes.issubdtype(x.dtype, np.floating):
        return lax.eq(lax.abs(x), constant_like(x, np.inf))
    if x.dtype.kind == "c":
        parts = lax.real(x), lax.imag(x)
        return lax.bitwise_or(*[lax.eq(lax.abs(p), constant_like(p, np.inf)) for p in parts])
    return lax.full_like(x, False, dtype=np.bool_)


def isposinf(x, /, out=None):
    """Whether x is inf, elementwise. Raises ValueError for complex x."""
    return signed_infinity("isposinf", np.inf, x, out)


def isneginf(x, /, out=None):
    """Whether x is -inf, elementwise. Raises ValueError for complex x."""
    return signed_infinity("isneginf", -np.inf, x, out)


def signed_infinity(name, infinity, x, out):
    """x == infinity."""
    check_out(name, out)
    x = ensure_arraylike(name, x)
    if x.dtype.kind == "c":
        raise ValueError(f"{name} is not well defined for complex types")
    if dtypes.issubdtype(x.dtype, np.floating):
        return lax.eq(x, constant_like(x, infinity))
    return lax.full_like(x, False, dtype=np.bool_)


@subprogram
def iscomplex(x):
    """Whether the imaginary part is nonzero, elementwise."""
    i = imaginary(x)
    return lax.ne(i, const(i, 0))


@subprogram
def isreal(x):
    """Whether the imaginary part is zero, elementwise."""
    i = imaginary(x)
    return lax.eq(i, const(i, 0))


def imaginary(x):
    """The imaginary part, zeros for real x."""
    x = ensure_arraylike("imag", x)
    return lax.imag(x) if x.dtype.kind == "c" else lax.full_like(x, 0)


# ---- bits ---------------------------------------------------------------------------------------


@just(lax.and_p, "biu")
def bitwise_and(x, y, /):
    """The bits set in both, elementwise, of integers or booleans."""
    return lax.bitwise_and(*promote_args("bitwise_and", x, y))


@just(lax.or_p, "biu")
def bitwise_or(x, y, /):
    """The bits set in one, elementwise, of integers or booleans."""
    return lax.bitwise_or(*promote_args("bitwise_or", x, y))


@just(lax.xor_p, "biu")
def bitwise_xor(x, y, /):
    """The bits set in exactly one, elementwise, of integers or booleans."""
    return lax.bitwise_xor(*promote_args("bitwise_xor", x, y))


@recorded
def bitwise_not(x, /):
    """The bits not set, elementwise, of integers or booleans."""
    return lax.bitwise_not(*promote_args("bitwise_not", x))


bitwise_invert = invert = bitwise_not


@just(lax.shift_left_p, "iu")
def left_shift(x, y, /):
    """The bits of x moved up by y places, elementwise."""
    return lax.shift_left(*promote_args_numeric("left_shift", x, y))


@recorded
def right_shift(x1, x2, /):
    """The bits of x1 moved down by x2 places, elementwise; signed numbers keep their sign."""
    x1, x2 = promote_args_numeric("right_shift", x1, x2)
    unsigned = dtypes.issubdtype(x1.dtype, np.unsignedinteger)
    return (lax.shift_right_logical if unsigned else lax.shift_right_arithmetic)(x1, x2)


bitwise_left_shift, bitwise_right_shift = left_shift, right_shift


@subprogram
def bitwise_count(x, /):
    """How many bits of abs(x) are set, elementwise, as uint8."""
    (x,) = promote_args_numeric("bitwise_count", x)
    x = x if x.dtype.kind == "u" else lax.abs(x)
    return lax.convert_element_type(lax.population_count(x), np.uint8)


# ---- greatest common divisor --------------------------------------------------------------------


@subprogram
def gcd(x1, x2):
    """The greatest common divisor of integers, elementwise, by Euclid's algorithm."""
    x1, x2 = promote_dtypes(*ensure_arraylike("gcd", x1, x2))
    check_integers("gcd", x1)
    x1, x2 = broadcast_pair(x1, x2)
    return lax.while_loop(gcd_goes_on, gcd_step, (magnitude(x1), magnitude(x2)))[0]


def gcd_goes_on(pair):
    """Whether a remainder is left anywhere."""
    return any_(pair[1] != 0)


def gcd_step(pair):
    """One division, where there is something to divide by; the larger number comes first."""
    x1, x2 = pair
    x1, x2 = (
        _where(x2 != 0, x2, x1),
        _where(x2 != 0, lax.rem(x1, x2), const(x2, 0)),
    )
    return _where(x1 < x2, x2, x1), _where(x1 < x2, x1, x2)


@subprogram
def lcm(x1, x2):
    """The least common multiple of integers, elementwise."""
    x1, x2 = promote_dtypes(*ensure_arraylike("lcm", x1, x2))
    check_integers("lcm", x1)
    x1, x2 = magnitude(x1), magnitude(x2)
    d = gcd(x1, x2)
    return _where(d == 0, const(d, 0), x1 * (x2 // d))


def magnitude(x):
    """abs of integers."""
    return x if x.dtype.kind == "u" else lax.abs(x)


def broadcast_pair(x, y):
    """Both at their common shape."""
    shape = lax.broadcast_shapes(x.shape, y.shape)
    return lax.broadcast_to(x, shape), lax.broadcast_to(y, shape)


def check_integers(name, x):
    """Raise ValueError unless x holds integers."""
    if x.dtype.kind not in "iu":
        raise ValueError(f"Arguments to jax.numpy.{name} must be integers.")
