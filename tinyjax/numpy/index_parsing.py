"""What an index means: a list of items, one per entry."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax import dtypes
from tinyjax.avals import Value
from tinyjax.numpy.checks import is_concrete
from tinyjax.numpy.creation import asarray

# ---- parsing ------------------------------------------------------------------------------------

TO_INTEGERS = "Write x[int(i)] or x[i.astype(int)]; n // 2 is an integer where n / 2 is not."
NEW, SLICE, ELLIPSIS, INT, MASK, ARRAY = "None", "slice", "...", "int", "mask", "array"


class Slice(NamedTuple):
    """A slice whose start may be traced and whose size is known: what jax.ds makes."""

    start: Any
    size: int
    stride: int = 1


class Item(NamedTuple):
    """One entry of an index: its kind, its value, and the axes of x that it consumes."""

    kind: str
    value: Any
    axes: tuple[int, ...]


def parse_index(index, shape):
    """An index as a list of Items."""
    alone = isinstance(index, Slice) or not isinstance(index, tuple)
    entries = (index,) if alone else index
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
    if isinstance(entry, (slice, Slice)):
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
            f"{np.dtype(type(entry))}. {TO_INTEGERS}"
        )
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and integer or boolean "
        f"arrays are valid indices. Got {entry}"
    )


def array_kind(dtype):
    """MASK for booleans, ARRAY for integers."""
    if dtype.kind == "b":
        return MASK
    if dtypes.issubdtype(dtype, np.integer):
        return ARRAY
    raise TypeError(
        f"Indexer must have integer or boolean type, got indexer with type {dtype}. {TO_INTEGERS}"
    )


def expand_ellipsis(items, shape):
    """Full slices for the ellipsis and for the axes that are left at the end."""
    out, last = [], 0
    for item in items:
        full = [Item(SLICE, slice(None), (d,)) for d in item.axes]
        out += full if item.kind == ELLIPSIS else [item]
        last += len(item.axes)
    return out + [Item(SLICE, slice(None), (d,)) for d in range(last, len(shape))]


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


def index_dtype(shape):
    """The dtype of indices into a shape."""
    return np.dtype(np.int32 if max(shape, default=0) < 2**31 else np.int64)
