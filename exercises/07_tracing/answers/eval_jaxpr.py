# The card of the exercise eval_jaxpr. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 25

# %% [markdown] statement
# # An interpreter that tidies up
#
# `eval_jaxpr` in `tinyjax/core.py` runs the equations of a jaxpr. `jax.linearize` pushes tangents
# with it, and derivatives and batches of compiled functions and of loops go through it. Write it,
# and yours takes its place.
#
# `eval_jaxpr(jaxpr, consts, *args)` runs the program `jaxpr` and returns the **list** of its
# results.
#
# - `args` are the values of `jaxpr.invars`, and `consts` those of `jaxpr.constvars`. (Look at no
#   other consts: a program may be run with others than those it was recorded with.)
# - `jaxpr.eqns` are the equations. An equation has `invars`, `params`, `outvars` and a `primitive`.
#   If `primitive.multiple_results` is true, `primitive.bind(...)` returns a list.
# - What an equation reads is a variable or a `Literal`, whose number is `.array`. The same is true
#   of `jaxpr.outvars`, the results of the program.
#
# And there is one thing that `run` of chapter 07 does not do: **let go** of a value as soon as
# nobody will read it any more. A program of 25 equations in a row needs one or two arrays at a
# time, not 25, and arrays can be large. So forget a variable after the last equation that reads
# it, unless it is a result of the program.
#
# Run this file, or `tinyjax check eval_jaxpr`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.extend.core import Literal


# %% stub
def eval_jaxpr(jaxpr, consts, *args):
    """Runs a jaxpr on values, through whatever trace is current: the list of its results."""
    raise NotImplementedError


# %% [markdown] hint
# Before the first equation runs, you can already see all equations. So how can you tell which of
# them is the last to read a variable?

# %% [markdown] hint
# Go through the equations once without running them, and note for each variable the number of the
# equation that reads it. A later one overwrites an earlier one, so in the end you know the last.
# Then run them, and after equation number n delete the variables whose last reader was n. Variables
# among `jaxpr.outvars` are read once more, at the end.

# %% [markdown] hint
#     def eval_jaxpr(jaxpr, consts, *args):
#         value = dict(zip(jaxpr.constvars, ...)) | dict(zip(jaxpr.invars, ...))
#
#         def read(v):
#             return ... if isinstance(v, Literal) else ...
#
#         last = {}
#         for n, eqn in enumerate(jaxpr.eqns):
#             for v in eqn.invars:
#                 last[v] = ...
#         for n, eqn in enumerate(jaxpr.eqns):
#             ...  # run it, and store its results
#             for v in set(eqn.invars):
#                 if ... and v not in jaxpr.outvars:
#                     value.pop(v, None)
#         return ...

# %% checks
import contextlib
import weakref

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import core, lax
from tinyjax.learn import check, run_examples

seconds = 60.0


def install(student):
    """The student's interpreter, where all of the package calls it."""
    core.eval_jaxpr = lambda jaxpr, consts, *args: student.eval_jaxpr(jaxpr, consts, *args)


def vector(rng, n):
    """A few numbers."""
    return rng.normal(size=n).round(2).astype(np.float32)


def draw(rng):
    """A vector, and two tables of its length."""
    n = int(rng.integers(3, 6))
    return {name: vector(rng, n) for name in ("x", "table", "other_table")}


def draw_tangent(rng):
    """A vector and a tangent."""
    n = int(rng.integers(3, 6))
    return {"x": vector(rng, n), "t": vector(rng, n)}


@contextlib.contextmanager
def missing(program=None):
    """A variable that is missing gets a name that is the same everywhere."""
    try:
        yield
    except KeyError as error:
        if not str(error).startswith("Literal"):
            error.args = (kind(str(error), program),)
        raise


def kind(name, program):
    """What sort of variable it is."""
    if program is None:
        return "a variable"
    sorts = {
        "a result": program.outvars,
        "a const": program.constvars,
        "an argument": program.invars,
    }
    for sort, variables in sorts.items():
        if name in map(repr, variables):
            return sort
    return "a variable that an equation computes"


