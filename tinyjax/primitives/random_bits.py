"""Random bits: keys and what can be done with them. The generator is Threefry-2x32.

It is a hash: 20 rounds of add, rotate and xor scramble a counter under a key. Since no state is
carried along, every element of an array is computed on its own, and a new key is hashed bits too.
(Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011.)
"""

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.config import current_flags
from tinyjax.core import Primitive
from tinyjax.primitives.linear import batched_front
from tinyjax.primitives.rules import Elementwise

# ---- the hash -----------------------------------------------------------------------------------

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)
BLOCK = 1 << 14  # counters that are hashed together: they stay in the processor's cache
FEW = 10  # counters that Python hashes one by one sooner than NumPy all of them
WORD = 0xFFFFFFFF


def threefry_2x32(key, high, low):
    """Hash counters of two words (uint32 arrays of one shape) under a key of two words."""
    k = [np.uint32(key[0]), np.uint32(key[1])]
    k.append(k[0] ^ k[1] ^ PARITY)
    x, y = high + k[0], low + k[1]
    spare = np.empty_like(y)
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            np.add(x, y, x)
            np.left_shift(y, np.uint32(r), spare)
            np.right_shift(y, np.uint32(32 - r), y)
            np.bitwise_or(y, spare, y)
            np.bitwise_xor(x, y, y)
        np.add(x, k[(i + 1) % 3], x)
        np.add(y, k[(i + 2) % 3] + np.uint32(i + 1), y)
    return x, y


def hash_one(key, high, low):
    """The same with Python's numbers: the two words for one counter."""
    k = [int(key[0]), int(key[1])]
    k.append(k[0] ^ k[1] ^ int(PARITY))
    x, y = high + k[0] & WORD, low + k[1] & WORD
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x = x + y & WORD
            y = (y << r & WORD | y >> 32 - r) ^ x
        x = x + k[(i + 1) % 3] & WORD
        y = y + k[(i + 2) % 3] + i + 1 & WORD
    return x, y


def hash_range(key, size):
    """Hash the counters 0 ... size - 1 under a key -> two words for each."""
    if size <= FEW:
        pairs = [hash_one(key, 0, i) for i in range(size)]
        return np.array(pairs, np.uint32).reshape(size, 2).T
    first, second = np.empty(size, np.uint32), np.empty(size, np.uint32)
    for start in range(0, size, BLOCK):
        part = np.arange(start, min(start + BLOCK, size), dtype=np.uint64)
        high, low = (part >> np.uint64(32)).astype(np.uint32), part.astype(np.uint32)
        first[start : start + BLOCK], second[start : start + BLOCK] = threefry_2x32(key, high, low)
    return first, second


def each_key(f, keys, shape, dtype):
    """Stack f(words of a key) over all keys; each gives an array of the shape."""
    words = keys["key"]
    out = np.empty(np.shape(keys) + shape, dtype)
    for place in np.ndindex(np.shape(keys)):
        out[place] = f(words[place])
    return out


# ---- cards --------------------------------------------------------------------------------------


class OfKeys(Primitive):
    """An operation on every key of an array, whose results' axes come last. Keys and seeds have no
    tangents, so there is nothing to say of derivatives."""

    def batch(self, axis, vals, dims, /, **params):
        return self.bind(*vals, **params), dims[0]


class RandomSeed(OfKeys):
    """random_seed[impl] seeds: a key of each integer, whose bits are the key's."""

    def impl(self, seeds, *, impl):
        bits = np.asarray(seeds).astype(np.int64 if seeds.dtype.kind == "i" else np.uint64)
        bits = bits.view(np.uint64)
        out = np.empty(np.shape(seeds), dtypes.key_storage)
        high = bits >> np.uint64(32) if seeds.dtype.itemsize == 8 else np.zeros_like(bits)
        out["key"][..., 0], out["key"][..., 1] = high, bits & np.uint64(0xFFFFFFFF)
        return out

    def type(self, seeds, *, impl):
        return ShapedArray(seeds.shape, dtypes.key_fry)


