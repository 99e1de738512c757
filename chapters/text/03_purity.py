# %% [markdown]
# # 03 · Pure functions
#
# `jit`, `grad` and `vmap` take your function apart and put it together in another way. That works
# if the function is **pure**. In this chapter you see what happens to functions that are not:
# nothing fails, but what you get is not what you wrote. Then you learn to find such functions, and
# to rewrite them.
#
# You need: chapters 00 to 02. Time: about 40 minutes.

# %%
import contextlib
import io
import time

import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import predict

# %% [markdown]
# ## Pure
#
# A function is pure if two things hold.
#
# 1. Its result depends on its arguments alone.
# 2. To compute the result is all it does.
#
# Functions of mathematics are like that, and `energy` is. What a transformation makes of it is what
# you expect. (`in_axes=(None, 0)` tells `vmap`: one mass for all, and each of the speeds.)

# %%
def energy(mass, speed):
    return mass * speed**2 / 2


speeds = jnp.array([1.0, 2.0, 3.0])
print("jit: ", jax.jit(energy)(2.0, 3.0))
print("grad:", jax.grad(energy, argnums=1)(2.0, 3.0), "which is mass * speed")
print("vmap:", jax.vmap(energy, in_axes=(None, 0))(2.0, speeds))

# %% [markdown]
# ## What your function is called with
#
# The next function is not pure: it prints, and that is more than to compute a result. So it can
# tell us when it is called, and with what.

# %%
def square(x):
    print("square is called, x is", x)
    return x * x


square(3.0)

# %% [markdown]
# **Predict.** We compile it, and call the compiled function twice, with 3.0 and with 4.0. How many
# lines does it print?

# %%
predict("03/second-call", ...)  # 0, 1 or 2

# %% tags=["reveal"]
fast_square = jax.jit(square)
print(fast_square(3.0))
print(fast_square(4.0))

# %% [markdown]
# One line, and no 3.0 in it. `x` is a **tracer**: it stands for a number of which only the type and
# the shape are known, here `float32[]`: one number, as the empty brackets say. (`~` says that the type
# is weak, as Python's numbers are.)
#
# With it `jit` calls your function once, and records what happens to the tracer: one
# multiplication. This is called **tracing**. The record is compiled. From then on it is the record
# that runs, and your Python code does not.
#
# So a print happens while tracing. **Predict.** Now we call the same `fast_square` with an array of
# three numbers. Does it print?

# %%
predict("03/new-shape", ...)  # "yes" or "no"

# %% tags=["reveal"]
print(fast_square(jnp.array([1.0, 2.0, 3.0])))
print(fast_square(jnp.array([4.0, 5.0, 6.0])))

# %% [markdown]
# Yes, once: a record is for one shape and one type. For another shape the function is traced again,
# and this record is kept beside the first.
#
# `grad` and `vmap` use tracers, too, but they keep no record from call to call. **Predict.** `vmap`
# maps `square` over five elements. We call it twice. How many lines?

# %%
predict("03/vmap-prints", ...)  # 1, 2, 5 or 10

# %% tags=["reveal"]
squares = jax.vmap(square)
print(squares(jnp.arange(5.0)))
print(squares(jnp.arange(5.0)))

# %% [markdown]
# Two: one for each call, not one for each element. The tracer stands for all five at once.
#
# And `grad`: one line for each call. Its tracer carries the value, here named `primal`, and a
# **tangent**, with which the derivative is computed. (Chapter 08 is about tangents.)

# %%
print(jax.grad(square)(3.0))
print(jax.grad(square)(4.0))

# %% [markdown]
# If you want to see the values whenever the program runs, use `jax.debug.print`. It is recorded
# like a multiplication. The text has a pair of braces where the value goes.

# %%
@jax.jit
def fast_square(x):
    jax.debug.print("x is {}", x)
    return x * x


fast_square(3.0)
fast_square(4.0)
jax.effects_barrier()  # waits until all is printed

