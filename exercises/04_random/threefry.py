# %% [markdown]
# # The hash behind every random number
#
# All of `jax.random` rests on one function, `threefry_2x32` in `tinyjax/primitives/random_bits.py`.
# The cards of the primitives `random_bits`, `random_split` and `random_fold_in` call it. Write it.
# For this exercise yours takes its place: new keys and all draws will come from it.
#
# It scrambles many counters at once. `key` is a NumPy array of two words, uint32. `high` and `low`
# are arrays of one shape: the upper and the lower word of each counter. Return two such arrays,
# `x` and `y`. The arguments belong to others: do not write into them.
#
# 1. There are three words of the key: `k0`, `k1`, and `k2`, which is `k0 ^ k1 ^ 0x1BD11BDA`.
# 2. Start with `x = high + k0` and `y = low + k1`.
# 3. A **round** is: add `y` to `x`; then rotate the bits of `y` to the left by `r`, and xor the
#    result with `x`: that is the new `y`. Bits that fall out on the left come in on the right.
# 4. There are five groups of four rounds. In groups 1, 3 and 5, `r` is 13, 15, 26, 6; in groups 2
#    and 4 it is 17, 29, 16, 24.
# 5. After group `g`, add word number `g % 3` of the key to `x`, and word number `(g + 1) % 3`, plus
#    `g`, to `y`.
#
# Sums drop what goes beyond 32 bits. NumPy's uint32 does that by itself. For the key 0, 0 and the
# counter 0, 0 the result is `0x6b200159`, `0x99ba4efe`.
#
# Run this file, or `tinyjax check threefry`, to see whether it is right.

# %%
import numpy as np


def threefry_2x32(key, high, low):
    """Scramble counters of two words (uint32 arrays of one shape) under a key of two words."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "threefry"]))
