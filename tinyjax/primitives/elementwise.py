"""Elementwise cards: arithmetic, comparison, logic, bits, selection.

A card's partials are its derivatives: for each operand a function of (ans, *operands) that returns
the linear map of that operand's tangent.
"""

import numpy as np

from tinyjax import dtypes
from tinyjax.array import Array, lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive, Undef, Zero, nonzero
from tinyjax.primitives.linear import (
    batched_front,
    broadcast_in_dim,
    instantiate,
    moveaxis,
    unbroadcast,
    zeros,
)
from tinyjax.primitives.rules import Elementwise, identity, kind, spread_tangent, transpose_terms

REAL, NUMBER, ORDERED, BITS, ANY = "iuf", "iufc", "biuf", "biu", "biufc"


def const(x, value):
    """A number at the dtype of x."""
    return Array(np.asarray(value, x.dtype), literal=True)


def boolean(dtype):
    """The dtype of comparisons."""
    return np.dtype(bool)


def scale(c):
    """The linear map t -> t * c."""
    return lambda t: mul(t, c)


def unary(prim):
    """The public function of a card with one operand."""

    def function(x):
        x = lift(x)
        if prim.accepts and kind(x.dtype) not in prim.accepts:
            prim.check_dtypes([x.dtype])
        return prim.bind(x)

    return named(function, prim)


def nary(prim):
    """The public function of a card with several operands, whose dtypes must agree."""

    def function(x, y):
        x, y = lift(x), lift(y)
        if x.dtype != y.dtype or x.shape != y.shape or kind(x.dtype) not in prim.accepts:
            prim.type(x.aval, y.aval)  # raises where they do not fit
        return prim.bind(x, y)

    return named(function, prim)


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


# ---- arithmetic ---------------------------------------------------------------------------------


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


def remainder(x, y):
    """XLA's remainder: the sign of the dividend; x rem 0 = x for integers."""
    out = np.fmod(x, y)
    return out if x.dtype.kind not in "iu" else np.where(y == 0, x, out).astype(x.dtype)


def div_partial_y(ans, x, y):
    """d(x/y)/dy: the power is taken where the tangent is, as JAX prints it."""
    return lambda t: mul(mul(neg(t), x), integer_pow(y, -2))


def rem_partial_y(ans, x, y):
    """d rem(x, y)/dy = -trunc(x / y)."""
    return lambda t: mul(neg(t), mul(sign(div(x, y)), floor(abs_(div(x, y)))))


