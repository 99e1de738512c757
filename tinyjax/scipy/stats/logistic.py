"""The logistic distribution."""

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, loc, scale = promote_args_inexact("logistic.logpdf", x, loc, scale)
    two = const(x, 2)
    half = (x - loc) / scale / two
    return -two * jnp.logaddexp(half, -half) - jnp.log(scale)


pdf = exp_of(logpdf, "pdf")


def cdf(x, loc=0, scale=1):
    """The probability of a value up to x."""
    x, loc, scale = promote_args_inexact("logistic.cdf", x, loc, scale)
    return special.expit((x - loc) / scale)


def sf(x, loc=0, scale=1):
    """1 - cdf: the probability of a larger value."""
    x, loc, scale = promote_args_inexact("logistic.sf", x, loc, scale)
    return special.expit(-((x - loc) / scale))


def ppf(x, loc=0, scale=1):
    """The inverse of cdf."""
    x, loc, scale = promote_args_inexact("logistic.ppf", x, loc, scale)
    return special.logit(x) * scale + loc


def isf(x, loc=0, scale=1):
    """The inverse of sf."""
    x, loc, scale = promote_args_inexact("logistic.isf", x, loc, scale)
    return -special.logit(x) * scale + loc
