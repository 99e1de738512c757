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
    """Goes through programs. A reduction waits for others, most bytes of them at a time; equations
    that need its result wait behind it."""

    def __init__(self, most):
        self.most = most

    def program(self, jaxpr):
        """A program joined, programs inside of it, too."""
        eqns, waiting, behind, late, bytes = [], [], [], set(), 0
        for eqn in jaxpr.eqns:
            key = kind(eqn)
            size = sum(v.aval.size * v.aval.dtype.itemsize for v in eqn.outvars) if key else 0
            if size > self.most:
                key, size = None, 0
            needs = any(isinstance(v, Var) and v in late for v in eqn.invars)
            other = key and waiting and key != kind(waiting[0])
            if (key and needs) or other or bytes + size > self.most or eqn.effectful:
                eqns += [*together(waiting), *behind]
                waiting, behind, late, bytes, needs = [], [], set(), 0, False
            if key:
                waiting.append(eqn)
                bytes += size
            else:
                eqn = eqn.replace(params=map_programs(self.program, eqn.params))
                (behind if needs else eqns).append(eqn)
            if key or needs:
                late.update(eqn.outvars)
        return jaxpr.replace(eqns=[*eqns, *together(waiting), *behind])


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
