"""Small reductions that do not need one another's results become one exchange.

A training step sums the gradient of every parameter over the devices. What that costs is meeting,
not adding, so the devices meet once for many of them.
"""

from itertools import accumulate

import numpy as np

from tinyjax.core import JaxprEqn, Primitive, Var
from tinyjax.parallel.device import current_device
from tinyjax.transforms.stage import map_programs

OPS = {"psum": "add", "pmax": "max", "pmin": "min"}
MOST = 1 << 16  # bytes on all devices together; the copies of more take longer than a meeting


class Together(Primitive):
    """reduce_together[axes axis_index_groups op] *xs: reduce each over named axes."""

    multi = collective = True

    def impl(self, *xs, op, axes, axis_index_groups):
        device = current_device()
        flat = np.concatenate([x.reshape(-1) for x in xs])
        total = device.allreduce(op, flat, device.peers(axes, axis_index_groups))
        ends = accumulate(x.size for x in xs)
        return [total[end - x.size : end].reshape(x.shape) for x, end in zip(xs, ends)]

    def type(self, *avals, **_):
        return list(avals)


together_p = Together("reduce_together")


def joined(jaxpr, devices):
    """The program with its small reductions joined, for so many devices."""
    return Joining(MOST // devices).program(jaxpr)


class Joining:
    """Goes through programs; reductions wait for others, most bytes of them at a time."""

    def __init__(self, most):
        self.most = most

    def program(self, jaxpr):
        """A program joined, programs inside of it, too."""
        eqns, waiting, results, bytes = [], [], set(), 0
        for eqn in jaxpr.eqns:
            key, size = kind(eqn), sum(v.aval.size * v.aval.dtype.itemsize for v in eqn.outvars)
            if size > self.most:
                key = None
            needed = any(isinstance(v, Var) and v in results for v in eqn.invars)
            other = key is not None and waiting and key != kind(waiting[0])
            if needed or other or (key is not None and bytes + size > self.most):
                eqns += together(waiting)
                waiting, results, bytes = [], set(), 0
            if key is None:
                eqns.append(eqn.replace(params=map_programs(self.program, eqn.params)))
            else:
                waiting.append(eqn)
                results.update(eqn.outvars)
                bytes += size
        return jaxpr.replace(eqns=[*eqns, *together(waiting)])


def together(waiting):
    """The equations that stand for reductions of one kind."""
    if len(waiting) < 2:
        return waiting
    invars = [x for eqn in waiting for x in eqn.invars]
    outvars = [x for eqn in waiting for x in eqn.outvars]
    params = waiting[0].params | {"op": OPS[waiting[0].primitive.name]}
    return [JaxprEqn(together_p, invars, params, outvars)]


def kind(eqn):
    """What reductions must have in common to be joined; None for any other equation."""
    if eqn.primitive.name not in OPS:
        return None
    [x], axes = eqn.invars, eqn.params["axes"]
    if any(isinstance(a, int) for a in axes) or np.dtype(x.aval.dtype).kind not in "iuf":
        return None
    return eqn.primitive, axes, eqn.params["axis_index_groups"], x.aval.dtype
