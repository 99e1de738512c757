"""The normal distribution with mean loc and standard deviation scale."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, loc, scale = promote_args_inexact("norm.logpdf", x, loc, scale)
    variance = jnp.square(scale)
    normalizer = jnp.log(const(x, 2 * np.pi) * variance)
    return (normalizer + jnp.square(x - loc) / variance) / const(x, -2)


pdf = exp_of(logpdf, "pdf")


def cdf(x, loc=0, scale=1):
    """The probability of a value up to x."""
    x, loc, scale = promote_args_inexact("norm.cdf", x, loc, scale)
    return special.ndtr((x - loc) / scale)


def logcdf(x, loc=0, scale=1):
    """log(cdf)."""
    x, loc, scale = promote_args_inexact("norm.logcdf", x, loc, scale)
    return special.log_ndtr((x - loc) / scale)


def sf(x, loc=0, scale=1):
    """1 - cdf: the probability of a larger value."""
    x, loc, scale = promote_args_inexact("norm.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


def logsf(x, loc=0, scale=1):
    """log(1 - cdf)."""
    x, loc, scale = promote_args_inexact("norm.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


def ppf(q, loc=0, scale=1):
    """The inverse of cdf."""
    return jnp.asarray(special.ndtri(q) * scale + loc, float)


def isf(q, loc=0, scale=1):
    """The inverse of sf."""
    return ppf(1 - q, loc, scale)
