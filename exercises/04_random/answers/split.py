# The card of the exercise split. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 3
# minutes: 25

# %% [markdown] statement
# # Where new keys come from
#
# `jax.random.split` binds the primitive `random_split`. Its card, `RandomSplit`, is in
# `tinyjax/primitives/random_bits.py`. Write two rules of this card: they are methods there, and
# functions here. Yours take their place, so `split` and every draw that splits keys run on them.
#
# `impl(keys, *, shape)` computes. `keys` is a NumPy array of keys. Of each it makes an array of new
# keys, which has the given shape.
#
# - The result has the axes of `keys` first, then those of `shape`. For a single key, `keys.shape`
#   is `()`. Under `vmap` it is not: all keys arrive at once.
# - New key `i` of a key is the hash of the counter `i` under that key. Count from 0 for each key,
#   and along the last axis of `shape` first, as NumPy's `reshape` does.
# - `threefry_2x32(words of a key, high, low)` hashes many counters: of each, `high` holds the upper
#   word, here 0, and `low` the lower word, here `i`. Both are uint32 arrays. It returns two arrays:
#   the first words of the new keys, and the second ones.
#
# `type_of(keys, *, shape)` says which type the result has, and computes nothing. `keys` is a
# `ShapedArray` then, and so is the result, with the dtype `key_fry`. Programs are made with it.
#
# `words_of` and `keys_of` lead from keys to their words and back. The two new keys of
# `jax.random.key(0)` have the words `[1797259609, 2579123966]` and `[928981903, 3453687069]`.
#
# Run this file, or `tinyjax check split`, to see whether it is right.

# %% given
import math

import numpy as np

from tinyjax.avals import ShapedArray
from tinyjax.dtypes import key_fry, key_storage
from tinyjax.primitives.random_bits import threefry_2x32


def words_of(keys):
    """The words of keys: uint32[..., 2]."""
    return keys["key"]


def keys_of(words):
    """Keys with these words, uint32[..., 2]."""
    return np.ascontiguousarray(words, np.uint32).view(key_storage)[..., 0]


# %% stub
def impl(keys, *, shape):
    """For each key an array of new keys: of shape (*keys.shape, *shape)."""
    raise NotImplementedError


def type_of(keys, *, shape):
    """The type of the result, for keys of this type."""
    raise NotImplementedError


# %% [markdown] hint
# How would you make `n` new keys of a single key, with one call of `threefry_2x32`?

# %% [markdown] hint
# The counters of one key are `np.arange(math.prod(shape), dtype=np.uint32)`. The hash gives two
# arrays. Put them side by side on a last axis of 2, and reshape what comes before it to `shape`. Do
# that for each key: `np.ndindex(keys.shape)` goes through all places.

# %% [markdown] hint
#     def impl(keys, *, shape):
#         words = words_of(keys)
#         low = np.arange(..., dtype=np.uint32)
#         new = np.empty((*keys.shape, *shape, 2), np.uint32)
#         for place in np.ndindex(keys.shape):
#             pair = threefry_2x32(words[place], np.zeros_like(low), low)
#             new[place] = np.stack(pair, axis=...).reshape(...)
#         return keys_of(new)
#
#
#     def type_of(keys, *, shape):
#         return ShapedArray(..., key_fry)

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax.learn import check, run_examples

tinyjax_only = True
seconds = 30.0


def install(student):
    """The student's rules on the card of random_split, also for what kernels have lines for."""
    from tinyjax.compiler import keys
    from tinyjax.primitives.random_bits import RandomSplit

    RandomSplit.impl = lambda self, keys, *, shape: student.impl(keys, shape=shape)
    RandomSplit.type = lambda self, keys, *, shape: student.type_of(keys, shape=shape)
    keys.HASHES.pop("random_split", None)


def draw(rng):
    """A seed, and three different sizes."""
    sizes = rng.permutation([2, 3, 4, 5])
    return {"seed": int(rng.integers(1, 10_000)), "sizes": [int(n) for n in sizes[:3]]}


def words(keys):
    """The words of keys, in hexadecimal, nested like the keys."""
    if not keys.shape:
        return "-".join(f"{word:08x}" for word in jax.random.key_data(keys).tolist())
    return [words(key) for key in keys]


