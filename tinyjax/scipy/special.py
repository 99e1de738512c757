"""The names of scipy.special: functions of statistics and mathematical physics, elementwise."""

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.autodiff import jvp
from tinyjax.dtypes import float0
from tinyjax.nn import normalizing
from tinyjax.nn.normalizing import logsumexp
from tinyjax.numpy.checks import concrete_or_error, ensure_arraylike
from tinyjax.numpy.promotion import const, constant_like, promote_args_inexact
from tinyjax.primitives import scipy_functions as cards
from tinyjax.primitives.special import BERNOULLI
from tinyjax.scipy.integrals import (
    dawsn,
    erfcx,
    exp1,
    expi,
    expn,
    fresnel,
    owens_t,
    real_arguments,
    sici,
    spence,
    wofz,
)
from tinyjax.scipy.normal import log_ndtr, ndtr, ndtri
from tinyjax.scipy.series import bernoulli, bessel_jn, hyp1f1, hyp2f1, sph_harm_y
from tinyjax.tracebacks import boundary
from tinyjax.transforms.custom import custom_jvp
from tinyjax.transforms.subprogram import subprogram

__all__ = [
    "bernoulli",
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "expn",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "owens_t",
    "poch",
    "polygamma",
    "rel_entr",
    "sici",
    "softmax",
    "spence",
    "sph_harm_y",
    "wofz",
    "xlog1py",
    "xlogy",
    "zeta",
]

# ---- one lax function each ----------------------------------------------------------------------


def inexact(name, op, meaning):
    """The function that promotes its argument to floats and applies op."""

    def function(x):
        return op(*promote_args_inexact(name, x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning}, elementwise."
    return function


erf = inexact("erf", lax.erf, "The error function")
erfc = inexact("erfc", lax.erfc, "1 - erf(x), exact where that is small")
erfinv = inexact("erfinv", lax.erf_inv, "The inverse of erf")
expit = inexact("expit", lax.logistic, "1 / (1 + exp(-x))")
gammaln = inexact("gammaln", lax.lgamma, "log(abs(gamma(x)))")
digamma = inexact("digamma", lax.digamma, "The derivative of gammaln")
i0e = inexact("i0e", lax.bessel_i0e, "exp(-abs(x)) * i0(x)")
i1e = inexact("i1e", lax.bessel_i1e, "exp(-abs(x)) * i1(x)")


def i0(x):
    """The modified Bessel function of order 0, elementwise."""
    (x,) = promote_args_inexact("i0", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i0e(x))


def i1(x):
    """The modified Bessel function of order 1, elementwise."""
    (x,) = promote_args_inexact("i1", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))


@custom_jvp
def zeta(x, q=None):
    """The Hurwitz zeta function, the sum of 1 / (q + k)**x over k = 0, 1, ..., elementwise."""
    if q is None:
        raise NotImplementedError(
            "Riemann zeta function not implemented; pass q != None to compute the Hurwitz Zeta "
            "function."
        )
    return lax.zeta(*promote_args_inexact("zeta", x, q))


def zeta_series(s, q):
    """zeta by Euler's and Maclaurin's formula: what its derivatives are taken of."""
    head = sum((q + k) ** -s for k in range(10))
    end = q + 10
    out = head + end ** (1 - s) / (s - 1) + end**-s / 2
    factor = s * end ** (-s - 1)
    for k, b in enumerate(BERNOULLI):
        out = out + b * factor
        factor = factor * (s + 2 * k + 1) * (s + 2 * k + 2) / (end * end)
    return out


@zeta.defjvp
def _zeta_jvp(primals, tangents):
    return jvp(zeta_series, promote_args_inexact("zeta", *primals), tangents)


def polygamma(n, x):
    """The n-th derivative of digamma, elementwise; n: integers."""
    if ensure_arraylike("polygamma", n).dtype.kind not in "iu":
        raise ValueError(f"Argument `n` to polygamma must be of integer type, got {n}.")
    return lax.polygamma(*promote_args_inexact("polygamma", n, x))


@custom_jvp
def logit(x):
    """log(x / (1 - x)), elementwise: the inverse of expit."""
    (x,) = promote_args_inexact("logit", x)
    return lax.log(lax.div(x, lax.sub(const(x, 1), x)))


logit.defjvps(lambda g, ans, x: lax.div(g, lax.mul(x, lax.sub(const(x, 1), x))))


