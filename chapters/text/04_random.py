# %% [markdown]
# # 04 · Random numbers
#
# Random numbers come from **keys**, and a key is a value: nothing happens to it when you draw. You
# learn to make as many keys as you need, to find the place where one was used twice, and to draw in
# functions that are compiled or mapped. At the end you write the generator yourself, and it agrees
# with JAX bit for bit.
#
# You need: chapters 00 to 03. Time: about 45 minutes.

# %%
import zlib

import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import predict

# %% [markdown]
# ## A generator that remembers
#
# Here is how NumPy draws numbers. You set a seed once, and then ask.

# %%
np.random.seed(0)
print(np.random.normal(size=2))
print(np.random.normal(size=2))

# %% [markdown]
# The same call, twice, and two different results. So the result depends on something that you do
# not see: a **state** inside of NumPy, which each call reads and changes.
#
# Who draws first gets the first numbers. Exchange two lines that have nothing to do with each
# other, and both get other values.

# %%
np.random.seed(0)
noise = np.random.normal(size=2)
weights = np.random.normal(size=2)
print("noise first:  ", weights)

np.random.seed(0)
weights = np.random.normal(size=2)
noise = np.random.normal(size=2)
print("weights first:", weights)

# %% [markdown]
# On eight devices nobody knows who is first, unless they all wait in a queue for one generator. And
# you know from [chapter 03](03_purity.ipynb) what transformations do to hidden states: `jit` keeps
# one draw for ever, and `vmap` gives one draw to all rows.
#
# A state could go in and out as a value, as it did there, one draw after the other. JAX found
# something better, which needs no order.
#
# ## A key is a value
#
# `jax.random.key(0)` makes a key of an integer, the seed. Every function that draws takes a key
# first, then the shape.

# %%
key = jax.random.key(0)
print(jax.random.uniform(key, (3,)))
key

# %% [markdown]
# A key is an array of a type of its own, `key<fry>`. What it holds are two **words**, numbers of 32
# bits: a zero and the seed, which is zero, too. ("fry" is short for Threefry, the generator. You will
# meet it below.)
#
# **Predict.** Draw from one key twice, with the same shape. Are the numbers the same?

# %%
predict("04/same-key-twice", ...)  # "same" or "different"

# %% tags=["reveal", "warns"]
key = jax.random.key(1)
print(jax.random.normal(key, (3,)))
print(jax.random.normal(key, (3,)))

# %% [markdown]
# The same. The numbers are a function of the key, as `jnp.sin(x)` is a function of `x`. A key has
# nothing to remember with, and drawing changes nothing.
#
# That is what makes results repeatable. It is also the mistake that everybody makes once: two draws
# that were meant to be independent are not. tinyjax warns about it. JAX says nothing.
#
# How about another shape? **Predict.** The first line draws 3 numbers, the second 6 of the same
# key. Are the first three of the second line those of the first?

# %%
predict("04/first-three", ...)  # "same" or "different"

# %% tags=["reveal", "warns"]
key = jax.random.key(2)
print(jax.random.normal(key, (3,)))
print(jax.random.normal(key, (6,)))

# %% [markdown]
# The same again: number `i` is computed from the key and from `i`, so it does not matter how many
# others there are. (Before JAX 0.5 it mattered, and all numbers were different. A post that shows
# -0.20584226 for `normal(PRNGKey(0), (1,))` is not wrong, but old. Today it is 1.6226422.)
#
# And another distribution? Draw 300 numbers with `uniform` and 300 with `normal`, from one key, and
# plot one against the other. Independent numbers make a cloud. **Predict.** What do these make?

# %%
predict("04/two-distributions", ...)  # "a cloud" or "a curve"

# %% tags=["reveal", "warns"] alt="A scatter plot that is no cloud: all 300 points lie on one smooth curve, which rises from lower left to upper right. The uniform number determines the normal number."
def draw_pairs(u, n):
    """Uniform numbers to the right, normal numbers upwards."""
    plt.figure(figsize=(5, 3.2))
    plt.scatter(u, n, s=8)
    plt.xlabel("uniform")
    plt.ylabel("normal")
    plt.show()


