"""x[...]: what an index means, and the slice, dynamic_slice or gather that takes it.

An index is parsed into items, one per entry. If all are known integers and slices, one `slice`
does it; if integers are traced, one `dynamic_slice`; index arrays need a `gather`.
"""

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax import dtypes, errors, lax
from tinyjax.array import Array, lift
from tinyjax.avals import Value
from tinyjax.core import Tracer
from tinyjax.numpy.checks import concrete_or_error, is_concrete
from tinyjax.numpy.creation import asarray

# ---- parsing ------------------------------------------------------------------------------------

NEW, SLICE, ELLIPSIS, INT, MASK, ARRAY = "None", "slice", "...", "int", "mask", "array"


class Item(NamedTuple):
    """One entry of an index: its kind, its value, and the axes of x that it consumes."""

    kind: str
    value: Any
    axes: tuple[int, ...]


def parse_index(index, shape):
    """An index as a list of Items."""
    entries = index if isinstance(index, tuple) else (index,)
    if isinstance(index, Sequence) and not isinstance(index, (str, tuple)):
        raise TypeError(
            "Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            f"`arr[{'tuple(seq)' if any(map(unpackable, index)) else 'array(seq)'}]` instead of "
            "`arr[seq]`."
        )
    kinds = [kind_of(entry) for entry in entries]
    counts = [consumed(k, e) for k, e in zip(kinds, entries)]
    if kinds.count(ELLIPSIS) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if sum(counts) > len(shape):
        raise IndexError(
            f"Too many indices: array is {len(shape)}-dimensional, but {sum(counts)} were indexed"
        )
    if ELLIPSIS in kinds:
        counts[kinds.index(ELLIPSIS)] = len(shape) - sum(counts)
    items, axis = [], 0
    for kind, entry, n in zip(kinds, entries, counts):
        items.append(Item(kind, entry, tuple(range(axis, axis + n))))
        axis += n
    return items


def unpackable(entry):
    """Whether an entry of a list was meant as an entry of the index."""
    is_arr = isinstance(entry, (np.ndarray, Value)) and np.ndim(entry) != 0
    return is_arr or isinstance(entry, (Sequence, slice)) or entry in (None, Ellipsis)


def consumed(kind, entry):
    """How many axes an entry consumes (an ellipsis: those that are left)."""
    if kind == MASK:
        return np.ndim(entry)
    return 0 if kind in (NEW, ELLIPSIS) else 1


def kind_of(entry):
    """What one entry of an index is."""
    if entry is None:
        return NEW
    if entry is Ellipsis:
        return ELLIPSIS
    if isinstance(entry, slice):
        return SLICE
    if isinstance(entry, (bool, np.bool_)):
        return MASK
    if isinstance(entry, (int, np.integer)):
        return INT
    if isinstance(entry, str):
        raise TypeError(f"JAX does not support string indexing; got idx={entry!r}")
    if isinstance(entry, (Value, np.ndarray)):
        return array_kind(entry.dtype)
    if isinstance(entry, Sequence):
        return array_kind(asarray(entry).dtype) if len(entry) else ARRAY
    if isinstance(entry, (float, complex, np.generic)):
        raise TypeError(
            "Indexer must have integer or boolean type, got indexer with type "
            f"{np.dtype(type(entry))}"
        )
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean "
        f"arrays are valid indices. Got {entry}"
    )


def array_kind(dtype):
    """MASK for booleans, ARRAY for integers."""
    if dtype == bool:
        return MASK
    if dtypes.issubdtype(dtype, np.integer):
        return ARRAY
    raise TypeError(f"Indexer must have integer or boolean type, got indexer with type {dtype}")


def expand_ellipsis(items, shape):
    """Full slices for the ellipsis and for the axes that are left at the end."""
    out, last = [], 0
    for item in items:
        full = [Item(SLICE, slice(None), (d,)) for d in item.axes]
        out += full if item.kind == ELLIPSIS else [item]
        last += len(item.axes)
    return out + [Item(SLICE, slice(None), (d,)) for d in range(last, len(shape))]