class Seen(core.Tracer):
    """A value of which we know when it is gone."""

    def __init__(self, trace, value):
        self.trace, self.value, self.aval = trace, value, value.aval

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.value, dtype)


class Census(core.Trace):
    """Computes, and counts how many of its values are alive before each operation."""

    def __init__(self):
        self.parent, self.born, self.most = core.current_trace(), [], 0

    def new(self, value):
        """A tracer, and a note that it was born."""
        value = Seen(self, value)
        self.born.append(weakref.ref(value))
        return value

    def process(self, prim, args, params):
        self.most = max(self.most, sum(born() is not None for born in self.born))
        values = [x.value if self.mine(x) else x for x in args]
        out = self.parent.process(prim, values, params)
        return list(map(self.new, out)) if prim.multi else self.new(out)


@check("numbers, tables, programs in programs and several results")
def parts(student, x, table, other_table):
    @jax.jit
    def inner(x):
        return x @ table, x @ x

    def f(x):
        product, total = inner(x * table + 2.0)
        difference = product - x[::-1]
        largest, places = lax.top_k(difference, 2)
        return largest, (total - difference) * table, x, 7.0, places

    program = jax.make_jaxpr(f)(x)
    with missing(program):
        return core.eval_jaxpr(program, [other_table, *program.consts[1:]], x)


@check("values are let go", draw=draw_tangent)
def let_go(student, x, t):
    def f(x):
        first, y = x * t, x
        for _ in range(8):
            y = jnp.sin(y) * x + 1.0
        return y + first, y, jnp.cos(y), first

    program = jax.make_jaxpr(f)(x)
    census = Census()
    with missing(program), core.active(census):
        outs = student.eval_jaxpr(program, program.consts, *map(census.new, [x]))
    outs = [out.value if census.mine(out) else out for out in outs]
    return {"results": outs, "alive at a time": census.most if census.most > 12 else "12 or fewer"}


@check("the package runs on it", draw=draw_tangent)
def package(student, x, t):
    @jax.jit
    def f(x):
        return jnp.sum(x * jnp.sin(x)) * x

    with missing():
        value, push = jax.linearize(lambda x: jnp.sin(x * x[0]) * 2.0, x)
        return {
            "linearize": [value, push(t)],
            "jvp of a jitted function": jax.jvp(f, (x,), (t,)),
            "examples": run_examples(jax.linearize, jax.checkpoint),
        }


# %% reference
def eval_jaxpr(jaxpr, consts, *args):
    """Runs a jaxpr on values, through whatever trace is current: the list of its results."""
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    last = {}  # variable -> the number of the last equation that reads it
    for n, eqn in enumerate(jaxpr.eqns):
        for v in eqn.invars:
            last[v] = n
    for n, eqn in enumerate(jaxpr.eqns):
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        value.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
        for v in set(eqn.invars):  # a set, since x * x reads x twice
            if last[v] == n and v not in jaxpr.outvars:
                value.pop(v, None)  # literals are not there
    return [read(v) for v in jaxpr.outvars]


# %% right: readers are counted
from collections import Counter


def eval_jaxpr(jaxpr, consts, *args):
    readers = Counter(v for eqn in jaxpr.eqns for v in eqn.invars) + Counter(jaxpr.outvars)
    value = {}
    for v, x in [*zip(jaxpr.constvars, consts), *zip(jaxpr.invars, args)]:
        value[v] = x

    def read(v):
        if isinstance(v, Literal):
            return v.array
        readers[v] -= 1
        return value[v] if readers[v] else value.pop(v)

    for eqn in jaxpr.eqns:
        results = eqn.primitive.bind(*[read(v) for v in eqn.invars], **eqn.params)
        if not eqn.primitive.multiple_results:
            results = (results,)
        for v, result in zip(eqn.outvars, results):
            value[v] = result
    return [read(v) for v in jaxpr.outvars]


