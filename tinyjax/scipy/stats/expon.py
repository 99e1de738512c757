"""The exponential distribution: waiting times with mean scale, from loc on."""

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, loc, scale = promote_args_inexact("expon.logpdf", x, loc, scale)
    value = -(x - loc) / scale - jnp.log(scale)
    return jnp.where(x < loc, -jnp.inf, value)


def pdf(x, loc=0, scale=1):
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x, loc=0, scale=1):
    """The probability of a value up to x."""
    x, loc, scale = promote_args_inexact("expon.cdf", x, loc, scale)
    return jnp.where(x < loc, 0, -jnp.expm1(-(x - loc) / scale))
