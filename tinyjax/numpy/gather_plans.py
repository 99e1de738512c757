"""Index arrays: the operands of the gather or scatter that carries out an index."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax import dtypes, lax, messages
from tinyjax.array import Array, lift
from tinyjax.core import Tracer
from tinyjax.numpy.checks import is_concrete
from tinyjax.numpy.creation import asarray
from tinyjax.numpy.index_parsing import (
    ARRAY,
    INT,
    MASK,
    NEW,
    SLICE,
    Item,
    expand_ellipsis,
    fits,
    index_dtype,
)

# ---- index arrays -------------------------------------------------------------------------------


def expand_masks(items, shape, update=None):
    """Boolean masks as index arrays: the places where they are true. update: what is set there."""
    out = []
    for position, item in enumerate(items):
        if item.kind != MASK:
            out.append(item)
            continue
        if not is_concrete(item.value):
            raise messages.concrete_mask(item.value, shape, update)
        value = item.value.concrete() if isinstance(item.value, Tracer) else item.value
        mask = np.asarray(value)
        if mask.ndim == 0:
            out.append(Item(MASK, bool(mask), ()))
            continue
        expected = [shape[d] for d in item.axes]
        if not all(m in (0, n) for m, n in zip(mask.shape, expected)):
            raise IndexError(
                f"boolean index did not match shape of indexed array in index {position}: got "
                f"{mask.shape}, expected {expected}"
            )
        out += [Item(ARRAY, i, (d,)) for i, d in zip(np.where(mask), item.axes)]
    return out


class GatherPlan(NamedTuple):
    """The operands of a gather or scatter that carries out an index."""

    indices: Any
    offset_dims: tuple[int, ...]  # axes of the result that are slices of x
    collapsed: tuple[int, ...]  # axes of x that are indexed, of which one element is taken
    start_map: tuple[int, ...]  # which axis of x each column of indices goes to
    slice_sizes: tuple[int, ...]
    shape: tuple[int, ...]  # of the result
    rev: tuple[int, ...]  # axes of the gathered array to reverse
    new: tuple[int, ...]  # axes of size 1 in the result
    scalar_masks: list[int]  # axes of size 1 to insert into x first
    regular: bool  # no index arrays: indices are sorted and distinct


def gather_plan(items, shape, wrap):
    """Plan a gather for an index whose masks have been expanded."""
    for position, item in enumerate(items):
        if item.kind == SLICE and not fits(item, shape, True, wrap):
            raise messages.concrete_slice(item.value, position)
    items = [
        item._replace(value=asarray(item.value)) if isinstance(item.value, Sequence) else item
        for item in items
    ]
    advanced = [i for i, item in enumerate(items) if item.kind in (ARRAY, INT)]
    contiguous = all(b - a == 1 for a, b in zip(advanced, advanced[1:]))
    items = expand_ellipsis(items, shape)
    scalar_masks = [n for n, item in enumerate(items) if item.kind == MASK]
    items, shape = expand_scalar_masks(items, shape)
    arrays = {id(i.value): lift(i.value) for i in items if isinstance(i.value, np.ndarray)}
    if wrap:
        items = [wrap_negative(item, shape, arrays) for item in items]
    items = [item._replace(value=arrays.get(id(item.value), item.value)) for item in items]
    return Gatherer(items, shape, contiguous, scalar_masks).plan()


def expand_scalar_masks(items, shape):
    """x[True] is a new axis of which all is taken, x[False] one of which nothing is."""
    out, shape, axis = [], list(shape), 0
    for i, item in enumerate(items):
        if item.kind == MASK:
            shape.insert(i, 1)
            out.append(Item(ARRAY, np.arange(int(item.value)), (axis,)))
            axis += 1
        else:
            n = len(item.axes)
            out.append(item._replace(axes=tuple(range(axis, axis + n))))
            axis += n
    return out, tuple(shape)


def wrap_negative(item, shape, arrays):
    """Negative indices count from the end. arrays: id of a NumPy array -> the Array it becomes."""
    if item.kind not in (INT, ARRAY):
        return item
    size, i = shape[item.axes[0]], item.value
    if item.kind == INT:
        return item._replace(value=i + size if i < 0 else i)
    if dtypes.issubdtype(i.dtype, np.unsignedinteger):
        return item
    negative, i = i < 0, arrays.get(id(i), i)
    size = Array(np.asarray(size, i.dtype), literal=True)
    return item._replace(value=lax.select(negative, lax.add(i, size), i))


class Gatherer:
    """Walks over the items of an index and collects the operands of a gather.

    Index arrays are broadcast together; their axes appear in the result where the first one
    stands, or in front if slices come between them.
    """

    def __init__(self, items, shape, contiguous, scalar_masks):
        self.items, self.shape, self.scalar_masks = items, shape, scalar_masks
        self.dtype = index_dtype(shape)
        arrays = [
            (position, item) for position, item in enumerate(items) if item.kind in (ARRAY, INT)
        ]
        if not any(item.kind == ARRAY and np.ndim(item.value) for _, item in arrays):
            arrays = []
        self.arrays = arrays
        self.advanced_at = None
        if arrays:
            self.advanced_at = arrays[0][0] if contiguous else 0
        self.columns, self.batch_shape = [], []  # index columns, each with its first batch axis
        self.offset_dims, self.collapsed, self.start_map = [], [], []
        self.slice_sizes, self.out_shape = [], []
        self.rev, self.new = [], []
        self.out_axis = self.offset_axis = 0

    def plan(self):
        """Walk, and put the index columns together."""
        positions = {position for position, _ in self.arrays}
        for position, item in enumerate(self.items):
            if position == self.advanced_at:
                self.add_arrays()
            if position in positions:
                self.slice_sizes.append(1)
            elif item.kind in (INT, ARRAY):
                self.add_scalar(item)
            elif item.kind == NEW:
                self.out_shape.append(1)
                self.new.append(self.out_axis)
                self.out_axis += 1
            else:
                self.add_slice(item)
        return GatherPlan(
            self.join_columns(),
            tuple(self.offset_dims),
            tuple(sorted(self.collapsed)),
            tuple(self.start_map),
            tuple(self.slice_sizes),
            tuple(self.out_shape),
            tuple(self.rev),
            tuple(self.new),
            self.scalar_masks,
            not self.arrays,
        )

    def add_arrays(self):
        """All index arrays at once."""
        values = [asarray(item.value) for _, item in self.arrays]
        shape = lax.broadcast_shapes(*[v.shape for v in values])
        first = len(self.batch_shape)
        for v, (_, item) in zip(values, self.arrays):
            v = v if v.shape == shape else lax.broadcast_to(v, shape)
            self.columns.append((lax.convert_element_type(v, self.dtype), first))
            self.start_map.append(item.axes[0])
            self.collapsed.append(item.axes[0])
        self.batch_shape += shape
        self.out_shape += shape
        self.out_axis += len(shape)
        self.offset_axis += len(shape)

    def add_scalar(self, item):
        """One integer, known or traced."""
        axis = item.axes[0]
        if self.shape[axis] == 0:
            raise IndexError(f"index is out of bounds for axis {axis} with size 0")
        i = lax.convert_element_type(item.value, self.dtype)
        self.columns.append((i, len(self.batch_shape)))
        self.collapsed.append(axis)
        self.slice_sizes.append(1)
        self.start_map.append(axis)

    def add_slice(self, item):
        """A slice: a window of x if its step is 1, else one more index array."""
        axis = item.axes[0]
        start, stop, step = item.value.indices(self.shape[axis])
        n = len(range(start, stop, step))
        self.out_shape.append(n)
        if step == 1:
            if n != self.shape[axis]:
                at = lax.convert_element_type(start, self.dtype)
                self.columns.append((at, len(self.batch_shape)))
                self.start_map.append(axis)
            self.slice_sizes.append(n)
            self.offset_dims.append(self.offset_axis)
        else:
            i = asarray(start, dtype=self.dtype) + asarray(step, dtype=self.dtype) * lax.iota(
                self.dtype, n
            )
            if step < 0:
                self.rev.append(self.offset_axis)
                i = lax.rev(i, dimensions=(0,))
            self.slice_sizes.append(1)
            self.columns.append((i, len(self.batch_shape)))
            self.start_map.append(axis)
            self.batch_shape.append(n)
            self.collapsed.append(axis)
        self.offset_axis += 1
        self.out_axis += 1

    def join_columns(self):
        """The index columns as one array, whose last axis runs over them."""
        if not self.columns:
            return lift(np.zeros((0,), self.dtype))
        if len(self.columns) == 1:
            column = lift(self.columns[0][0])
            return lax.expand_dims(column, (column.ndim,))
        shape = (*self.batch_shape, 1)
        spread = [
            lax.broadcast_in_dim(lift(c), shape, tuple(range(at, at + np.ndim(c))))
            for c, at in self.columns
        ]
        return lax.concatenate(spread, len(self.batch_shape))
