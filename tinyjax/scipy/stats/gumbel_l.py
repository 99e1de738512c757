"""The Gumbel distribution of minima, whose long tail is on the left."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, loc, scale = promote_args_inexact("gumbel_l.logpdf", x, loc, scale)
    valid = scale > const(scale, 0)
    z = (x - loc) / scale
    value = special.xlogy(-1, scale) + (z - jnp.exp(z))
    return jnp.where(valid, value, np.nan)


pdf = exp_of(logpdf, "pdf")


def logcdf(x, loc=0, scale=1):
    """log(cdf)."""
    x, loc, scale = promote_args_inexact("gumbel_l.logcdf", x, loc, scale)
    valid = scale > const(scale, 0)
    value = jnp.log(-jnp.expm1(-jnp.exp((x - loc) / scale)))
    return jnp.where(valid, value, np.nan)


cdf = exp_of(logcdf, "cdf")


def ppf(p, loc=0, scale=1):
    """The inverse of cdf."""
    p, loc, scale = promote_args_inexact("gumbel_l.ppf", p, loc, scale)
    valid = (p > const(p, 0)) & (p < const(p, 1))
    value = loc + scale * jnp.log(special.xlog1py(-1, -p))
    return jnp.where(valid, value, np.nan)


def logsf(x, loc=0, scale=1):
    """log(1 - cdf)."""
    x, loc, scale = promote_args_inexact("gumbel_l.logsf", x, loc, scale)
    valid = scale > const(scale, 0)
    return jnp.where(valid, -jnp.exp((x - loc) / scale), np.nan)


sf = exp_of(logsf, "sf")
