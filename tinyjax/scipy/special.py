"""The names of scipy.special: functions of statistics and mathematical physics, elementwise."""

import math

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.nn import normalizing
from tinyjax.nn.normalizing import logsumexp
from tinyjax.numpy.checks import concrete_or_error, ensure_arraylike
from tinyjax.numpy.promotion import const, promote_args_inexact
from tinyjax.transforms.custom import custom_jvp

__all__ = [
    "beta",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "expit",
    "factorial",
    "gamma",
    "gammaln",
    "gammasgn",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "logit",
    "loggamma",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "rel_entr",
    "softmax",
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


def zeta(x, q=None):
    """The Hurwitz zeta function, the sum of 1 / (q + k)**x over k = 0, 1, ..., elementwise."""
    if q is None:
        raise NotImplementedError(
            "Riemann zeta function not implemented; pass q != None to compute the Hurwitz Zeta "
            "function."
        )
    return lax.zeta(*promote_args_inexact("zeta", x, q))


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


def softmax(x, /, *, axis=None):
    """exp(x) divided by its sum along axes, all by default."""
    return normalizing.softmax(jnp.asarray(x), axis=axis)


def log_softmax(x, /, *, axis=None):
    """log(softmax(x)) along axes, all by default."""
    return normalizing.log_softmax(jnp.asarray(x), axis=axis)


# ---- around the gamma function ------------------------------------------------------------------


def gammasgn(x):
    """The sign of gamma(x), elementwise; nan at its poles."""
    (x,) = promote_args_inexact("gammasgn", x)
    if x.dtype.kind == "c":
        raise ValueError("gammasgn does not support complex-valued inputs.")
    below, whole = lax.floor(x), x == lax.floor(x)
    pole = (x < 0) & whole | jnp.isnan(x)
    negative = (x < 0) & (below % 2 != 0) | (x == 0) & jnp.signbit(x)
    kinds = [const(x, v) for v in (np.nan, -1.0, 1.0)]
    return jnp.select([pole, negative], kinds[:2], kinds[2])


def gamma(x):
    """The gamma function, elementwise: (x - 1)! of whole numbers."""
    (x,) = promote_args_inexact("gamma", x)
    return gammasgn(x) * lax.exp(lax.lgamma(x))


def loggamma(x):
    """log(gamma(x)), elementwise; nan for negative x."""
    (x,) = promote_args_inexact("loggamma", x)
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
    a, b = promote_args_inexact("beta", a, b)
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * lax.exp(betaln(a, b))


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
    return out, (s * lax.log(y) + t * x / y).astype(out.dtype)


@custom_jvp
def xlog1py(x, y):
    """x * log(1 + y), elementwise; 0 where x is 0."""
    x, y = promote_args_inexact("xlog1py", x, y)
    return jnp.where((x != 0.0) | jnp.isnan(y), lax.mul(x, lax.log1p(y)), jnp.zeros_like(x))


@xlog1py.defjvp
def _xlog1py_jvp(primals, tangents):
    (x, y), (s, t) = primals, tangents
    out = xlog1py(x, y)
    return out, (s * lax.log1p(y) + t * x / (1 + y)).astype(out.dtype)


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


# ---- the normal distribution --------------------------------------------------------------------


def check_float(x):
    """Raise TypeError unless x holds float32 or float64."""
    x = jnp.asarray(x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(f"x.dtype={x.dtype} is not supported: give float32 or float64.")
    return x


def ndtr(x):
    """The cumulative distribution function of the normal distribution, elementwise."""
    x = check_float(x)
    half = const(x, 0.5 * np.sqrt(2.0))
    w = x * half
    z = lax.abs(w)
    one, two = const(x, 1.0), const(x, 2.0)
    tail = lax.select(lax.gt(w, const(x, 0.0)), two - lax.erfc(z), lax.erfc(z))
    return const(x, 0.5) * lax.select(lax.lt(z, half), one + lax.erf(w), tail)


#: Cephes' rational approximations: in the middle, in the tails, far out.
MIDDLE = (
    [-5.99633501014107895267e1, 9.80010754185999661536e1, -5.66762857469070293439e1,
     1.39312609387279679503e1, -1.23916583867381258016e0],
    [1.0, 1.95448858338141759834e0, 4.67627912898881538453e0, 8.63602421390890590575e1,
     -2.25462687854119370527e2, 2.00260212380060660359e2, -8.20372256168333339912e1,
     1.59056225126211695515e1, -1.18331621121330003142e0],
)  # fmt: skip
TAIL = (
    [4.05544892305962419923e0, 3.15251094599893866154e1, 5.71628192246421288162e1,
     4.40805073893200834700e1, 1.46849561928858024014e1, 2.18663306850790267539e0,
     -1.40256079171354495875e-1, -3.50424626827848203418e-2, -8.57456785154685413611e-4],
    [1.0, 1.57799883256466749731e1, 4.53907635128879210584e1, 4.13172038254672030440e1,
     1.50425385692907503408e1, 2.50464946208309415979e0, -1.42182922854787788574e-1,
     -3.80806407691578277194e-2, -9.33259480895457427372e-4],
)  # fmt: skip
FAR = (
    [3.23774891776946035970e0, 6.91522889068984211695e0, 3.93881025292474443415e0,
     1.33303460815807542389e0, 2.01485389549179081538e-1, 1.23716634817820021358e-2,
     3.01581553508235416007e-4, 2.65806974686737550832e-6, 6.23974539184983293730e-9],
    [1.0, 6.02427039364742014255e0, 3.67983563856160859403e0, 1.37702099489081330271e0,
     2.16236993594496635890e-1, 1.34204006088543189037e-2, 3.28014464682127739104e-4,
     2.89247864745380683936e-6, 6.79019408009981274425e-9],
)  # fmt: skip


def rational(coefficients, x):
    """A quotient of two polynomials."""
    above, below = coefficients
    return horner(above, x) / horner(below, x)


def horner(coefficients, x):
    """A polynomial with known coefficients."""
    out = const(x, coefficients[0])
    for c in coefficients[1:]:
        out = out * x + const(x, c)
    return out


def ndtri(p):
    """The inverse of ndtr, elementwise."""
    p = check_float(p)
    upper = p > const(p, -np.expm1(-2.0))
    q = jnp.where(upper, const(p, 1.0) - p, p)
    q = jnp.where(q == 0, const(p, 0.5), q)
    w = q - const(p, 0.5)
    ww = lax.square(w)
    middle = (w + w * ww * rational(MIDDLE, ww)) * const(p, -np.sqrt(2.0 * np.pi))
    z = lax.sqrt(const(p, -2.0) * lax.log(q))
    first = z - lax.log(z) / z
    far, tail = (first - rational(c, 1 / z) / z for c in (FAR, TAIL))
    x = jnp.where(q > const(p, np.exp(-2.0)), middle, jnp.where(z >= 8.0, far, tail))
    x = jnp.where(p > const(p, 1.0 - np.exp(-2.0)), x, -x)
    return jnp.where(p == 0, const(p, -np.inf), jnp.where(p == 1, const(p, np.inf), x))


def log_ndtr(x, series_order=3):
    """log(ndtr(x)), elementwise, exact far out on the left, too.

    series_order: how many terms of the asymptotic series are used there.
    """
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if not 0 <= series_order <= 30:
        raise ValueError("series_order must be between 0 and 30.")
    return log_ndtr_of_order(series_order)(check_float(x))


def log_ndtr_of_order(order):
    """log_ndtr with so many terms; its derivative is exp(logpdf - log_ndtr)."""

    @custom_jvp
    def log_ndtr(x):
        low, high = (-20, 8) if x.dtype == np.float64 else (-10, 5)
        right = x > high
        inside = ndtr(jnp.where(right, -x, lax.max(x, const(x, low))))
        left = log_left_tail(lax.min(x, const(x, low)), order)
        return jnp.where(right, -inside, jnp.where(x > low, lax.log(inside), left))

    @log_ndtr.defjvp
    def log_ndtr_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        out = log_ndtr(x)
        logpdf = const(x, -0.5) * lax.square(x) - const(x, 0.5 * np.log(2 * np.pi))
        return out, t * lax.exp(logpdf - out)

    return log_ndtr


def log_left_tail(x, order):
    """log(ndtr(x)) for very negative x, by the asymptotic series."""
    square = lax.square(x)
    total, power = const(x, 1.0), square
    for n in range(1, order + 1):
        term = const(x, (-1) ** n * math.prod(range(2 * n - 1, 0, -2))) / power
        total, power = total + term, power * square
    scale = const(x, -0.5) * square - lax.log(-x) - const(x, 0.5 * np.log(2.0 * np.pi))
    return scale + lax.log(total)
