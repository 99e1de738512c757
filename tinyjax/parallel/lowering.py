"""From the program of a pmap to one that a single device can run.

Calls are inlined. A pmap inside becomes a second axis of the mesh: each device takes its part of
the operands, and the results are gathered. Axes lose their names, which may hide one another: the
mesh calls them axis0, axis1 ... from the outside in. What must run where the user is becomes `call_back`.
"""

from functools import partial

import numpy as np

from tinyjax.compiler.interpret import run_equation
from tinyjax.compiler.passes import called
from tinyjax.core import Jaxpr, Literal, Primitive, Var, run
from tinyjax.parallel.device import current_device
from tinyjax.primitives.linear import moveaxis
from tinyjax.primitives.slicing import dynamic_index_in_dim
from tinyjax.transforms import collectives
from tinyjax.transforms.batching import Axis, move_to, named_axes, vmap_flat
from tinyjax.transforms.stage import dce, stage_closed

# ---- callbacks -----------------------------------------------------------------------------------


class CallBack(Primitive):
    """call_back[number avals] *operands: ask the controller to run one of the user's functions."""

    multi = effectful = True

    def impl(self, *arrays, number, avals):
        return current_device().call_back(number, arrays)

    def type(self, *_, number, avals):
        return list(avals)


call_back_p = CallBack("call_back")


def host_function(eqn):
    """What call_back runs for an equation: a function of NumPy arrays."""
    return lambda *arrays: [np.asarray(out) for out in run_equation(eqn, arrays)]


# ---- the pass ------------------------------------------------------------------------------------


class Lowering:
    """Collects what a lowered program needs: the sizes of the mesh's axes, and callbacks."""

    def __init__(self, size):
        self.sizes, self.callbacks = [size], []

    def program(self, jaxpr, names, depth=0):
        """A lowered jaxpr. names: {name of an axis in scope: its number in the mesh}."""
        eqns, consts = [], []
        outvars = self.inline(jaxpr, {v: v for v in jaxpr.invars}, names, depth, eqns, consts)
        constvars, values = [v for v, _ in consts], [c for _, c in consts]
        return dce(Jaxpr(jaxpr.invars, eqns, outvars, constvars, values))

    def inline(self, jaxpr, env, names, depth, eqns, consts):
        """Add the equations of a program whose inputs are in env -> its outputs."""
        for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            env[v] = Var(v.aval)
            consts.append((env[v], c))

        def read(atom):
            return atom if isinstance(atom, Literal) else env[atom]

        for eqn in jaxpr.eqns:
            invars = list(map(read, eqn.invars))
            if eqn.primitive.lower:
                invars, params = eqn.primitive.lower(invars, **eqn.params)
                eqn = eqn.replace(invars=invars, params=params)
            inner, _ = called(eqn)
            inner_names, inner_depth = names, depth
            if eqn.primitive.name == "pmap":
                inner, inner_names, inner_depth = self.nested(
                    eqn.replace(invars=invars), names, depth
                )
            if inner is not None:
                start = dict(zip(inner.invars, invars, strict=True))
                outs = self.inline(inner, start, inner_names, inner_depth, eqns, consts)
            else:
                outs = [Var(v.aval) for v in eqn.outvars]
                eqns.append(self.equation(eqn.replace(invars=invars, outvars=outs), names, depth))
            env.update(zip(eqn.outvars, outs, strict=True))
        return list(map(read, jaxpr.outvars))

    def equation(self, eqn, names, depth):
        """One equation whose programs are lowered and whose axes are those of the mesh."""
        if eqn.primitive.on_host:
            self.callbacks.append(host_function(eqn))
            avals = tuple(v.aval for v in eqn.outvars)
            params = {"number": len(self.callbacks) - 1, "avals": avals}
            return eqn.replace(primitive=call_back_p, params=params)
        params = {}
        for key, value in eqn.params.items():
            if isinstance(value, Jaxpr):
                value = self.program(value, names, depth)
            elif isinstance(value, tuple) and value and isinstance(value[0], Jaxpr):
                value = tuple(self.program(j, names, depth) for j in value)
            elif eqn.primitive.collective and key in ("axes", "axis_name"):
                value = renamed(value, names)
            params[key] = value
        return eqn.replace(params=params)

    def nested(self, eqn, names, depth):
        """A pmap inside -> the program that stands for it, the axes in scope there, its depth."""
        name, size = eqn.params["axis_name"], eqn.params["axis_size"]
        scope = [Axis(self.sizes[number], outer) for outer, number in names.items()]
        if len(self.sizes) == depth + 1:
            self.sizes.append(size)
        if self.sizes[depth + 1] != size:  # beside a pmap of another size: one device does it all
            return staged(on_one_device, eqn, scope), names, depth
        return staged(spread, eqn, scope), names | {name: depth + 1}, depth + 1


def renamed(value, names):
    """Names of axes as those in the mesh."""
    if isinstance(value, tuple):
        return tuple(renamed(v, names) for v in value)
    return mesh_name(names[value]) if value in names else value


def mesh_name(number):
    """What the mesh calls one of its axes; a number would be an axis of the array to psum."""
    return f"axis{number}"


# ---- pmap inside of pmap -------------------------------------------------------------------------


def staged(way, eqn, scope):
    """The program that runs a pmap equation in one of the two ways below."""
    axis = Axis(eqn.params["axis_size"], eqn.params["axis_name"])
    with named_axes(*scope, axis):
        return stage_closed(partial(way, eqn.params, axis), [v.aval for v in eqn.invars])


def spread(params, axis, *xs):
    """Each device takes its part, computes, and gets the results of all."""
    index = collectives.axis_index(axis.name)
    parts = [
        x if k is None else dynamic_index_in_dim(x, index, k, keepdims=False)
        for x, k in zip(xs, params["in_axes"])
    ]
    outs = run(params["jaxpr"], *parts)
    return [
        o if k is None else moveaxis(collectives.all_gather(o, axis.name), 0, k)
        for o, k in zip(outs, params["out_axes"])
    ]


def on_one_device(params, axis, *xs):
    """The same as a vmap."""
    outs, dims = vmap_flat(partial(run, params["jaxpr"]), axis, xs, params["in_axes"])
    return [move_to(axis, o, d, k) for o, d, k in zip(outs, dims, params["out_axes"])]
