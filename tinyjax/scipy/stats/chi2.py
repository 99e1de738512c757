"""The chi-square distribution with df degrees of freedom."""

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import const, promote_args_inexact
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of, log_of


def logpdf(x, df, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, df, loc, scale = promote_args_inexact("chi2.logpdf", x, df, loc, scale)
    y, half = (x - loc) / scale, df / 2
    kernel = (half - 1) * jnp.log(y) - y / 2
    normalizer = -(special.gammaln(half) + np.log(2) * df / 2)
    return jnp.where(x < loc, -np.inf, normalizer - jnp.log(scale) + kernel)


pdf = exp_of(logpdf, "pdf")


def cdf(x, df, loc=0, scale=1):
    """The probability of a value up to x."""
    x, df, loc, scale = promote_args_inexact("chi2.cdf", x, df, loc, scale)
    y = lax.clamp(const(x, 0), (x - loc) / (scale * 2), const(x, np.inf))
    return special.gammainc(df / 2, y)


def sf(x, df, loc=0, scale=1):
    """1 - cdf: the probability of a larger value."""
    x, df, loc, scale = promote_args_inexact("chi2.sf", x, df, loc, scale)
    y = lax.clamp(const(x, 0), (x - loc) / (scale * 2), const(x, np.inf))
    return special.gammaincc(df / 2, y)


logcdf = log_of(cdf, "logcdf")
logsf = log_of(sf, "logsf")
