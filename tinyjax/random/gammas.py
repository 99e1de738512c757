"""The gamma distribution and those that are made of it: beta, dirichlet, chisquare, t, f."""

import numpy as np

from tinyjax import lax
from tinyjax.nn.normalizing import softmax
from tinyjax.numpy import broadcast_to, exp, sqrt
from tinyjax.primitives.arithmetic import const
from tinyjax.primitives.linear import canonicalize_shape
from tinyjax.primitives.random_gamma import random_gamma_p
from tinyjax.random.distributions import _normal
from tinyjax.random.draws import draws
from tinyjax.random.keys import typed
from tinyjax.random.program import program
from tinyjax.random.uniform import check_float_dtype, check_shape, checked, two_keys

# ---- gamma --------------------------------------------------------------------------------------


@draws
def gamma(key, a, shape=None, dtype=None, *, out_sharding=None):
    """Gamma-distributed numbers: density x**(a-1) exp(-x) / gamma(a) for x > 0.

    Args:
      key: a key.
      a: the shape parameter, positive; a number or an array that broadcasts to the shape.
      shape: of the result; by default that of a.
      dtype: a float dtype; by default float32.

    The samples are differentiable in a (implicit reparameterization). They underflow for small a;
    loggamma does not.

    Raises ValueError for another dtype or shapes that do not broadcast.

    >>> import tinyjax as jax
    >>> x = jax.random.gamma(jax.random.key(0), 3.0, (10000,))
    >>> round(float(x.mean()), 1)
    3.0
    """
    key, _ = typed("gamma", key)
    dtype = check_float_dtype("gamma", dtype)
    shape = None if shape is None else canonicalize_shape(shape)
    return _gamma(key, a, shape=shape, dtype=dtype)


@draws
def loggamma(key, a, shape=None, dtype=None, *, out_sharding=None):
    """Logarithms of gamma-distributed numbers, exact for small a, too. See gamma."""
    key, _ = typed("loggamma", key)
    dtype = check_float_dtype("gamma", dtype)
    shape = None if shape is None else canonicalize_shape(shape)
    return _gamma(key, a, shape=shape, dtype=dtype, log_space=True)


@program("shape", "dtype", "log_space")
def _gamma(key, a, shape, dtype, log_space=False):
    """gamma and loggamma with checked arguments."""
    if shape is None:
        shape = np.shape(a)
    else:
        check_shape("gamma", shape, a)
    a = lax.convert_element_type(a, dtype)
    a = a if a.shape == shape else broadcast_to(a, shape)
    return random_gamma_p.bind(key, a, log_space=log_space)


# ---- fractions of gammas ------------------------------------------------------------------------


