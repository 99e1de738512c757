# %% [markdown]
# # 00 · Arrays
#
# Arrays here look like NumPy's and behave like values: nothing changes them. In this chapter you learn
# to read them, to "change" them all the same, and to foresee their types. At the end you look under
# the surface: what a call such as `jnp.mean(x)` is made of.
#
# You need: some NumPy. Time: about 40 minutes.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import predict

# %% [markdown]
# The line `import tinyjax as jax` makes this notebook run on tinyjax, a JAX that is small enough to
# read. Write `import jax`, `import jax.numpy as jnp` and `from jax import lax` instead, and the
# notebook runs on JAX. (`predict` keeps your answers; it works with both.)
#
# ## What JAX is
#
# JAX is four things put together.
#
# - **NumPy**: the interface. `jax.numpy`, called `jnp`, has NumPy's functions under NumPy's names.
# - **Autograd**: derivatives of Python functions. Autograd is an older package that differentiates
#   NumPy programs; JAX is its successor.
# - **XLA**: a compiler for array programs, for CPUs, GPUs and TPUs. (tinyjax has a compiler of its
#   own in its place, which makes kernels for the CPU with Numba.)
# - **Composable function transformations**: the way you reach the other two. A transformation takes a
#   function and returns a function.
#
# Here is all of it in a few lines. `f` is ordinary Python.

# %%
def f(x):
    return x * jnp.sin(x)  # the interface of NumPy


derivative = jax.grad(f)  # a function: f'
compiled = jax.jit(f)  # a function: f, compiled
for_many = jax.vmap(f)  # a function: f of each element

print(f(2.0), derivative(2.0), compiled(2.0))
print(for_many(jnp.array([1.0, 2.0, 3.0])))

# %% [markdown]
# *Composable* means that the result of a transformation can be transformed again. Read this from the
# inside out: the second derivative, for each element, compiled.

# %%
jax.jit(jax.vmap(jax.grad(jax.grad(f))))(jnp.array([1.0, 2.0, 3.0]))

# %% [markdown]
# The transformations have chapters of their own. They all rest on one thing: functions of arrays that
# nobody changes. So arrays come first.
#
# ## Arrays

# %%
x = jnp.arange(5.0)
print(x.shape, x.dtype, x.ndim, x.size)
print(x[1], x[-1], x[1:3])
print(x + 1, jnp.sqrt(x), x.sum())
print(isinstance(x, jax.Array))
x

# %% [markdown]
# `jax.Array` is the type to test for and to write in annotations. Older posts say `DeviceArray`; that
# name is gone.
#
# NumPy takes these arrays, and `jnp` takes NumPy's. But what a NumPy function returns is a NumPy
# array, and a transformation cannot look into NumPy. In functions that you want to transform, use
# `jnp`.

# %%
print("np.sin(x) is a NumPy array:", isinstance(np.sin(x), np.ndarray))
print("jnp.sin(x) is a JAX array: ", isinstance(jnp.sin(np.ones(3)), jax.Array))

# %% [markdown]
# Lists are refused, where NumPy converts them: a list of a million numbers would be slow, and you
# would not notice. Say `jnp.array(...)` yourself.

# %% tags=["raises-exception"]
jnp.sum([1, 2, 3])

# %% [markdown]
# ## Nothing changes an array
#
# **Predict.** What does `x[0] = 10` do?
#
# - `"a"`: it changes the first element of `x`.
# - `"b"`: it raises an error.
# - `"c"`: it makes a new array and calls that `x`.
#
# Put your answer in place of the dots, in quotes. Nobody marks it: a guess you have committed to is
# what makes the next cell worth reading. (Its output is folded. Run it, then click on the dots.)

# %%
predict("00/assign", ...)  # "a", "b" or "c"

# %% tags=["reveal", "raises-exception"]
x[0] = 10

# %% [markdown]
# An error, and it tells you what to write. `x.at[0].set(10)` returns a **new** array. The old one
# stays as it was.

# %%
y = x.at[0].set(10)
print(y)
print(x)

# %% [markdown]
# Why so? A transformation replays your function, on other inputs, in another order, on another
# machine. That works when a function only takes values and returns values. A function that wrote into
# its arguments would have to be replayed together with everybody who holds them.
#
# Is it wasteful to copy an array in order to set one element? In a compiled function the compiler
# writes in place wherever nobody needs the old array any more. (What you passed in counts as needed:
# you may still hold it.)
#
# After `.at[...]` come `set`, `add`, `subtract`, `multiply`, `divide`, `power`, `min`, `max`, `apply`
# and `get`. The index is any that NumPy knows, except a list: instead of `[0, 2]` write
# `jnp.array([0, 2])`.

