"""The Poisson distribution with mean mu."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.promotion import promote_args_inexact, promote_dtypes_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of
from tinyjax.transforms.subprogram import subprogram


def logpmf(k, mu, loc=0):
    """The logarithm of the probability of k."""
    k, mu, loc = promote_args_inexact("poisson.logpmf", k, mu, loc)
    x = k - loc
    value = special.xlogy(x, mu) - special.gammaln(x + 1) - mu
    return jnp.where((x < const(k, 0)) | (jnp.round(k) != k), -np.inf, value)


pmf = exp_of(logpmf, "pmf")


def cdf(k, mu, loc=0):
    """The probability of a value up to x."""
    k, mu, loc = promote_args_inexact("poisson.logpmf", k, mu, loc)
    x = k - loc
    zero, value = const(k, 0), special.gammaincc(jnp.floor(1 + x), mu)
    return jnp.where(x < zero, zero, value)


@subprogram
def entropy(mu, loc=0):
    """The entropy, in nats: a sum over the likely values, or for mu >= 100 an expansion in 1/mu."""
    mu, loc = promote_dtypes_inexact(*ensure_arraylike("poisson.entropy", mu, loc))
    small = summed_entropy(mu, 35, mu + 20)
    medium = summed_entropy(mu, 250, mu + 10 * jnp.sqrt(mu) + 20)
    large = 0.5 * jnp.log(2 * np.pi * np.e * mu) - 1 / (12 * mu)
    out = jnp.where(mu < 10, small, jnp.where(mu < 100, medium, large))
    out = jnp.where(mu == 0, jnp.zeros_like(mu), out)
    return jnp.broadcast_to(out, jnp.broadcast_shapes(mu.shape, loc.shape))


def summed_entropy(mu, count, end):
    """The entropy of the values 0 ... count - 1 that are below an end."""
    k = jnp.arange(count, dtype=mu.dtype).reshape(-1, *[1] * mu.ndim)
    likely = jnp.where(k < jnp.ceil(end), pmf(k, mu), 0.0)
    return jnp.sum(special.entr(likely), axis=0)
