"""Arithmetic and comparisons, and the helpers with which all elementwise cards are written.

A card's partials are its derivatives: for each operand a function of (ans, *operands) that returns
the linear map of that operand's tangent.
"""

import operator

import numpy as np

from tinyjax.array import Array, lift
from tinyjax.core import Undef, nonzero
from tinyjax.primitives.linear import (
    broadcast_in_dim,
    convert_element_type,
    unbroadcast,
    zeros,
)
from tinyjax.primitives.rules import Elementwise, identity, kind, spread_tangent, transpose_terms
from tinyjax.tracebacks import shorten

# ---- for writing cards ---------------------------------------------------------------------------

REAL, NUMBER, ORDERED, BITS, ANY = "iuf", "iufc", "biuf", "biu", "biufc"
KIND_OF = {"b": bool, "i": int, "u": int, "f": float, "V": float, "c": complex}


def const(x, value):
    """A number at the dtype of x; weakly typed, as a Python number is, if x is such a scalar."""
    if x.weak_type and not x.shape:
        number = np.asarray(value, KIND_OF[x.dtype.kind]).item()
        return Array(np.asarray(value, x.dtype), True, literal=(number,))
    return Array(np.asarray(value, x.dtype), literal=True)


def boolean(dtype):
    """The dtype of comparisons."""
    return np.dtype(bool)


def scale(c):
    """The linear map t -> t * c."""
    return lambda t: mul(t, c)


def unary(prim):
    """The public function of a card with one operand."""

    takes = prim.takes

    def function(x):
        try:
            if type(x) is not Array:
                x = lift(x)
            if x.dtype not in takes:
                prim.check_dtypes([x.dtype])
            return prim.bind(x)
        except Exception as error:
            shorten(error)
            raise

    return named(function, prim)


def nary(prim):
    """The public function of a card with several operands, whose dtypes must agree."""

    takes = prim.takes

    def function(x, y):
        try:
            if type(x) is Array and type(y) is Array and alike(x, y) and x.npy.dtype in takes:
                return prim.bind(x, y)
            x, y = lift(x), lift(y)
            shapes_differ = x.shape != y.shape and x.ndim and y.ndim
            if shapes_differ or x.dtype != y.dtype or x.dtype not in prim.takes:
                prim.type(x.aval, y.aval)  # raises where they do not fit
            return prim.bind(x, y)
        except Exception as error:
            shorten(error)
            raise

    return named(function, prim)


def alike(x, y):
    """Whether two Arrays need no promotion: one dtype, one shape."""
    a, b = x.npy, y.npy
    return a.dtype is b.dtype and a.shape == b.shape and x.weak_type == y.weak_type


def named(function, prim):
    """Give a generated function its name and docstring."""
    function.__name__ = function.__qualname__ = prim.name.rstrip("_")
    kinds = prim.accepts or "any"
    function.__doc__ = (
        f"Elementwise `{prim.name}`.\n\n    Takes arrays or numbers of one dtype (kinds "
        f"{kinds!r}) whose shapes are equal, or scalars; axes of size 1 stretch.\n    Raises "
        "TypeError when dtypes or shapes do not fit."
    )
    return function


def full_of(x, value):
    """A constant in the shape and dtype of x."""
    number = Array(np.asarray(value, x.dtype), x.weak_type, literal=True)
    return broadcast_in_dim(number, x.shape, ()) if x.shape else number


def zeros_like(x):
    """Zeros in the shape and dtype of x."""
    return zeros(x.aval)


# ---- arithmetic ----------------------------------------------------------------------------------


def negative(x):
    """-x; narrow integers wrap only when they are subtracted."""
    if x.dtype.kind == "V" and kind(x.dtype) != "f":
        return np.subtract(np.zeros((), x.dtype), x)
    return np.negative(x)


class Add(Elementwise):
    """add x y."""

    def linearize(self, nz, x, y):
        ans = self.bind(x, y)

        def push(s, t):
            if nonzero(s) and nonzero(t):
                return add(s, t)
            return spread_tangent(s if nonzero(s) else t, ans.aval)

        return ans, push


class Sub(Elementwise):
    """sub x y."""

    def linearize(self, nz, x, y):
        ans = self.bind(x, y)

        def push(s, t):
            if nonzero(s) and nonzero(t):
                return sub(s, t)
            return spread_tangent(s if nonzero(s) else neg(t), ans.aval)

        return ans, push


class Mul(Elementwise):
    """mul x y: linear in each operand."""

    bilinear = True

    def transpose(self, ct, x, y):
        if isinstance(x, Undef):
            return [unbroadcast(x.aval, mul(ct, y)), None]
        return [None, unbroadcast(y.aval, mul(x, ct))]


