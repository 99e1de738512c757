"""Student's t distribution with df degrees of freedom."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, df, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, df, loc, scale = promote_args_inexact("t.logpdf", x, df, loc, scale)
    y, half = (x - loc) / scale, df / 2
    width = jnp.log(scale * scale * np.pi * df) / 2
    normalizer = special.gammaln(half) + width - special.gammaln(half + 0.5)
    return -(normalizer + (half + 0.5) * jnp.log1p(y * y / df))


pdf = exp_of(logpdf, "pdf")
