# The card of the exercise count_traces. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 10

# %% [markdown] statement
# # How often is it traced?
#
# A function under `jax.jit` runs in Python only while it is traced. So Python can tell how often
# that is.
#
# Write `count_traces(f, arguments)`. It compiles `f`, a function of one argument, with `jax.jit`,
# calls the compiled function once with each of the `arguments`, in their order, and returns how
# many times `f` was traced.
#
# For `arguments = [1.0, 2.0, 1]` the answer is 2: the two floats are of one kind, the integer is of
# another.
#
# Run this file, or `tinyjax check count_traces`, to see whether it is right.

# %% given
import tinyjax as jax


# %% stub
def count_traces(f, arguments):
    """How many times `jax.jit` traces f when it is called with each of the arguments."""
    raise NotImplementedError


# %% [markdown] hint
# When you call a compiled function for the second time with an argument of the same kind, which
# lines of Python run?

# %% [markdown] hint
# What Python does inside of a compiled function happens once for each trace, and not once for each
# call. So put a counter inside: a function that counts, and then calls `f`. Compile this function
# once, and call it with all the arguments.

# %% [markdown] hint
#     def count_traces(f, arguments):
#         traces = 0
#
#         def counted(x):
#             nonlocal traces
#             ...
#             return f(x)
#
#         compiled = ...
#         for x in arguments:
#             ...
#         return traces

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

seconds = 30.0


def shuffled(rng, items):
    """The items in a random order."""
    return [items[i] for i in rng.permutation(len(items))]


