"""The cards that move data between the elements of named axes: all_gather, reduce_scatter,
all_to_all, ppermute."""

import numpy as np

from tinyjax.avals import ShapedArray
from tinyjax.primitives.arithmetic import const, mul, zeros_like
from tinyjax.primitives.linear import (
    batched_front,
    broadcast_in_dim,
    full,
    moveaxis,
    new_front,
    reduce_sum_p,
    reshaped,
    squeeze,
    transpose,
)
from tinyjax.primitives.selection import select
from tinyjax.primitives.shaping import concatenate
from tinyjax.primitives.slicing import index_in_dim
from tinyjax.transforms.axis_env import axis_size_of
from tinyjax.transforms.named_axes import (
    Collective,
    check_names,
    contiguous,
    device_for,
    names_of,
    size_of,
)

# ---- shapes --------------------------------------------------------------------------------------


def split_axis_shape(shape, axis, n):
    """A shape with one axis as n parts: (..., n, size / n, ...)."""
    return (*shape[:axis], n, shape[axis] // n, *shape[axis + 1 :])


def merged_shape(shape, axis):
    """A shape with an axis and the next one as one."""
    return (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])


def split(x, axis, n):
    """x with one axis as two, the first of size n."""
    return reshaped(x, split_axis_shape(x.shape, axis, n))


def merge(x, axis):
    """x with an axis and the next one as one."""
    return reshaped(x, merged_shape(x.shape, axis))


# ---- all_gather, reduce_scatter ------------------------------------------------------------------


class AllGather(Collective):
    """all_gather[all_gather_dimension axis_index_groups axis_name axis_size tiled] x

    Everyone gets the operands of all: stacked along a new axis, or (tiled) one after another.
    """

    def impl(self, x, *, all_gather_dimension, axis_index_groups, axis_name, axis_size, tiled):
        device = device_for(axis_name)
        members = device.peers(axis_name, axis_index_groups)
        out = device.all_gather(contiguous(x), members)
        out = np.moveaxis(out, 0, all_gather_dimension)
        if tiled:
            out = out.reshape(merged_shape(out.shape, all_gather_dimension))
        return contiguous(out)

    def type(self, x, *, all_gather_dimension, axis_index_groups, axis_name, axis_size, tiled):
        check_names(axis_name)
        shape = list(x.shape)
        shape.insert(all_gather_dimension, axis_size)
        if tiled:
            shape = merged_shape(shape, all_gather_dimension)
        return x.update(shape=tuple(shape))

    def transpose(self, ct, x, *, all_gather_dimension, **params):
        return [reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)]

    def batch_beside(self, x, d, *, all_gather_dimension, tiled, **params):
        if d <= all_gather_dimension:
            all_gather_dimension += 1
        elif not tiled:
            d += 1
        out = self.bind(x, all_gather_dimension=all_gather_dimension, tiled=tiled, **params)
        return out, d

    def batch_along(self, axis, x, d, *, all_gather_dimension, tiled, **_):
        if d is None:
            shape = list(x.shape)
            shape.insert(all_gather_dimension, axis.size)
            kept = [i for i in range(len(shape)) if i != all_gather_dimension]
            x = broadcast_in_dim(x, shape, kept)
        else:
            x = moveaxis(x, d, all_gather_dimension)
        return (merge(x, all_gather_dimension) if tiled else x), None

    def one_by_one(self, x, *, axis_name, axis_size, tiled, **params):
        for name in reversed(axis_name):
            size = axis_size_of(name)
            x = self.bind(x, axis_name=(name,), axis_size=size, tiled=tiled, **params)
            tiled = True
        return x


