# The card of the exercise static_arg. Spoilers: it holds the solutions.
# %% [markdown] about
# difficulty: 1
# minutes: 10

# %% [markdown] statement
# # An argument that is a size
#
# `changes`, below, says how much prices changed within `lag` days, times a weight:
#
#     changes(prices, 2, 10.0)    # [30. 60.]
#
# Under a plain `jax.jit` it fails: where a slice ends decides a shape, and `lag` is a tracer.
#
# Write `compiled`. It takes such a function `f(prices, lag, weight)` and returns a jitted one:
#
# - `lag` is known to Python, and each new value of it makes a new program;
# - `weight` is an ordinary number: a new weight must not trace `f` again;
# - `lag` may be given by position or by name.
#
# For example:
#
#     fast = compiled(changes)
#     fast(prices, 2, 10.0)               # [30. 60.]
#     fast(prices, lag=1, weight=1.0)     # [1. 2. 4.]
#
# Run this file, or `tinyjax check static_arg`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp

prices = jnp.array([1.0, 2.0, 4.0, 8.0])


def changes(prices, lag, weight):
    """How much prices changed within `lag` days, times a weight."""
    return weight * (prices[lag:] - prices[:-lag])


# %% stub
def compiled(f):
    """`f(prices, lag, weight)`, jitted: `lag` is static, the others are arrays."""
    raise NotImplementedError


# %% [markdown] hint
# Which of the three arguments decides the shape of the result? And which of them has a new
# value in every call?

# %% [markdown] hint
# `jit` takes an argument out of the arrays if you say so, by name or by position. Its value
# goes into the key then. Do so for the one that Python must know, and for no other.

# %% [markdown] hint
#     def compiled(f):
#         return jax.jit(f, static_argnames=...)

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax.learn import check

seconds = 60.0


def draw(rng):
    """Prices, two lags, and weights, for four calls; the last is the first again."""
    first = int(rng.integers(1, 4))
    second = first + int(rng.integers(1, 3))
    weights = [float(w) for w in rng.uniform(0.5, 3.0, size=3).round(2)]
    return {
        "prices": rng.normal(10.0, 3.0, size=8).round(2).astype(np.float32),
        "lags": [first, second, first, first],
        "weights": [*weights, weights[0]],
    }


def counted():
    """The function `changes`, and how often Python runs it."""
    ran = {"traced": 0, "run without jit": 0}

    def changes(prices, lag, weight):
        ran["traced" if isinstance(prices, jax.core.Tracer) else "run without jit"] += 1
        return weight * (prices[lag:] - prices[:-lag])

    return changes, ran


@check("four calls: their results, and how often f is traced")
def calls(student, prices, lags, weights):
    f, ran = counted()
    fast = student.compiled(f)
    results = [fast(prices, lag, weight) for lag, weight in zip(lags, weights)]
    return {"results": results, **ran}


@check("the lag is given by its name")
def by_name(student, prices, lags, weights):
    f, ran = counted()
    return {"result": student.compiled(f)(prices, lag=lags[0], weight=weights[0]), **ran}


# %% reference
def compiled(f):
    """`f(prices, lag, weight)`, jitted: `lag` is static, the others are arrays."""
    return jax.jit(f, static_argnames="lag")


# %% right: by position
def compiled(f):
    return jax.jit(f, static_argnums=1)


# %% right: a decorator inside
def compiled(f):
    @jax.jit(static_argnames=("lag",))
    def fast(prices, lag, weight):
        return f(prices, lag, weight)

    return fast


# %% right: a dictionary of programs
class compiled:
    def __init__(self, f):
        self.f, self.programs = f, {}

    def __call__(self, prices, lag, weight):
        if lag not in self.programs:
            self.programs[lag] = jax.jit(lambda p, w: self.f(p, lag, w))
        return self.programs[lag](prices, weight)


# %% wrong: nothing is static
# Your lag is an array like the others: Python needs its value for the slice, so make it static
# (position 1).
def compiled(f):
    return jax.jit(f)


# %% wrong: the weight is static
# Your lag is an array like the others: Python needs its value for the slice, so make it static
# (position 1).
def compiled(f):
    return jax.jit(f, static_argnums=2)


# %% wrong: lag and weight are static
# You made weight static, too: each new weight traces f again, so leave it among the arrays.
def compiled(f):
    return jax.jit(f, static_argnames=("lag", "weight"))


# %% wrong: the prices are static
# You made the prices static: an array has no hash, so it cannot be part of a key. Only lag is
# static.
def compiled(f):
    return jax.jit(f, static_argnums=0)


# %% wrong: not jitted
# You returned f as it is, so Python runs in every call: hand f to jax.jit.
def compiled(f):
    return f


# %% wrong: a new jit for each call
# You make a new function for jit in each call, so nothing is ever found again: call jax.jit once.
def compiled(f):
    def fast(prices, lag, weight):
        return jax.jit(lambda p, w: f(p, lag, w) + 0 * w)(prices, weight)

    return fast


# %% wrong: the first lag for ever
# You kept the lag of the first call: a static argument goes into the key, so a new one traces
# again.
def compiled(f):
    kept = []

    @jax.jit
    def program(prices, weight):
        return f(prices, kept[0], weight)

    def fast(prices, lag, weight):
        kept.append(lag)
        return program(prices, weight)

    return fast


# %% wrong: without names
# Your function takes no names: jit a function with the arguments prices, lag and weight, such as
# f itself.
def compiled(f):
    return jax.jit(lambda *args: f(*args), static_argnums=1)


# %% wrong: nothing is returned
# Your function returns None: return the jitted function.
def compiled(f):
    jax.jit(f, static_argnames="lag")
