"""What rules of linear algebra are written with: products, transposes and triangles of matrices.

All work on the last two axes; leading axes are batches.
"""

import numpy as np

from tinyjax.array import Array
from tinyjax.primitives.arithmetic import add, div, eq, ge, mul
from tinyjax.primitives.complex_parts import conj
from tinyjax.primitives.creation import broadcasted_iota, full_like
from tinyjax.primitives.dot import Precision, dot_general
from tinyjax.primitives.linear import broadcast_in_dim, convert, reduce_sum, transpose
from tinyjax.primitives.selection import select
from tinyjax.primitives.shaping import pad
from tinyjax.primitives.shaping import slice as slice_


def product(x, y):
    """x @ y, batch by batch."""
    batch = tuple(range(x.ndim - 2))
    axes = ((x.ndim - 1,), (y.ndim - 2,))
    return dot_general(x, y, (axes, (batch, batch)), precision=Precision.HIGHEST)


def flipped(x):
    """The transpose."""
    return transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def adjoint(x):
    """The conjugate transpose."""
    x = flipped(x)
    return conj(x) if x.dtype.kind == "c" else x


def number(x, value):
    """A number at the dtype of x."""
    return Array(np.asarray(value).astype(x.dtype), literal=True)


def symmetrized(x):
    """(x + x^H) / 2."""
    return div(add(x, adjoint(x)), number(x, 2))


def mask(shape, k=0, diagonal=False):
    """Where a matrix has its k-th diagonal and what lies below (or the diagonal only)."""
    rows = broadcasted_iota(np.int32, shape[-2:], 0)
    rows = add(rows, Array(np.int32(k), literal=True))
    columns = broadcasted_iota(np.int32, shape[-2:], 1)
    found = (eq if diagonal else ge)(rows, columns)
    dims = (len(shape) - 2, len(shape) - 1)
    return broadcast_in_dim(found, shape, dims) if len(shape) > 2 else found


def lower(x, k=0):
    """x without what lies above its k-th diagonal."""
    return select(mask(x.shape, k), x, full_like(x, 0))


def upper(x, k=0):
    """x without what lies below its k-th diagonal."""
    return select(mask(x.shape, k - 1), full_like(x, 0), x)


def unit(x):
    """Identity matrices in the shape and dtype of x."""
    return convert(mask(x.shape, diagonal=True), x.dtype)


def block(x, rows, columns):
    """A part of matrices, given by slices."""
    starts = (0,) * (x.ndim - 2) + (rows.start, columns.start)
    return slice_(x, starts, (*x.shape[:-2], rows.stop, columns.stop))


def padded(x, rows, columns):
    """x with as many rows and columns of zeros added."""
    if not rows and not columns:
        return x
    config = [(0, 0, 0)] * (x.ndim - 2) + [(0, rows, 0), (0, columns, 0)]
    return pad(x, number(x, 0), config)


def diagonal(x):
    """The diagonals of square matrices."""
    kept = select(mask(x.shape, diagonal=True), x, full_like(x, 0))
    return reduce_sum(kept, (x.ndim - 1,))


def as_rows(v):
    """Vectors as matrices of one row, to be stretched."""
    n = v.ndim
    return broadcast_in_dim(v, (*v.shape[:-1], 1, v.shape[-1]), (*range(n - 1), n))


def as_columns(v):
    """Vectors as matrices of one column, to be stretched."""
    return broadcast_in_dim(v, (*v.shape, 1), tuple(range(v.ndim)))


def stretched(v, shape):
    """Matrices of one row or column as matrices of a shape."""
    return broadcast_in_dim(v, shape, tuple(range(len(shape))))


def scale_columns(x, v):
    """x with its columns multiplied by the elements of v."""
    return mul(x, stretched(as_rows(v), x.shape))


def scale_rows(x, v):
    """x with its rows multiplied by the elements of v."""
    return mul(x, stretched(as_columns(v), x.shape))
