"""Uniform random numbers: bits, floats of an interval, integers of a range."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import Array, lift
from tinyjax.numpy import asarray, clip
from tinyjax.primitives.linear import (
    canonicalize_shape,
    convert,
    convert_element_type_p,
    reshape_p,
)
from tinyjax.primitives.random_bits import random_bits_p, random_split_p
from tinyjax.random.draws import draws
from tinyjax.random.keys import typed
from tinyjax.random.program import program
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import in_program

WIDE = np.dtype(np.float64)

# ---- arguments ----------------------------------------------------------------------------------


def check_float_dtype(name, dtype, kinds="a float"):
    """The dtype that the user asked for; by default the default float."""
    dtype = dtypes.check_user_dtype_supported(float if dtype is None else dtype, name)
    wanted = np.inexact if "complex" in kinds else np.floating
    if not dtypes.issubdtype(dtype, wanted):
        raise ValueError(f"dtype argument to `{name}` must be {kinds} dtype, got {dtype}")
    return dtype


def check_shape(name, shape, *parameters):
    """The parameters' shapes must broadcast to the shape."""
    shapes = [np.shape(p) for p in parameters]
    try:
        found = np.broadcast_shapes(shape, *shapes)
    except ValueError:
        found = "of none"
    if found != shape:
        raise ValueError(
            f"{name} parameter shapes must be broadcast-compatible with shape argument, and the "
            "result of broadcasting the shapes must equal the shape argument, but got result "
            f"{found} for shape argument {shape} and parameters of shapes {shapes}."
        )


def sample_shape(name, shape, *parameters):
    """The shape that the user asked for; by default what the parameters broadcast to."""
    if shape is None:
        return np.broadcast_shapes(*[np.shape(p) for p in parameters])
    shape = canonicalize_shape(shape)
    check_shape(name, shape, *parameters)
    return shape


def check_safe_to_cast(name, dtype, *parameters):
    """Parameters must not be of a wider dtype than the sample."""
    for p in parameters:
        if not dtypes.safe_to_cast(p, dtype):
            raise dtypes.TypePromotionError(
                f"In arguments to {name}, cannot safely cast argument of type "
                f"{dtypes.dtype_name(lift(p).dtype)} to {dtypes.dtype_name(dtype)}: convert it, or "
                "give the sample's dtype."
            )


def checked(name, key, shape, dtype, *parameters):
    """-> typed key, shape and float dtype of a sample with parameters that broadcast."""
    key, _ = typed(name, key)
    dtype = check_float_dtype(name, dtype)
    shape = sample_shape(name, shape, *parameters)
    check_safe_to_cast(name, dtype, *parameters)
    return key, shape, dtype


def raw_bits(key, bit_width, shape):
    """Random bits of a typed key."""
    return random_bits_p.bind(key, bit_width=bit_width, shape=shape)


def two_keys(key):
    """A typed key, split in two."""
    return random_split_p.bind(key, shape=(2,))


def three_keys(key):
    """A typed key, split in three."""
    return random_split_p.bind(key, shape=(3,))


# ---- bits ---------------------------------------------------------------------------------------


@draws
@recorded
def bits(key, shape=(), dtype=None, *, out_sharding=None):
    """Unsigned integers of which every bit is random.

    Args:
      key: a key.
      shape: of the result.
      dtype: an unsigned integer dtype; by default uint32.

    Raises ValueError for another dtype.

    >>> import tinyjax as jax
    >>> jax.random.bits(jax.random.key(0), (2,), "uint8").dtype
    dtype('uint8')
    """
    key, _ = typed("bits", key)
    if dtype is None:
        dtype = dtypes.default_uint_dtype()
    else:
        dtype = dtypes.check_user_dtype_supported(dtype, "bits")
    if dtype.kind != "u":
        raise ValueError(f"dtype argument to `bits` must be an unsigned int dtype, got {dtype}")
    return raw_bits(key, dtype.itemsize * 8, canonicalize_shape(shape))


# ---- floats -------------------------------------------------------------------------------------


