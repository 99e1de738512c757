# %% [markdown]
# # 10 · jit
#
# `jit` records your function as a program, compiles the program, and keeps it for the next call. In this
# chapter you learn to foresee when it does so again, what may stand in such a function, and how to write
# loops and conditions for it. Then you open the compiled program, read it, and time it.
#
# You need: how a function is traced ([chapter 07](07_tracing.ipynb)), and what a pure function is
# ([chapter 03](03_purity.ipynb)). Time: about 45 minutes.

# %%
import inspect
import time

import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.extend.core import Literal
from tinyjax.learn import predict

# %% [markdown]
# ## Trace, compile, keep
#
# Here are two functions that you find in most introductions to JAX. `selu` is used between the layers
# of neural networks, and works on each number by itself. `norm` moves and scales the columns of a
# table, so that each has mean 0 and deviation 1.

# %%
def selu(x, alpha=1.67, lmbda=1.05):
    return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def norm(X):
    X = X - X.mean(0)
    return X / X.std(0)


x = jax.random.normal(jax.random.key(0), (1_000_000,))
table = jax.random.normal(jax.random.key(1), (10_000, 100))

fast_selu, fast_norm = jax.jit(selu), jax.jit(norm)
print(selu(x)[:4])
print(fast_selu(x)[:4])

# %% [markdown]
# The same numbers. What happened in the second line? You can have it step by step. First, the function
# is **traced**: it runs once, on stand-ins that know a shape and a dtype and no values, and what it does
# to them is written down.

# %%
def swish(x):
    return x / (1.0 + jnp.exp(-x))


traced = jax.jit(swish).trace(jnp.ones(3))
print(traced.jaxpr)

# %% [markdown]
# Second, that program is compiled. The result is good for arguments of this one type, an array of three
# `float32`, and it no longer contains any Python of yours.

# %%
compiled = traced.lower().compile()
print(compiled(jnp.array([1.0, 2.0, 3.0])))

# %% tags=["raises-exception"]
compiled(jnp.array([1.0, 2.0]))

# %% [markdown]
# Third, `jit` keeps the program, beside the type it was made for. When a call comes, it looks whether it
# has a program for such arguments. If not, it makes one.
#
# That is all there is to it, and you can write it yourself. This `my_jit` does not compile: it keeps the
# jaxpr and interprets it. The rest is the real thing.

# %%
def my_jit(f):
    programs = {}

    def call(*args):
        key = tuple((np.shape(a), jnp.result_type(a)) for a in args)
        if key not in programs:
            print("tracing for", *[f"{dtype}{list(shape)}" for shape, dtype in key])
            programs[key] = jax.make_jaxpr(f)(*args)
        program = programs[key]
        return jax.core.eval_jaxpr(program.jaxpr, program.consts, *args)[0]

    return call


mine = my_jit(swish)
for argument in [jnp.ones(3), jnp.zeros(3), jnp.ones((2, 2))]:
    print(mine(argument))

# %% [markdown]
# Three calls and two programs. Everything odd about `jit` follows from these lines: Python runs only when
# `key` is new, and whatever is not in `key` is not looked at.
#
# ## What is in the key
#
# To see when the real `jit` traces, let the function say so. A `print` runs while Python does, which is
# while it is traced.
#
# **Predict.** How many programs do these seven calls make? Keep in mind the difference between a number
# of Python and an array that was given a type (chapter 00).

# %%
@jax.jit
def double(x):
    print("  tracing for", jax.typeof(x))
    return 2 * x


arguments = {
    "1.0": 1.0,
    "2.5": 2.5,
    "jnp.float32(1.0)": jnp.float32(1.0),
    "1": 1,
    "jnp.ones(3)": jnp.ones(3),
    "np.zeros(3, 'float32')": np.zeros(3, "float32"),
    "jnp.ones(4)": jnp.ones(4),
}
predict("10/how-many-compiles", ...)  # a number

# %% tags=["reveal"]
for name, argument in arguments.items():
    print(f"double({name})")
    double(argument)

# %% [markdown]
# Five. 1.0 and 2.5 share a program, since the value is not in the key. `jnp.float32(1.0)` has the same
# dtype, but it is not **weakly typed** as Python's numbers are (`~` marks those), and the result's
# type depends on that. NumPy's array is of the same type as the array of `jnp`. Four elements are another
# type than three.
#
# Arguments can be pytrees (chapter 05). Then their structure is in the key, too: which keys a dictionary
# has, how long a list is. The order in which you wrote the keys is not.

