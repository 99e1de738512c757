# The card of the exercise purify_counter. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 10

# %% [markdown] statement
# # A counter without a global
#
# `slower`, below, is not pure: it keeps the number of its calls in a global variable. Compiled,
# it raises the counter once, while it is traced, and then it returns `x / 1` for ever.
#
# Write `pure_slower(calls, x)`. It gets the number of calls before this one, and returns two
# things: the new number of calls, and `x` divided by it. Six calls are behind us, so this is the
# seventh: `pure_slower(6, 14.0)` is `(7, 2.0)`. It must do the same under `jax.jit`.
#
# Run this file, or `tinyjax check purify_counter`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp

calls = 0


def slower(x):
    """The first call returns x, the second x / 2, the third x / 3, and so on. Not pure."""
    global calls
    calls += 1
    return x / calls


# %% stub
def pure_slower(calls, x):
    """The new number of calls, and x divided by it."""
    raise NotImplementedError


# %% [markdown] hint
# What does `slower` read that is not among its arguments, and what does it change that it does
# not return?

# %% [markdown] hint
# What a function needs comes in as an argument; what it changes goes out as a result. The
# function does not remember anything: whoever calls it hands the new number to the next call.

# %% [markdown] hint
#     def pure_slower(calls, x):
#         calls = ...          # this call counts, too
#         return ..., x / ...

# %% checks
import tinyjax as jax
from tinyjax.learn import check

seconds = 30.0  # a kernel is compiled


def draw(rng):
    """A number of calls that is not zero, and what to call with."""
    return {
        "calls": int(rng.integers(3, 20)),
        "xs": [float(x) for x in rng.uniform(5.0, 50.0, size=3).round(1)],
    }


@check("three calls in a row, as written")
def as_written(student, calls, xs):
    results = []
    for x in xs:
        calls, result = student.pure_slower(calls, x)
        results.append([calls, result])
    return results


@check("a compiled call; then tracers that are left behind are watched for", draw=draw, draws=1)
def compiled(student, calls, xs):
    result = jax.jit(student.pure_slower)(calls, xs[0])[1]
    with jax.checking_leaks():
        jax.make_jaxpr(lambda *args: student.pure_slower(*args))(calls, xs[0])
    return result


# %% reference
def pure_slower(calls, x):
    """The new number of calls, and x divided by it."""
    calls = calls + 1  # a new value for a local name: nothing outside of the function changes
    return calls, x / calls


# %% right: a class with __call__ and unicode names
class PureSlower:
    def __call__(self, n, ξ):
        return n + 1, ξ / (n + 1)


pure_slower = PureSlower()


# %% right: a list of arrays
def pure_slower(calls, x):
    return [jnp.add(calls, 1), jnp.divide(x, jnp.add(calls, 1))]


# %% right: compiled, with a local that is raised in place
@jax.jit
def pure_slower(calls, x):
    calls += 1
    return calls, x * (1 / calls)


# %% wrong: the global goes on
# You still count with the global variable: the number of calls comes in as an argument.
def pure_slower(before, x):
    global calls
    calls += 1
    return calls, x / calls


# %% wrong: the number before
# You divided by the number of calls before this one: this call counts, too.
def pure_slower(calls, x):
    return calls + 1, x / calls


# %% wrong: the old number goes out
# You returned the number that came in: return the new one, or the next call counts from the old.
def pure_slower(calls, x):
    return calls, x / (calls + 1)


# %% wrong: the result alone
# You returned the result alone: the new number of calls must go out, too, since nobody else keeps
# it.
def pure_slower(calls, x):
    return x / (calls + 1)


# %% wrong: the other way round
# You returned the result first: the new number of calls comes first, then the result.
def pure_slower(calls, x):
    return x / (calls + 1), calls + 1


# %% wrong: always the first call
# You count from zero in every call: go on from the number that comes in.
def pure_slower(calls, x):
    calls = 0
    calls += 1
    return calls, x / calls


# %% wrong: int
# int() asks for a number, but under jit there is none yet: calls + 1 works for tracers, too.
def pure_slower(calls, x):
    calls = int(calls) + 1
    return calls, x / calls


# %% wrong: an if
# You ask with `if` for the value of calls, but under jit it has none yet: the first call needs no
# special case.
def pure_slower(calls, x):
    if calls == 0:
        return 1, x
    return calls + 1, x / (calls + 1)


# %% wrong: counted twice
# You raised the number twice: one call counts once.
def pure_slower(calls, x):
    calls += 1
    return calls + 1, x / calls


# %% wrong: the global is written, too
# You also write to the global variable: under jit a tracer stays in it. Give the number another
# name.
def pure_slower(before, x):
    global calls
    calls = before + 1
    return calls, x / calls


# %% wrong: nothing is returned
# Your function returns None: does it end in a return?
def pure_slower(calls, x):
    calls += 1
    x / calls
