"""The linear maps that rules themselves are written with: convert, broadcast, reshape, sum ...

Each is a card with all its rules; below the cards stand the functions that everybody calls.
"""

import math
import operator

import numpy as np

from tinyjax import dtypes, shape_messages
from tinyjax.array import Array, lift
from tinyjax.avals import ShapedArray, Value
from tinyjax.core import Primitive, Undef, Zero, nonzero
from tinyjax.primitives.casts import saturating_cast
from tinyjax.primitives.large import LARGE
from tinyjax.primitives.narrow import kind
from tinyjax.primitives.sums import add_reduce

FEW = 2048  # elements


class LinearOp(Primitive):
    """One operand, and the result is linear in it: the linear map is the operation itself."""

    def linearize(self, nonzero, x, **params):
        return self.bind(x, **params), lambda t: self.bind(t, **params)


# ---- cards ------------------------------------------------------------------------------------


class AddAny(Primitive):
    """add_any x y: the sum of two tangents."""

    def impl(self, x, y):
        return np.add(x, y)

    def type(self, x, y):
        return x

    def linearize(self, nz, x, y):
        return self.bind(x, y), add_tangents

    def transpose(self, ct, x, y):
        return [ct if isinstance(v, Undef) else None for v in (x, y)]

    def batch(self, axis, vals, dims, /):
        (x, y), (d, e) = vals, dims
        if d is None or e is None:
            vals, e = align(axis, vals, dims)
        else:
            vals = moveaxis(x, d, e), y
        return self.bind(*vals), e


class ConvertElementType(LinearOp):
    """convert_element_type[new_dtype weak_type] x: the same numbers at another dtype."""

    large = LARGE

    def impl(self, x, *, new_dtype, weak_type):
        if kind(new_dtype) in "iu" and dtypes.issubdtype(x.dtype, np.floating):
            return saturating_cast(x, new_dtype)
        if x.dtype.kind == "c" and new_dtype.kind != "c":
            x = x.real if new_dtype.kind != "b" else x != 0
        return x.astype(new_dtype)

    def type(self, x, *, new_dtype, weak_type):
        return ShapedArray(x.shape, new_dtype, weak_type)

    def weak_result(self, args, params):
        return params["weak_type"]

    def linearize(self, nz, x, *, new_dtype, weak_type):
        out = self.bind(x, new_dtype=new_dtype, weak_type=weak_type)
        if not dtypes.issubdtype(new_dtype, np.inexact):
            return out, lambda t: Zero(out.aval)
        return out, lambda t: self.bind(t, new_dtype=new_dtype, weak_type=weak_type)

    def transpose(self, ct, x, *, new_dtype, weak_type):
        return [self.bind(ct, new_dtype=x.aval.dtype, weak_type=x.aval.weak_type)]

    def batch(self, axis, vals, dims, /, **params):
        return self.bind(*vals, **params), dims[0]


class BroadcastInDim(LinearOp):
    """broadcast_in_dim[shape broadcast_dimensions] x: axis i of x is axis dims[i] of the result."""

    hidden = ("shape",)

    def impl(self, x, *, shape, broadcast_dimensions):
        expanded = [1] * len(shape)
        for size, d in zip(np.shape(x), broadcast_dimensions):
            expanded[d] = size
        x = np.reshape(x, expanded)
        if math.prod(shape) > FEW:
            return np.broadcast_to(x, shape)
        out = np.empty(shape, x.dtype)  # broadcast_to takes as long as copying a few thousand
        out[...] = x
        return out

    def type(self, x, *, shape, broadcast_dimensions):
        return ShapedArray(shape, x.dtype, x.weak_type)

    def shown_params(self, params):
        dims = params["broadcast_dimensions"]
        return [("broadcast_dimensions", dims)] if dims else []

    def transpose(self, ct, x, *, shape, broadcast_dimensions):
        units = [i for i, size in enumerate(x.aval.shape) if size == 1]
        kept = [d for i, d in enumerate(broadcast_dimensions) if i not in units]
        axes = tuple(d for d in range(len(shape)) if d not in kept)
        return [reshaped(reduce_sum_p.bind(ct, axes=axes), x.aval.shape)]

    def batch(self, axis, vals, dims, /, *, shape, broadcast_dimensions):
        x = to_front(vals[0], dims[0])
        inner = (0, *map(np.int64, np.add(broadcast_dimensions, 1)))  # jaxprs show JAX's np.int64
        return self.bind(x, shape=(axis.size, *shape), broadcast_dimensions=inner), 0


