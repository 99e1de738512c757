"""The binomial distribution: how many of n trials with probability p succeed."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of


def logpmf(k, n, p, loc=0):
    """The logarithm of the probability of k."""
    k, n, p, loc = promote_args_inexact("binom.logpmf", k, n, p, loc)
    y = k - loc
    zero = const(y, 0)
    ways = special.gammaln(n + 1) - (special.gammaln(y + 1) + special.gammaln(n - y + 1))
    terms = special.xlogy(y, p) + special.xlog1py(n - y, -p)
    value = ways + terms
    value = jnp.where(((y == zero) & (n == zero)) | (terms == zero), 0.0, value)
    return jnp.where((k >= loc) & (k < loc + n + 1), value, -np.inf)


pmf = exp_of(logpmf, "pmf")
