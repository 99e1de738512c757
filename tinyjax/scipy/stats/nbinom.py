"""The negative binomial distribution: how many trials fail before n succeed."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of


def logpmf(k, n, p, loc=0):
    """The logarithm of the probability of k."""
    k, n, p, loc = promote_args_inexact("nbinom.logpmf", k, n, p, loc)
    one, y = const(k, 1), k - loc
    ways = special.gammaln(y + n) - special.gammaln(n) - special.gammaln(y + one)
    value = ways + (special.xlogy(n, p) + special.xlogy(y, one - p))
    return jnp.where(k < loc, -np.inf, value)


pmf = exp_of(logpmf, "pmf")
