# The card of the exercise cond. Spoilers: it holds the solutions.
# %% [markdown] about
# difficulty: 2
# minutes: 15

# %% [markdown] statement
# # Only if it is needed
#
# You have a guess `x`, a cheap function `error` that says how bad a guess is, and a costly
# function `improve` that returns a better one.
#
# Write `refine(x, error, improve, limit)`. If `error(x)` is greater than `limit`, it improves `x`,
# once; if not, it leaves `x` as it is. It returns a pair: the `x` that comes out, a float, and the
# number of improvements, the integer 1 or 0.
#
#     def error(x): return jnp.abs(x * x - 9.0)
#     def improve(x): return (x + 9.0 / x) / 2
#
#     refine(jnp.float32(1.0), error, improve, 0.5)    # (5.0, 1)
#     refine(jnp.float32(3.0), error, improve, 0.5)    # (3.0, 0)
#
# It must work under `jit`, and where no improvement is needed, `improve` must not run.
#
# Run this file, or `tinyjax check cond`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


# %% stub
def refine(x, error, improve, limit):
    """x, improved if its error is greater than limit; and how many improvements that took."""
    raise NotImplementedError


# %% [markdown] hint
# Chapter 10 names three ways out where a Python `if` fails under `jit`. Which of them takes a
# condition that is traced, and still runs one side only?

# %% [markdown] hint
# `lax.cond(condition, f, g, x)` runs `f(x)` or `g(x)`. It takes functions, so that the side that
# is not chosen need not run. Both must return the same types: here a float and an integer.

# %% [markdown] hint
#     def refine(x, error, improve, limit):
#         def better(x):
#             return improve(x), 1
#
#         def same(x):
#             return ..., ...
#
#         return lax.cond(..., better, same, x)

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

seconds = 60.0


def draw(rng):
    """A square, a guess for its root that is far off and one that will do."""
    a = round(float(rng.uniform(4.0, 9.0)), 2)
    return {
        "a": a,
        "far": np.float32(round(a**0.5 + float(rng.uniform(1.0, 2.0)), 2)),
        "near": np.float32(round(a**0.5 + float(rng.uniform(0.02, 0.03)), 3)),
        "limit": round(float(rng.uniform(0.3, 0.6)), 2),
    }


def newton(a):
    """How far x is from being the root of a, and a step that brings it closer."""
    return lambda x: jnp.abs(x * x - a), lambda x: (x + a / x) / 2


@check("under jit: a guess that is far off, and one that will do")
def under_jit(student, a, far, near, limit):
    refine = jax.jit(lambda x: student.refine(x, *newton(a), limit))
    return {"far": list(refine(far)), "near": list(refine(near))}


@check("how often improve runs")
def runs(student, a, far, near, limit):
    error, improve = newton(a)
    ran = []

    def watched(x):
        jax.debug.callback(lambda: ran.append(1))  # at run time, not while it is traced
        return improve(x)

    counts = {}
    for name, x in {"far": far, "near": near}.items():
        x, _ = student.refine(x, error, watched, limit)
        jax.block_until_ready(x)
        jax.effects_barrier()
        counts[name] = [x, len(ran)]
        ran.clear()
    return counts


# %% reference
def refine(x, error, improve, limit):
    """x, improved if its error is greater than limit; and how many improvements that took."""

    def better(x):
        return improve(x), 1

    def same(x):
        return x, 0

    return lax.cond(error(x) > limit, better, same, x)


# %% right: without an operand
def refine(x, error, improve, limit):
    needed = error(x) > limit
    return lax.cond(needed, lambda: improve(x), lambda: x), needed.astype(int)


# %% right: a switch
def refine(x, error, improve, limit):
    case = jnp.int32(error(x) > limit)
    return lax.switch(case, [lambda x: x, improve], x), case


# %% right: a loop that ends after one pass
def refine(x, error, improve, limit):
    def go_on(state):
        x, n = state
        return (n < 1) & (error(x) > limit)

    return lax.while_loop(go_on, lambda state: (improve(state[0]), state[1] + 1), (x, 0))


# %% right: a list, and the other way round
def refine(x, error, improve, limit):
    return list(lax.cond(error(x) <= limit, lambda y: (y, 0), lambda y: (improve(y), 1), x))


# %% wrong: a Python if
# You asked Python to choose, but under jit the error is a tracer without a value: use lax.cond.
def refine(x, error, improve, limit):
    if error(x) > limit:
        return improve(x), 1
    return x, 0


# %% wrong: where
# You computed improve(x) before the choice, so it runs in any case: lax.cond takes functions, and
# runs one.
def refine(x, error, improve, limit):
    needed = error(x) > limit
    return jnp.where(needed, improve(x), x), jnp.where(needed, 1, 0)


# %% wrong: improved before
# You computed improve(x) before the choice, so it runs in any case: lax.cond takes functions, and
# runs one.
def refine(x, error, improve, limit):
    better = improve(x)
    return lax.cond(error(x) > limit, lambda: (better, 1), lambda: (x, 0))


# %% wrong: the sides are swapped
# Your two sides are swapped: the first function runs where the condition is true.
def refine(x, error, improve, limit):
    return lax.cond(error(x) > limit, lambda x: (x, 0), lambda x: (improve(x), 1), x)


# %% wrong: values for functions
# You gave lax.cond values, but it takes two functions and runs one of them: hand over improve
# itself.
def refine(x, error, improve, limit):
    return lax.cond(error(x) > limit, (improve(x), 1), (x, 0))


# %% wrong: different types
# Your sides return different types, a float and an integer: what follows is one program, so they
# must agree.
def refine(x, error, improve, limit):
    return lax.cond(error(x) > limit, lambda x: (improve(x), 1), lambda x: (x, 0.0), x)


# %% wrong: until it is good
# You improved until the guess was good: it is to be improved once at most.
def refine(x, error, improve, limit):
    def go_on(state):
        return error(state[0]) > limit

    return lax.while_loop(go_on, lambda state: (improve(state[0]), state[1] + 1), (x, 0))


# %% wrong: always improved
# You improved every guess: one whose error is within the limit stays as it is.
def refine(x, error, improve, limit):
    return improve(x), 1


# %% wrong: x alone
# You returned x alone: the result is a pair, x and the number of improvements.
def refine(x, error, improve, limit):
    return lax.cond(error(x) > limit, improve, lambda x: x, x)


# %% wrong: the number is a guess
# You always say that one improvement was made: where x stays as it is, the number is 0.
def refine(x, error, improve, limit):
    return lax.cond(error(x) > limit, improve, lambda x: x, x), 1
