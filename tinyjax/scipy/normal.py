"""The distribution function of the normal distribution, its inverse and its logarithm."""

import math

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import constant_like as const
from tinyjax.transforms.custom import custom_jvp

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
    inside, middle = lax.lt(z, half), const(x, 1.0) + lax.erf(w)
    right, above = lax.gt(w, const(x, 0.0)), const(x, 2.0) - lax.erfc(z)
    tail = lax.select(right, above, lax.erfc(z))
    return const(x, 0.5) * lax.select(inside, middle, tail)


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
        far_right, middle, central = -inside, x > low, lax.log(inside)
        left = log_left_tail(lax.min(x, const(x, low)), order)
        return jnp.where(right, far_right, jnp.where(middle, central, left))

    @log_ndtr.defjvp
    def _log_ndtr_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        out = log_ndtr(x)
        logpdf = const(x, -0.5) * lax.square(x) - const(x, 0.5 * np.log(2 * np.pi))
        return out, t * lax.exp(logpdf - out)

    return log_ndtr


def log_left_tail(x, order):
    """log(ndtr(x)) for very negative x, by the asymptotic series."""
    scale = const(x, -0.5) * lax.square(x) - lax.log(-x) - const(x, 0.5 * np.log(2.0 * np.pi))
    if not order:
        return scale
    square = power = lax.square(x)
    sums = [jnp.zeros_like(x), jnp.zeros_like(x)]  # of even and odd terms
    for n in range(1, order + 1):
        sums[n % 2] = sums[n % 2] + const(x, math.prod(range(2 * n - 1, 0, -2))) / power
        power = power * square
    return scale + lax.log(const(x, 1.0) + sums[0] - sums[1])
