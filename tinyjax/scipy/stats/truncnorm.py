"""The normal distribution between a and b, which count standard deviations from loc."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy import special
from tinyjax.scipy.stats import norm
from tinyjax.scipy.stats.derived import exp_of
from tinyjax.transforms.subprogram import subprogram


def log_difference(x, y):
    """log(exp(x) - exp(y))."""
    logs = jnp.array([x, y])
    signs = jnp.array([jnp.ones_like(x), -jnp.ones_like(y)])
    return special.logsumexp(logs, b=signs, axis=0)


def log_mass(a, b):
    """The logarithm of the normal distribution's probability of [a, b]."""
    a, b = jnp.broadcast_arrays(jnp.array(a), jnp.array(b))
    left, right = b <= 0, a > 0
    central = ~(left | right)
    low, high = jnp.where(right, -b, a), jnp.where(right, -a, b)  # on the side with small numbers
    tail = log_difference(special.log_ndtr(high), special.log_ndtr(low))
    return jnp.where(central, jnp.log1p(-special.ndtr(a) - special.ndtr(-b)), tail)


@subprogram
def logpdf(x, a, b, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, a, b, loc, scale = promote_args_inexact("truncnorm.logpdf", x, a, b, loc, scale)
    value = norm.logpdf(x, loc, scale) - log_mass(a, b)
    y = (x - loc) / scale
    value = jnp.where((y < a) | (y > b), -np.inf, value)
    return jnp.where(a >= b, np.nan, value)


pdf = exp_of(logpdf, "pdf")


@subprogram
def logcdf(x, a, b, loc=0, scale=1):
    """log(cdf)."""
    x, a, b, loc, scale = promote_args_inexact("truncnorm.logcdf", x, a, b, loc, scale)
    x, a, b = jnp.broadcast_arrays(x, a, b)
    x = (x - loc) / scale
    whole = log_mass(a, b)
    left, right = log_mass(a, x) - whole, log_mass(x, b) - whole
    conditions = [x >= b, x <= a, left > -0.1, x > a]
    value = jnp.select(conditions, [0, -np.inf, jnp.log1p(-jnp.exp(right)), left])
    return jnp.where(a >= b, np.nan, value)


cdf = exp_of(logcdf, "cdf")


@subprogram
def logsf(x, a, b, loc=0, scale=1):
    """log(1 - cdf)."""
    x, a, b, loc, scale = promote_args_inexact("truncnorm.logsf", x, a, b, loc, scale)
    return logcdf(-x, -b, -a, -loc, scale)


sf = exp_of(logsf, "sf")
