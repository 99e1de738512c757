"""Mathematical functions: exponentials, logarithms, powers, trigonometry and special functions.

Each card is one line: the name, the NumPy function, the slope. A slope is written as in the books,
but for the order of its operations: that is JAX's, since jaxprs show it.
"""

import math

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.primitives import special
from tinyjax.primitives.arithmetic import (
    add,
    const,
    div,
    eq,
    full_of,
    integer_pow,
    mul,
    named,
    nary,
    neg,
    scale,
    sub,
    unary,
)
from tinyjax.primitives.complex_parts import join_parts
from tinyjax.primitives.linear import convert
from tinyjax.primitives.rounding import rounded
from tinyjax.primitives.rounding import tanh as tanh_of
from tinyjax.primitives.rules import (
    Elementwise,
    WithoutDerivative,
    broadcast_shape,
    kind,
    spread_tangent,
)
from tinyjax.primitives.selection import select, without_zeros
from tinyjax.tracebacks import shorten

INEXACT = "fc"


# ---- how the cards are written ------------------------------------------------------------------


def one_plus(x):
    """1 + x."""
    return add(const(x, 1), x)


def one_minus(x):
    """1 - x."""
    return sub(const(x, 1), x)


def function_of(prim):
    """The public function of a card with one operand; `accuracy` is a wish that CPUs ignore."""

    apply = unary(prim)

    def function(x, *, accuracy=None):
        try:
            return apply(x)
        except Exception as error:
            shorten(error)
            raise

    return named(function, prim)


def by_kind(real, complex_):
    """An implementation with a formula of its own for complex numbers."""
    return lambda x: complex_(x) if x.dtype.kind == "c" else real(x)


def in_float32(f):
    """Compute half precision in single precision, as XLA does, where the formula needs it."""

    def impl(x):
        if x.dtype.itemsize > 2:
            return f(x)
        return f(x.astype(np.float32)).astype(x.dtype)

    return impl


# ---- exponentials and logarithms ----------------------------------------------------------------


exp_of = rounded(np.exp)


def complex_expm1(z):
    """NumPy's, but real on the real axis even where it is infinite or NaN."""
    out = np.expm1(z)
    return join_parts(out.real, np.where(z.imag == 0, z.imag, out.imag))


def complex_log1p(z):
    """NumPy's, but exact near 0, too, where |1 + z|**2 = 1 + x (2 + x) + y**2 cancels."""
    out, x, y = np.log1p(z), z.real, z.imag
    near = (np.abs(x) < 0.5) & (np.abs(y) < 0.5)
    x, y = np.where(near, x, 0), np.where(near, y, 0)
    half = x.dtype.type(0.5)
    return join_parts(np.where(near, half * np.log1p(x * (2 + x) + y * y), out.real), out.imag)


def logistic_of(x):
    """1 / (1 + exp(-x))."""
    one = np.ones((), x.dtype)
    return one / (one + exp_of(-x))


def exp2_slope(ans, x):
    """d 2**x / dx = log(2) 2**x."""
    return lambda t: mul(log(const(x, 2)), mul(t, ans))


def tanh_tangent(ans, x):
    """t (1 + tanh x) (1 - tanh x): precise where tanh x is close to 1 or -1."""
    return lambda t: mul(add(t, mul(t, ans)), one_minus(ans))


def log_total_slope(ans, total):
    """1 / total, and 0 where it is 0: of no weights at all, none counts."""
    empty = eq(total, full_of(total, 0))
    safe = select(empty, full_of(total, np.inf), total)
    return lambda t: div(t, safe)


exp_p = Elementwise("exp", exp_of, lambda ans, x: scale(ans), accepts=INEXACT)
exp2_p = Elementwise(
    "exp2",
    by_kind(rounded(np.exp2), lambda x: np.exp(x * x.dtype.type(math.log(2)))),
    exp2_slope,
    accepts=INEXACT,
)
expm1_p = Elementwise(
    "expm1",
    by_kind(rounded(np.expm1), complex_expm1),
    lambda ans, x: scale(add(ans, const(ans, 1))),
    accepts=INEXACT,
)
log_p = Elementwise("log", rounded(np.log), lambda ans, x: lambda t: div(t, x), accepts=INEXACT)
log_total_p = Elementwise("log", rounded(np.log), log_total_slope, accepts=INEXACT)
log1p_p = Elementwise(
    "log1p",
    by_kind(np.log1p, complex_log1p),
    lambda ans, x: lambda t: div(t, add(x, const(x, 1))),
    accepts=INEXACT,
)
logistic_p = Elementwise(
    "logistic",
    in_float32(logistic_of),
    lambda ans, x: scale(mul(ans, one_minus(ans))),
    accepts=INEXACT,
)

exp, exp2, expm1, log, log1p, logistic = map(
    function_of, (exp_p, exp2_p, expm1_p, log_p, log1p_p, logistic_p)
)


# ---- powers and roots ---------------------------------------------------------------------------


def reciprocal_root(x):
    """1 / sqrt(x)."""
    return np.ones((), x.dtype) / np.sqrt(x)