# %%
grid = jnp.zeros((3, 4))
print(grid.at[1].set(7))
print(grid.at[:, 2].add(jnp.array([1.0, 2.0, 3.0])))
print(x.at[x > 2].multiply(10))

# %% [markdown]
# (Older posts write `jax.ops.index_update(x, 0, 10)` and `jax.ops.index_add(...)`. Both are gone:
# `.at` replaced them.)
#
# **Predict.** In NumPy, `a[[0, 0]] += 1` raises the first element by 1: the second addition overwrites
# the first. What is the first element of `jnp.zeros(3).at[jnp.array([0, 0])].add(1)`?

# %%
predict("00/add-twice", ...)  # 1 or 2

# %% tags=["reveal"]
a = np.zeros(3)
a[[0, 0]] += 1
print("NumPy:", a)
print("here: ", jnp.zeros(3).at[jnp.array([0, 0])].add(1))

# %% [markdown]
# Two: every addition counts. That makes `.at[...].add` the way to count things, as you will do below.
#
# What about `b += 1`, without an index? It is allowed, as `b = b + 1`: the *name* gets another array.
# Whoever holds the old one sees no change.

# %%
b = jnp.zeros(3)
c = b
b += 1
print(b, c)

# %% [markdown]
# With NumPy, `c` would have changed as well. If you ever hunted for the function that changed your
# array, you know what this is worth.
#
# ## Beyond the end
#
# **Predict.** `x` has five elements, 0 to 4. What is `x[10]`?

# %%
predict("00/beyond-the-end", ...)  # "an error", "nan" or "4.0"

# %% tags=["reveal", "warns"]
x[10]

# %% [markdown]
# You get the last element. A compiled program on a GPU cannot well stop in the middle and raise an
# error, so JAX settled what happens instead: an index for **reading** is clipped to the nearest
# element, and an index for **writing** beyond the end writes nothing. JAX does both in silence. tinyjax
# does the same, and warns where it can see that you wrote such an index.
#
# Indices that were computed get no warning. `get` with a fill value makes the mistake visible. Slices
# end at the end, as in Python, and negative indices count from there, as in Python.

# %%
position = jnp.array([1, 10])
print("writing:  ", x.at[position].set(99.0))
print("with fill:", x.at[position].get(mode="fill", fill_value=jnp.nan))
print("slices:   ", x[3:100], x[-2])

# %% [markdown]
# ## Types: 32 bits, and what mixes with what
#
# NumPy computes with 64 bits unless told otherwise. JAX computes with 32: GPUs and neural networks
# are made for that. An array of NumPy's is shortened when it comes in.

# %%
from_numpy = np.array([0.1, 0.2])
print(from_numpy.dtype, jnp.array(from_numpy).dtype, jnp.arange(3).dtype)

# %% [markdown]
# **Predict.** A number with 32 bits has 24 binary digits for its value. 16,777,216 is 2 to the power
# of 24. What is `big + 1`?

# %%
big = jnp.array(16_777_216.0)
predict("00/big-plus-one", ...)  # a number

# %% tags=["reveal"]
print(f"{big + 1:,.0f}")

# %% [markdown]
# The 1 is lost: the next number that fits is 16,777,218. Sums of many numbers, differences of
# numbers that are close, and steps that are very small run into this first.
#
# If you need 64 bits, say so at the start of a program, before the first array:
# `jax.config.update("jax_enable_x64", True)`. For a few lines, there is a context.

# %%
with jax.enable_x64(True):
    print(f"{jnp.array(16_777_216.0) + 1:,.0f}")

# %% [markdown]
# To ask for a 64-bit array without that setting gets you a warning and 32 bits.

# %% tags=["warns"]
jnp.zeros(3, dtype="float64").dtype

# %% [markdown]
# Now for operands of two types. **Predict.** An array of `int32` plus an array of `float16`: NumPy
# answers in `float64`, which holds every value of both. What is the type here?

# %%
integers = jnp.array([1, 2, 3])
halves = jnp.array([0.5, 0.5, 0.5], dtype="float16")
predict("00/int32-plus-float16", ...)  # "float16", "float32" or "float64"

# %% tags=["reveal"]
print("NumPy:", (np.array([1, 2, 3], "int32") + np.array([0.5, 0.5, 0.5], "float16")).dtype)
print("here: ", (integers + halves).dtype)

