"""Student's t distribution with df degrees of freedom."""

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, df, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, df, loc, scale = promote_args_inexact("t.logpdf", x, df, loc, scale)
    two = const(x, 2)
    y, half = (x - loc) / scale, df / two
    more = half + const(x, 0.5)
    width = jnp.log(scale * scale * const(x, np.pi) * df) / two
    normalizer = lax.lgamma(half) + width - lax.lgamma(more)
    return -(normalizer + more * jnp.log1p(y * y / df))


pdf = exp_of(logpdf, "pdf")
