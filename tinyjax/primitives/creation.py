"""Arrays out of nothing: iota, empty, full_like."""

import operator

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive
from tinyjax.primitives.linear import canonicalize_shape, convert, full


class Iota(Primitive):
    """iota[dtype shape dimension]: every element is its index along one axis."""

    printed = {"sharding": None}

    def impl(self, *, dtype, shape, dimension):
        line = np.arange(shape[dimension], dtype=np.int64).astype(dtype)
        expanded = [1] * len(shape)
        expanded[dimension] = shape[dimension]
        return np.broadcast_to(line.reshape(expanded), shape)

    def type(self, *, dtype, shape, dimension):
        if dtype.kind == "b":
            raise TypeError(
                "iota does not accept dtype bool. Accepted dtypes are subtypes of integer, "
                "floating, complexfloating."
            )
        if not 0 <= dimension < len(shape):
            raise ValueError(
                "iota dimension must be between 0 and len(shape), got "
                f"dimension={dimension} for shape={shape}"
            )
        return ShapedArray(shape, dtype)


class Empty(Primitive):
    """empty[dtype shape]: values that nobody may rely on (they are zeros)."""

    printed = {"out_sharding": None}

    def impl(self, *, dtype, shape):
        return np.zeros(shape, dtype)

    def type(self, *, dtype, shape):
        return ShapedArray(shape, dtype)


iota_p, empty_p = Iota("iota"), Empty("empty")


def iota(dtype, size):
    """The numbers 0, 1, ... size - 1.

    >>> from tinyjax import lax
    >>> lax.iota("int32", 3)
    Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype, shape, dimension, *, out_sharding=None):
    """An array in which every element is its index along one axis.

    Args:
      dtype: a number dtype.
      shape: shape of the result.
      dimension: the axis, in [0, len(shape)).

    >>> from tinyjax import lax
    >>> lax.broadcasted_iota("int32", (2, 3), 1)
    Array([[0, 1, 2],
           [0, 1, 2]], dtype=int32)
    """
    params = {
        "dtype": dtypes.check_user_dtype_supported(dtype, "broadcasted_iota"),
        "shape": canonicalize_shape(shape),
        "dimension": operator.index(dimension),
    }
    iota_p.type(**params)
    return iota_p.bind(**params)


def empty(shape, dtype, *, out_sharding=None):
    """An array whose values do not matter, because they will be overwritten.

    >>> from tinyjax import lax
    >>> lax.empty((2, 3), "float32").shape
    (2, 3)
    """
    dtype = dtypes.check_user_dtype_supported(dtype, "empty")
    return empty_p.bind(dtype=dtype, shape=canonicalize_shape(shape))


def full_like(x, fill_value, dtype=None, shape=None, sharding=None):
    """An array filled with a value, with the shape and dtype of x unless others are given.

    Args:
      x: array or number.
      fill_value: scalar.
      dtype: dtype of the result.
      shape: shape of the result.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.full_like(jnp.arange(2), 7)
    Array([7, 7], dtype=int32)
    """
    x = lift(x)
    shape = x.shape if shape is None else canonicalize_shape(shape)
    weak = dtype is None and x.weak_type
    dtype = x.dtype if dtype is None else dtypes.check_user_dtype_supported(dtype, "full_like")
    return full(shape, convert(fill_value, dtype, weak))