# %% [markdown]
# A floating type wins over an integer type and stays as wide as it was. Whoever chose `float16` did so
# to save memory, and one index array should not undo that.
#
# Numbers of Python give way even more. They are **weakly typed**: `2.0` in `halves * 2.0` takes the
# type of the array, and so does `1` beside an 8-bit integer. Only where the array cannot hold that
# kind of number, as in `integers * 2.0`, do you get the default type, `float32`.

# %%
print((halves * 2.0).dtype, (integers * 2).dtype, (integers * 2.0).dtype)
print((jnp.array([100], dtype="int8") + 1).dtype)

# %% [markdown]
# An array made of one Python number stays weak, and says so when it prints. An array
# that was given a type is not weak any more, and counts like any other.

# %%
print(repr(jnp.array(2.0)))
print(repr(jnp.array(2.0, dtype="float32")))
print((halves * jnp.array(2.0)).dtype, (halves * jnp.array(2.0, dtype="float32")).dtype)

# %% [markdown]
# ## A gap to fill
#
# Here are 600 rolls of a die, as numbers from 0 to 5. (The key is the source of the randomness;
# chapter 04 is about keys.)

# %%
rolls = jax.random.randint(jax.random.key(0), (600,), 0, 6)
rolls[:10]

# %% [markdown]
# How often did each side come up? Count with one line: start from six zeros and add 1 at each of the
# rolls. (Until you fill the gap, the cell prints `Ellipsis`, which is what Python calls the three
# dots.)

# %%
counts = ...  # jnp.zeros(6, dtype="int32"), and then?
print(counts)

# %% [markdown]
# Six integers near 100, with the sum 600? Then you have it. The next cell holds one way, and draws the
# numbers.

# %% tags=["solution"] alt="A bar chart with six bars, one for each side of the die. All bars are close to 100, the number that a fair die would give in the mean, which a dashed line marks."
counts = jnp.zeros(6, dtype="int32").at[rolls].add(1)
print(counts, counts.sum())

plt.figure(figsize=(5, 2.8))
plt.bar(np.arange(1, 7), counts)
plt.axhline(100, color="k", linestyle="--", linewidth=1)
plt.xlabel("side")
plt.ylabel("times in 600 rolls")
plt.show()

# %% [markdown]
# ## Three layers
#
# `jnp` is the friendly layer. Under it is `lax`, which is strict: types must be equal, and shapes must
# agree. Under `lax` are the **primitives**, the operations that every transformation knows.
#
# **Predict.** `jnp.add(1, 1.0)` is 2.0. What about `lax.add(1, 1.0)`?

# %%
predict("00/strict", ...)  # "2.0" or "an error"

# %% tags=["reveal", "raises-exception"]
lax.add(1, 1.0)

# %% [markdown]
# An integer and a floating-point number are different types, and `lax` does not choose for you. What
# `jnp` does is to convert first. You can watch it: `jax.make_jaxpr(f)(x, y)` shows the program of
# primitives that `f` becomes. (Chapter 07 reads such programs line by line.)

# %%
print(jax.make_jaxpr(jnp.add)(integers, jnp.array([0.5, 0.5, 0.5])))

# %% [markdown]
# Two primitives: `convert_element_type` makes floating-point numbers of the integers, `add` adds. In
# `f32[3]` the element type and the shape stand together.
#
# Here are three functions, and the primitives each is made of.

# %%
def primitives(function, *args):
    """The names of the primitives that a function calls, in order."""
    return [str(eqn.primitive) for eqn in jax.make_jaxpr(function)(*args).eqns]


made_of = {
    "jnp.add(int, float)": primitives(jnp.add, integers, x[:3]),
    "jnp.mean(x)": primitives(jnp.mean, x),
    "jax.nn.softmax(x)": primitives(jax.nn.softmax, x),
}
for name, names in made_of.items():
    print(f"{name}: {', '.join(names)}")

