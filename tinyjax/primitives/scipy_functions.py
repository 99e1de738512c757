"""Special functions whose values are SciPy's: their derivatives, batching and types are ours.

Each card is one line: the name, SciPy's function, the slope of each operand. SciPy is imported when
one is first used. Values are computed in double precision and rounded once.
"""

import functools
import math

import numpy as np

from tinyjax.array import Array, lift
from tinyjax.primitives.arithmetic import add, const, div, eq, full_of, mul, neg, scale, sub
from tinyjax.primitives.linear import convert
from tinyjax.primitives.maths import cos, erf, exp, log, sin, square
from tinyjax.primitives.rules import Elementwise, WithoutDerivative
from tinyjax.primitives.selection import select

TERMS = 2_000  # of a hypergeometric series

# ---- values -------------------------------------------------------------------------------------


@functools.cache
def scipy_function(name):
    """A function of scipy.special."""
    try:
        import scipy.special
    except ImportError as error:
        raise ImportError(
            f"jax.scipy.special.{name} takes its values from SciPy: pip install scipy"
        ) from error
    return getattr(scipy.special, name)


def values(name, output=None):
    """The NumPy function that calls SciPy's; output: which of its results."""

    def impl(*xs):
        wide = np.complex128 if xs[-1].dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            out = scipy_function(name)(*[np.asarray(x, wide) for x in xs])
        out = out if output is None else out[output]
        return np.asarray(out).astype(xs[-1].dtype)

    return impl


def series_slope(above, operand, xs):
    """The derivative by one parameter of the hypergeometric series in the last of xs.

    The parameters are the factors of its terms' numerators, so many as `above` says, then those of
    the denominators.
    """
    *parameters, x = np.broadcast_arrays(*[np.asarray(v, np.float64) for v in xs])
    signs = [1] * above + [-1] * (len(parameters) - above)
    term, slope, total = np.ones_like(x), np.zeros_like(x), np.zeros_like(x)
    with np.errstate(all="ignore"):
        for k in range(TERMS):
            factors = [p + k if s > 0 else 1 / (p + k) for p, s in zip(parameters, signs)]
            rest = math.prod(f for i, f in enumerate(factors) if i != operand) * x / (k + 1)
            own = factors[operand]
            inner = np.ones_like(x) if signs[operand] > 0 else -own * own
            slope = slope * rest * own + term * rest * inner
            term = term * rest * own
            total = total + slope
            if not (np.abs(slope) > 1e-17 * np.abs(total)).any():
                break
    return total.astype(xs[-1].dtype)


# ---- slopes -------------------------------------------------------------------------------------


def times(x, factor):
    """x times a number."""
    return mul(x, const(x, factor))


def times_i(x, factor=1.0):
    """A number times i, at the dtype of x."""
    return Array(np.asarray(factor * 1j, x.dtype), literal=True)


def expn_slope(ans, n, x):
    """-expn(n - 1, x), and for n = 0 that of exp(-x) / x."""
    below = expn_p.bind(sub(n, const(n, 1)), x)
    first = mul(ans, add(const(x, 1), div(full_of(x, 1), x)))
    return scale(neg(select(eq(n, full_of(n, 0)), first, below)))


def sinc_of(x):
    """sin(x) / x, and 1 at 0."""
    zero = eq(x, full_of(x, 0))
    safe = select(zero, full_of(x, 1), x)
    return select(zero, full_of(x, 1), div(sin(safe), safe))


def spence_slope(ans, x):
    """log(x) / (1 - x), and -1 at 1."""
    one = eq(x, full_of(x, 1))
    safe = select(one, full_of(x, 2), x)
    return scale(select(one, full_of(x, -1), div(log(safe), sub(const(x, 1), safe))))


def quarter_turns(x):
    """pi/2 times the square."""
    return times(square(x), math.pi / 2)


def owens_h(ans, h, a):
    """-exp(-h²/2) erf(a h / sqrt 2) / sqrt(8 pi)."""
    bell = exp(times(square(h), -0.5))
    tail = erf(times(mul(a, h), math.sqrt(0.5)))
    return scale(times(mul(bell, tail), -1 / math.sqrt(8 * math.pi)))


