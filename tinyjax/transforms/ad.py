"""Derivatives: one rule per primitive, one trace for both modes, no partial evaluation.

    linearize(nonzero, *primals, **params) -> out, push     the value and its linear map
    jvp(primals, tangents, **params) -> out, tangents_out   the joint rule

Each follows from the other. To get linearize from jvp, the joint rule runs on tangents without
values (LinearTrace): what it does to them is the linear program. vjp = linearize ; transpose.
The method is that of "You Only Linearize Once" (Radul et al., 2022).
"""

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.core import (
    EVAL,
    Literal,
    Primitive,
    StageTrace,
    Trace,
    Tracer,
    Undef,
    Zero,
    active,
    current_trace,
    nonzero,
    run,
)
from tinyjax.primitives.linear import add_tangents, instantiate, zeros
from tinyjax.source import replays
from tinyjax.transforms.stage import dce, prune_captured
from tinyjax.util import spread, take, unzip2


def is_inexact(aval):
    """Whether derivatives with respect to such a value exist: it is real or complex."""
    return dtypes.issubdtype(aval.dtype, np.inexact)


# ---- the trace ----------------------------------------------------------------------------------


class JVPTracer(Tracer):
    """A primal with its tangent: a dual number."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace, primal, tangent):
        self.trace, self.primal, self.tangent = trace, primal, tangent
        self.aval = primal.aval

    def __repr__(self):
        if self.trace.tangents is self.trace.parent:
            return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"
        tangent = self.tangent.aval.str_short(short_dtypes=True)
        return f"GradTracer(primal={self.primal}, typeof(tangent)={tangent})"

    def concrete(self):
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal

    def origin(self):
        if isinstance(self.primal, Tracer):
            return self.primal.origin()
        return "It is a value that is being differentiated."


JVPTracer.__name__ = JVPTracer.__qualname__ = "GradTracer"  # for users, as in JAX


class JVPTrace(Trace):
    """Carries tangents along. tangents is parent: forward mode; a StageTrace: linearization."""

    def __init__(self, parent, tangents):
        self.parent, self.tangents = parent, tangents

    def split(self, x):
        """-> primal, tangent."""
        x = lift(x)
        return (x.primal, x.tangent) if self.mine(x) else (x, Zero(x.aval))

    def pair(self, x, t):
        """A dual number, unless the tangent is zero."""
        return JVPTracer(self, x, t) if nonzero(t) else x

    def process(self, prim, args, params):
        primals, tangents = unzip2(map(self.split, args))
        nz = [nonzero(t) for t in tangents]
        if not any(nz):
            return self.parent.process(prim, primals, params)
        if self.tangents is self.parent:
            with active(self.parent):
                out, tangent = prim.jvp(primals, tangents, **params)
        else:
            with active(self.parent):
                out, push = prim.linearize(nz, *primals, **params)
            with active(self.tangents):
                tangent = push(*tangents)
        return list(map(self.pair, out, tangent)) if prim.multi else self.pair(out, tangent)


def default_jvp(self, primals, tangents, **params):
    """The joint rule, from linearize."""
    out, push = self.linearize([nonzero(t) for t in tangents], *primals, **params)
    return out, push(*tangents)


def default_linearize(self, nz, *primals, **params):
    """The linear map, from the joint rule."""

    def rule(*ts):
        return self.jvp(primals, spread(ts, nz, lambda i: Zero(primals[i].aval)), **params)

    (outs, tangents), trace = run_linear(rule, [p.aval for p in take(primals, nz)])
    if not self.multi:
        outs, tangents = [outs], [tangents]
    if any(isinstance(o, LinearTracer) for o in outs):
        raise TypeError(f"the jvp rule of {self} lets its value depend on tangents")
    out_nz = [isinstance(t, LinearTracer) for t in tangents]
    linear, consts = trace.finish([t.tangent for t in take(tangents, out_nz)], hoist=True)
    linear, consts = prune_captured(dce(linear), consts)

    def push(*ts):
        ts = run(linear, *consts, *map(instantiate, take(ts, nz)))
        ts = spread(ts, out_nz, lambda i: Zero(outs[i].aval))
        return ts if self.multi else ts[0]

    return (outs if self.multi else outs[0]), push


def linear_part(self, own, *at_zero, **params):
    """linearize, for an operation that is linear in the operands of the mask. Results that depend
    on these need no value."""
    return self.linearize(own, *at_zero, **params)


Primitive.jvp, Primitive.linearize = default_jvp, default_linearize
Primitive.linear_part = linear_part


# ---- functions that are linear already ----------------------------------------------------------


class LinearTracer(Tracer):
    """A tangent without a value."""

    __slots__ = ("tangent",)

    def __init__(self, trace, tangent):
        self.trace, self.tangent, self.aval = trace, tangent, tangent.aval


class LinearTrace(Trace):
    """For functions linear in the tracers: an operation on them goes to the linear program as it
    is; one that holds programs is linearized, at zero."""

    def __init__(self, parent, tangents):
        self.parent, self.tangents = parent, tangents

    def process(self, prim, args, params):
        args = list(map(lift, args))
        own = list(map(self.mine, args))
        if not any(own):
            return self.parent.process(prim, args, params)
        tangents = [x.tangent if o else Zero(x.aval) for x, o in zip(args, own)]
        if prim.high:
            with active(self.parent):
                at_zero = [zeros(x.aval) if o else x for x, o in zip(args, own)]
                out, push = prim.linear_part(own, *at_zero, **params)
            with active(self.tangents):
                ts = push(*tangents)
            return [LinearTracer(self, t) if nonzero(t) else x for x, t in zip(out, ts)]
        if not hasattr(prim, "transpose") or prim.bilinear and all(own):
            raise NotImplementedError(
                f"Transpose rule (for reverse-mode differentiation) for '{prim}' not implemented: "
                "the function must be linear here"
            )
        with active(self.tangents):
            out = prim.bind(*[t if o else x for t, x, o in zip(tangents, args, own)], **params)
        return [LinearTracer(self, t) for t in out] if prim.multi else LinearTracer(self, out)


def run_linear(f, avals):
    """-> f's result on linear tracers, and the trace that holds the linear program."""
    tangents = StageTrace("a linear function", known=current_trace())
    trace = LinearTrace(tangents.known, tangents)
    with active(trace, final=True):
        return f(*[LinearTracer(trace, tangents.new_input(a)) for a in avals]), tangents


