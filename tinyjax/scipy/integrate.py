"""jax.scipy.integrate: the area below samples of a function."""

from tinyjax import numpy as jnp
from tinyjax.transforms.subprogram import subprogram

__all__ = ["trapezoid"]


@subprogram(static_argnames=("axis",))
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral of samples along an axis, by trapezoids.

    Args:
      y: array of samples.
      x: their places; or
      dx: the distance of neighbours.
      axis: the axis.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy.integrate import trapezoid
    >>> trapezoid(jnp.array([0.0, 1.0, 2.0]))
    Array(2., dtype=float32)
    """
    return jnp.trapezoid(y, x, dx, axis)
