"""Several arrays into one, one into several, one array repeated."""

import operator

import numpy as np

from tinyjax import lax
from tinyjax.numpy.checks import (
    check_arraylike,
    check_out,
    check_sequence,
    concrete_or_error,
    ensure_arraylike,
    is_array,
)
from tinyjax.numpy.creation import array, asarray, full, zeros
from tinyjax.numpy.gather import take
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.reductions import cumsum
from tinyjax.numpy.shaping import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_to,
    expand_dims,
    ravel,
    roll,
)
from tinyjax.primitives.linear import canonicalize_axis
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import subprogram

# ---- several into one ---------------------------------------------------------------------------


@recorded
def stack(arrays, axis=0, out=None, dtype=None):
    """Join arrays of one shape along a new axis.

    Args:
      arrays: a sequence of arrays or numbers.
      axis: the place of the new axis in the result.
      dtype: of the result; by default that of mixing the arrays.

    >>> import tinyjax.numpy as jnp
    >>> jnp.stack([jnp.zeros(2), jnp.ones(2)])
    Array([[0., 0.],
           [1., 1.]], dtype=float32)
    """
    if not len(arrays):
        raise ValueError("Need at least one array to stack.")
    check_out("stack", out)
    if is_array(arrays):
        axis = canonicalize_axis(axis, arrays.ndim)
        return concatenate(expand_dims(arrays, axis + 1), axis=axis, dtype=dtype)
    arrays = check_sequence("stack", arrays)
    if dtype is None:
        arrays = promote_dtypes(*arrays)
    else:
        arrays = [asarray(a, dtype=dtype) for a in arrays]
    return lax.stack(arrays, axis=axis)


@recorded
def unstack(x, /, *, axis=0):
    """The slices along an axis, as a tuple of arrays."""
    return lax.unstack(ensure_arraylike("unstack", x), axis=axis)


@recorded
def concatenate(arrays, axis=0, dtype=None):
    """Join arrays along an axis that they have; None: join the flat arrays.

    Args:
      arrays: a sequence of arrays whose other axes agree.
      axis: along which to join.
      dtype: of the result; by default that of mixing the arrays.

    Raises ValueError for no arrays or for numbers, TypeError for shapes that do not fit.

    >>> import tinyjax.numpy as jnp
    >>> jnp.concatenate([jnp.arange(2), jnp.arange(3)])
    Array([0, 1, 0, 1, 2], dtype=int32)
    """
    if is_array(arrays):
        return concatenate_slices(asarray(arrays, dtype=dtype), axis)
    arrays = check_sequence("concatenate", arrays)
    if not arrays:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return concatenate([ravel(a) for a in arrays], axis=0, dtype=dtype)
    if arrays[0].ndim == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonicalize_axis(axis, arrays[0].ndim)
    if dtype is None:
        arrays = promote_dtypes(*arrays)
    else:
        arrays = [asarray(a, dtype=dtype) for a in arrays]
    return lax.concatenate(arrays, axis)


def concatenate_slices(arr, axis):
    """concatenate of the slices of one array, which is a reshape."""
    if arr.ndim == 0 or arr.shape[0] == 0:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return lax.reshape(arr, (arr.size,))
    if arr.ndim == 1:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    axis = canonicalize_axis(axis, arr.ndim - 1)
    n, *sizes = arr.shape
    sizes[axis] *= n
    return lax.reshape(arr, sizes, [*range(1, axis + 1), 0, *range(axis + 1, arr.ndim)])


def concat(arrays, /, *, axis=0):
    """concatenate, as the array API has it."""
    check_arraylike("concat", *arrays)
    return concatenate(arrays, axis=axis)


@recorded
def vstack(tup, dtype=None):
    """Join along the first axis; vectors count as rows."""
    return concatenate([atleast_2d(m) for m in rows("vstack", tup)], axis=0, dtype=dtype)


@recorded
def hstack(tup, dtype=None):
    """Join along the second axis, vectors along their only one."""
    arrs = [atleast_1d(m) for m in rows("hstack", tup)]
    return concatenate(arrs, axis=0 if arrs[0].ndim == 1 else 1, dtype=dtype)


@recorded
def dstack(tup, dtype=None):
    """Join along the third axis."""
    return concatenate([atleast_3d(m) for m in rows("dstack", tup)], axis=2, dtype=dtype)


@recorded
def column_stack(tup):
    """Join along the second axis; vectors count as columns."""
    arrs = [asarray(m) for m in rows("column_stack", tup)]
    return concatenate([atleast_2d(m).T if m.ndim < 2 else m for m in arrs], axis=1)


def rows(name, tup):
    """The arrays of a sequence (the slices of an array), checked."""
    tup = list(tup)
    check_arraylike(name, *tup)
    return tup


@subprogram
def block(arrays):
    """Assemble an array from nested lists of blocks: the innermost are joined side by side."""
    return join_blocks(arrays)[0]


def join_blocks(xs):
    """-> the array that a nested list of blocks makes, and how deep it was nested."""
    if isinstance(xs, tuple):
        raise ValueError(f"jax.numpy.block does not allow tuples, got {xs}")
    if not isinstance(xs, list):
        return asarray(xs), 1
    if not xs:
        raise ValueError("jax.numpy.block does not allow empty list arguments")
    joined = [join_blocks(x) for x in xs]
    depth = joined[0][1]
    if any(d != depth for _, d in joined):
        raise ValueError("Mismatched list depths in jax.numpy.block")
    rank = max(depth, *[x.ndim for x, _ in joined])
    parts = [lax.broadcast(x, (1,) * (rank - x.ndim)) for x, _ in joined]
    return concatenate(parts, axis=-depth), depth + 1


