"""Shapes that fit together: broadcast_shapes, broadcast_to; and how round may round."""

import enum

from tinyjax import shape_messages
from tinyjax.array import lift
from tinyjax.primitives.linear import broadcast_in_dim, canonicalize_shape


class RoundingMethod(enum.IntEnum):
    """Where lax.round takes halves: away from zero, or to the even neighbour."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def broadcast_shapes(*shapes):
    """The shape that shapes broadcast to, as NumPy's: axes of size 1 stretch, missing ones are new.

    Raises ValueError if the shapes do not fit.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    return common_shape(shapes)


def common_shape(shapes, values=()):
    """broadcast_shapes; values: what has these shapes, for the message."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    out = []
    for sizes in zip(*padded):
        others = {n for n in sizes if n != 1}
        if len(others) > 1:
            first = f"Incompatible shapes for broadcasting: shapes={[tuple(s) for s in shapes]}"
            raise ValueError(shape_messages.broadcasting(first, shapes, values))
        out.append(others.pop() if others else 1)
    return tuple(out)


def broadcast_to(arr, shape):
    """Stretch axes of size 1, and prepend axes, to get a shape.

    Raises ValueError if the array does not fit.
    """
    x, shape = lift(arr), canonicalize_shape(shape)
    if x.shape == shape:
        return x
    lead = len(shape) - x.ndim
    if lead < 0:
        raise ValueError(
            f"Cannot broadcast to shape with fewer dimensions: arr_shape={x.shape} shape={shape}"
        )
    if any(a not in (1, b) for a, b in zip(x.shape, shape[lead:])):
        first = (
            f"Incompatible shapes for broadcasting: an array of shape {x.shape} does not fit the "
            f"requested shape {shape}."
        )
        raise ValueError(shape_messages.to_target(first, x.shape, x.dtype, shape))
    return broadcast_in_dim(x, shape, tuple(range(lead, len(shape))))
