"""Slices at places that are computed: dynamic_slice, dynamic_update_slice; slices along one axis.

A start is moved until the slice fits, so nothing is read or written outside the operand.
"""

import operator

import numpy as np

from tinyjax.array import Array, lift
from tinyjax.avals import ShapedArray, Value
from tinyjax.core import Primitive, Undef, Zero, nonzero
from tinyjax.primitives.arithmetic import add, const, lt, ne
from tinyjax.primitives.gather_scatter import gather, gather_p, scatter_p
from tinyjax.primitives.linear import (
    broadcast,
    broadcast_in_dim,
    canonicalize_axis,
    canonicalize_shape,
    convert,
    expand_dims,
    full,
    instantiate,
    squeeze,
    zeros,
)
from tinyjax.primitives.order import rem
from tinyjax.primitives.selection import select
from tinyjax.primitives.shaping import check_same_dtypes, concatenate, slice, slice_object
from tinyjax.primitives.windows import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)

# ---- cards --------------------------------------------------------------------------------------


def window(shape, starts, sizes):
    """Python slices for a window, its starts moved so that it fits."""
    starts = [min(max(int(s), 0), n - size) for s, n, size in zip(starts, shape, sizes)]
    return tuple(slice_object(s, s + size) for s, size in zip(starts, sizes))


def check_starts(name, starts, rank):
    """Raise TypeError unless there is one scalar integer per axis, all of one dtype."""
    if any(s.shape for s in starts):
        raise TypeError(
            f"start_indices arguments to {name} must be scalars, got indices {tuple(starts)}"
        )
    if len(starts) != rank:
        raise TypeError(
            f"{name} start_indices must have length equal to the rank of operand, got "
            f"{len(starts)} indices for rank {rank}."
        )
    if any(s.dtype != starts[0].dtype or s.dtype.kind not in "iu" for s in starts):
        names = ", ".join(s.dtype.name for s in starts)
        raise TypeError(
            f"index arguments to {name} must be integers of the same type, got: {names}"
        )


def stacked_starts(axis, starts, dims):
    """Scalar starts as one index array for gather and scatter -> array, batch dimension."""
    if not starts:
        return np.zeros(0, np.int32), None
    if all(d is None for d in dims):
        return concatenate([broadcast(s, (1,)) for s in starts], 0), None
    columns = [
        broadcast_in_dim(s, (axis.size, 1), () if d is None else (0,)) for s, d in zip(starts, dims)
    ]
    return concatenate(columns, 1), 0


class DynamicSlice(Primitive):
    """dynamic_slice[slice_sizes] x *starts: a window of x; starts move until it fits."""

    def impl(self, x, *starts, slice_sizes):
        return x[window(x.shape, starts, slice_sizes)]

    def type(self, x, *starts, slice_sizes):
        if len(slice_sizes) != len(x.shape) or any(n > m for n, m in zip(slice_sizes, x.shape)):
            raise TypeError(
                "slice slice_sizes must be less than or equal to operand shape, got slice_sizes "
                f"{slice_sizes} for operand shape {x.shape}."
            )
        check_starts("dynamic_slice", starts, len(x.shape))
        return ShapedArray(slice_sizes, x.dtype, x.weak_type)

    def weak_result(self, args, params):
        return args[0].weak_type

    def linearize(self, nz, x, *starts, slice_sizes):
        out = self.bind(x, *starts, slice_sizes=slice_sizes)

        def push(t, *_):
            if not nonzero(t):
                return Zero(out.aval)
            return self.bind(t, *starts, slice_sizes=slice_sizes)

        return out, push

    def jvp(self, primals, tangents, *, slice_sizes):
        """JAX slices the tangent first; the order shows when the program is printed."""
        (x, *starts), t = primals, tangents[0]
        if nonzero(t):
            t = self.bind(t, *starts, slice_sizes=slice_sizes)
        out = self.bind(x, *starts, slice_sizes=slice_sizes)
        return out, t if nonzero(t) else Zero(out.aval)

    def transpose(self, ct, x, *starts, slice_sizes):
        zero = full(x.aval.shape, 0, x.aval.dtype)
        return [dynamic_update_slice_p.bind(zero, ct, *starts)] + [None] * len(starts)

    def batch(self, axis, vals, dims, /, *, slice_sizes):
        index, index_dim = stacked_starts(axis, vals[1:], dims[1:])
        axes = tuple(range(len(slice_sizes)))
        return gather_p.batch(
            axis,
            [vals[0], lift(index)],
            [dims[0], index_dim],
            dimension_numbers=GatherDimensionNumbers(axes, (), axes),
            slice_sizes=slice_sizes,
            unique_indices=True,
            indices_are_sorted=True,
            mode=GatherScatterMode.CLIP,
            fill_value=None,
        )