@draws
def beta(key, a, b, shape=None, dtype=None, *, out_sharding=None):
    """Beta-distributed numbers: density x**(a-1) (1-x)**(b-1) / beta(a, b) on [0, 1].

    Args:
      key: a key.
      a, b: positive parameters; numbers or arrays that broadcast to the shape.
      shape: of the result; by default what a and b broadcast to.
      dtype: a float dtype; by default float32.

    >>> import tinyjax as jax
    >>> round(float(jax.random.beta(jax.random.key(0), 2.0, 6.0, (10000,)).mean()), 2)
    0.25
    """
    key, shape, dtype = checked("beta", key, shape, dtype, a, b)
    return _beta(key, a, b, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _beta(key, a, b, shape, dtype):
    """beta with checked arguments: x / (x + y) for gammas x, y; the larger one is scaled to 1."""
    a, b = lax.convert_element_type(a, dtype), lax.convert_element_type(b, dtype)
    key_a, key_b = two_keys(key)
    a, b = broadcast_to(a, shape), broadcast_to(b, shape)
    log_x = loggamma(key_a, a, shape, dtype)
    log_y = loggamma(key_b, b, shape, dtype)
    largest = lax.max(log_x, log_y)
    x, y = exp(log_x - largest), exp(log_y - largest)
    return x / (x + y)


@draws
def dirichlet(key, alpha, shape=None, dtype=None, *, out_sharding=None):
    """Vectors of positive numbers that sum to one: normalized gamma-distributed numbers.

    Args:
      key: a key.
      alpha: positive parameters [..., n].
      shape: of the batch of vectors; the result has shape (*shape, n). By default alpha.shape[:-1].
      dtype: a float dtype; by default float32.

    Raises ValueError when alpha is a scalar.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.random.dirichlet(jax.random.key(0), jnp.ones(3), (5,)).shape
    (5, 3)
    """
    key, _ = typed("dirichlet", key)
    dtype = check_float_dtype("dirichlet", dtype)
    shape = None if shape is None else canonicalize_shape(shape)
    return _dirichlet(key, alpha, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _dirichlet(key, alpha, shape, dtype):
    """dirichlet with checked arguments."""
    if not np.ndim(alpha):
        raise ValueError("dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0")
    batch, n = np.shape(alpha)[:-1], np.shape(alpha)[-1:]
    if shape is None:
        shape = batch
    else:
        check_shape("dirichlet", shape, np.broadcast_to(0, batch))
    alpha = lax.convert_element_type(alpha, dtype)
    return softmax(loggamma(key, alpha, shape + n, dtype), -1)


# ---- of the theory of samples -------------------------------------------------------------------


@draws
def chisquare(key, df, shape=None, dtype=None, *, out_sharding=None):
    """Chi-square-distributed numbers: the sum of squares of df normal numbers.

    Args:
      key: a key.
      df: degrees of freedom, positive; a number or an array that broadcasts to the shape.
      shape: of the result; by default that of df.
      dtype: a float dtype; by default float32.
    """
    key, shape, dtype = checked("chisquare", key, shape, dtype, df)
    return _chisquare(key, df, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _chisquare(key, df, shape, dtype):
    """chisquare with checked arguments."""
    df = lax.convert_element_type(df, dtype)
    two = const(df, 2)
    logs = loggamma(key, a=lax.div(df, two), shape=shape, dtype=dtype)
    return lax.mul(exp(logs), two)


@draws
def f(key, dfnum, dfden, shape=None, dtype=None, *, out_sharding=None):
    """F-distributed numbers: the quotient of two mean squares of normal numbers.

    Args:
      key: a key.
      dfnum, dfden: degrees of freedom of numerator and denominator, positive.
      shape: of the result; by default what they broadcast to.
      dtype: a float dtype; by default float32.
    """
    key, shape, dtype = checked("f", key, shape, dtype, dfnum, dfden)
    return _f(key, dfnum, dfden, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _f(key, dfnum, dfden, shape, dtype):
    """f with checked arguments."""
    dfden = lax.convert_element_type(dfden, dtype)
    dfnum = lax.convert_element_type(dfnum, dtype)
    key_den, key_num = two_keys(key)
    above = chisquare(key_num, dfnum, shape, dtype)
    below = chisquare(key_den, dfden, shape, dtype)
    return lax.div(lax.div(above, dfnum), lax.div(below, dfden))


@draws
def t(key, df, shape=None, dtype=None, *, out_sharding=None):
    """Numbers of Student's t distribution: normal ones, divided by a standard deviation.

    Args:
      key: a key.
      df: degrees of freedom, positive; a number or an array that broadcasts to the shape.
      shape: of the result; by default that of df.
      dtype: a float dtype; by default float32.
    """
    key, shape, dtype = checked("t", key, shape, dtype, df)
    return _t(key, df, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _t(key, df, shape, dtype):
    """t with checked arguments."""
    df = lax.convert_element_type(df, dtype)
    key_n, key_g = two_keys(key)
    n = _normal(key_n, shape=shape, dtype=dtype)
    half = lax.div(df, const(n, 2))
    g = gamma(key_g, half, shape, dtype)
    return n * sqrt(half / g)
