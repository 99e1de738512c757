"""Programs in, programs out: the transformations of jaxprs that primitives holding jaxprs use.

All are memoised on the jaxpr: a program is transformed once, so compiled code is found again.
"""

from tinyjax.core import StageTrace, StageTracer, Undef, Var, Zero, active, memo, nonzero, run
from tinyjax.primitives.linear import instantiate
from tinyjax.transforms.ad import JVPTrace, JVPTracer, jvp_flat, transpose
from tinyjax.transforms.batching import move_to, vmap_flat
from tinyjax.transforms.stage import closed, dce, prune_captured, stage_closed
from tinyjax.util import drop, split_list, spread, take, unzip2


def made(ts, inst):
    """Tangents, as arrays where the mask asks for them."""
    return [instantiate(t) if i < len(inst) and inst[i] else t for i, t in enumerate(ts)]


@memo
def jvp_jaxpr(jaxpr, nz, inst=()):
    """-> jaxpr: inputs, nonzero tangents -> outputs, nonzero tangents; and the mask of these.

    inst: outputs whose tangent must be there, zero or not.
    """
    out_nz = None

    def f(*args):
        nonlocal out_nz
        xs, ts = split_list(args, len(nz))
        ts = spread(ts, nz, lambda i: Zero(xs[i].aval))
        outs, ts = jvp_flat(lambda *a: run(jaxpr, *a), xs, ts)
        ts = made(ts, inst)
        out_nz = [nonzero(t) for t in ts]
        return [*outs, *take(ts, out_nz)]

    avals = [*jaxpr.in_avals, *take(jaxpr.in_avals, nz)]
    return stage_closed(f, avals, clean=False), out_nz


class Linearized:
    """forward: inputs -> outputs + new residuals. linear: residuals, nonzero tangents -> nonzero
    tangents. residuals[i] is the place of the i-th residual in [*inputs, *all outputs of forward].
    """

    def __init__(self, forward, linear, nz, residuals):
        self.forward, self.linear, self.nz, self.residuals = forward, linear, nz, residuals


@memo
def linearize_jaxpr(jaxpr, nz, inst=(), keep=None):
    """Split a program into forward and linear part.

    inst: outputs whose tangent must be there. keep: inputs and outputs that may serve as residuals
    as they are (default all), so that they are not copied.
    """
    forward = StageTrace()
    linear = StageTrace(known=forward)
    trace = JVPTrace(forward, linear)
    ins = [forward.new_input(v.aval) for v in jaxpr.invars]
    args = [JVPTracer(trace, p, linear.new_input(p.aval)) if n else p for p, n in zip(ins, nz)]
    with active(trace, final=True):
        outs, ts = unzip2(map(trace.split, run(jaxpr, *args)))
    with active(linear):
        ts = made(ts, inst)
    linear_jaxpr, res = linear.finish(filter(nonzero, ts), hoist=True)
    linear_jaxpr, res = prune_captured(dce(linear_jaxpr), res)

    n = len(ins)
    res, outs = [forward.atom(r) for r in res], [forward.atom(o) for o in outs]
    keep = keep or [True] * (n + len(outs))
    places = {v: i for i, v in reversed(list(enumerate(forward.invars + outs))) if keep[i]}
    new = []
    for r in res:
        if r not in places:
            places[r] = n + len(outs) + len(new)
            new.append(r)
    tracers = [StageTracer(forward, a) if isinstance(a, Var) else a.array for a in outs + new]
    forward_jaxpr = dce(closed(*forward.finish(tracers)))
    nonzeros = [nonzero(t) for t in ts]
    return Linearized(forward_jaxpr, linear_jaxpr, nonzeros, [places[r] for r in res])


@memo
def transpose_jaxpr(jaxpr, linear, ct_nz, inst=None):
    """-> jaxpr: known inputs, nonzero cts -> nonzero cts of linear inputs; and their mask."""
    out_nz = None

    def f(*args):
        nonlocal out_nz
        known, cts = split_list(args, linear.count(False))
        ins = spread(known, [not m for m in linear], lambda i: Undef(jaxpr.invars[i].aval))
        cts = spread(cts, ct_nz, lambda i: Zero(jaxpr.outvars[i].aval))
        out = transpose(jaxpr, ins, cts)
        out_nz = inst or [nonzero(c) for c in out]
        return [instantiate(c) for c in take(out, out_nz)]

    known = drop(jaxpr.in_avals, linear)
    return stage_closed(f, [*known, *take(jaxpr.out_avals, ct_nz)]), out_nz


def spread_cts(cts, nz, args):
    """Cotangents per operand: None for known ones, Zero where nothing flows."""
    undef = [isinstance(a, Undef) for a in args]
    avals = [a.aval for a in take(args, undef)]
    return spread(spread(cts, nz, lambda i: Zero(avals[i])), undef, lambda i: None)


@memo
def batch_jaxpr(jaxpr, axis, dims, force=None, at=0):
    """dims: a batch dimension or None per input -> jaxpr, and dims of its outputs.

    force: a mask of outputs that must be batched, with every batched output at dimension `at`;
    None leaves the outputs' dimensions as they come.
    """
    out_dims = None

    def f(*args):
        nonlocal out_dims
        vals, out_dims = vmap_flat(lambda *a: run(jaxpr, *a), axis, args, dims)
        if force is None:
            return vals
        found = out_dims
        out_dims = [at if w or d is not None else None for w, d in zip(force, found)]
        return [move_to(axis, v, d, w) for v, d, w in zip(vals, found, out_dims)]

    avals = [batched_aval(axis, a, d) for a, d in zip(jaxpr.in_avals, dims)]
    return stage_closed(f, avals, clean=False), out_dims


def batched_aval(axis, aval, dim):
    """The type of a whole batch."""
    if dim is None:
        return aval
    return aval.update(shape=(*aval.shape[:dim], axis.size, *aval.shape[dim:]))