class ReduceScatter(Collective):
    """reduce_scatter[axis_index_groups axis_name axis_size scatter_dimension tiled] x

    The sum of all operands, of which everyone gets one part along an axis. Not tiled: the parts
    have one element, and the axis disappears.
    """

    def impl(self, x, *, axis_index_groups, axis_name, axis_size, scatter_dimension, tiled):
        device = device_for(axis_name)
        if tiled:
            x = x.reshape(split_axis_shape(x.shape, scatter_dimension, axis_size))
        parts = contiguous(np.moveaxis(x, scatter_dimension, 0))
        return np.asarray(device.reduce_scatter(parts, device.peers(axis_name, axis_index_groups)))

    def type(self, x, *, axis_index_groups, axis_name, axis_size, scatter_dimension, tiled):
        check_names(axis_name)
        check_scattered(x.shape[scatter_dimension], axis_size, tiled)
        shape = list(split_axis_shape(x.shape, scatter_dimension, axis_size))
        del shape[scatter_dimension]
        if not tiled:
            del shape[scatter_dimension]
        return x.update(shape=tuple(shape))

    def transpose(self, ct, x, *, scatter_dimension, **params):
        return [all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)]

    def batch_beside(self, x, d, *, scatter_dimension, tiled, **params):
        inner = scatter_dimension + (d <= scatter_dimension)
        out = self.bind(x, scatter_dimension=inner, tiled=tiled, **params)
        return out, d - (not tiled and inner < d)

    def batch_along(self, axis, x, d, *, scatter_dimension, tiled, **_):
        if d is None:
            x = mul(x, const(x, axis.size))
        else:
            x = reduce_sum_p.bind(x, axes=(d,))
        return (split(x, scatter_dimension, axis.size) if tiled else x), scatter_dimension

    def one_by_one(self, x, *, axis_name, axis_size, scatter_dimension, tiled, **params):
        at = {"scatter_dimension": scatter_dimension}
        for name in axis_name:
            size = axis_size_of(name)
            x = self.bind(x, axis_name=(name,), axis_size=size, tiled=True, **at, **params)
        return x if tiled else squeeze(x, (scatter_dimension,))


def check_scattered(size, shards, tiled):
    """Whether an axis can be given out in parts."""
    if tiled and size % shards:
        raise ValueError(
            f"tiled reduce_scatter operand scatter dimension size {size} must be divisible by "
            f"shard_count {shards}"
        )
    if not tiled and size != shards:
        raise ValueError(
            f"reduce_scatter operand scatter dimension size {size} must match shard count {shards}"
            " (tiled=True gives out several elements to each)"
        )


# ---- all_to_all ----------------------------------------------------------------------------------