class RandomSplit(OfKeys):
    """random_split[shape] keys: new keys, an array of the shape for each."""

    def impl(self, keys, *, shape):
        def split(key):
            words = hash_range(key, int(np.prod(shape)))
            return np.stack(words, -1).view(dtypes.key_storage).reshape(shape)

        return each_key(split, keys, shape, dtypes.key_storage)

    def type(self, keys, *, shape):
        return ShapedArray((*keys.shape, *shape), dtypes.key_fry)


class RandomFoldIn(Elementwise):
    """random_fold_in keys numbers: a new key of a key and a number."""

    def impl(self, keys, numbers):
        shape = np.broadcast_shapes(np.shape(keys), np.shape(numbers))
        keys, numbers = np.broadcast_to(keys, shape), np.broadcast_to(numbers, shape)
        out = np.empty(shape, dtypes.key_storage)
        for place in np.ndindex(shape):
            out["key"][place] = hash_one(keys[place]["key"], 0, int(numbers[place]))
        return out

    def check_dtypes(self, found):
        """Keys and uint32 numbers."""

    def type(self, keys, numbers):
        return super().type(numbers, keys).strip_weak_type()


class RandomBits(OfKeys):
    """random_bits[bit_width shape] keys: unsigned integers of which every bit is random."""

    def impl(self, keys, *, bit_width, shape):
        dtype = np.dtype(f"uint{bit_width}")

        def bits(key):
            first, second = hash_range(key, int(np.prod(shape)))
            if bit_width == 64:
                wide = first.astype(np.uint64) << np.uint64(32) | second
                return wide.reshape(shape)
            return np.bitwise_xor(first, second, first).astype(dtype, copy=False).reshape(shape)

        if not np.shape(keys):
            return bits(keys["key"])
        return each_key(bits, keys, shape, dtype)

    def type(self, keys, *, bit_width, shape):
        return ShapedArray((*keys.shape, *shape), np.dtype(f"uint{bit_width}"))


class RandomWrap(OfKeys):
    """random_wrap[impl] words: keys of pairs of words."""

    def impl(self, words, *, impl):
        return np.ascontiguousarray(words).view(dtypes.key_storage)[..., 0]

    def type(self, words, *, impl):
        return ShapedArray(words.shape[:-1], dtypes.key_fry)

    def batch(self, axis, vals, dims, /, **params):
        return self.bind(batched_front(axis, vals[0], dims[0]), **params), 0


class RandomUnwrap(OfKeys):
    """random_unwrap keys: their words."""

    def impl(self, keys):
        return keys["key"]

    def type(self, keys):
        return ShapedArray((*keys.shape, 2), np.dtype(np.uint32))


class RandomClone(OfKeys):
    """random_clone keys: the same keys, which may be used once more."""

    def impl(self, keys):
        return keys.copy()  # words are known by their memory (transforms/key_reuse.py)

    def type(self, keys):
        return keys


random_seed_p = RandomSeed("random_seed")
random_split_p = RandomSplit("random_split")
random_fold_in_p = RandomFoldIn("random_fold_in", None, None, None, accepts="u")
random_bits_p = RandomBits("random_bits")
random_wrap_p = RandomWrap("random_wrap")
random_unwrap_p = RandomUnwrap("random_unwrap")
random_clone_p = RandomClone("random_clone")


# ---- functions ----------------------------------------------------------------------------------


def wrap(words):
    """Keys of an array uint32[..., 2]. Raises TypeError for another shape or dtype."""
    words = lift(words)
    if words.dtype != np.uint32:
        raise TypeError(
            "JAX encountered invalid PRNG key data: expected key_data.dtype = uint32; got dtype="
            f"{dtypes.dtype_name(words.dtype)}. Make a key with jax.random.key(seed)."
        )
    if words.ndim < 1 or words.shape[-1] != 2:
        raise TypeError(
            "JAX encountered invalid PRNG key data: expected key_data.shape to end with (2,); got "
            f"shape={words.shape}. Did you pass a seed? Make a key of it with jax.random.key(seed)."
        )
    return random_wrap_p.bind(words, impl="fry")


def once_more(x):
    """x; if it is a key, one that may be used for a second time, since only one of the uses counts
    in the end. (Nobody asks unless the flag debug_key_reuse is on.)"""
    watched = current_flags().debug_key_reuse and x.dtype == dtypes.key_fry
    return random_clone_p.bind(x) if watched else x