# %%
@jax.jit
def total(params):
    print("  tracing for", sorted(params))
    return sum(params.values())


print(total({"w": 1.0, "b": 2.0}))
print(total({"b": 2.0, "w": 1.0}))
print(total({"b": 2.0, "w": 1.0, "c": 3.0}))

# %% [markdown]
# In a large program you do not see what changed. tinyjax tells you: a jitted function knows the calls
# that it was traced for.

# %% tags=["tinyjax-only"]
print(double.cache_info())

# %% [markdown]
# A **hit** found a program, a **miss** made one. Entry 1 is for 1.0 and 2.5: the second was a hit. Below the
# entries stands a reason for each time that `double` was traced again. It begins with the entry that is
# nearest, says what is different, and ends with what to write instead.
#
# You can also be told at once. With this flag, each call that traces a function again is reported as a
# warning. (JAX has `jax_explain_cache_misses`, which writes to its log.)

# %% tags=["tinyjax-only", "warns"]
with jax.explain_retraces(True):
    total({"w": 1.0})

# %% [markdown]
# ## Who keeps the programs
#
# **Predict.** Three times around a loop, each time with the same type of argument. How often does the loop
# below print `tracing`?
#
# ```python
# for step in range(3):
#     jax.jit(lambda x: slow_sum(x) + 1.0)(jnp.ones(3))
# ```

# %%
def slow_sum(x):
    print("tracing")
    return jnp.sum(x)


predict("10/lambda-in-a-loop", ...)  # a number

# %% tags=["reveal"]
for step in range(3):
    jax.jit(lambda x: slow_sum(x) + 1.0)(jnp.ones(3))

# %% [markdown]
# Three. The programs are kept beside the function, and each pass of the loop makes another function
# object, of which nothing is known yet. The same happens to `jax.jit(...)` of a function that is defined
# inside of another one. So: **jit once, outside of the loop.**
#
# To jit one and the same function again is harmless.

# %%
for step in range(3):
    jax.jit(slow_sum)(jnp.ones(3))

# %% [markdown]
# It was traced in the first pass only. Now `scaled` of chapter 03 again, which reads a variable from
# outside. There the jitted function, once traced, kept the old number.
#
# **Predict.** `scale` becomes 5, and we make a **fresh** `jit` of `scaled`. What does this one return?

# %%
scale = 2.0


def scaled(x):
    return scale * x


print(jax.jit(scaled)(1.0))
scale = 5.0
predict("10/fresh-jit", ...)  # 2.0 or 5.0

# %% tags=["reveal"]
print(jax.jit(scaled)(1.0))

# %% [markdown]
# 2.0. The function is the same and the type is the same, so the old program is found: `scale` is not in
# the key. Harmless, then, only for a function that reads nothing which changes. The cure is the one of chapter 03: pass what changes as an argument. (In notebooks this happens
# often: you change a number in one cell, and do not run again the cell that defines the function.)
#
# ## Static arguments
#
# The shape of an array is part of its type, which is in the key. So Python can ask for `x.shape`, loop
# over it, or use it as a size (chapter 07). What is in the array is not known until the program runs.
#
# An argument is an array, even if it looks like a size.

# %%
def moving_average(x, width):
    """The mean of each `width` numbers in a row."""
    weights = jnp.ones(width) / width
    return jnp.convolve(x, weights, mode="valid")


days = jnp.array([3.0, 5.0, 1.0, 3.0, 8.0, 4.0])
print(moving_average(days, 3))

# %% tags=["raises-exception"]
jax.jit(moving_average)(days, 3)

# %% [markdown]
# `jnp.ones(width)` needs a size, and `width` is a tracer. The size of an array is part of its type, and so
# every type in the program would depend on a value.
#
# `static_argnames` (or `static_argnums`, by position) takes an argument out of the arrays. Your function
# gets it as it is, as a Python value, and **the value goes into the key**.

# %%
fast_average = jax.jit(moving_average, static_argnames="width")
print(fast_average(days, width=3))
print(fast_average(days, width=2))

