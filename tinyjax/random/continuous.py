"""Other continuous distributions, each a formula of uniform, normal or exponential numbers."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import lift
from tinyjax.numpy import broadcast_to, linalg, log1p, power
from tinyjax.primitives.arithmetic import const
from tinyjax.primitives.linear import canonicalize_shape
from tinyjax.random.distributions import exponential, normal, rademacher
from tinyjax.random.draws import draws
from tinyjax.random.gammas import gamma
from tinyjax.random.keys import typed
from tinyjax.random.program import program
from tinyjax.random.uniform import (
    check_float_dtype,
    check_safe_to_cast,
    checked,
    sample_shape,
    two_keys,
    uniform,
)

# ---- of one positive parameter ------------------------------------------------------------------


@draws
def pareto(key, b, shape=None, dtype=None, *, out_sharding=None):
    """Pareto-distributed numbers: density b / x**(b+1) for x >= 1.

    Args:
      key: a key.
      b: a positive parameter; a number or an array that broadcasts to the shape.
      shape: of the result; by default that of b.
      dtype: a float dtype; by default float32.

    Raises ValueError for another dtype or shapes that do not broadcast.
    """
    key, shape, dtype = checked("pareto", key, shape, dtype, b)
    return _pareto(key, b, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _pareto(key, b, shape, dtype):
    """pareto with checked arguments."""
    b = lax.convert_element_type(b, dtype)
    return lax.exp(exponential(key, shape, dtype) / b)


@draws
def rayleigh(key, scale, shape=None, dtype=None, *, out_sharding=None):
    """Rayleigh-distributed numbers: the length of a vector of two normal numbers.

    Args:
      key: a key.
      scale: the standard deviation of the normal numbers; it broadcasts to the shape.
      shape: of the result; by default that of scale.
      dtype: a float dtype; by default float32.
    """
    key, shape, dtype = checked("rayleigh", key, shape, dtype, scale)
    return _rayleigh(key, scale, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _rayleigh(key, scale, shape, dtype):
    """rayleigh with checked arguments."""
    u = uniform(key, shape, dtype)
    scale = broadcast_to(lift(scale).astype(dtype), shape)
    return lax.mul(scale, lax.sqrt(lax.mul(lax.log(u), const(scale, -2))))


@draws
def wald(key, mean, shape=None, dtype=None, *, out_sharding=None):
    """Numbers of Wald's distribution, the inverse Gaussian one with scale 1.

    Args:
      key: a key.
      mean: positive; a number or an array that broadcasts to the shape.
      shape: of the result; by default that of mean.
      dtype: a float dtype; by default float32.
    """
    key, shape, dtype = checked("wald", key, shape, dtype, mean)
    return _wald(key, mean, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _wald(key, mean, shape, dtype):
    """wald with checked arguments: of two solutions of a quadratic equation a uniform number
    chooses one. (Michael, Schucany and Haas, 1976.)"""
    key_v, key_z = two_keys(key)
    mean = broadcast_to(lift(mean).astype(dtype), shape)
    v = normal(key_v, shape, dtype)
    z = uniform(key_z, shape, dtype)
    y = lax.integer_pow(v, 2)
    y_square, mean_square = lax.integer_pow(y, 2), lax.integer_pow(mean, 2)
    root = lax.sqrt(4 * mean * y + mean_square * y_square)
    x = mean + mean_square * y / 2 - mean / 2 * root
    return lax.select(lax.le(z, mean / (mean + x)), x, mean_square / x)


ONE = np.float32(1)


@draws
def lognormal(key, sigma=ONE, shape=None, dtype=None, *, out_sharding=None):
    """Numbers whose logarithm is normal.

    Args:
      key: a key.
      sigma: the standard deviation of the logarithm; it broadcasts to the shape.
      shape: of the result; by default that of sigma.
      dtype: a float or complex dtype; by default float32.
    """
    key, _ = typed("lognormal", key)
    dtype = check_float_dtype("lognormal", dtype, "a float or complex")
    shape = sample_shape("lognormal", shape, sigma)
    check_safe_to_cast("lognormal", dtype, sigma)
    sigma = lax.convert_element_type(sigma, dtype)
    return lax.exp(normal(key, shape, dtype) * sigma)


# ---- of several parameters ----------------------------------------------------------------------


@draws
def triangular(key, left, mode, right, shape=None, dtype=None, *, out_sharding=None):
    """Numbers between left and right whose density is a triangle with its tip at mode.

    Args:
      key: a key.
      left, mode, right: numbers or arrays that broadcast to the shape.
      shape: of the result; by default what they broadcast to.
      dtype: a float dtype; by default float32.
    """
    key, shape, dtype = checked("triangular", key, shape, dtype, left, mode, right)
    left, right, mode = (
        broadcast_to(lax.convert_element_type(v, dtype), shape) for v in (left, right, mode)
    )
    below = (mode - left) / (right - left)
    u = uniform(key, shape, dtype)
    rising = left + lax.sqrt(u * (right - left) * (mode - left))
    falling = right - lax.sqrt((1 - u) * (right - left) * (right - mode))
    return lax.select(u < below, rising, falling)


@draws
def weibull_min(key, scale, concentration, shape=(), dtype=None):
    """Weibull-distributed numbers: P(x > t) = exp(-(t / scale)**concentration).

    Args:
      key: a key.
      scale, concentration: positive numbers or arrays, that broadcast with the shape.
      shape: of the uniform numbers that the result is made of.
      dtype: a float dtype; by default float32.
    """
    key, _ = typed("weibull_min", key)
    dtype = check_float_dtype("weibull_min", dtype)
    shape = canonicalize_shape(shape)
    return _weibull_min(key, scale, concentration, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _weibull_min(key, scale, concentration, shape, dtype):
    """weibull_min with checked arguments."""
    u = uniform(key=key, shape=shape, minval=0, maxval=1, dtype=dtype)
    return power(-log1p(-u), 1.0 / concentration) * scale


@draws
def maxwell(key, shape=(), dtype=None, *, out_sharding=None):
    """Maxwell-distributed numbers: the length of a vector of three normal numbers.

    Args:
      key: a key.
      shape: of the result.
      dtype: a float dtype; by default float32.
    """
    key, _ = typed("maxwell", key)
    dtype = check_float_dtype("maxwell", dtype)
    return _maxwell(key, shape=canonicalize_shape(shape), dtype=dtype)


@program("shape", "dtype")
def _maxwell(key, shape, dtype):
    """maxwell with checked arguments."""
    return linalg.norm(normal(key=key, shape=(*shape, 3), dtype=dtype), axis=-1)


@draws
def double_sided_maxwell(key, loc, scale, shape=(), dtype=None):
    """Maxwell-distributed numbers with a random sign, times scale, plus loc.

    Args:
      key: a key.
      loc, scale: numbers or arrays.
      shape: of the samples of each distribution: the result has shape (*shape, *parameters' shape).
      dtype: a float dtype; by default float32.
    """
    key, _ = typed("double_sided_maxwell", key)
    dtype = check_float_dtype("double_sided_maxwell", dtype)
    shape = canonicalize_shape(shape)
    return _double_sided_maxwell(key, loc, scale, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _double_sided_maxwell(key, loc, scale, shape, dtype):
    """double_sided_maxwell with checked arguments."""
    each = np.broadcast_shapes(np.shape(loc), np.shape(scale))
    shape = (shape or each) + each
    key_size, key_sign = two_keys(key)
    size = maxwell(key_size, shape=shape, dtype=dtype)
    sign = rademacher(key_sign, shape=shape, dtype=dtype)
    return sign * size * scale + loc


@draws
def generalized_normal(key, p, shape=(), dtype=None, *, out_sharding=None):
    """Numbers with density proportional to exp(-|x|**p).

    Args:
      key: a key.
      p: a positive number.
      shape: of the result.
      dtype: a float dtype; by default float32.
    """
    shape = canonicalize_shape(shape)
    key, _ = typed("generalized_normal", key)
    dtype = dtypes.check_user_dtype_supported(
        float if dtype is None else dtype, "generalized_normal"
    )
    return _generalized_normal(key, p, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _generalized_normal(key, p, shape, dtype):
    """generalized_normal with checked arguments."""
    keys = two_keys(key)
    p = lift(p)
    size = gamma(keys[0], 1 / p, shape, dtype)
    sign = rademacher(keys[1], shape, dtype)
    return sign * size ** (1 / p)