@draws
@recorded
def uniform(key, shape=(), dtype=None, minval=0.0, maxval=1.0, *, out_sharding=None):
    """Uniform numbers of the interval [minval, maxval).

    Args:
      key: a key.
      shape: of the result.
      dtype: a float dtype; by default float32.
      minval, maxval: numbers, or arrays that broadcast to the shape. maxval is never returned.

    Raises ValueError for another dtype, TypeError for something that is no key.

    >>> import tinyjax as jax
    >>> x = jax.random.uniform(jax.random.key(0), (1000,))
    >>> bool((x >= 0).all() and (x < 1).all())
    True
    """
    key, _ = typed("uniform", key)
    dtype = check_float_dtype("uniform", dtype)
    shape = canonicalize_shape(shape)
    if may_round_up(minval, maxval, dtype):
        return _uniform_below(key, minval, maxval, shape=shape, dtype=dtype)
    return _uniform(key, minval, maxval, shape=shape, dtype=dtype)


def may_round_up(minval, maxval, dtype):
    """Whether the largest number could be rounded to maxval; True if the bounds are not known."""
    minval, maxval = lift(minval), lift(maxval)
    if not (isinstance(minval, Array) and isinstance(maxval, Array)):
        return True
    low, high = (np.asarray(b.npy.astype(dtype), np.float64) for b in (minval, maxval))
    top = 1 - float(dtypes.finfo(dtype).eps)
    with np.errstate(all="ignore"):
        span = np.asarray((high - low).astype(dtype), np.float64)
        once = (top * span + low).astype(dtype)  # rounded once, as fused operations do
        twice = np.asarray((top * span).astype(dtype), np.float64) + low
    rounded = np.maximum(once.astype(np.float64), twice.astype(dtype).astype(np.float64))
    return bool(np.any((rounded >= high) & (low < high)))


@program("shape", "dtype")
def _uniform(key, minval, maxval, shape, dtype):
    """uniform with checked arguments."""
    check_shape("uniform", shape, minval, maxval)
    low, high = bounds(minval, maxval, shape, dtype)
    return lax.max(low, at_shape(stretched(key, low, high, shape, dtype), shape))


@program("shape", "dtype")
def _uniform_below(key, minval, maxval, shape, dtype):
    """_uniform that never returns maxval, where it is above minval: rounding might yield it."""
    check_shape("uniform", shape, minval, maxval)
    low, high = bounds(minval, maxval, shape, dtype)
    step = lax.nextafter(lax.stop_gradient(high), lax.stop_gradient(low))
    below = lax.max(low, step)
    out = lax.max(low, stretched(key, low, high, shape, dtype))
    return at_shape(lax.min(out, below), shape)


def bounds(minval, maxval, shape, dtype):
    """The bounds at the dtype and rank of the result."""
    low, high = convert(minval, dtype), convert(maxval, dtype)
    return lax.broadcast_to_rank(low, len(shape)), lax.broadcast_to_rank(high, len(shape))


def at_shape(x, shape):
    """x at its shape: scalars too are reshaped, as JAX prints it."""
    return x if x.shape == shape and shape else reshape_p.bind(x, new_sizes=shape)


def stretched(key, low, high, shape, dtype):
    """Numbers of [0, 1), times high - low, plus low.

    Random bits fill the mantissa of a number of [1, 2), from which 1 is subtracted.
    """
    info = dtypes.finfo(dtype)
    n_random = max(info.bits, 8) if info.nmant >= 8 else 8
    words = raw_bits(key, n_random, shape)
    word = np.dtype(f"uint{info.bits}")
    words = convert(words, word)
    mantissa = lax.shift_right_logical(words, word.type(n_random - info.nmant))
    one = np.asarray(1, dtype)
    floats = lax.bitwise_or(mantissa, one.view(word)[()])
    unit = lax.sub(lax.bitcast_convert_type(floats, dtype), one[()])
    return multiply_add(unit, lax.sub(high, low), low)


