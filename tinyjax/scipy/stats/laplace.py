"""The Laplace distribution."""

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, loc, scale = promote_args_inexact("laplace.logpdf", x, loc, scale)
    return -(jnp.abs(x - loc) / scale + jnp.log(const(x, 2) * scale))


pdf = exp_of(logpdf, "pdf")


def cdf(x, loc=0, scale=1):
    """The probability of a value up to x."""
    x, loc, scale = promote_args_inexact("laplace.cdf", x, loc, scale)
    distance = (x - loc) / scale
    half, one, inside = const(x, 0.5), const(x, 1), distance <= const(x, 0)
    return lax.select(inside, half * jnp.exp(distance), one - half * jnp.exp(-distance))
