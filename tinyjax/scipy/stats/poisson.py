"""The Poisson distribution: counts with mean mu."""

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy import special


def logpmf(k, mu, loc=0):
    """The logarithm of the probability of x."""
    k, mu, loc = promote_args_inexact("poisson.logpmf", k, mu, loc)
    n = k - loc
    value = special.xlogy(n, mu) - special.gammaln(n + 1) - mu
    return jnp.where((n >= 0) & (jnp.floor(n) == n), value, -jnp.inf)


def pmf(k, mu, loc=0):
    """The probability of x."""
    return jnp.exp(logpmf(k, mu, loc))