# %% [markdown]
# ## The first way: to read what changes
#
# There are four ways to be impure. To print is one of them, and the last in our list. Here is the
# first: `scaled` reads a variable that is not its argument, and somebody changes the variable.
#
# **Predict.** After a first call `scale` becomes 10.0. What does `fast_scaled(1.0)` return then?

# %%
scale = 2.0


def scaled(x):
    return scale * x


fast_scaled = jax.jit(scaled)
print(fast_scaled(1.0))
predict("03/changed-global", ...)  # 2.0 or 10.0

# %% tags=["reveal"]
scale = 10.0
print(fast_scaled(1.0))

# %% [markdown]
# 2.0. When `scaled` was traced, `scale` was a number, and the number went into the record.
#
# It gets worse. An array of another shape is traced now, and sees the new number. So one function
# computes with two scales, and which one depends on what it was called with before.

# %%
print(fast_scaled(1.0), fast_scaled(jnp.ones(2)))

# %% [markdown]
# The rewrite: what a function needs, it gets as an argument.

# %%
@jax.jit
def fast_scaled(scale, x):
    return scale * x


print(fast_scaled(2.0, 1.0), fast_scaled(10.0, 1.0))

# %% [markdown]
# To read a variable that nobody changes is fine. Functions, modules and constants such as `jnp.pi`
# are variables of that kind.
#
# ## The second way: a hidden random state
#
# NumPy's generator has a state, and each draw changes it. Two calls, two numbers, as long as the
# function is not compiled.

# %%
def noisy(x):
    return x + np.random.normal()


np.random.seed(0)
print("as written:", noisy(0.0), noisy(0.0))
fast_noisy = jax.jit(noisy)
print("jit:       ", fast_noisy(0.0), fast_noisy(0.0))
print("vmap:      ", jax.vmap(noisy)(jnp.zeros(2)))

# %% [markdown]
# Compiled, it adds the same "random" number for ever; mapped, it adds one number to all elements.
#
# The clock is a state like that. It is read while tracing, and then it stands still.

# %%
@jax.jit
def with_time(x):
    return x, time.perf_counter_ns() % 1_000_000


first, second = with_time(0.0), with_time(0.0)
print("the same time:", first[1] == second[1])

# %% [markdown]
# ## The third way: to change something
#
# A counter that lives outside of the function. `global` says that the function assigns to it.
#
# **Predict.** What is `count` after three calls of the compiled function?

# %%
count = 0


def counted(x):
    global count
    count += 1
    return x * x


predict("03/three-calls", ...)  # 0, 1 or 3

# %% tags=["reveal"]
fast_counted = jax.jit(counted)
for x in [1.0, 2.0, 3.0]:
    fast_counted(x)
print(count)

# %% [markdown]
# One: `count` was raised while tracing. Now the counter is in a dictionary, and the dictionary is
# an argument. Does that help?
#
# **Predict.** What is `stats["n"]` after three calls of the compiled function?

# %%
def tallied(x, stats):
    stats["n"] = stats["n"] + 1
    return x * x


predict("03/argument-after-three-calls", ...)  # 0, 1 or 3

# %% tags=["reveal"]
stats = {"n": 0}
fast_tallied = jax.jit(tallied)
for x in [1.0, 2.0, 3.0]:
    fast_tallied(x, stats)
print(stats)

# %% [markdown]
# Not even once. `jit` takes the dictionary apart, puts tracers in the place of its values, and
# hands a new dictionary to your function. The new one is changed, and then dropped. Yours is never
# touched.
#
# ## All four, side by side
#
# The fourth way is **input and output**: to print, to read or write a file, to ask the user. You
# began with it. Now all four, in functions that are called three times: as written, and under each
# transformation. The cell notes what comes of it. (It is long. Read the five functions at its top and
# the table below it; what is between makes the table.)

# %%
def with_scale(x, stats):
    return scale * x  # 1: reads what changes


def with_noise(x, stats):
    return x * np.random.normal()  # 2: draws from a hidden state


def with_global(x, stats):
    global tally
    tally += 1  # 3: changes a variable outside
    return x * x


def with_count(x, stats):
    stats["n"] = stats["n"] + 1  # 3, too: changes its argument
    return x * x


