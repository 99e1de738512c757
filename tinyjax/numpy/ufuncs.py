"""Elementwise mathematics: promotion, then one lax function (or a few)."""

import operator

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import Array
from tinyjax.numpy import logs
from tinyjax.numpy.checks import check_arraylike, ensure_arraylike, is_concrete
from tinyjax.numpy.comparisons import bitwise_or, greater, isnan, less
from tinyjax.numpy.promotion import (
    const,
    constant_like,
    just,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
    promote_args_ordered,
    promote_dtypes_inexact,
    promote_dtypes_numeric,
    promote_shapes,
)
from tinyjax.numpy.selection import _where
from tinyjax.tracebacks import shorten
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import subprogram

# ---- functions of one argument, in floating point -----------------------------------------------


def inexact(name, op, meaning):
    """The function that makes its argument a float, if it is not one, and applies op."""

    def function(x, /):
        try:
            if type(x) is Array and x.npy.dtype.kind == "f":
                return op(x)
            return op(*promote_args_inexact(name, x))
        except Exception as error:
            shorten(error)
            raise

    return described(function, name, meaning)


def described(function, name, meaning):
    """Give a generated function its name and docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{meaning}\n\n    Args:\n      x: array or number; integers are converted to floats."
        "\n\n    Returns an array of the same shape. Raises TypeError for lists and tuples."
    )
    return function


exp = inexact("exp", lax.exp, "e to the power of x, elementwise.")
exp2 = inexact("exp2", lax.exp2, "2 to the power of x, elementwise.")
expm1 = inexact("expm1", lax.expm1, "exp(x) - 1, exact where x is small.")
log = inexact("log", lax.log, "The natural logarithm, elementwise.")
log1p = inexact("log1p", lax.log1p, "log(1 + x), exact where x is small.")
sqrt = inexact("sqrt", lax.sqrt, "The square root, elementwise; nan for negative numbers.")
cbrt = inexact("cbrt", lax.cbrt, "The cube root, elementwise.")
sin = inexact("sin", lax.sin, "The sine of x in radians, elementwise.")
cos = inexact("cos", lax.cos, "The cosine of x in radians, elementwise.")
tan = inexact("tan", lax.tan, "The tangent of x in radians, elementwise.")
arcsin = inexact("arcsin", lax.asin, "The inverse of sin, elementwise.")
arccos = inexact("arccos", lax.acos, "The inverse of cos, elementwise.")
arctan = inexact("arctan", lax.atan, "The inverse of tan, elementwise.")
sinh = inexact("sinh", lax.sinh, "The hyperbolic sine, elementwise.")
cosh = inexact("cosh", lax.cosh, "The hyperbolic cosine, elementwise.")
tanh = inexact("tanh", lax.tanh, "The hyperbolic tangent, elementwise.")
arcsinh = inexact("arcsinh", lax.asinh, "The inverse of sinh, elementwise.")
arctanh = inexact("arctanh", lax.atanh, "The inverse of tanh, elementwise.")
asin, acos, atan, asinh, atanh = arcsin, arccos, arctan, arcsinh, arctanh


@subprogram
def arccosh(x, /):
    """The inverse of cosh, elementwise."""
    result = lax.acosh(*promote_args_inexact("arccosh", x))
    if result.dtype.kind == "c":
        result = _where(real(result) < 0, lax.neg(result), result)
    return result


acosh = arccosh


@recorded
def reciprocal(x, /):
    """1 / x, elementwise."""
    (x,) = promote_dtypes_inexact(ensure_arraylike("reciprocal", x))
    return lax.integer_pow(x, -1)


@recorded
def log2(x, /):
    """The logarithm to base 2, elementwise."""
    (x,) = promote_args_inexact("log2", x)
    if x.dtype.kind == "c":
        r = lax.log(x)
        re, im = lax.real(r), lax.imag(r)
        ln2 = lax.log(constant_like(re, 2))
        return lax.complex(lax.div(re, ln2), lax.div(im, ln2))
    return exact_powers(x, lax.div(lax.log(x), lax.log(constant_like(x, 2))))


def exact_powers(x, log):
    """The logarithm to base 2, which may be off by a rounding, exact where x is a power of 2."""
    whole = lax.round(log, lax.RoundingMethod.TO_NEAREST_EVEN)
    is_power = lax.bitwise_and(lax.eq(lax.exp2(whole), x), lax.is_finite(log))
    error = lax.select(is_power, lax.sub(whole, log), lax.full_like(log, 0))
    return lax.add(log, lax.stop_gradient(error))


@recorded
def log10(x, /):
    """The logarithm to base 10, elementwise."""
    (x,) = promote_args_inexact("log10", x)
    if x.dtype.kind == "c":
        r = lax.log(x)
        re, im = lax.real(r), lax.imag(r)
        factor = constant_like(re, 1 / np.log(10))
        return lax.complex(lax.mul(re, factor), lax.mul(im, factor))
    return lax.mul(lax.log(x), constant_like(x, 1 / np.log(10)))


@recorded
def deg2rad(x, /):
    """Degrees to radians, elementwise."""
    (x,) = promote_args_inexact("deg2rad", x)
    return lax.mul(x, const(x, np.pi / 180))


@recorded
def rad2deg(x, /):
    """Radians to degrees, elementwise."""
    (x,) = promote_args_inexact("rad2deg", x)
    return lax.mul(x, const(x, 180 / np.pi))


degrees, radians = rad2deg, deg2rad

# ---- functions of one argument, at its own dtype ------------------------------------------------


def negative(x, /):
    """-x, elementwise."""
    return lax.neg(*promote_args("negative", x))


def positive(x, /):
    """+x: x as it is."""
    return promote_args("positive", x)[0]


@recorded
def sign(x, /):
    """-1, 0 or 1, elementwise; x / abs(x) of complex numbers."""
    return lax.sign(*promote_args("sign", x))


def absolute(x, /):
    """The absolute value, elementwise: a real number also for complex x.

    >>> import tinyjax.numpy as jnp
    >>> jnp.abs(jnp.array([-1.5, 2.0]))
    Array([1.5, 2. ], dtype=float32)
    """
    x = ensure_arraylike("absolute", x)
    return x if x.dtype.kind in "bu" else lax.abs(x)


abs = absolute


def fabs(x, /):
    """The absolute value as a float, elementwise. Raises TypeError for complex x."""
    if ensure_arraylike("fabs", x).dtype.kind == "c":
        raise TypeError("ufunc 'fabs' does not support complex dtypes")
    return lax.abs(*promote_args_inexact("fabs", x))


@recorded
def square(x, /):
    """x * x, elementwise."""
    (x,) = promote_dtypes_numeric(ensure_arraylike("square", x))
    return lax.square(x)


@recorded
def floor(x, /):
    """The largest whole number not above x, elementwise; integers as they are."""
    x = ensure_arraylike("floor", x)
    return x if is_whole(x) else lax.floor(*promote_args_inexact("floor", x))


@recorded
def ceil(x, /):
    """The smallest whole number not below x, elementwise; integers as they are."""
    x = ensure_arraylike("ceil", x)
    return x if is_whole(x) else lax.ceil(*promote_args_inexact("ceil", x))


def is_whole(x):
    """Whether the dtype of x holds integers or booleans."""
    return dtypes.isdtype(x.dtype, ("integral", "bool"))


@subprogram
def trunc(x):
    """x without its fraction, elementwise: towards zero."""
    x = ensure_arraylike("trunc", x)
    return x if is_whole(x) else _where(lax.lt(x, const(x, 0)), ceil(x), floor(x))


@subprogram
def rint(x, /):
    """The nearest whole number, elementwise; halves go to the even one."""
    x = ensure_arraylike("rint", x)
    if is_whole(x):
        return lax.convert_element_type(x, dtypes.default_float_dtype())
    if x.dtype.kind == "c":
        return lax.complex(rint(lax.real(x)), rint(lax.imag(x)))
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


# ---- complex numbers ----------------------------------------------------------------------------


def conjugate(x, /):
    """The complex conjugate, elementwise; real numbers as they are."""
    x = ensure_arraylike("conjugate", x)
    return lax.conj(x) if x.dtype.kind == "c" else x


conj = conjugate


def real(val, /):
    """The real part, elementwise."""
    x = ensure_arraylike("real", val)
    return lax.real(x) if x.dtype.kind == "c" else x


def imag(val, /):
    """The imaginary part, elementwise: zeros for real numbers."""
    x = ensure_arraylike("imag", val)
    return lax.imag(x) if x.dtype.kind == "c" else lax.full_like(x, 0)


@subprogram(static_argnames=("deg",))
def angle(z, deg=False):
    """The angle of complex numbers in the plane, in radians (or degrees)."""
    z = ensure_arraylike("angle", z)
    re, im = real(z), imag(z)
    if re.dtype.kind not in "fV" or (z.ndim == 0 and z.dtype.kind != "c"):
        dtype = dtypes.default_float_dtype()
        re, im = lax.convert_element_type(re, dtype), lax.convert_element_type(im, dtype)
    result = lax.atan2(im, re)
    return degrees(result) if deg else result


# ---- arithmetic of two arguments ----------------------------------------------------------------


@just(lax.add_p, "iufc")
def add(x, y, /):
    """x + y, elementwise, after promotion; `or` for booleans.

    Args:
      x, y: arrays or numbers; shapes broadcast, dtypes promote.

    Returns an array. Raises TypeError for lists, and for shapes that do not fit.

    >>> import tinyjax.numpy as jnp
    >>> jnp.add(1, 1.0)
    Array(2., dtype=float32, weak_type=True)
    """
    x, y = promote_args("add", x, y)
    return lax.bitwise_or(x, y) if x.dtype.kind == "b" else lax.add(x, y)


@just(lax.sub_p, "iufc")
def subtract(x, y, /):
    """x - y, elementwise, after promotion."""
    return lax.sub(*promote_args("subtract", x, y))


@just(lax.mul_p, "iufc")
def multiply(x, y, /):
    """x * y, elementwise, after promotion; `and` for booleans."""
    x, y = promote_args("multiply", x, y)
    return lax.bitwise_and(x, y) if x.dtype.kind == "b" else lax.mul(x, y)


@just(lax.div_p, "fc")
def true_divide(x1, x2, /):
    """x1 / x2, elementwise, in floating point.

    >>> import tinyjax.numpy as jnp
    >>> jnp.divide(7, 2)
    Array(3.5, dtype=float32, weak_type=True)
    """
    return lax.div(*promote_args_inexact("true_divide", x1, x2))


divide = true_divide


@just(lax.max_p, "biufc")
def maximum(x, y, /):
    """The larger of x and y, elementwise; nan if either is.

    >>> import tinyjax.numpy as jnp
    >>> jnp.maximum(jnp.array([-1.0, 2.0]), 0)
    Array([0., 2.], dtype=float32)
    """
    return lax.max(*promote_args_ordered("maximum", x, y))


@just(lax.min_p, "biufc")
def minimum(x, y, /):
    """The smaller of x and y, elementwise; nan if either is."""
    return lax.min(*promote_args_ordered("minimum", x, y))


@subprogram
def fmax(x1, x2):
    """The larger of x1 and x2, elementwise; a nan yields to the other."""
    return _where(bitwise_or(greater(x1, x2), isnan(x2)), x1, x2)


@subprogram
def fmin(x1, x2):
    """The smaller of x1 and x2, elementwise; a nan yields to the other."""
    return _where(bitwise_or(less(x1, x2), isnan(x2)), x1, x2)


def power(x1, x2, /):
    """x1 to the power of x2, elementwise.

    Args:
      x1, x2: arrays or numbers. A known integer x2 is computed by multiplications, exactly.

    >>> import tinyjax.numpy as jnp
    >>> jnp.power(jnp.array([1.0, 2.0, 3.0]), 2)
    Array([1., 4., 9.], dtype=float32)
    """
    if type(x2) is int and type(x1) is Array and x1.npy.dtype.kind in "if":
        return lax.integer_pow(x1, x2)
    check_arraylike("power", x1, x2)
    if is_concrete(x2):
        try:
            exponent = operator.index(x2)
        except TypeError:
            pass
        else:
            return lax.integer_pow(*promote_dtypes_numeric(x1), exponent)
    return _power(x1, x2)


pow = power


@recorded
def _power(x1, x2):
    """power of an exponent that is a float, an array or not known."""
    x1, x2 = promote_shapes("power", x1, x2)
    a, b = promote_args_numeric("power", x1, x2)
    if is_whole(a):
        return _pow_int_int(a, b)
    if x1.dtype.kind in "fVc" and x2.dtype.kind in "iu":
        return lax.pow(x1, x2)
    return lax.pow(a, b)


def _pow_int_int(x1, x2):
    """Powers of integers, by squaring: the six lowest bits of the exponent count."""
    zero, one = constant_like(x2, 0), constant_like(x2, 1)
    acc = _where(lax.bitwise_and(lax.eq(x1, zero), lax.ne(x2, zero)), zero, one)
    for _ in range(6):
        acc = _where(lax.bitwise_and(x2, one), lax.mul(acc, x1), acc)
        x1 = lax.mul(x1, x1)
        x2 = lax.shift_right_logical(x2, one)
    return acc


@just(lax.pow_p, "f")
def float_power(x, y, /):
    """x to the power of y, elementwise, in floating point."""
    return lax.pow(*promote_args_inexact("float_power", x, y))


@just(lax.atan2_p, "f")
def arctan2(x1, x2, /):
    """The angle of the point (x2, x1), in radians, elementwise."""
    return lax.atan2(*promote_args_inexact("arctan2", x1, x2))


atan2 = arctan2


@recorded
def logaddexp(x1, x2, /):
    """log(exp(x1) + exp(x2)), elementwise, without overflow.

    >>> import tinyjax.numpy as jnp
    >>> jnp.logaddexp(1000.0, -jnp.inf)
    Array(1000., dtype=float32, weak_type=True)
    """
    return logs.logaddexp(*promote_args_inexact("logaddexp", x1, x2))


@recorded
def logaddexp2(x1, x2, /):
    """log2(2**x1 + 2**x2), elementwise, without overflow."""
    return logs.logaddexp2(*promote_args_inexact("logaddexp2", x1, x2))


@subprogram
def hypot(x1, x2, /):
    """sqrt(x1**2 + x2**2), elementwise, without overflow. Raises ValueError for complex numbers."""
    x1, x2 = promote_args_inexact("hypot", x1, x2)
    if x1.dtype.kind == "c":
        raise ValueError(
            "jnp.hypot is not well defined for complex-valued inputs. Please convert to real "
            "values first, such as by using abs(x)"
        )
    x1, x2 = lax.abs(x1), lax.abs(x2)
    inf = constant_like(x1, np.inf)
    infinite = lax.bitwise_or(lax.eq(x1, inf), lax.eq(x2, inf))
    x1, x2 = maximum(x1, x2), minimum(x1, x2)
    both_zero = x1 == 0
    ratio = lax.div(x2, _where(x1 == 0, lax.full_like(x1, 1), x1))
    x = _where(both_zero, x1, x1 * lax.sqrt(1 + lax.square(ratio)))
    return _where(infinite, const(x, np.inf), x)


@subprogram
def heaviside(x1, x2, /):
    """0 where x1 < 0, 1 where x1 > 0, x2 where x1 is 0, elementwise."""
    x1, x2 = promote_dtypes_inexact(*ensure_arraylike("heaviside", x1, x2))
    zero = const(x1, 0)
    below, above, nan = lax.lt(x1, zero), lax.gt(x1, zero), lax.ne(x1, x1)
    return _where(below, zero, _where(above, const(x1, 1), _where(nan, x1, x2)))
