# The card of the exercise tracer. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 3
# minutes: 30

# %% [markdown] statement
# # The trace that records
#
# In chapter 07 you wrote `record`, which writes an equation down and returns a stand-in for its
# result. The trace behind `make_jaxpr` and `jit`, `StageTrace` in `tinyjax/core.py`, does it for
# arrays. Write its two central parts; yours take their place. Then all that is traced goes through
# your code: `make_jaxpr`, `jit`, loops, and also `grad`, which records a program about small
# changes.
#
# **`atom(trace, x)`** returns what stands for the operand `x` in an equation.
#
# - `x` may be a plain Python number. `lift(x)` makes an array of it, and leaves all else as it is.
# - If `trace.mine(x)`, then `x` is a tracer of this trace, and `x.atom` is its variable.
# - If `x.literal`, it is a number that stands in the equation itself: `Literal(x)`.
# - All else comes from outside: an array, or a tracer of another trace. It gets a variable,
#   `Var(x.aval)`, and `trace.captured[id(x)] = variable, x` remembers both. If it is used again, it
#   must get the same variable again.
#
# **`record(trace, prim, args, params)`** appends an equation, `JaxprEqn(prim, atoms, params,
# outvars)`, to the list `trace.eqns`. Here `outvars` is a list of new variables for the results.
# `prim.type(*avals, **params)` says what type the result has, from the types of the atoms: each
# atom has an `.aval`. It returns a tracer for the result, `StageTracer(trace, variable)`. If
# `prim.multiple_results`, then `prim.type` returns a list, and so does `record`.
#
# With your code in place, `jax.make_jaxpr(lambda x: 2.0 * x)(1.0)` prints
# `{ lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }`.
#
# Run this file, or `tinyjax check tracer`, to see whether it is right.

# %% given
from tinyjax.array import lift
from tinyjax.core import JaxprEqn, Literal, StageTracer, Var


# %% stub
def atom(trace, x):
    """The variable or Literal that stands for a value."""
    raise NotImplementedError


def record(trace, prim, args, params):
    """Appends an equation; returns a tracer for its result, or a list of tracers."""
    raise NotImplementedError


# %% [markdown] hint
# A function that is being traced reads an array from outside twice. How many consts shall its jaxpr
# have? And a function inside of it, which is traced by a trace of its own, reads a tracer of the
# outer one. Is this a variable of the inner program?

# %% [markdown] hint
# There are four kinds of operands: a tracer of this very trace, a number, something from outside
# that was met before, and something new from outside. For the third kind look into
# `trace.captured`. An equation gets the atoms of its operands and new variables for its results.
# Nothing is computed: the types come from `prim.type`.

# %% [markdown] hint
#     def atom(trace, x):
#         x = lift(x)
#         if trace.mine(x):
#             return ...
#         if x.literal:
#             return ...
#         if id(x) not in trace.captured:
#             trace.captured[id(x)] = ..., x
#         return trace.captured[id(x)][...]
#
#
#     def record(trace, prim, args, params):
#         atoms = [... for x in args]
#         types = prim.type(*[... for a in atoms], **params)
#         outvars = [Var(t) for t in (types if prim.multiple_results else [types])]
#         trace.eqns.append(...)
#         tracers = ...
#         return tracers if prim.multiple_results else ...

# %% checks
import contextlib
import re

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import array, core, lax
from tinyjax.learn import check, run_examples


def install(student):
    """The student's code in the trace that records; what comes first here is for special cases."""

    def process(self, prim, args, params):
        if self.known and not prim.callables and not any(map(self.mine, args)):
            return self.known.process(prim, args, params)
        if prim.callables:
            with core.active(self):
                args, params = prim.stage(*map(array.lift, args), **params)
        return student.record(self, prim, args, params)

    core.StageTrace.process = process
    core.StageTrace.atom = lambda self, x: student.atom(self, x)


def draw(rng):
    """A matrix and a vector that it can be multiplied with."""
    rows, columns = (int(n) for n in rng.permutation(np.arange(2, 5))[:2])
    return {
        "m": rng.normal(size=(rows, columns)).round(2).astype(np.float32),
        "v": rng.normal(size=columns).round(2).astype(np.float32),
    }


@contextlib.contextmanager
def no_addresses():
    """Errors say the same in every process: without the addresses of objects."""
    try:
        yield
    except Exception as error:
        error.args = tuple(re.sub(r"0x[0-9a-f]+|id=[0-9]+", "...", str(a)) for a in error.args)
        raise


def program(f, *args):
    """What a function becomes, and what comes out of the program when it runs."""
    with no_addresses():
        jaxpr = jax.make_jaxpr(f)(*args)
        return {"jaxpr": str(jaxpr), "results": core.eval_jaxpr(jaxpr, jaxpr.consts, *args)}


@check("numbers, and an array from outside")
def equations(student, m, v):
    def f(x):
        y = m @ x - 2.0
        biggest = jnp.max(0.5 - y * jnp.sum(m, axis=1))
        return lax.mul_p.bind(biggest, 0.25), y, 3.0

    return program(f, v)


