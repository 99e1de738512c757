"""The Bernoulli distribution: 1 with probability p, else 0."""

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy import special


def logpmf(k, p, loc=0):
    """The logarithm of the probability of x."""
    k, p, loc = promote_args_inexact("bernoulli.logpmf", k, p, loc)
    shifted = k - loc
    value = special.xlogy(shifted, p) + special.xlog1py(1 - shifted, -p)
    return jnp.where((shifted == 0) | (shifted == 1), value, -jnp.inf)


def pmf(k, p, loc=0):
    """The probability of x."""
    return jnp.exp(logpmf(k, p, loc))