key = jax.random.key(3)
u, n = jax.random.uniform(key, (300,)), jax.random.normal(key, (300,))
draw_pairs(u, n)

# %% [markdown]
# A curve. Both functions make their numbers of the same random bits. Who knows the one knows the
# other, and what you compute from such pairs is worth nothing.
#
# ## split: more keys
#
# So each draw needs a key of its own. `jax.random.split(key, n)` makes `n` new keys of one key, as
# an array. Without `n` it makes two.

# %% alt="A scatter plot of 300 points that fill the whole rectangle without any order, densest around normal = 0: a cloud."
key_u, key_n = jax.random.split(jax.random.key(3))
draw_pairs(jax.random.uniform(key_u, (300,)), jax.random.normal(key_n, (300,)))

# %% [markdown]
# Now it is a cloud.
#
# One rule is enough for all that follows. **Use a key once**: draw from it, or split it. After
# that, forget it.
#
# Here is the rule at work, in a function that makes the weights of a network with layers of given
# sizes. It gets one key and needs one for each layer.

# %%
def make_weights(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        jax.random.normal(k, (n_in, n_out)) / np.sqrt(n_in)
        for k, n_in, n_out in zip(keys, sizes[:-1], sizes[1:])
    ]


for w in make_weights(jax.random.key(4), [2, 16, 16, 1]):
    print(w.shape, f"standard deviation {jnp.std(w):.2f}")

# %% [markdown]
# ## Wide, not deep
#
# Many posts do it in another way. They split off one key at a time, and go on with the rest:
#
# ```python
# key, subkey = jax.random.split(key)
# ```
#
# That is correct. But keys that are made one after the other form a chain, and the thousandth needs
# the 999 before it.

# %%
def chain(key, n):
    numbers = []
    for _ in range(n):
        key, subkey = jax.random.split(key)
        numbers.append(jax.random.normal(subkey))
    return jnp.stack(numbers)


def wide(key, n):
    return jnp.stack([jax.random.normal(k) for k in jax.random.split(key, n)])


# %% [markdown]
# Look at the two trees of keys. Each box in blue is a key, with its two words; each in green is a
# draw.

# %% tags=["tinyjax-only"]
from tinyjax import viz

viz.key_tree(chain, jax.random.key(0), 4)

# %% tags=["tinyjax-only"]
viz.key_tree(wide, jax.random.key(0), 4)

# %% [markdown]
# The chain is as deep as it is long, and its last key is left over. The wide tree has one level:
# all keys are made at once, and can be on many devices.
#
# A compiled program shows the difference. Count the splits in it. (`static_argnums=1` says that `n` is
# a plain number, which the loop can count with.)

# %%
for function in (chain, wide):
    program = jax.make_jaxpr(function, static_argnums=1)(jax.random.key(0), 8)
    print(function.__name__, str(program).count("random_split"))

# %% [markdown]
# In a loop you often do not know how many keys you will need. `jax.random.fold_in(key, i)` makes
# the key for the number `i`. It does not use `key` up, so each step can ask for its own, and step
# 1,000 needs no other step.

# %%
key = jax.random.key(5)
for i in [0, 1, 1000]:
    print(i, jax.random.normal(jax.random.fold_in(key, i)))

# %% [markdown]
# The number may stand for anything: a step, a device, a layer. Below, a name becomes a number by a
# checksum. (Not by Python's `hash`, which is different in each run.)
#
# The chain gives the layers `a`, `b`, `c` a key each, in this order. The other function folds the
# name into the key. Then somebody adds a layer `new` in front.
#
# **Predict.** With the chain, how many of the layers `a`, `b` and `c` keep their weight?

# %%
def by_chain(key, names):
    weights = {}
    for name in names:
        key, subkey = jax.random.split(key)
        weights[name] = jax.random.normal(subkey)
    return weights


def by_name(key, names):
    weights = {}
    for name in names:
        subkey = jax.random.fold_in(key, zlib.crc32(name.encode()))
        weights[name] = jax.random.normal(subkey)
    return weights