class Reshape(LinearOp):
    """reshape[new_sizes] x: the same elements in row-major order."""

    printed = {"dimensions": None, "sharding": None}

    def impl(self, x, *, new_sizes):
        return np.reshape(x, new_sizes)

    def type(self, x, *, new_sizes):
        return ShapedArray(new_sizes, x.dtype, x.weak_type)

    def transpose(self, ct, x, *, new_sizes):
        return [reshaped(ct, x.aval.shape)]

    def batch(self, axis, vals, dims, /, *, new_sizes):
        return reshape(to_front(vals[0], dims[0]), (axis.size, *new_sizes)), 0


class Squeeze(LinearOp):
    """squeeze[dimensions] x: axes of size 1 removed."""

    def impl(self, x, *, dimensions):
        return np.squeeze(x, dimensions)

    def type(self, x, *, dimensions):
        shape = [n for i, n in enumerate(x.shape) if i not in dimensions]
        return ShapedArray(shape, x.dtype, x.weak_type)

    def transpose(self, ct, x, *, dimensions):
        return [expand_dims(ct, dimensions)]

    def batch(self, axis, vals, dims, /, *, dimensions):
        return self.bind(to_front(vals[0], dims[0]), dimensions=tuple(d + 1 for d in dimensions)), 0


class Transpose(LinearOp):
    """transpose[permutation] x: axis i of the result is axis permutation[i] of x."""

    def impl(self, x, *, permutation):
        return np.transpose(x, permutation)

    def type(self, x, *, permutation):
        return ShapedArray([x.shape[i] for i in permutation], x.dtype, x.weak_type)

    def transpose(self, ct, x, *, permutation):
        return [transpose(ct, [int(i) for i in np.argsort(permutation)])]

    def batch(self, axis, vals, dims, /, *, permutation):
        d = dims[0]
        return transpose(vals[0], (d, *[i + (i >= d) for i in permutation])), 0


class ReduceSum(LinearOp):
    """reduce_sum[axes] x: the sum over some axes."""

    large = LARGE
    printed = {"out_sharding": None}

    def impl(self, x, *, axes):
        return add_reduce(x, axes)

    def type(self, x, *, axes):
        shape = [n for i, n in enumerate(x.shape) if i not in axes]
        return ShapedArray(shape, x.dtype, x.weak_type)

    def transpose(self, ct, x, *, axes):
        kept = [i for i in range(len(x.aval.shape)) if i not in axes]
        return [broadcast_in_dim(ct, x.aval.shape, kept)]

    def batch(self, axis, vals, dims, /, *, axes):
        d = dims[0]
        axes = tuple(np.int64(a + (a >= d)) for a in axes)
        return self.bind(vals[0], axes=axes), d - sum(a < d for a in axes)


add_any_p = AddAny("add_any")
convert_element_type_p = ConvertElementType("convert_element_type")
broadcast_in_dim_p = BroadcastInDim("broadcast_in_dim")
reshape_p = Reshape("reshape")
squeeze_p = Squeeze("squeeze")
transpose_p = Transpose("transpose")
reduce_sum_p = ReduceSum("reduce_sum")


# ---- functions ----------------------------------------------------------------------------------


def canonicalize_axis(axis, ndim, name="axis"):
    """A possibly negative axis as one in [0, ndim). Raises ValueError when it is out of bounds."""
    i = operator.index(axis)
    if not -ndim <= i < ndim:
        raise ValueError(f"{name} {i} is out of bounds for array of dimension {ndim}")
    return i % ndim if ndim else i


def canonicalize_axes(axes, ndim, name="axes"):
    """A tuple of distinct axes in [0, ndim)."""
    out = tuple(canonicalize_axis(a, ndim, name) for a in axes)
    if len(set(out)) != len(out):
        raise ValueError(f"duplicate value in '{name}': {tuple(axes)}")
    return out


def canonicalize_shape(shape, name="shape"):
    """A tuple of integers >= 0. Raises TypeError when a size is traced or no integer."""
    if isinstance(shape, (int, np.integer)) or getattr(shape, "shape", None) == ():
        shape = (shape,)
    try:
        out = tuple(operator.index(d) for d in shape)
    except TypeError as e:
        if isinstance(e, TypeError) and "traced" in str(e):
            raise TypeError(
                "Shapes must be 1D sequences of concrete values of integer type, got "
                f"{shape}. If using `jit`, try using `static_argnums` or apply `jit` to smaller "
                f"subfunctions.\n{e}"
            ) from None  # the text says it all
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {name}={shape}."
        ) from e
    if any(d < 0 for d in out):
        raise TypeError(f"Shapes must be non-negative, got {name}={out}.")
    return out


