"""The Cauchy distribution wrapped around the circle, with parameter c."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, c):
    """The logarithm of the density at x."""
    x, c = promote_args_inexact("wrapcauchy.logpdf", x, c)
    below = jnp.log(1 + c * c - 2 * c * jnp.cos(x))
    value = jnp.log(1 - c * c) - jnp.log(2 * np.pi) - below
    value = jnp.where((x >= 0) & (x <= np.pi * 2), value, -np.inf)
    return jnp.where((c > 0) & (c < 1), value, np.nan)


pdf = exp_of(logpdf, "pdf")
