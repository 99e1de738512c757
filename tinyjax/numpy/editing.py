"""Arrays with elements removed, inserted or replaced: delete, insert, trim_zeros, place, put."""

import operator

import numpy as np

from tinyjax import lax
from tinyjax.avals import Value
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.checks import check_arraylike, concrete_or_error, ensure_arraylike
from tinyjax.numpy.creation import arange, array, asarray, full, ones
from tinyjax.numpy.gather import INPLACE
from tinyjax.numpy.histograms import unravel_index
from tinyjax.numpy.joining import concatenate, tile_to_size
from tinyjax.numpy.searching import clip, where
from tinyjax.numpy.shaping import moveaxis, ravel
from tinyjax.numpy.sorting import argsort, sort
from tinyjax.primitives.linear import canonicalize_axes, canonicalize_axis

# ---- remove and insert --------------------------------------------------------------------------


def delete(arr, obj, axis=None, *, assume_unique_indices=False):
    """An array without some slices along an axis (without elements of the flat array).

    Args:
      arr: array.
      obj: an index, a slice, an array of indices or a mask; known while tracing, unless
      assume_unique_indices: promises that they differ.
      axis: along which.
    """
    a = ensure_arraylike("delete", arr)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = canonicalize_axis(axis, a.ndim)
    before, size = (slice(None),) * axis, a.shape[axis]
    try:
        i = canonicalize_axis(operator.index(obj), size, "obj")
    except TypeError:
        pass
    else:
        parts = [a[(*before, slice(0, i))], a[(*before, slice(i + 1, None))]]
        return concatenate(parts, axis=axis)
    if isinstance(obj, slice):
        obj, assume_unique_indices = arange(size)[obj], True
    check_arraylike("delete", obj)
    if assume_unique_indices and asarray(obj).dtype.kind in "iu":
        return a[(*before, remaining(asarray(obj), size))]
    obj = concrete_or_error(np.asarray, obj, "'obj' array argument of jnp.delete()")
    if obj.dtype == bool:
        if obj.shape != (size,):
            raise ValueError(
                "np.delete(arr, obj): for boolean indices, obj must be one-dimensional with "
                "length matching specified axis."
            )
        return a[(*before, ~obj)]
    if obj.dtype.kind not in "iu":
        raise ValueError(
            f"np.delete(arr, obj): got obj.dtype={obj.dtype}; must be integer or bool."
        )
    mask = np.ones(size, dtype=bool)
    mask[obj] = False
    return a[(*before, mask)]


def remaining(removed, size):
    """The indices that remain when distinct ones are removed, which may be traced."""
    removed = removed.ravel()
    removed = clip(where(removed < 0, removed + size, removed), 0, size)
    removed = sort(removed) - arange(removed.size, dtype=removed.dtype)
    i = arange(size - removed.size, dtype=removed.dtype)
    return i + (i[None, :] >= removed[:, None]).sum(0, dtype=i.dtype)


def insert(arr, obj, values, axis=None):
    """An array with values inserted before indices along an axis (of the flat array)."""
    a, _, values = ensure_arraylike("insert", arr, 0 if isinstance(obj, slice) else obj, values)
    if axis is None:
        a, axis = ravel(a), 0
    axis = canonicalize_axis(axis, a.ndim)
    indices = arange(*obj.indices(a.shape[axis])) if isinstance(obj, slice) else asarray(obj)
    if indices.ndim > 1:
        raise ValueError(
            f"jnp.insert(): obj must be a slice, a one-dimensional array, or a scalar; got {obj}"
        )
    if indices.dtype.kind not in "iu":
        if indices.size or isinstance(obj, Value):
            raise ValueError(f"jnp.insert(): index array must be integer typed; got {obj}")
        indices = indices.astype(int)
    values = array(values, ndmin=a.ndim, dtype=a.dtype, copy=False)
    if indices.size == 1:
        if indices.ndim == 0:
            values = moveaxis(values, 0, axis)
        indices = full(values.shape[axis], ravel(indices)[0])
    old = a.shape[axis]
    new = lax.broadcast_shapes(indices.shape, (values.shape[axis],))[0]
    shape = tuple(n + new if d == axis else n for d, n in enumerate(a.shape))
    out = lax.full_like(a, 0, shape=shape)
    indices = clip(where(indices < 0, indices + old, indices), 0, old)
    order = argsort(indices)
    inserted = IndexUpdate(indices)[order].add(arange(new, dtype=indices.dtype))
    kept = IndexUpdate(ones(old + new, dtype=bool))[inserted].set(False)
    kept = where(kept, size=old)[0]
    before = (slice(None),) * axis
    out = IndexUpdate(out)[(*before, inserted)].set(values)
    return IndexUpdate(out)[(*before, kept)].set(a)


def trim_zeros(filt, trim="fb", axis=None):
    """An array without the zeros at its ends; not under jit, since the shape depends on values.

    Args:
      filt: array; trim: "f" at the front, "b" at the back; axis: along which axes.
    """
    x = ensure_arraylike("trim_zeros", filt)
    concrete_or_error(None, x, "Error arose in the `filt` argument of trim_zeros()")
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = canonicalize_axes(axes, x.ndim)
    front, back = "f" in trim.lower(), "b" in trim.lower()
    index = []
    for d in range(x.ndim):
        others = tuple(i for i in range(x.ndim) if i != d)
        places = np.flatnonzero(np.asarray(x).any(axis=others))
        if d not in axes:
            index.append(slice(None))
        elif places.size == 0:
            index.append(slice(0, 0) if front or back else slice(None))
        else:
            start = int(places[0]) if front else None
            index.append(slice(start, int(places[-1]) + 1 if back else None))
    return x[tuple(index)]


# ---- replace ------------------------------------------------------------------------------------


def place(arr, mask, vals, *, inplace=True):
    """arr with vals, in order and repeated, where the mask is true; needs inplace=False."""
    arr, mask, vals = ensure_arraylike("place", arr, mask, vals)
    vals = vals.ravel()
    if inplace:
        raise ValueError(f"jax.numpy.place {INPLACE}")
    if arr.size != mask.size:
        raise ValueError("place: arr and mask must be the same size")
    if not vals.size:
        raise ValueError("Cannot place values from an empty array")
    if not arr.size:
        return arr
    where_ = where(mask.ravel(), size=mask.size, fill_value=mask.size)[0]
    vals = tile_to_size(vals, len(where_))
    return IndexUpdate(arr.ravel())[where_].set(vals, mode="drop").reshape(arr.shape)


def put(a, ind, v, mode=None, *, inplace=True):
    """a with v at indices of the flat array; needs inplace=False.

    Args:
      a: array; ind: indices; v: values, repeated as needed.
      mode: indices out of bounds are dropped, or "clip", "wrap".
    """
    if inplace:
        raise ValueError(f"jax.numpy.put {INPLACE}")
    a, ind, v = ensure_arraylike("put", a, ind, v)
    ind, v = ind.ravel(), ravel(v)
    if not a.size or not ind.size or not v.size:
        return a
    v = tile_to_size(v, len(ind))
    scatter_mode = "promise_in_bounds"
    if mode is None:
        scatter_mode = "drop"
    elif mode == "clip":
        ind = clip(ind, 0, a.size - 1)
    elif mode == "wrap":
        ind = ind % a.size
    elif mode == "raise":
        raise NotImplementedError("The 'raise' mode to jnp.put is not supported.")
    else:
        raise ValueError(f"mode should be one of 'wrap' or 'clip'; got mode={mode!r}")
    return IndexUpdate(a)[unravel_index(ind, a.shape)].set(v, mode=scatter_mode)
