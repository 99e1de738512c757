"""The chi-square distribution with df degrees of freedom."""

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of, log_of


def logpdf(x, df, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, df, loc, scale = promote_args_inexact("chi2.logpdf", x, df, loc, scale)
    one, two = const(x, 1), const(x, 2)
    y, half = (x - loc) / scale, df / two
    kernel = (half - one) * jnp.log(y) - y / two
    normalizer = -(lax.lgamma(half) + jnp.log(two) * df / two)
    value = normalizer - jnp.log(scale) + kernel
    return jnp.where(x < loc, -np.inf, value)


pdf = exp_of(logpdf, "pdf")


def halves(x, df, loc, scale):
    """The arguments of the incomplete gamma function."""
    two = const(scale, 2)
    half = df / two
    return half, lax.clamp(const(x, 0), (x - loc) / (scale * two), const(x, np.inf))


def cdf(x, df, loc=0, scale=1):
    """The probability of a value up to x."""
    x, df, loc, scale = promote_args_inexact("chi2.cdf", x, df, loc, scale)
    half, y = halves(x, df, loc, scale)
    return special.gammainc(half, y)


def sf(x, df, loc=0, scale=1):
    """1 - cdf: the probability of a larger value."""
    x, df, loc, scale = promote_args_inexact("chi2.sf", x, df, loc, scale)
    half, y = halves(x, df, loc, scale)
    return special.gammaincc(half, y)


logcdf = log_of(cdf, "logcdf")
logsf = log_of(sf, "logsf")