predict("04/chain-keeps", ...)  # 0, 1, 2 or 3

# %% tags=["reveal"]
for make in (by_chain, by_name):
    for names in ("a b c", "new a b c"):
        weights = make(jax.random.key(6), names.split())
        print(f"{make.__name__:8}", *[f"{name}: {w:5.2f} " for name, w in weights.items()])

# %% [markdown]
# None: with the chain every weight moves on by one name, and your experiment has changed in a place
# that you did not touch. With `fold_in` all three stay.
#
# ## The reuse in the posts
#
# The line `key, subkey = split(key)` has a trap. Here it is as a number of introductions print it:
# first draw from the key, then split it because more is needed.

# %%
def as_in_posts(key):
    x = jax.random.normal(key, (100,))
    key, subkey = jax.random.split(key)
    noise = jax.random.normal(subkey, (100,))
    return x, noise


x, noise = as_in_posts(jax.random.key(0))
print(x[:3], noise[:3])

# %% [markdown]
# Nothing is said, and the two rows look different. Still the first key was used twice: for a draw,
# and for a split. The flag `jax_debug_key_reuse` looks for this. Switch it on for a block with a
# context.

# %% tags=["raises-exception"]
with jax.debug_key_reuse(True):
    as_in_posts(jax.random.key(0))

# %% [markdown]
# JAX finds it as well, with the same flag. Both look into compiled functions, too. The picture
# shows the key in red.

# %% tags=["tinyjax-only"]
viz.key_tree(as_in_posts, jax.random.key(0))

# %% [markdown]
# Is it harmful? The numbers in `x` and the keys that come from `split` are made of the same bits.
# You will see below how closely: the first numbers of `x` can be computed from the new keys. It
# seldom shows in a result. But nobody promises that it never will, and the cure costs nothing:
# split first, draw afterwards.

# %%
def repaired(key):
    key_x, key_noise = jax.random.split(key)
    return jax.random.normal(key_x, (100,)), jax.random.normal(key_noise, (100,))


with jax.debug_key_reuse(True):
    x, noise = repaired(jax.random.key(0))
print(x[:3], noise[:3])

# %% [markdown]
# The posts make their keys with `jax.random.PRNGKey(0)`, the older way. JAX does not see the reuse
# of those, even with the flag. tinyjax does.

# %% tags=["raises-exception", "tinyjax-only"]
with jax.debug_key_reuse(True):
    as_in_posts(jax.random.PRNGKey(0))

# %% [markdown]
# ## Keys and transformations
#
# A function that draws takes a key as an argument, like everything else that it needs. Then `jit`
# compiles the drawing, and each call gets other numbers from another key. `split` returns an array
# of keys, and `vmap` maps over its first axis as over that of any array: one key for each row.

# %%
@jax.jit
def noisy(key, x):
    return x + jax.random.normal(key)


keys = jax.random.split(jax.random.key(7), 3)
print("three calls:", *[noisy(k, 0.0) for k in keys])
print("vmap:       ", jax.vmap(noisy)(keys, jnp.zeros(3)))

# %% [markdown]
# The same keys, the same numbers.
#
# In a loop, take the number of the step and fold it in. `lax.fori_loop(0, n, body, start)` is the
# loop that compiles: it calls `body(i, value)` for each `i`, and hands on the value.

# %%
key = jax.random.key(8)
lax.fori_loop(0, 1000, lambda i, total: total + jax.random.normal(jax.random.fold_in(key, i)), 0.0)

# %% [markdown]
# Leave `fold_in` out, and all thousand steps add the same number. The flag finds this, too.

# %% tags=["raises-exception"]
with jax.debug_key_reuse(True):
    lax.fori_loop(0, 1000, lambda i, total: total + jax.random.normal(key), 0.0)

# %% [markdown]
# ## A gap to fill: dropout
#
# **Dropout** is used while a network is trained: a random part of its numbers is set to zero, and
# the rest is made larger, so that the mean stays.