class Div(Elementwise):
    """div x y: linear in x only. Integers round towards zero, as in XLA."""

    def transpose(self, ct, x, y):
        if isinstance(y, Undef):
            raise NotImplementedError(
                "Transpose rule (for reverse-mode differentiation) for 'div' not implemented: "
                "it is not linear in its divisor"
            )
        return [unbroadcast(x.aval, div(ct, y)), None]


def divide(x, y):
    """XLA's division: integers towards zero, x / 0 = -1, the smallest integer / -1 = itself."""
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    quotient = np.floor_divide(x, y)
    if x.dtype.kind == "i":
        inexact = np.multiply(quotient, y) != x
        quotient = quotient + (inexact & ((x < 0) != (y < 0)) & (y != 0)).astype(x.dtype)
    return np.where(y == 0, np.array(-1).astype(x.dtype), quotient).astype(x.dtype)


def div_partial_y(ans, x, y):
    """d(x/y)/dy: the power is taken where the tangent is, as JAX prints it."""
    return lambda t: mul(mul(neg(t), x), integer_pow(y, -2))


neg_p = Elementwise(
    "neg", negative, lambda a, x: neg, accepts=NUMBER, linear=lambda ct, x: [neg(ct)]
)
add_p = Add("add", np.add, accepts=NUMBER, linear=transpose_terms([lambda ct, *_: ct] * 2))
sub_p = Sub(
    "sub",
    np.subtract,
    accepts=NUMBER,
    linear=transpose_terms([lambda ct, *_: ct, lambda ct, *_: neg(ct)]),
)
mul_p = Mul(
    "mul",
    np.multiply,
    lambda a, x, y: scale(y),
    lambda a, x, y: lambda t: mul(x, t),
    accepts=NUMBER,
)
div_p = Div("div", divide, lambda a, x, y: lambda t: div(t, y), div_partial_y, accepts=NUMBER)

neg, add, sub, product = unary(neg_p), nary(add_p), nary(sub_p), nary(mul_p)
div = nary(div_p)


def mul(x, y, *, out_dtype=None):
    """Elementwise `mul`: the product, or with out_dtype the product at that dtype.

    Takes arrays or numbers of one dtype (kinds 'iufc') whose shapes are equal, or scalars; axes of
    size 1 stretch. Raises TypeError when dtypes or shapes do not fit.
    """
    if out_dtype is not None:
        x, y = convert_element_type(x, out_dtype), convert_element_type(y, out_dtype)
    return product(x, y)


class IntegerPow(Elementwise):
    """integer_pow[y] x: x to a fixed integer power, by repeated squaring."""

    def impl(self, x, *, y):
        return power_by_squaring(x, y)


def power_by_squaring(x, y):
    """x**y for an integer y, multiplying as XLA does."""
    n, acc, base = abs(y), None, x
    while n:
        if n & 1:
            acc = base if acc is None else acc * base
        n >>= 1
        if n:
            base = base * base
    if acc is None:
        return np.ones_like(x)
    return np.divide(np.ones((), x.dtype), acc) if y < 0 else acc


def integer_pow_partial(ans, x, *, y):
    """d x**y / dx; the special cases keep 0**0 out of it."""
    if y == 0:
        return None
    if y == 1:
        return identity
    if y == 2:
        return scale(mul(const(x, 2), x))
    return scale(mul(const(x, y), integer_pow(x, y - 1)))


integer_pow_p = IntegerPow("integer_pow", None, integer_pow_partial, accepts=NUMBER)


def integer_pow(x, y):
    """x to a fixed integer power y (a Python int); integers only to powers >= 0.

    >>> from tinyjax import lax
    >>> lax.integer_pow(3.0, 2)
    Array(9., dtype=float32, weak_type=True)
    """
    x, y = lift(x), int(y)
    if kind(x.dtype) not in NUMBER:
        integer_pow_p.check_dtypes([x.dtype])
    if y < 0 and x.dtype.kind in "iu":
        raise TypeError(
            "Integers cannot be raised to negative powers, got "
            f"integer_pow({x.aval.str_short()}, {y}). Convert x to a float first."
        )
    return integer_pow_p.bind(x, y=y)


# ---- comparison ----------------------------------------------------------------------------------


def comparison(name, impl, accepts):
    """A card whose result is boolean and constant."""
    return Elementwise(name, impl, None, None, dtype=boolean, accepts=accepts)


# NumPy's operators also compare random keys, which its functions do not
eq_p = comparison("eq", operator.eq, ANY + "k")
ne_p = comparison("ne", operator.ne, ANY + "k")
lt_p, le_p = comparison("lt", np.less, ORDERED), comparison("le", np.less_equal, ORDERED)
gt_p, ge_p = comparison("gt", np.greater, ORDERED), comparison("ge", np.greater_equal, ORDERED)
eq, ne, lt, le, gt, ge = map(nary, (eq_p, ne_p, lt_p, le_p, gt_p, ge_p))
