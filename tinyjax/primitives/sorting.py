"""Sorting: sort, with any number of keys and of arrays that move along, and top_k."""

import operator

import numpy as np

from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive, Zero, nonzero
from tinyjax.primitives.creation import broadcasted_iota
from tinyjax.primitives.gather_scatter import gather
from tinyjax.primitives.linear import (
    broadcast_in_dim,
    canonicalize_axis,
    moveaxis,
    reshape,
)
from tinyjax.primitives.windows import GatherDimensionNumbers

# ---- orders in NumPy ----------------------------------------------------------------------------


def sortable(x):
    """x in a dtype that NumPy sorts with NaNs last: bfloat16 and narrower ones it does not."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def sorting_order(keys, axis):
    """The places from which a stable sort takes its entries."""
    if len(keys) == 1:
        return np.argsort(sortable(keys[0]), axis, kind="stable")
    return np.lexsort([sortable(k) for k in reversed(keys)], axis)


def total_order(x):
    """Integers in the order of x; for floats -NaN < -inf < ... < -0 < 0 < ... < inf < NaN."""
    if x.dtype.kind in "biu":
        return x.astype(np.int64) if x.dtype.itemsize < 8 else x
    bits = np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}").reshape(x.shape)
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


# ---- cards --------------------------------------------------------------------------------------


class Sort(Primitive):
    """sort[dimension is_stable num_keys] *operands: all in the order of the first num_keys."""

    multi = True

    def impl(self, *xs, dimension, is_stable, num_keys):
        if len(xs) == 1:
            x = xs[0]
            return [np.sort(sortable(x), dimension, kind="stable").astype(x.dtype)]
        order = sorting_order(xs[:num_keys], dimension)
        return [np.take_along_axis(x, order, dimension) for x in xs]

    def type(self, *avals, dimension, is_stable, num_keys):
        return list(avals)

    def jvp(self, primals, tangents, *, dimension, is_stable, num_keys):
        shape = primals[0].shape
        iota = broadcasted_iota(np.uint32, shape, dimension)
        params = {"dimension": dimension, "is_stable": is_stable, "num_keys": num_keys}
        *outs, order = self.bind(*primals, iota, **params)
        if not any(map(nonzero, tangents)):
            return outs, [Zero(o.aval) for o in outs]
        places = broadcast_in_dim(order, (*shape, 1), range(len(shape)))
        moved = [
            take_along(t, places, dimension) if nonzero(t) else Zero(o.aval)
            for t, o in zip(tangents, outs)
        ]
        return outs, moved

    def batch(self, axis, vals, dims, /, *, dimension, is_stable, num_keys):
        at = next(d for d in dims if d is not None)
        vals = [with_batch_at(axis, v, d, at) for v, d in zip(vals, dims)]
        dimension += dimension >= at
        outs = self.bind(*vals, dimension=dimension, is_stable=is_stable, num_keys=num_keys)
        return outs, [at] * len(outs)


def with_batch_at(axis, x, dim, at):
    """x with its batch axis at a place, made by broadcasting if it has none."""
    if dim is not None:
        return moveaxis(x, dim, at)
    shape = (*x.shape[:at], axis.size, *x.shape[at:])
    return broadcast_in_dim(x, shape, [i for i in range(len(shape)) if i != at])


def take_along(x, places, axis):
    """The entries of x at places along an axis; the last axis of places has size 1."""
    others = tuple(i for i in range(x.ndim) if i != axis)
    numbers = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    return gather(x, places, numbers, (1,) * x.ndim)


class TopK(Primitive):
    """top_k[axis k] x: the k greatest entries, in descending order, and their places."""

    multi = True

    def impl(self, x, *, k, axis):
        order = np.argsort(~total_order(x), axis, kind="stable")
        order = np.take(order, range(k), axis)
        return [np.take_along_axis(x, order, axis), order.astype(np.int32)]

    def type(self, x, *, k, axis):
        shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
        return [ShapedArray(shape, x.dtype), ShapedArray(shape, np.dtype(np.int32))]

    def weak_result(self, args, params):
        return False

    def jvp(self, primals, tangents, *, k, axis):
        values, order = self.bind(*primals, k=k, axis=axis)
        places = reshape(order, (*order.shape, 1))
        return [values, order], [take_along(tangents[0], places, axis), Zero(order.aval)]

    def batch(self, axis_data, vals, dims, /, *, k, axis):
        return self.bind(vals[0], k=k, axis=axis + (axis >= dims[0])), [dims[0]] * 2


sort_p, top_k_p = Sort("sort"), TopK("top_k")


# ---- functions ----------------------------------------------------------------------------------


def sort(operand, dimension=-1, is_stable=True, num_keys=1):
    """Sort along an axis, in ascending order.

    Args:
      operand: an array, or a sequence of arrays of one shape that are all brought into the order
        of the first num_keys of them. NaNs come last, and -0 equals 0.
      dimension: the axis.
      is_stable: whether equal entries keep their order (they always do).
      num_keys: how many operands decide; a later one decides where all earlier ones are equal.

    Returns an array, or a tuple of them.

    Raises TypeError when shapes differ, ValueError for a wrong axis or number of keys.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.sort(jnp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    single = not isinstance(operand, (tuple, list))
    xs = [lift(operand)] if single else [lift(x) for x in operand]
    if not xs:
        raise TypeError("Sort requires at least one operand")
    if single and num_keys != 1:
        raise ValueError(f"num_keys={num_keys} must equal 1 for a single operand.")
    if not 1 <= num_keys <= len(xs):
        raise ValueError(f"num_keys={num_keys} must be between 1 and len(operand)={len(xs)}")
    if any(x.shape != xs[0].shape for x in xs):
        shapes = " ".join(str(x.shape) for x in xs)
        raise TypeError(f"Arguments to sort must have equal shapes, got: {shapes}")
    dimension = sort_axis(dimension, xs[0].ndim)
    outs = sort_p.bind(*xs, dimension=dimension, is_stable=bool(is_stable), num_keys=num_keys)
    return outs[0] if single else tuple(outs)


def sort_axis(axis, ndim):
    """A possibly negative axis of an array that must have one."""
    if ndim == 0:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension 0")
    return canonicalize_axis(axis, ndim)


def sort_key_val(keys, values, dimension=-1, is_stable=True):
    """Sort keys along an axis, and bring values into the same order -> keys, values.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.sort_key_val(jnp.array([3, 1]), jnp.array([30, 10]))
    (Array([1, 3], dtype=int32), Array([10, 30], dtype=int32))
    """
    return sort((keys, values), dimension, is_stable)


def top_k(operand, k, *, axis=-1):
    """The k greatest entries along an axis, in descending order, and their places (int32).

    A NaN counts as greatest, a negative NaN as least; of equal entries the first comes first.

    Raises ValueError when the axis is shorter than k, or the operand is complex.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.top_k(jnp.array([5, 9, 7]), 2)
    [Array([9, 7], dtype=int32), Array([1, 2], dtype=int32)]
    """
    x, k = lift(operand), operator.index(k)
    if k < 0:
        raise ValueError(f"k argument to top_k must be nonnegative, got {k}")
    if x.dtype.kind == "c":
        raise ValueError("top_k is not compatible with complex inputs.")
    axis = sort_axis(axis, x.ndim)
    if k > x.shape[axis]:
        raise ValueError(
            "k argument to top_k must be no larger than size along axis; "
            f"got k={k} with shape={list(x.shape)} and axis={axis}"
        )
    return top_k_p.bind(x, k=k, axis=axis)
