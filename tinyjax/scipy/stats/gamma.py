"""The gamma distribution with shape a."""

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of, log_of


def logpdf(x, a, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, a, loc, scale = promote_args_inexact("gamma.logpdf", x, a, loc, scale)
    inside = x >= loc
    one = const(x, 1)
    y = jnp.where(inside, (x - loc) / scale, one)
    value = special.xlogy(a - one, y) - y - (special.gammaln(a) + jnp.log(scale))
    return jnp.where(inside, value, -np.inf)


pdf = exp_of(logpdf, "pdf")


def cdf(x, a, loc=0, scale=1):
    """The probability of a value up to x."""
    x, a, loc, scale = promote_args_inexact("gamma.cdf", x, a, loc, scale)
    return special.gammainc(a, lax.clamp(const(x, 0), (x - loc) / scale, const(x, np.inf)))


def sf(x, a, loc=0, scale=1):
    """1 - cdf: the probability of a larger value."""
    x, a, loc, scale = promote_args_inexact("gamma.sf", x, a, loc, scale)
    y = (x - loc) / scale
    return jnp.where(y < const(y, 0), 1, special.gammaincc(a, y))


logcdf = log_of(cdf, "logcdf")
logsf = log_of(sf, "logsf")