class AllToAll(Collective):
    """all_to_all[axis_index_groups axis_name concat_axis split_axis tiled] x

    Everyone cuts its operand along split_axis and sends the k-th part to the k-th element of the
    named axis, which joins what it gets along concat_axis.
    """

    def weak_result(self, args, params):
        return False

    def impl(self, x, *, axis_index_groups, axis_name, concat_axis, split_axis, tiled):
        names = names_of(axis_name)
        device = device_for(names)
        members = device.peers(names, axis_index_groups)
        parts = x.reshape(split_axis_shape(x.shape, split_axis, len(members)))
        parts = contiguous(np.moveaxis(parts, split_axis, 0))
        out = np.moveaxis(device.all_to_all(parts, members), 0, concat_axis)
        return contiguous(out.reshape(merged_shape(out.shape, concat_axis)))

    def type(self, x, *, axis_index_groups, axis_name, concat_axis, split_axis, tiled):
        check_names(axis_name)
        groups = axis_index_groups
        n = size_of(names_of(axis_name)) if groups is None else len(groups[0])
        shape = list(x.shape)
        shape[split_axis] //= n
        shape[concat_axis] *= n
        return ShapedArray(tuple(shape), x.dtype)

    def transpose(self, ct, x, *, split_axis, concat_axis, **params):
        return [self.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)]

    def batch_beside(self, x, d, *, split_axis, concat_axis, **params):
        split_axis, concat_axis = split_axis + (d <= split_axis), concat_axis + (d <= concat_axis)
        return self.bind(x, split_axis=split_axis, concat_axis=concat_axis, **params), d

    def batch_along(self, axis, x, d, *, split_axis, concat_axis, **_):
        if d is None:
            x, d = new_front(x, axis.size), 0
        if split_axis != concat_axis:
            x = merge(moveaxis(x, d, concat_axis), concat_axis)
            return split(x, split_axis, axis.size), split_axis
        at = split_axis + (d <= split_axis)
        x, place = split(x, at, axis.size), d + (at <= d)
        order = list(range(x.ndim))
        order[at], order[place] = place, at
        return merge(transpose(x, order), at), d

    def one_by_one(self, x, *, axis_name, split_axis, concat_axis, **params):
        sizes = [axis_size_of(name) for name in axis_name]
        shape = list(x.shape)
        parts = [*sizes, shape[split_axis] // size_of(axis_name)]
        x = reshaped(x, (*shape[:split_axis], *parts, *shape[split_axis + 1 :]))
        cuts = list(range(split_axis, split_axis + len(sizes)))
        for name, at in zip(axis_name, cuts):  # exchange the axis of parts with the named one
            x = self.bind(x, axis_name=name, split_axis=at, concat_axis=at, **params)
        order = [i for i in range(x.ndim) if i not in cuts]
        order[concat_axis:concat_axis] = cuts
        shape[split_axis] = parts[-1]
        shape[concat_axis] *= size_of(axis_name)
        return reshaped(transpose(x, order), tuple(shape))


# ---- ppermute ------------------------------------------------------------------------------------


class Ppermute(Collective):
    """ppermute[axis_name perm] x: send it along pairs (source, destination).

    Who is nobody's destination gets zeros.
    """

    def impl(self, x, *, axis_name, perm):
        device = device_for(axis_name)
        members = device.peers(axis_name)
        source = {dst: src for src, dst in perm}
        sources = tuple(source.get(k) for k in range(len(members)))
        return device.permute(contiguous(x), members, sources)

    def type(self, x, *, axis_name, perm):
        check_names(axis_name)
        return x

    def transpose(self, ct, x, *, axis_name, perm):
        return [self.bind(ct, axis_name=axis_name, perm=tuple((dst, src) for src, dst in perm))]

    def batch_beside(self, x, d, **params):
        return self.bind(x, **params), d

    def batch_along(self, axis, x, d, *, axis_name, perm):
        whole = len(perm) == axis.size
        if d is None and whole:
            return x, None
        if d is None:
            x, d = new_front(x, axis.size), 0
        sources, filled = np.zeros(axis.size, int), np.zeros(axis.size, bool)
        for src, dst in perm:
            sources[dst], filled[dst] = src, True
        out = x.take(sources, d)
        if not whole:
            out = select(broadcast_in_dim(filled, out.shape, (d,)), out, zeros_like(out))
        return out, d

    def batch_several(self, axis, x, d, params):
        # A ppermute over the other names for each pair of indices along the batched one.
        names, x = params["axis_name"], batched_front(axis, x, d)
        place = names.index(axis.name)
        rest = names[:place] + names[place + 1 :]
        sizes = [axis_size_of(name) for name in rest]
        sizes.insert(place, axis.size)
        pairs = {}
        for ends in params["perm"]:
            at = [list(np.unravel_index(k, sizes)) for k in ends]
            key = tuple(int(index.pop(place)) for index in at)
            other = sizes[:place] + sizes[place + 1 :]
            pairs.setdefault(key, []).append(
                tuple(int(np.ravel_multi_index(index, other)) for index in at)
            )
        rows = [full((1, *x.shape[1:]), 0, x.dtype)] * axis.size
        for (src, dst), perm in pairs.items():
            row = index_in_dim(x, src, 0, keepdims=True)
            rows[dst] = rows[dst] + self.bind(row, axis_name=rest, perm=tuple(perm))
        return concatenate(rows, 0), 0


all_gather_p, reduce_scatter_p = AllGather("all_gather"), ReduceScatter("reduce_scatter")
all_to_all_p, ppermute_p = AllToAll("all_to_all"), Ppermute("ppermute")
