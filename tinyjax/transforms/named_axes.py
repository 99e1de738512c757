"""What all collectives share: names of axes, groups of indices, devices, and how to batch.

A collective's own axes are among the mapped ones of vmap and pmap, known by their names. Under
vmap the rule `batch` makes ordinary operations of it; on the devices of a pmap, `impl` asks the
`Device` that runs the program for the exchange.
"""

import math

import numpy as np

from tinyjax.parallel.device import current_device
from tinyjax.primitives.linear import LinearOp, batched_front
from tinyjax.primitives.shaping import concatenate
from tinyjax.transforms.axis_env import axis_size_of
from tinyjax.transforms.batching import Axis, vmap_flat

# ---- names and groups ----------------------------------------------------------------------------


def names_of(axis_name):
    """One name or several, as a tuple."""
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def is_position(axis):
    """Whether an axis of a reduction is one of the array, not a mapped one."""
    return isinstance(axis, (int, np.integer))


def size_of(names):
    """The number of elements along named axes. NameError if one is not in scope."""
    return math.prod([axis_size_of(name) for name in names])


def check_names(axis_name):
    """NameError unless all names are in scope."""
    for name in names_of(axis_name):
        axis_size_of(name)


def index_groups(groups, names, equal=True):
    """axis_index_groups as tuples: they hold each index once, and equally many if equal."""
    if groups is None:
        return None
    groups = tuple(tuple(int(i) for i in group) for group in groups)
    size = size_of(names)
    if sorted(i for group in groups for i in group) != list(range(size)):
        raise ValueError(
            f"axis_index_groups must cover all indices exactly once, from 0 to {size - 1} for an "
            f"axis of size {size}; got {groups}"
        )
    if equal and len({len(group) for group in groups}) > 1:
        raise ValueError(f"axis_index_groups must all be the same size, got {groups}")
    return groups


def group_size(names, groups):
    """How many elements take part in one exchange."""
    return size_of(names) if groups is None else len(groups[0])


def device_for(names):
    """The device that runs this program; NameError if there is none, so the names mean nothing."""
    device = current_device()
    if device is None:
        axis_size_of(names[0])  # says which names are in scope
        raise NameError(f"axis {names[0]!r} is mapped over, but not by devices that compute now")
    return device


def contiguous(x):
    """An array whose bytes lie in order, as engines want them."""
    return np.asarray(x, order="C")


# ---- the base of the cards -----------------------------------------------------------------------


class Collective(LinearOp):
    """An operation of one operand among the elements of named axes, its parameter axis_name.

    batch_beside(x, d, **params) -> out, dim        another axis is batched
    batch_along(axis, x, d, **params) -> out, dim   its own and only axis is; no groups
    one_by_one(x, **params) -> out                  the same as collectives over one name each
    """

    collective = True

    def weak_result(self, args, params):
        """On devices types have been checked; their names are known no more."""
        return args[0].weak_type

    def names(self, params):
        """The names of its axes."""
        return names_of(params["axis_name"])

    def batch(self, axis, vals, dims, /, **params):
        (x,), (d,) = vals, dims
        names, groups = self.names(params), params.get("axis_index_groups")
        if axis.name not in names and d is None:
            return self.bind(x, **params), None
        if axis.name not in names:
            return self.batch_beside(x, d, **params)
        if groups is not None and len(names) > 1:
            raise NotImplementedError(f"{self} over several axes with axis_index_groups under vmap")
        if groups is not None:
            return self.batch_in_groups(axis, x, d, groups, params)
        if len(names) > 1:
            return self.batch_several(axis, x, d, params)
        return self.batch_along(axis, x, d, **params)

    def batch_several(self, axis, x, d, params):
        """The batched axis is one of several."""
        outs, dims = vmap_flat(lambda x: [self.one_by_one(x, **params)], axis, [x], [d])
        return outs[0], dims[0]

    def batch_in_groups(self, axis, x, d, groups, params):
        """Each group is a batch of its own. (take: the method of arrays, as in JAX's rules.)"""
        x, parts = batched_front(axis, x, d), []
        for group in groups:
            small = Axis(len(group), axis.name)
            rows = x.take(np.array(group), 0)
            out, dim = self.batch_along(small, rows, 0, **params | {"axis_index_groups": None})
            parts.append(batched_front(small, out, dim))
        return concatenate(parts, 0).take(np.argsort(np.concatenate(groups)), 0), 0