@check("split in many, in a table, draws, and the package's own examples")
def package(student, seed, sizes):
    n, rows, columns = sizes
    with jax.debug_key_reuse(False):  # a wrong rule makes equal keys; here only the words count
        one, two, three, four = jax.random.split(jax.random.key(seed), 4)
        return {
            "split in many": words(jax.random.split(one, n)),
            "split in a table": words(jax.random.split(two, (rows, columns))),
            "randint": jax.random.randint(three, (4,), 0, 1000),
            "in a program": words(jax.jit(jax.random.split)(four)),
            "examples": run_examples(jax.random.split, jax.random.randint, jax.random.permutation),
        }


@check("vmap over keys")
def mapped(student, seed, sizes):
    n, rows, columns = sizes
    with jax.debug_key_reuse(False):
        data = np.arange(2 * rows * columns, dtype=np.uint32).reshape(rows, columns, 2) + seed
        keys = jax.random.wrap_key_data(data)
        split = jax.vmap(jax.vmap(lambda key: jax.random.split(key, n)))(keys)
        return words(split)


@check("the type, in a program")
def typed(student, seed, sizes):
    n, rows, columns = sizes
    data = np.arange(2 * rows, dtype=np.uint32).reshape(rows, 2) + seed
    split = jax.vmap(lambda key: jax.random.split(key, (n, columns)))
    program = jax.make_jaxpr(split)(jax.random.wrap_key_data(data))
    return [str(v.aval) for v in program.jaxpr.outvars]


# %% reference
def impl(keys, *, shape):
    """For each key an array of new keys: of shape (*keys.shape, *shape)."""
    words = words_of(keys)
    low = np.arange(math.prod(shape), dtype=np.uint32)
    new = np.empty((*keys.shape, *shape, 2), np.uint32)
    for place in np.ndindex(keys.shape):  # the key is in the hash: each can count from 0
        pair = threefry_2x32(words[place], np.zeros_like(low), low)
        new[place] = np.stack(pair, axis=-1).reshape(*shape, 2)
    return keys_of(new)


def type_of(keys, *, shape):
    """The type of the result, for keys of this type."""
    return ShapedArray((*keys.shape, *shape), key_fry)


# %% right: recursion over the axes of the keys
def impl(keys, *, shape):
    if keys.ndim:
        if not len(keys):
            return np.empty((*keys.shape, *shape), key_storage)
        return np.stack([impl(k, shape=shape) for k in keys])
    zähler = np.arange(np.prod(shape, dtype=int)).astype(np.uint32)
    x, y = threefry_2x32(words_of(keys), 0 * zähler, zähler)
    return keys_of(np.array([x, y]).T).reshape(shape)


def type_of(keys, *, shape):
    return ShapedArray((*keys.shape, *shape), key_fry)


# %% right: all keys at once
def impl(keys, *, shape):
    # words of the key that broadcast: the hash only adds and xors them
    size = math.prod(shape)
    k = np.moveaxis(words_of(keys), -1, 0)[..., None]
    low = np.broadcast_to(np.arange(size, dtype=np.uint32), (*keys.shape, size))
    pairs = [threefry_2x32(w, h, c) for w, h, c in zip(*flat(k, low))]
    return keys_of(np.stack(pairs).swapaxes(1, 2)).reshape(*keys.shape, *shape)


def flat(k, low):
    rows = low.reshape(-1, low.shape[-1])
    return k.reshape(2, -1).T, np.zeros_like(rows), rows


def type_of(keys, *, shape):
    return ShapedArray((*keys.shape, *shape), key_fry)


# %% right: one counter after the other, in a class
class Split:
    def __init__(self, shape):
        self.shape = shape

    def one(self, words, i):
        x, y = threefry_2x32(words, np.uint32([0]), np.uint32([i]))
        return x[0], y[0]

    def __call__(self, words):
        pairs = [self.one(words, i) for i in range(math.prod(self.shape))]
        return np.array(pairs, np.uint32).reshape(*self.shape, 2)


