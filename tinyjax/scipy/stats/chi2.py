"""The chi-squared distribution with df degrees of freedom."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy import special


def logpdf(x, df, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, df, loc, scale = promote_args_inexact("chi2.logpdf", x, df, loc, scale)
    y = (x - loc) / scale
    half = df / 2
    normalizer = special.gammaln(half) + half * np.log(2) + jnp.log(scale)
    value = (half - 1) * jnp.log(y) - y / 2 - normalizer
    return jnp.where(x >= loc, value, -jnp.inf)


def pdf(x, df, loc=0, scale=1):
    """The density at x."""
    return jnp.exp(logpdf(x, df, loc, scale))
