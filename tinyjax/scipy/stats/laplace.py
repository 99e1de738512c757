"""The Laplace distribution: exponential on both sides of loc."""

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, loc, scale = promote_args_inexact("laplace.logpdf", x, loc, scale)
    return -(jnp.abs(x - loc) / scale + jnp.log(2 * scale))


def pdf(x, loc=0, scale=1):
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x, loc=0, scale=1):
    """The probability of a value up to x."""
    x, loc, scale = promote_args_inexact("laplace.cdf", x, loc, scale)
    distance = (x - loc) / scale
    half = 0.5 * jnp.exp(-jnp.abs(distance))
    return jnp.where(distance <= 0, half, 1 - half)
