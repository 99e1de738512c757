"""How far elementwise functions are from the exact values, in units of the last place (ulp).

The exact value of a float32 function is a float64 function, that of a float64 function one of
long doubles where NumPy has them wider; the largest errors that these find are measured again with
mpmath, which also stands in where there is no wider function. An infinity counts as the power of
two beyond the largest number, as in rounding.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import mpmath
import numpy as np
import scipy.special

WITH_MPMATH = 24  # how many of the largest errors are measured again
PRECISION = 200  # bits that mpmath works with

# ---- formats -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Format:
    """A floating-point format: digits, the exponents of its smallest bit and of its infinity."""

    name: str
    dtype: np.dtype
    digits: int
    lowest: int
    top: int
    wide: type

    @property
    def tiny(self):
        """The smallest normal number."""
        return 2.0 ** (self.lowest + self.digits - 1)

    @property
    def bits(self):
        """The unsigned integers of this width."""
        return np.dtype(f"u{self.dtype.itemsize}")


F32 = Format("float32", np.dtype(np.float32), 24, -149, 128, np.float64)
F64 = Format("float64", np.dtype(np.float64), 53, -1074, 1024, np.longdouble)
F16 = Format("float16", np.dtype(np.float16), 11, -24, 16, np.float64)
BF16 = Format("bfloat16", np.dtype(ml_dtypes.bfloat16), 8, -133, 128, np.float64)
WIDER_THAN_F64 = np.finfo(np.longdouble).nmant > 60


# ---- the functions -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Function:
    """A function of `lax`, its exact value, and where to look closely."""

    name: str
    exact: Callable  # of mpmath numbers
    wide: Callable | None = None  # of NumPy arrays in any precision
    wide_f64: Callable | None = None  # the same for float64 only (SciPy)
    ranges: tuple = ((-4, 4),)  # intervals to fill evenly
    reach: Callable = lambda form: ()  # more intervals, by format
    centres: tuple = ()  # roots, poles and seams: their neighbours are tried
    pairs: Callable | None = None  # points of a function with two arguments
    absolute: float = 0.0  # errors count in ulp of at least this number
    params: tuple = ()
    limits: tuple = (3, 3)  # the largest errors of kernels in float32 and float64
    subnormal: bool = True  # whether results below the smallest normal number count

    def limit(self, form):
        """How many ulp a kernel may be off."""
        return self.limits[form is F64]

    def of(self, world):
        """The function in tinyjax or in jax, on arrays."""
        function = getattr(world.lax, self.name.split()[0])
        return lambda *xs: function(*xs, *self.params)


def exp_reach(form):
    """Where exponentials turn into 0 and into infinity, and all between."""
    return ((form.lowest * 0.694 - 2, form.top * 0.694),)


def exp2_reach(form):
    """The same for powers of two."""
    return ((form.lowest - 2, form.top + 1),)


def turns(form):
    """Angles before and after the reduction needs many digits of pi."""
    return ((-100, 100), (-(2.0**20), 2.0**20), (-(2.0**30), 2.0**30))


def log_magnitude(form):
    """exp, sinh ... overflow around here."""
    edge = form.top * math.log(2)
    return ((-edge - 2, edge + 2),)


def cbrt(x):
    """The real cube root."""
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def lgamma(x):
    """log |gamma(x)|."""
    if x <= 0 and x == mpmath.floor(x):
        return mpmath.inf
    return mpmath.re(mpmath.loggamma(x))


def erfc(x):
    """1 - erf(x); beyond 200 it is too small for any format."""
    return mpmath.erfc(min(max(x, mpmath.mpf(-200)), mpmath.mpf(200)))


def digamma(x):
    """The derivative of lgamma."""
    if x <= 0 and x == mpmath.floor(x):
        return mpmath.nan
    return mpmath.digamma(x)


def erf_inv(x):
    """The inverse of erf."""
    if abs(x) >= 1:
        return x * mpmath.inf if abs(x) == 1 else mpmath.nan
    return mpmath.erfinv(x)


HALF_TURNS = tuple(np.arange(1, 60) * (math.pi / 2)) + tuple(
    np.round(10.0 ** np.arange(2, 16)) * (math.pi / 2)
)
UNIT = (-1.0, -0.5, 0.5, 1.0)

_UNARY = [
    Function("exp", mpmath.exp, np.exp, reach=exp_reach),
    Function("exp2", lambda x: mpmath.mpf(2) ** x, np.exp2, reach=exp2_reach),
    Function("expm1", mpmath.expm1, np.expm1, ranges=((-1, 1), (-40, 40)), reach=log_magnitude),
    Function("log", mpmath.log, np.log, ranges=((0.5, 2), (0, 100)), centres=(1.0,)),
    Function("log1p", mpmath.log1p, np.log1p, ranges=((-1, 1), (-1, 100)), centres=(-1.0,)),
    Function("sqrt", mpmath.sqrt, np.sqrt, ranges=((0, 4),), limits=(0.5, 0.5)),
    Function("rsqrt", lambda x: 1 / mpmath.sqrt(x) if x else mpmath.inf, lambda x: 1 / np.sqrt(x),
             ranges=((0, 4),)),
    Function("cbrt", cbrt, np.cbrt, ranges=((-8, 8),)),
    Function("sin", mpmath.sin, np.sin, reach=turns, centres=HALF_TURNS),
    Function("cos", mpmath.cos, np.cos, reach=turns, centres=HALF_TURNS),
    Function("tan", mpmath.tan, np.tan, reach=turns, centres=HALF_TURNS, limits=(4, 4)),
    Function("asin", mpmath.asin, np.arcsin, ranges=((-1, 1),), centres=UNIT),
    Function("acos", mpmath.acos, np.arccos, ranges=((-1, 1),), centres=UNIT),
    Function("atan", mpmath.atan, np.arctan, ranges=((-5, 5),), centres=(0.4142, 2.4142)),
    Function("sinh", mpmath.sinh, np.sinh, reach=log_magnitude, centres=UNIT),
    Function("cosh", mpmath.cosh, np.cosh, reach=log_magnitude),
    Function("tanh", mpmath.tanh, np.tanh, ranges=((-1, 1), (-10, 10), (-20, 20)), limits=(5, 3)),
    Function("asinh", mpmath.asinh, np.arcsinh, ranges=((-1, 1), (-50, 50))),
    Function("acosh", mpmath.acosh, np.arccosh, ranges=((1, 2), (1, 50)), centres=(1.0,)),
    Function("atanh", mpmath.atanh, np.arctanh, ranges=((-1, 1),), centres=UNIT),
    Function("logistic", lambda x: 1 / (1 + mpmath.exp(-x)), lambda x: 1 / (1 + np.exp(-x)),
             reach=log_magnitude, ranges=((-5, 5), (-40, 40))),
    Function("erf", mpmath.erf, wide_f64=scipy.special.erf, ranges=((-1, 1), (-6, 6)),
             centres=UNIT),
    Function("erfc", erfc, wide_f64=scipy.special.erfc, ranges=((-1, 1), (-6, 6), (0, 28)),
             centres=UNIT, limits=(4, 4)),
    Function("erf_inv", erf_inv, wide_f64=scipy.special.erfinv, ranges=((-1, 1),), centres=UNIT,
             limits=(64, 3)),
    Function("lgamma", lgamma, wide_f64=scipy.special.gammaln, ranges=((0, 3), (0, 200), (-9, 0)),
             centres=(1.0, 2.0), absolute=1.0, limits=(1, 32)),
    Function("digamma", digamma, wide_f64=scipy.special.digamma, ranges=((0, 3), (0, 99), (-9, 0)),
             centres=(1.4616321449683623,), absolute=1.0, limits=(1, 10)),
    Function("integer_pow 3", lambda x: x**3, lambda x: x * x * x, params=(3,)),
    Function("integer_pow -3", lambda x: 1 / x**3 if x else mpmath.inf,
             lambda x: 1 / (x * x * x), params=(-3,), limits=(4, 4), subnormal=False),
    Function("integer_pow 10", lambda x: x**10, lambda x: (x * x * x * x * x) ** 2, params=(10,),
             limits=(8, 8)),
    Function("floor", mpmath.floor, np.floor, ranges=((-9, 9),), limits=(0, 0)),
    Function("ceil", mpmath.ceil, np.ceil, ranges=((-9, 9),), limits=(0, 0)),
    Function("round", lambda x: mpmath.sign(x) * mpmath.floor(abs(x) + 0.5),
             lambda x: np.trunc(x + np.copysign(x.dtype.type(0.5), x)), ranges=((-9, 9),),
             limits=(0, 0)),
]  # fmt: skip


# ---- points of functions with two arguments ------------------------------------------------------


def anywhere(form, n, rng):
    """Pairs of any two numbers, and of two numbers of similar size."""
    x, y = any_numbers(form, n, rng), any_numbers(form, n, rng)
    n = min(len(x), len(y))
    x, y = x[:n], y[:n]
    close = x[::2].astype(form.wide) * np.exp(rng.uniform(-3, 3, len(x[::2])))
    y[::2] = np.where(rng.random(len(close)) < 0.5, cut(form, close), cut(form, -close))
    return x, y


def for_pow(form, n, rng):
    """Bases of every size with exponents whose power is a number; bases near 1."""
    edge = (form.top - form.lowest) * math.log(2) / 2
    base = np.exp(rng.uniform(-edge, edge, n).clip(form.lowest * 0.69, form.top * 0.69))
    near = rng.random(n) < 0.3
    base = np.where(near, 1 + rng.standard_normal(n) * np.exp(rng.uniform(-30, -1, n)), base)
    x = np.abs(base).astype(form.dtype)
    target = rng.uniform(form.lowest * 0.6932 - 1, form.top * 0.6932, n)
    with np.errstate(all="ignore"):
        y = cut(form, target / np.log(x.astype(np.float64)))
    y[: n // 20] = rng.integers(-9, 10, n // 20)
    x[: n // 40] *= -1
    return x, y


_BINARY = [
    Function("pow", lambda x, y: mpmath.power(x, y), lambda x, y: np.power(x, y), pairs=for_pow),
    Function("atan2", mpmath.atan2, np.arctan2, pairs=anywhere),
    Function("div", lambda x, y: x / y if y else mpmath.sign(x) * mpmath.inf,
             lambda x, y: x / y, pairs=anywhere, limits=(0.5, 0.5)),
    Function("rem", lambda x, y: mpmath.sign(x) * mpmath.fmod(abs(x), abs(y)) if y else mpmath.nan,
             np.fmod, pairs=anywhere, limits=(0, 0)),
]  # fmt: skip

FUNCTIONS = {f.name: f for f in [*_UNARY, *_BINARY]}


# ---- points --------------------------------------------------------------------------------------


def cut(form, x):
    """Numbers of a wider format in this one; what is too large becomes infinite."""
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(form.dtype)


def any_numbers(form, n, rng):
    """Finite numbers by their bits: every exponent alike, subnormal numbers included."""
    bits = rng.integers(0, np.iinfo(form.bits).max, n, dtype=form.bits, endpoint=True)
    return finite(bits.view(form.dtype))


def finite(x):
    """The finite ones among numbers."""
    return x[np.isfinite(x.astype(np.float64))]


def every_number(form):
    """All finite numbers of a small format."""
    return finite(np.arange(2**16, dtype=form.bits).view(form.dtype))


def neighbours(form, centre):
    """Numbers next to `centre` and closer and closer to it."""
    around = centre * (1 + np.concatenate([2.0 ** -np.arange(2, 60), -(2.0 ** -np.arange(2, 60))]))
    bits = np.asarray(centre, form.dtype).view(form.bits)
    steps = bits + np.arange(-32, 33).astype(form.bits)
    return np.concatenate([cut(form, around), steps.view(form.dtype)])


def edges(form):
    """The ends of the format and the seams between its parts."""
    ends = [0.0, form.tiny, 2.0**form.lowest, 1.0, 2.0, 0.5, 1e3]
    near = [neighbours(form, c) for c in ends[1:]]
    return np.concatenate([*near, cut(form, ends), [largest(form)]]).astype(form.dtype)


def largest(form):
    """The largest finite number."""
    return np.nextafter(cut(form, np.inf), form.dtype.type(0))


def points(function, form, n, rng):
    """About n arguments at which to measure a function, as a tuple of arrays."""
    if function.pairs:
        return function.pairs(form, n, rng)
    if form.dtype.itemsize == 2:
        return (every_number(form),)
    x = any_numbers(form, n // 2, rng)
    ranges = (*function.ranges, *function.reach(form))
    dense = [rng.uniform(low, high, n // 2 // len(ranges)) for low, high in ranges]
    near = [neighbours(form, c) for c in function.centres]
    signed = edges(form)
    x = np.concatenate([x, *(cut(form, d) for d in dense), *near, signed, -signed])
    return (finite(x),)


# ---- errors --------------------------------------------------------------------------------------


def reference(function, form):
    """The function in a wider format, or None."""
    if function.wide_f64 is not None:
        return function.wide_f64 if form.wide is np.float64 else None
    return function.wide if form is not F64 or WIDER_THAN_F64 else None


def errors_in_ulps(got, exact, form, absolute=0.0):
    """Distances of numbers of a format from numbers of its wider one."""
    beyond = form.wide(2) ** form.top
    got = np.clip(np.asarray(got).astype(form.wide), -beyond, beyond)
    exact = np.clip(exact, -beyond, beyond)
    size = np.maximum(np.abs(exact), form.wide(absolute))
    exponent = np.minimum(np.frexp(size)[1], form.top)
    exponent = np.where(size > 0, np.maximum(exponent - form.digits, form.lowest), form.lowest)
    error = np.ldexp(np.abs(got - exact), -exponent)
    both = np.isnan(got) & np.isnan(exact)
    return np.where(both, 0.0, np.where(np.isnan(error), np.inf, error)).astype(np.float64)


def exact_value(function, args, form):
    """The value by mpmath; NaN where it is not real."""
    args = [mpmath.mpf(float(a)) for a in args]
    try:
        value = function.exact(*args)
    except (ValueError, ZeroDivisionError):  # a pole
        return mpmath.nan
    return mpmath.nan if isinstance(value, mpmath.mpc) and value.imag else mpmath.re(value)


def error_in_ulps(got, exact, form, absolute=0.0):
    """The distance of one number from its exact value."""
    got = float(got)
    if mpmath.isnan(exact) or math.isnan(got):
        return 0.0 if mpmath.isnan(exact) and math.isnan(got) else math.inf
    beyond = mpmath.mpf(2) ** form.top
    got, exact = (min(max(mpmath.mpf(v), -beyond), beyond) for v in (got, exact))
    size = max(abs(exact), mpmath.mpf(absolute))
    exponent = form.lowest
    if size:
        exponent = max(min(int(mpmath.frexp(size)[1]), form.top) - form.digits, form.lowest)
    return float(abs(got - exact) / mpmath.mpf(2) ** exponent)


def working_precision(function):
    """How many bits mpmath needs: enough to find a remainder of pi in the largest number."""
    return 1300 if function.name in ("sin", "cos", "tan") else PRECISION


@dataclass(frozen=True)
class Worst:
    """The largest error that was found, and where."""

    error: float
    at: tuple


def normal(args, exact, form):
    """Where neither arguments nor result are subnormal: what JAX keeps."""
    sizes = [np.abs(np.asarray(a).astype(form.wide)) for a in (*args, exact)]
    return np.all([(s >= form.tiny) | (s == 0) | np.isnan(s) for s in sizes], axis=0)


def exact_values(function, args, form):
    """Wider values of all points: of NumPy or SciPy, or of mpmath, rounded."""
    wider = reference(function, form)
    with np.errstate(all="ignore"):
        if wider is not None:
            return wider(*(np.asarray(a).astype(form.wide) for a in args))
    with mpmath.workprec(working_precision(function)):
        values = [exact_value(function, a, form) for a in zip(*args)]
    return np.array([as_wide(v, form.wide) for v in values], form.wide)


def as_wide(value, kind):
    """An mpmath number in a wider format, by its two leading parts."""
    if not mpmath.isfinite(value):
        return kind(float(value))
    mantissa, exponent = mpmath.frexp(value)
    high = float(mantissa)
    with np.errstate(all="ignore"):
        return np.ldexp(
            kind(high) + kind(float(mantissa - high)), int(np.clip(exponent, -9999, 9999))
        )


def worst(function, form, args, got, exact, where=None):
    """The largest error of results `got`, confirmed by mpmath."""
    with np.errstate(all="ignore"):
        found = errors_in_ulps(got, exact, form, function.absolute)
    if where is not None:
        found = np.where(where, found, -1.0)
    largest = np.argsort(found)[::-1][:WITH_MPMATH]
    with mpmath.workprec(working_precision(function)):
        checked = []
        for k in largest:
            at = tuple(np.asarray(a)[k] for a in args)
            true = exact_value(function, at, form)
            checked.append((error_in_ulps(got[k], true, form, function.absolute), at))
    return Worst(*max(checked, key=lambda pair: pair[0]))