# %%
def dropout(key, x, rate=0.5):
    keep = jax.random.bernoulli(key, 1 - rate, x.shape)  # True with probability 1 - rate
    return jnp.where(keep, x / (1 - rate), 0.0)


dropout(jax.random.key(9), jnp.ones(8))

# %% [markdown]
# Now a batch of 12 rows. `jax.vmap(dropout, in_axes=(None, 0))(key, batch)` maps over the rows and
# hands the same key to each. **Predict.** Do the rows lose the same elements, or does each lose
# others?

# %%
predict("04/dropout-of-rows", ...)  # "the same" or "others"

# %% tags=["reveal"] alt="A grid of 12 rows and 32 columns in two colours. Every row is the same, so the picture consists of vertical stripes: the same columns are zero in all rows."
def draw_batch(batch):
    """A row for each row; dark is zero."""
    plt.figure(figsize=(5, 2.3))
    plt.imshow(batch, cmap="gray")
    plt.xlabel("element")
    plt.yticks(range(0, 12, 3))
    plt.ylabel("row")
    plt.show()


batch = jnp.ones((12, 32))
draw_batch(jax.vmap(dropout, in_axes=(None, 0))(jax.random.key(10), batch))

# %% [markdown]
# Stripes: one key, one draw, for every row. Give each row a key of its own.

# %%
dropped = ...  # vmap of dropout again, this time over keys and rows
print(dropped)

# %% [markdown]
# Rows of zeros and twos, each different from the others? Then you have it. Here is one way, with
# its picture.

# %% tags=["solution"] alt="A grid of 12 rows and 32 columns in two colours, without any pattern: each row has its zeros in other places."
keys = jax.random.split(jax.random.key(17), len(batch))
dropped = jax.vmap(dropout)(keys, batch)
draw_batch(dropped)

# %% [markdown]
# (Without `vmap`, `dropout(key, batch)` would do as well: one draw for all 12 times 32 elements.)
#
# ## Inside: a hash, and a counter
#
# From here on you look inside. (If you want to use keys and no more, go on at "key and PRNGKey", near
# the end, which needs nothing of this.)
#
# How can number `i` be computed without the numbers before it? There is no sequence. There is a
# function that scrambles: it takes a key and a **counter**, mixes them thoroughly, and what comes
# out looks random. Number `i` is what comes out for the counter `i`.
#
# The function is called **Threefry**. It has a block of two words of 32 bits, and does three things
# with them, twenty times: add, rotate, xor. (J. Salmon and others, *Parallel random numbers: as
# easy as 1, 2, 3*, 2011.) Here is all of it. (To write it before you read it, stop here and take the
# exercise `tinyjax check 04_random/threefry`.)

# %%
ROTATIONS = [(13, 15, 26, 6), (17, 29, 16, 24)]


def rotate(x, r):
    """The bits of x, moved left by r; those that fall out come in on the right."""
    return (x << r) | (x >> (32 - r))


def threefry(key, x, y):
    """Scramble the two words of a counter, x and y, under the two words of a key."""
    k = [key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(0x1BD11BDA)]
    x, y = x + k[0], y + k[1]
    for i in range(5):
        for r in ROTATIONS[i % 2]:
            x = x + y
            y = rotate(y, r) ^ x
        x = x + k[(i + 1) % 3]  # after four rounds, the key again
        y = y + k[(i + 2) % 3] + jnp.uint32(i + 1)
    return x, y


# %% [markdown]
# (`^` is xor: a bit is 1 where the two differ. Sums drop what goes beyond 32 bits.)
#
# First question: does it scramble? The counters 6 and 7 differ in one bit. **Predict.** In how many
# of the 64 bits do the results differ, in the mean over many such pairs?

# %%
predict("04/one-bit", ...)  # "1", "about 8", "about 32" or "64"