def draw(rng):
    """Vectors of three lengths and two dtypes, as [length, dtype, value]; some come back."""
    a, b, c = (int(n) for n in rng.permutation(np.arange(1, 6))[:3])
    kinds = [[a, "float32"], [b, "float32"], [a, "int32"], [c, "float32"]]
    kinds += [[c, "int32"]] * int(rng.integers(2))
    calls = shuffled(rng, kinds) + shuffled(rng, kinds)[: int(rng.integers(3, 5))]
    return {"vectors": [[*kind, k // 7] for k, kind in enumerate(calls)]}


def draw_numbers(rng):
    """Numbers, Python's own and arrays: some differ in their values only."""
    kinds = ["float", "float32", "int", "int32"][: int(rng.integers(3, 5))]
    items = [[kind, value] for kind in kinds for value in shuffled(rng, range(2, 7))[:2]]
    return {"numbers": shuffled(rng, items) + items[:2]}


def watched(seen):
    """A function that writes down what it is called with, and changes nothing."""

    def f(x):
        seen.append("a tracer" if isinstance(x, jax.core.Tracer) else "a value")
        return x

    return f


@check("vectors of several lengths and dtypes")
def several_vectors(student, vectors):
    seen = []
    arrays = [jnp.full(length, value, dtype) for length, dtype, value in vectors]
    count = student.count_traces(watched(seen), arrays)
    return {"count": count, "f was called with": seen}


@check("numbers of several types", draw=draw_numbers)
def several_numbers(student, numbers):
    make = {"float": float, "int": int, "float32": np.float32, "int32": np.int32}
    seen = []
    count = student.count_traces(watched(seen), [make[kind](value) for kind, value in numbers])
    return {"count": count, "f was called with": seen}


# %% reference
def count_traces(f, arguments):
    """How many times `jax.jit` traces f when it is called with each of the arguments."""
    traces = 0

    def counted(x):
        nonlocal traces
        traces += 1  # this line is Python: it runs while x is a tracer, and only then
        return f(x)

    compiled = jax.jit(counted)  # once: it remembers the kinds of arguments that it has seen
    for x in arguments:
        compiled(x)
    return traces


# %% right: a list of tracers
def count_traces(f, arguments):
    tracers = []

    @jax.jit
    def compiled(x):
        tracers.append(x)
        return f(x)

    [compiled(x) for x in arguments]
    return len(tracers)


# %% right: a class with __call__
class Counted:
    def __init__(self, f):
        self.f, self.anzahl = f, 0

    def __call__(self, x):
        self.anzahl += 1
        return self.f(x)


def count_traces(f, arguments):
    λ = Counted(f)
    compiled = jax.jit(λ)
    for x in arguments:
        compiled(x)
    return λ.anzahl


# %% right: the last trace knows
def count_traces(f, arguments):
    numbers = iter(range(1, 1000))
    count = [0]

    def counted(x):
        count[0] = next(numbers)
        return f(x)

    compiled = jax.jit(counted)
    tuple(map(compiled, arguments))
    return jax.numpy.array(count[0])


# %% wrong: the calls
# You counted the calls: count inside of the function that is compiled, where Python runs only
# while it is traced.
def count_traces(f, arguments):
    calls = 0
    compiled = jax.jit(f)
    for x in arguments:
        calls += 1
        compiled(x)
    return calls


# %% wrong: compiled anew for each call
# You compiled a new function for each argument: a new one knows nothing of earlier traces, so
# compile once, before the loop.
def count_traces(f, arguments):
    traces = 0
    for x in arguments:

        @jax.jit
        def counted(x):
            nonlocal traces
            traces += 1
            return f(x)

        counted(x)
    return traces


# %% wrong: not compiled
# You called the function without `jax.jit`: it saw values and ran for each argument, so nothing
# was traced.
def count_traces(f, arguments):
    count = 0
    for x in arguments:
        f(x)
        count += 1
    return count


# %% wrong: shapes only
# You counted the shapes: the dtype belongs to the kind of an argument, too.
def count_traces(f, arguments):
    compiled = jax.jit(f)
    shapes = set()
    for x in arguments:
        compiled(x)
        shapes.add(jax.numpy.shape(x))
    return len(shapes)


# %% wrong: types only
# You counted the types of numbers: the shape belongs to the kind of an argument, too.
def count_traces(f, arguments):
    compiled = jax.jit(f)
    types = set()
    for x in arguments:
        compiled(x)
        types.add((type(x), jax.numpy.result_type(x)))
    return len(types)


# %% wrong: types of Python only
# You counted the types of Python: arrays of different shapes or dtypes have the same type, and each
# kind is traced for itself.
def count_traces(f, arguments):
    compiled = jax.jit(f)
    for x in arguments:
        compiled(x)
    return len({type(x) for x in arguments})


# %% wrong: changes of kind
# You counted how often the kind of the argument changes: jit keeps all its programs, so a kind
# that comes back is not traced again.
def count_traces(f, arguments):
    compiled = jax.jit(f)
    before, count = None, 0
    for x in arguments:
        compiled(x)
        kind = (type(x), jax.numpy.shape(x), jax.numpy.result_type(x))
        count += kind != before
        before = kind
    return count


# %% wrong: different values
# You counted different values: a tracer knows no values, so arguments that differ in nothing else
# share a trace.
def count_traces(f, arguments):
    compiled = jax.jit(f)
    for x in arguments:
        compiled(x)
    return len({(type(x), str(x), str(jax.numpy.result_type(x))) for x in arguments})


# %% wrong: plain numbers taken for arrays
# You counted shapes and dtypes: a plain Python number, whose type is weak, is of another kind than
# an array that holds one.
def count_traces(f, arguments):
    compiled = jax.jit(f)
    kinds = set()
    for x in arguments:
        compiled(x)
        kinds.add((jax.numpy.shape(x), jax.numpy.asarray(x).dtype))
    return len(kinds)


# %% wrong: the first call only
# You said that only the first call is traced: each new kind of argument needs a program of its own.
def count_traces(f, arguments):
    compiled = jax.jit(f)
    for x in arguments:
        compiled(x)
    return 1


# %% wrong: the calls after the first
# You counted the calls that were not traced: these are the others.
def count_traces(f, arguments):
    traces = 0

    def counted(x):
        nonlocal traces
        traces += 1
        return f(x)

    compiled = jax.jit(counted)
    for x in arguments:
        compiled(x)
    return len(arguments) - traces


# %% wrong: nothing is returned
# Your function returns None: does it end in a return?
def count_traces(f, arguments):
    traces = []
    compiled = jax.jit(lambda x: traces.append(x) or f(x))
    for x in arguments:
        compiled(x)
