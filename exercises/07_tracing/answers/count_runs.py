# The card of the exercise count_runs. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # Look into the inner programs
#
# How often does the machine compute a sine, if it calls a function once? The jaxpr knows. But a
# function under `jit` is one equation, and so is a loop of `lax`: you must look into the programs
# that they hold.
#
# Write `count_runs(f, name, x)`: how many times the primitive called `name` runs, in one call of
# `f(x)`.
#
# - An equation `jit[...]` holds its program as `eqn.params["jaxpr"]`. Equations such as `sin` or
#   `add` have no parameter of this name.
# - A loop with a known number of passes is an equation `scan[...]`. Its body is
#   `eqn.params["jaxpr"]`, too, and `eqn.params["length"]` says how many times it runs.
# - In these programs there may be such equations again.
#
# For `f = lambda x: lax.fori_loop(0, 3, lambda i, x: x + jnp.sin(x), x)` the primitive `"sin"` runs
# 3 times.
#
# Run this file, or `tinyjax check count_runs`, to see whether it is right.

# %% given
import tinyjax as jax


# %% stub
def count_runs(f, name, x):
    """How many times the primitive of this name runs in f(x), inner programs included."""
    raise NotImplementedError


# %% [markdown] hint
# Suppose that you have a function which counts in a program. What can you do with it, when an
# equation of the program holds another program?

# %% [markdown] hint
# Write an inner function that takes a jaxpr and calls itself for the programs in it. What it finds
# in the body of a loop counts as many times as the loop goes round. The result of `jax.make_jaxpr`
# and the programs in equations all have `.eqns`.

# %% [markdown] hint
#     def count_runs(f, name, x):
#         def count(jaxpr):
#             total = 0
#             for eqn in jaxpr.eqns:
#                 if str(eqn.primitive) == ...:
#                     total += ...
#                 if "jaxpr" in eqn.params:
#                     total += ... * count(...)
#             return total
#
#         return count(jax.make_jaxpr(f)(x))

# %% checks
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import check

NAMES = ["sin", "cos", "sinh", "add"]


def draw(rng):
    """How many operations of each kind there are in three functions that call one another."""
    return {"counts": [[int(n) for n in rng.integers(1, 5, size=3)] for _ in range(3)], "x": 0.5}


def draw_loops(rng):
    """How many times two loops, one inside of the other, go round."""
    outer, inner = (int(n) for n in rng.permutation([2, 3, 4, 5, 6])[:2])
    return {"outer": outer, "inner": inner, "x": 0.5}


def waves(x, sines, cosines, hyperbolic):
    """So many sines of x, so many cosines, and so many hyperbolic sines."""
    for _ in range(sines):
        x = jnp.sin(x)
    for _ in range(cosines):
        x = jnp.cos(x)
    for _ in range(hyperbolic):
        x = jnp.sinh(x)
    return x


@check("jitted functions in jitted functions")
def jitted(student, counts, x):
    @jax.jit
    def deepest(x):
        return waves(x, *counts[2])

    @jax.jit
    def deeper(x):
        return deepest(waves(x, *counts[1])) + deepest(x)

    def f(x):
        return waves(deeper(x), *counts[0]) + deeper(2.0 * x)

    return {name: student.count_runs(f, name, x) for name in NAMES}


@check("loops in loops", draw=draw_loops)
def loops(student, outer, inner, x):
    @jax.jit
    def step(x):
        return jnp.sin(jnp.sin(x)) + x

    def body(i, x):
        return jnp.cos(lax.fori_loop(0, inner, lambda j, x: jnp.sinh(step(x)), x))

    def f(x):
        return jnp.sin(lax.fori_loop(0, outer, body, jnp.cos(x)))

    return {name: student.count_runs(f, name, x) for name in NAMES}


# %% reference
def count_runs(f, name, x):
    """How many times the primitive of this name runs in f(x), inner programs included."""

    def count(jaxpr):
        total = 0
        for eqn in jaxpr.eqns:
            if str(eqn.primitive) == name:
                total += 1
            if "jaxpr" in eqn.params:  # a loop runs it `length` times, jit once
                total += eqn.params.get("length", 1) * count(eqn.params["jaxpr"])
        return total

    return count(jax.make_jaxpr(f)(x))


# %% right: a stack of programs
def count_runs(f, name, x):
    total, todo = 0, [(1, jax.make_jaxpr(f)(x))]
    while todo:
        times, program = todo.pop()
        for eqn in program.eqns:
            total += times * (eqn.primitive.name == name)
            if (inner := eqn.params.get("jaxpr")) is not None:
                todo.append((times * eqn.params.get("length", 1), inner))
    return total


# %% right: a sum over a generator
def count_runs(f, name, x):
    def runs(jaxpr):
        for eqn in jaxpr.eqns:
            yield f"{eqn.primitive}"
            for _ in range(eqn.params["length"] if str(eqn.primitive) == "scan" else 1):
                yield from runs(eqn.params["jaxpr"]) if "jaxpr" in eqn.params else ()

    return sum(π == name for π in runs(jax.make_jaxpr(f)(x).jaxpr))


# %% right: a dictionary of all counts
from collections import Counter


class Zaehler:
    def __call__(self, jaxpr):
        counts = Counter(str(eqn.primitive) for eqn in jaxpr.eqns)
        for eqn in jaxpr.eqns:
            if "jaxpr" in eqn.params:
                for primitive, n in self(eqn.params["jaxpr"]).items():
                    counts[primitive] += n * eqn.params.get("length", 1)
        return counts


