# %% [markdown]
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

# %%
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


def impl(keys, *, shape):
    """For each key an array of new keys: of shape (*keys.shape, *shape)."""
    raise NotImplementedError


def type_of(keys, *, shape):
    """The type of the result, for keys of this type."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "split"]))