@check("programs inside of programs, and the package's own examples")
def inside(student, m, v):
    @jax.jit
    def inner(x):
        return jnp.cos(x), x[0] * 2.0

    def f(x):
        y, first = inner(x)
        return lax.fori_loop(0, 3, lambda i, s: s * first - y, x)

    with no_addresses():
        jaxpr = str(jax.make_jaxpr(f)(v))
        examples = run_examples(jax.make_jaxpr, jax.linearize, jax.grad)
        gradient = jax.grad(lambda x: jnp.sum(jnp.sin(m @ x) * x[0]))(v)
        return {"jaxpr": jaxpr, "examples": examples, "gradient": gradient}


# %% reference
def atom(trace, x):
    """The variable or Literal that stands for a value."""
    x = lift(x)
    if trace.mine(x):  # not: is it a tracer? Those of other traces come from outside
        return x.atom
    if x.literal:
        return Literal(x)
    if id(x) not in trace.captured:
        trace.captured[id(x)] = Var(x.aval), x
    return trace.captured[id(x)][0]


def record(trace, prim, args, params):
    """Appends an equation; returns a tracer for its result, or a list of tracers."""
    atoms = [atom(trace, x) for x in args]
    types = prim.type(*[a.aval for a in atoms], **params)
    outvars = [Var(t) for t in (types if prim.multiple_results else [types])]
    trace.eqns.append(JaxprEqn(prim, atoms, params, outvars))
    tracers = [StageTracer(trace, v) for v in outvars]
    return tracers if prim.multiple_results else tracers[0]


# %% right: from outside first
def atom(trace, x):
    known = trace.captured.get(id(x))
    if known is not None:
        return known[0]
    x = lift(x)
    if isinstance(x, StageTracer) and x.trace is trace:
        return x.atom
    return Literal(x) if x.literal else trace.captured.setdefault(id(x), (Var(x.aval), x))[0]


def record(trace, prim, args, params):
    atoms = tuple(atom(trace, x) for x in args)
    types = prim.type(*(a.aval for a in atoms), **params)
    if not prim.multiple_results:
        out = Var(types)
        trace.eqns += [JaxprEqn(prim, atoms, params, (out,))]
        return StageTracer(trace, out)
    outs = list(map(Var, types))
    trace.eqns += [JaxprEqn(prim, list(atoms), params, outs)]
    return [StageTracer(trace, v) for v in outs]


# %% right: a class with __call__, and a search through what is captured
class Atom:
    def __call__(self, trace, x):
        ξ = lift(x)
        match (trace.mine(ξ), ξ.literal):
            case (True, _):
                return ξ.atom
            case (_, flag) if flag:
                return Literal(ξ)
        for var, value in trace.captured.values():
            if value is ξ:
                return var
        var = Var(ξ.aval)
        trace.captured[id(ξ)] = (var, ξ)
        return var


atom = Atom()


def record(trace, prim, args, params):
    invars = []
    for x in args:
        invars.append(atom(trace, x))
    out = prim.type(*[v.aval for v in invars], **dict(params))
    many = prim.multiple_results
    tracers = [StageTracer(trace, Var(aval)) for aval in (out if many else (out,))]
    trace.eqns.append(JaxprEqn(prim, invars, dict(params), [t.atom for t in tracers]))
    return tracers if many else tracers.pop()


# %% wrong: any tracer is taken for one's own
# You took every tracer for one of this trace: a tracer of another trace comes from outside, so ask
# `trace.mine(x)`.
def atom(trace, x):
    x = lift(x)
    if isinstance(x, StageTracer):
        return x.atom
    if x.literal:
        return Literal(x)
    if id(x) not in trace.captured:
        trace.captured[id(x)] = Var(x.aval), x
    return trace.captured[id(x)][0]


# %% wrong: a new const for each use
# You made a new variable each time that the array from outside was used: look into
# `trace.captured` first, so that it is one const.
def atom(trace, x):
    x = lift(x)
    if trace.mine(x):
        return x.atom
    if x.literal:
        return Literal(x)
    var = Var(x.aval)
    trace.captured[id(var)] = var, x
    return var


# %% wrong: numbers as consts
# You captured numbers like arrays: a number stands in the equation itself, as a Literal.
def atom(trace, x):
    x = lift(x)
    if trace.mine(x):
        return x.atom
    if id(x) not in trace.captured:
        trace.captured[id(x)] = Var(x.aval), x
    return trace.captured[id(x)][0]


# %% wrong: arrays as literals
# You wrote arrays into the equations: only numbers are Literals, an array from outside is captured.
def atom(trace, x):
    x = lift(x)
    if trace.mine(x):
        return x.atom
    if x.literal or not isinstance(x, StageTracer):
        return Literal(x)
    if id(x) not in trace.captured:
        trace.captured[id(x)] = Var(x.aval), x
    return trace.captured[id(x)][0]


# %% wrong: numbers are not lifted
# You did not lift the operands: a plain Python number has no `.literal` and no `.aval`.
def atom(trace, x):
    if trace.mine(x):
        return x.atom
    if x.literal:
        return Literal(x)
    if id(x) not in trace.captured:
        trace.captured[id(x)] = Var(x.aval), x
    return trace.captured[id(x)][0]


