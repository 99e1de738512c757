"""Random numbers of other distributions, made of uniform ones."""

import math

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import lift
from tinyjax.numpy import array, clip, inf, log, log1p, ones_like, where
from tinyjax.primitives.linear import canonicalize_shape, convert
from tinyjax.random.draws import draws
from tinyjax.random.keys import typed
from tinyjax.random.program import program
from tinyjax.random.uniform import (
    _uniform,
    check_float_dtype,
    check_shape,
    raw_bits,
    two_keys,
)
from tinyjax.transforms.replay import recorded

SAMPLER_ARGS = """

    Args:
      key: a key.
      shape: of the result.
      dtype: a float dtype; by default float32.

    Raises ValueError for another dtype, TypeError for something that is no key.
"""


def sampler(name, function):
    """The public function of a distribution without parameters.

    function(key, *, shape, dtype) is made by `program`, so it gets a typed key.
    """

    def sample(key, shape=(), dtype=None, *, out_sharding=None):
        key, _ = typed(name, key)
        dtype = check_float_dtype(name, dtype)
        return function(key, shape=canonicalize_shape(shape), dtype=dtype)

    sample.__name__ = sample.__qualname__ = name
    sample.__doc__ = function.__doc__ + SAMPLER_ARGS
    return draws(sample)


# ---- normal -------------------------------------------------------------------------------------


@draws
@recorded
def normal(key, shape=(), dtype=None, *, out_sharding=None):
    """Normal numbers, of mean 0 and variance 1.

    Args:
      key: a key.
      shape: of the result.
      dtype: a float or complex dtype; by default float32. Of complex numbers each part has
        variance 1/2.

    Raises ValueError for another dtype, TypeError for something that is no key.

    >>> import tinyjax as jax
    >>> jax.random.normal(jax.random.key(0), (2, 3)).shape
    (2, 3)
    """
    key, _ = typed("normal", key)
    dtype = check_float_dtype("normal", dtype, "a float or complex")
    return _normal(key, shape=canonicalize_shape(shape), dtype=dtype)


@program("shape", "dtype")
def _normal(key, shape, dtype):
    """normal with checked arguments."""
    if dtype.kind != "c":
        return _normal_real(key, shape=shape, dtype=dtype)
    real = dtypes.to_floating_dtype(dtype)
    key1, key2 = two_keys(key)
    first = _normal_real(key1, shape=shape, dtype=real).astype(dtype)
    second = _normal_real(key2, shape=shape, dtype=real).astype(dtype)
    return (first + 1j * second) / np.asarray(math.sqrt(2), dtype)


@program("shape", "dtype")
def _normal_real(key, shape, dtype):
    """The inverse of the distribution function, of uniform numbers."""
    low = np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype))
    u = _uniform(key, low, np.asarray(1, dtype), shape=shape, dtype=dtype)
    return lax.mul(np.asarray(math.sqrt(2), dtype), lax.erf_inv(u))


@draws
@recorded
def truncated_normal(key, lower, upper, shape=None, dtype=None, *, out_sharding=None):
    """Normal numbers of which only those between two bounds are kept.

    Args:
      key: a key.
      lower, upper: bounds; numbers or arrays that broadcast to the shape.
      shape: of the result; by default what the bounds broadcast to.
      dtype: a float dtype; by default float32.

    >>> import tinyjax as jax
    >>> x = jax.random.truncated_normal(jax.random.key(0), -1.0, 2.0, (1000,))
    >>> bool((x > -1).all() and (x < 2).all())
    True
    """
    shape = None if shape is None else canonicalize_shape(shape)
    key, _ = typed("truncated_normal", key)
    dtype = check_float_dtype("truncated_normal", dtype)
    return _truncated_normal(key, lower, upper, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _truncated_normal(key, lower, upper, shape, dtype):
    """truncated_normal with checked arguments."""
    if shape is None:
        shape = np.broadcast_shapes(np.shape(lower), np.shape(upper))
    else:
        check_shape("truncated_normal", shape, lower, upper)
    root = np.asarray(math.sqrt(2), dtype)
    lower, upper = convert(lower, dtype), convert(upper, dtype)
    low, high = lax.erf(lax.div(lower, root)), lax.erf(lax.div(upper, root))
    u = _uniform(key, low, high, shape=shape, dtype=dtype)
    out = lax.mul(root, lax.erf_inv(u))
    # rounding must not lead out of the open interval
    above = lax.nextafter(lax.stop_gradient(lower), np.asarray(inf, dtype))
    below = lax.nextafter(lax.stop_gradient(upper), np.asarray(-inf, dtype))
    return clip(out, above, below)


# ---- yes or no ----------------------------------------------------------------------------------


@draws
@recorded
def bernoulli(key, p=0.5, shape=None, mode="low", *, out_sharding=None):
    """Booleans that are True with probability p.

    Args:
      key: a key.
      p: a float, or an array that broadcasts to the shape.
      shape: of the result; by default that of p.
      mode: "high" also distinguishes probabilities below 2**-23.

    Raises TypeError when p is not a float, ValueError for another mode.

    >>> import tinyjax as jax
    >>> round(float(jax.random.bernoulli(jax.random.key(0), 0.3, (10000,)).mean()), 1)
    0.3
    """
    shape = None if shape is None else canonicalize_shape(shape)
    if mode not in ("high", "low"):
        raise ValueError(f"got {mode=}, expected 'high' or 'low'")
    key, _ = typed("bernoulli", key)
    dtype = lift(p).dtype
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {dtype}.")
    return _bernoulli(key, convert(p, dtype), shape=shape, mode=mode)


@program("shape", "mode")
def _bernoulli(key, p, shape, mode):
    """bernoulli with checked arguments."""
    if shape is None:
        shape = np.shape(p)
    else:
        check_shape("bernoulli", shape, p)
    if mode == "low":
        return _uniform(key, 0.0, 1.0, shape=shape, dtype=p.dtype) < p
    u1, u2 = _uniform(key, 0.0, 1.0, shape=(2, *shape), dtype=p.dtype)
    return u2 * 2 ** -dtypes.finfo(p.dtype).nmant < p - u1


@draws
@recorded
def rademacher(key, shape=(), dtype=None, *, out_sharding=None):
    """Numbers that are 1 or -1, equally often.

    >>> import tinyjax as jax
    >>> sorted(set(jax.random.rademacher(jax.random.key(0), (100,)).tolist()))
    [-1, 1]
    """
    key, _ = typed("rademacher", key)
    dtype = dtypes.check_user_dtype_supported(int if dtype is None else dtype, "rademacher")
    return _rademacher(key, shape=canonicalize_shape(shape), dtype=dtype)


@program("shape", "dtype")
def _rademacher(key, shape, dtype):
    """rademacher with checked arguments."""
    heads = bernoulli(key, 0.5, shape).astype(dtype)
    return (2 * heads - 1).astype(dtype)


# ---- others -------------------------------------------------------------------------------------


@program("shape", "dtype")
def _exponential(key, shape, dtype):
    """Exponential numbers, of mean 1."""
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=dtype)
    return lax.neg(lax.log1p(lax.neg(u)))


