# The card of the exercise threefry. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 3
# minutes: 25

# %% [markdown] statement
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

# %% given
import numpy as np


# %% stub
def threefry_2x32(key, high, low):
    """Scramble counters of two words (uint32 arrays of one shape) under a key of two words."""
    raise NotImplementedError


# %% [markdown] hint
# A rotation by 13 moves 19 of the 32 bits to the left. How do the other 13 come in on the right?

# %% [markdown] hint
# `x << r` drops the bits that fall out, and `x >> (32 - r)` has just those, on the right. `|` puts
# both together. This works as long as the words are unsigned: a negative number brings in ones.

# %% [markdown] hint
#     def rotate(x, r):
#         return (x << np.uint32(r)) | (x >> np.uint32(...))
#
#
#     def threefry_2x32(key, high, low):
#         k = [key[0], key[1], ...]
#         x, y = high + k[0], low + k[1]
#         for g in range(1, 6):
#             for r in (...) if g % 2 else (...):
#                 x = x + y
#                 y = ...
#             x = x + k[g % 3]
#             y = y + ... + np.uint32(g)
#         return x, y

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax.learn import check, run_examples

tinyjax_only = True
seconds = 30.0


def install(student):
    """The student's hash in place of the package's, and of the copies that are made for speed."""
    from tinyjax.compiler import keys
    from tinyjax.primitives import generators, random_bits

    def hash_one(key, high, low):
        words = [np.array([int(word)], np.uint32) for word in (high, low)]
        return [int(word[0]) for word in student.threefry_2x32(np.asarray(key), *words)]

    random_bits.threefry_2x32 = generators.threefry_2x32 = student.threefry_2x32
    random_bits.hash_one = hash_one
    random_bits.FEW = -1  # so many counters, at most, are hashed by hash_one
    keys.HASHES.clear()  # what kernels have lines for


def draw(rng):
    """Random words: a key and some counters."""
    words = rng.integers(0, 2**32, size=(3, 5), dtype=np.uint32)
    return {"key": words[0, :2], "high": words[1], "low": words[2]}


def draw_seed(rng):
    """A seed."""
    return {"seed": int(rng.integers(1, 10_000))}


def show(words):
    """Words in hexadecimal."""
    return [f"{int(word) & 0xFFFFFFFF:08x}" for word in np.asarray(words).reshape(-1)]


@check("the words of five counters")
def words(student, key, high, low):
    high, low = np.array(high), np.array(low)
    x, y = student.threefry_2x32(np.array(key), high, low)
    return {"x": show(x), "y": show(y), "counters afterwards": show([high, low])}


@check("new keys, draws, and the package's own examples", draw=draw_seed)
def package(student, seed):
    key = jax.random.key(seed)
    k1, k2, k3 = keys = jax.random.split(key, 3)
    folded = jax.random.fold_in(jax.random.clone(key), 2**31 + seed)
    return {
        "split": show(jax.random.key_data(keys)),
        "fold_in": show(jax.random.key_data(folded)),
        "uniform": jax.random.uniform(k1, (4,)),
        "normal": jax.random.normal(k2, (2, 2)),
        "permutation": jax.random.permutation(k3, 6),
        "in a program": show(jax.random.key_data(jax.jit(jax.random.split)(folded))),
        "examples": run_examples(jax.random.split, jax.random.uniform, jax.random.permutation),
    }


# %% reference
def rotate(x, r):
    """The bits of x, moved left by r; those that fall out come in on the right."""
    return (x << np.uint32(r)) | (x >> np.uint32(32 - r))


def threefry_2x32(key, high, low):
    """Scramble counters of two words (uint32 arrays of one shape) under a key of two words."""
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = high + k[0], low + k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = rotate(y, r) ^ x
        x = x + k[g % 3]  # the key again: without it, one could run the rounds backwards
        y = y + k[(g + 1) % 3] + np.uint32(g)
    return x, y


# %% right: Python's numbers
GROUPS = [(13, 15, 26, 6), (17, 29, 16, 24)] * 2 + [(13, 15, 26, 6)]


