"""The exponential distribution."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, loc, scale = promote_args_inexact("expon.logpdf", x, loc, scale)
    log_scale = jnp.log(scale)
    value = -((x - loc) / scale + log_scale)
    return jnp.where(x < loc, -np.inf, value)


pdf = exp_of(logpdf, "pdf")


def cdf(x, loc=0, scale=1):
    """The probability of a value up to x."""
    x, loc, scale = promote_args_inexact("expon.cdf", x, loc, scale)
    y = (loc - x) / scale
    return jnp.where(x < loc, jnp.zeros_like(y), -jnp.expm1(y))


def logsf(x, loc=0, scale=1):
    """log(1 - cdf)."""
    x, loc, scale = promote_args_inexact("expon.sf", x, loc, scale)
    y = (loc - x) / scale
    return jnp.where(x < loc, jnp.zeros_like(y), y)


sf = exp_of(logsf, "sf")


def logcdf(x, loc=0, scale=1):
    """log(cdf)."""
    return jnp.log1p(-sf(x, loc, scale))


def ppf(q, loc=0, scale=1):
    """The inverse of cdf."""
    q, loc, scale = promote_args_inexact("expon.ppf", q, loc, scale)
    invalid = jnp.isnan(q) | (q < 0) | (q > 1)
    value = loc - scale * jnp.log1p(-q)
    return jnp.where(invalid, np.nan, value)
