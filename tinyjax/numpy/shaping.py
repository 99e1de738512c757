"""The same elements in another shape: reshape, transpose, axes added, removed, moved, reversed."""

import math
import operator

import numpy as np

from tinyjax import lax, shape_messages
from tinyjax.array import lift
from tinyjax.numpy.checks import (
    check_arraylike,
    ensure_arraylike,
    index_tuple,
    static_axes,
)
from tinyjax.numpy.creation import array, asarray
from tinyjax.numpy.promotion import broadcast_together, to_shape
from tinyjax.primitives.linear import canonicalize_axes, canonicalize_axis, canonicalize_shape
from tinyjax.source import warn
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import subprogram

# ---- facts --------------------------------------------------------------------------------------


def ndim(a):
    """The number of axes."""
    if hasattr(a, "ndim"):
        return a.ndim
    return len(shape_of_list("ndim", a))


def shape(a):
    """The sizes of the axes, a tuple."""
    if hasattr(a, "shape"):
        return a.shape
    return shape_of_list("shape", a)


def shape_of_list(name, a):
    """The shape that a number or nested list has in NumPy; lists are deprecated, as in JAX."""
    if isinstance(a, (list, tuple)):
        warn(
            f"{name} requires ndarray or scalar arguments, got {type(a)}. In a future JAX release "
            "this will be an error.", DeprecationWarning,
        )  # fmt: skip
        return np.shape(a)
    return ensure_arraylike(name, a).shape


def size(a, axis=None):
    """The number of elements (along one axis, or several)."""
    shape_ = shape(a)
    if axis is None:
        return math.prod(shape_)
    axes = canonicalize_axes(index_tuple(axis), len(shape_))
    return math.prod(shape_[d] for d in axes)


# ---- reshape ------------------------------------------------------------------------------------