# %% right: from the end, in the order that is asked for
def eval_jaxpr(jaxpr, consts, *args):
    known = {**dict(zip(jaxpr.constvars, consts)), **dict(zip(jaxpr.invars, args))}
    dead, needed = [], set(jaxpr.outvars)
    for eqn in reversed(jaxpr.eqns):  # from the end, the first reader is the last
        dead.append({v for v in eqn.invars if v not in needed})
        needed.update(eqn.invars)

    def read(v):
        return v.val if type(v) is Literal else known[v]

    for eqn in jaxpr.eqns:
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        outs = out if isinstance(out, list) else [out]
        known.update(dict(zip(eqn.outvars, outs)))
        for v in dead.pop():
            known.pop(v, None)
    return list(map(read, jaxpr.outvars))


# %% right: a new dictionary for each equation
class Interpreter:
    def __call__(self, jaxpr, consts, *args):
        umwelt = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args]))
        get = lambda v: v.array if hasattr(v, "array") else umwelt[v]
        rest = list(jaxpr.eqns)
        while rest:
            eqn = rest.pop(0)
            out = eqn.primitive.bind(*map(get, eqn.invars), **eqn.params)
            umwelt |= zip(eqn.outvars, out if eqn.primitive.multiple_results else [out])
            wanted = {v for e in rest for v in e.invars} | set(jaxpr.outvars)
            umwelt = {v: x for v, x in umwelt.items() if v in wanted}
        return [get(v) for v in jaxpr.outvars]


eval_jaxpr = Interpreter()


# %% wrong: nothing is let go
# You kept all values to the end: after the last equation that reads a variable, delete it.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    for eqn in jaxpr.eqns:
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        value.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
    return [read(v) for v in jaxpr.outvars]


# %% wrong: let go after the first reader
# You let go of a variable after the first equation that reads it: a later one, or the list of
# results, may read it again.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    for eqn in jaxpr.eqns:
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        value.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
        for v in set(eqn.invars):
            value.pop(v, None)
    return [read(v) for v in jaxpr.outvars]


# %% wrong: results are let go
# You let go of results: a variable in `jaxpr.outvars` is read once more, at the end.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    last = {v: n for n, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
    for n, eqn in enumerate(jaxpr.eqns):
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        value.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
        for v in set(eqn.invars):
            if last[v] == n:
                value.pop(v, None)
    return [read(v) for v in jaxpr.outvars]


# %% wrong: consts have no values
# You gave values to the arguments only: `jaxpr.constvars` have values, too, the `consts`.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    last = {v: n for n, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
    for n, eqn in enumerate(jaxpr.eqns):
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        value.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
        for v in set(eqn.invars):
            if last[v] == n and v not in jaxpr.outvars:
                value.pop(v, None)
    return [read(v) for v in jaxpr.outvars]


# %% wrong: nothing is stored
# You did not store what an equation computes: the next equations read it, as `eqn.outvars`.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    last = {v: n for n, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
    for n, eqn in enumerate(jaxpr.eqns):
        eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        for v in set(eqn.invars):
            if last[v] == n and v not in jaxpr.outvars:
                value.pop(v, None)
    return [read(v) for v in jaxpr.outvars]