# ---- known integers and slices ------------------------------------------------------------------


class SlicePlan:
    """What to do to x: cut [start, start + size) along each axis, then rev, squeeze, new axes."""

    def __init__(self):
        self.starts, self.sizes, self.strides = [], [], []
        self.rev, self.squeezed, self.new = [], [], []
        self.trivial = True

    def cut(self, start, size, stride=1):
        """Add an axis."""
        self.starts.append(start)
        self.sizes.append(size)
        self.strides.append(stride)

    def new_axis(self):
        """Add an axis of size 1 to the result."""
        self.new.append(len(self.starts) - len(self.squeezed) + len(self.new))

    def finish(self, x):
        """What remains to be done after the cut."""
        x = lax.rev(x, self.rev) if self.rev else x
        x = lax.squeeze(x, self.squeezed) if self.squeezed else x
        return lax.expand_dims(x, self.new) if self.new else x


def static_slice(x, items, in_bounds, wrap):
    """x[items] by `slice`, or None if it takes more than known integers and slices."""
    shape, plan = x.shape, SlicePlan()
    for item in items:
        if item.kind in (ARRAY, MASK) or not fits(item, shape, in_bounds, wrap):
            return None
    for item in expand_ellipsis(items, shape):
        if item.kind == NEW:
            plan.new_axis()
            continue
        axis, size = item.axes[0], shape[item.axes[0]]
        if item.kind == INT:
            i = int(item.value)
            i = i + size if wrap and i < 0 else i
            plan.cut(min(max(i, 0), size - 1), 1)
            plan.squeezed.append(axis)
            continue
        start, stop, step = item.value.indices(size)
        n = len(range(start, stop, step))
        if step < 0:  # the same elements forwards, to be reversed
            low = start + (n - 1) * step if n else min(size, stop + 1)
            plan.cut(low, max(low, start + 1) - low, -step)
            plan.rev.append(axis)
        else:
            plan.cut(start, max(start, stop) - start, step)
    limits = [a + n for a, n in zip(plan.starts, plan.sizes)]
    strides = None if all(s == 1 for s in plan.strides) else plan.strides
    if strides or any(plan.starts) or tuple(limits) != shape:
        x = lax.slice(x, plan.starts, limits, strides)
    return plan.finish(x)


def fits(item, shape, in_bounds, wrap):
    """Whether an integer lies in its axis, and the ends of a slice are known."""
    if item.kind == INT:
        size, i = shape[item.axes[0]], int(item.value)
        i = i + size if wrap and i < 0 else i
        return size > 0 and (0 <= i < size or not in_bounds)
    if item.kind == SLICE:
        ends = (item.value.start, item.value.stop, item.value.step)
        return all(known_end(e) for e in ends)
    return True


def known_end(end):
    """Whether one end of a slice is None or a known integer."""
    return end is None or (is_concrete(end) and hasattr(end, "__index__"))


# ---- traced integers ----------------------------------------------------------------------------


def dynamic_slice(x, items, wrap):
    """x[items] by `dynamic_slice`, or None if it takes more than integers and plain slices."""
    shape, plan = x.shape, SlicePlan()
    for item in items:
        if item.kind == MASK or (item.kind == ARRAY and not is_scalar_index(item.value)):
            return None
        if item.kind == SLICE and not unit_slice(item.value):
            return None
        if item.kind in (INT, ARRAY) and shape[item.axes[0]] == 0:
            return None
    for item in expand_ellipsis(items, shape):
        if item.kind == NEW:
            plan.new_axis()
            continue
        axis = item.axes[0]
        if item.kind == SLICE:
            start, stop, step = item.value.indices(shape[axis])
            plan.trivial = plan.trivial and item.value == slice(None)
            if step < 0:
                plan.cut(stop + 1, max(0, start - stop))
                plan.rev.append(axis)
            else:
                plan.cut(start, max(0, stop - start))
        else:
            plan.trivial = False
            plan.cut(asarray(item.value), 1)
            plan.squeezed.append(axis)
    if not plan.trivial:
        starts = plan.starts
        if len(starts) > 1:
            starts = [lax.convert_element_type(i, index_dtype(shape)) for i in starts]
        x = lax.dynamic_slice(x, starts, plan.sizes, allow_negative_indices=wrap)
    return plan.finish(x)


