"""Incomplete integrals: igamma, igammac, their slopes in a, and the regularized incomplete beta.

All compute in double precision and round once. P(a, x) = igamma is a power series where x is small
against a, and 1 minus a continued fraction elsewhere; both carry their derivatives by a along.
(NIST Digital Library of Mathematical Functions, 8.7, 8.9 and 8.17.)
"""

import functools

import numpy as np

from tinyjax.array import lift
from tinyjax.primitives import special
from tinyjax.primitives.arithmetic import add, const, full_of, mul, nary, neg, sub
from tinyjax.primitives.maths import exp, lgamma, log, log1p
from tinyjax.primitives.rules import Elementwise, WithoutDerivative

EPSILON = float(np.finfo(np.float64).eps)
LIMIT = 20_000  # terms: the series needs some square roots of a
BLOCK = 1 << 13  # elements that are summed together: they stay in the processor's cache

# ---- elements that have not converged -----------------------------------------------------------


def elementwise(f):
    """Call f on flat float64 arrays of one shape, without warnings; round to the first's dtype."""

    @functools.wraps(f)
    def impl(*xs):
        wide = np.broadcast_arrays(*[np.asarray(x, np.float64) for x in xs])
        with np.errstate(all="ignore"):
            out = f(*[x.ravel() for x in wide])
        return out.reshape(wide[0].shape).astype(xs[0].dtype)

    return impl


def where(mask, f, *xs):
    """f of the masked elements, zero elsewhere."""
    places = np.flatnonzero(mask)
    out = np.zeros(mask.shape)
    for start in range(0, len(places), BLOCK):
        part = places[start : start + BLOCK]
        out[part] = f(*[x[part] for x in xs])
    return out


# ---- the two ways to P(a, x) --------------------------------------------------------------------


def series(a, x):
    """S = 1 + x/(a+1) + x²/((a+1)(a+2)) + ..., and dS/da."""
    total, slope = np.ones_like(x), np.zeros_like(x)
    term, dterm, r = np.ones_like(x), np.zeros_like(x), a
    for _ in range(LIMIT):
        r = r + 1
        dterm = dterm * (x / r) - term * x / (r * r)
        term = term * (x / r)
        total, slope = total + term, slope + dterm
        more = (term > EPSILON * total) | (np.abs(dterm) > EPSILON * np.abs(slope))
        if not more.any():
            break
    return total, slope


def fraction(a, x):
    """F = 1/(x+1-a - (1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))), and dF/da.

    The numerators and denominators of its convergents obey p[n] = b p[n-1] + c p[n-2].
    """
    p0, q0, dp0, dq0 = (np.zeros_like(x) for _ in range(4))
    q0 = q0 + 1  # convergent 0: 0 / 1
    p1, q1 = np.ones_like(x), x + 1 - a  # convergent 1
    dp1, dq1 = np.zeros_like(x), -np.ones_like(x)
    value = p1 / q1
    slope = -value * dq1 / q1
    left = np.ones(x.shape, bool)  # what has not converged
    for n in range(1, LIMIT):
        b, c = x + (2 * n + 1) - a, -n * (n - a)
        p, q = b * p1 + c * p0, b * q1 + c * q0
        dp = b * dp1 - p1 + c * dp0 + n * p0
        dq = b * dq1 - q1 + c * dq0 + n * q0
        before, slope_before = value, slope
        value = np.where(q != 0, p / q, value)
        part = value * dq
        slope = np.where(q != 0, (dp - part) / q, slope)
        size = np.where(np.abs(q) > 1e100, 1e-100, 1.0)  # only the ratios count
        p0, q0, dp0, dq0 = (v * size for v in (p1, q1, dp1, dq1))
        p1, q1, dp1, dq1 = (v * size for v in (p, q, dp, dq))
        noise = np.abs(slope) + np.abs(part / q)  # the slope is a difference of large terms
        left &= ~(
            (np.abs(value - before) <= 2 * EPSILON * np.abs(value))
            & (np.abs(slope - slope_before) <= 4 * EPSILON * noise)
        )
        if not left.any():
            break
    return value, slope


def log_kernel(a, x):
    """log(x**a exp(-x) / gamma(a))."""
    return a * np.log(x) - x - special.lgamma(a)


