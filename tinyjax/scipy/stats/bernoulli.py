"""The Bernoulli distribution: 1 with probability p, 0 otherwise."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import const, promote_args_inexact
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of


def logpmf(k, p, loc=0):
    """The logarithm of the probability of k."""
    k, p, loc = promote_args_inexact("bernoulli.logpmf", k, p, loc)
    x = k - loc
    value = special.xlogy(x, p) + special.xlog1py(1 - x, -p)
    return jnp.where((x < 0) | (x > 1), -np.inf, value)


pmf = exp_of(logpmf, "pmf")


def cdf(k, p):
    """The probability of a value up to x."""
    k, p = promote_args_inexact("bernoulli.cdf", k, p)
    zero, one = const(k, 0), const(k, 1)
    invalid = jnp.isnan(k) | jnp.isnan(p) | (p < 0) | (p > 1)
    return jnp.select([invalid, k < 0, (k >= 0) & (k < 1), k >= 1], [jnp.nan, zero, one - p, one])


def ppf(q, p):
    """The inverse of cdf."""
    q, p = promote_args_inexact("bernoulli.ppf", q, p)
    invalid = jnp.isnan(q) | jnp.isnan(p) | (p < 0) | (p > 1) | (q < 0) | (q > 1)
    return jnp.where(invalid, jnp.nan, jnp.where(q <= 1 - p, const(q, 0), const(q, 1)))
