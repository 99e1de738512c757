"""Tridiagonal equations; symmetric products."""

import numpy as np

from tinyjax.array import lift
from tinyjax.core import Undef, Zero, nonzero
from tinyjax.primitives.arithmetic import add, neg
from tinyjax.primitives.creation import full_like
from tinyjax.primitives.linear import (
    add_tangents,
    batched_front,
    instantiate,
    moveaxis,
    reshape,
)
from tinyjax.primitives.matrices import flipped, lower, scale_rows
from tinyjax.primitives.matrix_cards import MatrixPrimitive, lapack
from tinyjax.primitives.shaping import concatenate
from tinyjax.primitives.slicing import slice_in_dim

# ---- tridiagonal equations ----------------------------------------------------------------------


class TridiagonalSolve(MatrixPrimitive):
    """tridiagonal_solve[perturb_singular] dl d du b. Linear in b."""

    ranks = (1, 1, 1, 2)

    def shapes(self, dl, d, du, b, **params):
        if not dl == d == du:
            raise TypeError(
                "tridiagonal_solve requires that all diagonal arguments have the same shape."
            )
        if dl != b[:-1]:
            raise TypeError(
                "tridiagonal_solve requires that the leading ndim-1 dimensions of b equal the "
                "dimensions of the diagonal arguments."
            )
        return b

    def one(self, dl, d, du, b, *, perturb_singular):
        if b.size == 0:
            return b
        if perturb_singular:
            a = np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)
            return np.linalg.solve(perturbed(a), b)
        gtsv = lapack("gtsv", b.dtype) if len(d) > 1 else None
        if gtsv is None:
            return thomas(dl, d, du, b)
        *_, x, info = gtsv(dl[1:], d, du[:-1], b)
        return x if info == 0 else np.nan

    def linearize(self, nz, dl, d, du, b, **params):
        x = self.bind(dl, d, du, b, **params)

        def push(*tangents):
            *diagonals, db = tangents
            moved = Zero(b.aval)
            if any(map(nonzero, diagonals)):
                moved = neg(tridiagonal_product(*map(instantiate, diagonals), x))
            total = add_tangents(db, moved)
            return self.bind(dl, d, du, total, **params) if nonzero(total) else total

        return x, push

    def transpose(self, ct, dl, d, du, b, **params):
        if any(isinstance(x, Undef) for x in (dl, d, du)):
            raise NotImplementedError("tridiagonal_solve is not linear in its diagonals")
        return [None, None, None, self.bind(shifted(du, 1), d, shifted(dl, -1), ct, **params)]

    def batch(self, axis, vals, dims, /, **params):
        *diagonals, b = vals
        *own, b_dim = dims
        if any(d is not None for d in own):
            moved = [batched_front(axis, v, d) for v, d in zip(vals, dims)]
            return self.bind(*moved, **params), 0
        at = b.ndim - 2  # one matrix: all right-hand sides side by side
        b = moveaxis(b, b_dim, at)
        joined = (*b.shape[:at], b.shape[at] * b.shape[at + 1])
        return reshape(self.bind(*diagonals, reshape(b, joined), **params), b.shape), at


def thomas(dl, d, du, b):
    """Elimination without exchanges, for when there is no SciPy."""
    n = len(d)
    x, d = np.array(b), np.array(d)
    for i in range(1, n):
        factor = dl[i] / d[i - 1]
        d[i] -= factor * du[i - 1]
        x[i] -= factor * x[i - 1]
    x[n - 1] /= d[n - 1]
    for i in reversed(range(n - 1)):
        x[i] = (x[i] - du[i] * x[i + 1]) / d[i]
    return x


def perturbed(a):
    """a, moved off singularity by about its rounding error."""
    u, s, vh = np.linalg.svd(a)
    limits = np.finfo(s.dtype)
    floor = max(limits.eps * s[0], limits.tiny)
    return (u * np.maximum(s, floor)) @ vh


def shifted(x, by):
    """The elements of vectors moved by one place, with a zero where one is missing."""
    last, n = x.ndim - 1, x.shape[-1]
    if by > 0:
        gap = full_like(slice_in_dim(x, n - 1, n, axis=last), 0)
        return concatenate((gap, slice_in_dim(x, 0, n - 1, axis=last)), last)
    gap = full_like(slice_in_dim(x, 0, 1, axis=last), 0)
    return concatenate((slice_in_dim(x, 1, n, axis=last), gap), last)


def tridiagonal_product(dl, d, du, x):
    """The product of a tridiagonal matrix with matrices."""
    rows, n = x.ndim - 2, x.shape[-2]
    gap = full_like(slice_in_dim(x, 0, 1, axis=rows), 0)
    above = concatenate((gap, slice_in_dim(x, 0, n - 1, axis=rows)), rows)
    below = concatenate((slice_in_dim(x, 1, n, axis=rows), gap), rows)
    return add(scale_rows(x, d), add(scale_rows(above, dl), scale_rows(below, du)))


tridiagonal_solve_p = TridiagonalSolve("tridiagonal_solve")


def tridiagonal_solve(dl, d, du, b, *, perturb_singular=False):
    """x with A @ x = b, where A has three diagonals.

    Args:
      dl, d, du: the lower, middle and upper diagonal [..., m]: dl[i] = A[i, i - 1], dl[0] = 0;
        du[i] = A[i, i + 1], du[m - 1] = 0.
      b: right-hand sides [..., m, n].
      perturb_singular: give a large, finite answer where A is singular.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> dl, d, du = np.float32([0, 1, 1]), np.float32([2, 2, 2]), np.float32([1, 1, 0])
    >>> print(lax.linalg.tridiagonal_solve(dl, d, du, np.float32([[3], [4], [3]])).ravel())
    [1. 1. 1.]
    """
    return tridiagonal_solve_p(dl, d, du, b, perturb_singular=perturb_singular)


# ---- symmetric products -------------------------------------------------------------------------


class SymmetricProduct(MatrixPrimitive):
    """symmetric_product[alpha beta] a c: alpha * a @ a^T + beta * c."""

    ranks, accepts = (2, 2), "f"

    def shapes(self, a, c, **params):
        if a[0] != c[1] or c[0] != c[1]:
            raise ValueError(
                "symmetric_update expects a rectangular matrix of shape (m, n) and a square matrix "
                f"of shape (n, n). Got shapes {a} and {c}."
            )
        return c

    def one(self, a, c, *, alpha, beta):
        return alpha * (a @ a.T) + beta * c


symmetric_product_p = SymmetricProduct("symmetric_product")


def symmetric_product(a_matrix, c_matrix, *, alpha=1.0, beta=0.0, symmetrize_output=False):
    """alpha * a @ a^T + beta * c.

    Args:
      a_matrix: matrices [..., m, n]; c_matrix: symmetric matrices [..., m, m].
      alpha, beta: numbers.
      symmetrize_output: copy the lower triangle of the result into the upper one.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> a, c = np.ones((2, 3), "float32"), np.eye(2, dtype="float32")
    >>> lax.linalg.symmetric_product(a, c, beta=1.0)
    Array([[4., 3.],
           [3., 4.]], dtype=float32)
    """
    a, c = lift(a_matrix), lift(c_matrix)
    out = symmetric_product_p(a, c, alpha=alpha, beta=beta)
    return add(lower(out), flipped(lower(out, -1))) if symmetrize_output else out
