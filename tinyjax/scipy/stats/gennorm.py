"""The generalized normal distribution: density proportional to exp(-|x|**beta)."""

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, beta):
    """The logarithm of the density at x."""
    x, beta = promote_args_inexact("gennorm.logpdf", x, beta)
    return jnp.log(0.5 * beta) - lax.lgamma(1 / beta) - jnp.abs(x) ** beta


pdf = exp_of(logpdf, "pdf")


def cdf(x, beta):
    """The probability of a value up to x."""
    x, beta = promote_args_inexact("gennorm.cdf", x, beta)
    return 0.5 * (1 + jnp.sign(x) * lax.igamma(1 / beta, jnp.abs(x) ** beta))
