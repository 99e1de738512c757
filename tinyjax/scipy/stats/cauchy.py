"""The Cauchy distribution."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy.stats.derived import exp_of, log_of


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, loc, scale = promote_args_inexact("cauchy.logpdf", x, loc, scale)
    y = (x - loc) / scale
    return -(jnp.log(const(x, np.pi) * scale) + jnp.log1p(y * y))


pdf = exp_of(logpdf, "pdf")


def cdf(x, loc=0, scale=1):
    """The probability of a value up to x."""
    x, loc, scale = promote_args_inexact("cauchy.cdf", x, loc, scale)
    y = (x - loc) / scale
    return const(x, 0.5) + const(x, 1) / const(x, np.pi) * jnp.arctan(y)


logcdf = log_of(cdf, "logcdf")


def sf(x, loc=0, scale=1):
    """1 - cdf: the probability of a larger value."""
    x, loc, scale = promote_args_inexact("cauchy.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


logsf = log_of(sf, "logsf")


def ppf(q, loc=0, scale=1):
    """The inverse of cdf."""
    q, loc, scale = promote_args_inexact("cauchy.ppf", q, loc, scale)
    return jnp.tan(const(q, np.pi) * q - const(q, np.pi / 2)) * scale + loc


def isf(q, loc=0, scale=1):
    """The inverse of sf."""
    q, loc, scale = promote_args_inexact("cauchy.isf", q, loc, scale)
    return jnp.tan(const(q, np.pi / 2) - const(q, np.pi) * q) * scale + loc