@recorded
def reshape(a, shape, order="C", *, copy=None):
    """The same elements in another shape.

    Args:
      a: array.
      shape: the new sizes; one may be -1, and is worked out.
      order: "C" (the last axis varies fastest) or "F" (the first one does).
      copy: has no effect.

    Raises TypeError if the number of elements does not fit.

    >>> import tinyjax.numpy as jnp
    >>> jnp.reshape(jnp.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    a = ensure_arraylike("reshape", a)
    new = new_shape(a, shape)
    if order == "C":
        return lax.reshape(a, new)
    if order == "F":
        return lax.reshape(a, new[::-1], range(a.ndim)[::-1]).T
    if order == "A":
        raise NotImplementedError("np.reshape order=A is not implemented.")
    raise ValueError(f"Unexpected value for 'order' argument: {order}.")


def new_shape(a, shape):
    """A shape argument with its -1 worked out."""
    try:
        new = index_tuple(shape)
    except TypeError:
        new = canonicalize_shape(shape)  # raises, and says why
    unknown = [i for i, d in enumerate(new) if d == -1]
    if len(unknown) > 1:
        raise TypeError(f"can only specify one unknown axis size with a `-1` value, got {shape}")
    if unknown:
        i = unknown[0]
        others = math.prod(new[:i] + new[i + 1 :])
        if others == 0 or a.size % others:
            first = (
                f"cannot reshape array of shape {a.shape} (size {a.size}) into shape {shape} "
                f"because the product of specified axis sizes ({others}) does not evenly divide "
                f"{a.size}"
            )
            raise TypeError(shape_messages.reshaping(first, a.size, new))
        return (*new[:i], a.size // others, *new[i + 1 :])
    if math.prod(new) != a.size:
        first = (
            f"cannot reshape array of shape {a.shape} (size {a.size}) into shape {shape} (size "
            f"{math.prod(new)})"
        )
        raise TypeError(shape_messages.reshaping(first, a.size, new))
    return new


@recorded
def ravel(a, order="C"):
    """All elements along one axis."""
    a = ensure_arraylike("ravel", a)
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    return reshape(a, (a.size,), order)


@subprogram(static_argnames=("new_shape",))
def resize(a, new_shape):
    """The elements, repeated or cut off as often as the new shape needs."""
    a = ensure_arraylike("resize", a)
    new_shape = index_tuple(new_shape)
    if any(d < 0 for d in new_shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    flat, n = ravel(a), math.prod(new_shape)
    if flat.size == 0 or n == 0:
        return lax.full_like(flat, 0, shape=new_shape)
    return reshape(lax.tile(flat, (-(-n // flat.size),))[:n], new_shape)


# ---- axes ---------------------------------------------------------------------------------------


@recorded
def transpose(a, axes=None):
    """Permute the axes: reverse them, by default.

    Args:
      a: array.
      axes: axis i of the result is axis axes[i] of a.

    >>> import tinyjax.numpy as jnp
    >>> jnp.transpose(jnp.ones((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    a = ensure_arraylike("transpose", a)
    axes = range(a.ndim)[::-1] if axes is None else axes
    return lax.transpose(a, [canonicalize_axis(i, a.ndim) for i in axes])


def permute_dims(a, /, axes):
    """transpose with its axes given, as the array API has it."""
    a = ensure_arraylike("permute_dims", a)
    return lax.transpose(a, [canonicalize_axis(i, a.ndim) for i in axes])


@recorded
def matrix_transpose(x, /):
    """Swap the last two axes."""
    x = ensure_arraylike("matrix_transpose", x)
    n = x.ndim
    if n < 2:
        raise ValueError(f"x must be at least two-dimensional for matrix_transpose; got ndim={n}")
    return lax.transpose(x, (*range(n - 2), n - 1, n - 2))


@recorded
def swapaxes(a, axis1, axis2):
    """Swap two axes."""
    a = ensure_arraylike("swapaxes", a)
    perm = list(range(a.ndim))
    for axis in (axis1, axis2):
        if not -a.ndim <= operator.index(axis) < a.ndim:
            raise IndexError(f"swapaxes: index {axis} is out of bounds for the {a.ndim} axes of a")
    i, j = canonicalize_axis(axis1, a.ndim), canonicalize_axis(axis2, a.ndim)
    perm[i], perm[j] = perm[j], perm[i]
    return lax.transpose(a, perm)


@recorded
def moveaxis(a, source, destination):
    """Move axes to other places; the others keep their order.

    >>> import tinyjax.numpy as jnp
    >>> jnp.moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = ensure_arraylike("moveaxis", a)
    source = canonicalize_axes(index_tuple(source), a.ndim, "source")
    destination = canonicalize_axes(index_tuple(destination), a.ndim, "destination")
    if len(source) != len(destination):
        raise ValueError(f"Inconsistent number of elements: {len(source)} vs {len(destination)}")
    perm = [i for i in range(a.ndim) if i not in source]
    for dest, src in sorted(zip(destination, source)):
        perm.insert(dest, src)
    return lax.transpose(a, perm)


@subprogram(static_argnames=("axis", "start"))
def rollaxis(a, axis, start=0):
    """Move one axis in front of another; moveaxis is easier to read."""
    a = ensure_arraylike("rollaxis", a)
    n = a.ndim
    axis = canonicalize_axis(axis, n)
    if not -n <= start <= n:
        raise ValueError(f"start={start} must satisfy {-n}<=start<={n}")
    start = start + n if start < 0 else start
    return moveaxis(a, axis, start - 1 if start > axis else start)


@recorded
def squeeze(a, axis=None):
    """Remove axes of size 1: these, or all of them.

    Raises ValueError if a given axis has another size.
    """
    a = ensure_arraylike("squeeze", a)
    if axis is None:
        axes = [i for i, d in enumerate(a.shape) if d == 1]
    else:
        axes = index_tuple(axis)
    return lax.squeeze(a, axes)


@recorded
def expand_dims(a, axis):
    """Insert axes of size 1 at these places of the result."""
    return lax.expand_dims(ensure_arraylike("expand_dims", a), index_tuple(axis))


# ---- broadcasting -------------------------------------------------------------------------------


@recorded
def broadcast_to(array, shape):
    """Stretch axes of size 1, and prepend axes, to get a shape.

    >>> import tinyjax.numpy as jnp
    >>> jnp.broadcast_to(jnp.arange(2), (2, 2))
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    return to_shape(ensure_arraylike("broadcast_to", array), canonicalize_shape(shape))


@recorded
def broadcast_arrays(*args):
    """The arrays, each broadcast to their common shape: a list."""
    check_arraylike("broadcast_arrays", *args)
    return broadcast_together(*map(lift, args))


def broadcast_shapes(*shapes):
    """The common shape of shapes. Raises ValueError if there is none."""
    if not shapes:
        return ()
    return lax.broadcast_shapes(*[(s,) if np.ndim(s) == 0 else tuple(s) for s in shapes])


# ---- at least so many axes ----------------------------------------------------------------------


@subprogram
def atleast_1d(*arys):
    """Arrays with one axis or more: one array gives an array, several a list."""
    return at_least("atleast_1d", 1, arys)


@subprogram
def atleast_2d(*arys):
    """Arrays with two axes or more; new ones come first."""
    return at_least("atleast_2d", 2, arys)


@subprogram
def atleast_3d(*arys):
    """Arrays with three axes or more; a vector becomes (1, n, 1), a matrix (m, n, 1)."""
    check_arraylike("atleast_3d", *arys)
    if len(arys) != 1:
        return [atleast_3d(x) for x in arys]
    x = asarray(arys[0])
    new = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}.get(x.ndim)
    return x if new is None else lax.expand_dims(x, new)


def at_least(name, n, arys):
    """Prepend axes until there are n."""
    check_arraylike(name, *arys)
    out = [array(x, copy=False, ndmin=n) for x in arys]
    return out[0] if len(out) == 1 else out


# ---- order --------------------------------------------------------------------------------------


@recorded
def flip(m, axis=None):
    """Reverse the order of the elements along axes (all by default)."""
    return _flip(ensure_arraylike("flip", m), static_axes(axis))


@subprogram(static_argnames=("axis",))
def _flip(m, axis=None):
    """flip with axis known."""
    axes = range(m.ndim) if axis is None else index_tuple(axis)
    return lax.rev(m, [canonicalize_axis(d, m.ndim) for d in axes])


def fliplr(m):
    """Reverse the second axis."""
    return _flip(ensure_arraylike("fliplr", m), 1)


def flipud(m):
    """Reverse the first axis."""
    return _flip(ensure_arraylike("flipud", m), 0)


@subprogram(static_argnames=("k", "axes"))
def rot90(m, k=1, axes=(0, 1)):
    """Rotate by k right angles in the plane of two axes."""
    m = ensure_arraylike("rot90", m)
    if m.ndim < 2:
        raise ValueError(
            "rot90 requires its first argument to have ndim at least two, but got first argument "
            f"of shape {m.shape}, which has ndim {m.ndim}"
        )
    ax1, ax2 = (canonicalize_axis(d, m.ndim) for d in axes)
    if ax1 == ax2:
        raise ValueError("Axes must be different")
    k = k % 4
    if k == 0:
        return m
    if k == 2:
        return flip(flip(m, ax1), ax2)
    perm = list(range(m.ndim))
    perm[ax1], perm[ax2] = perm[ax2], perm[ax1]
    if k == 1:
        return transpose(flip(m, ax2), perm)
    return flip(transpose(m, perm), ax2)


@recorded
def roll(a, shift, axis=None):
    """Move elements along axes; what leaves at one end comes in at the other.

    Args:
      a: array.
      shift: by how many places; one number, or one per axis.
      axis: along which axes; by default along the flat array, which then gets its shape back.
    """
    a = ensure_arraylike("roll", a)
    if axis is None:
        return roll(a.ravel(), shift, 0).reshape(a.shape)
    axis = tuple(canonicalize_axis(d, a.ndim) for d in index_tuple(axis))
    try:
        shift = index_tuple(shift)
    except TypeError:
        return _roll_dynamic(a, asarray(shift), axis=axis)
    return _roll_static(a, shift=shift, axis=axis)


@subprogram(static_argnames=("shift", "axis"))
def _roll_static(a, shift, axis):
    """roll by known shifts: two slices change places."""
    for d, s in zip(*np.broadcast_arrays(axis, shift)):
        n, d = a.shape[d], int(d)
        if n == 0:
            continue
        i = int(-s % n)
        parts = lax.slice_in_dim(a, i, n, axis=d), lax.slice_in_dim(a, 0, i, axis=d)
        a = lax.concatenate(parts, d)
    return a


@subprogram(static_argnames=("axis",))
def _roll_dynamic(a, shift, axis):
    """roll by shifts that are arrays."""
    shape = lax.broadcast_shapes(shift.shape, np.shape(axis))
    if len(shape) != 1:
        raise ValueError("'shift' and 'axis' arguments to roll must be scalars or 1D arrays")
    for x, d in zip(broadcast_to(shift, shape), np.broadcast_to(axis, shape)):
        n, d = array(a.shape[d], dtype=np.int32), int(d)
        x = lax.convert_element_type(x, np.int32) % lax.max(n, np.int32(1))
        a = lax.dynamic_slice_in_dim(lax.concatenate((a, a), d), n - x, a.shape[d], axis=d)
    return a
