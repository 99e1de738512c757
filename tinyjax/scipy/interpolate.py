"""jax.scipy.interpolate: functions known on a grid."""

from itertools import product

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.tree_util import register_pytree_node

__all__ = ["RegularGridInterpolator"]

METHODS = ("linear", "nearest")


def check_method(method):
    """Raise ValueError for an unknown method."""
    if method not in METHODS:
        raise ValueError(f"method {method!r} is not defined")


class RegularGridInterpolator:
    """A function known on a rectangular grid, in between.

    Args:
      points: for each axis the coordinates of the grid, an ascending vector.
      values: the function there, [*sizes of the grid, ...].
      method: 'linear' or 'nearest'.
      bounds_error: only False.
      fill_value: the value outside of the grid; None extrapolates.

    Raises ValueError for arguments that do not fit, NotImplementedError for bounds_error=True.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy.interpolate import RegularGridInterpolator
    >>> f = RegularGridInterpolator((jnp.arange(3.0),), jnp.array([0.0, 10.0, 20.0]))
    >>> f(jnp.array([0.5, 1.25]))
    Array([ 5. , 12.5], dtype=float32)
    """

    def __init__(self, points, values, method="linear", bounds_error=False, fill_value=np.nan):
        check_method(method)
        if bounds_error:
            raise NotImplementedError("`bounds_error` takes no effect under JIT")
        values = ensure_arraylike("RegularGridInterpolator", values)
        if len(points) > values.ndim:
            raise ValueError(
                f"there are {len(points)} point arrays, but values has {values.ndim} dimensions"
            )
        (values,) = promote_dtypes_inexact(values)
        if fill_value is not None:
            fill_value = ensure_arraylike("RegularGridInterpolator", fill_value)
            if fill_value.dtype.kind == "c" and values.dtype.kind != "c":
                raise ValueError(
                    "fill_value must be either 'None' or of a type compatible with values"
                )
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        self.grid = tuple(ensure_arraylike("RegularGridInterpolator", p) for p in points)
        self.values = values

    def __call__(self, xi, method=None):
        """The function at points.

        Args:
          xi: points [..., number of axes], or a tuple with their coordinates.
          method: another one than that of the interpolator.
        """
        method = self.method if method is None else method
        check_method(method)
        xi = as_points(xi, len(self.grid))
        if xi.shape[-1] != len(self.grid):
            raise ValueError(
                f"the requested sample points xi have dimension {xi.shape[-1]}, but this "
                f"RegularGridInterpolator has dimension {len(self.grid)}"
            )
        shape, xi = xi.shape[:-1], xi.reshape(-1, xi.shape[-1])
        cells, offsets, outside = self.find(xi.T)
        out = (self.linear if method == "linear" else self.nearest)(cells, offsets)
        if self.fill_value is not None:
            outside = outside.reshape(out.shape[:1] + (1,) * (out.ndim - 1))
            out = jnp.where(outside, self.fill_value, out)
        return out.reshape(shape + self.values.shape[len(self.grid) :])

    def find(self, xi):
        """-> for each axis the cells of the points, and where in them they lie; who is outside."""
        cells, offsets, outside = [], [], jnp.zeros((xi.shape[1],), dtype=bool)
        for x, g in zip(xi, self.grid):
            i = jnp.searchsorted(g, x) - 1
            i = jnp.where(i < 0, 0, i)
            i = jnp.where(i > g.size - 2, g.size - 2, i)
            cells.append(i)
            offsets.append((x - g[i]) / (g[i + 1] - g[i]))
            outside = outside | (x < g[0]) | (x > g[-1])
        return cells, offsets, outside

    def linear(self, cells, offsets):
        """The mean of the corners of cells, by how near they are."""
        spread = (slice(None),) + (None,) * (self.values.ndim - len(cells))
        out = jnp.asarray(0.0)
        for corner in product((0, 1), repeat=len(cells)):
            weight = jnp.asarray(1.0)
            for side, offset in zip(corner, offsets):
                weight = weight * (offset if side else 1 - offset)
            places = tuple(i + side for i, side in zip(cells, corner))
            out = out + self.values[places] * weight[spread]
        return out

    def nearest(self, cells, offsets):
        """The value at the nearest corner."""
        return self.values[tuple(jnp.where(t <= 0.5, i, i + 1) for i, t in zip(cells, offsets))]


def as_points(points, ndim):
    """Points [..., ndim], from an array or a tuple of coordinates."""
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        return jnp.stack(jnp.broadcast_arrays(*points), -1).astype(float)
    points = ensure_arraylike("RegularGridInterpolator", points)
    return points.reshape(-1, ndim) if points.ndim == 1 else points


register_pytree_node(
    RegularGridInterpolator,
    lambda f: ((f.grid, f.values, f.fill_value), (f.method, f.bounds_error)),
    lambda aux, children: RegularGridInterpolator(*children[:2], *aux, *children[2:]),
)