# %% [markdown]
# As a decorator it is written `@jax.jit(static_argnames=...)`. (Most posts write
# `@functools.partial(jax.jit, static_argnames=...)`, which does the same: earlier versions of `jit`
# wanted the function first.)
#
# **Predict.** Four calls: `power(2.0, 3)`, `power(4.0, 3)`, `power(2.0, 5)` and `power(2.0, 3)` again. How
# many lines say `tracing`?

# %%
@jax.jit(static_argnames="n")
def power(x, n):
    print("tracing for n =", n)
    return x**n


predict("10/static-values", ...)  # a number

# %% tags=["reveal"]
for base, n in [(2.0, 3), (4.0, 3), (2.0, 5), (2.0, 3)]:
    print(power(base, n))

# %% [markdown]
# Two: one for each `n`. So a static argument is for what takes few values: a size, a number of layers, the
# name of an activation, `training=True`. A learning rate that changes at each step belongs to the arrays.
#
# A key must have a hash, as the keys of a dictionary must. Lists have none, and arrays have none.

# %% tags=["raises-exception"]
power(2.0, [3])

# %% [markdown]
# (Make it a tuple.)
#
# ## Conditions
#
# A Python `if` on a value fails under `jit`, as you know from chapter 07. There are three ways out.
#
# - The value is a setting: make it static.
# - Both sides are cheap: `jnp.where(x > 1, jnp.log(x), x - 1)` computes both, and chooses.
# - One side is costly: `lax.cond(condition, f, g, x)` runs `f(x)` or `g(x)`.

# %%
def shrink(x):
    return lax.cond(x > 1, jnp.log, lambda x: x - 1, x)


print(f"{jax.jit(shrink)(3.0):.4f} {jax.jit(shrink)(0.5):.4f}")
print(jax.make_jaxpr(shrink)(3.0))

# %% [markdown]
# Both functions were traced, and both programs are in the equation `cond`, first the one for false. At
# run time, the number `c` says which of them runs. Both must return the same types: the program that
# goes on with `d` is the same in both cases.
#
# Only one runs. The clock shows it: here one side is long, and the other does nothing.

# %% tags=["volatile"]
def milliseconds(f, *args, calls=10):
    """The time of one call, the best of several; compiling aside."""
    jax.block_until_ready(f(*args))  # the first call compiles
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        jax.block_until_ready(f(*args))
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def long_way(x):
    return lax.fori_loop(0, 500, lambda i, y: jnp.sin(y), x)


either = jax.jit(lambda which, x: lax.cond(which, long_way, lambda x: x, x))
for which in [True, False]:
    print(f"{which!s:5} {milliseconds(either, which, x[:10_000]):8.3f} ms")

# %% [markdown]
# (Calls return before the work is done, hence `block_until_ready`: chapter 00.) Under `vmap` you do not gain
# this: there both sides are computed for all, as chapter 06 showed. (Exercise: `tinyjax check 10_jit/cond`.)
#
# ## Loops
#
# A Python loop in a jitted function is **unrolled**: each pass becomes equations of its own (chapter 07
# counts them). With many passes it takes long to trace and compile. `lax.fori_loop(start, stop, body,
# value)` traces its body once. `body` takes the number of the pass and a value, and returns the next value.

# %% tags=["volatile"]
def python_loop(y):
    for i in range(200):
        y = y + 0.1 * jnp.sin(y)
    return y


def lax_loop(y):
    return lax.fori_loop(0, 200, lambda i, y: y + 0.1 * jnp.sin(y), y)


for loop in (python_loop, lax_loop):
    start = time.perf_counter()
    jax.block_until_ready(jax.jit(loop)(x[:100]))
    print(f"{loop.__name__:11} first call: {time.perf_counter() - start:.3f} s")

# %% [markdown]
# (tinyjax keeps compiled kernels on disk. If you run the cell a second time, it is faster.)
#
# If the number of passes depends on values, `lax.while_loop(condition, body, value)` goes on as long as
# the condition holds. Take a number; halve it if it is even, else triple it and add 1. Nobody has proved
# that this always ends at 1. How many steps does it take?

# %%
def steps_to_one(n):
    def going_on(state):
        n, steps = state
        return n != 1

    def step(state):
        n, steps = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    n, steps = lax.while_loop(going_on, step, (n, 0))
    return steps


print(jax.jit(steps_to_one)(6), jax.jit(steps_to_one)(27))

