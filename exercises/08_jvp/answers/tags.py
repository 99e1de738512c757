# The card of the exercise tags. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 3
# minutes: 40

# %% [markdown] statement
# # Whose tangent is it?
#
# All of forward mode is one trace: `JVPTrace` in `tinyjax/transforms/ad.py`. Write it. `jax.jvp`
# and `jax.jacfwd` then run on your trace, with the rules from the real cards.
#
# A `DualTracer` is a primal with its tangent. It also knows its `trace`, and this is its tag: each
# derivative has a trace of its own. `trace.mine(x)` says whether `x` is a tracer of this very
# trace.
#
# **`DualTrace.split(x)`** returns the primal and the tangent of `x`, as this derivative sees it.
# What is not its own does not change: the primal is then all of `x`, and the tangent
# `Zero(x.aval)`, which says "known to be zero". (`x` may be a plain number; `lift(x)` makes an
# array of it.)
#
# **`DualTrace.process(prim, args, params)`** is called for each operation while the trace is in
# charge. If no operand has a tangent, the operation is none of its business:
# `self.parent.process(prim, primals, params)` does it. Otherwise
# `prim.jvp(primals, tangents, **params)` asks the card for the value and the tangent, with the
# parent in charge: `with active(self.parent):`. Return a `DualTracer`. If `prim.multiple_results`,
# value and tangent are lists, and a list of tracers must be returned.
#
# **`jvp_flat(f, primals, tangents)`** takes lists. It makes a trace whose parent is the trace in
# charge, `current_trace()`, puts it in charge, `with active(trace):`, calls `f` with dual numbers,
# and returns the list of the values and the list of their tangents. `f` returns a list, too.
#
# A derivative inside of a derivative is what you must get right:
# the derivative of `x * (d/dy of x + y)` is 1, not 2.
#
# Run this file, or `tinyjax check tags`, to see whether it is right.

# %% given
from tinyjax.array import lift
from tinyjax.core import Trace, Tracer, Zero, active, current_trace, nonzero


class DualTracer(Tracer):
    """A primal with its tangent, for the derivative of one trace."""

    def __init__(self, trace, primal, tangent):
        self.trace, self.primal, self.tangent = trace, primal, tangent
        self.aval = primal.aval  # the type: shape and dtype

    def concrete(self):
        """The array behind it, for `if` and such."""
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal


# %% stub
class DualTrace(Trace):
    """Carries tangents along."""

    def __init__(self, parent):
        self.parent = parent

    def split(self, x):
        """The primal and the tangent of x, as this derivative sees it."""
        raise NotImplementedError

    def process(self, prim, args, params):
        """The dual number of the result of an operation, or a list of them."""
        raise NotImplementedError


def jvp_flat(f, primals, tangents):
    """The list of the values of f, and the list of their tangents."""
    raise NotImplementedError


# %% [markdown] hint
# The inner derivative meets a dual number of the outer one. Is it a number that changes, for the
# inner one? And what must not get lost of it?

# %% [markdown] hint
# `split` is the same function as in chapter 08, with the trace for the tag: the tracer is mine, or
# it is a constant as a whole, its own tangent included. The parent will split it again. `process`
# splits all operands, and then either hands primals on or asks `prim.jvp`. `nonzero(t)` says
# whether a tangent is there.

# %% [markdown] hint
#     def split(self, x):
#         x = lift(x)
#         return (x.primal, x.tangent) if ... else (..., ...)
#
#     def process(self, prim, args, params):
#         pairs = [self.split(x) for x in args]
#         primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
#         if not any(map(nonzero, tangents)):
#             return ...
#         with active(self.parent):
#             out, tangent = ...
#         if prim.multiple_results:
#             return [DualTracer(self, ...) for o, t in zip(out, tangent)]
#         return ...
#
#
#     def jvp_flat(f, primals, tangents):
#         trace = DualTrace(...)
#         with active(trace):
#             outs = f(*[DualTracer(...) for p, t in zip(primals, tangents)])
#         pairs = ...
#         return [p for p, _ in pairs], [t for _, t in pairs]

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import autodiff, lax
from tinyjax.learn import check, run_examples
from tinyjax.transforms import ad, programs

