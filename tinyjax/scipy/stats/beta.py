"""The beta distribution on [loc, loc + scale] with shapes a and b."""

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.scipy import special


def logpdf(x, a, b, loc=0, scale=1):
    """The logarithm of the density at x."""
    x, a, b, loc, scale = promote_args_inexact("beta.logpdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    normalizer = -(special.betaln(a, b) + jnp.log(scale))
    value = normalizer + special.xlogy(a - 1, y) + special.xlog1py(b - 1, -y)
    return jnp.where((y < 0) | (y > 1), -jnp.inf, value)


def pdf(x, a, b, loc=0, scale=1):
    """The density at x."""
    return jnp.exp(logpdf(x, a, b, loc, scale))