def impl(keys, *, shape):
    words = words_of(keys).reshape(-1, 2)
    return keys_of(np.array([*map(Split(shape), words)])).reshape(keys.shape + tuple(shape))


def type_of(keys, *, shape):
    return keys.update(shape=keys.shape + tuple(shape))


# %% right: with the counters in the shape
def impl(keys, *, shape):
    low = np.arange(math.prod(shape), dtype=np.uint32).reshape(shape)
    high = np.zeros(shape, np.uint32)
    new = np.empty(keys.shape + shape, key_storage)
    for place, words in zip(np.ndindex(keys.shape), words_of(keys).reshape(-1, 2)):
        new["key"][place][..., 0], new["key"][place][..., 1] = threefry_2x32(words, high, low)
    return new


def type_of(keys, *, shape):
    return ShapedArray((*keys.shape, *shape), key_fry)


# %% wrong: counted from 1
# You counted from 1: new key number 0 is the hash of the counter 0.
def impl(keys, *, shape):
    words = words_of(keys)
    low = np.arange(1, math.prod(shape) + 1, dtype=np.uint32)
    new = np.empty((*keys.shape, *shape, 2), np.uint32)
    for place in np.ndindex(keys.shape):
        pair = threefry_2x32(words[place], np.zeros_like(low), low)
        new[place] = np.stack(pair, axis=-1).reshape(*shape, 2)
    return keys_of(new)


# %% wrong: the same counter for all
# You hashed the same counter again and again: then all new keys are equal, so count.
def impl(keys, *, shape):
    words = words_of(keys)
    low = np.zeros(math.prod(shape), np.uint32)
    new = np.empty((*keys.shape, *shape, 2), np.uint32)
    for place in np.ndindex(keys.shape):
        pair = threefry_2x32(words[place], np.zeros_like(low), low)
        new[place] = np.stack(pair, axis=-1).reshape(*shape, 2)
    return keys_of(new)


# %% wrong: the counter in the upper word
# You put the counter into the upper word: it belongs into the lower one.
def impl(keys, *, shape):
    words = words_of(keys)
    low = np.arange(math.prod(shape), dtype=np.uint32)
    new = np.empty((*keys.shape, *shape, 2), np.uint32)
    for place in np.ndindex(keys.shape):
        pair = threefry_2x32(words[place], low, np.zeros_like(low))
        new[place] = np.stack(pair, axis=-1).reshape(*shape, 2)
    return keys_of(new)


# %% wrong: the xor of the words
# You took the xor of the two words, as for random bits: a new key is both words.
def impl(keys, *, shape):
    words = words_of(keys)
    low = np.arange(math.prod(shape), dtype=np.uint32)
    new = np.empty((*keys.shape, *shape, 2), np.uint32)
    for place in np.ndindex(keys.shape):
        pair = threefry_2x32(words[place], np.zeros_like(low), low)
        new[place] = np.stack([pair[0] ^ pair[1]] * 2, axis=-1).reshape(*shape, 2)
    return keys_of(new)


# %% wrong: no hash
# You added the counter to the key: such keys are neighbours, so hash the counter under the key.
def impl(keys, *, shape):
    words = words_of(keys)
    low = np.arange(math.prod(shape), dtype=np.uint32)
    new = np.empty((*keys.shape, *shape, 2), np.uint32)
    for place in np.ndindex(keys.shape):
        pair = words[place][0] + np.zeros_like(low), words[place][1] + low
        new[place] = np.stack(pair, axis=-1).reshape(*shape, 2)
    return keys_of(new)


# %% wrong: a chain
# You made each new key of the one before: each is the hash of its counter under the old key.
def impl(keys, *, shape):
    words = words_of(keys)
    low = np.arange(math.prod(shape), dtype=np.uint32)
    new = np.empty((*keys.shape, *shape, 2), np.uint32)
    for place in np.ndindex(keys.shape):
        key, chain = words[place], []
        for _ in low:
            pair = threefry_2x32(key, np.zeros(2, np.uint32), np.arange(2, dtype=np.uint32))
            key, subkey = np.stack(pair, axis=-1)
            chain.append(subkey)
        new[place] = np.array(chain).reshape(*shape, 2)
    return keys_of(new)


