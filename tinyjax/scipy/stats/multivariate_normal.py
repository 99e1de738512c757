"""The normal distribution of vectors."""

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_dtypes_inexact


def logpdf(x, mean, cov, allow_singular=None):
    """The logarithm of the density at vectors x.

    Args:
      x: vectors [..., n].
      mean: a vector; cov: a matrix, or a number times the identity.
      allow_singular: not supported.
    """
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf")
    x, mean, cov = promote_dtypes_inexact(x, mean, cov)
    if mean.ndim == 0:
        normalizer = jnp.log(2 * np.pi * cov)
        return -0.5 * (jnp.square(x - mean) / cov + normalizer)
    n = mean.shape[-1]
    if cov.ndim == 0:
        y = x - mean
        return -0.5 * jnp.einsum("...i,...i->...", y, y) / cov - n / 2 * jnp.log(2 * np.pi * cov)
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError("multivariate_normal.logpdf got incompatible shapes")
    root = lax.linalg.cholesky(cov)
    y = jnp.vectorize(whiten, signature="(n,n),(n)->(n)")(root, x - mean)
    logs = jnp.log(jnp.diagonal(root, axis1=-1, axis2=-2)).sum(-1)
    return -0.5 * jnp.einsum("...i,...i->...", y, y) - n / 2 * np.log(2 * np.pi) - logs


def whiten(root, y):
    """root^-1 @ y."""
    return lax.linalg.triangular_solve(root, y[:, None], lower=True, left_side=True)[:, 0]


def pdf(x, mean, cov):
    """The density at vectors x."""
    return jnp.exp(logpdf(x, mean, cov))
