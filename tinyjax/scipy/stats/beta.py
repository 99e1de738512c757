"""The beta distribution with parameters a and b, on [0, 1]."""

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of, log_of


def logpdf(x, a, b, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, a, b, loc, scale = promote_args_inexact("beta.logpdf", x, a, b, loc, scale)
    one, zero = const(x, 1), const(a, 0)
    normalizer = -special.betaln(a, b)
    y = (x - loc) / scale
    terms = special.xlogy(a - one, y) + special.xlog1py(b - one, -y)
    value = normalizer + terms - jnp.log(scale)
    value = jnp.where((x > loc + scale) | (x < loc), -np.inf, value)
    return jnp.where((a <= zero) | (b <= zero) | (scale <= zero), np.nan, value)


pdf = exp_of(logpdf, "pdf")


def unit(x, loc, scale):
    """x on the interval [0, 1], with the ends for all beyond."""
    zero, y, one = const(x, 0), (x - loc) / scale, const(x, 1)
    return lax.clamp(zero, y, one)


def cdf(x, a, b, loc=0, scale=1):
    """The probability of a value up to x."""
    x, a, b, loc, scale = promote_args_inexact("beta.cdf", x, a, b, loc, scale)
    return special.betainc(a, b, unit(x, loc, scale))


def sf(x, a, b, loc=0, scale=1):
    """1 - cdf: the probability of a larger value."""
    x, a, b, loc, scale = promote_args_inexact("beta.sf", x, a, b, loc, scale)
    return special.betainc(b, a, 1 - unit(x, loc, scale))


logcdf = log_of(cdf, "logcdf")
logsf = log_of(sf, "logsf")