def cases(a, x):
    """Where the arguments are in the domain, x is inside (0, inf), and which way to take there."""
    valid = (x >= 0) & (a >= 0) & ~((a == 0) & (x == 0))
    inside = valid & (x > 0) & (x < np.inf) & (a > 0) & (a < np.inf)
    far = inside & (x >= 1) & (x > a)
    return valid, far, inside & ~far


def lower_and_upper(a, x):
    """P(a, x) and Q(a, x) = 1 - P, each without cancellation where it is small."""
    valid, far, near = cases(a, x)
    kernel = np.exp(log_kernel(a, x))
    s = where(near, lambda a, x: series(a, x)[0], a, x)
    f = where(far, lambda a, x: fraction(a, x)[0], a, x)
    lower, upper = kernel * s / a, kernel * f
    low = np.where(near, lower, 1 - upper)
    high = np.where(near, 1 - lower, upper)
    edge = ~near & ~far
    one = (x == np.inf) | ((a == 0) & (x > 0))  # P is 1
    low = np.where(edge, np.where(one, 1.0, 0.0), low)
    high = np.where(edge, np.where(one, 0.0, 1.0), high)
    return np.where(valid, low, np.nan), np.where(valid, high, np.nan)


def slope_over_kernel(a, x):
    """dP/da divided by x**a exp(-x) / gamma(a)."""
    valid, far, near = cases(a, x)
    valid &= a > 0

    def by_series(a, x):
        total, slope = series(a, x)
        return (total * (np.log(x) - special.digamma(a + 1)) + slope) / a

    def by_fraction(a, x):
        value, slope = fraction(a, x)
        return -(value * (np.log(x) - special.digamma(a)) + slope)

    out = where(near, by_series, a, x) + where(far, by_fraction, a, x)
    return np.where(valid, out, np.nan)


@elementwise
def igamma_value(a, x):
    """P(a, x)."""
    return lower_and_upper(a, x)[0]


@elementwise
def igammac_value(a, x):
    """Q(a, x)."""
    return lower_and_upper(a, x)[1]


@elementwise
def igamma_slope_value(a, x):
    """dP/da."""
    kernel = np.where((x > 0) & (x < np.inf), np.exp(log_kernel(a, x)), 0.0)
    return slope_over_kernel(a, x) * kernel


@elementwise
def sample_slope_value(a, x):
    """How a sample moves with a while its P stays: -(dP/da) / (dP/dx)."""
    return -slope_over_kernel(a, x) * x


# ---- the incomplete beta integral ---------------------------------------------------------------


def beta_fraction(a, b, x):
    """The continued fraction of DLMF 8.17.22, by Lentz' method as Thompson and Barnett have it."""
    tiny = 1e-300
    c, d = np.ones_like(x), 1 - (a + b) * x / (a + 1)
    d = 1 / np.where(d == 0, tiny, d)
    out, left = d, np.ones(x.shape, bool)
    for m in range(1, LIMIT):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for numerator in (even, odd):
            c, d = 1 + numerator / c, 1 + numerator * d
            c, d = np.where(c == 0, tiny, c), 1 / np.where(d == 0, tiny, d)
            out = out * c * d
        left &= np.abs(c * d - 1) > 2 * EPSILON
        if not left.any():
            break
    return out


@elementwise
def betainc_value(a, b, x):
    """I(a, b, x), by its symmetry always where the fraction converges fast."""
    fast = x < (a + 1) / (a + b + 2)
    first, second = np.where(fast, a, b), np.where(fast, b, a)
    place = np.where(fast, x, 1 - x)

    def tail(a, b, x):
        logs = special.lgamma(a + b) - special.lgamma(a + 1) - special.lgamma(b)
        power = np.exp(a * np.log(x) + b * np.log1p(-x) + logs)
        return power * beta_fraction(a, b, x)

    inside = (x > 0) & (x < 1) & (a > 0) & (b > 0) & (a < np.inf) & (b < np.inf)
    out = where(inside, tail, first, second, place)
    out = np.where(fast, out, 1 - out)
    at_zero, at_one = (a == 0) | (b == np.inf), (b == 0) | (a == np.inf)  # where all mass lies
    out = np.where((at_one & (x != 1)) | (x == 0), 0.0, out)
    out = np.where((at_zero & (x != 0)) | (x == 1), 1.0, out)
    valid = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1) & ~(at_zero & at_one)
    return np.where(valid, out, np.nan)