def owens_a(ans, h, a):
    """exp(-(1 + a²) h²/2) / (2 pi (1 + a²))."""
    wide = add(const(a, 1), square(a))
    return scale(div(exp(times(mul(wide, square(h)), -0.5)), times(wide, 2 * math.pi)))


def hyp1f1_x(ans, a, b, x):
    """a/b times the function of a + 1 and b + 1."""
    one = const(a, 1)
    return scale(mul(div(a, b), hyp1f1_p.bind(add(a, one), add(b, one), x)))


def hyp2f1_x(ans, a, b, c, x):
    """a b / c times the function of a + 1, b + 1 and c + 1."""
    above = [add(v, const(v, 1)) for v in (a, b, c)]
    return scale(mul(div(mul(a, b), c), hyp2f1_p.bind(*above, x)))


def by_parameter(card, operand):
    """The slope by a parameter of a hypergeometric function."""
    return lambda ans, *xs: scale(card.bind(*xs, operand=operand))


# ---- cards --------------------------------------------------------------------------------------


def card(name, *slopes, function=None, output=None, accepts="f"):
    """A card whose values are those of SciPy's function."""
    return Elementwise(name, values(function or name, output), *slopes, accepts=accepts)


expi_p = card("expi", lambda ans, x: scale(div(exp(x), x)))
expn_p = card("expn", None, expn_slope)
sine_integral_p = card("sine_integral", lambda ans, x: scale(sinc_of(x)), function="sici", output=0)
cosine_integral_p = card(
    "cosine_integral", lambda ans, x: scale(div(cos(x), x)), function="sici", output=1
)
fresnel_s_p = card(
    "fresnel_s", lambda ans, x: scale(sin(quarter_turns(x))), function="fresnel", output=0
)
fresnel_c_p = card(
    "fresnel_c", lambda ans, x: scale(cos(quarter_turns(x))), function="fresnel", output=1
)
spence_p = card("spence", spence_slope)
dawsn_p = card(
    "dawsn",
    lambda ans, x: scale(sub(const(x, 1), mul(times(x, 2), ans))),
)
erfcx_p = card(
    "erfcx",
    lambda ans, x: scale(sub(mul(times(x, 2), ans), const(x, 2 / math.sqrt(math.pi)))),
)
wofz_p = card(
    "wofz",
    lambda ans, z: scale(sub(times_i(z, 2 / math.sqrt(math.pi)), mul(times(z, 2), ans))),
    accepts="c",
)
owens_t_p = card("owens_t", owens_h, owens_a)
complex_digamma_p = WithoutDerivative("complex_digamma", values("digamma"), accepts="c")
complex_loggamma_p = card(
    "complex_loggamma",
    lambda ans, z: scale(complex_digamma_p.bind(z)),
    function="loggamma",
    accepts="c",
)
complex_gamma_p = card(
    "complex_gamma",
    lambda ans, z: scale(mul(ans, complex_digamma_p.bind(z))),
    function="gamma",
    accepts="c",
)
hyp1f1_slope_p = WithoutDerivative(
    "hyp1f1_slope", lambda *xs, operand: series_slope(1, operand, xs), accepts="f"
)
hyp2f1_slope_p = WithoutDerivative(
    "hyp2f1_slope", lambda *xs, operand: series_slope(2, operand, xs), accepts="f"
)
hyp1f1_p = card("hyp1f1", *[by_parameter(hyp1f1_slope_p, i) for i in range(2)], hyp1f1_x)
hyp2f1_p = card("hyp2f1", *[by_parameter(hyp2f1_slope_p, i) for i in range(3)], hyp2f1_x)


def call(prim, *operands):
    """Bind a card after its checks."""
    operands = [convert(x, lift(x).dtype) for x in operands]  # no longer weakly typed
    prim.type(*[x.aval for x in operands])  # raises where they do not fit
    return prim.bind(*operands)