def convert(x, dtype, weak_type=False):
    """x at a dtype; numbers are converted at once, what has the dtype already is not touched."""
    x = lift(x)
    if x.dtype == dtype and x.weak_type == weak_type:
        return x
    if x.literal:
        out = convert_element_type_p.impl(x.npy, new_dtype=dtype, weak_type=weak_type)
        return Array(out, weak_type, literal=True)
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type)


def convert_element_type(operand, new_dtype):
    """Convert an array to another dtype.

    Args:
      operand: array or number.
      new_dtype: a dtype; 64-bit ones become 32-bit ones unless x64 is on.

    Returns an array of the same shape, which is not weakly typed. Complex numbers lose their
    imaginary part when they become real.

    >>> from tinyjax import lax
    >>> lax.convert_element_type(3, "float32")
    Array(3., dtype=float32)
    """
    operand = lift(operand)
    dtype = dtypes.check_user_dtype_supported(new_dtype, "convert_element_type")
    if "k" in (operand.dtype.kind, dtype.kind) and operand.dtype != dtype:
        raise ValueError(f"Cannot convert_element_type from {operand.dtype} to {dtype}")
    if operand.dtype.kind == "c" and dtype.kind not in "cb" and not operand.literal:
        operand = real_of(operand)
    return convert(operand, dtype)


def real_of(x):
    """The real part; complex numbers lose their imaginary part when converted to real ones."""
    return x.real


def broadcast_in_dim(operand, shape, broadcast_dimensions, *, out_sharding=None):
    """Broadcast, placing axis i of the operand at axis broadcast_dimensions[i] of the result.

    Args:
      operand: array of rank len(broadcast_dimensions).
      shape: shape of the result.
      broadcast_dimensions: different axes of the result; sizes there must be the operand's, or
        the operand's must be 1.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
    Array([[1, 1, 1],
           [2, 2, 2]], dtype=int32)
    """
    operand, shape = lift(operand), canonicalize_shape(shape)
    dims = tuple(operator.index(d) for d in broadcast_dimensions)
    if len(dims) != operand.ndim:
        raise TypeError(
            "broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; got "
            f"broadcast_dimensions {dims} for operand ndim {operand.ndim}."
        )
    for size, d in zip(operand.shape, dims):
        if not 0 <= d < len(shape) or size not in (1, shape[d]):
            raise TypeError(
                "broadcast_in_dim operand dimension sizes must either be 1, or be equal to their "
                f"corresponding dimensions in the target broadcast shape; got operand of shape "
                f"{operand.shape}, target broadcast shape {shape}, broadcast_dimensions {dims}"
            )
    if any(a >= b for a, b in zip(dims, dims[1:])):
        if len(set(dims)) != len(dims):
            raise TypeError(
                f"broadcast_in_dim broadcast_dimensions must be different axes; got {dims}"
            )
        order = sorted(range(len(dims)), key=dims.__getitem__)
        operand, dims = transpose(operand, order), tuple(sorted(dims))
    if operand.shape == shape and isinstance(operand, Value):
        return operand
    return broadcast_in_dim_p.bind(operand, shape=shape, broadcast_dimensions=dims)


def broadcast(operand, sizes, *, out_sharding=None):
    """New leading axes of the given sizes."""
    operand, sizes = lift(operand), canonicalize_shape(sizes, "sizes")
    dims = range(len(sizes), len(sizes) + operand.ndim)
    return broadcast_in_dim(operand, (*sizes, *operand.shape), dims)


def broadcast_to_rank(x, rank):
    """New leading axes of size 1 until x has the rank."""
    x = lift(x)
    return x if x.ndim == rank else expand_dims(x, range(rank - x.ndim))


