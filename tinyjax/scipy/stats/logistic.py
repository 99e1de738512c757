"""The logistic distribution, whose cdf is the sigmoid."""

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy import special


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, loc, scale = promote_args_inexact("logistic.logpdf", x, loc, scale)
    half = (x - loc) / scale / 2
    return -2 * jnp.logaddexp(half, -half) - jnp.log(scale)


def pdf(x, loc=0, scale=1):
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x, loc=0, scale=1):
    """The probability of a value up to x."""
    x, loc, scale = promote_args_inexact("logistic.cdf", x, loc, scale)
    return special.expit((x - loc) / scale)