def hashed(key, x, y, mask=0xFFFFFFFF):
    k0, k1 = map(int, key)
    k = [k0, k1, k0 ^ k1 ^ 0x1BD11BDA]
    x, y = (x + k0) & mask, (y + k1) & mask
    for g, rotations in enumerate(GROUPS):
        for r in rotations:
            x = (x + y) & mask
            y = ((y << r) & mask | y >> (32 - r)) ^ x
        x = (x + k[(g + 1) % 3]) & mask
        y = (y + k[(g + 2) % 3] + g + 1) & mask
    return x, y


def threefry_2x32(key, high, low):
    pairs = [hashed(key, x, y) for x, y in zip(high.tolist(), low.tolist())]
    return np.array(pairs, np.uint32).reshape(-1, 2).T


# %% right: in place, on copies
def threefry_2x32(key, high, low):
    k = np.array([key[0], key[1], key[0] ^ key[1] ^ np.uint32(466688986)])
    x, y = high.copy(), low.copy()
    x += k[0]
    y += k[1]
    spare = np.empty_like(y)
    for g in range(5):
        for r in [[13, 15, 26, 6], [17, 29, 16, 24]][g % 2]:
            np.add(x, y, out=x)
            np.left_shift(y, np.uint32(r), out=spare)
            np.right_shift(y, np.uint32(32 - r), out=y)
            y += spare
            y ^= x
        x += k[(g + 1) % 3]
        y += k[(g + 2) % 3]
        y += np.uint32(g + 1)
    return [x, y]


# %% right: in words of 64 bits
def threefry_2x32(key, high, low):
    word = np.uint64(0xFFFFFFFF)
    k0, k1 = key.astype(np.uint64)
    schedule = [k1, k0 ^ k1 ^ np.uint64(0x1BD11BDA), k0]
    x, y = (high + k0) & word, (low + k1) & word
    rounds = [13, 15, 26, 6, 17, 29, 16, 24] * 2 + [13, 15, 26, 6]
    for i, r in enumerate(rounds, start=1):
        x = (x + y) & word
        wide = y << np.uint64(r)
        y = ((wide & word) | (wide >> np.uint64(32))) ^ x
        if i % 4 == 0:
            g = i // 4
            x = (x + schedule[(g - 1) % 3]) & word
            y = (y + schedule[g % 3] + np.uint64(g)) & word
    return x, y


# %% right: a class, and jax.numpy
import tinyjax.numpy as jnp


class Threefry:
    def __init__(self, clé):
        k0, k1 = (jnp.uint32(int(k)) for k in clé)
        self.k = k0, k1, k0 ^ k1 ^ jnp.uint32(0x1BD11BDA)

    def group(self, g, x, y):
        for r in ((17, 29, 16, 24), (13, 15, 26, 6))[g % 2]:
            x = x + y
            y = (y << r | y >> (32 - r)) ^ x
        return x + self.k[g % 3], y + self.k[(g + 1) % 3] + jnp.uint32(g)

    def __call__(self, x, y):
        x, y = jnp.asarray(x) + self.k[0], jnp.asarray(y) + self.k[1]
        for g in range(1, 6):
            x, y = self.group(g, x, y)
        return np.asarray(x), np.asarray(y)


def threefry_2x32(key, high, low):
    return Threefry(key)(high, low)


# %% wrong: signed rotation
# Your words are signed: their shift to the right brings in copies of the sign, so use uint32.
def rotate(x, r):
    x = x.view(np.int32)
    return ((x << r) | (x >> (32 - r))).view(np.uint32)


# %% wrong: to the right
# You rotated to the right: the bits move to the left, and those that fall out come in on the right.
def rotate(x, r):
    return (x >> np.uint32(r)) | (x << np.uint32(32 - r))


# %% wrong: shifted, not rotated
# You shifted and lost the bits that fall out on the left: they come in on the right again.
def rotate(x, r):
    return x << np.uint32(r)


# %% wrong: words without an end
# You let words grow beyond 32 bits: then the bits that fell out are still there, so cut them off.
def rotate(x, r):
    return (x << np.uint64(r)) | (x >> np.uint64(32 - r))


def threefry_2x32(key, high, low):
    key, high, low = (np.asarray(words, np.uint64) for words in (key, high, low))
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint64(0x1BD11BDA)]
    x, y = high + k[0], low + k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = rotate(y, r) ^ x
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3] + np.uint64(g)
    return x.astype(np.uint32), y.astype(np.uint32)


