"""From functions to jaxprs, and dead code elimination."""

from tinyjax.core import Jaxpr, StageTrace, Tracer, Var, active, memo
from tinyjax.util import take


def stage(f, avals, name="a function", arg_names=(), hoist=False):
    """Trace a function of flat arguments -> jaxpr, captured values.

    The first inputs of the jaxpr stand for the captured values: tracers of outer traces, and with
    hoist also Arrays (which otherwise stay inside, as consts).
    """
    trace = StageTrace(name)
    trace.function = f
    names = list(arg_names) or [None] * len(avals)
    with active(trace, final=True):
        outs = f(*[trace.new_input(a, n) for a, n in zip(avals, names, strict=True)])
    return trace.finish(outs, hoist)


def stage_closed(f, avals, clean=True):
    """Trace an internal function -> jaxpr, with all that it captures among its consts.

    clean: drop dead code (where printed forms need not match the oracle's).
    """
    jaxpr = closed(*stage(f, avals))
    return dce(jaxpr) if clean else jaxpr


def closed(jaxpr, captured):
    """The program with its first inputs, captured tracers, among its consts."""
    n = len(captured)
    return jaxpr.replace(
        invars=jaxpr.invars[n:],
        constvars=jaxpr.constvars + jaxpr.invars[:n],
        consts=jaxpr.consts + captured,
    )


@memo
def opened(jaxpr):
    """-> the program with the tracers among its consts as first inputs, and these tracers.

    They come from custom rules that close over values of an outer transformation.
    """
    free = [isinstance(c, Tracer) for c in jaxpr.consts]
    kept = [not f for f in free]
    program = jaxpr.replace(
        invars=take(jaxpr.constvars, free) + jaxpr.invars,
        constvars=take(jaxpr.constvars, kept),
        consts=take(jaxpr.consts, kept),
    )
    return program, take(jaxpr.consts, free)


def map_programs(f, params):
    """The parameters of an equation with f of each jaxpr among them."""

    def one(value):
        if isinstance(value, tuple):
            return tuple(map(f, value)) if any(isinstance(v, Jaxpr) for v in value) else value
        return f(value) if isinstance(value, Jaxpr) else value

    return {name: one(value) for name, value in params.items()}


# ---- dead code ----------------------------------------------------------------------------------


def dce(jaxpr, used=None):
    """Drop equations that nobody needs; with a mask of used outputs, drop the others too."""
    outvars = take(jaxpr.outvars, used) if used is not None else jaxpr.outvars
    live, kept = {v for v in outvars if isinstance(v, Var)}, []
    for eqn in reversed(jaxpr.eqns):
        mask = [v in live for v in eqn.outvars]
        if not any(mask) and not eqn.effectful:
            continue
        if eqn.primitive.dce and not all(mask):
            eqn = eqn.primitive.dce(eqn, mask)
        kept.append(eqn)
        live.update(v for v in eqn.invars if isinstance(v, Var))
    consts = [(v, c) for v, c in zip(jaxpr.constvars, jaxpr.consts) if v in live]
    return Jaxpr(jaxpr.invars, kept[::-1], outvars, [v for v, _ in consts], [c for _, c in consts])


@memo
def dce_pruned(jaxpr, used):
    """-> the jaxpr with the used outputs only, without its unused inputs; the mask of used ones."""
    return prune(dce(jaxpr, used))


def used_inputs(jaxpr):
    """A mask of the inputs that an equation or output reads."""
    live = {v for eqn in jaxpr.eqns for v in eqn.invars if isinstance(v, Var)}
    live.update(v for v in jaxpr.outvars if isinstance(v, Var))
    return [v in live for v in jaxpr.invars]


def prune(jaxpr):
    """-> the jaxpr without its unused inputs, and the mask of used ones."""
    mask = used_inputs(jaxpr)
    return jaxpr.replace(invars=take(jaxpr.invars, mask)), mask


def prune_captured(jaxpr, captured):
    """Drop captured values (the first inputs) that no equation uses."""
    n = len(captured)
    mask = used_inputs(jaxpr)[:n]
    kept = jaxpr.replace(invars=take(jaxpr.invars[:n], mask) + jaxpr.invars[n:])
    return kept, take(captured, mask)
