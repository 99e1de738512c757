"""Random bits outside of jax.random: rng_bit_generator (a counter, hashed) and rng_uniform.

Sources: Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3" (2011), for
Philox and Threefry.
"""

import enum
import math

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive
from tinyjax.primitives.linear import canonicalize_shape
from tinyjax.primitives.random_bits import threefry_2x32


class RandomAlgorithm(enum.IntEnum):
    """Which function hashes the counter of rng_bit_generator; the default is Philox on a CPU."""

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self):
        return self.name


# ---- hashing a counter --------------------------------------------------------------------------

LOW = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = 0x9E3779B9, 0xBB67AE85


def philox_4x32(counter, key):
    """Four words per counter, from counters of four words and a key of two (all as uint64)."""
    a, b, c, d = counter
    for r in range(10):
        first, second = (np.uint64((k + r * w) & 0xFFFFFFFF) for k, w in zip(key, WEYL))
        p, q = MULTIPLIERS[0] * a, MULTIPLIERS[1] * c
        a, b, c, d = (q >> SHIFT) ^ b ^ first, q & LOW, (p >> SHIFT) ^ d ^ second, p & LOW
    return a, b, c, d


def philox_words(key, counter, shape):
    """-> words, and how many counters they took: four for each."""
    count = math.prod(shape)
    steps = -(-count // 4)
    low = np.uint64(counter) + np.arange(steps, dtype=np.uint64)
    high = np.uint64(key) + (low < np.uint64(counter)).astype(np.uint64)  # the carry
    words = philox_4x32(
        (low & LOW, low >> SHIFT, high & LOW, high >> SHIFT), (key & 0xFFFFFFFF, key >> 32)
    )
    return np.stack(words, 1).reshape(-1)[:count].astype(np.uint32).reshape(shape), steps


def threefry_words(key, counter, shape):
    """-> words, and how many counters they took: two for each, neighbours along one axis."""
    axis = next((i for i, n in enumerate(shape) if n % 2 == 0), None)
    if axis is None:  # no axis can be halved: the longest one is, rounded up
        axis = int(np.argmax(shape)) if shape else 0
    whole = shape or (1,)
    half = (*whole[:axis], -(-whole[axis] // 2), *whole[axis + 1 :])
    steps = math.prod(half)
    low = np.uint64(counter) + np.arange(steps, dtype=np.uint64)
    halves = (low & LOW).astype(np.uint32), (low >> SHIFT).astype(np.uint32)
    pair = np.array([key & 0xFFFFFFFF, key >> 32], np.uint32)
    words = np.stack([w.reshape(half) for w in threefry_2x32(pair, *halves)], axis + 1)
    words = words.reshape(*half[:axis], 2 * half[axis], *half[axis + 1 :])
    return np.take(words, range(whole[axis]), axis).reshape(shape), steps


# ---- the cards ----------------------------------------------------------------------------------


class RngBitGenerator(Primitive):
    """rng_bit_generator[algorithm dtype shape] key: -> the next key, random bits."""

    multi = True
    printed = {"out_sharding": None}

    def impl(self, key, *, shape, dtype, algorithm):
        wide = key.view(np.uint64) if key.dtype == np.uint32 else key
        seed, counter = int(wide[0]), int(wide[1])
        words = threefry_words if algorithm == RandomAlgorithm.RNG_THREE_FRY else philox_words
        double = dtype.itemsize == 8
        bits, steps = words(seed, counter, (*shape, 2) if double else shape)
        bits = bits.view(dtype).reshape(shape) if double else bits.astype(dtype)
        new = np.array([seed, (counter + steps) % 2**64], np.uint64).view(key.dtype)
        return [new, bits]

    def type(self, key, *, shape, dtype, algorithm):
        if (key.shape, key.dtype) not in (((4,), np.uint32), ((2,), np.uint64)):
            raise TypeError(
                "rng_bit_generator takes a key of type uint32[4] or uint64[2], got "
                f"{key.str_short()}"
            )
        return [key, ShapedArray(shape, dtype)]

    def shown_params(self, params):
        return super().shown_params({**params, "algorithm": str(params["algorithm"])})


class RngUniform(Primitive):
    """rng_uniform[shape] a b: other numbers in [a, b) each time."""

    effectful = True

    def impl(self, a, b, *, shape):
        if a.dtype.kind in "iu":
            return GENERATOR.integers(a, b, shape, a.dtype)
        return (a + (b - a) * GENERATOR.random(shape)).astype(a.dtype)

    def type(self, a, b, *, shape):
        if a.dtype != b.dtype:
            raise ValueError(
                "Arguments to rng_uniform must have identical dtypes, got "
                f"{a.dtype.name} and {b.dtype.name}."
            )
        if a.shape or b.shape:
            raise ValueError(
                f"Arguments to rng_uniform must be scalars; got shapes {a.shape} and {b.shape}."
            )
        return ShapedArray(shape, a.dtype, a.weak_type and b.weak_type)


GENERATOR = np.random.default_rng()
rng_bit_generator_p = RngBitGenerator("rng_bit_generator")
rng_uniform_p = RngUniform("rng_uniform")

# ---- functions ----------------------------------------------------------------------------------


def rng_bit_generator(key, shape, dtype=np.uint32, algorithm=RandomAlgorithm.RNG_DEFAULT, *,
                      out_sharding=None):  # fmt: skip
    """Random bits from a counter -> the next key, an array of bits. Prefer jax.random.

    Args:
      key: uint32[4] or uint64[2]: a seed and a counter.
      shape: shape of the result.
      dtype: uint8, uint16, uint32 or uint64.
      algorithm: a RandomAlgorithm.
      out_sharding: accepted as JAX's.

    Raises TypeError for another key or dtype.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> key, bits = lax.rng_bit_generator(np.array([1, 2, 3, 4], np.uint32), (2,))
    >>> key, bits
    (Array([1, 2, 4, 4], dtype=uint32), Array([ 512747620, 1298009047], dtype=uint32))
    """
    key, shape = lift(key), canonicalize_shape(shape)
    dtype = dtypes.check_user_dtype_supported(dtype, "rng_bit_generator")
    if dtype.kind != "u":
        raise TypeError(f"rng_bit_generator: unsupported dtype {dtype}")
    params = {"shape": shape, "dtype": dtype, "algorithm": RandomAlgorithm(algorithm)}
    rng_bit_generator_p.type(key.aval, **params)
    return tuple(rng_bit_generator_p.bind(key, **params))


def rng_uniform(a, b, shape):
    """Uniform random numbers in [a, b), other ones at each call. Prefer jax.random.

    Args:
      a, b: scalars of one dtype.
      shape: shape of the result.

    Raises ValueError when a and b are no scalars of one dtype.

    >>> from tinyjax import lax
    >>> lax.rng_uniform(0.0, 1.0, (3,)).shape
    (3,)
    """
    a, b = lift(a), lift(b)
    params = {"shape": canonicalize_shape(shape)}
    rng_uniform_p.type(a.aval, b.aval, **params)
    return rng_uniform_p.bind(a, b, **params)
