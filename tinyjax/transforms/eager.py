"""Eager operations on large arrays run as compiled programs of one equation."""

import functools

from tinyjax.compiler import compile_jaxpr
from tinyjax.config import current_flags
from tinyjax.core import EvalTrace, Jaxpr, JaxprEqn, Var, check_floats


@functools.lru_cache(4096)
def program_of(prim, avals, params):
    """The executable of one equation; the kernels in it do not depend on sizes."""
    params, invars = dict(params), list(map(Var, avals))
    out = prim.type(*avals, **params)
    outvars = [Var(a) for a in (out if prim.multi else [out])]
    return compile_jaxpr(
        Jaxpr(invars, [JaxprEqn(prim, invars, params, outvars)], outvars), prim.name
    )


def run_large(prim, args, params):
    """The result of an operation on large Arrays."""
    outs = program_of(prim, tuple([a.aval for a in args]), tuple(params.items()))(args)
    flags = current_flags()
    if flags.debug_nans or flags.debug_infs:
        check_floats(prim, outs, args, params)
    return outs if prim.multi else outs[0]


EvalTrace.run_large = staticmethod(run_large)