# %% [markdown]
# What passes from one pass to the next is the **carry**, here a pair. It must keep its types: a loop is
# one program, run again and again.
#
# Most loops of numerical programs have a known length, and you want something from each pass. That is
# `lax.scan(step, carry, inputs)`. The step takes the carry and one of the inputs, and returns the next
# carry and what to keep. Here is a savings account with two percent interest.

# %%
def year(balance, paid_in):
    balance = 1.02 * balance + paid_in
    return balance, balance  # the carry, and what to keep


last, balances = lax.scan(year, 100.0, jnp.array([10.0, 10.0, -50.0, 10.0]))
print(f"{last:.2f}")
print(balances.round(2))

# %% [markdown]
# A `scan` can be differentiated: chapter 12 takes the gradient of a whole training. `grad` refuses a
# `while_loop`, because nobody knows how many passes' values must be kept for the way back. (`jvp` takes
# it.) A `fori_loop` with a fixed number of passes is a `scan`. (Exercise: `tinyjax check 10_jit/scan`.)
#
# ## A gap to fill
#
# Animals on an island: next year's share of what the island can feed is `3.7 * p * (1 - p)` if this
# year's is `p`. Start with `p = 0.1` and compute 50 years with `lax.scan`. There are no inputs: pass
# `None` for them, and `length=50`.

# %%
def next_year(p, _):
    p = 3.7 * p * (1 - p)
    return p, p


result = ...  # lax.scan of what, from what?
print(result)

# %% [markdown]
# Right is a pair: the last share, and an array of 50 shares that begins with 0.333 and 0.822. The next
# cell holds one way.

# %% tags=["solution"] alt="Share of what the island can feed, over 50 years. It jumps up and down between about 0.26 and 0.92 and never settles."
result = lax.scan(next_year, 0.1, None, length=50)
last, shares = result
print(shares[:3].round(3))

plt.figure(figsize=(5, 2.8))
plt.plot(shares, ".-", linewidth=1)
plt.xlabel("year")
plt.ylabel("share")
plt.show()

# %% [markdown]
# ## The compiler at work
#
# Without `jit`, each operation is a loop of its own: it reads arrays from memory, and writes one. Here is
# what `selu` does then, drawn from its program. On the left are the arrays in memory, of a million
# numbers each: blue ones are read, orange ones written.

# %% tags=["tinyjax-only"]
from tinyjax import viz

viz.fusion_diagram(selu, x, fused=False)

# %% [markdown]
# And this is what `jit` makes of it.

# %% tags=["tinyjax-only"]
viz.fusion_diagram(selu, x)

# %% [markdown]
# One loop. An element is read, everything is done with it, and the result is written. What lies between
# stays in registers of the processor and never reaches memory. To make one loop out of several is called
# **fusion**, and the loop is a **kernel**. Arithmetic is cheap and memory is slow, so this is where most
# of the speed comes from.
#
# You need not believe the picture. Here is the kernel itself.

# %% tags=["tinyjax-only"]
print(jax.jit(selu).lower(x).kernels())

# %% [markdown]
# Read `selu_0`. It is a Python function with a loop. Numba, a compiler for such functions, translates it
# into machine code, which works on several elements at once. Each line is one equation of the jaxpr, which
# stands behind it. `where`, under `jit` in the jaxpr, became a part of the same loop.
#
# Below it stands the **driver**, which makes room for the result and calls the kernel. The array is large,
# so `in_parts` lets all cores have a share. (The line after `except` is for arrays that do not lie in
# memory in one piece.)
#
# (JAX's compiler is XLA. `jax.jit(selu).lower(x).as_text()` shows what JAX hands to it, and
# `.lower(x).compile().as_text()` what XLA made of it. Look for a computation called `fused_computation`:
# the same operations, in one loop. In tinyjax, `as_text()` is the jaxpr.)
#
# ## Write the compiler
#
# How does an equation become a line? Each primitive has a text. With those, you can write a compiler for
# functions like `swish`, of one array, element by element.

# %%
TEXTS = {"mul": "{} * {}", "add": "{} + {}", "div": "{} / {}", "neg": "-{}", "exp": "exp({})"}