seconds = 60.0


def install(student):
    """The student's forward mode, wherever the package calls its own."""

    def jvp_flat(f, primals, tangents):
        return student.jvp_flat(f, list(primals), list(tangents))

    ad.jvp_flat = autodiff.jvp_flat = programs.jvp_flat = jvp_flat


def draw(rng):
    """A point, another one, and coefficients."""
    a, b, x, y = (round(float(v), 2) for v in rng.uniform(1.2, 2.8, size=4))
    return {"a": a, "b": b, "x": x, "y": y}


def draw_vectors(rng):
    """A vector of different numbers, and a tangent."""
    n = int(rng.integers(3, 6))
    x = 0.3 + rng.permutation(n) / 2 + rng.uniform(0, 0.2, size=n)
    return {"x": x.round(2).astype(np.float32), "t": rng.normal(size=n).round(2).astype(np.float32)}


def derivative(f):
    """How fast f changes, if its argument changes at the speed 1."""
    return lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1]


def tried(f, *args):
    """What f returns; words, if a tracer is met where it does not belong."""
    try:
        return f(*args)
    except jax.errors.UnexpectedTracerError:
        return "a tracer is where it does not belong"


@check("a derivative inside of a derivative")
def nested(student, a, b, x, y):
    def alone(x):
        return a * x * x + b

    def outer(x):
        return x * derivative(lambda y: a * x + b * y * y)(y)

    def deeper(x):
        return x * derivative(lambda y: y * x * derivative(lambda z: (x + y) * (a + z))(b))(y)

    return {
        "a derivative alone": tried(derivative(alone), x),
        "x * (d/dy of a x + b y y)": tried(derivative(outer), x),
        "x * (d/dy of y x (d/dz of (x + y) (a + z)))": tried(derivative(deeper), x),
    }


@check("several arguments and results, and the package's own examples", draw=draw_vectors)
def package(student, x, t):
    def f(x, c):
        largest, places = lax.top_k(jnp.sin(x) * x, 2)
        y = x * c if c > 1.0 else x / c
        return largest, jnp.where(x > 1.0, y, x), lax.mul_p.bind(c, 2.0), jnp.ones(2), places

    def several():
        values, tangents = jax.jvp(f, (x, 1.5), (t, 0.5))
        return values, tangents[:-1]

    @jax.jit
    def jitted(x):
        return jnp.sum(x * x * x), x[0] * x

    def g(x):
        return jnp.sum(jnp.cos(x)) * x[0]

    return {
        "several": tried(several),
        "of a constant": tried(jax.jvp, lambda x: 3.0, (x,), (t,)),
        "jvp of jit": tried(jax.jvp, jitted, (x,), (t,)),
        "third derivative": tried(derivative(derivative(derivative(jnp.sin))), x),
        "Hessian": tried(jax.jacfwd(jax.grad(g)), x),
        "examples": tried(run_examples, jax.jvp, jax.jacfwd, jax.hessian),
    }


