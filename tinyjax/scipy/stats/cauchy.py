"""The Cauchy distribution, with tails so heavy that it has no mean."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, loc, scale = promote_args_inexact("cauchy.logpdf", x, loc, scale)
    scaled = (x - loc) / scale
    return -(jnp.log(np.pi * scale) + jnp.log1p(scaled * scaled))


def pdf(x, loc=0, scale=1):
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


def cdf(x, loc=0, scale=1):
    """The probability of a value up to x."""
    x, loc, scale = promote_args_inexact("cauchy.cdf", x, loc, scale)
    return jnp.arctan((x - loc) / scale) / np.pi + 0.5
