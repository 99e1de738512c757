"""Arrays written as indices: mgrid, ogrid, r_, c_."""

import numpy as np

from tinyjax.numpy.checks import concrete_or_error
from tinyjax.numpy.creation import arange, array, meshgrid
from tinyjax.numpy.joining import concatenate, stack
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.ranges import linspace
from tinyjax.numpy.shaping import expand_dims, transpose


def ramp(s, name):
    """The numbers that a slice means; an imaginary step says how many there are."""
    start = concrete_or_error(None, s.start, f"slice start of jnp.{name}") or 0
    stop = concrete_or_error(None, s.stop, f"slice stop of jnp.{name}")
    step = concrete_or_error(None, s.step, f"slice step of jnp.{name}") or 1
    if np.iscomplex(step):
        return linspace(start, stop, int(abs(step)))
    return arange(start, stop, step)


class Grid:
    """mgrid and ogrid: index them with slices, one per axis."""

    def __init__(self, name, sparse):
        self.name, self.sparse = name, sparse

    def __getitem__(self, key):
        if isinstance(key, slice):
            return ramp(key, self.name)
        axes = promote_dtypes(*[ramp(k, self.name) for k in key])
        grids = meshgrid(*axes, indexing="ij", sparse=self.sparse)
        if self.sparse:
            return grids
        return stack(grids, 0) if grids else arange(0)


class AxisConcat:
    """r_ and c_: index them with arrays, numbers and slices, which are joined."""

    def __init__(self, name, axis, ndmin, place):
        self.name, self.settings = name, (axis, ndmin, place)

    def __len__(self):
        return 0

    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        axis, ndmin, place = self.settings
        matrix = -1
        if isinstance(key[0], str):
            directive, key = key[0], key[1:]
            if directive in ("r", "c"):
                matrix = "rc".index(directive)
            else:
                axis, ndmin, place = self.parse(directive)
        parts = [self.part(item, ndmin, place) for item in key]
        out = concatenate(parts, axis=axis)
        return expand_dims(out, matrix) if matrix != -1 and out.ndim == 1 else out

    def parse(self, directive):
        """ "axis,ndmin,place": where to join, how many axes, where new axes go."""
        given = directive.split(",")
        try:
            return tuple(map(int, [*given[:3], *self.settings[len(given) :]]))
        except ValueError:
            raise ValueError(f"could not understand directive {directive!r}") from None

    def part(self, item, ndmin, place):
        """One item as an array of at least ndmin axes."""
        if isinstance(item, str):
            raise ValueError("string directive must be placed at the beginning")
        if isinstance(item, slice):
            out, ndim = ramp(item, self.name), 0
        else:
            out = array(item, copy=False)
            ndim = out.ndim
        out = array(out, copy=False, ndmin=ndmin)
        if place == -1 or ndmin <= ndim:
            return out
        shift = ndmin - abs(ndmin + place + 1) % ndmin
        order = tuple(range(ndmin))
        return transpose(out, order[shift:] + order[:shift])


mgrid, ogrid = Grid("mgrid", False), Grid("ogrid", True)
r_, c_ = AxisConcat("r_", 0, 1, -1), AxisConcat("c_", -1, 2, 0)