# %% reference
class DualTrace(Trace):
    """Carries tangents along."""

    def __init__(self, parent):
        self.parent = parent

    def split(self, x):
        """The primal and the tangent of x, as this derivative sees it."""
        x = lift(x)
        if self.mine(x):
            return x.primal, x.tangent
        return x, Zero(x.aval)  # a constant here, whatever it is for others

    def process(self, prim, args, params):
        """The dual number of the result of an operation, or a list of them."""
        pairs = [self.split(x) for x in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        if not any(map(nonzero, tangents)):
            return self.parent.process(prim, primals, params)
        with active(self.parent):
            out, tangent = prim.jvp(primals, tangents, **params)
        if prim.multiple_results:
            return [DualTracer(self, o, t) for o, t in zip(out, tangent)]
        return DualTracer(self, out, tangent)


def jvp_flat(f, primals, tangents):
    """The list of the values of f, and the list of their tangents."""
    trace = DualTrace(current_trace())
    with active(trace):
        outs = f(*[DualTracer(trace, p, t) for p, t in zip(primals, tangents)])
    pairs = [trace.split(out) for out in outs]
    return [p for p, _ in pairs], [t for _, t in pairs]


# %% right: only what changes is dual
class DualTrace(Trace):
    def __init__(self, parent):
        self.parent = parent

    def pair(self, x, t):
        return DualTracer(self, x, t) if nonzero(t) else x

    def split(self, x):
        if isinstance(x, DualTracer) and x.trace is self:
            return x.primal, x.tangent
        return lift(x), Zero(lift(x).aval)

    def process(self, prim, args, params):
        primals, tangents = zip(*map(self.split, args)) if args else ((), ())
        if all(isinstance(t, Zero) for t in tangents):
            with active(self.parent):
                return prim.bind(*primals, **params)
        with active(self.parent):
            result = prim.jvp(primals, tangents, **params)
        return list(map(self.pair, *result)) if prim.multiple_results else self.pair(*result)


def jvp_flat(f, primals, tangents):
    trace = DualTrace(current_trace())
    with active(trace, final=True):
        outs = f(*map(trace.pair, primals, tangents))
    return tuple(zip(*map(trace.split, outs)))


# %% right: tags are numbers
import itertools

tags = itertools.count(1)


class DualTrace(Trace):
    def __init__(self, parent):
        self.parent, self.tag = parent, next(tags)

    def split(self, x):
        ξ = lift(x)
        if isinstance(ξ, DualTracer) and ξ.trace.tag == self.tag:
            return ξ.primal, ξ.tangent
        return ξ, Zero(ξ.aval)

    def process(self, prim, args, params):
        primals, tangents, moving = [], [], False
        for x in args:
            primal, tangent = self.split(x)
            primals.append(primal)
            tangents.append(tangent)
            moving = moving or nonzero(tangent)
        with active(self.parent):
            if not moving:
                return prim.bind(*primals, **params)
            y, ẏ = prim.jvp(primals, tangents, **params)
            if not prim.multiple_results:
                return DualTracer(self, y, ẏ)
            return [DualTracer(self, *pair) for pair in zip(y, ẏ)]


class Forward:
    def __call__(self, f, primals, tangents):
        trace = DualTrace(current_trace())
        with active(trace):
            outs = list(f(*(DualTracer(trace, *pair) for pair in zip(primals, tangents))))
        return [trace.split(o)[0] for o in outs], [trace.split(o)[1] for o in outs]


jvp_flat = Forward()


# %% wrong: any dual number is taken for one's own
# You counted the tangents of another derivative: that is perturbation confusion. Each derivative
# has a trace of its own, and what is not `self.mine(x)` is a constant for it.
class DualTrace(DualTrace):
    def split(self, x):
        x = lift(x)
        if isinstance(x, DualTracer):
            return x.primal, x.tangent
        return x, Zero(x.aval)


# %% wrong: a constant loses its own tangent
# You took the primal out of a dual number of another derivative: it is a constant as a whole, and
# must keep its tangent for that derivative.
class DualTrace(DualTrace):
    def split(self, x):
        x = lift(x)
        if self.mine(x):
            return x.primal, x.tangent
        while isinstance(x, DualTracer):
            x = x.primal
        return x, Zero(x.aval)


# %% wrong: the bottom as the parent
# You gave the trace the bottom as its parent: a derivative inside of another transformation must
# hand over to that one, which is `current_trace()`.
from tinyjax.core import EVAL


def jvp_flat(f, primals, tangents):
    trace = DualTrace(EVAL)
    with active(trace):
        outs = f(*[DualTracer(trace, p, t) for p, t in zip(primals, tangents)])
    pairs = [trace.split(out) for out in outs]
    return [p for p, _ in pairs], [t for _, t in pairs]


# %% wrong: constants that change
# You gave constants the tangent 1: what does not belong to this derivative does not change.
import tinyjax.numpy as jnp


class DualTrace(DualTrace):
    def split(self, x):
        x = lift(x)
        if self.mine(x):
            return x.primal, x.tangent
        return x, jnp.ones(x.shape, x.dtype)


# %% wrong: one result only
# You made one dual number of a list of results: with `multiple_results` there is one for each.
class DualTrace(DualTrace):
    def process(self, prim, args, params):
        pairs = [self.split(x) for x in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        if not any(map(nonzero, tangents)):
            return self.parent.process(prim, primals, params)
        with active(self.parent):
            out, tangent = prim.jvp(primals, tangents, **params)
        return DualTracer(self, out, tangent)


# %% wrong: the tangent of the first operand
# You passed on the tangent of the first operand: the card's rule returns the tangent of the
# result.
class DualTrace(DualTrace):
    def process(self, prim, args, params):
        pairs = [self.split(x) for x in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        if not any(map(nonzero, tangents)):
            return self.parent.process(prim, primals, params)
        with active(self.parent):
            out, tangent = prim.jvp(primals, tangents, **params)
        if not prim.multiple_results:
            tangent = tangents[0] if nonzero(tangents[0]) else tangent
        if prim.multiple_results:
            return [DualTracer(self, o, t) for o, t in zip(out, tangent)]
        return DualTracer(self, out, tangent)


# %% wrong: tangents of the wrong results
# You paired each result with the first tangent: zip values and tangents.
class DualTrace(DualTrace):
    def process(self, prim, args, params):
        pairs = [self.split(x) for x in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        if not any(map(nonzero, tangents)):
            return self.parent.process(prim, primals, params)
        with active(self.parent):
            out, tangent = prim.jvp(primals, tangents, **params)
        if prim.multiple_results:
            return [DualTracer(self, o, tangent[0]) for o in out]
        return DualTracer(self, out, tangent)


# %% wrong: values without tangents
# You returned the value of an operation without its tangent: wrap both in a DualTracer.
class DualTrace(DualTrace):
    def process(self, prim, args, params):
        pairs = [self.split(x) for x in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        if not any(map(nonzero, tangents)):
            return self.parent.process(prim, primals, params)
        with active(self.parent):
            out, tangent = prim.jvp(primals, tangents, **params)
        if prim.multiple_results:
            return out
        return out


# %% wrong: the trace is not in charge
# Your trace was never in charge: call f inside of `with active(trace)`, so that its operations
# come to you.
def jvp_flat(f, primals, tangents):
    trace = DualTrace(current_trace())
    outs = f(*[DualTracer(trace, p, t) for p, t in zip(primals, tangents)])
    pairs = [trace.split(out) for out in outs]
    return [p for p, _ in pairs], [t for _, t in pairs]


# %% wrong: dual numbers come out
# You returned the dual numbers themselves as values: split the results of f.
def jvp_flat(f, primals, tangents):
    trace = DualTrace(current_trace())
    with active(trace):
        outs = f(*[DualTracer(trace, p, t) for p, t in zip(primals, tangents)])
    pairs = [trace.split(out) for out in outs]
    return outs, [t for _, t in pairs]


# %% wrong: the other way round
# You returned the tangents first: the values come first, and then their tangents.
def jvp_flat(f, primals, tangents):
    trace = DualTrace(current_trace())
    with active(trace):
        outs = f(*[DualTracer(trace, p, t) for p, t in zip(primals, tangents)])
    pairs = [trace.split(out) for out in outs]
    return [t for _, t in pairs], [p for p, _ in pairs]


# %% wrong: every operation asks its card
# You asked the card's rule even if no operand has a tangent: hand such an operation on to the
# parent.
class DualTrace(DualTrace):
    def process(self, prim, args, params):
        pairs = [self.split(x) for x in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        with active(self.parent):
            out, tangent = prim.jvp(primals, tangents, **params)
        if prim.multiple_results:
            return [DualTracer(self, o, t) for o, t in zip(out, tangent)]
        return DualTracer(self, out, tangent)


# %% wrong: tangents of ones
# You started with tangents of ones: use the tangents that you are given.
import tinyjax.numpy as jnp


def jvp_flat(f, primals, tangents):
    trace = DualTrace(current_trace())
    with active(trace):
        outs = f(*[DualTracer(trace, p, jnp.ones(p.shape, p.dtype)) for p in primals])
    pairs = [trace.split(out) for out in outs]
    return [p for p, _ in pairs], [t for _, t in pairs]


# %% wrong: operands are not lifted
# You did not lift the operand: a plain Python number has no `.aval`.
class DualTrace(DualTrace):
    def split(self, x):
        if self.mine(x):
            return x.primal, x.tangent
        return x, Zero(x.aval)