# %% alt="Three boxes at the top: jnp.add of an integer and a float, jnp.mean, and jax.nn.softmax. Lines lead from each to the primitives below it is made of: convert_element_type and add; reduce_sum and div; and for softmax reduce_max, max, broadcast_in_dim, stop_gradient, sub, exp, reduce_sum and div. The primitives reduce_sum and div are shared by mean and softmax."
def draw_layers(made_of):
    """The functions above, the primitives below, and a line for each use."""
    below = list(dict.fromkeys(name for names in made_of.values() for name in names))
    plt.figure(figsize=(7, 3.6))
    for i, (function, names) in enumerate(made_of.items()):
        top = (i + 0.5) / len(made_of)
        plt.text(top, 1, function, ha="center", bbox={"boxstyle": "round", "fc": "#cfe2ff"})
        for name in names:
            plt.plot([top, (below.index(name) + 0.5) / len(below)], [0.97, 0.3], "0.6", zorder=0)
    for j, name in enumerate(below):
        box = {"boxstyle": "round", "fc": "#ffe8c2"}
        plt.text((j + 0.5) / len(below), 0.28, name, ha="center", va="top", rotation=90, bbox=box)
    plt.xlim(0, 1)
    plt.ylim(-0.55, 1.12)
    plt.axis("off")
    plt.show()


draw_layers(made_of)

# %% [markdown]
# A transformation has one rule for each primitive: the derivative of `exp`, how `exp` is compiled, how
# it is done for many at once. That is all it needs to transform any function you write.
#
# You can call a primitive yourself. Nobody does, but it shows that there is nothing below.

# %%
print(lax.add_p.bind(x, x))
print(lax.exp_p.bind(x))

# %% [markdown]
# ## When is a call over?
#
# **Predict.** A compiled product of large matrices takes a fifth of a second or so. We time the call,
# and then the call together with `block_until_ready()`, a method of the result. What share of the
# whole time do you see if you time the call alone?

# %%
predict("00/share-of-the-call", ...)  # "nearly all", "about half" or "nearly nothing"

# %% tags=["reveal", "volatile"]
matrix = jnp.ones((1200, 1200)) / 1200
product = jax.jit(lambda m: m @ m @ m @ m)
product(matrix).block_until_ready()  # the first call compiles

start = time.perf_counter()
result = product(matrix)
handed_over = time.perf_counter() - start
result.block_until_ready()
finished = time.perf_counter() - start
print(f"the call returned after {1000 * handed_over:.2f} ms, the values came after {1000 * finished:.0f} ms")

# %% [markdown]
# Nearly nothing. A call returns as soon as the work has been handed over. The array you get knows its
# shape and type; its values may still be on their way. This is **asynchronous dispatch**: Python
# prepares the next step while this one is computed.
#
# So the call alone tells you how long it takes to *ask* for the product. Some speeds that you will
# read about are no more than this. When you time something, wait for it.
#
# You need not wait otherwise. Printing, `float(...)`, `np.asarray(...)` and plotting wait by
# themselves, because they look at the values.
#
# ## Build it yourself
#
# The exercises are files in `exercises/00_arrays`, each with its task at the top; the stars say how
# hard they are. To begin, run `tinyjax watch set_first` in a terminal: it checks the file at each
# save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer with
# `%%exercise set_first`. ([How exercises work](../docs/exercises.md).)
#
# - `*` `tinyjax check 00_arrays/set_first`: write into every row of a matrix, although nothing
#   changes an array.
# - `*` `tinyjax check 00_arrays/out_of_bounds`: look positions up in a table, and see which of them
#   it does not have.
# - `*` `tinyjax check 00_arrays/strict_add`: decide yourself which type a sum has.
# - `**` `tinyjax check 00_arrays/stopwatch`: measure a call from its start to its values: no more
#   and no less.
#
# And to try, beyond the exercises:
#
# 1. Write `histogram(values, edges)` with `jnp.searchsorted` and `.at[...].add(1)`. Compare it with
#    `np.histogram`. What happens to values beyond the last edge, and to those below the first?
# 2. With 32 bits, 16,777,216 is the first whole number to which you cannot add 1. Which one is it
#    in `float16`, and which in `bfloat16`? Guess from the number of binary digits (11 and 8), then
#    let JAX count.

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - Nothing changes an array. `x.at[i].set(v)` and its siblings return new ones, and `add` counts every
#   index.
# - Reading beyond the end gives the nearest element, writing there does nothing. There is no error.
# - 32 bits are the default; a floating type beats an integer type; Python's numbers are weak.
# - `jnp` converts, `lax` is strict, and all functions end in primitives.
# - Calls return early: `block_until_ready()` before you stop the clock.
#
# In older posts, read `jax.Array` for `DeviceArray`, `x.at[i].set(v)` for
# `jax.ops.index_update(x, i, v)`, and distrust times taken without `block_until_ready()`.
#
# **Next:** chapter 01 takes derivatives.
