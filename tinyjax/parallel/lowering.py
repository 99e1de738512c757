"""From the program of a pmap to one that a single device can run.

Calls are inlined. A pmap inside becomes a second axis of the mesh: each device takes its part of
the operands, and the results are gathered. Axes lose their names, which may hide one another: the
mesh calls them axis0, axis1 ... from the outside in. What must run where the user is becomes
`call_back`.
"""

from functools import partial

import numpy as np

from tinyjax.compiler.interpret import run_equation
from tinyjax.compiler.passes import Inliner, called
from tinyjax.core import Jaxpr, Primitive, Var, run
from tinyjax.parallel.device import current_device
from tinyjax.primitives.linear import moveaxis
from tinyjax.primitives.slicing import dynamic_index_in_dim
from tinyjax.transforms import collectives
from tinyjax.transforms.axis_env import named_axes
from tinyjax.transforms.batching import Axis, move_to, vmap_flat
from tinyjax.transforms.stage import dce, map_programs, stage_closed

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
        return Walk(self).program(jaxpr, (names, depth))


class Walk(Inliner):
    """Lowers one program. where: (names in scope, depth of pmaps)."""

    def __init__(self, lowering):
        self.lowering, self.eqns, self.constvars, self.consts = lowering, [], [], []

    def program(self, jaxpr, where):
        """The lowered program."""
        outvars = self.inline(jaxpr, {v: v for v in jaxpr.invars}, where)
        return dce(Jaxpr(jaxpr.invars, self.eqns, outvars, self.constvars, self.consts))

    def constant(self, var, array):
        self.constvars.append(Var(var.aval))
        self.consts.append(array)
        return self.constvars[-1]

    def called(self, eqn, where):
        if eqn.primitive.name == "pmap":
            return self.nested(eqn, *where)
        return called(eqn)[0], where

    def equation(self, eqn, invars, where):
        """Its programs are lowered, its axes are those of the mesh."""
        names, _ = where
        if eqn.primitive.on_host:
            callbacks = self.lowering.callbacks
            callbacks.append(host_function(eqn))
            avals = tuple(v.aval for v in eqn.outvars)
            params = {"number": len(callbacks) - 1, "avals": avals}
            eqn = eqn.replace(primitive=call_back_p, params=params)
        else:
            params = map_programs(lambda j: Walk(self.lowering).program(j, where), eqn.params)
            if eqn.primitive.collective:
                over = {k: renamed(params[k], names) for k in ("axes", "axis_name") if k in params}
                params = params | over
            eqn = eqn.replace(params=params)
        outvars = [Var(v.aval) for v in eqn.outvars]
        self.eqns.append(eqn.replace(outvars=outvars))
        return outvars

    def nested(self, eqn, names, depth):
        """A pmap inside -> the program that stands for it, and where that is."""
        sizes, name, size = self.lowering.sizes, eqn.params["axis_name"], eqn.params["axis_size"]
        scope = [Axis(sizes[number], outer) for outer, number in names.items()]
        if len(sizes) == depth + 1:
            sizes.append(size)
        if sizes[depth + 1] != size:  # beside a pmap of another size: one device does it all
            return staged(on_one_device, eqn, scope), (names, depth)
        return staged(spread, eqn, scope), (names | {name: depth + 1}, depth + 1)


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
