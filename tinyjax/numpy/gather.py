"""Taking and putting by index arrays: take, take_along_axis, put, put_along_axis, place."""

import operator

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import Array
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.checks import check_out, ensure_arraylike
from tinyjax.numpy.promotion import const
from tinyjax.numpy.selection import _where
from tinyjax.primitives.linear import canonicalize_axis
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import subprogram

# ---- take ---------------------------------------------------------------------------------------


@recorded
def take(a, indices, axis=None, out=None, mode=None, unique_indices=False,
         indices_are_sorted=False, fill_value=None):  # fmt: skip
    """Elements of an array, or slices along an axis, by their indices.

    Args:
      a: array.
      indices: integers.
      axis: along which to take; by default from the flat array.
      mode: what happens to indices out of bounds: "fill" (the default) gives fill_value, "clip"
        takes the last element, "wrap" counts on from the other end.
      unique_indices, indices_are_sorted: promises, without effect on the result.
      fill_value: nan by default, the smallest of integers, the largest of unsigned ones.

    >>> import tinyjax.numpy as jnp
    >>> jnp.take(jnp.array([10.0, 20.0, 30.0]), jnp.array([2, 5]))
    Array([30., nan], dtype=float32)
    """
    axis = None if axis is None else operator.index(axis)
    return _take(a, indices, axis, out, mode, unique_indices=unique_indices,
                 indices_are_sorted=indices_are_sorted, fill_value=fill_value)  # fmt: skip


@subprogram(static_argnames=("axis", "mode", "unique_indices", "indices_are_sorted", "fill_value"))
def _take(a, indices, axis=None, out=None, mode=None, unique_indices=False,
          indices_are_sorted=False, fill_value=None):  # fmt: skip
    """take with its settings known."""
    check_out("take", out)
    a, indices = ensure_arraylike("take", a, indices)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = canonicalize_axis(axis, a.ndim)
    size = a.shape[axis]
    if mode is None or mode == "fill":
        gather_mode = lax.GatherScatterMode.FILL_OR_DROP
        indices = _where(indices < 0, indices + size, indices)
    elif mode == "wrap":
        gather_mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
        indices = indices % const(indices, size)
    elif mode == "clip":
        gather_mode = lax.GatherScatterMode.CLIP
    elif mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.take is not supported.")
    else:
        raise ValueError(f"Invalid mode '{mode}' for np.take")
    if size == 0:
        if indices.size:
            raise IndexError("Cannot do a non-empty jnp.take() from an empty axis.")
        return a
    shape = list(a.shape)
    if indices.size == 0:
        return lax.full_like(a, 0, shape=(*shape[:axis], *indices.shape, *shape[axis + 1 :]))
    shape[axis] = 1
    after = range(axis + indices.ndim, a.ndim + indices.ndim - 1)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(*range(axis), *after),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    return lax.gather(
        a,
        lax.expand_dims(indices, (indices.ndim,)),
        dimension_numbers=numbers,
        slice_sizes=tuple(shape),
        mode=gather_mode,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        fill_value=fill_value,
    )


@subprogram(static_argnames=("axis", "mode", "fill_value", "wrap_negative_indices"))
def take_along_axis(arr, indices, axis=-1, mode=None, fill_value=None, *,
                    wrap_negative_indices=None):  # fmt: skip
    """From every row along an axis, the elements that the same row of indices names.

    Args:
      arr: array.
      indices: integers, with as many axes; other axes broadcast.
      axis: along which to take; None takes from the flat array.
      mode, fill_value: for indices out of bounds, as of take.
      wrap_negative_indices: whether negative indices count from the end.

    >>> import tinyjax.numpy as jnp
    >>> x = jnp.array([[3.0, 1.0, 2.0]])
    >>> jnp.take_along_axis(x, jnp.argsort(x), axis=1)
    Array([[1., 2., 3.]], dtype=float32)
    """
    a, indices = ensure_arraylike("take_along_axis", arr, indices)
    if indices.dtype.kind not in "iu":
        raise TypeError(f"take_along_axis indices must be of integer type, got {indices.dtype}")
    if axis is None:
        if indices.ndim != 1:
            raise ValueError(
                f"take_along_axis indices must be 1D if axis=None, got shape {indices.shape}"
            )
        a, axis = a.ravel(), 0
    if a.ndim != indices.ndim:
        raise ValueError(
            f"indices and arr must have the same number of dimensions; {indices.ndim} vs. {a.ndim}"
        )
    axis = canonicalize_axis(axis, a.ndim)
    size = a.shape[axis]
    window = tuple(1 if d == axis else n for d, n in enumerate(a.shape))
    out_shape = lax.broadcast_shapes(indices.shape, window)
    if size == 0:
        return lax.full(out_shape, 0, a.dtype)
    wrap = mode != "promise_in_bounds" if wrap_negative_indices is None else wrap_negative_indices
    indices = lax.convert_element_type(indices, axis_index_dtype(indices.dtype, size, wrap))
    if wrap and indices.dtype.kind == "i":
        size = Array(np.asarray(size, indices.dtype), literal=True)
        indices = lax.select(indices < 0, lax.add(indices, size), indices)
    plan = along_axis_plan(axis, indices.shape, window)
    kept = [n for d, n in enumerate(out_shape) if d == axis or indices.shape[d] != 1]
    return lax.gather(
        lax.squeeze(a, plan["squeezed"]),
        lax.reshape(indices, (*kept, 1)),
        lax.GatherDimensionNumbers(**plan["numbers"]),
        tuple(plan["slice_sizes"]),
        mode="fill" if mode is None else mode,
        fill_value=fill_value,
    )