@program("shape", "dtype")
def _laplace(key, shape, dtype):
    """Laplace-distributed numbers: density exp(-|x|) / 2."""
    low = -1.0 + dtypes.finfo(dtype).epsneg
    u = _uniform(key, low, 1.0, shape=shape, dtype=dtype)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


@program("shape", "dtype")
def _logistic(key, shape, dtype):
    """Logistically distributed numbers: their distribution function is the logistic one."""
    u = _uniform(key, dtypes.finfo(dtype).tiny, 1.0, shape=shape, dtype=dtype)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


@program("shape", "dtype")
def _cauchy(key, shape, dtype):
    """Cauchy-distributed numbers: density 1 / (pi (1 + x**2))."""
    u = _uniform(key, dtypes.finfo(dtype).eps, 1.0, shape=shape, dtype=dtype)
    turned = lax.mul(np.asarray(math.pi, dtype), lax.sub(u, np.asarray(0.5, dtype)))
    return lax.tan(turned)


exponential = sampler("exponential", _exponential)
laplace = sampler("laplace", _laplace)
logistic = sampler("logistic", _logistic)
cauchy = sampler("cauchy", _cauchy)


@draws
@recorded
def gumbel(key, shape=(), dtype=None, mode=None, *, out_sharding=None):
    """Gumbel-distributed numbers: the maximum of many; with them a maximum becomes a choice.

    Args:
      key: a key.
      shape: of the result.
      dtype: a float dtype; by default float32.
      mode: "low" (the default), "high", which reaches farther out, or "highest": the probability of
        numbers far out is right to the last bit.

    Raises ValueError for another dtype or mode.
    """
    key, _ = typed("gumbel", key)
    dtype = check_float_dtype("gumbel", dtype)
    mode = "low" if mode is None else mode
    if mode not in ("highest", "high", "low"):
        raise ValueError(f"Must provide valid mode for gumbel got: {mode}")
    return _gumbel(key, shape=canonicalize_shape(shape), dtype=dtype, mode=mode)


@program("shape", "dtype", "mode")
def _gumbel(key, shape, dtype, mode):
    """gumbel with checked arguments."""
    info = dtypes.finfo(dtype)
    if mode == "highest" and dtype == np.float32:
        return _fine_gumbel(key, shape)
    if mode == "low":
        u = _uniform(key, minval=info.tiny, maxval=1.0, shape=shape, dtype=dtype)
        return -lax.log(-lax.log(u))
    high, low = _uniform(key, minval=0.0, maxval=1.0, shape=(2, *shape), dtype=dtype)
    fine = high + 2.0**-info.nmant * low + info.tiny
    return -lax.log(-lax.log1p(-lax.select(high >= 0.5, high, fine)))


def _fine_gumbel(key, shape):
    """Gumbel numbers of the nearer of u and 1 - u, for 64 bits of a uniform number u."""
    bits = raw_bits(key, 32, (2, *shape))
    words = lax.bitwise_not(bits)
    low = words[1]
    carry = low == np.uint32(0xFFFFFFFF)  # the negative: every bit is turned, and 1 is added
    words = words + array([carry, ones_like(low)], dtype=np.uint32)
    below = bits[0] < np.uint32(1 << 31)
    x = float_of_words(where(below, bits, words))
    return where(below, -log(-log1p(-x)), -log(-log(x)))


def float_of_words(words):
    """Fixed-point numbers below 1, of a high and a low word, as float32, rounded down."""
    zeros_high, zeros_low = lax.clz(words)
    high, low = words
    empty = zeros_high == 32  # the leading bit stands in the low word
    rest = where(
        empty,
        lax.shift_left(low, zeros_low),
        lax.shift_right_logical(low, np.uint32(32) - zeros_high),
    )
    mantissa = lax.bitwise_or(lax.shift_left(high, zeros_high), rest)
    mantissa = lax.shift_right_logical(mantissa, np.uint32(8))
    mantissa = lax.bitwise_and(mantissa, np.uint32((1 << 23) - 1))
    exponent = 126 - where(empty, 32 + zeros_low, zeros_high)
    exponent = lax.shift_left(exponent, np.uint32(23))
    exponent = lax.bitwise_and(exponent, np.uint32((1 << 30) - (1 << 22)))
    return lax.bitcast_convert_type(lax.bitwise_or(exponent, mantissa), np.float32)