def rsqrt_slope(ans, x):
    """-1/2 x**(-3/2)."""
    return scale(mul(const(x, -0.5), div(ans, x)))


def cbrt_slope(ans, x):
    """1/3 x**(-2/3)."""
    return scale(mul(const(x, 1 / 3), integer_pow(ans, -2)))


sqrt_p = Elementwise("sqrt", np.sqrt, lambda a, x: scale(div(const(x, 0.5), a)), accepts=INEXACT)
rsqrt_p = Elementwise("rsqrt", rounded(in_float32(reciprocal_root)), rsqrt_slope, accepts=INEXACT)
cbrt_p = Elementwise("cbrt", rounded(np.cbrt), cbrt_slope, accepts="f")
square_p = Elementwise("square", np.square, lambda a, x: scale(mul(const(x, 2), x)), accepts="iufc")

sqrt, rsqrt, cbrt = map(function_of, (sqrt_p, rsqrt_p, cbrt_p))
square = unary(square_p)


raised = rounded(np.power)


class Pow(Elementwise):
    """pow x y: the exponent has x's dtype, or is an integer."""

    def impl(self, x, y):
        return raised(x, y.astype(x.dtype))

    def type(self, x, y):
        check_power(x.dtype, y.dtype)
        shape = broadcast_shape(self.name, x.shape, y.shape)
        return ShapedArray(shape, x.dtype, x.weak_type and y.weak_type)


def check_power(x, y):
    """Raise TypeError unless numbers of dtype x can be raised to powers of dtype y."""
    for dtype, accepted, position in ((x, INEXACT, 0), (y, "iufc", 1)):
        if kind(dtype) not in accepted:
            kinds = "floating, complexfloating"
            raise TypeError(
                f"pow does not accept dtype {dtypes.dtype_name(dtype)} at position {position}. "
                f"Accepted dtypes at position {position} are subtypes of "
                f"{kinds if position == 0 else 'integer, ' + kinds}."
            )
    if kind(y) not in "iu" and x != y:
        raise TypeError(
            "the first argument to pow must have an inexact dtype (float or complex), and the "
            "second argument must have an inexact or integer dtype, and two inexact dtypes must "
            f"match, but got {dtypes.dtype_name(x)} and {dtypes.dtype_name(y)} respectively."
        )


def pow_slope_x(ans, x, y):
    """y x**(y-1); for an integer y = 0 it is 0 even at x = 0."""
    integer = kind(y.dtype) in "iu"
    x, y = convert(x, x.dtype), convert(y, x.dtype)
    if not integer:
        return scale(mul(y, pow_(x, sub(y, full_of(y, 1)))))
    x, y = spread_tangent(x, ans.aval), spread_tangent(y, ans.aval)
    nowhere, slope_at_zero = eq(y, const(y, 0)), full_of(y, 0)
    slope = mul(without_zeros(y), pow_(x, sub(y, full_of(y, 1))))
    return scale(select(nowhere, slope_at_zero, slope))


def pow_slope_y(ans, x, y):
    """x**y log x, and 0 at x = 0."""
    if kind(y.dtype) in "iu":
        return None
    slope = mul(log(without_zeros(x)), ans)
    return lambda t: convert(mul(t, slope), y.dtype)


pow_p = Pow("pow", None, pow_slope_x, pow_slope_y)


def pow_(x, y):
    """x to the power y, elementwise.

    Args:
      x: float or complex array.
      y: array of x's dtype, or of integers; shapes equal, or one a scalar.

    Raises TypeError when dtypes or shapes do not fit.

    >>> pow_(2.0, 3)
    Array(8., dtype=float32, weak_type=True)
    """
    x, y = lift(x), lift(y)
    check_power(x.dtype, y.dtype)
    if x.shape != y.shape:
        broadcast_shape("pow", x.shape, y.shape)
    return pow_p.bind(x, y)


def reciprocal(x):
    """1 / x."""
    return integer_pow(x, -1)


def log_total(total):
    """log of a sum of positive weights, whose derivative is 0 where all of them are."""
    return log_total_p.bind(lift(total))


# ---- trigonometry -------------------------------------------------------------------------------


def cos_slope(ans, x):
    """-sin(x), negated last."""
    slope = sin(x)
    return lambda t: neg(mul(t, slope))


def root_slope(inner):
    """The slope 1 / sqrt(inner(x)) of an inverse function."""
    return lambda ans, x: scale(rsqrt(inner(x)))


def acos_slope(ans, x):
    """-1 / sqrt(1 - x**2)."""
    return scale(neg(rsqrt(one_minus(square(x)))))


def atan_slope(ans, x):
    """1 / (1 + x**2)."""
    below = one_plus(square(x))
    return lambda t: div(t, below)


def atanh_slope(ans, x):
    """1 / ((1 + x) (1 - x)): precise close to 1 and -1."""
    first, second = integer_pow(one_plus(x), -1), one_minus(x)
    return lambda t: mul(first, div(t, second))


def radius(x, y):
    """x**2 + y**2."""
    return add(square(x), square(y))


