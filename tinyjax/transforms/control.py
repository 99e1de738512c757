"""associative_scan: all partial results of an operation, by halving."""

from tinyjax.primitives.cumulative import prefix_scan
from tinyjax.primitives.linear import canonicalize_axis
from tinyjax.primitives.shaping import rev
from tinyjax.tracebacks import boundary
from tinyjax.transforms.flat import lift_args
from tinyjax.tree_util import tree_flatten, tree_unflatten


@boundary
def associative_scan(fn, elems, reverse=False, axis=0):
    """All partial results of an associative operation, in logarithmically many steps.

    Args:
      fn: function of two elements (arrays, or pytrees structured as elems) that works on many of
        them at once and is associative.
      elems: pytree of arrays with one size along the axis.
      reverse: combine from the end: fn gets the result for the later elements first.
      axis: the axis to scan along.

    Returns arrays as elems: entry i holds fn of the entries up to i.
    Raises TypeError when fn is no function, ValueError when the sizes differ.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.associative_scan(jnp.maximum, jnp.array([1, 3, 2, 5]))
    Array([1, 3, 3, 5], dtype=int32)
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, tree = tree_flatten(elems)
    arrays = lift_args(leaves, "associative_scan", "elems")
    if not arrays:
        return elems
    axis = canonicalize_axis(axis, arrays[0].ndim)
    if any(a.shape[axis] != arrays[0].shape[axis] for a in arrays):
        raise ValueError(
            "Array inputs to associative_scan must have the same first dimension along the axis. "
            f"(saw: {[a.shape for a in arrays]})"
        )

    def combine(left, right):
        a, b = tree_unflatten(tree, left), tree_unflatten(tree, right)
        return lift_args(tree_flatten(fn(a, b))[0], "associative_scan")

    if reverse:
        arrays = [rev(a, (axis,)) for a in arrays]
    arrays = prefix_scan(combine, arrays, axis)
    if reverse:
        arrays = [rev(a, (axis,)) for a in arrays]
    return tree_unflatten(tree, arrays)