@subprogram(static_argnames=("axis",))
def append(arr, values, axis=None):
    """Values joined to the end of an array (of the flat array by default)."""
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis=axis)


# ---- one into several ---------------------------------------------------------------------------


@recorded
def split(ary, indices_or_sections, axis=0):
    """Cut an array into a list of arrays along an axis.

    Args:
      ary: array.
      indices_or_sections: how many equal parts, or the indices where to cut.
      axis: along which to cut.

    Raises ValueError if the axis is not a multiple of the number of parts.
    """
    return cut("split", ary, indices_or_sections, axis)


@recorded
def array_split(ary, indices_or_sections, axis=0):
    """split, where the first parts may be longer by one element."""
    return cut("array_split", ary, indices_or_sections, axis)


def vsplit(ary, indices_or_sections):
    """split along the first axis."""
    return cut("vsplit", ary, indices_or_sections, 0)


def hsplit(ary, indices_or_sections):
    """split along the second axis, of a vector along its only one."""
    ary = ensure_arraylike("hsplit", ary)
    return cut("hsplit", ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def dsplit(ary, indices_or_sections):
    """split along the third axis."""
    return cut("dsplit", ary, indices_or_sections, 2)


def cut(name, ary, indices_or_sections, axis):
    """split and its kin."""
    ary = ensure_arraylike(name, ary)
    axis = concrete_or_error(operator.index, axis, f"in jax.numpy.{name} argument `axis`")
    size = ary.shape[axis]
    known = concrete_or_error(None, indices_or_sections, f"in jax.numpy.{name} argument 1")
    if np.ndim(known):
        ends = [operator.index(i) for i in np.asarray(known)]
        sizes = np.diff([0, *ends, size])
    else:
        parts = operator.index(known)
        part, rest = divmod(size, parts)
        if rest and name != "array_split":
            raise ValueError(f"array split does not result in an equal division: rest is {rest}")
        sizes = [part + 1] * rest + [part] * (parts - rest)
    return list(lax.split(ary, list(map(np.int64, sizes)), axis=axis))


# ---- repeated -----------------------------------------------------------------------------------


@recorded
def tile(A, reps):
    """An array repeated along its axes.

    Args:
      A: array.
      reps: how often along each axis; leading axes are added as needed.

    >>> import tinyjax.numpy as jnp
    >>> jnp.tile(jnp.array([1, 2]), 2)
    Array([1, 2, 1, 2], dtype=int32)
    """
    A = ensure_arraylike("tile", A)
    try:
        reps = tuple(operator.index(r) for r in reps)
    except TypeError:
        reps = (operator.index(reps),)
    reps = (1,) * (A.ndim - len(reps)) + reps
    if len(reps) > A.ndim:
        A = lax.expand_dims(A, range(len(reps) - A.ndim))
    return lax.tile(A, reps)


def tile_to_size(arr, size):
    """A flat array repeated and cut off to a length."""
    if arr.size < size:
        arr = tile(arr, -(-size // arr.size))
    return arr[:size] if arr.size > size else arr


@recorded
def repeat(a, repeats, axis=None, *, total_repeat_length=None):
    """Repeat each element.

    Args:
      a: array.
      repeats: how often: one number, or one per element along the axis. Must be known while
        tracing unless total_repeat_length is given.
      axis: along which; by default along the flat array.
      total_repeat_length: length of the result; elements too many are dropped, the last one fills.
    """
    check_arraylike("repeat", a, repeats)
    a = asarray(a)
    if axis is None:
        a, axis = a.ravel(), 0
    axis = concrete_or_error(operator.index, axis, "'axis' argument of jnp.repeat()")
    if total_repeat_length is None:
        repeats = concrete_or_error(
            None,
            repeats,
            "When jit-compiling jnp.repeat, the total number of repeats must be static. To fix "
            "this, either specify a static value for `repeats`, or pass a static value to "
            "`total_repeat_length`.",
        )
        if np.ndim(repeats) == 0 and a.ndim:
            return repeat_each(a, operator.index(repeats), canonicalize_axis(axis, a.ndim))
        repeats = np.ravel(np.asarray(repeats))
        if a.ndim:
            repeats = np.broadcast_to(repeats, [a.shape[axis]])
        total_repeat_length = int(np.sum(repeats))
    else:
        repeats = ravel(repeats)
        if a.ndim:
            repeats = broadcast_to(repeats, [a.shape[axis]])
    if a.ndim == 0:
        if np.shape(repeats) == (1,):
            return full([total_repeat_length], a)
        raise ValueError(
            "`repeat` with a scalar parameter `a` is only implemented for scalar values of the "
            "parameter `repeats`."
        )
    if total_repeat_length == 0:
        shape = list(a.shape)
        shape[axis] = 0
        return array([], dtype=a.dtype).reshape(shape)
    if a.shape[axis] == 0:
        return a
    first = cumsum(roll(repeats, shift=1).at[0].set(0))  # where the copies of each element begin
    steps = zeros([total_repeat_length], dtype="int32").at[first].add(1)
    return take(a, cumsum(steps) - 1, axis=axis)


def repeat_each(a, n, axis):
    """repeat every element n times: broadcast along a new axis, then merge it."""
    spread = [*a.shape[: axis + 1], n, *a.shape[axis + 1 :]]
    others = [i for i in range(len(spread)) if i != axis + 1]
    out = lax.broadcast_in_dim(a, spread, others)
    shape = list(a.shape)
    shape[axis] *= n
    return out.reshape(shape)