class DynamicUpdateSlice(Primitive):
    """dynamic_update_slice x update *starts: x with a window replaced."""

    def impl(self, x, update, *starts):
        out = np.array(x)
        out[window(x.shape, starts, update.shape)] = update
        return out

    def type(self, x, update, *starts):
        if len(x.shape) != len(update.shape):
            raise TypeError(
                "dynamic_update_slice update must have the same rank as operand, got update "
                f"shape {update.shape} for operand shape {x.shape}."
            )
        if any(n > m for n, m in zip(update.shape, x.shape)):
            raise TypeError(
                "dynamic_update_slice update shape must be smaller than operand shape, got "
                f"update shape {update.shape} for operand shape {x.shape}."
            )
        check_starts("dynamic_update_slice", starts, len(x.shape))
        check_same_dtypes("dynamic_update_slice", (x, update))
        weak = all(a.weak_type for a in (x, update, *starts))
        return ShapedArray(x.shape, x.dtype, weak)

    def linearize(self, nz, x, update, *starts):
        out = self.bind(x, update, *starts)

        def push(x_t, update_t, *_):
            if not nonzero(x_t) and not nonzero(update_t):
                return Zero(out.aval)
            return self.bind(instantiate(x_t), instantiate(update_t), *starts)

        return out, push

    def transpose(self, ct, x, update, *starts):
        x_ct = update_ct = None
        zero = full(update.shape, 0, ct.dtype)
        if isinstance(x, Undef):
            x_ct = self.bind(ct, zero, *starts)
        if isinstance(update, Undef):
            update_ct = dynamic_slice_p.bind(ct, *starts, slice_sizes=update.shape)
        return [x_ct, update_ct] + [None] * len(starts)

    def batch(self, axis, vals, dims, /):
        index, index_dim = stacked_starts(axis, vals[2:], dims[2:])
        axes = tuple(range(len(vals[2:])))
        return scatter_p.batch(
            axis,
            [vals[0], lift(index), vals[1]],
            [dims[0], index_dim, dims[1]],
            dimension_numbers=ScatterDimensionNumbers(axes, (), axes),
            indices_are_sorted=True,
            unique_indices=True,
            mode=GatherScatterMode.CLIP,
            update_jaxpr=None,
            update_consts=(),
        )


dynamic_slice_p = DynamicSlice("dynamic_slice")
dynamic_update_slice_p = DynamicUpdateSlice("dynamic_update_slice")


# ---- slices of all axes -------------------------------------------------------------------------


def wrap_start(start, size, negative):
    """A start index as a scalar; if `negative`, those below zero count from the end."""
    if isinstance(start, (int, np.integer)) and not isinstance(start, (bool, np.bool_)):
        if start < 0 and not negative:
            raise ValueError(
                f"Index {start} is out of bounds for dimension {size} if "
                "allow_negative_indices=False"
            )
        dtype = lift(start).dtype
        return lift(np.asarray(start + size if start < 0 else start, dtype))
    start = lift(start)
    if not negative or start.dtype.kind != "i" or start.shape:
        return start
    below = lt(start, const(start, 0))
    return select(below, add(convert(start, start.dtype), const(start, size)), start)