@boundary
def softmax(x, /, *, axis=None):
    """exp(x) divided by its sum along axes, all by default."""
    return normalizing.softmax(jnp.asarray(x), axis=axis)


def log_softmax(x, /, *, axis=None):
    """log(softmax(x)) along axes, all by default."""
    return normalizing.log_softmax(jnp.asarray(x), axis=axis)


# ---- around the gamma function ------------------------------------------------------------------


@subprogram
def gammasgn(x):
    """The sign of gamma(x), elementwise; nan at its poles."""
    (x,) = promote_args_inexact("gammasgn", x)
    if x.dtype.kind == "c":
        raise ValueError("gammasgn does not support complex-valued inputs.")
    below, whole = lax.floor(x), x == lax.floor(x)
    pole = (x < 0) & whole | jnp.isnan(x)
    negative = (x < 0) & (below % 2 != 0) | (x == 0) & jnp.signbit(x)
    kinds = [x.dtype.type(v) for v in (np.nan, -1.0, 1.0)]
    return jnp.select([pole, negative], kinds[:2], kinds[2])


def gamma(x):
    """The gamma function, elementwise: (x - 1)! of whole numbers."""
    (x,) = promote_args_inexact("gamma", x)
    if x.dtype.kind == "c":
        return cards.call(cards.complex_gamma_p, x)
    return gammasgn(x) * lax.exp(lax.lgamma(x))


def loggamma(x):
    """log(gamma(x)), elementwise; nan for negative x."""
    (x,) = promote_args_inexact("loggamma", x)
    if x.dtype.kind == "c":
        return cards.call(cards.complex_loggamma_p, x)
    return jnp.where(x > 0, lax.lgamma(x), jnp.nan)


def factorial(n, exact=False):
    """n!, elementwise, in floating point; 0 for negative n."""
    if exact:
        raise NotImplementedError("factorial with exact=True")
    (n,) = promote_args_inexact("factorial", n)
    return jnp.where(n < 0, 0, lax.exp(lax.lgamma(n + 1)))


def comb(N, k, *, repetition=False):
    """How many ways there are to choose k of N things (with repetition), elementwise."""
    N, k = promote_args_inexact("comb", N, k)
    if repetition:
        return jnp.where((k == 0) & (N >= 0), 1.0, comb(N + k - 1, k))
    possible = (k <= N) & (N >= 0) & (k >= 0)
    n, m = jnp.where(possible, N, 0.0), jnp.where(possible, k, 0.0)
    ways = lax.exp(gammaln(n + 1) - gammaln(m + 1) - gammaln(n + 1 - m))
    return jnp.where(possible, ways, 0.0)


def betaln(a, b):
    """log(abs(beta(a, b))), elementwise."""
    a, b = promote_args_inexact("betaln", a, b)
    a, b = jnp.minimum(a, b), jnp.maximum(a, b)
    small = gammaln(a) + (gammaln(b) - gammaln(a + b))
    huge = jnp.maximum(b, 8.0)  # there gammaln(b) - gammaln(a + b) loses its digits
    h = a / huge
    ratio = (huge - 0.5) * jnp.log1p(h)
    tail = stirling_tail(huge) - stirling_tail(a + huge)
    large = gammaln(a) + a * (1 - jnp.log(a + huge)) - ratio + tail
    return jnp.where(b < 8, small, large)


def stirling_tail(x):
    """gammaln(x) minus Stirling's formula, for x >= 8."""
    x2 = 1 / (x * x)
    return (1 / 12 - x2 * (1 / 360 - x2 * (1 / 1260 - x2 / 1680))) / x