def kernel_text(f, x):
    """The source of a kernel: one loop, and in it a line for each equation of f."""
    program = jax.make_jaxpr(f)(x).jaxpr
    names = {program.invars[0]: "a[i]"}

    def read(v):
        return str(v.val) if isinstance(v, Literal) else names[v]

    lines = ["def kernel(a, out):", "    for i in range(len(a)):"]
    for k, eqn in enumerate(program.eqns):
        operands = [read(v) for v in eqn.invars]
        lines.append(f"        v{k} = {TEXTS[str(eqn.primitive)].format(*operands)}")
        names[eqn.outvars[0]] = f"v{k}"
    lines.append(f"        out[i] = {read(program.outvars[0])}")
    return "\n".join(lines)


text = kernel_text(swish, jnp.ones(3))
print(text)

# %% [markdown]
# The jaxpr is at the top of this chapter; compare. Python can run the text, and the numbers are right.

# %%
world = {"exp": np.exp}
exec(text, world)

a, out = np.array([1.0, 2.0, 3.0]), np.zeros(3)
world["kernel"](a, out)
print(out)
print(swish(jnp.array([1.0, 2.0, 3.0])))

# %% [markdown]
# Python is slow at such loops. Numba is not: it translates the same text into machine code. With it your
# compiler is complete. (It computes with 64 bits in between, since that is what `1.0` means in Python, and
# on one core.)

# %% tags=["tinyjax-only", "volatile"]
import numba

kernel = numba.njit(world["kernel"])
a, out = np.asarray(x), np.zeros_like(x)

print(f"your kernel:            {milliseconds(kernel, a, out):5.2f} ms")
print(f"NumPy, loop after loop: {milliseconds(lambda a: a / (1 + np.exp(-a)), a):5.2f} ms")
print(f"tinyjax's kernel:       {milliseconds(jax.jit(swish), x):5.2f} ms")

# %% [markdown]
# The rest of tinyjax's compiler is about what your function left out: several shapes, sums, indices, all
# cores, and which equations may share a loop. The table of texts is there, too, in
# [words.py](../tinyjax/compiler/words.py). Its entries are functions, because some texts depend on types.
# (Exercise: `tinyjax check 10_jit/kernel_rule`. Take it before you look there.)
#
# And here is where a jitted function looks for a program. Compare it with `my_jit`.

# %% tags=["tinyjax-only"]
print(inspect.getsource(type(fast_selu).key))
print(inspect.getsource(type(fast_selu).program))

# %% [markdown]
# `Key` holds what you have met: the structure of the arguments, shape, dtype and weak type of each array,
# the static values. (Named axes around the call and flags are in it, too.) On a hit, the program is there.
# Else `trace_program` makes it, and `cache.add` keeps it.
#
# ## What it gains
#
# Now both functions in three ways. Without `jit` tinyjax and JAX work as NumPy does, operation by
# operation. Your numbers will differ from these.

# %% tags=["volatile"] alt="Two groups of bars, milliseconds for selu and for norm: with NumPy, with jnp without jit, and with jit. In both groups the jitted bar is the lowest."
def numpy_selu(x, alpha=np.float32(1.67), lmbda=np.float32(1.05)):
    return lmbda * np.where(x > 0, x, alpha * np.exp(x) - alpha)


ways = {
    "NumPy": [(numpy_selu, np.asarray(x)), (norm, np.asarray(table))],
    "without jit": [(selu, x), (norm, table)],
    "jit": [(fast_selu, x), (fast_norm, table)],
}
plt.figure(figsize=(5, 3))
for k, (way, calls) in enumerate(ways.items()):
    times = [milliseconds(f, data) for f, data in calls]
    print(f"{way:12} selu {times[0]:6.2f} ms, norm {times[1]:6.2f} ms")
    plt.bar(np.arange(2) + 0.25 * (k - 1), times, width=0.22, label=way)
plt.xticks([0, 1], ["selu", "norm"])
plt.ylabel("ms")
plt.ylim(top=1.3 * plt.ylim()[1])
plt.legend(ncols=3, loc="upper center", fontsize=9)
plt.show()

# %% [markdown]
# `norm` gains less: `mean` and `std` come compiled as a whole, so most of it is fused even without
# your `jit`.
#
# ## What it costs
#
# **Predict.** A million numbers are sorted, and nothing else. What does `jit` gain?

# %%
predict("10/one-operation", ...)  # "several times faster" or "about the same"

# %% tags=["reveal", "volatile"]
for name, f in {"without jit": jnp.sort, "jit": jax.jit(jnp.sort)}.items():
    print(f"{name:12} {milliseconds(f, x, calls=5):6.1f} ms")