# %% wrong: the pair for the variable
# You returned what `trace.captured` holds: that is a pair, and the variable is its first element.
def atom(trace, x):
    x = lift(x)
    if trace.mine(x):
        return x.atom
    if x.literal:
        return Literal(x)
    if id(x) not in trace.captured:
        trace.captured[id(x)] = Var(x.aval), x
    return trace.captured[id(x)]


# %% wrong: the type of the first operand
# You gave the result the type of the first operand: a sum has another shape, a comparison another
# dtype. `prim.type` knows.
def record(trace, prim, args, params):
    atoms = [atom(trace, x) for x in args]
    types = prim.type(*[a.aval for a in atoms], **params)
    outvars = [Var(t) for t in (types if prim.multiple_results else [atoms[0].aval])]
    trace.eqns.append(JaxprEqn(prim, atoms, params, outvars))
    tracers = [StageTracer(trace, v) for v in outvars]
    return tracers if prim.multiple_results else tracers[0]


# %% wrong: no parameters
# You left out the parameters: axes, exponents and inner programs belong to the equation.
def record(trace, prim, args, params):
    atoms = [atom(trace, x) for x in args]
    types = prim.type(*[a.aval for a in atoms], **params)
    outvars = [Var(t) for t in (types if prim.multiple_results else [types])]
    trace.eqns.append(JaxprEqn(prim, atoms, {}, outvars))
    tracers = [StageTracer(trace, v) for v in outvars]
    return tracers if prim.multiple_results else tracers[0]


# %% wrong: the newest equation first
# You put new equations in front: a variable must be there before it is read, so append them.
def record(trace, prim, args, params):
    atoms = [atom(trace, x) for x in args]
    types = prim.type(*[a.aval for a in atoms], **params)
    outvars = [Var(t) for t in (types if prim.multiple_results else [types])]
    trace.eqns.insert(0, JaxprEqn(prim, atoms, params, outvars))
    tracers = [StageTracer(trace, v) for v in outvars]
    return tracers if prim.multiple_results else tracers[0]


# %% wrong: an equation with one result only
# You made one variable for all results: with `multiple_results` there is one for each, and a list
# of tracers.
def record(trace, prim, args, params):
    atoms = [atom(trace, x) for x in args]
    var = Var(prim.type(*[a.aval for a in atoms], **params))
    trace.eqns.append(JaxprEqn(prim, atoms, params, [var]))
    return StageTracer(trace, var)


# %% wrong: always a list
# You always returned a list: without `multiple_results` the result is one tracer.
def record(trace, prim, args, params):
    atoms = [atom(trace, x) for x in args]
    types = prim.type(*[a.aval for a in atoms], **params)
    outvars = [Var(t) for t in (types if prim.multiple_results else [types])]
    trace.eqns.append(JaxprEqn(prim, atoms, params, outvars))
    return [StageTracer(trace, v) for v in outvars]


# %% wrong: other variables for the tracers
# You gave the tracers variables that no equation computes: they must be those among the outvars of
# the equation.
def record(trace, prim, args, params):
    atoms = [atom(trace, x) for x in args]
    types = prim.type(*[a.aval for a in atoms], **params)
    types = types if prim.multiple_results else [types]
    trace.eqns.append(JaxprEqn(prim, atoms, params, list(map(Var, types))))
    tracers = [StageTracer(trace, Var(t)) for t in types]
    return tracers if prim.multiple_results else tracers[0]


# %% wrong: the operands in alphabetical order
# You changed the order of the operands: `sub a b` is another equation than `sub b a`.
def record(trace, prim, args, params):
    atoms = [atom(trace, x) for x in args]
    types = prim.type(*[a.aval for a in atoms], **params)
    outvars = [Var(t) for t in (types if prim.multiple_results else [types])]
    if not params:
        atoms.sort(key=lambda a: isinstance(a, Literal))
    trace.eqns.append(JaxprEqn(prim, atoms, params, outvars))
    tracers = [StageTracer(trace, v) for v in outvars]
    return tracers if prim.multiple_results else tracers[0]


# %% wrong: operands in place of atoms
# You put the operands themselves into the equation: it holds variables and Literals, so put the
# atoms there.
def record(trace, prim, args, params):
    atoms = [atom(trace, x) for x in args]
    types = prim.type(*[a.aval for a in atoms], **params)
    outvars = [Var(t) for t in (types if prim.multiple_results else [types])]
    trace.eqns.append(JaxprEqn(prim, args, params, outvars))
    tracers = [StageTracer(trace, v) for v in outvars]
    return tracers if prim.multiple_results else tracers[0]


# %% wrong: nothing is written down
# You wrote no equation down: append one to `trace.eqns`.
def record(trace, prim, args, params):
    atoms = [atom(trace, x) for x in args]
    types = prim.type(*[a.aval for a in atoms], **params)
    outvars = [Var(t) for t in (types if prim.multiple_results else [types])]
    JaxprEqn(prim, atoms, params, outvars)
    tracers = [StageTracer(trace, v) for v in outvars]
    return tracers if prim.multiple_results else tracers[0]
