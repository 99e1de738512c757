"""The gamma distribution with shape a."""

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy import special


def logpdf(x, a, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, a, loc, scale = promote_args_inexact("gamma.logpdf", x, a, loc, scale)
    y = (x - loc) / scale
    normalizer = special.gammaln(a) + jnp.log(scale)
    value = special.xlogy(a - 1, jnp.where(y > 0, y, 1)) - y - normalizer
    return jnp.where(y >= 0, value, -jnp.inf)


def pdf(x, a, loc=0, scale=1):
    """The density at x."""
    return jnp.exp(logpdf(x, a, loc, scale))