# %% wrong: literals are looked up
# You looked a Literal up like a variable: it is a number, and brings its value along as `.array`.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))
    last = {v: n for n, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
    for n, eqn in enumerate(jaxpr.eqns):
        out = eqn.primitive.bind(*[value[v] for v in eqn.invars], **eqn.params)
        value.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
        for v in set(eqn.invars):
            if last[v] == n and v not in jaxpr.outvars:
                value.pop(v, None)
    return [value[v] for v in jaxpr.outvars]


# %% wrong: a literal among the results
# You looked all results up as variables: a program may also return a Literal.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    last = {v: n for n, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
    for n, eqn in enumerate(jaxpr.eqns):
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        value.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
        for v in set(eqn.invars):
            if last[v] == n and v not in jaxpr.outvars:
                value.pop(v, None)
    return [value[v] for v in jaxpr.outvars]


# %% wrong: the consts of the recording
# You took `jaxpr.consts`, the arrays of the recording: run the program with the consts that you are
# given.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, jaxpr.consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    last = {v: n for n, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
    for n, eqn in enumerate(jaxpr.eqns):
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        value.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
        for v in set(eqn.invars):
            if last[v] == n and v not in jaxpr.outvars:
                value.pop(v, None)
    return [read(v) for v in jaxpr.outvars]


# %% wrong: no parameters
# You left out `eqn.params`: axes, exponents and inner programs are parameters of the equation.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    last = {v: n for n, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
    for n, eqn in enumerate(jaxpr.eqns):
        out = eqn.primitive.bind(*map(read, eqn.invars))
        value.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
        for v in set(eqn.invars):
            if last[v] == n and v not in jaxpr.outvars:
                value.pop(v, None)
    return [read(v) for v in jaxpr.outvars]


# %% wrong: the list as one result
# You stored a list as one value: if `multiple_results` is true, there is an output variable for
# each element of the list.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    last = {v: n for n, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
    for n, eqn in enumerate(jaxpr.eqns):
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        value[eqn.outvars[0]] = out
        for v in set(eqn.invars):
            if last[v] == n and v not in jaxpr.outvars:
                value.pop(v, None)
    return [read(v) for v in jaxpr.outvars]


# %% wrong: each result is taken apart
# You took every result for a list: without `multiple_results` it is one array, and `zip` takes its
# first element.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    last = {v: n for n, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
    for n, eqn in enumerate(jaxpr.eqns):
        value.update(zip(eqn.outvars, eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)))
        for v in set(eqn.invars):
            if last[v] == n and v not in jaxpr.outvars:
                value.pop(v, None)
    return [read(v) for v in jaxpr.outvars]


# %% wrong: computed by NumPy
# You called `impl`, which computes with NumPy: `bind` hands the operation to the current trace, so
# that tracers can go through the program as well.
import numpy as np


def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    last = {v: n for n, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
    for n, eqn in enumerate(jaxpr.eqns):
        prim, operands = eqn.primitive, [read(v) for v in eqn.invars]
        if prim.high:
            outs = prim.impl(*operands, **eqn.params)
        else:
            out = prim.impl(*map(np.asarray, operands), **eqn.params)
            outs = [jnp.asarray(o) for o in (out if prim.multiple_results else [out])]
        value.update(zip(eqn.outvars, outs))
        for v in set(eqn.invars):
            if last[v] == n and v not in jaxpr.outvars:
                value.pop(v, None)
    return [read(v) for v in jaxpr.outvars]


# %% wrong: the results of the last equation
# You returned what the last equation computed: the results of the program are `jaxpr.outvars`.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    last = {v: n for n, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
    outs = []
    for n, eqn in enumerate(jaxpr.eqns):
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        outs = out if eqn.primitive.multiple_results else [out]
        value.update(zip(eqn.outvars, outs))
        for v in set(eqn.invars):
            if last[v] == n and v not in jaxpr.outvars:
                value.pop(v, None)
    return outs


# %% wrong: one result
# You returned the first result only: return the list of all, even if there is one.
def eval_jaxpr(jaxpr, consts, *args):
    value = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, args))

    def read(v):
        return v.array if isinstance(v, Literal) else value[v]

    last = {v: n for n, eqn in enumerate(jaxpr.eqns) for v in eqn.invars}
    for n, eqn in enumerate(jaxpr.eqns):
        out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        value.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
        for v in set(eqn.invars):
            if last[v] == n and v not in jaxpr.outvars:
                value.pop(v, None)
    return read(jaxpr.outvars[0])
