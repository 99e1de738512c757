"""The cards of reductions over named axes, psum pmax pmin, and of the index along one."""

import numpy as np

from tinyjax.avals import ShapedArray
from tinyjax.core import Jaxpr, JaxprEqn, Primitive, Var
from tinyjax.primitives.arithmetic import const, mul
from tinyjax.primitives.creation import iota
from tinyjax.primitives.linear import broadcast_in_dim, moveaxis, reduce_sum_p
from tinyjax.primitives.reducing import reduce_max_p, reduce_min_p
from tinyjax.transforms.axis_env import axis_size_of
from tinyjax.transforms.named_axes import Collective, contiguous, device_for, is_position

# ---- reductions ----------------------------------------------------------------------------------


def parted(axes):
    """-> the axes of the array, the names."""
    return tuple(a for a in axes if is_position(a)), tuple(a for a in axes if not is_position(a))


class NamedReduction(Collective):
    """Reduce over axes, of which some are names and others are axes of the array.

    local: the card that reduces over axes of the array. op: what `Device.allreduce` calls it.
    """

    def __init__(self, name, local, op):
        self.name, self.local, self.op = name, local, op

    def weak_result(self, args, params):
        """Eager reductions over axes of the array keep weak types, recorded ones do not: JAX's."""
        return not parted(params["axes"])[1] and args[0].weak_type

    def names(self, params):
        return parted(params["axes"])[1]

    def impl(self, x, *, axes, axis_index_groups):
        places, names = parted(axes)
        x = self.local.impl(x, axes=places) if places else x
        if not names:
            return x
        device = device_for(names)
        x, members = contiguous(x), device.peers(names, axis_index_groups)
        if x.dtype == bool:  # engines know numbers only
            return np.asarray(device.allreduce(self.op, x.view(np.uint8), members)).view(bool)
        return np.asarray(device.allreduce(self.op, x, members))

    def type(self, x, *, axes, axis_index_groups):
        places, names = parted(axes)
        for name in names:
            axis_size_of(name)
        shape = [n for i, n in enumerate(x.shape) if i not in places]
        return ShapedArray(shape, x.dtype)

    def lower(self, args, *, axes, axis_index_groups):
        """Axes of the array are reduced first, by an equation of their own: a little program."""
        params = {"axes": axes, "axis_index_groups": axis_index_groups}
        places, names = parted(axes)
        if names and not places:
            return args, params
        x, eqns = Var(args[0].aval), []
        out = x
        if places:
            out = Var(self.local.type(x.aval, axes=places))
            eqns.append(JaxprEqn(self.local, [x], {"axes": places}, [out]))
        if names:
            whole = Var(out.aval)
            eqns.append(JaxprEqn(self, [out], params | {"axes": names}, [whole]))
            out = whole
        return args, {"jaxpr": Jaxpr([x], eqns, [out])}

    def batch_beside(self, x, d, *, axes, axis_index_groups):
        if parted(axes)[0]:
            x, d, axes = moveaxis(x, d, 0), 0, shifted(axes)
        return self.bind(x, axes=axes, axis_index_groups=axis_index_groups), d

    def batch_several(self, axis, x, d, params):
        return self.batch_along(axis, x, d, **params)

    def batch_along(self, axis, x, d, *, axes, axis_index_groups):
        if d is None:
            rest = tuple(a for a in axes if a != axis.name)
            if rest:
                x = self.bind(x, axes=rest, axis_index_groups=None)
            return self.repeated(x, axis.size), None
        axes = tuple(0 if a == axis.name else a for a in shifted(axes))
        return self.bind(moveaxis(x, d, 0), axes=axes, axis_index_groups=None), None

    def repeated(self, x, n):
        """The reduction of n equal elements."""
        return x


class Psum(NamedReduction):
    """psum[axes axis_index_groups] x: the sum; everyone gets it.

    Its transpose is psum once more: everyone's result depends on everyone's operand.
    """

    def repeated(self, x, n):
        return mul(const(x, n), x)

    def transpose(self, ct, x, *, axes, axis_index_groups):
        places, names = parted(axes)
        if places:
            kept = [i for i in range(len(x.aval.shape)) if i not in places]
            ct = broadcast_in_dim(ct, x.aval.shape, kept)
        return [self.bind(ct, axes=names, axis_index_groups=axis_index_groups)]


class Extreme(NamedReduction):
    """pmax, pmin[axes axis_index_groups] x: the largest or smallest; everyone gets it."""

    def linearize(self, nz, x, **params):
        raise NotImplementedError(
            f"Differentiation rule for '{self}' not implemented: wrap its operand in "
            "lax.stop_gradient if its result is to count as a constant, or reduce what "
            "lax.all_gather returns"
        )


def shifted(axes):
    """Axes, when a batch axis comes in front of the array's."""
    return tuple(a + 1 if is_position(a) else a for a in axes)


psum_p = Psum("psum", reduce_sum_p, "add")
pmax_p = Extreme("pmax", reduce_max_p, "max")
pmin_p = Extreme("pmin", reduce_min_p, "min")

# ---- the index -----------------------------------------------------------------------------------


class AxisIndex(Primitive):
    """axis_index[axis_name]: the position along a named axis."""

    collective = True

    def impl(self, *, axis_name):
        return np.asarray(device_for((axis_name,)).axis_index(axis_name), np.int32)

    def type(self, *, axis_name):
        axis_size_of(axis_name)
        return ShapedArray((), np.dtype(np.int32))

    def batch(self, axis, vals, dims, /, *, axis_name):
        if axis.name == axis_name:
            return iota(np.int32, axis.size), 0
        return self.bind(axis_name=axis_name), None


axis_index_p = AxisIndex("axis_index")