def is_scalar_index(value):
    """Whether an index array is one integer."""
    return not isinstance(value, Sequence) and np.shape(value) == ()


def unit_slice(s):
    """Whether a slice has known ends and takes every element."""
    if not all(map(known_end, (s.start, s.stop, s.step))):
        return False
    return s.step is None or operator.index(s.step) in (-1, 1)


def index_dtype(shape):
    """The dtype of indices into a shape."""
    return np.dtype(np.int32 if max(shape, default=0) < 2**31 else np.int64)


# ---- index arrays -------------------------------------------------------------------------------


def expand_masks(items, shape):
    """Boolean masks as index arrays: the places where they are true."""
    out = []
    for position, item in enumerate(items):
        if item.kind != MASK:
            out.append(item)
            continue
        if not is_concrete(item.value):
            raise errors.NonConcreteBooleanIndexError(
                f"Array boolean indices must be concrete; got {item.value.aval.str_short()}.\n"
                "The shape of x[mask] depends on the values of the mask, which are not known "
                "while a function is traced. Write jnp.where(mask, x, y), or x[mask] with a mask "
                "made outside; jnp.nonzero(mask, size=n) gives a fixed number of indices."
            )
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
            raise IndexError(
                f"Slice entries must be static integers. Got {item.value} at position {position}.\n"
                "Where a slice begins may be traced with lax.dynamic_slice(x, start, size) and "
                "x.at, but its size must be known."
            )
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
            (position, item)
            for position, item in enumerate(items)
            if item.kind in (ARRAY, INT)
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


# ---- x[...] -------------------------------------------------------------------------------------


def take_index(x, index, *, indices_are_sorted=False, unique_indices=False, mode=None,
               fill_value=None, wrap=True):  # fmt: skip
    """x[index], and x.at[index].get(...).

    wrap: negative indices count from the end. Other arguments as of lax.gather.
    """
    items = parse_index(index, x.shape)
    parsed = None if mode is None else lax.GatherScatterMode.from_any(mode)
    in_bounds = parsed in (None, lax.GatherScatterMode.PROMISE_IN_BOUNDS)
    if in_bounds or parsed == lax.GatherScatterMode.CLIP:
        out = static_slice(x, items, in_bounds, wrap)
        if out is None:
            out = dynamic_slice(x, items, wrap)
        if out is not None:
            return out
    plan = gather_plan(expand_masks(items, x.shape), x.shape, wrap)
    if fill_value is not None:
        concrete_or_error(None, fill_value, "fill_value argument to indexed get()")
        if np.ndim(fill_value):
            raise ValueError("fill_value argument to indexed get() must be a scalar")
        fill_value = np.asarray(fill_value).item() if np.shape(fill_value) == () else fill_value
    if plan.scalar_masks:
        x = lax.expand_dims(x, plan.scalar_masks)
    if 0 in plan.shape:
        return lax.full_like(x, 0, shape=plan.shape)
    if plan.indices.size:
        x = lax.gather(
            x,
            plan.indices,
            lax.GatherDimensionNumbers(
                offset_dims=plan.offset_dims,
                collapsed_slice_dims=plan.collapsed,
                start_index_map=plan.start_map,
            ),
            plan.slice_sizes,
            indices_are_sorted=indices_are_sorted or plan.regular,
            unique_indices=unique_indices or plan.regular,
            mode=mode,
            fill_value=fill_value,
        )
    x = lax.rev(x, plan.rev) if plan.rev else x
    return lax.expand_dims(x, plan.new) if plan.new else x
