"""Random vectors and matrices: multivariate normal, orthogonal, uniform in a ball."""

from operator import index

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.numpy import abs as absolute
from tinyjax.numpy import einsum, expand_dims, linalg, sign, sqrt
from tinyjax.numpy.checks import concrete_or_error
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.primitives.linear import canonicalize_shape
from tinyjax.random.continuous import generalized_normal
from tinyjax.random.distributions import exponential, normal
from tinyjax.random.draws import draws
from tinyjax.random.keys import typed
from tinyjax.random.program import program
from tinyjax.random.uniform import check_float_dtype, check_shape, two_keys

METHODS = ("cholesky", "eigh", "svd")

# ---- normal -------------------------------------------------------------------------------------


@draws
def multivariate_normal(
    key, mean, cov, shape=None, dtype=None, method="cholesky", *, out_sharding=None
):
    """Normal vectors with given mean and covariance.

    Args:
      key: a key.
      mean: vectors [..., n].
      cov: symmetric, positive semidefinite matrices [..., n, n].
      shape: of the batch: the result has shape (*shape, n). By default what the axes of mean and
        cov before the last ones broadcast to.
      dtype: a float dtype; by default that of mean and cov.
      method: how cov is factorized: "cholesky" (the fastest), "eigh" or "svd", which also take
        matrices that are not positive definite.

    Raises ValueError for another method, dtype or shapes that do not fit.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.random.multivariate_normal(jax.random.key(0), jnp.zeros(3), jnp.eye(3), (5,)).shape
    (5, 3)
    """
    key, _ = typed("multivariate_normal", key)
    mean, cov = promote_dtypes_inexact(mean, cov)
    if method not in METHODS:
        raise ValueError("method must be one of {'svd', 'eigh', 'cholesky'}")
    dtype = check_float_dtype("multivariate_normal", mean.dtype if dtype is None else dtype)
    shape = None if shape is None else canonicalize_shape(shape)
    return _multivariate_normal(key, mean, cov, shape=shape, dtype=dtype, method=method)


@program("shape", "dtype", "method")
def _multivariate_normal(key, mean, cov, shape, dtype, method):
    """multivariate_normal with checked arguments: a root of the covariance, times normal ones."""
    if mean.ndim < 1:
        raise ValueError("multivariate_normal requires mean.ndim >= 1, got mean.ndim == 0")
    if cov.ndim < 2:
        raise ValueError(f"multivariate_normal requires cov.ndim >= 2, got cov.ndim == {cov.ndim}")
    n = mean.shape[-1]
    if cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but got "
            f"cov.shape == {cov.shape}."
        )
    batches = mean.shape[:-1], cov.shape[:-2]
    if shape is None:
        shape = np.broadcast_shapes(*batches)
    else:
        check_shape("normal", shape, *[np.broadcast_to(0, b) for b in batches])
    root = square_root(cov, method)
    sample = normal(key, (*shape, n), dtype)
    return mean + einsum("...ij,...j->...i", root, sample)


def square_root(cov, method):
    """A matrix whose product with its transpose is cov."""
    if method == "cholesky":
        return linalg.cholesky(cov)
    if method == "eigh":
        values, vectors = linalg.eigh(cov)
    else:
        vectors, values, _ = linalg.svd(cov)
    return vectors * sqrt(values[..., None, :])


# ---- others -------------------------------------------------------------------------------------


@draws
def orthogonal(key, n, shape=(), dtype=None, m=None, *, out_sharding=None):
    """Orthogonal (or unitary) matrices, uniformly distributed among all.

    Args:
      key: a key.
      n, m: the numbers of rows and columns, integers; by default m = n.
      shape: of the batch: the result has shape (*shape, n, m).
      dtype: a float or complex dtype; by default float32.

    Returns matrices with orthonormal columns, or rows if there are less of these.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> q = jax.random.orthogonal(jax.random.key(0), 3)
    >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-6))
    True
    """
    shape = canonicalize_shape(shape)
    key, _ = typed("orthogonal", key)
    dtype = dtypes.check_user_dtype_supported(float if dtype is None else dtype, "orthogonal")
    where = "The error occurred in jax.random.orthogonal()"
    n, m = (concrete_or_error(index, v, where) for v in (n, n if m is None else m))
    return _orthogonal(key, shape=shape, dtype=dtype, n=n, _m=m)


@program("n", "_m", "shape", "dtype")
def _orthogonal(key, shape, dtype, n, _m):
    """orthogonal with checked arguments: the Q of normal matrices, with the signs of R's diagonal.
    (Mezzadri, "How to generate random matrices from the classical compact groups", 2007.)"""
    z = normal(key, (*shape, max(n, _m), min(n, _m)), dtype)
    q, r = linalg.qr(z)
    x = q * expand_dims(sign(linalg.diagonal(r)), -2)
    return x.mT if n < _m else x


@draws
def ball(key, d, p=2, shape=(), dtype=None, *, out_sharding=None):
    """Points of the unit ball of the p-norm, uniformly.

    Args:
      key: a key.
      d: the dimension, an integer.
      p: a positive number.
      shape: of the batch of points: the result has shape (*shape, d).
      dtype: a float dtype; by default float32.
    """
    shape = canonicalize_shape(shape)
    key, _ = typed("ball", key)
    dtype = dtypes.check_user_dtype_supported(float if dtype is None else dtype, "ball")
    d = concrete_or_error(index, d, "The error occurred in jax.random.ball()")
    return _ball(key, p, d=d, shape=shape, dtype=dtype)


@program("d", "shape", "dtype")
def _ball(key, p, d, shape, dtype):
    """ball with checked arguments. (Barthe, Guédon, Mendelson and Naor, 2005.)"""
    key_g, key_e = two_keys(key)
    p = lift(p)
    g = generalized_normal(key_g, p, (*shape, d), dtype)
    e = exponential(key_e, shape, dtype)
    length = ((absolute(g) ** p).sum(-1) + e) ** (1 / p)
    return g / length[..., None]
