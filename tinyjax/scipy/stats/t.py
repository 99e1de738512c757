"""Student's t distribution with df degrees of freedom."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy import special


def logpdf(x, df, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, df, loc, scale = promote_args_inexact("t.logpdf", x, df, loc, scale)
    y = (x - loc) / scale
    half = df / 2
    normalizer = special.gammaln(half) - special.gammaln(half + 0.5)
    normalizer = normalizer + 0.5 * jnp.log(df * np.pi) + jnp.log(scale)
    return -(normalizer + (df + 1) / 2 * jnp.log1p(y * y / df))


def pdf(x, df, loc=0, scale=1):
    """The density at x."""
    return jnp.exp(logpdf(x, df, loc, scale))