# %% tags=["reveal"]
words = jax.random.key_data(jax.random.key(11))  # the two words of a key
even = jnp.arange(0, 2000, 2, dtype="uint32")
before = jnp.stack(threefry(words, jnp.zeros_like(even), even))
after = jnp.stack(threefry(words, jnp.zeros_like(even), even + 1))
changed = lax.population_count(before ^ after).sum(axis=0)  # how many bits are 1
print(f"{changed.mean():.1f} bits in the mean, from {changed.min()} to {changed.max()}")

# %% [markdown]
# Half of them, as if both results had been drawn by throwing coins. Here are 64 counters in a row,
# and what becomes of them, bit by bit.

# %% alt="Two pictures of 64 rows and 64 columns of bits. Left, the counters 0 to 63: all black but for the last six columns, which show the regular pattern of counting. Right, the counters after threefry: black and white without any pattern."
def bits_of(x, y):
    """The 64 bits of two words, for each of many."""
    words = np.stack([np.asarray(x), np.asarray(y)], axis=1)
    return (words[:, :, None] >> np.arange(31, -1, -1, dtype=np.uint32) & 1).reshape(len(words), 64)


low = jnp.arange(64, dtype="uint32")
high = jnp.zeros_like(low)
fig, axes = plt.subplots(1, 2, figsize=(7, 3.5), sharey=True)
axes[0].imshow(bits_of(high, low), cmap="gray")
axes[0].set_title("counters")
axes[1].imshow(bits_of(*threefry(words, high, low)), cmap="gray")
axes[1].set_title("after threefry")
axes[0].set_ylabel("counter")
for ax in axes:
    ax.set_xlabel("bit")
plt.show()

# %% [markdown]
# Second question: is it the generator of the package? `jax.random.bits(key, (n,))` gives the random
# bits that all draws are made of, a word of 32 bits each. Your function gives two words for each
# counter; the generator takes the xor of the two.

# %%
key = jax.random.key(12)
counter = jnp.arange(1000, dtype="uint32")
first, second = threefry(jax.random.key_data(key), jnp.zeros_like(counter), counter)
print((first ^ second)[:3])
print("all 1,000 the same:", jnp.array_equal(first ^ second, jax.random.bits(key, (1000,))))

# %% [markdown]
# Bit for bit. (The package's own is [random_bits.py](../tinyjax/primitives/random_bits.py), in
# NumPy, for arrays that need not be compiled.)
#
# And where do new keys come from? A key is two words, and so is what comes out for one counter. Key
# `i` of `split` is what comes out for the counter `i`.

# %%
key = jax.random.key(13)
counter = jnp.arange(4, dtype="uint32")
first, second = threefry(jax.random.key_data(key), jnp.zeros_like(counter), counter)
print("threefry:", *zip(first.tolist(), second.tolist()))
print("split:   ", *map(tuple, jax.random.key_data(jax.random.split(key, 4)).tolist()))
print("xor of each pair:", first ^ second)
print("bits of the key: ", jax.random.bits(key, (4,)))

# %% [markdown]
# The last two lines put both together: number `i` that is drawn from a key is the xor of the two
# words of key `i` that is split from it. That is the reuse in the posts, seen from the inside.
#
# `fold_in(key, i)` is Threefry, too, with `i` as the counter. **Predict.** How does `fold_in(key,
# 2)` compare with `split(key, 4)[2]`?

# %%
predict("04/fold-in-and-split", ...)  # "same key" or "different keys"

# %% tags=["reveal"]
print("fold_in:", jax.random.key_data(jax.random.fold_in(key, 2)))
print("split:  ", jax.random.key_data(jax.random.split(key, 4)[2]))

# %% [markdown]
# The same key. So choose one of the two for each key: split it, or fold numbers in. If you need
# both, split first, and fold into one of the new keys. No flag finds this mistake, neither in JAX
# nor here.
#
# ## From bits to numbers
#
# A floating-point number of 32 bits has 1 bit for the sign, 8 for the exponent and 23 for the
# digits. Take 23 random bits for the digits, and the exponent of 1: that is a number from 1 to 2.
# Subtract 1.