# ---- cards --------------------------------------------------------------------------------------


def density(a, x):
    """The slope of P(a, x) in x."""
    minus = neg(x)
    power = mul(sub(a, full_of(a, 1)), log(x))
    return exp(sub(add(minus, power), lgamma(a)))


def negated(slope):
    """The tangent of 1 - f, where f has this slope."""

    def rule(ans, a, x):
        factor = slope(a, x)
        return lambda t: neg(mul(t, factor))

    return rule


def beta_density(a, b, x):
    """The slope of I(a, b, x) in x."""
    total = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    second = mul(sub(b, const(b, 1)), log1p(neg(x)))
    first = mul(sub(a, const(a, 1)), log(x))
    return exp(sub(add(second, first), total))


def beta_slope(ans, a, b, x):
    """The tangent in x; the factors are in JAX's order."""
    factor = beta_density(a, b, x)
    return lambda t: mul(factor, t)


def no_beta_slope(ans, a, b, x):
    """There is no closed form."""
    raise ValueError("Betainc gradient with respect to a and b not supported.")


def slope_with(f):
    """The tangent t times f(a, x)."""

    def rule(ans, a, x):
        factor = f(a, x)
        return lambda t: mul(t, factor)

    return rule


def grad_a(a, x):
    """igamma_grad_a, which is defined below."""
    return igamma_grad_a_p.bind(a, x)


igamma_p = Elementwise("igamma", igamma_value, slope_with(grad_a), slope_with(density), accepts="f")
igammac_p = Elementwise("igammac", igammac_value, negated(grad_a), negated(density), accepts="f")
igamma_grad_a_p = WithoutDerivative("igamma_grad_a", igamma_slope_value, accepts="f")
random_gamma_grad_p = WithoutDerivative("random_gamma_grad", sample_slope_value, accepts="f")
regularized_incomplete_beta_p = Elementwise(
    "regularized_incomplete_beta",
    betainc_value,
    no_beta_slope,
    no_beta_slope,
    beta_slope,
    accepts="f",
)

_igamma, _igammac, _igamma_grad_a, _random_gamma_grad = map(
    nary, (igamma_p, igammac_p, igamma_grad_a_p, random_gamma_grad_p)
)


def igamma(a, x):
    """The regularized lower incomplete gamma function P(a, x), elementwise.

    Args:
      a, x: arrays of one float dtype; their shapes are equal, or one is a scalar.

    Returns an array of their dtype: the integral of t**(a-1) exp(-t) over [0, x], divided by
    gamma(a); nan for negative a or x.

    Raises TypeError for other dtypes.

    >>> import tinyjax as jax
    >>> print(jax.lax.igamma(1.0, 1.0))
    0.63212055
    """
    return _igamma(a, x)


def igammac(a, x):
    """1 - igamma(a, x), precise where that is small."""
    return _igammac(a, x)


def igamma_grad_a(a, x):
    """The derivative of igamma(a, x) by a."""
    return _igamma_grad_a(a, x)


def random_gamma_grad(a, x, *, dtype=None):
    """How a sample x of the gamma distribution moves with a: -(dP/da) / (dP/dx), P = igamma.

    This is implicit reparameterization. (Figurnov, Mohamed and Mnih, 2018.)
    """
    return _random_gamma_grad(a, x)


def betainc(a, b, x):
    """The regularized incomplete beta integral I(a, b, x), elementwise.

    Args:
      a, b, x: arrays of one float dtype; their shapes are equal, or some are scalars.

    Returns an array of their dtype; nan for negative a or b, and x outside of [0, 1].

    Raises TypeError for other dtypes; ValueError when it is differentiated by a or b.

    >>> import tinyjax as jax
    >>> print(jax.lax.betainc(2.0, 2.0, 0.5))
    0.5
    """
    operands = a, b, x = lift(a), lift(b), lift(x)
    regularized_incomplete_beta_p.type(*[v.aval for v in operands])  # raises where they do not fit
    return regularized_incomplete_beta_p.bind(a, b, x)
