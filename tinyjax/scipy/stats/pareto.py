"""The Pareto distribution with exponent b."""

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact


def logpdf(x, b, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, b, loc, scale = promote_args_inexact("pareto.logpdf", x, b, loc, scale)
    y = (x - loc) / scale
    return jnp.where(y < 1, -jnp.inf, jnp.log(b / scale) - (b + 1) * jnp.log(y))


def pdf(x, b, loc=0, scale=1):
    """The density at x."""
    return jnp.exp(logpdf(x, b, loc, scale))
