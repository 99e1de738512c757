"""Sorting, and the indices that sort."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.mapping import vmap
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.checks import check_sequence, ensure_arraylike
from tinyjax.numpy.shaping import swapaxes
from tinyjax.primitives.linear import canonicalize_axis
from tinyjax.transforms.subprogram import subprogram


def check_numpy_only(name, kind, order):
    """NumPy's settings that have no meaning here."""
    if kind is not None:
        raise TypeError(
            f"'kind' argument to {name} is not supported. Use stable=True or stable=False to "
            "specify sort stability."
        )
    if order is not None:
        raise TypeError(f"'order' argument to {name} is not supported.")


def sortable(name, a, axis):
    """-> the array, and the axis to sort along (None: the flat array)."""
    a = ensure_arraylike(name, a)
    if axis is None:
        a, axis = a.ravel(), 0
    return a, canonicalize_axis(axis, a.ndim)


@subprogram(static_argnames=("axis", "kind", "order", "stable", "descending"))
def sort(a, axis=-1, *, kind=None, order=None, stable=True, descending=False):
    """The elements sorted along an axis; nans come last.

    Args:
      a: array.
      axis: None sorts the flat array.
      kind, order: not supported.
      stable: whether equal elements keep their order.
      descending: the largest first.

    >>> import tinyjax.numpy as jnp
    >>> jnp.sort(jnp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    check_numpy_only("sort", kind, order)
    a, axis = sortable("sort", a, axis)
    out = lax.sort(a, dimension=axis, is_stable=stable)
    return lax.rev(out, dimensions=[axis]) if descending else out


@subprogram(static_argnames=("axis", "kind", "order", "stable", "descending", "dtype"))
def argsort(a, axis=-1, *, kind=None, order=None, stable=True, descending=False, dtype=None):
    """The indices that sort along an axis; arguments as of sort.

    >>> import tinyjax.numpy as jnp
    >>> jnp.argsort(jnp.array([3, 1, 2]))
    Array([1, 2, 0], dtype=int32)
    """
    check_numpy_only("argsort", kind, order)
    a, axis = sortable("argsort", a, axis)
    if dtype is None:
        dtype = dtypes.default_int_dtype()
    else:
        dtype = dtypes.check_user_dtype_supported(dtype, "argsort")
    indices = lax.broadcasted_iota(dtype, a.shape, axis)
    if descending and stable:
        a, indices = lax.rev(a, dimensions=[axis]), lax.rev(indices, dimensions=[axis])
    _, indices = lax.sort_key_val(a, indices, dimension=axis, is_stable=stable)
    return lax.rev(indices, dimensions=[axis]) if descending else indices


@subprogram(static_argnames=("axis",))
def lexsort(keys, axis=-1):
    """The indices that sort by several keys; the last key counts first."""
    keys = check_sequence("lexsort", keys)
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if len({k.shape for k in keys}) > 1:
        raise ValueError("all keys need to be the same shape")
    if keys[0].ndim == 0:
        return lax.full((), 0, dtypes.default_int_dtype())
    axis = canonicalize_axis(axis, keys[0].ndim)
    indices = lax.broadcasted_iota(dtypes.default_int_dtype(), keys[0].shape, axis)
    return lax.sort((*keys[::-1], indices), dimension=axis, num_keys=len(keys))[-1]


@subprogram
def sort_complex(a):
    """Complex numbers sorted along the last axis, by real, then imaginary part."""
    a = lax.sort(ensure_arraylike("sort_complex", a))
    return lax.convert_element_type(a, dtypes.to_complex_dtype(a.dtype))


@subprogram(static_argnames=("kth", "axis"))
def partition(a, kth, axis=-1):
    """The elements along an axis, with the kth smallest in its place: smaller ones before it."""
    a, kth, axis = partition_arguments("partition", a, kth, axis)
    a = swapaxes(a, axis, -1)
    if a.dtype.kind == "u":
        bottom = -lax.top_k(-(a + 1), kth + 1)[0] - 1
    else:
        bottom = -lax.top_k(-a, kth + 1)[0]
    top = lax.top_k(a, a.shape[-1] - kth - 1)[0]
    return swapaxes(lax.concatenate([bottom, top], a.ndim - 1), -1, axis)


@subprogram(static_argnames=("kth", "axis"))
def argpartition(a, kth, axis=-1):
    """The indices that partition; see partition."""
    a, kth, axis = partition_arguments("argpartition", a, kth, axis)
    a = swapaxes(a, axis, -1)
    bottom = lax.top_k(-(a + 1) if a.dtype.kind == "u" else -a, kth + 1)[1]

    def mark(row, indices):
        return IndexUpdate(row)[indices].set(0)

    for _ in range(a.ndim - 1):
        mark = vmap(mark)
    others = mark(lax.full(a.shape, 1.0), bottom)
    top = lax.top_k(others, a.shape[-1] - kth - 1)[1]
    return swapaxes(lax.concatenate([bottom, top], a.ndim - 1), -1, axis)


def partition_arguments(name, a, kth, axis):
    """The arguments of partition, checked."""
    a = ensure_arraylike("partition", a)
    if np.dtype(a.dtype).kind == "c":
        raise NotImplementedError(f"jnp.{name} for complex dtype is not implemented.")
    axis = canonicalize_axis(axis, a.ndim)
    return a, canonicalize_axis(kth, a.shape[axis], "kth"), axis
