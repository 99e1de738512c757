# The card of the exercise no_retrace. Spoilers: it holds the solutions.
# %% [markdown] about
# difficulty: 1
# minutes: 15

# %% [markdown] statement
# # Trace once
#
# This descent gives the right numbers, and is slower than without `jit`:
#
#     def make_descent(slope):
#         def descent(x, rates):
#             for rate in rates:
#                 x = jax.jit(lambda x: x - rate * slope(x))(x)
#             return x
#
#         return descent
#
# Each pass of the loop makes a new function, so `slope` is traced again and again.
#
# Write a `make_descent` that does the same, and traces `slope` **once**: not once for each rate,
# and not once more when `descent` is called again with as many other rates and an `x` of the same
# type.
# `x` is an array, and `rates` a list of floats.
#
#     descent = make_descent(lambda x: 2 * x)
#     descent(jnp.array([1.0, -3.0]), [0.25, 0.25])    # [ 0.25 -0.75]
#
# Run this file, or `tinyjax check no_retrace`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


# %% stub
def make_descent(slope):
    """The function descent(x, rates): x goes against slope(x), once for each rate."""
    raise NotImplementedError


# %% [markdown] hint
# A jitted function keeps its programs. How long does the function live that is jitted in the
# loop above?

# %% [markdown] hint
# Make the jitted step once: outside of the loop, and outside of `descent`, which is called
# several times. What changes from pass to pass must come in as an argument.

# %% [markdown] hint
#     def make_descent(slope):
#         @jax.jit
#         def step(x, ...):
#             return ...
#
#         def descent(x, rates):
#             for rate in rates:
#                 x = step(...)
#             return x
#
#         return descent

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

seconds = 60.0


def some_rates(rng, n):
    """Rates of which the last is the first again."""
    rates = [float(r) for r in rng.uniform(0.05, 0.15, size=n - 1).round(3)]
    return [*rates, rates[0]]


def draw(rng):
    """Where to start, twice, and two lists of rates of one length."""
    n = int(rng.integers(4, 7))
    return {
        "x": rng.uniform(1.0, 4.0, size=3).round(2).astype(np.float32),
        "again": rng.uniform(1.0, 4.0, size=3).round(2).astype(np.float32),
        "rates": some_rates(rng, n),
        "other_rates": some_rates(rng, n),
        "c": round(float(rng.uniform(1.0, 2.0)), 2),
    }


class Slope:
    """The slope c * x + sin(x), which counts how often Python runs it."""

    def __init__(self, c):
        self.c, self.traced, self.on_values = c, 0, 0

    def __call__(self, x):
        if isinstance(x, jax.core.Tracer):
            self.traced += 1
        else:
            self.on_values += 1
        return self.c * x + jnp.sin(x)

    def counts(self):
        counts = {"times traced": self.traced, "times run without jit": self.on_values}
        self.traced = self.on_values = 0
        return counts


@check("two calls: where they end, and how often slope is traced")
def two_calls(student, x, again, rates, other_rates, c):
    slope = Slope(c)
    descent = student.make_descent(lambda x: slope(x))
    first = {"end": descent(x, rates), **slope.counts()}
    second = {"end": descent(again, other_rates), **slope.counts()}
    return {"first call": first, "second call": second}


@check("then an x of another shape")
def another_shape(student, x, again, rates, other_rates, c):
    descent = student.make_descent(Slope(c))
    return [descent(x, rates), descent(again[:2], other_rates)]


# %% reference
def make_descent(slope):
    """The function descent(x, rates): x goes against slope(x), once for each rate."""

    @jax.jit
    def step(x, rate):  # what changes is an argument
        return x - rate * slope(x)

    def descent(x, rates):
        for rate in rates:
            x = step(x, rate)
        return x

    return descent


# %% right: a scan
def make_descent(slope):
    @jax.jit
    def run(x, rates):
        return lax.scan(lambda x, rate: (x - rate * slope(x), None), x, rates)[0]

    return lambda x, rates: run(x, jnp.array(rates))


# %% right: a class
class make_descent:
    def __init__(self, slope):
        self.richtung = jax.jit(slope)

    def __call__(self, x, rates):
        for η in rates:
            x = x - η * self.richtung(x)
        return x


# %% right: slope is a static argument
@jax.jit(static_argnums=0)
def step_of(slope, x, rate):
    return x - rate * slope(x)


def make_descent(slope):
    def descent(x, rates):
        for rate in rates:
            x = step_of(slope, x, rate)
        return x

    return descent


# %% right: a loop of lax
def make_descent(slope):
    @jax.jit
    def run(x, rates):
        return lax.fori_loop(0, rates.size, lambda i, x: x - rates[i] * slope(x), x)

    return lambda x, rates: run(x, jnp.array(rates))


# %% wrong: jit in the loop
# You trace slope for each rate, in every call: make one jitted step, outside of descent, for all.
def make_descent(slope):
    def descent(x, rates):
        for rate in rates:
            x = jax.jit(lambda x: x - rate * slope(x))(x)  # noqa: B023
        return x

    return descent


# %% wrong: jit in descent
# You make the jitted step anew in each call of descent: make it outside, in make_descent.
def make_descent(slope):
    def descent(x, rates):
        @jax.jit
        def step(x, rate):
            return x - rate * slope(x)

        for rate in rates:
            x = step(x, rate)
        return x

    return descent


# %% wrong: a Python loop under jit
# You jitted the whole loop, which unrolls it, so slope is traced for each rate: jit one step, or
# use lax.scan.
def make_descent(slope):
    @jax.jit
    def descent(x, rates):
        for rate in rates:
            x = x - rate * slope(x)
        return x

    return descent


# %% wrong: a static rate
# You made the rate static, so each new rate traces again: let it be an array, as it changes all
# the time.
def make_descent(slope):
    @jax.jit(static_argnames="rate")
    def step(x, rate):
        return x - rate * slope(x)

    def descent(x, rates):
        for rate in rates:
            x = step(x, rate)
        return x

    return descent


# %% wrong: no jit
# You left out jit, so Python runs slope in each pass: jit the step, once.
def make_descent(slope):
    def descent(x, rates):
        for rate in rates:
            x = x - rate * slope(x)
        return x

    return descent


# %% wrong: the rate is frozen
# Your jitted step reads the rate from outside, so the first one stays in the program: pass it as
# an argument.
def make_descent(slope):
    now = {}

    @jax.jit
    def step(x):
        return x - now["rate"] * slope(x)

    def descent(x, rates):
        for rate in rates:
            now["rate"] = rate
            x = step(x)
        return x

    return descent


# %% wrong: one program for all
# You kept the program of the first x, which fits arrays of its type only: jit makes one for each
# type.
def make_descent(slope):
    programs = []

    def descent(x, rates):
        for rate in rates:
            if not programs:
                programs.append(jax.jit(lambda x, r: x - r * slope(x)).lower(x, rate).compile())
            x = programs[0](x, rate)
        return x

    return descent


# %% wrong: uphill
# You went along the slope: a descent subtracts it.
def make_descent(slope):
    step = jax.jit(lambda x, rate: x + rate * slope(x))

    def descent(x, rates):
        for rate in rates:
            x = step(x, rate)
        return x

    return descent


# %% wrong: from the start each time
# Each of your steps begins at the first x, so only the last one counts: keep what a step returns.
def make_descent(slope):
    step = jax.jit(lambda x, rate: x - rate * slope(x))

    def descent(x, rates):
        for rate in rates:
            end = step(x, rate)
        return end

    return descent
