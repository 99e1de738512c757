"""The multinomial distribution: how often each category comes up in n trials."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact, promote_args_numeric
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of


def logpmf(x, n, p):
    """The logarithm of the probability of counts.

    Args:
      x: counts [..., categories], integers.
      n: the number of trials, an integer.
      p: the categories' probabilities.

    Raises ValueError when the counts are no integers.
    """
    (p,) = promote_args_inexact("multinomial.logpmf", p)
    x, n = promote_args_numeric("multinomial.logpmf", x, n)
    if x.dtype.kind not in "iu":
        raise ValueError(
            f"x and n must be of integer type; got x.dtype={x.dtype}, n.dtype={n.dtype}"
        )
    x, n = x.astype(p.dtype), n.astype(p.dtype)
    terms = special.xlogy(x, p) - special.gammaln(x + 1)
    value = special.gammaln(n + 1) + jnp.sum(terms, axis=-1)
    return jnp.where(jnp.sum(x) == n, value, -np.inf)


pmf = exp_of(logpmf, "pmf")