# %% wrong: xor before the rotation
# You did the xor before the rotation: rotate y first, then xor the result with x.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = high + k[0], low + k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = rotate(y ^ x, r)
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3] + np.uint32(g)
    return x, y


# %% wrong: always the same rotations
# You rotated by the same four numbers in every group: groups 2 and 4 use 17, 29, 16, 24.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = high + k[0], low + k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3] + np.uint32(g)
    return x, y


# %% wrong: four groups
# You did four groups: there are five, which makes 20 rounds.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = high + k[0], low + k[1]
    for g in range(1, 5):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3] + np.uint32(g)
    return x, y


# %% wrong: groups counted from 0
# You counted the groups from 0: they are groups 1 to 5, so the first rotates by 13, 15, 26, 6, and
# adds words 1 and 2 of the key.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = high + k[0], low + k[1]
    for g in range(5):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3] + np.uint32(g)
    return x, y


# %% wrong: the words of groups counted from 0
# You rotated as you should, but counted the groups from 0 afterwards: after the first group, g
# is 1.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = high + k[0], low + k[1]
    for g in range(5):
        for r in (17, 29, 16, 24) if g % 2 else (13, 15, 26, 6):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3] + np.uint32(g)
    return x, y


# %% wrong: no constant
# You left the constant out of the third word: it is k0 ^ k1 ^ 0x1BD11BDA.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1]]
    x, y = high + k[0], low + k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3] + np.uint32(g)
    return x, y


# %% wrong: no key at the start
# You left the key out at the start: x is high + k0, and y is low + k1.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = high, low
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3] + np.uint32(g)
    return x, y


# %% wrong: no number of the group
# You left out the number of the group: g is added to y after group g.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = high + k[0], low + k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3]
    return x, y


# %% wrong: the words of the key in the wrong order
# You started again with word 0 of the key after group 1: group g takes words g % 3 and (g + 1) % 3.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = high + k[0], low + k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[(g - 1) % 3]
        y = y + k[g % 3] + np.uint32(g)
    return x, y


# %% wrong: one word of the key for both
# You added the same word of the key to x and y: y gets the next one, word (g + 1) % 3.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = high + k[0], low + k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[g % 3]
        y = y + k[g % 3] + np.uint32(g)
    return x, y


# %% wrong: the results exchanged
# You returned y and x: the order is x, y.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = high + k[0], low + k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3] + np.uint32(g)
    return y, x


# %% wrong: the upper words are ignored
# You ignored the upper words of the counters: x starts as high + k0.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = k[0] + 0 * low, low + k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3] + np.uint32(g)
    return x, y


# %% wrong: the key is ignored
# You ignored the key: without it, everybody would draw the same numbers.
def threefry_2x32(key, high, low):
    k = [np.uint32(0), np.uint32(0), np.uint32(0x1BD11BDA)]
    x, y = high + k[0], low + k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3] + np.uint32(g)
    return x, y


# %% wrong: the counters are overwritten
# You wrote into the counters: they belong to the caller, so make new arrays with x = x + y.
def threefry_2x32(key, high, low):
    k = [key[0], key[1], key[0] ^ key[1] ^ np.uint32(0x1BD11BDA)]
    x, y = high, low
    x += k[0]
    y += k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        x = x + k[g % 3]
        y = y + k[(g + 1) % 3] + np.uint32(g)
    return x, y


# %% wrong: the key is overwritten
# You wrote into the key: it is the user's own, who will go on with it, so make a list of your own.
def threefry_2x32(key, high, low):
    k = key
    last = k[0] ^ k[1] ^ np.uint32(0x1BD11BDA)
    x, y = high + k[0], low + k[1]
    for g in range(1, 6):
        for r in (13, 15, 26, 6) if g % 2 else (17, 29, 16, 24):
            x = x + y
            y = (y << np.uint32(r) | y >> np.uint32(32 - r)) ^ x
        k[0], k[1], last = k[1], last, k[0]  # the words take turns
        x = x + k[0]
        y = y + k[1] + np.uint32(g)
    return x, y