def wrap_starts(operand, starts, negative):
    """Start indices given as a sequence or a vector -> list of scalars."""
    if isinstance(starts, (Value, np.ndarray)):
        if starts.ndim != 1:
            raise ValueError(f"Slice indices must be a 1D sequence, got {starts.shape}")
        if isinstance(starts, Value):
            starts = [squeeze(slice(starts, (i,), (i + 1,)), (0,)) for i in range(starts.size)]
    if len(starts) != operand.ndim:
        raise ValueError(
            f"Length of slice indices must match number of operand dimensions ({len(starts)} vs "
            f"{operand.shape})"
        )
    if isinstance(negative, bool):
        negative = [negative] * operand.ndim
    return [wrap_start(s, n, neg) for s, n, neg in zip(starts, operand.shape, negative)]


def dynamic_slice(operand, start_indices, slice_sizes, *, allow_negative_indices=True):
    """Cut out a window whose place is computed.

    Args:
      operand: array.
      start_indices: one integer scalar per axis, or a vector of them.
      slice_sizes: the window's size along each axis, known while tracing.
      allow_negative_indices: whether negative starts count from the end (one bool, or one per
        axis).

    A start is moved, if need be, until the window fits. Raises TypeError or ValueError when the
    arguments do not fit.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.dynamic_slice(jnp.arange(5), (4,), (3,))
    Array([2, 3, 4], dtype=int32)
    """
    operand = lift(operand)
    starts = wrap_starts(operand, start_indices, allow_negative_indices)
    sizes = canonicalize_shape(slice_sizes, "slice_sizes")
    dynamic_slice_p.type(operand.aval, *[s.aval for s in starts], slice_sizes=sizes)
    return dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)


def dynamic_update_slice(operand, update, start_indices, *, allow_negative_indices=True):
    """Replace a window whose place is computed.

    Args:
      operand: array.
      update: the window's new values, an array of the operand's rank and dtype.
      start_indices: one integer scalar per axis, or a vector of them.
      allow_negative_indices: whether negative starts count from the end (one bool, or one per
        axis).

    A start is moved, if need be, until the window fits. Returns a new array. Raises TypeError or
    ValueError when the arguments do not fit.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.dynamic_update_slice(jnp.arange(5), jnp.array([7, 8]), (1,))
    Array([0, 7, 8, 3, 4], dtype=int32)
    """
    operand, update = lift(operand), lift(update)
    starts = wrap_starts(operand, start_indices, allow_negative_indices)
    dynamic_update_slice_p.type(operand.aval, update.aval, *[s.aval for s in starts])
    return dynamic_update_slice_p.bind(operand, update, *starts)


# ---- slices along one axis ----------------------------------------------------------------------


def slice_in_dim(operand, start_index, limit_index, stride=1, axis=0):
    """operand[start:limit:stride] along one axis; bounds may be None or negative.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.slice_in_dim(jnp.arange(5), 1, -1)
    Array([1, 2, 3], dtype=int32)
    """
    operand, axis = lift(operand), int(axis)
    size = operand.shape[axis]
    start = 0 if start_index is None else operator.index(start_index)
    limit = size if limit_index is None else operator.index(limit_index)
    starts, limits, strides = [0] * operand.ndim, list(operand.shape), [1] * operand.ndim
    starts[axis] = start + size if start < 0 else start
    limits[axis] = limit + size if limit < 0 else limit
    strides[axis] = operator.index(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand, index, axis=0, keepdims=True):
    """The elements at one index along one axis; the axis stays, with size 1, if keepdims.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.index_in_dim(jnp.arange(5), -1, keepdims=False)
    Array(4, dtype=int32)
    """
    operand, index, axis = lift(operand), operator.index(index), int(axis)
    size = operand.shape[axis]
    wrapped = index + size if index < 0 else index
    if not 0 <= wrapped < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    result = slice_in_dim(operand, wrapped, wrapped + 1, 1, axis)
    return result if keepdims else squeeze(result, (axis,))