def multiply_add(x, y, z):
    """x * y + z, rounded once: compiled code does that, so arrays of float32 must follow."""
    if in_program() or x.dtype != np.float32 or no_bits(z):
        return lax.add(lax.mul(x, y), z)
    x, y, z = (convert_element_type_p.bind(v, new_dtype=WIDE, weak_type=False) for v in (x, y, z))
    return convert(lax.add(lax.mul(x, y), z), np.dtype(np.float32))


def no_bits(x):
    """Whether x is known to be zero: adding it rounds nothing."""
    return isinstance(x, Array) and not x.npy.any()


# ---- integers -----------------------------------------------------------------------------------


@draws
@recorded
def randint(key, shape, minval, maxval, dtype=None, *, out_sharding=None):
    """Uniform integers from minval up to, but not including, maxval.

    Args:
      key: a key.
      shape: of the result.
      minval, maxval: integers, or arrays of them that broadcast to the shape. maxval may be one
        more than the greatest number of the dtype. Where maxval <= minval, minval is returned.
      dtype: an integer dtype; by default int32.

    Raises TypeError for another dtype.

    >>> import tinyjax as jax
    >>> x = jax.random.randint(jax.random.key(0), (1000,), 1, 7)
    >>> int(x.min()), int(x.max())
    (1, 6)
    """
    key, _ = typed("randint", key)
    dtype = dtypes.check_user_dtype_supported(int if dtype is None else dtype, "randint")
    shape = canonicalize_shape(shape)
    if dtype.kind not in "iu":
        raise TypeError(f"randint only accepts integer dtypes, got {dtype}")
    info, wide = np.iinfo(dtype), dtype
    if info.bits < 32:  # few bits would favour some numbers
        wide = np.dtype(np.int32)
        minval = clip(asarray(minval).astype(wide), min=int(info.min), max=int(info.max))
        maxval = clip(asarray(maxval).astype(wide), min=int(info.min), max=int(info.max) + 1)
    return _randint(key, minval, maxval, shape=shape, dtype=wide).astype(dtype)


@program("shape", "dtype")
def _randint(key, minval, maxval, shape, dtype):
    """randint with checked arguments: twice as many random bits as needed, modulo the range."""
    check_shape("randint", shape, minval, maxval)
    low, high = as_integers(minval), as_integers(maxval)
    greatest = lift(np.asarray(np.iinfo(dtype).max, dtype))
    too_high = lax.gt(high, clip_to(greatest, high.dtype))
    low, high = clip_to(low, dtype), clip_to(high, dtype)
    low, high = lax.broadcast_to_rank(low, len(shape)), lax.broadcast_to_rank(high, len(shape))
    bits_of = dtype.itemsize * 8
    key1, key2 = two_keys(key)
    upper, lower = raw_bits(key1, bits_of, shape), raw_bits(key2, bits_of, shape)

    word = np.dtype(f"uint{bits_of}")
    span = lax.convert_element_type(lax.sub(high, low), word)
    span = lax.select(lax.le(high, low), lax.full_like(span, 1), span)
    # a range that ends beyond the dtype is one larger; the whole dtype's wraps to 0: no remainder
    beyond = too_high & lax.gt(high, low)
    span = lax.select(beyond, lax.add(span, word.type(1)), span)

    # upper * 2**bits + lower modulo span, without numbers of twice as many bits
    multiplier = lax.rem(word.type(2 ** (bits_of // 2)), span)
    multiplier = lax.rem(lax.mul(multiplier, multiplier), span)
    offset = lax.add(lax.mul(lax.rem(upper, span), multiplier), lax.rem(lower, span))
    return lax.add(low, lax.convert_element_type(lax.rem(offset, span), dtype))


def as_integers(x):
    """A bound as an integer array."""
    x = asarray(x)
    return x if x.dtype.kind in "iu" else x.astype(int)


def clip_to(x, dtype):
    """x within the range of a dtype, at that dtype."""
    mine, other = np.iinfo(x.dtype), np.iinfo(dtype)
    low, high = max(mine.min, other.min), min(mine.max, other.max)
    low, high = (lift(np.asarray(v, x.dtype)) if not x.weak_type else int(v) for v in (low, high))
    return clip(x, low, high).astype(dtype)
