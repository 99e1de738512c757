"""Collectives over a named axis of vmap: psum pmax pmin axis_index, and what follows from them."""

import numpy as np

from tinyjax.array import Array, lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive
from tinyjax.primitives.arithmetic import div, mul
from tinyjax.primitives.creation import iota
from tinyjax.primitives.linear import convert, reduce_sum
from tinyjax.primitives.reducing import reduce_max, reduce_min
from tinyjax.transforms.batching import axis_size_of
from tinyjax.tree_util import tree_map


class Collective(Primitive):
    """Reduce over named axes: local is the reduction over an array axis."""

    collective = True
    printed = {"axis_index_groups": None}

    def __init__(self, name, local):
        self.name, self.local = name, local

    def impl(self, x, *, axes):
        axis_size_of(axes[0])  # outside of any axis: raises NameError

    def type(self, x, *, axes):
        for name in axes:
            axis_size_of(name)
        return x

    def batch(self, axis, vals, dims, /, *, axes):
        (x,), (d,) = vals, dims
        if axis.name in axes:
            x, d = self.reduce_over(axis, x, d), None
            axes = tuple(a for a in axes if a != axis.name)
        return (self.bind(x, axes=axes) if axes else x), d

    def reduce_over(self, axis, x, d):
        """The reduction over the axis of this vmap."""
        return x if d is None else self.local(x, (d,))


class Psum(Collective):
    """psum[axes] x: the sum over named axes, the same for all."""

    def linearize(self, nz, x, *, axes):
        return self.bind(x, axes=axes), lambda t: self.bind(t, axes=axes)

    def transpose(self, ct, x, *, axes):
        return [self.bind(ct, axes=axes)]

    def reduce_over(self, axis, x, d):
        if d is None:
            return mul(x, Array(np.asarray(axis.size, x.dtype), literal=True))
        return self.local(x, (d,))


class AxisIndex(Primitive):
    """axis_index[axis_name]: the position along a named axis."""

    collective = True

    def impl(self, *, axis_name):
        axis_size_of(axis_name)

    def type(self, *, axis_name):
        axis_size_of(axis_name)
        return ShapedArray((), np.dtype(np.int32))

    def batch(self, axis, vals, dims, /, *, axis_name):
        if axis.name == axis_name:
            return iota(np.int32, axis.size), 0
        return self.bind(axis_name=axis_name), None


psum_p, axis_index_p = Psum("psum", reduce_sum), AxisIndex("axis_index")
pmax_p, pmin_p = Collective("pmax", reduce_max), Collective("pmin", reduce_min)


def names_of(axis_name):
    """One name or several, as a tuple."""
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def axis_size(axis_name):
    """The number of elements along a named axis (the product, for several)."""
    return int(np.prod([axis_size_of(a) for a in names_of(axis_name)]))


def psum(x, axis_name):
    """The sum over a named axis; every element of the axis gets it.

    Args:
      x: pytree of arrays. A Python number is multiplied by the axis size, and stays one.
      axis_name: the axis_name given to vmap or pmap, or a tuple of names.

    Raises NameError when the name is not in scope.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.vmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    axes = names_of(axis_name)

    def one(leaf):
        if isinstance(leaf, (int, float)):
            return leaf * axis_size(axes)
        return psum_p.bind(lift(leaf), axes=axes)

    return tree_map(one, x)


def pmean(x, axis_name):
    """The mean over a named axis."""
    n = axis_size(axis_name)

    def one(leaf):
        value = lift(leaf)
        if value.dtype.kind in "biu":
            value = convert(value, np.dtype(np.float32))
        return div(psum(value, axis_name), Array(np.asarray(n, value.dtype), literal=True))

    return tree_map(one, x)


def pmax(x, axis_name):
    """The maximum over a named axis."""
    return tree_map(lambda leaf: pmax_p.bind(lift(leaf), axes=names_of(axis_name)), x)


def pmin(x, axis_name):
    """The minimum over a named axis."""
    return tree_map(lambda leaf: pmin_p.bind(lift(leaf), axes=names_of(axis_name)), x)


def axis_index(axis_name):
    """The position along a named axis, as int32."""
    names = names_of(axis_name)
    index = axis_index_p.bind(axis_name=names[0])
    for name in names[1:]:
        size = Array(np.asarray(axis_size(name), np.int32), literal=True)
        index = mul(index, size) + axis_index_p.bind(axis_name=name)
    return index
