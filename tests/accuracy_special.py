"""What elementwise functions give for zeros, infinities, NaN, the smallest and the largest number,
and outside of their domain: the rules of C99, Annex F, and the rules of mathematics.
"""

import math

import mpmath
import numpy as np
from accuracy import FUNCTIONS, as_wide, exact_value, largest, working_precision

INF, NAN, PI = math.inf, math.nan, math.pi

# Values at 0, -0, infinity, -infinity. NaN gives NaN.
AT_ENDS = {
    "exp": (1.0, 1.0, INF, 0.0),
    "exp2": (1.0, 1.0, INF, 0.0),
    "expm1": (0.0, -0.0, INF, -1.0),
    "log": (-INF, -INF, INF, NAN),
    "log1p": (0.0, -0.0, INF, NAN),
    "sqrt": (0.0, -0.0, INF, NAN),
    "rsqrt": (INF, -INF, 0.0, NAN),
    "cbrt": (0.0, -0.0, INF, -INF),
    "sin": (0.0, -0.0, NAN, NAN),
    "cos": (1.0, 1.0, NAN, NAN),
    "tan": (0.0, -0.0, NAN, NAN),
    "asin": (0.0, -0.0, NAN, NAN),
    "acos": (PI / 2, PI / 2, NAN, NAN),
    "atan": (0.0, -0.0, PI / 2, -PI / 2),
    "sinh": (0.0, -0.0, INF, -INF),
    "cosh": (1.0, 1.0, INF, INF),
    "tanh": (0.0, -0.0, 1.0, -1.0),
    "asinh": (0.0, -0.0, INF, -INF),
    "acosh": (NAN, NAN, INF, NAN),
    "atanh": (0.0, -0.0, NAN, NAN),
    "logistic": (0.5, 0.5, 1.0, 0.0),
    "erf": (0.0, -0.0, 1.0, -1.0),
    "erfc": (1.0, 1.0, 0.0, 2.0),
    "erf_inv": (0.0, -0.0, NAN, NAN),
    "lgamma": (INF, INF, INF, INF),
    "digamma": (NAN, NAN, INF, NAN),
    "integer_pow 3": (0.0, -0.0, INF, -INF),
    "integer_pow -3": (INF, -INF, 0.0, -0.0),
    "integer_pow 10": (0.0, 0.0, INF, INF),
    "floor": (0.0, -0.0, INF, -INF),
    "ceil": (0.0, -0.0, INF, -INF),
    "round": (0.0, -0.0, INF, -INF),
}
# Zeros, poles and the first steps outside of the domain.
ELSEWHERE = {
    "log": {1.0: 0.0, -1.0: NAN},
    "log1p": {-1.0: -INF, -2.0: NAN},
    "sqrt": {-1.0: NAN},
    "rsqrt": {-1.0: NAN},
    "asin": {2.0: NAN, -2.0: NAN},
    "acos": {1.0: 0.0, 2.0: NAN, -2.0: NAN},
    "acosh": {1.0: 0.0, 0.5: NAN, -2.0: NAN},
    "atanh": {1.0: INF, -1.0: -INF, 2.0: NAN, -2.0: NAN},
    "erf_inv": {1.0: INF, -1.0: -INF, 2.0: NAN, -2.0: NAN},
    "lgamma": {1.0: 0.0, 2.0: 0.0, -1.0: INF, -7.0: INF},
    "digamma": {-1.0: NAN, -7.0: NAN},
    "floor": {0.5: 0.0, -0.5: -1.0},
    "ceil": {0.5: 1.0, -0.5: -0.0},
    "round": {0.5: 1.0, -0.5: -1.0, 2.5: 3.0, 0.25: 0.0, -0.25: -0.0},
}


def expectations(name, form):
    """Arguments and values of one function: arrays of the format and of its wider one."""
    ends = zip((0.0, -0.0, INF, -INF, NAN), (*AT_ENDS[name], NAN))
    rows = [*ends, *ELSEWHERE.get(name, {}).items()]
    low, high = 2.0**form.lowest, float(largest(form))
    with mpmath.workprec(working_precision(FUNCTIONS[name])):
        for x in (low, -low, high, -high):
            value = exact_value(FUNCTIONS[name], (x,), form)
            # What rounding turns into 0 has the sign of the value, a true 0 that of the argument.
            rows.append((x, as_wide(value, form.wide) if value else math.copysign(0.0, x)))
    x, value = zip(*rows)
    return np.array(x, form.dtype), np.array(value, form.wide)


# ---- functions of two arguments ------------------------------------------------------------------

CORNERS = (
    *(0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 2.5, -2.5, 1 / 3, 1e30, -7.0),
    *(INF, -INF, NAN),
)


def c_pow(x, y):
    """C's pow, where Python's raises."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INF if x < 0 and y % 2 == 1 else INF
    except ValueError:
        return (math.copysign(INF, x) if y % 2 == 1 else INF) if x == 0 else NAN


def c_fmod(x, y):
    """C's fmod, where Python's raises."""
    return NAN if math.isinf(x) or y == 0 else math.fmod(x, y)


def maximum(x, y):
    """IEEE 754-2019: NaN if either is NaN, and 0 is larger than -0."""
    if math.isnan(x) or math.isnan(y):
        return NAN
    return max(x, y, key=lambda v: (v, math.copysign(1.0, v)))


def minimum(x, y):
    """The same, with -0 below 0."""
    return -maximum(-x, -y)


IN_C = {"pow": c_pow, "atan2": math.atan2, "rem": c_fmod, "max": maximum, "min": minimum}


def corners(name, form):
    """Every pair of odd numbers, and C's value, rounded to the format."""
    grid = np.array(CORNERS, form.dtype)
    x, y = (a.ravel() for a in np.meshgrid(grid, grid, indexing="ij"))
    if name == "nextafter":
        return x, y, np.nextafter(x, y)
    with np.errstate(all="ignore"):
        if name == "div":
            return x, y, x / y
        values = [IN_C[name](float(a), float(b)) for a, b in zip(x, y)]
        return x, y, np.array(values).astype(form.dtype)