def with_print(x, stats):
    print("called")  # 4: writes
    return x * x


def three_calls(f, x):
    """How many results differ, what the two counters say, and how many lines are printed."""
    global scale, tally
    tally, stats, results, lines = 0, {"n": 0}, set(), io.StringIO()
    with contextlib.redirect_stdout(lines):
        for scale in [1.0, 2.0, 3.0]:
            results |= {round(float(y), 3) for y in np.ravel(f(x, stats))}
    return len(results), tally, stats["n"], lines.getvalue().count("called")


def in_a_loop(f):
    return lambda xs, stats: jnp.stack([f(x, stats) for x in xs])


def mapped(f):
    return jax.vmap(f, in_axes=(0, None))  # over the elements of x, with the same stats


ways = {
    "as written": (lambda f: f, 1.0),
    "jit": (jax.jit, 1.0),
    "grad": (jax.grad, 1.0),
    "loop of 5": (in_a_loop, jnp.ones(5)),
    "vmap of 5": (mapped, jnp.ones(5)),
}
rows = [
    ("1 different scales", with_scale, 0),
    ("2 different random numbers", with_noise, 0),
    ("3 changes of a global", with_global, 1),
    ("3 changes of an argument", with_count, 2),
    ("4 lines printed", with_print, 3),
]
print(f"{'in three calls':28}", *[f"{name:>10}" for name in ways])
for what, f, noted in rows:
    numbers = [three_calls(way(f), x)[noted] for way, x in ways.values()]
    print(f"{what:28}", *[f"{number:10}" for number in numbers])

# %% [markdown]
# The first column and the loop are what the author meant. Read the others beside them.
#
# - **jit** does impure things once, while it traces, and what is done to an argument never arrives.
# - **grad** calls your function each time, so the numbers are those of the first column. But `x` is
#   a tracer in it: what you print is no plain number, and what you store is none either.
# - **vmap** calls it once for all five elements. They share one random number, one count and one
#   line, and the dictionary is a copy, as under `jit`.
#
# No cell raised an error, and no two transformations agree. So it is no use to learn the table by
# heart. Write pure functions, and all columns are the same.
#
# ## Tracers that escape
#
# Here is a class as you would write it for NumPy: it keeps a running mean.

# %%
class RunningMean:
    def __init__(self):
        self.n, self.total = 0, 0.0

    def update(self, x):
        self.n += 1
        self.total = self.total + x
        return self.total / self.n


mean = RunningMean()
print(mean.update(2.0), mean.update(4.0))

# %% [markdown]
# The mean of 2 is 2, that of 2 and 4 is 3. Now compile the method.

# %%
mean = RunningMean()
update = jax.jit(mean.update)
print(update(2.0), update(4.0))

# %% [markdown]
# 4.0 is wrong. Recorded was the first call: "add 0.0, divide by 1". And `mean.total` is the tracer
# of that one call. It has escaped from the function, and has no value, nor will it get one. To use
# it is an error.

# %% tags=["raises-exception"]
mean.total + 1.0

# %% [markdown]
# This is a **leaked tracer**. The error comes late: not where the tracer was stored, but where
# somebody uses it. When you see this class of error, look for an assignment to `self.something`, to
# a global variable, or to a list from outside, in a function that is transformed.
#
# The tracers of `grad` and `vmap` have a value while your function runs, and none afterwards.

# %%
kept = []


def keeping(x):
    kept.append(x)
    return x * x


print(jax.grad(keeping)(3.0), jax.vmap(keeping)(jnp.arange(3.0)))
for x in kept:
    try:
        print(x + 1.0)
    except jax.errors.UnexpectedTracerError:
        print("this has no value any more")

# %% [markdown]
# ## State in, state out
#
# A running mean needs a state. So let the state be an argument and a result, like any other value.

# %%
def step(state, x):
    n, total = state
    n, total = n + 1, total + x
    return (n, total), total / n


fast_step = jax.jit(step)
state = (0, 0.0)
states, means = [state], []
for x in [2.0, 4.0, 9.0]:
    state, m = fast_step(state, x)
    states.append(state)
    means.append(m)
