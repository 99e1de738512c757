"""Cutting and joining: slice, pad, concatenate, split, rev.

All are linear, and each other's transposes: slice and pad, concatenate and split.
"""

import operator

import numpy as np

from tinyjax import dtypes, shape_messages
from tinyjax.array import lift
from tinyjax.avals import ShapedArray, Value
from tinyjax.core import Primitive, Undef, Zero, nonzero
from tinyjax.primitives.arithmetic import const, sub
from tinyjax.primitives.linear import (
    LinearOp,
    batched_front,
    broadcast,
    broadcast_in_dim,
    canonicalize_axis,
    full,
    instantiate,
    reduce_sum,
)
from tinyjax.primitives.selection import select


class LinearMany(Primitive):
    """Many operands, and the result is linear in all of them at once."""

    def linearize(self, nz, *xs, **params):
        out = self.bind(*xs, **params)

        def push(*tangents):
            if not any(map(nonzero, tangents)):
                return Zero(out.aval)
            return self.bind(*map(instantiate, tangents), **params)

        return out, push


class LinearSplit(Primitive):
    """One operand, many results, and all are linear in it."""

    multi = True

    def weak_result(self, args, params):
        return args[0].weak_type

    def linearize(self, nz, x, **params):
        return self.bind(x, **params), lambda t: self.bind(t, **params)


def check_same_dtypes(name, avals):
    """Raise TypeError unless all operands share a dtype."""
    if any(a.dtype != avals[0].dtype for a in avals):
        names = ", ".join(dtypes.dtype_name(a.dtype) for a in avals)
        raise TypeError(
            f"lax.{name} requires arguments to have the same dtypes, got {names}. (Tip: "
            f"jnp.{name} is a similar function that does automatic type promotion on inputs)."
        )


def shapes_text(avals):
    """The shapes of operands, for messages."""
    return ", ".join(str(a.shape) for a in avals)


# ---- slice --------------------------------------------------------------------------------------