def beta(a, b):
    """gamma(a) * gamma(b) / gamma(a + b), elementwise."""
    a, b = real_arguments("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(betaln(a, b))


def gammainc(a, x):
    """The regularized lower incomplete gamma function, elementwise: see lax.igamma."""
    return lax.igamma(*real_arguments("gammainc", a, x))


def gammaincc(a, x):
    """1 - gammainc(a, x), elementwise, exact where that is small."""
    return lax.igammac(*real_arguments("gammaincc", a, x))


def betainc(a, b, x):
    """The regularized incomplete beta function, elementwise: see lax.betainc."""
    return lax.betainc(*real_arguments("betainc", a, b, x))


@custom_jvp
def poch(z, m):
    """Pochhammer's symbol gamma(z + m) / gamma(z) = z (z+1) ... (z+m-1), elementwise."""
    z, m = real_arguments("poch", z, m)
    return jnp.where(m == 0.0, constant_like(z, 1), gamma(z + m) / gamma(z))


poch.defjvps(
    lambda t, ans, z, m: (digamma(z + m) - digamma(z)) * poch(z, m) * t,
    lambda t, ans, z, m: digamma(z + m) * poch(z, m) * t,
)


def multigammaln(a, d):
    """The logarithm of the multivariate gamma function of dimension d, elementwise."""
    d = concrete_or_error(int, d, "d argument of multigammaln")
    (a,) = promote_args_inexact("multigammaln", a)
    halves = jnp.arange(d, dtype=a.dtype) / 2
    terms = gammaln(lax.expand_dims(a, (a.ndim,)) - halves)
    return terms.sum(-1) + const(a, d * (d - 1) / 4 * np.log(np.pi))


# ---- entropy ------------------------------------------------------------------------------------


@custom_jvp
def xlogy(x, y):
    """x * log(y), elementwise; 0 where x is 0."""
    x, y = promote_args_inexact("xlogy", x, y)
    return jnp.where((x != 0.0) | jnp.isnan(y), lax.mul(x, lax.log(y)), jnp.zeros_like(x))


@xlogy.defjvp
def _xlogy_jvp(primals, tangents):
    (x, y), (s, t) = primals, tangents
    out = xlogy(x, y)
    first = 0 if s.dtype == float0 else s * lax.log(y)  # x may be an integer
    return out, (first + t * x / y).astype(out.dtype)


@custom_jvp
def xlog1py(x, y):
    """x * log(1 + y), elementwise; 0 where x is 0."""
    x, y = promote_args_inexact("xlog1py", x, y)
    return jnp.where((x != 0.0) | jnp.isnan(y), lax.mul(x, lax.log1p(y)), jnp.zeros_like(x))


@xlog1py.defjvp
def _xlog1py_jvp(primals, tangents):
    (x, y), (s, t) = primals, tangents
    out = xlog1py(x, y)
    first = 0 if s.dtype == float0 else s * lax.log1p(y)
    return out, (first + t * x / (1 + y)).astype(out.dtype)


@custom_jvp
def _xlogx(x):
    """x * log(x), 0 at 0."""
    return xlogy(x, x)


_xlogx.defjvps(lambda g, ans, x: g * (lax.log(x) + 1))


def entr(x):
    """-x * log(x), elementwise; -inf for negative x."""
    (x,) = promote_args_inexact("entr", x)
    below = lax.lt(x, const(x, 0))
    return lax.select(below, lax.full_like(x, -np.inf), lax.neg(_xlogx(x)))


def rel_entr(p, q):
    """p * log(p / q), elementwise: a term of the relative entropy."""
    p, q = promote_args_inexact("rel_entr", p, q)
    both = (p > 0) & (q > 0)
    one = (p == 0) & (q >= 0)
    safe_p, safe_q = jnp.where(both, p, 1), jnp.where(both, q, 1)
    value = _xlogx(safe_p) - xlogy(safe_p, safe_q)
    return jnp.where(both, value, jnp.where(one, const(p, 0.0), np.inf))


def kl_div(p, q):
    """rel_entr(p, q) - p + q, elementwise: a term of the Kullback-Leibler divergence."""
    p, q = promote_args_inexact("kl_div", p, q)
    return rel_entr(p, q) - p + q


def boxcox(x, lmbda):
    """(x**lmbda - 1) / lmbda, elementwise; log(x) where lmbda is 0."""
    x, lmbda = promote_args_inexact("boxcox", x, lmbda)
    return power_transform(jnp.log(x), lmbda)


def boxcox1p(x, lmbda):
    """boxcox(1 + x, lmbda), elementwise."""
    x, lmbda = promote_args_inexact("boxcox1p", x, lmbda)
    return power_transform(jnp.log1p(x), lmbda)


def power_transform(log_x, lmbda):
    """(exp(lmbda * log_x) - 1) / lmbda, and its limit at 0."""
    zero = lmbda == 0
    safe = jnp.where(zero, jnp.ones_like(lmbda), lmbda)
    return jnp.where(zero, log_x, jnp.expm1(safe * log_x) / safe)