print(*means)

# %% [markdown]
# The name `state` gets another value in each pass, out here in the loop. In `step` nothing is
# changed. All the states are still there, so we can draw the way they went.

# %% alt="Four rounded boxes in a row hold the states: n = 0, total = 0; then 1 and 2; 2 and 6; 3 and 15. Between two of them stands a square box, step. An arrow leads from each state into the next step and from the step to the next state. Into each step an input comes from above: 2, 4, 9. Out of each step a result goes down: 2, 3, 5."
def draw_chain(states, inputs, outputs):
    """Each call: state and input go in, the next state and the result come out."""
    plt.figure(figsize=(8, 2.6))
    arrow = {"arrowstyle": "->", "lw": 1.5}
    for i, (n, total) in enumerate(states):
        box = {"boxstyle": "round", "fc": "#cfe2ff"}
        text = f"n = {n}\ntotal = {total:.0f}"
        plt.text(2 * i, 0, text, ha="center", va="center", fontsize=9, bbox=box)
    for i, (x, y) in enumerate(zip(inputs, outputs)):
        middle = 2 * i + 1
        box = {"boxstyle": "square,pad=0.6", "fc": "#ffe8c2"}
        plt.text(middle, 0, "step", ha="center", va="center", bbox=box)
        plt.annotate("", (middle - 0.32, 0), (middle - 0.58, 0), arrowprops=arrow)
        plt.annotate("", (middle + 0.58, 0), (middle + 0.32, 0), arrowprops=arrow)
        plt.annotate(f"x = {x:.0f}", (middle, 0.35), (middle, 1), ha="center", arrowprops=arrow)
        plt.annotate("", (middle, -0.9), (middle, -0.35), arrowprops=arrow)
        plt.text(middle, -1.15, f"mean = {y:.0f}", ha="center")
    plt.xlim(-0.7, 2 * len(inputs) + 0.7)
    plt.ylim(-1.3, 1.3)
    plt.axis("off")
    plt.show()


draw_chain(states, [2.0, 4.0, 9.0], means)

# %% [markdown]
# A function of this form can be transformed like any other. `vmap` keeps three means at once;
# `grad` tells how the mean depends on the number that came in.

# %%
_, three_means = jax.vmap(step)((jnp.ones(3), jnp.zeros(3)), jnp.array([2.0, 4.0, 9.0]))
print("vmap:", three_means)
print("grad:", jax.grad(lambda x: step((2, 6.0), x)[1])(9.0), "which is 1/3")

# %% [markdown]
# And there is a function that does the loop itself. `lax.scan(step, state, xs)` hands the state
# from call to call, compiled, and returns the last state with all the results.

# %%
state, means = lax.scan(step, (0, 0.0), jnp.array([2.0, 4.0, 9.0]))
print("n and total:", *state)
print("means:      ", means)

# %% [markdown]
# ## A gap to fill: a generator of random numbers
#
# This is how random numbers were made for decades. The state is one number; to draw means to
# multiply it, to add something, and to keep what is left below 2**32.

# %%
class Generator:
    def __init__(self, seed):
        self.state = seed

    def draw(self):
        self.state = (1664525 * self.state + 1013904223) % 2**32
        return self.state / 2**32


generator = Generator(seed=1)
print([round(generator.draw(), 4) for _ in range(3)])

# %% [markdown]
# Write it as a pure function: the state is an argument, and the next state and the number are
# returned. The state comes as a `jnp.uint32`, which has 32 bits and drops what goes beyond, so you
# need no `%`. Divide by `2.0**32`.

# %%
def draw(state):
    return ...  # the next state, and the number


print(draw(jnp.uint32(1)))

# %% [markdown]
# A state of 1015568748 and the number 0.2365? Then you have it. Here is one way, compiled, with the
# loop.

# %% tags=["solution"]
@jax.jit
def draw(state):
    state = 1664525 * state + 1013904223
    return state, state / 2.0**32