def reshape(operand, new_sizes, dimensions=None, *, out_sharding=None):
    """The same elements, in row-major order, in another shape.

    Args:
      operand: array.
      new_sizes: the new shape; must hold as many elements.
      dimensions: optionally a permutation of the axes to apply first.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.reshape(jnp.arange(6), (2, 3))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    operand, new_sizes = lift(operand), canonicalize_shape(new_sizes, "new_sizes")
    if int(np.prod(new_sizes, dtype=np.int64)) != operand.size:
        first = (
            f"reshape total size must be unchanged, got new_sizes {new_sizes} for shape "
            f"{operand.shape}."
        )
        raise TypeError(shape_messages.reshaping(first, operand.size, new_sizes))
    if dimensions is not None:
        operand = transpose(operand, dimensions)
    if new_sizes and operand.shape == new_sizes and isinstance(operand, Value):
        return operand
    return reshape_p.bind(operand, new_sizes=new_sizes)


def reshaped(x, shape):
    """reshape, and no equation if nothing changes; lax.reshape writes one for a number."""
    return x if x.shape == tuple(shape) else reshape(x, shape)


def squeeze(array, dimensions):
    """Remove axes of size 1. Raises ValueError if one has another size."""
    array = lift(array)
    dims = canonicalize_axes(dimensions, array.ndim, "dimensions")
    if any(array.shape[d] != 1 for d in dims):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={array.shape} and dimensions={dims}"
        )
    return squeeze_p.bind(array, dimensions=tuple(sorted(dims))) if dims else array


def expand_dims(array, dimensions):
    """Insert axes of size 1 at these positions of the result."""
    array = lift(array)
    ndim = array.ndim + len(dimensions)
    dims = canonicalize_axes(dimensions, ndim, "axis")
    shape, old = [1] * ndim, [i for i in range(ndim) if i not in dims]
    for i, size in zip(old, array.shape):
        shape[i] = size
    return broadcast_in_dim(array, shape, old)


def transpose(operand, permutation):
    """Permute the axes: axis i of the result is axis permutation[i] of the operand."""
    operand = lift(operand)
    perm = tuple(operator.index(i) for i in permutation)
    if sorted(perm) != list(range(operand.ndim)):
        raise TypeError(
            f"transpose permutation isn't a permutation of operand dimensions, got permutation "
            f"{perm} for operand shape {operand.shape}."
        )
    if perm == tuple(range(operand.ndim)):
        return operand
    return transpose_p.bind(operand, permutation=perm)


def reduce_sum(operand, axes):
    """Sum over axes (all distinct, in [0, ndim)); the dtype stays."""
    return reduce_sum_p.bind(lift(operand), axes=tuple(axes)) if len(axes) else lift(operand)


def full(shape, fill_value, dtype=None, *, sharding=None):
    """An array of a shape, filled with a value; dtype as the value's by default."""
    shape, value = canonicalize_shape(shape), lift(fill_value)
    if value.ndim:
        raise TypeError(f"full must be called with scalar fill_value, got shape {value.shape}.")
    if dtype is None:
        dtype, weak = value.dtype, value.weak_type
    else:
        dtype, weak = dtypes.check_user_dtype_supported(dtype), False
    value = convert(value, dtype, weak)
    return broadcast_in_dim(value, shape, ()) if shape else value


# ---- for rules --------------------------------------------------------------------------------


def zeros(aval):
    """Zeros of a type."""
    dtype = aval.dtype
    zero = Array(np.zeros((), dtype), aval.weak_type, literal=True)
    return broadcast_in_dim(zero, aval.shape, ()) if aval.shape else zero


def instantiate(tangent):
    """A tangent as an array."""
    return tangent if nonzero(tangent) else zeros(tangent.aval)


def add_tangents(a, b):
    """The sum of two tangents, either of which may be Zero."""
    if not nonzero(a):
        return b
    if not nonzero(b):
        return a
    return add_any_p.bind(a, b)


def moveaxis(x, source, destination):
    """x with one axis elsewhere."""
    if source == destination:
        return x
    perm = [i for i in range(x.ndim) if i != source]
    perm.insert(destination, source)
    return transpose(x, perm)


def to_front(x, dim):
    """x with its batch axis in front (None: it has none, as it is)."""
    return x if dim is None else moveaxis(x, dim, 0)


def new_front(x, size):
    """x with a new axis in front, as batching rules make it: JAX counts with np.int64 there."""
    x = lift(x)
    dims = tuple(np.arange(1, x.ndim + 1))
    return broadcast_in_dim_p.bind(x, shape=(size, *x.shape), broadcast_dimensions=dims)


def batched_front(axis, x, dim):
    """x with its batch axis in front, made by broadcasting if it has none."""
    return new_front(x, axis.size) if dim is None else moveaxis(x, dim, 0)


def align(axis, vals, dims):
    """Operands of equal shape with their batch axes at one place -> operands, place."""
    at = next(d for d in dims if d is not None)
    if all(d == at for d in dims):
        return vals, at
    return [batched_front(axis, v, d) for v, d in zip(vals, dims)], 0


def unbroadcast(aval, ct):
    """Sum a cotangent over the axes along which an operand of this type was broadcast."""
    if not nonzero(ct) or ct.shape == aval.shape:
        return ct
    if not aval.shape:
        return reduce_sum(ct, tuple(range(ct.ndim)))
    axes = tuple(i for i, (a, b) in enumerate(zip(aval.shape, ct.shape)) if a != b)
    return reshaped(reduce_sum(ct, axes), aval.shape)
