"""Where a gather reads and a scatter writes: dimension numbers, modes, and their arithmetic.

A gather cuts windows of one size out of an operand. `indices` holds in its last axis the place
where each window starts; its other axes, the batch axes, say how many windows there are. The
result has the batch axes and the windows' axes. A scatter writes windows to such places instead.
"""

import enum
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tinyjax import dtypes

# ---- dimension numbers and modes ----------------------------------------------------------------


class GatherDimensionNumbers(NamedTuple):
    """How the axes of a gather's operand, indices and result correspond.

    offset_dims: axes of the result that run over a window.
    collapsed_slice_dims: axes of the operand that are no axes of the window (its size there is 1).
    start_index_map: the axis of the operand to which each number of a start index refers.
    operand_batching_dims, start_indices_batching_dims: axes that the operand and the indices
      share: each index looks only at its own element of the operand there.
    """

    offset_dims: tuple
    collapsed_slice_dims: tuple
    start_index_map: tuple
    operand_batching_dims: tuple = ()
    start_indices_batching_dims: tuple = ()


class ScatterDimensionNumbers(NamedTuple):
    """How the axes of a scatter's operand, indices and updates correspond.

    The fields mirror those of GatherDimensionNumbers, with updates in the place of the result.
    """

    update_window_dims: tuple
    inserted_window_dims: tuple
    scatter_dims_to_operand_dims: tuple
    operand_batching_dims: tuple = ()
    scatter_indices_batching_dims: tuple = ()


class GatherScatterMode(enum.Enum):
    """What happens to a window that is not inside the operand.

    CLIP: it is moved until it fits.   FILL_OR_DROP: read as a constant; not written.
    PROMISE_IN_BOUNDS: the caller promises that there is none (reads clip, writes drop).
    """

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3

    @staticmethod
    def from_any(s):
        """A mode, or its name: 'clip', 'fill', 'drop' (also None), 'promise_in_bounds'."""
        if isinstance(s, GatherScatterMode):
            return s
        if s not in MODES:
            names = ", ".join(repr(name) for name in MODES if name)
            raise ValueError(f'Unknown gather mode "{s}": choose one of {names}')
        return MODES[s]


MODES = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
}


def default_fill(dtype):
    """What a gather reads outside the operand in mode 'fill'."""
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return int(info.min if dtype.kind == "i" else info.max)
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    return int(np.iinfo(np.uint32).max)


def canonical(numbers):
    """Dimension numbers with tuples of ints inside."""
    return type(numbers)(*[tuple(int(d) for d in dims) for dims in numbers])


def shifted(numbers, window=(), operand_batching=(), indices_batching=(), operand=0, indices=0):
    """Dimension numbers for a batch: new axes in front, the old ones shifted.

    operand, indices: by how much the axes of the operand and of the indices move. The axes of
    the windows always move by one, since the result has the new axis too.
    """
    windows, dropped, index_map, operand_axes, indices_axes = numbers
    return type(numbers)(
        (*window, *[d + 1 for d in windows]),
        tuple(d + operand for d in dropped),
        tuple(d + operand for d in index_map),
        (*operand_batching, *[d + operand for d in operand_axes]),
        (*indices_batching, *[d + indices for d in indices_axes]),
    )


# ---- checks -------------------------------------------------------------------------------------


def check_dims(op, name, dims, rank, ordered=True):
    """Axes must be distinct, in range and, if ordered, ascending."""
    if ordered and list(dims) != sorted(dims):
        raise TypeError(f"{name} in {op} op must be sorted; got {dims}")
    for d in dims:
        if not 0 <= d < rank:
            raise TypeError(f"Invalid {name} set in {op} op; valid range is [0, {rank}); got: {d}.")
    if len(set(dims)) != len(dims):
        raise TypeError(f"{name} in {op} op must not repeat; got: {dims}.")