neg_p = Elementwise(
    "neg", np.negative, lambda a, x: neg, accepts=NUMBER, linear=lambda ct, x: [neg(ct)]
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
rem_p = Elementwise("rem", remainder, lambda a, x, y: identity, rem_partial_y, accepts=REAL)

neg, add, sub, mul = unary(neg_p), nary(add_p), nary(sub_p), nary(mul_p)
div, rem = nary(div_p), nary(rem_p)


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
    """x to a fixed integer power y (a Python int).

    >>> from tinyjax import lax
    >>> lax.integer_pow(3.0, 2)
    Array(9., dtype=float32, weak_type=True)
    """
    return integer_pow_p.bind(lift(x), y=int(y))


# ---- order and sign ---------------------------------------------------------------------------


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
        unit = div(conj(x), complex_(select_zero(ans), zeros_like(ans)))
        return lambda t: real(mul(t, unit))
    positive = ge(x, const(x, 0))
    return lambda t: select(positive, t, neg(t))


def select_zero(x):
    """x with its zeros replaced by ones."""
    return select(eq(x, const(x, 0)), full_of(x, 1), x)


def full_of(x, value):
    """A constant in the shape and dtype of x."""
    return broadcast_in_dim(const(x, value), x.shape, ()) if x.shape else const(x, value)


def zeros_like(x):
    """Zeros in the shape and dtype of x."""
    return zeros(x.aval)


max_p = Elementwise("max", np.maximum, *larger_partials(), accepts=ANY)
min_p = Elementwise("min", np.minimum, *larger_partials(), accepts=ANY)
sign_p = Elementwise("sign", sign_of, None, accepts=NUMBER)
abs_p = Elementwise("abs", np.abs, abs_partial, accepts="ifc", dtype=dtypes.to_floating_dtype)
floor_p = Elementwise("floor", np.floor, None, accepts="f")
ceil_p = Elementwise("ceil", np.ceil, None, accepts="f")
is_finite_p = Elementwise("is_finite", np.isfinite, None, dtype=boolean, accepts="f")
nextafter_p = Elementwise("nextafter", np.nextafter, None, None, accepts="f")

max_, min_, sign, abs_ = nary(max_p), nary(min_p), unary(sign_p), unary(abs_p)
floor, ceil, is_finite = unary(floor_p), unary(ceil_p), unary(is_finite_p)
nextafter = nary(nextafter_p)


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


def round_(x, rounding_method=0):
    """Round to integers: halves away from zero (0) or to the even neighbour (1)."""
    x = lift(x)
    round_p.check_dtypes([x.dtype])
    return round_p.bind(x, rounding_method=int(rounding_method))


# ---- comparison ---------------------------------------------------------------------------------


def comparison(name, impl, accepts):
    """A card whose result is boolean and constant."""
    return Elementwise(name, impl, None, None, dtype=boolean, accepts=accepts)


eq_p, ne_p = comparison("eq", np.equal, ANY), comparison("ne", np.not_equal, ANY)
lt_p, le_p = comparison("lt", np.less, ORDERED), comparison("le", np.less_equal, ORDERED)
gt_p, ge_p = comparison("gt", np.greater, ORDERED), comparison("ge", np.greater_equal, ORDERED)
eq, ne, lt, le, gt, ge = map(nary, (eq_p, ne_p, lt_p, le_p, gt_p, ge_p))


# ---- logic and bits -----------------------------------------------------------------------------


def shift(ufunc, fill):
    """A NumPy shift that, like XLA's, shifts everything out when the count is too large."""

    def impl(x, n):
        bits = x.dtype.itemsize * 8
        over = (n >= bits) | (n < 0)
        return np.where(over, fill(x), ufunc(x, np.where(over, 0, n).astype(x.dtype))).astype(
            x.dtype
        )

    return impl


def unsigned(x):
    """The same bits as unsigned integers."""
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind == "i" else x


def logical_shift(x, n):
    """Shift right, filling with zeros."""
    return np.right_shift(unsigned(np.asarray(x)), unsigned(np.asarray(n))).view(x.dtype)


def leading_zeros(x):
    """The number of zero bits before the first one."""
    bits = x.dtype.itemsize * 8
    x, count = unsigned(np.asarray(x)), np.full(np.shape(x), bits, x.dtype)
    for k in range(bits):
        hit = (x >> np.asarray(bits - 1 - k, x.dtype)) == 1
        count = np.where(hit, k, count)
    return count


def bitcount(x):
    """The number of one bits."""
    return np.bitwise_count(unsigned(np.asarray(x))).astype(x.dtype)


not_p = Elementwise("not", np.invert, None, accepts=BITS)
and_p = Elementwise("and", np.bitwise_and, None, None, accepts=BITS)
or_p = Elementwise("or", np.bitwise_or, None, None, accepts=BITS)
xor_p = Elementwise("xor", np.bitwise_xor, None, None, accepts=BITS)
shift_left_p = Elementwise(
    "shift_left", shift(np.left_shift, np.zeros_like), None, None, accepts="iu"
)
shift_right_logical_p = Elementwise(
    "shift_right_logical", shift(logical_shift, np.zeros_like), None, None, accepts="iu"
)
shift_right_arithmetic_p = Elementwise(
    "shift_right_arithmetic",
    shift(np.right_shift, lambda x: np.where(x < 0, -1, 0).astype(x.dtype)),
    None,
    None,
    accepts="iu",
)
population_count_p = Elementwise("population_count", bitcount, None, accepts="iu")
clz_p = Elementwise("clz", leading_zeros, None, accepts="iu")

bitwise_not, population_count, clz = unary(not_p), unary(population_count_p), unary(clz_p)
bitwise_and, bitwise_or, bitwise_xor = nary(and_p), nary(or_p), nary(xor_p)
shift_left, shift_right_logical = nary(shift_left_p), nary(shift_right_logical_p)
shift_right_arithmetic = nary(shift_right_arithmetic_p)


# ---- complex parts ------------------------------------------------------------------------------


def conj_transpose(ct, x):
    """The transpose of conjugation; from a real operand the cotangent's real part flows back."""
    return [conj(ct) if x.aval.dtype.kind == "c" else real(ct)]


def join_parts(x, y):
    """x + iy without arithmetic, so that infinities stay in their part."""
    out = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), dtypes.to_complex_dtype(x.dtype))
    out.real, out.imag = x, y
    return out


real_p = Elementwise(
    "real",
    lambda x: np.real(x).copy(),
    lambda a, x: real,
    accepts="c",
    dtype=dtypes.to_floating_dtype,
    linear=lambda ct, x: [complex_(ct, zeros_like(ct))],
)
imag_p = Elementwise(
    "imag",
    lambda x: np.imag(x).copy(),
    lambda a, x: imag,
    accepts="c",
    dtype=dtypes.to_floating_dtype,
    linear=lambda ct, x: [complex_(zeros_like(ct), neg(ct))],
)
complex_p = Elementwise(
    "complex",
    join_parts,
    lambda a, x, y: lambda t: complex_(t, zeros_like(t)),
    lambda a, x, y: lambda t: complex_(zeros_like(t), t),
    accepts="f",
    dtype=dtypes.to_complex_dtype,
    linear=transpose_terms([lambda ct, *_: real(ct), lambda ct, *_: imag(neg(ct))]),
)




