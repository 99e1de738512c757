"""The uniform distribution on [loc, loc + scale]."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, loc, scale = promote_args_inexact("uniform.logpdf", x, loc, scale)
    value = -jnp.log(scale)
    return jnp.where((x > loc + scale) | (x < loc), -np.inf, value)


pdf = exp_of(logpdf, "pdf")


def cdf(x, loc=0, scale=1):
    """The probability of a value up to x."""
    x, loc, scale = promote_args_inexact("uniform.cdf", x, loc, scale)
    conditions = [x < loc, x > loc + scale, (x >= loc) & (x <= loc + scale)]
    zero, one = jnp.array(0, x.dtype), jnp.array(1, x.dtype)
    return jnp.select(conditions, [zero, one, (x - loc) / scale])


def ppf(q, loc=0, scale=1):
    """The inverse of cdf."""
    q, loc, scale = promote_args_inexact("uniform.ppf", q, loc, scale)
    invalid = jnp.isnan(q) | (q < 0) | (q > 1)
    return jnp.where(invalid, np.nan, loc + scale * q)
