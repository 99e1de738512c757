"""The Pareto distribution with exponent b, on [1, inf)."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, b, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, b, loc, scale = promote_args_inexact("pareto.logpdf", x, b, loc, scale)
    y = (x - loc) / scale
    value = -(jnp.log(scale / b) + (b + const(x, 1)) * jnp.log(y))
    return jnp.where(x < loc + scale, -np.inf, value)


pdf = exp_of(logpdf, "pdf")


def cdf(x, b, loc=0, scale=1):
    """The probability of a value up to x."""
    x, b, loc, scale = promote_args_inexact("pareto.cdf", x, b, loc, scale)
    value = const(x, 1) - ((x - loc) / scale) ** -b
    return jnp.where(x < loc + scale, const(x, 0), value)


def logcdf(x, b, loc=0, scale=1):
    """log(cdf)."""
    x, b, loc, scale = promote_args_inexact("pareto.logcdf", x, b, loc, scale)
    value = jnp.log1p(-(((x - loc) / scale) ** -b))
    return jnp.where(x < loc + scale, -np.inf, value)


def logsf(x, b, loc=0, scale=1):
    """log(1 - cdf)."""
    x, b, loc, scale = promote_args_inexact("pareto.logsf", x, b, loc, scale)
    value = -(b * jnp.log((x - loc) / scale))
    return jnp.where(x < loc + scale, const(x, 0), value)


sf = exp_of(logsf, "sf")


def ppf(q, b, loc=0, scale=1):
    """The inverse of cdf."""
    q, b, loc, scale = promote_args_inexact("pareto.ppf", q, b, loc, scale)
    one = const(q, 1)
    value = loc + scale * (one - q) ** -(one / b)
    invalid = jnp.isnan(q) | (q < 0) | (q > 1)
    return jnp.where(invalid, np.nan, value)