def check_numbers(op, operand, indices, numbers):
    """Raise unless the dimension numbers fit the operand and the indices."""
    if indices.dtype.kind not in "iu":
        raise ValueError("indices must have an integer type")
    if not indices.shape:
        raise TypeError(
            f"{op.capitalize()} indices need at least one axis: the last one holds the index."
        )
    windows, dropped, index_map, operand_batching, indices_batching = numbers
    names, rank, batch_rank = numbers._fields, len(operand.shape), len(indices.shape) - 1
    check_dims(op, names[0], windows, len(windows) + batch_rank)
    if len(index_map) != indices.shape[-1]:
        raise TypeError(
            f"{op.capitalize()} op has {len(index_map)} elements in {names[2]} and the bound of "
            f"dimension index_vector_dim={batch_rank} of indices is {indices.shape[-1]}. These "
            "two numbers must be equal."
        )
    check_dims(op, names[2], index_map, rank, ordered=False)
    check_dims(op, names[1], dropped, rank)
    check_dims(op, names[3], operand_batching, rank)
    check_dims(op, names[4], indices_batching, batch_rank, ordered=False)
    for name, dims in ((names[1], dropped), (names[2], index_map)):
        if set(dims) & set(operand_batching):
            raise TypeError(
                f"{name} and operand_batching_dims in {op} op must be disjoint; got: {dims} and "
                f"{operand_batching}."
            )
    if len(operand_batching) != len(indices_batching):
        raise TypeError(
            f"{op.capitalize()} op requires equal numbers of operand_batching_dims and {names[4]}, "
            f"got {operand_batching} and {indices_batching}."
        )
    shared = tuple(operand.shape[d] for d in operand_batching)
    shared_indices = tuple(indices.shape[d] for d in indices_batching)
    if shared != shared_indices:
        raise TypeError(
            f"{op.capitalize()} op requires operand batching dimensions and indices batching "
            f"dimensions to have the same shape, got {shared} and {shared_indices}."
        )
    covered = len(windows) + len(dropped) + len(operand_batching)
    if covered != rank:
        raise TypeError(
            f"{op.capitalize()} op has window of size {covered}; doesn't match operand of rank "
            f"{rank}: every axis of the operand must be an axis of the window, or in {names[1]}, "
            "or in operand_batching_dims."
        )


@lru_cache(maxsize=4096)
def gather_shape(operand, indices, numbers, sizes):
    """The shape of a gather's result; raises TypeError when the arguments do not fit."""
    check_numbers("gather", operand, indices, numbers)
    if len(operand.shape) != len(sizes):
        raise TypeError(
            "Gather op must have one slice size for every input dimension; got: "
            f"len(slice_sizes)={len(sizes)}, input_shape.rank={len(operand.shape)}"
        )
    for i, (size, n) in enumerate(zip(sizes, operand.shape)):
        if 0 not in indices.shape and not 0 <= size <= n:
            raise TypeError(
                f"Slice size at index {i} in gather op is out of range, must be within "
                f"[0, {n} + 1), got {size}."
            )
        if i in numbers.collapsed_slice_dims and size != 1:
            raise TypeError(
                f"Gather op can only collapse slice dims with bound 1, but bound is {size} for "
                f"index {i}."
            )
        if i in numbers.operand_batching_dims and size > 1:
            raise TypeError(
                "Gather op can only have operand batching dims with bound 0/1, but bound is "
                f"{size} for index {i}."
            )
    dropped = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    window = [n for d, n in enumerate(sizes) if d not in dropped]
    return interleave(indices.shape[:-1], window, numbers.offset_dims)


@lru_cache(maxsize=4096)
def check_updates(operand, indices, updates, numbers):
    """Raise TypeError unless a scatter's updates fit."""
    check_numbers("scatter", operand, indices, numbers)
    windows, batch = numbers.update_window_dims, indices.shape[:-1]
    if len(updates.shape) != len(batch) + len(windows):
        raise TypeError(
            f"Updates tensor must be of rank {len(batch) + len(windows)}; got {len(updates.shape)}."
        )
    dropped = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    bounds = [n for d, n in enumerate(operand.shape) if d not in dropped]
    for d, bound in zip(windows, bounds):
        if updates.shape[d] > bound:
            raise TypeError(
                "Bounds of the window dimensions of updates must not exceed the bounds of the "
                f"corresponding dimensions of operand. For dimension {d}, updates bound is "
                f"{updates.shape[d]}, operand bound is {bound}."
            )
    places = [d for d in range(len(updates.shape)) if d not in windows]
    for d, size in zip(places, batch):
        if updates.shape[d] != size:
            raise TypeError(
                "Bounds of the scatter dimensions of updates must be the same as the bounds of the "
                f"corresponding dimensions of scatter indices. For scatter dimension {d}, updates "
                f"bound is {updates.shape[d]}, indices bound is {size}."
            )


def interleave(batch, window, window_dims):
    """One tuple out of two: window's items at window_dims, batch's at the other places."""
    rank = len(batch) + len(window)
    batch, window = iter(batch), iter(window)
    return tuple(next(window if i in window_dims else batch) for i in range(rank))


def window_sizes(shape, updates_shape, numbers):
    """The size of a scatter's windows along every axis of the operand."""
    dropped = (*numbers[1], *numbers.operand_batching_dims)
    sizes = iter([updates_shape[d] for d in numbers[0]])
    return tuple(1 if d in dropped else next(sizes) for d in range(len(shape)))


# ---- arithmetic ---------------------------------------------------------------------------------


def clamp_starts(shape, indices, numbers, sizes):
    """-> starts moved so that their windows fit, and a mask of those that fitted already."""
    if indices.dtype == np.uint64:  # the only ones that int64 cannot hold
        indices = np.minimum(indices, np.uint64(np.iinfo(np.int64).max))
    wide = np.int64 if indices.dtype.itemsize == 8 or indices.dtype == np.uint32 else np.int32
    indices = indices.astype(wide, copy=False)
    last = np.array([max(shape[d] - sizes[d], 0) for d in numbers[2]], wide)
    starts = np.minimum(np.maximum(indices, wide(0)), last)
    return starts, (starts == indices).all(axis=-1)