# %%
def uniform(key, n):
    counter = jnp.arange(n, dtype="uint32")
    first, second = threefry(jax.random.key_data(key), jnp.zeros_like(counter), counter)
    digits = (first ^ second) >> 9  # 23 bits are left
    one_to_two = lax.bitcast_convert_type(digits | jnp.uint32(0x3F800000), jnp.float32)
    return one_to_two - 1


key = jax.random.key(14)
mine = uniform(key, 1000)
print(mine[:3], mine.min() >= 0, mine.max() < 1)
print("the same:", jnp.array_equal(mine, jax.random.uniform(key, (1000,))))

# %% [markdown]
# Zero can come up, one cannot. Other distributions are functions of uniform numbers. For `normal`
# it is the inverse of the bell curve's integral, which explains the curve that you saw at the
# beginning.

# %%
key = jax.random.key(15)
u = uniform(key, 1000)
mine = np.sqrt(2) * lax.erf_inv(2 * u - 1)
print("largest difference:", f"{jnp.abs(mine - jax.random.normal(key, (1000,))).max():.3f}")

# %% [markdown]
# ## key and PRNGKey
#
# `jax.random.PRNGKey(0)` is the older way to make a key: the two words as an ordinary array. All
# functions take both, and give the same numbers.

# %%
old, new = jax.random.PRNGKey(16), jax.random.key(16)
print(old, old.dtype, new.dtype)
print(jax.random.normal(old), jax.random.normal(new))
print(jax.random.split(old, 3).shape, jax.random.split(new, 3).shape)
print(old + 1)

# %% [markdown]
# Nothing tells you that `old + 1` was computed with a key, as if it were a number. So it happens
# that keys are scaled, averaged, or saved among the weights. A typed key refuses.

# %% tags=["raises-exception"]
new + 1

# %% [markdown]
# Use `key` in what you write. `jax.random.wrap_key_data(old)` makes the one of the other, and
# `key_data` goes back.
#
# ## Build it yourself
#
# The exercises are files in `exercises/04_random`, each with its task at the top; the stars say how
# hard they are. To begin, run `tinyjax watch split_loop` in a terminal: it checks the file at each
# save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer with
# `%%exercise split_loop`. ([How exercises work](../docs/exercises.md).)
#
# - `*` `tinyjax check 04_random/split_loop`: give each step of a loop its key, when nobody knows
#   how many steps there will be.
# - `**` `tinyjax check 04_random/wide_not_deep`: turn a chain of keys into a tree with one level.
# - `**` `tinyjax check 04_random/dropout`: drop whole channels of images, with one key for each
#   image.
# - `***` `tinyjax check 04_random/threefry`: write the hash from its description; the package then
#   draws all its numbers with yours.
# - `***` `tinyjax check 04_random/split`: write the rules of the primitive that splits keys; the
#   package then runs on them.
#
# And to try, beyond the exercises:
#
# 1. Write `shuffled(key, x)`: draw a uniform number for each element, and sort the elements by it
#    (`jnp.argsort`). Do all 6 orders of three elements come up equally often? Use `vmap` and 6,000
#    keys.
# 2. Stop a training loop at step 500 and start it again there. With `fold_in(key, step)` the noise
#    of steps 500 to 999 is as if it had never stopped. What would you have to save with the chain?
# 3. `dropout` in a loop over steps, with the key made inside: `jax.random.key(0)` in the body of
#    the step. What goes wrong? Why can the flag not find it?

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - A key is a value. Same key, same bits, whatever the shape and the distribution.
# - Use a key once. `split(key, n)` for a known number, `fold_in(key, i)` in loops and for names;
#   not both on one key.
# - Inside of `jit`, `vmap` and loops, keys are arguments: one for each call, row and step.
# - `jax.debug_key_reuse(True)` finds reuse; in JAX only with typed keys.
# - A draw is a hash of a key and a counter. There is no state.
#
# In older posts, read `key(0)` for `PRNGKey(0)`, one wide `split` for a chain of `key, subkey =
# split(key)`, and look whether they draw before they split.
#
# **Next:** chapter 05 puts weights into dictionaries and lists, and transforms those.
