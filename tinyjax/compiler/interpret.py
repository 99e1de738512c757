"""Running a program equation by equation with NumPy: what the compiler falls back on."""

import numpy as np

from tinyjax.array import Array
from tinyjax.core import EVAL, Literal, active


def run_equation(eqn, arrays):
    """The results of one equation for NumPy operands, as a list of NumPy arrays."""
    prim = eqn.primitive
    if prim.high:
        args = [Array(x, v.aval.weak_type) for x, v in zip(arrays, eqn.invars, strict=True)]
        with active(EVAL):
            out = prim.impl(*args, **eqn.params)
        return [o.npy for o in (out if prim.multi else [out])]
    with np.errstate(all="ignore"):
        out = prim.impl(*arrays, **eqn.params)
    return list(out) if prim.multi else [out]


def interpret(jaxpr, arrays):
    """The results of a program for NumPy operands (constants inside), as NumPy arrays."""
    env = {v: c.npy for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True)}
    env.update(zip(jaxpr.invars, arrays, strict=True))

    def read(atom):
        return atom.val if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, run_equation(eqn, list(map(read, eqn.invars))), strict=True))
    return [read(v) for v in jaxpr.outvars]