class Conj(Elementwise):
    """conj[input_dtype] x."""

    def impl(self, x, *, input_dtype):
        return np.conj(x).astype(dtypes.to_complex_dtype(x.dtype))

    def linearize(self, nz, x, *, input_dtype):
        return self.bind(x, input_dtype=input_dtype), lambda t: self.bind(
            t, input_dtype=input_dtype
        )

    def transpose(self, ct, x, *, input_dtype):
        return conj_transpose(ct, x)


conj_p = Conj("conj", None, accepts="fc", dtype=dtypes.to_complex_dtype)
real, imag, complex_ = unary(real_p), unary(imag_p), nary(complex_p)


def conj(x):
    """The complex conjugate; real numbers become complex."""
    x = lift(x)
    conj_p.check_dtypes([x.dtype])
    return conj_p.bind(x, input_dtype=x.dtype)


# ---- selection ----------------------------------------------------------------------------------


class SelectN(Primitive):
    """select_n which *cases: at each place the case whose number `which` gives (bool or int32)."""

    def impl(self, which, *cases):
        if len(cases) == 1:
            return cases[0]
        if which.dtype.kind == "b":
            return np.where(which, cases[1], cases[0])
        return np.choose(np.broadcast_to(which, cases[0].shape), cases, mode="clip")

    def type(self, which, *cases):
        for c in cases:
            if c.shape != cases[0].shape:
                raise TypeError(
                    "select cases must have the same shapes, got "
                    f"[{', '.join(str(c.shape) for c in cases)}]."
                )
            if c.dtype != cases[0].dtype:
                names = ", ".join(dtypes.dtype_name(c.dtype) for c in cases)
                raise TypeError(f"select cases must have the same dtypes, got {names}")
        if which.shape not in ((), cases[0].shape):
            raise TypeError(
                "select `which` must be scalar or have the same shape as cases, got `which` "
                f"shape {which.shape} but case shape {cases[0].shape}."
            )
        if not (which.dtype == bool or which.dtype == np.int32):
            raise TypeError(f"select `which` must be boolean or int32 type, got {which.dtype}.")
        if which.dtype == bool and len(cases) > 2:
            raise TypeError(
                f"select with boolean `which` cannot have > 2 cases; got {len(cases)}."
            )
        return ShapedArray(cases[0].shape, cases[0].dtype, all(c.weak_type for c in cases))

    def linearize(self, nz, which, *cases):
        def push(_, *tangents):
            if not any(map(nonzero, tangents)):
                return Zero(cases[0].aval)
            return self.bind(which, *map(instantiate, tangents))

        return self.bind(which, *cases), push

    def transpose(self, ct, which, *cases):
        nil = zeros(ct.aval)
        return [None] + [
            self.bind(which, *[ct if k == i else nil for k in range(len(cases))])
            if isinstance(c, Undef)
            else None
            for i, c in enumerate(cases)
        ]

    def batch(self, axis, vals, dims, /):
        which, *cases = vals
        if dims[0] is None and which.ndim == 0:
            at = next(d for d in dims[1:] if d is not None)
            cases = [
                moveaxis(batched_front(axis, c, d), 0, at) if d != at else c
                for c, d in zip(cases, dims[1:])
            ]
            return self.bind(which, *cases), at
        cases = [batched_front(axis, c, d) for c, d in zip(cases, dims[1:])]
        which = batched_front(axis, which, dims[0])
        if which.ndim < cases[0].ndim:
            which = broadcast_in_dim(which, cases[0].shape, range(which.ndim))
        return self.bind(which, *cases), 0


select_n_p = SelectN("select_n")


def select_n(which, *cases):
    """At each place the case whose number `which` gives.

    Args:
      which: bool (two cases) or int32 array, a scalar or of the cases' shape.
      cases: arrays of one shape and dtype.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.select_n(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([10, 20]))
    Array([10,  2], dtype=int32)
    """
    if not cases:
        raise ValueError("select_n() must have at least one case")
    which, cases = lift(which), [lift(c) for c in cases]
    select_n_p.type(which.aval, *[c.aval for c in cases])
    return select_n_p.bind(which, *cases)


def select(pred, on_true, on_false):
    """on_true where pred holds, on_false elsewhere (arrays of one shape and dtype)."""
    return select_n(pred, on_false, on_true)
