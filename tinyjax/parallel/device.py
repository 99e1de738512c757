"""One device, as the program that runs on it sees it: its place in the mesh, and its peers.

A collective's card asks `current_device()` for the exchange that it needs. An engine subclasses
`Device` and brings the exchanges; who takes part in them is worked out here.
"""

import itertools
from contextvars import ContextVar
from functools import cache

import numpy as np

# ---- the mesh ------------------------------------------------------------------------------------


class Mesh(tuple):
    """The named axes of a program, outermost first: ((name, size), ...).

    Devices are numbered along the last axis first; that number is a device's position.
    """

    __slots__ = ()
    names = property(lambda self: tuple(name for name, _ in self))
    sizes = property(lambda self: tuple(size for _, size in self))

    @property
    def count(self):
        """The number of devices."""
        return len(list(itertools.product(*map(range, self.sizes))))

    def coordinates(self, position):
        """The index of a device along each axis.

        >>> Mesh([("rows", 2), ("columns", 4)]).coordinates(6)
        (1, 2)
        """
        out = []
        for size in reversed(self.sizes):
            position, index = divmod(position, size)
            out.append(index)
        return tuple(reversed(out))

    def peers(self, position, axes):
        """The positions that differ from this one along the named axes only; in the order of axes,
        the last one running first.

        >>> mesh = Mesh([("rows", 2), ("columns", 4)])
        >>> mesh.peers(6, ("rows",)), mesh.peers(6, ("columns",))
        ((2, 6), (4, 5, 6, 7))
        """
        own, places = self.coordinates(position), [self.names.index(a) for a in axes]
        out = []
        for moved in itertools.product(*[range(self.sizes[p]) for p in places]):
            at = list(own)
            for place, index in zip(places, moved):
                at[place] = index
            out.append(self.position(at))
        return tuple(out)

    def position(self, coordinates):
        """The position of the device with these coordinates."""
        out = 0
        for index, size in zip(coordinates, self.sizes):
            out = out * size + index
        return out


# ---- the device ----------------------------------------------------------------------------------


UFUNCS = {"add": np.add, "max": np.maximum, "min": np.minimum}  # the op of allreduce


class Device:
    """What a program asks of the device it runs on. Arrays are NumPy's; members are positions in
    the mesh, this device among them, and all of them make the same call in the same order.

    allreduce(op, x, members)       x op x op ... over the members, in their order, the same bits
                                    everywhere; op is "add", "max" or "min"
    all_gather(x, members)          their x, stacked along a new first axis
    reduce_scatter(x, members)      the sum of what is meant for us; x[k] is for the k-th member
    all_to_all(x, members)          the same, but stacked instead of summed
    permute(x, members, sources)    x of member sources[own index]; zeros if that is None
    call_back(number, args)         run the program's callback of this number where the user is

    allreduce takes out=, an array to write the result to, which all members share.
    """

    def __init__(self, mesh, position):
        self.mesh, self.position = mesh, position
        self.peers = cache(self._peers)

    def _peers(self, axes, groups=None):
        """The members of a collective over axes. groups: axis_index_groups, for one axis."""
        members = self.mesh.peers(self.position, axes)
        if groups is None:
            return members
        own = members.index(self.position)
        for group in groups:
            if own in group:
                return tuple(members[i] for i in group)
        raise ValueError(f"axis_index_groups {groups} leave out index {own} of axis {axes[0]!r}")

    def axis_index(self, name):
        """The index of this device along a named axis."""
        return self.mesh.coordinates(self.position)[self.mesh.names.index(name)]


_current: ContextVar[Device | None] = ContextVar("device", default=None)
set_device = _current.set  # this thread runs programs of that device from now on


def current_device():
    """The device whose program this thread runs; None outside of any."""
    return _current.get()
