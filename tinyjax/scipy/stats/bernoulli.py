"""The Bernoulli distribution: 1 with probability p, 0 otherwise."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of


def logpmf(k, p, loc=0):
    """The logarithm of the probability of k."""
    k, p, loc = promote_args_inexact("bernoulli.logpmf", k, p, loc)
    zero, one = const(k, 0), const(k, 1)
    x = k - loc
    value = special.xlogy(x, p) + special.xlog1py(one - x, -p)
    return jnp.where((x < zero) | (x > one), -np.inf, value)


pmf = exp_of(logpmf, "pmf")


def cdf(k, p):
    """The probability of a value up to x."""
    k, p = promote_args_inexact("bernoulli.cdf", k, p)
    zero, one = const(k, 0), const(k, 1)
    invalid = jnp.isnan(k) | jnp.isnan(p) | (p < zero) | (p > one)
    conditions = [invalid, k < zero, (k >= zero) & (k < one), k >= one]
    return jnp.select(conditions, [jnp.nan, zero, one - p, one])


def ppf(q, p):
    """The inverse of cdf."""
    q, p = promote_args_inexact("bernoulli.ppf", q, p)
    zero, one = const(q, 0), const(q, 1)
    invalid = jnp.isnan(q) | jnp.isnan(p) | (p < zero) | (p > one) | (q < zero) | (q > one)
    return jnp.where(invalid, jnp.nan, jnp.where(q <= one - p, zero, one))
