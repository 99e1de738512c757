"""The Dirichlet distribution of positive numbers that sum to 1."""

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.scipy import special
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, alpha):
    """The logarithm of the density.

    Args:
      x: numbers [n, ...] that sum to 1 along the first axis, or all of them but the last one.
      alpha: positive parameters [n].

    Returns an array of shape x.shape[1:], -inf where numbers are not positive or do not sum to 1.

    Raises ValueError when the sizes do not fit.
    """
    x, alpha = promote_dtypes_inexact(x, alpha)
    if alpha.ndim != 1:
        raise ValueError(f"`alpha` must be one-dimensional; got alpha.shape={alpha.shape}")
    if x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(
            "`x` must have either the same number of entries as `alpha` or one entry fewer; got "
            f"x.shape={x.shape}, alpha.shape={alpha.shape}"
        )
    if x.shape[0] != alpha.shape[0]:
        x = jnp.concatenate([x, 1 - x.sum(0, keepdims=True)], axis=0)
    normalizer = jnp.sum(special.gammaln(alpha)) - special.gammaln(jnp.sum(alpha))
    alpha = alpha.reshape(alpha.shape + (1,) * (x.ndim - 1))
    value = jnp.sum(special.xlogy(alpha - 1, x), axis=0) - normalizer
    on_simplex = jnp.all(x > 0, axis=0) & (abs(jnp.sum(x, axis=0) - 1) < 1e-6)
    return jnp.where(on_simplex, value, -np.inf)


pdf = exp_of(logpdf, "pdf")