# ---- forward mode and linearization of flat functions -------------------------------------------


def jvp_flat(f, primals, tangents):
    """-> values and tangents of f."""
    trace = JVPTrace(current_trace(), current_trace())
    with active(trace, final=True):
        outs = f(*map(trace.pair, primals, tangents))
    return unzip2(map(trace.split, outs))


def linearize_flat(f, primals, nz):
    """-> values, mask of nonzero tangents, linear jaxpr for those, the residuals it captured."""
    linear = StageTrace("a linear function", known=current_trace())
    trace = JVPTrace(linear.known, linear)
    args = [JVPTracer(trace, p, linear.new_input(p.aval)) if n else p for p, n in zip(primals, nz)]
    with active(trace, final=True):
        outs = f(*args)
    outs, tangents = unzip2(map(trace.split, outs))
    jaxpr, residuals = linear.finish(filter(nonzero, tangents), hoist=True)
    return outs, [nonzero(t) for t in tangents], *prune_captured(dce(jaxpr), residuals)


# ---- transposition ------------------------------------------------------------------------------


@replays("backward")
def transpose(jaxpr, args, cts):
    """Run a linear program backwards.

    args: the inputs' values, Undef at the linear ones. cts: a cotangent (or Zero) per output.
    Returns a cotangent (or Zero) for each linear input.
    """
    env = dict(zip(jaxpr.constvars, jaxpr.consts)) | dict(zip(jaxpr.invars, args, strict=True))
    linear = {v for v, a in env.items() if isinstance(a, Undef)}
    todo, ct_env = [], {}

    def read(atom):
        if isinstance(atom, Literal):
            return atom.array
        return env[atom] if atom in env else Undef(atom.aval)

    def accumulate(atom, ct):
        if not isinstance(atom, Literal) and atom in linear and ct is not None and nonzero(ct):
            ct_env[atom] = add_tangents(ct_env[atom], ct) if atom in ct_env else ct

    for eqn in jaxpr.eqns:  # forwards: what does not depend on the linear inputs
        if any(not isinstance(v, Literal) and v in linear for v in eqn.invars):
            linear.update(eqn.outvars)
            todo.append(eqn)
        else:
            out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
            env.update(zip(eqn.outvars, out if eqn.primitive.multi else [out]))
    for out, ct in zip(jaxpr.outvars, cts, strict=True):
        accumulate(out, ct)
    for eqn in reversed(todo):  # backwards: the linear rest
        cts_out = [ct_env.pop(v) if v in ct_env else Zero(v.aval) for v in eqn.outvars]
        if any(map(nonzero, cts_out)):
            prim = eqn.primitive
            ct = cts_out if prim.multi else cts_out[0]
            cts_in = prim.transpose(ct, *map(read, eqn.invars), **eqn.params)
            for atom, c in zip(eqn.invars, cts_in, strict=True):
                accumulate(atom, c)
    return [ct_env.get(v, Zero(v.aval)) for v, a in zip(jaxpr.invars, args) if isinstance(a, Undef)]


def float0_zeros(aval):
    """The tangent of an integer: an array of float0, which holds nothing."""
    if current_trace() is EVAL:
        return np.zeros(aval.shape, dtypes.float0)
    return zeros(aval.update(dtype=dtypes.float0, weak_type=False))