class Addresses:
    """Every element of every window, as one index array per axis of the operand.

    Axes that windows span completely need no array. NumPy's indexing with these arrays picks,
    from the operand with its axes in the order `perm`: batch axes, other axes of the window, those
    spanned.
    """

    def __init__(self, shape, starts, numbers, sizes):
        windows, dropped, index_map, operand_batching, indices_batching = numbers
        self.shape, self.windows, self.batch_shape = shape, windows, starts.shape[:-1]
        gone = {*dropped, *operand_batching}
        indexed = [d for d in range(len(shape)) if d in gone or sizes[d] != shape[d]]
        self.spanned = [d for d in range(len(shape)) if d not in indexed]
        moving = [d for d in indexed if d not in gone]
        self.perm, self.window_axes = indexed + self.spanned, moving + self.spanned
        self.full = self.batch_shape + tuple(sizes[d] for d in moving)
        self.arrays = []
        for d in indexed:
            if d in index_map:
                place = starts[..., index_map.index(d)]
            elif d in operand_batching:
                axis = indices_batching[operand_batching.index(d)]
                place = along(np.arange(shape[d]), axis, len(self.batch_shape))
            else:
                place = np.zeros((1,) * len(self.batch_shape), np.int64)
            if moving:
                place = place.reshape(place.shape + (1,) * len(moving))
            if d in moving:
                place = place + along(np.arange(sizes[d]), moving.index(d), len(moving))
            self.arrays.append(place)
        if not any(d in index_map for d in indexed):  # nothing has all the batch axes
            self.arrays = [np.broadcast_to(a, self.full) for a in self.arrays]

    def read(self, operand):
        """What NumPy picks: all windows."""
        if not self.arrays:
            return np.broadcast_to(operand, self.full + operand.shape)
        return operand.transpose(self.perm)[tuple(self.arrays)]

    def places(self):
        """Where the elements of `read` stand in the flat operand."""
        strides = [int(np.prod(self.shape[d + 1 :], dtype=np.int64)) for d in self.perm]
        out = np.zeros((1,) * len(self.full), np.int64)
        for place, stride in zip(self.arrays, strides):
            out = out + (place if stride == 1 else place * np.int64(stride))
        out = np.broadcast_to(out, self.full)
        for d, stride in zip(self.spanned, strides[len(self.arrays) :]):
            out = out[..., None] + np.arange(self.shape[d]) * stride
        return out

    def order(self):
        """The axes of what NumPy picks, in the order of the result's."""
        n = len(self.batch_shape)
        window = [n + self.window_axes.index(d) for d in sorted(self.window_axes)]
        return interleave(range(n), window, self.windows)


def along(line, axis, rank):
    """A vector as an array of a rank, along one axis."""
    return line.reshape([-1 if i == axis else 1 for i in range(rank)])


def read_windows(operand, indices, numbers, sizes, fill=None):
    """The windows of a gather; those outside read as `fill`, or are moved inside if it is None."""
    window = [n for d, n in enumerate(sizes) if d not in (*numbers[1], *numbers[3])]
    shape = interleave(indices.shape[:-1], window, numbers[0])
    if 0 in shape:
        return np.zeros(shape, operand.dtype)
    starts, inside = clamp_starts(operand.shape, indices, numbers, sizes)
    where = Addresses(operand.shape, starts, numbers, sizes)
    out = where.read(operand).transpose(where.order())
    if fill is None or inside.all():
        return out
    mask = np.expand_dims(inside, numbers[0])
    return np.where(mask, out, np.asarray(fill).astype(operand.dtype))


def write_windows(combine, operand, indices, updates, numbers, clip):
    """A copy of the operand with updates written to windows of it, in the updates' order.

    combine(elements, places, values) does so, on flat arrays; None: values replace elements.
    clip: windows outside are moved inside; otherwise they are dropped.
    """
    out = np.array(operand, order="C")
    if updates.size == 0 or out.size == 0:
        return out
    sizes = window_sizes(operand.shape, updates.shape, numbers)
    starts, inside = clamp_starts(operand.shape, indices, numbers, sizes)
    where = Addresses(operand.shape, starts, numbers, sizes)
    values = updates.transpose(np.argsort(where.order()))
    chosen = ... if clip or inside.all() else inside
    if combine is None and where.arrays:
        arrays = [a[chosen] for a in np.broadcast_arrays(*where.arrays)]
        out.transpose(where.perm)[tuple(arrays)] = values[chosen]
        return out
    elements, places = out.reshape(-1), where.places()
    (combine or replace)(elements, places[chosen].ravel(), values[chosen].ravel())
    return out


def replace(elements, places, values):
    """Later values win, as on XLA's CPU."""
    elements[places] = values