def angle(y, x):
    """The angle of the point (x, y); for complex operands the continuation of it."""
    if x.dtype.kind != "c":
        return np.arctan2(y, x)
    return (-1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))).astype(x.dtype)


sin_p = Elementwise("sin", rounded(np.sin), lambda a, x: scale(cos(x)), accepts=INEXACT)
cos_p = Elementwise("cos", rounded(np.cos), cos_slope, accepts=INEXACT)
tan_p = Elementwise(
    "tan", rounded(np.tan), lambda a, x: scale(one_plus(square(a))), accepts=INEXACT
)
asin_p = Elementwise("asin", np.arcsin, root_slope(lambda x: one_minus(square(x))), accepts=INEXACT)
acos_p = Elementwise("acos", np.arccos, acos_slope, accepts=INEXACT)
atan_p = Elementwise("atan", rounded(np.arctan), atan_slope, accepts=INEXACT)
atan2_p = Elementwise(
    "atan2",
    angle,
    lambda a, y, x: scale(div(x, radius(y, x))),
    lambda a, y, x: scale(div(neg(y), radius(y, x))),
    accepts=INEXACT,
)
sinh_p = Elementwise("sinh", np.sinh, lambda a, x: scale(cosh(x)), accepts=INEXACT)
cosh_p = Elementwise("cosh", rounded(np.cosh), lambda a, x: scale(sinh(x)), accepts=INEXACT)
tanh_p = Elementwise("tanh", tanh_of, tanh_tangent, accepts=INEXACT)
asinh_p = Elementwise(
    "asinh",
    np.arcsinh,
    root_slope(lambda x: add(square(x), const(x, 1))),
    accepts=INEXACT,
)
acosh_p = Elementwise(
    "acosh",
    np.arccosh,
    root_slope(lambda x: sub(square(x), const(x, 1))),
    accepts=INEXACT,
)
atanh_p = Elementwise("atanh", np.arctanh, atanh_slope, accepts=INEXACT)

sin, cos, tan, tanh = map(function_of, (sin_p, cos_p, tan_p, tanh_p))
asin, acos, atan = map(unary, (asin_p, acos_p, atan_p))
sinh, cosh, asinh, acosh, atanh = map(unary, (sinh_p, cosh_p, asinh_p, acosh_p, atanh_p))
atan2 = nary(atan2_p)


# ---- special functions --------------------------------------------------------------------------


def gauss(factor):
    """The tangent factor * exp(-x**2) t of the error functions."""

    def slope(ans, x):
        bell = exp(neg(square(x)))
        return lambda t: mul(const(x, factor), mul(t, bell))

    return slope


def erf_inv_slope(ans, x):
    """sqrt(pi)/2 exp(erf_inv(x)**2)."""
    bell = exp(square(ans))
    return lambda t: mul(const(x, math.sqrt(math.pi) / 2), mul(t, bell))


def polygamma_slope(ans, m, x):
    """The next derivative."""
    return scale(polygamma(add(m, const(m, 1)), x))


TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

erf_p = Elementwise("erf", special.erf, gauss(TWO_OVER_ROOT_PI), accepts="f")
erfc_p = Elementwise("erfc", special.erfc, gauss(-TWO_OVER_ROOT_PI), accepts="f")
erf_inv_p = Elementwise("erf_inv", special.erf_inv, erf_inv_slope, accepts="f")
lgamma_p = Elementwise("lgamma", special.lgamma, lambda a, x: scale(digamma(x)), accepts="f")
digamma_p = Elementwise(
    "digamma", special.digamma, lambda a, x: scale(polygamma(const(x, 1), x)), accepts="f"
)
polygamma_p = Elementwise("polygamma", special.polygamma, None, polygamma_slope, accepts="f")
zeta_p = WithoutDerivative("zeta", special.zeta, accepts="f")

erf, erfc, erf_inv, lgamma, digamma = map(unary, (erf_p, erfc_p, erf_inv_p, lgamma_p, digamma_p))
of_order, hurwitz = nary(polygamma_p), nary(zeta_p)


def polygamma(m, x):
    """The m-th derivative of digamma at x; floats of one dtype."""
    return of_order(m, x)


def zeta(x, q):
    """Hurwitz's zeta function: the sum over n >= 0 of (n + q) ** -x; floats of one dtype."""
    return hurwitz(x, q)


# ---- the high half of a product -----------------------------------------------------------------


def high_product(x, y):
    """The upper half of the bits of x * y."""
    bits = x.dtype.itemsize * 8
    if bits < 64:
        wide = f"{x.dtype.kind}{bits // 4}"
        return (np.multiply(x, y, dtype=wide) >> bits).astype(x.dtype)
    product = np.multiply(np.asarray(x, object), np.asarray(y, object))
    return np.asarray(np.right_shift(product, 64)).astype(x.dtype)


mulhi_p = Elementwise("mulhi", high_product, None, None, accepts="iu")
upper_half = nary(mulhi_p)


def mulhi(x, y, /):
    """The upper half of the bits of a product of integers of one dtype."""
    return upper_half(x, y)