# %% [markdown]
# About the same. Sorting is one operation, and there is nothing to fuse. The same goes for one product of
# large matrices. `jit` gains where many operations follow each other: elementwise functions, sums, updates
# of parameters, and small arrays, for which Python takes longer than the work itself.
#
# It does not pay for what is called once, either.

# %% tags=["volatile"]
def distances(x, y):
    return jnp.sqrt(jnp.sum((x - y) ** 2)) + jnp.max(jnp.abs(x - y))


start = time.perf_counter()
jax.block_until_ready(jax.jit(distances)(x, -x))
once = 1000 * (time.perf_counter() - start)
gain = milliseconds(distances, x, -x) - milliseconds(jax.jit(distances), x, -x)
print(f"the first call takes {once:.0f} ms, each later one gains {gain:.2f} ms")

# %% [markdown]
# The worst case is a new shape for each call. Then you pay for each and gain nothing. If batches differ
# in size, pad them to one size, and tell the function which rows count.

# %%
@jax.jit
def mean_of_rows(rows, count):
    print("tracing for", jax.typeof(rows))
    counts = jnp.arange(len(rows)) < count  # which rows are real
    return jnp.sum(jnp.where(counts, rows, 0.0)) / count


for batch in [days[:4], days[:5], days[:2]]:
    padded = jnp.pad(batch, (0, 8 - len(batch)))
    print(f"{mean_of_rows(padded, len(batch)):.3f} {batch.mean():.3f}")

# %% [markdown]
# One trace for three sizes, with the right means. (`count` is a number that is traced. If it were static,
# each count would make a program.)
#
# Last: a compiler may order additions differently, or join a product and a sum into one operation. So a
# jitted function can differ from the same function without `jit` in the last digits. Compare with
# `allclose`, never with `==`.

# %% tags=["volatile"]
one, other = selu(x), fast_selu(x)
print(f"{(one != other).mean():.0%} of the numbers differ, by at most {jnp.abs(one - other).max():.1e}")
print("close:", jnp.allclose(one, other, atol=1e-6))

# %% [markdown]
# ## Build it yourself
#
# The exercises are files in `exercises/10_jit`, each with its task at the top; the stars say how
# hard they are. To begin, run `tinyjax watch static_arg` in a terminal: it checks the file at each
# save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer with
# `%%exercise static_arg`. ([How exercises work](../docs/exercises.md).)
#
# - `*` `tinyjax check 10_jit/static_arg`: compile functions one of whose arguments is a size.
# - `*` `tinyjax check 10_jit/no_retrace`: mend a loop in which the same function is traced again
#   and again.
# - `**` `tinyjax check 10_jit/cond`: improve a guess under `jit`, but only where it is needed.
# - `**` `tinyjax check 10_jit/scan`: simulate a reservoir day by day, and keep something of each
#   day.
# - `***` `tinyjax check 10_jit/kernel_rule`: write the text of three primitives; the package's
#   kernels then say it.
#
# And to try, beyond the exercises:
#
# 1. Give `my_jit` static arguments: `my_jit(f, static=(1,))` puts these arguments into the key by
#    their value, and calls `make_jaxpr` of a function of the others. Try it on `lambda x, n: x**n`.
# 2. Sort this out: `jax.jit(lambda x: x[x > 0].sum())` fails. Why? Write it with `jnp.where`, so
#    that it works and has the same result.
# 3. Newton's method for a square root: `r = (r + a / r) / 2`, until `r * r` is close to `a`. Write
#    it with `lax.while_loop`. Then take `jax.grad` of it and read the error. Which loop is
#    differentiable?

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - `jit` keeps one program for each key: structure, shapes, dtypes and weak types of the arguments, and
#   the values of static ones. Python runs only for a new key.
# - What is taken from outside is frozen into the program. Pass what changes. Jit once, outside of loops.
# - Shapes are Python's, values are not: static arguments, `jnp.where`, `lax.cond`, `fori_loop`,
#   `while_loop` and `scan`.
# - The compiler fuses operations into kernels: loops that read and write memory once.
# - It pays for many operations, called often, on few shapes.
#
# Older posts call `jax.xla_computation(f)(x)` to look at a compiled program. That function is gone:
# `jax.jit(f).lower(x).as_text()` took its place.
#
# **Next:** [chapter 11](11_pmap.ipynb) runs one program on eight devices.