def axis_index_dtype(dtype, size, wrap):
    """A dtype that holds the indices along an axis, their own if it does."""
    limit = size - 1
    if wrap and dtype.kind == "i":
        limit = max(limit, size)
    if np.iinfo(dtype).max >= limit:
        return dtype
    return np.dtype(np.int32 if limit < 2**31 else np.int64)


def along_axis_plan(axis, index_shape, window):
    """The dimension numbers of take_along_axis.

    Axes along which the indices do not vary are slices of a (offset_dims), axes of size 1 in a
    are squeezed, and the others are batch axes of both.
    """
    offset, start, collapsed, batch, index_batch, squeezed, sizes = [], [], [], [], [], [], []
    operand_axis = index_axis = 0
    for d, n in enumerate(window):
        if d == axis:
            sizes.append(1)
            start.append(operand_axis)
            collapsed.append(operand_axis)
            operand_axis, index_axis = operand_axis + 1, index_axis + 1
        elif index_shape[d] == 1:
            offset.append(d)
            sizes.append(n)
            operand_axis += 1
        elif n == 1:
            squeezed.append(d)
            index_axis += 1
        else:
            sizes.append(1 if n else 0)
            batch.append(operand_axis)
            index_batch.append(index_axis)
            operand_axis, index_axis = operand_axis + 1, index_axis + 1
    numbers = {
        "offset_dims": tuple(offset),
        "collapsed_slice_dims": tuple(collapsed),
        "start_index_map": tuple(start),
        "operand_batching_dims": tuple(batch),
        "start_indices_batching_dims": tuple(index_batch),
    }
    return {"numbers": numbers, "slice_sizes": sizes, "squeezed": squeezed}


# ---- put ----------------------------------------------------------------------------------------

INPLACE = (
    "cannot modify arrays in-place, because JAX arrays are immutable. Pass inplace=False to "
    "instead return an updated array."
)


@subprogram(static_argnames=("axis", "inplace", "mode"))
def put_along_axis(arr, indices, values, axis, inplace=True, *, mode=None):
    """arr with values at the indices along an axis; needs inplace=False. See take_along_axis."""
    if inplace:
        raise ValueError(f"jax.numpy.put_along_axis {INPLACE}")
    arr, indices, values = ensure_arraylike("put_along_axis", arr, indices, values)
    shape, flat = arr.shape, axis is None
    if flat:
        arr, axis = arr.ravel(), 0
    if arr.ndim != indices.ndim:
        raise ValueError(
            "put_along_axis arguments 'arr' and 'indices' must have same ndim. Got "
            f"arr.ndim={arr.ndim} and indices.ndim={indices.ndim}."
        )
    try:
        values = lax.broadcast_to(values, indices.shape)
    except ValueError:
        raise ValueError(
            "put_along_axis argument 'values' must be broadcastable to 'indices'. Got "
            f"values.shape={values.shape} and indices.shape={indices.shape}."
        ) from None
    axis = axis + arr.ndim if axis < 0 else axis
    index = list(open_grid(arr.shape))
    index[axis] = indices
    out = IndexUpdate(arr)[tuple(index)].set(values, mode=mode)
    return out.reshape(shape) if flat else out


def open_grid(shape, dtype=None):
    """For each axis its indices, shaped to broadcast along that axis."""
    dtype = dtypes.default_int_dtype() if dtype is None else dtype
    grid = []
    for i, n in enumerate(shape):
        own = (*[1] * i, n, *[1] * (len(shape) - i - 1))
        grid.append(lax.broadcast_in_dim(lax.iota(dtype, n), own, (i,)))
    return tuple(grid)
