"""The uniform distribution on [loc, loc + scale]."""

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, loc, scale = promote_args_inexact("uniform.logpdf", x, loc, scale)
    inside = (x >= loc) & (x <= loc + scale)
    return jnp.where(inside, -jnp.log(scale), -jnp.inf)


def pdf(x, loc=0, scale=1):
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x, loc=0, scale=1):
    """The probability of a value up to x."""
    x, loc, scale = promote_args_inexact("uniform.cdf", x, loc, scale)
    return jnp.clip((x - loc) / scale, 0, 1)