state = jnp.uint32(1)
for _ in range(3):
    state, number = draw(state)
    print(state, f"{number:.4f}")

# %% [markdown]
# The same numbers as above. What was hidden in an object is now a value that you can see, store,
# and hand to a compiled function.
#
# One thing is not nice. Each number needs the state before it, so a million numbers take a million
# steps, one after the other, where a GPU would do thousands at once. And whoever forgets to hand on
# the state draws the same numbers again. In chapter 04 you will see what JAX does about the first,
# and how to notice the second.
#
# ## Ask: check_pure
#
# Four kinds of impurity, and no error from any. tinyjax can look for them. `jax.check_pure(f,
# *args)` traces `f` with these arguments, and watches what your code does meanwhile.

# %% tags=["tinyjax-only"]
jax.check_pure(counted, 1.0)

# %% [markdown]
# It says what it found, where, and how to write it. Here is what it finds in the functions of this
# chapter.

# %% tags=["tinyjax-only"]
for f, args in [
    (energy, (2.0, 3.0)),
    (scaled, (1.0,)),
    (noisy, (0.0,)),
    (tallied, (1.0, {"n": 0})),
    (square, (3.0,)),
    (RunningMean().update, (2.0,)),
    (step, ((0, 0.0), 2.0)),
]:
    findings = [f"{finding.kind}: {finding.variable}" for finding in jax.check_pure(f, *args)]
    print(f"{f.__name__:8}", ", ".join(findings) or "pure")

# %% [markdown]
# The rewrite that it proposes is the one of this chapter. Try it on `counted`.

# %% tags=["tinyjax-only"]
def rewritten(x, count):
    count = count + 1
    return x * x, count


print(jax.check_pure(rewritten, 1.0, 0).ok)

# %% [markdown]
# With `jax.jit(f, check=True)` the check happens by itself, before the function is first traced.
# What it finds becomes an error.

# %% tags=["tinyjax-only", "raises-exception"]
jax.jit(noisy, check=True)(0.0)

# %% [markdown]
# JAX has no such check, except for the last kind: `with jax.checking_leaks():` raises an error when a
# tracer leaks (in tinyjax as well). For the rest you read your functions with the four ways in mind; the
# rewrites are the same.
#
# ## Build it yourself
#
# The exercises are files in `exercises/03_purity`, each with its task at the top; the stars say how
# hard they are. To begin, run `tinyjax watch purify_counter` in a terminal: it checks the file at
# each save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer
# with `%%exercise purify_counter`. ([How exercises work](../docs/exercises.md).)
#
# - `*` `tinyjax check 03_purity/purify_counter`: count the calls of a function without a global
#   variable.
# - `*` `tinyjax check 03_purity/purify_rng`: draw a random point with the generator of this
#   chapter, and hand its state on.
# - `*` `tinyjax check 03_purity/no_mutation`: rewrite a function that writes into its arguments.
# - `**` `tinyjax check 03_purity/leaked_tracer`: get a number out of a loss that is differentiated,
#   and leave no tracer behind.
#
# And to try, beyond the exercises:
#
# 1. Write a function that is impure in two ways, and guess how many lines it prints and what its
#    counter says under `jax.jit(jax.vmap(f))`. Then try it.
# 2. Is `def f(x): parts = []; parts.append(x); return sum(parts)` pure? It changes a list. Ask
#    `check_pure`, and say why.

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - Transformations call your function with tracers: `jit` once for each shape and type, `grad` and
#   `vmap` once for each call.
# - Four ways to be impure: to read what changes, to draw from a hidden state, to change something
#   from outside, to read or write. What becomes of them is different for each transformation, and
#   raises no error.
# - A stored tracer has no value: `UnexpectedTracerError`.
# - The rewrite is always the same: what is needed comes in as an argument, what is changed goes out
#   as a result. To look at values, use `jax.debug.print`.
#
# In older posts, `id_print` and `host_callback` are what `jax.debug.print` and `jax.debug.callback`
# are today.
#
# **Next:** [chapter 04](04_random.ipynb) replaces the hidden state of random numbers by keys.
