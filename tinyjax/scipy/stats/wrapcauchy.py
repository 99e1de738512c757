"""The Cauchy distribution wrapped around the circle, with parameter c."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, c):
    """The logarithm of the density at x."""
    x, c = promote_args_inexact("wrapcauchy.logpdf", x, c)
    valid = (c > const(c, 0)) & (c < const(c, 1))
    inside = (x >= const(x, 0)) & (x <= const(x, np.pi * 2))
    value = jnp.log(1 - c * c) - jnp.log(2 * np.pi)
    value = value - jnp.log(1 + c * c - 2 * c * jnp.cos(x))
    return jnp.where(valid, jnp.where(inside, value, -np.inf), np.nan)


pdf = exp_of(logpdf, "pdf")
