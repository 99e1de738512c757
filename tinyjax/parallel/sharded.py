"""Arrays that lie on devices: what pmap returns."""

from typing import NamedTuple

import numpy as np

from tinyjax.array import Array, KeyArray
from tinyjax.avals import ShapedArray


class Layout(NamedTuple):
    """How an array lies on devices.

    devices: their ids, in the order of the mesh axis called axis_name. cut: the axis of the array
    that has one element on each device; None if every device holds the whole array.
    """

    devices: tuple[int, ...]
    axis_name: object
    cut: int | None


class ShardedArray(Array):
    """An Array whose parts are on devices, and perhaps still being computed there.

    Looking at the value (`npy`) waits for it. The type is known from the start.
    """

    __slots__ = ("buffer", "engine", "known", "layout", "ticket", "value")

    def __init__(self, aval, buffer, layout, engine, ticket=None):
        self.known, self.buffer, self.layout = aval, buffer, layout
        self.engine, self.ticket, self.value = engine, ticket, None
        self.weak_type, self.literal = aval.weak_type, False

    aval = property(lambda self: self.known)
    shape = property(lambda self: self.known.shape)
    dtype = property(lambda self: self.known.dtype)
    ndim = property(lambda self: len(self.known.shape))
    size = property(lambda self: self.known.size)
    nbytes = property(lambda self: self.known.size * self.known.dtype.itemsize)
    itemsize = property(lambda self: self.known.dtype.itemsize)

    @property
    def npy(self):
        """The value as one NumPy array; the engine's memory is looked at, not copied, if it can."""
        if self.value is None:
            self.block_until_ready()
            self.value = assemble(self.engine.get(self.buffer), self.known, self.layout.cut)
        return self.value

    def block_until_ready(self):
        """Wait for the devices; an error on one of them is raised here. Returns the array."""
        if self.ticket is not None:
            self.ticket.wait()
            self.ticket = None
        return self

    def is_ready(self):
        """Whether the value has been computed."""
        return self.ticket is None or self.ticket.done()


class ShardedKeys(KeyArray):
    """Random keys that pmap returned. They are kept here, and know where they were made."""

    __slots__ = ("layout",)

    def __init__(self, npy, layout):
        self.npy, self.layout = npy, layout
        self.weak_type = self.literal = False


def assemble(parts, aval, cut):
    """The array whose parts these are, stacked along a first axis (one part: all have the same)."""
    if cut is None:
        return parts[0]
    moved = np.moveaxis(parts, 0, cut)
    return moved if moved.shape == aval.shape else np.broadcast_to(moved, aval.shape)


def dismantle(array, cut):
    """The parts of an array, stacked along a first axis: the other way round."""
    return array[None] if cut is None else np.moveaxis(array, cut, 0)


def row_aval(aval, cut):
    """The type of one part."""
    if cut is None:
        return aval
    return ShapedArray(aval.shape[:cut] + aval.shape[cut + 1 :], aval.dtype, aval.weak_type)


def whole_aval(aval, cut, size):
    """The type of an array of so many parts of this type: the other way round."""
    if cut is None:
        return aval
    return aval.update(shape=(*aval.shape[:cut], size, *aval.shape[cut:]))