def count_runs(f, name, x):
    return Zaehler()(jax.make_jaxpr(f)(x))[name]


# %% wrong: the outermost program only
# You looked at the outermost program only: equations `jit` and `scan` hold programs of their own.
def count_runs(f, name, x):
    return sum(str(eqn.primitive) == name for eqn in jax.make_jaxpr(f)(x).eqns)


# %% wrong: one level deep
# You looked one level deep: there may be programs in inner programs, so let a function call itself.
def count_runs(f, name, x):
    total = 0
    for eqn in jax.make_jaxpr(f)(x).eqns:
        total += str(eqn.primitive) == name
        if "jaxpr" in eqn.params:
            times = eqn.params.get("length", 1)
            total += times * sum(str(e.primitive) == name for e in eqn.params["jaxpr"].eqns)
    return total


# %% wrong: a loop counts once
# You counted the body of a loop once: it runs as many times as `length` says.
def count_runs(f, name, x):
    def count(jaxpr):
        total = 0
        for eqn in jaxpr.eqns:
            total += str(eqn.primitive) == name
            if "jaxpr" in eqn.params:
                total += count(eqn.params["jaxpr"])
        return total

    return count(jax.make_jaxpr(f)(x))


# %% wrong: the passes are added
# You added the number of passes: multiply it by what the body runs.
def count_runs(f, name, x):
    def count(jaxpr):
        total = 0
        for eqn in jaxpr.eqns:
            total += str(eqn.primitive) == name
            if "jaxpr" in eqn.params:
                total += eqn.params.get("length", 0) + count(eqn.params["jaxpr"])
        return total

    return count(jax.make_jaxpr(f)(x))


# %% wrong: loops only
# You looked into loops only: an equation `jit` holds a program, too.
def count_runs(f, name, x):
    def count(jaxpr):
        total = 0
        for eqn in jaxpr.eqns:
            total += str(eqn.primitive) == name
            if "length" in eqn.params:
                total += eqn.params["length"] * count(eqn.params["jaxpr"])
        return total

    return count(jax.make_jaxpr(f)(x))


# %% wrong: in the printed text
# You counted words in the printed program: a program that is called twice is printed once, and
# `sin` is a part of `sinh`. Go through the equations.
def count_runs(f, name, x):
    return str(jax.make_jaxpr(f)(x)).count(name)


# %% wrong: each program once
# You counted each inner program once: one that is called twice also runs twice.
def count_runs(f, name, x):
    seen = set()

    def count(jaxpr):
        total = 0
        for eqn in jaxpr.eqns:
            total += str(eqn.primitive) == name
            inner = eqn.params.get("jaxpr")
            if inner is not None and id(inner) not in seen:
                seen.add(id(inner))
                total += eqn.params.get("length", 1) * count(inner)
        return total

    return count(jax.make_jaxpr(f)(x))


# %% wrong: all equations
# You counted equations of all kinds: compare the name of each primitive with the one asked for.
def count_runs(f, name, x):
    def count(jaxpr):
        total = 0
        for eqn in jaxpr.eqns:
            total += 1
            if "jaxpr" in eqn.params:
                total += eqn.params.get("length", 1) * count(eqn.params["jaxpr"])
        return total

    return count(jax.make_jaxpr(f)(x))


# %% wrong: a part of the name
# You looked for the name inside of the primitive's name: `sin` is a part of `sinh`, so compare with
# `==`.
def count_runs(f, name, x):
    def count(jaxpr):
        total = 0
        for eqn in jaxpr.eqns:
            total += name in str(eqn.primitive)
            if "jaxpr" in eqn.params:
                total += eqn.params.get("length", 1) * count(eqn.params["jaxpr"])
        return total

    return count(jax.make_jaxpr(f)(x))


# %% wrong: the loop over equations ends early
# You returned inside of the loop over the equations: it ended with the first one that counts.
def count_runs(f, name, x):
    def count(jaxpr):
        for eqn in jaxpr.eqns:
            if str(eqn.primitive) == name:
                return 1
            if "jaxpr" in eqn.params:
                return eqn.params.get("length", 1) * count(eqn.params["jaxpr"])
        return 0

    return count(jax.make_jaxpr(f)(x))


# %% wrong: either itself or inside
# You overwrote the total with what an inner program runs: add it.
def count_runs(f, name, x):
    def count(jaxpr):
        total = 0
        for eqn in jaxpr.eqns:
            total += str(eqn.primitive) == name
            if "jaxpr" in eqn.params:
                total = eqn.params.get("length", 1) * count(eqn.params["jaxpr"])
        return total

    return count(jax.make_jaxpr(f)(x))


# %% wrong: the primitive itself is compared
# You compared the primitive with a text, which are never equal: take `str(eqn.primitive)`.
def count_runs(f, name, x):
    def count(jaxpr):
        total = 0
        for eqn in jaxpr.eqns:
            total += eqn.primitive == name
            if "jaxpr" in eqn.params:
                total += eqn.params.get("length", 1) * count(eqn.params["jaxpr"])
        return total

    return count(jax.make_jaxpr(f)(x))


# %% wrong: nothing is returned
# Your function returns None: does it end in a return?
def count_runs(f, name, x):
    def count(jaxpr):
        return sum(str(eqn.primitive) == name for eqn in jaxpr.eqns)

    count(jax.make_jaxpr(f)(x))
