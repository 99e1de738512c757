"""The geometric distribution: the number of the first trial that succeeds."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of


def logpmf(k, p, loc=0):
    """The logarithm of the probability of k."""
    k, p, loc = promote_args_inexact("geom.logpmf", k, p, loc)
    x = k - loc
    value = special.xlog1py(x - const(k, 1), -p) + jnp.log(p)
    return jnp.where(x <= const(k, 0), -np.inf, value)


pmf = exp_of(logpmf, "pmf")
