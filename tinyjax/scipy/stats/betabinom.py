"""The beta-binomial distribution: binomial, with a probability that is beta-distributed."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of
from tinyjax.transforms.subprogram import subprogram


@subprogram
def logpmf(k, n, a, b, loc=0):
    """The logarithm of the probability of k."""
    k, n, a, b, loc = promote_args_inexact("betabinom.logpmf", k, n, a, b, loc)
    y = jnp.floor(k) - loc
    one, zero = const(y, 1), const(y, 0)
    ways = -(jnp.log1p(n) + special.betaln(n - y + one, y + one))
    value = ways + (special.betaln(y + a, n - y + b) - special.betaln(a, b))
    value = jnp.where((y == zero) & (n == zero), 0.0, value)
    value = jnp.where((y < -loc) | (y > n) | (y + a <= zero), -np.inf, value)
    return jnp.where((n < zero) | (a <= zero) | (b <= zero), np.nan, value)


pmf = exp_of(logpmf, "pmf")
