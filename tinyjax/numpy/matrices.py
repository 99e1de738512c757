"""Diagonals and triangles of matrices, grids of indices."""

import operator

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.checks import check_out, check_sequence, concrete_or_error, ensure_arraylike
from tinyjax.numpy.creation import arange, array, eye, ones, tri, zeros
from tinyjax.numpy.gather import open_grid
from tinyjax.numpy.joining import stack, tile_to_size
from tinyjax.numpy.reductions import sum
from tinyjax.numpy.searching import nonzero
from tinyjax.numpy.selection import _where
from tinyjax.numpy.shaping import moveaxis, ravel
from tinyjax.primitives.linear import canonicalize_axis
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import subprogram

# ---- diagonals ----------------------------------------------------------------------------------


@recorded
def diag(v, k=0):
    """A matrix with a vector on its k-th diagonal; or the k-th diagonal of a matrix.

    >>> import tinyjax.numpy as jnp
    >>> jnp.diag(jnp.array([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    return _diag(ensure_arraylike("diag", v), operator.index(k))


@subprogram(static_argnames=("k",))
def _diag(v, k):
    """diag with k known."""
    if v.ndim == 2:
        return diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError("diag input must be 1d or 2d")
    zero = lax.full_like(v, 0, shape=())
    n = v.shape[0] + abs(k)
    v = lax.pad(v, zero, ((max(0, -k), max(0, k), 0),))
    return _where(eye(n, k=k, dtype=bool), v[:, None], zero)


@subprogram(static_argnames=("offset", "axis1", "axis2"))
def diagonal(a, offset=0, axis1=0, axis2=1):
    """The diagonal of matrices, along a new last axis.

    Args:
      a: array with two axes or more.
      offset: which diagonal; positive ones lie above the main one.
      axis1, axis2: the rows and the columns.
    """
    a = ensure_arraylike("diagonal", a)
    if a.ndim < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    offset = concrete_or_error(operator.index, offset, "'offset' argument of jnp.diagonal()")
    rows, columns = a.shape[axis1], a.shape[axis2]
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    size = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    i, j = arange(size), arange(abs(offset), abs(offset) + size)
    return a[..., i, j] if offset >= 0 else a[..., j, i]


def diagflat(v, k=0):
    """A matrix with the flat array on its k-th diagonal."""
    v = ravel(v)
    n = len(v) + abs(k)
    out = zeros(n * n, dtype=v.dtype)
    i = arange(0, n - abs(k))
    flat = i + k + i * n if k >= 0 else i + (i - k) * n
    return IndexUpdate(out)[flat].set(v).reshape(n, n)


@subprogram(static_argnames=("axis1", "axis2", "dtype"))
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """The sum of a diagonal; arguments as of diagonal."""
    a = ensure_arraylike("trace", a)
    check_out("trace", out)
    if canonicalize_axis(axis1, a.ndim) == canonicalize_axis(axis2, a.ndim):
        raise ValueError(f"axis1 and axis2 can not be same. axis1={axis1} and axis2={axis2}")
    if dtype is not None:
        dtype = dtypes.check_user_dtype_supported(dtype, "trace")
    rows, columns = a.shape[axis1], a.shape[axis2]
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    a = _where(eye(rows, columns, k=offset, dtype=bool), a, lax.full_like(a, 0))
    return sum(a, axis=(-2, -1), dtype=dtype)


def fill_diagonal(a, val, wrap=False, *, inplace=True):
    """a with val on its diagonal; needs inplace=False, since arrays are immutable."""
    if inplace:
        raise NotImplementedError("JAX arrays are immutable, must use inplace=False")
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False")
    a, val = ensure_arraylike("fill_diagonal", a, val)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    n = min(a.shape)
    values = val if val.ndim == 0 else tile_to_size(val.ravel(), n)
    return IndexUpdate(a)[diag_indices(n, a.ndim)].set(values)


def diag_indices(n, ndim=2):
    """The indices of the main diagonal, one array per axis."""
    n = concrete_or_error(operator.index, n, "'n' argument of jnp.diag_indices()")
    ndim = concrete_or_error(operator.index, ndim, "'ndim' argument of jnp.diag_indices()")
    for name, value in (("n", n), ("ndim", ndim)):
        if value < 0:
            raise ValueError(f"{name} argument to diag_indices must be nonnegative, got {value}")
    return (lax.iota(dtypes.default_int_dtype(), n),) * ndim


def diag_indices_from(arr):
    """The indices of the main diagonal of an array; see diag_indices."""
    arr = ensure_arraylike("diag_indices_from", arr)
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], ndim=arr.ndim)


# ---- triangles ----------------------------------------------------------------------------------


@subprogram(static_argnames=("k",))
def tril(m, k=0):
    """Matrices with zeros above the k-th diagonal."""
    m, mask = triangle("tril", m, k)
    return lax.select(mask, m, lax.full_like(m, 0))


@subprogram(static_argnames=("k",))
def triu(m, k=0):
    """Matrices with zeros below the k-th diagonal."""
    m, mask = triangle("triu", m, k - 1)
    return lax.select(mask, lax.full_like(m, 0), m)


@recorded
def triangle(name, m, k):
    """-> the array, and where its matrices are on or below the k-th diagonal."""
    m = ensure_arraylike(name, m)
    if m.ndim < 2:
        raise ValueError(f"Argument to jax.numpy.{name} must be at least 2D")
    return m, lax.broadcast(tri(*m.shape[-2:], k=k, dtype=bool), m.shape[:-2])


def triu_size(n, m, k):
    """How many elements an n x m matrix has on and above its k-th diagonal."""
    if k < 0:
        return n * m - triu_size(m, n, 1 - k)
    if k >= m:
        return 0
    rows = min(n, m - k)
    return rows * (rows + 1) // 2 + rows * (m - k - rows)


def triu_indices(n, k=0, m=None):
    """The indices of the elements on and above the k-th diagonal of an n x m matrix."""
    m = n if m is None else m
    return nonzero(triu(ones((n, m)), k=k), size=triu_size(n, m, k))


def tril_indices(n, k=0, m=None):
    """The indices of the elements on and below the k-th diagonal of an n x m matrix."""
    m = n if m is None else m
    return nonzero(tril(ones((n, m)), k=k), size=triu_size(m, n, -k))


def triu_indices_from(arr, k=0):
    """triu_indices for the shape of a matrix."""
    n, m = matrix_shape("triu_indices_from", arr)
    return triu_indices(n, k=k, m=m)


def tril_indices_from(arr, k=0):
    """tril_indices for the shape of a matrix."""
    n, m = matrix_shape("tril_indices_from", arr)
    return tril_indices(n, k=k, m=m)


def matrix_shape(name, arr):
    """The shape of something with two axes."""
    shape = arr.shape if hasattr(arr, "shape") else ensure_arraylike(name, arr).shape
    if len(shape) != 2:
        raise ValueError("Only 2-D inputs are accepted")
    return shape


def mask_indices(n, mask_func, k=0, *, size=None):
    """The indices where mask_func(ones((n, n)), k) is nonzero."""
    return nonzero(mask_func(ones((n, n)), k), size=size)


# ---- grids --------------------------------------------------------------------------------------


def indices(dimensions, dtype=None, sparse=False):
    """For every place of an array of this shape, its index along each axis.

    Args:
      dimensions: a shape.
      dtype: of the indices.
      sparse: a tuple of arrays that broadcast, rather than one array.
    """
    dtype = dtypes.check_user_dtype_supported(int if dtype is None else dtype, "indices")
    shape = tuple(
        concrete_or_error(operator.index, d, "dimensions argument of jnp.indices")
        for d in dimensions
    )
    if sparse:
        return open_grid(shape, dtype)
    grids = [lax.broadcast_in_dim(lax.iota(dtype, n), shape, (i,)) for i, n in enumerate(shape)]
    return stack(grids, 0) if grids else array([], dtype=dtype)


def ix_(*args):
    """Index arrays shaped to pick the crossings of rows and columns: x[ix_(rows, columns)]."""
    args = check_sequence("ix", args)
    out = []
    for i, a in enumerate(args):
        if a.ndim != 1:
            raise ValueError(
                f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {a.shape}"
            )
        if a.dtype == bool:
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
        shape = [1] * len(args)
        shape[i] = a.shape[0]
        if a.size == 0:
            out.append(lax.full(shape, np.zeros((), dtypes.default_int_dtype())))
        else:
            out.append(lax.broadcast_in_dim(a, shape, (i,)))
    return tuple(out)