# %% wrong: the key is ignored
# You ignored the words of the key: then every key has the same new keys.
def impl(keys, *, shape):
    words = np.zeros((*keys.shape, 2), np.uint32)
    low = np.arange(math.prod(shape), dtype=np.uint32)
    new = np.empty((*keys.shape, *shape, 2), np.uint32)
    for place in np.ndindex(keys.shape):
        pair = threefry_2x32(words[place], np.zeros_like(low), low)
        new[place] = np.stack(pair, axis=-1).reshape(*shape, 2)
    return keys_of(new)


# %% wrong: the pairs cut in the wrong way
# You put one array behind the other: the two words of a key stand side by side, on the last axis.
def impl(keys, *, shape):
    words = words_of(keys)
    low = np.arange(math.prod(shape), dtype=np.uint32)
    new = np.empty((*keys.shape, *shape, 2), np.uint32)
    for place in np.ndindex(keys.shape):
        pair = threefry_2x32(words[place], np.zeros_like(low), low)
        new[place] = np.stack(pair, axis=0).reshape(*shape, 2)
    return keys_of(new)


# %% wrong: counted along the first axis
# You counted along the first axis of shape: count along the last one first, as reshape does.
def impl(keys, *, shape):
    words = words_of(keys)
    low = np.arange(math.prod(shape), dtype=np.uint32)
    new = np.empty((*keys.shape, *shape, 2), np.uint32)
    for place in np.ndindex(keys.shape):
        pair = threefry_2x32(words[place], np.zeros_like(low), low)
        new[place] = np.stack([w.reshape(shape, order="F") for w in pair], axis=-1)
    return keys_of(new)


# %% wrong: only the first key
# You split only the first key of an array: each of them has new keys of its own.
def impl(keys, *, shape):
    words = words_of(keys)
    low = np.arange(math.prod(shape), dtype=np.uint32)
    new = np.empty((*keys.shape, *shape, 2), np.uint32)
    for place in np.ndindex(keys.shape):
        pair = threefry_2x32(words.reshape(-1, 2)[0], np.zeros_like(low), low)
        new[place] = np.stack(pair, axis=-1).reshape(*shape, 2)
    return keys_of(new)


# %% wrong: one count for all keys
# You went on counting from one key to the next: count from 0 for each key.
def impl(keys, *, shape):
    words = words_of(keys)
    low = np.arange(math.prod(shape), dtype=np.uint32)
    new = np.empty((*keys.shape, *shape, 2), np.uint32)
    for n, place in enumerate(np.ndindex(keys.shape)):
        pair = threefry_2x32(words[place], np.zeros_like(low), low + np.uint32(n * low.size))
        new[place] = np.stack(pair, axis=-1).reshape(*shape, 2)
    return keys_of(new)


# %% wrong: the new axes first
# You put the axes of shape first: the axes of keys come first, then those of shape.
def impl(keys, *, shape):
    words = words_of(keys)
    low = np.arange(math.prod(shape), dtype=np.uint32)
    new = np.empty((*shape, *keys.shape, 2), np.uint32)
    for place in np.ndindex(keys.shape):
        pair = threefry_2x32(words[place], np.zeros_like(low), low)
        new[(slice(None),) * len(shape) + place] = np.stack(pair, axis=-1).reshape(*shape, 2)
    return keys_of(new)


# %% wrong: the type of a single key
# Your type leaves out the axes of keys: those come first, then the axes of shape.
def type_of(keys, *, shape):
    return ShapedArray(shape, key_fry)


# %% wrong: the type has the new axes first
# Your type has the axes of shape first: the axes of keys come first.
def type_of(keys, *, shape):
    return ShapedArray((*shape, *keys.shape), key_fry)


# %% wrong: the type of the words
# Your type is that of the words: the result consists of keys, whose dtype is key_fry.
def type_of(keys, *, shape):
    return ShapedArray((*keys.shape, *shape, 2), np.dtype(np.uint32))


# %% wrong: one axis in the type
# Your type has one axis for all new keys: it has all axes of shape.
def type_of(keys, *, shape):
    return ShapedArray((*keys.shape, math.prod(shape)), key_fry)