class Slice(LinearOp):
    """slice[start_indices limit_indices strides] x: x[start:limit:stride] along every axis."""

    def impl(self, x, *, start_indices, limit_indices, strides):
        steps = strides or (1,) * x.ndim
        return x[tuple(map(slice_object, start_indices, limit_indices, steps))]

    def type(self, x, *, start_indices, limit_indices, strides):
        starts, limits, shape = start_indices, limit_indices, x.shape
        if len(starts) != len(shape):
            raise TypeError(
                "slice start_indices must have length equal to the number of dimensions of the "
                f"operand, got indices {starts} for operand shape {shape}."
            )
        if len(starts) != len(limits):
            raise TypeError(
                "slice limit_indices must have the same length as start_indices, got "
                f"start_indices {starts} and limit_indices {limits}."
            )
        if any(n > size for n, size in zip(limits, shape)):
            raise TypeError(
                "slice limit_indices must be less than or equal to operand shape, got "
                f"limit_indices {limits} for operand shape {shape}."
            )
        if any(n < 0 for n in starts):
            raise TypeError(
                f"slice start_indices must be greater than or equal to zero, got start_indices of "
                f"{starts}."
            )
        if any(b < a for a, b in zip(starts, limits)):
            raise TypeError(
                "slice limit_indices must be greater than or equal to start_indices, got "
                f"start_indices {starts} and limit_indices {limits}."
            )
        sizes = [b - a for a, b in zip(starts, limits)]
        if strides is not None:
            if len(strides) != len(shape):
                raise TypeError(
                    "slice strides must have length equal to the number of dimensions of the "
                    f"operand, got strides {strides} for operand shape {shape}."
                )
            if any(s <= 0 for s in strides):
                raise TypeError(f"slice strides must be positive, got {strides}")
            sizes = [-(-n // s) for n, s in zip(sizes, strides)]
        return ShapedArray(sizes, x.dtype, x.weak_type)

    def transpose(self, ct, x, *, start_indices, limit_indices, strides):
        steps = strides or (1,) * len(start_indices)
        spans = [(n - 1) * s + 1 if n else 0 for n, s in zip(ct.shape, steps)]
        config = [
            (start, size - start - span, step - 1)
            for start, size, span, step in zip(start_indices, x.aval.shape, spans, steps)
        ]
        return [pad(ct, const(ct, 0), config)]

    def batch(self, axis, vals, dims, /, *, start_indices, limit_indices, strides):
        d = dims[0]
        starts, limits = insert(start_indices, d, 0), insert(limit_indices, d, axis.size)
        steps = None if strides is None else insert(strides, d, 1)
        return slice(vals[0], starts, limits, steps), d


def insert(xs, i, value):
    """The tuple xs with a value inserted at place i."""
    return (*xs[:i], value, *xs[i:])


slice_object = slice  # Python's; the name means the operation from here on
slice_p = Slice("slice")


def slice(operand, start_indices, limit_indices, strides=None):
    """Cut out operand[start:limit:stride] along every axis.

    Args:
      operand: array.
      start_indices: first index along each axis.
      limit_indices: the index after the last one along each axis, at most the size.
      strides: optional step along each axis.

    Raises TypeError when a bound is missing, negative or too large.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.slice(jnp.arange(12).reshape(3, 4), (1, 0), (3, 4), (1, 2))
    Array([[ 4,  6],
           [ 8, 10]], dtype=int32)
    """
    operand = lift(operand)
    params = {
        "start_indices": tuple(map(operator.index, start_indices)),
        "limit_indices": tuple(map(operator.index, limit_indices)),
        "strides": None if strides is None else tuple(map(operator.index, strides)),
    }
    slice_p.type(operand.aval, **params)
    return slice_p.bind(operand, **params)


# ---- pad ----------------------------------------------------------------------------------------


class Pad(LinearMany):
    """pad[padding_config] x value: (low, high, interior) per axis; negative amounts cut."""

    def impl(self, x, value, *, padding_config):
        out_shape = self.out_shape(x.shape, padding_config)
        out = np.full(out_shape, value, x.dtype)
        source, target = [], []
        for size, wanted, (low, _, interior) in zip(x.shape, out_shape, padding_config):
            step = interior + 1
            first = max(0, -(low // step))  # the first element that lands inside
            last = min(size, -((low - wanted) // step))  # one after the last
            last = max(first, last)
            source.append(slice_object(first, last))
            begin = low + first * step
            target.append(slice_object(begin, begin + (last - first - 1) * step + 1, step))
            if last == first:
                return out
        out[tuple(target)] = x[tuple(source)]
        return out

    def lower(self, args, *, padding_config):
        """The compiler gets plain numbers; NumPy's are there to be printed as in JAX."""
        return args, {"padding_config": tuple(tuple(map(int, axis)) for axis in padding_config)}

    def out_shape(self, shape, padding_config):
        """The shape of the result."""
        return tuple(
            int(low) + int(high) + (n + (n - 1) * interior if n else 0)
            for n, (low, high, interior) in zip(shape, padding_config)
        )

    def type(self, x, value, *, padding_config):
        if x.dtype != value.dtype:
            raise TypeError(
                "pad operand and padding_value must be same dtype: got "
                f"{dtypes.dtype_name(x.dtype)} and {dtypes.dtype_name(value.dtype)}."
            )
        if value.shape:
            raise ValueError(
                f"padding_value must be a scalar; got np.shape(padding_value)={value.shape}"
            )
        if len(padding_config) != len(x.shape):
            raise ValueError(
                "length of padding_config must equal the number of axes of operand, got "
                f"padding_config {padding_config} for operand shape {x.shape}"
            )
        if any(interior < 0 for _, _, interior in padding_config):
            raise ValueError(
                "interior padding in padding_config must be nonnegative, got padding_config "
                f"{padding_config}"
            )
        shape = self.out_shape(x.shape, padding_config)
        if any(n < 0 for n in shape):
            raise ValueError(
                f"Dimension size after padding is not at least 0, got result shape {shape}, for "
                f"padding_config {padding_config} and operand shape {x.shape}"
            )
        return ShapedArray(shape, x.dtype, x.weak_type and value.weak_type)

    def transpose(self, ct, x, value, *, padding_config):
        def cut(t):
            unpadded = pad(t, const(t, 0), [(-low, -high, 0) for low, high, _ in padding_config])
            steps = [interior + 1 for _, _, interior in padding_config]
            return slice(unpadded, (0,) * t.ndim, unpadded.shape, steps)

        def total(t):
            return reduce_sum(t, tuple(range(t.ndim)))

        x_ct = cut(ct) if isinstance(x, Undef) else None
        if not isinstance(value, Undef):
            return [x_ct, None]
        inside = total(cut(ct) if x_ct is None else x_ct)
        return [x_ct, sub(total(ct), inside)]

    def batch(self, axis, vals, dims, /, *, padding_config):
        (x, value), (d, value_dim) = vals, dims
        if d is None:
            x, d = broadcast(x, (axis.size,)), 0
        config = insert(padding_config, d, (0, 0, 0))
        if value_dim is None:
            return pad(x, value, config), d
        out = pad(x, const(x, 0), config)
        mask = pad(full(x.shape, True, bool), False, config)
        return select(mask, out, broadcast_in_dim(value, out.shape, (d,))), d


pad_p = Pad("pad")


def pad(operand, padding_value, padding_config):
    """Pad with a value before, after and between the elements along every axis.

    Args:
      operand: array.
      padding_value: scalar of the operand's dtype (a Python number adapts).
      padding_config: (low, high, interior) for every axis; negative low and high cut off.

    Raises TypeError (dtypes) or ValueError (config).

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.pad(jnp.array([1, 2, 3]), 0, [(2, -1, 1)])
    Array([0, 0, 1, 0, 2, 0], dtype=int32)
    """
    operand, value = lift(operand), lift(padding_value)
    config = tuple(tuple(n if isinstance(n, np.int64) else operator.index(n) for n in triple)
                   for triple in padding_config)  # fmt: skip
    pad_p.type(operand.aval, value.aval, padding_config=config)
    return pad_p.bind(operand, value, padding_config=config)


# ---- concatenate and split ----------------------------------------------------------------------


class Concatenate(LinearMany):
    """concatenate[dimension] *xs: joined along one axis."""

    def impl(self, *xs, dimension):
        return np.concatenate(xs, dimension)

    def type(self, *xs, dimension):
        if not xs:
            raise TypeError("concatenate expects at least one operand, got 0.")
        if len({len(x.shape) for x in xs}) != 1:
            first = "Cannot concatenate arrays with different numbers of dimensions: got "
            raise TypeError(shape_messages.joining(f"{first}{shapes_text(xs)}.", xs))
        first = xs[0].shape
        if not 0 <= dimension < len(first):
            raise TypeError(
                f"concatenate dimension out of bounds: dimension {dimension} for shapes "
                f"{shapes_text(xs)}."
            )
        rest = {x.shape[:dimension] + x.shape[dimension + 1 :] for x in xs}
        if len(rest) != 1:
            text = (
                "Cannot concatenate arrays with shapes that differ in dimensions other than the "
                f"one being concatenated: concatenating along dimension {dimension} for shapes "
                f"{shapes_text(xs)}."
            )
            raise TypeError(shape_messages.joining(text, xs, dimension))
        check_same_dtypes("concatenate", xs)
        size = sum(x.shape[dimension] for x in xs)
        shape = first[:dimension] + (size,) + first[dimension + 1 :]
        return ShapedArray(shape, xs[0].dtype, all(x.weak_type for x in xs))

    def transpose(self, ct, *xs, dimension):
        parts = split(ct, [x.shape[dimension] for x in xs], dimension)
        return [p if isinstance(x, Undef) else None for p, x in zip(parts, xs)]

    def batch(self, axis, vals, dims, /, *, dimension):
        xs = [batched_front(axis, x, d) for x, d in zip(vals, dims)]
        return concatenate(xs, dimension + 1), 0


class Split(LinearSplit):
    """split[sizes axis] x: consecutive pieces along one axis."""

    def impl(self, x, *, sizes, axis):
        return np.split(x, np.cumsum(sizes[:-1], dtype=int), axis) if sizes else []

    def type(self, x, *, sizes, axis):
        if any(n < 0 for n in sizes):
            raise ValueError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
        if x.shape[axis] != sum(sizes):
            raise ValueError(
                f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the operand "
                f"shape {list(x.shape)}"
            )
        return [
            ShapedArray(x.shape[:axis] + (int(n),) + x.shape[axis + 1 :], x.dtype, x.weak_type)
            for n in sizes
        ]

    def transpose(self, cts, x, *, sizes, axis):
        return [concatenate(list(map(instantiate, cts)), axis)]

    def batch(self, axis_data, vals, dims, /, *, sizes, axis):
        d = dims[0]
        return split(vals[0], sizes, axis + (axis >= d)), [d] * len(sizes)


concatenate_p = Concatenate("concatenate")
split_p = Split("split")


def concatenate(operands, dimension):
    """Join arrays along an existing axis.

    Args:
      operands: arrays of one dtype, whose shapes agree except along `dimension`.
      dimension: the axis, in [0, ndim).

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.concatenate([jnp.array([1, 2]), jnp.array([3])], 0)
    Array([1, 2, 3], dtype=int32)
    """
    if len(operands) == 0:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    if len(operands) == 1 and isinstance(operands[0], Value):
        return operands[0]
    operands, dimension = list(map(lift, operands)), operator.index(dimension)
    concatenate_p.type(*[x.aval for x in operands], dimension=dimension)
    return concatenate_p.bind(*operands, dimension=dimension)


def split(operand, sizes, axis=0):
    """Cut an array into consecutive pieces along an axis.

    Args:
      operand: array.
      sizes: the pieces' sizes, whose sum is the size of the axis.
      axis: the axis.

    Returns a list of arrays. Raises ValueError when the sizes do not add up.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.split(jnp.arange(3), [1, 2])
    [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    operand = lift(operand)
    axis = canonicalize_axis(axis, operand.ndim)
    for n in sizes:
        operator.index(n)  # raises; they stay what they are, as jaxprs show
    sizes = tuple(sizes)
    split_p.type(operand.aval, sizes=sizes, axis=axis)
    return split_p.bind(operand, sizes=sizes, axis=axis)


# ---- rev -------------------------------------------------------------------------------


class Rev(LinearOp):
    """rev[dimensions] x: some axes backwards."""

    def impl(self, x, *, dimensions):
        return np.flip(x, dimensions)

    def type(self, x, *, dimensions):
        if len(set(dimensions)) != len(dimensions):
            raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
        if any(not 0 <= d < len(x.shape) for d in dimensions):
            raise TypeError(
                "rev dimensions must all be less than operand ndim, got dimensions "
                f"{dimensions} for operand ndim {len(x.shape)}."
            )
        return x

    def transpose(self, ct, x, *, dimensions):
        return [self.bind(ct, dimensions=dimensions)]

    def batch(self, axis, vals, dims, /, *, dimensions):
        d = dims[0]
        return self.bind(vals[0], dimensions=tuple(i + (i >= d) for i in dimensions)), d


rev_p = Rev("rev")


def rev(operand, dimensions):
    """The elements in reverse order along some (distinct) axes.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.rev(jnp.arange(3), (0,))
    Array([2, 1, 0], dtype=int32)
    """
    operand, dimensions = lift(operand), tuple(map(operator.index, dimensions))
    rev_p.type(operand.aval, dimensions=dimensions)
    return rev_p.bind(operand, dimensions=dimensions)