def one_start(operand, start_index, axis, negative):
    """Starts that are 0 except along one axis, and where negative ones may be."""
    zero = Array(np.zeros((), lift(start_index).dtype), literal=True)
    starts, allowed = [zero] * operand.ndim, [False] * operand.ndim
    starts[axis], allowed[axis] = start_index, negative
    return starts, allowed


def dynamic_slice_in_dim(operand, start_index, slice_size, axis=0, *, allow_negative_indices=True):
    """slice_size elements along one axis, from a start that is computed (and moved to fit).

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.dynamic_slice_in_dim(jnp.arange(5), jnp.array(3), 3)
    Array([2, 3, 4], dtype=int32)
    """
    operand, axis = lift(operand), int(axis)
    starts, allowed = one_start(operand, start_index, axis, allow_negative_indices)
    sizes = list(operand.shape)
    sizes[axis] = operator.index(slice_size)
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allowed)


def dynamic_index_in_dim(operand, index, axis=0, keepdims=True, *, allow_negative_indices=True):
    """The elements at one computed index along one axis.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.dynamic_index_in_dim(jnp.arange(5), jnp.array(-1), keepdims=False)
    Array(4, dtype=int32)
    """
    negative = allow_negative_indices
    result = dynamic_slice_in_dim(operand, index, 1, axis, allow_negative_indices=negative)
    return result if keepdims else squeeze(result, (int(axis),))


def dynamic_update_slice_in_dim(operand, update, start_index, axis, *, allow_negative_indices=True):
    """Replace elements along one axis, from a start that is computed (and moved to fit).

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.dynamic_update_slice_in_dim(jnp.arange(5), jnp.array([7, 8]), 4, axis=0)
    Array([0, 1, 2, 7, 8], dtype=int32)
    """
    operand, axis = lift(operand), int(axis)
    starts, allowed = one_start(operand, start_index, axis, allow_negative_indices)
    return dynamic_update_slice(operand, update, starts, allow_negative_indices=allowed)


def dynamic_update_index_in_dim(operand, update, index, axis, *, allow_negative_indices=True):
    """Replace the elements at one computed index along one axis; update may lack that axis.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.dynamic_update_index_in_dim(jnp.arange(5), 9, jnp.array(1), axis=0)
    Array([0, 9, 2, 3, 4], dtype=int32)
    """
    operand, update, axis = lift(operand), lift(update), int(axis)
    if update.ndim != operand.ndim:
        if update.ndim + 1 != operand.ndim:
            raise TypeError(
                "dynamic_update_index_in_dim update must have the operand's rank, or one axis "
                f"less, got update shape {update.shape} for operand shape {operand.shape}."
            )
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


def index_take(src, idxs, axes):
    """src at vectors of indices, one for each of some axes (modulo their sizes).

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.index_take(jnp.array([5, 6, 7]), [jnp.array([2, -3])], (0,))
    Array([7, 5], dtype=int32)
    """
    src = lift(src)
    axes = tuple(canonicalize_axis(a, src.ndim) for a in axes)
    indices = concatenate([expand_dims(lift(i), (1,)) for i in idxs], 1)
    sizes = np.broadcast_to(np.array([src.shape[a] for a in axes], indices.dtype), indices.shape)
    sizes, nil = lift(sizes), zeros(indices.aval)
    below = rem(indices, sizes)
    wrong = ne(lt(below, nil), lt(sizes, nil))
    indices = select(wrong, add(below, sizes), below)
    window_sizes = [1 if d in axes else n for d, n in enumerate(src.shape)]
    offsets = tuple(range(1, src.ndim - len(axes) + 1))
    return gather(src, indices, GatherDimensionNumbers(offsets, axes, axes), window_sizes)
