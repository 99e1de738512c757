"""Arrays along a new axis, and repetition: stack, unstack, tile."""

import operator

import numpy as np

from tinyjax import shape_messages
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Undef
from tinyjax.primitives.linear import (
    LinearOp,
    broadcast,
    canonicalize_axis,
    instantiate,
    reduce_sum,
    reshape,
    to_front,
)
from tinyjax.primitives.shaping import (
    LinearMany,
    LinearSplit,
    check_same_dtypes,
    insert,
    shapes_text,
)

# ---- stack and unstack --------------------------------------------------------------------------


class Stack(LinearMany):
    """stack[axis] *xs: joined along a new axis."""

    def impl(self, *xs, axis):
        return np.stack(xs, axis)

    def type(self, *xs, axis):
        if not xs:
            raise ValueError("stack expects at least one operand, got 0.")
        if len({len(x.shape) for x in xs}) != 1:
            first = (
                f"Cannot stack arrays with different numbers of dimensions: got {shapes_text(xs)}."
            )
            raise ValueError(shape_messages.joining(first, xs))
        if len({x.shape for x in xs}) != 1:
            first = f"All input arrays must have the same shape. Got {shapes_text(xs)}."
            raise ValueError(shape_messages.joining(first, xs))
        check_same_dtypes("stack", xs)
        shape = insert(xs[0].shape, axis, len(xs))
        return ShapedArray(shape, xs[0].dtype, all(x.weak_type for x in xs))

    def transpose(self, ct, *xs, axis):
        parts = unstack_p.bind(ct, axis=axis)
        return [p if isinstance(x, Undef) else None for p, x in zip(parts, xs)]

    def batch(self, axis_data, vals, dims, /, *, axis):
        d = dims[0]
        if d is not None and all(e == d for e in dims):
            return self.bind(*vals, axis=axis + (axis > d)), d + (axis <= d)
        size = (axis_data.size,)
        xs = [to_front(broadcast(x, size) if e is None else x, e) for x, e in zip(vals, dims)]
        return self.bind(*xs, axis=axis + 1), 0


class Unstack(LinearSplit):
    """unstack[axis] x: one array per index of an axis."""

    def impl(self, x, *, axis):
        return list(np.moveaxis(x, axis, 0))

    def type(self, x, *, axis):
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        return [ShapedArray(shape, x.dtype, x.weak_type)] * x.shape[axis]

    def transpose(self, cts, x, *, axis):
        return [stack_p.bind(*map(instantiate, cts), axis=axis)]

    def batch(self, axis_data, vals, dims, /, *, axis):
        d = dims[0]
        out = self.bind(vals[0], axis=axis + (axis >= d))
        return out, [d - (axis < d)] * len(out)


stack_p, unstack_p = Stack("stack"), Unstack("unstack")


def stack(operands, axis=0):
    """Join arrays of one shape and dtype along a new axis.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    operands = list(map(lift, operands))
    if not operands:
        raise ValueError("stack expects at least one operand, got 0.")
    axis = canonicalize_axis(axis, operands[0].ndim + 1)
    stack_p.type(*[x.aval for x in operands], axis=axis)
    return stack_p.bind(*operands, axis=axis)


def unstack(x, axis=0):
    """A tuple with one array per index of an axis, which disappears.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.unstack(jnp.array([[1, 2], [3, 4]]), axis=1)
    (Array([1, 3], dtype=int32), Array([2, 4], dtype=int32))
    """
    x = lift(x)
    if x.ndim == 0:
        raise ValueError(
            "unstack requires arrays with rank > 0, however a scalar array of shape () was passed."
        )
    return tuple(unstack_p.bind(x, axis=canonicalize_axis(axis, x.ndim)))


# ---- tile ----------------------------------------------------------------------------------------


class Tile(LinearOp):
    """tile[reps] x: repeated along every axis."""

    def impl(self, x, *, reps):
        return np.tile(x, reps)

    def type(self, x, *, reps):
        if len(reps) != len(x.shape):
            raise TypeError(
                f"reps length must be equal to the ndim of x, got len(reps)={len(reps)} and "
                f"x.ndim={len(x.shape)}."
            )
        return ShapedArray([n * r for n, r in zip(x.shape, reps)], x.dtype, x.weak_type)

    def transpose(self, ct, x, *, reps):
        shape = [n for pair in zip(reps, x.aval.shape) for n in pair]
        return [reduce_sum(reshape(ct, shape), tuple(range(0, len(shape), 2)))]

    def batch(self, axis, vals, dims, /, *, reps):
        return self.bind(vals[0], reps=insert(reps, dims[0], 1)), dims[0]


tile_p = Tile("tile")


def tile(operand, reps):
    """The array repeated reps[i] times along axis i.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.tile(jnp.array([1, 2]), (2,))
    Array([1, 2, 1, 2], dtype=int32)
    """
    operand, reps = lift(operand), tuple(map(operator.index, reps))
    tile_p.type(operand.aval, reps=reps)
    return tile_p.bind(operand, reps=reps)
