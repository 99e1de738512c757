"""Triangular matrices: triangular_solve; cholesky, whose rule needs it; cholesky_update."""

import functools

import numpy as np

from tinyjax.array import lift
from tinyjax.core import Undef, Zero, nonzero
from tinyjax.primitives.arithmetic import mul, neg
from tinyjax.primitives.complex_parts import conj
from tinyjax.primitives.linear import (
    add_tangents,
    batched_front,
    expand_dims,
    moveaxis,
    reshape,
    squeeze,
)
from tinyjax.primitives.matrices import (
    flipped,
    lower,
    mask,
    number,
    product,
    symmetrized,
    upper,
)
from tinyjax.primitives.matrix_cards import MatrixPrimitive, many_small
from tinyjax.primitives.selection import select

# ---- equations with a triangular matrix ---------------------------------------------------------


@functools.cache
def blas_solver(dtype):
    """BLAS's trsm for a dtype."""
    from scipy.linalg.blas import get_blas_funcs

    return get_blas_funcs("trsm", dtype=dtype)


def substitute(a, b, lower):
    """x with a @ x = b, row by row: from the top if a is lower triangular."""
    n = a.shape[-1]
    x = np.array(b)
    for i in range(n) if lower else reversed(range(n)):
        known = slice(0, i) if lower else slice(i + 1, n)
        done = (a[..., i, None, known] @ x[..., known, :])[..., 0, :]
        x[..., i, :] = (x[..., i, :] - done) / a[..., i, i, None]
    return x


class TriangularSolve(MatrixPrimitive):
    """triangular_solve[left_side lower transpose_a conjugate_a unit_diagonal] a b.

    op(a) @ x = b, or x @ op(a) = b. Linear in b.
    """

    ranks = (2, 2)

    def impl(self, a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
        if conjugate_a:
            a = np.conj(a)
        settings = {"left_side": left_side, "lower": lower, "transpose_a": transpose_a}
        settings |= {"conjugate_a": False, "unit_diagonal": unit_diagonal}
        if b.size and not many_small(a, b.dtype):
            return super().impl(a, b, **settings)
        if transpose_a:
            a, lower = np.swapaxes(a, -1, -2), not lower
        if unit_diagonal:
            a = np.where(np.eye(a.shape[-1], dtype=bool), np.ones((), a.dtype), a)
        if left_side:
            return substitute(a, b, lower)
        a, b = np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)
        return np.swapaxes(substitute(a, b, not lower), -1, -2)

    def one(self, a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
        # BLAS reads columns where NumPy has rows: it solves the transposed equation, on no copies.
        settings = {"lower": not lower, "trans_a": int(transpose_a), "diag": unit_diagonal}
        return blas_solver(b.dtype)(1, a.T, b.T, side=left_side, **settings).T

    def shapes(self, a, b, *, left_side, **params):
        if a[0] != a[1]:
            raise ValueError(
                f"The first input to triangular_solve must be a square matrix. Got shape {a}."
            )
        if a[1] != b[0 if left_side else 1]:
            raise ValueError(f"Incompatible shapes for arguments to triangular_solve: {a} and {b}.")
        return b

    def linearize(self, nz, a, b, **params):
        x = self.bind(a, b, **params)
        left, low = params["left_side"], params["lower"]
        k = 1 if params["unit_diagonal"] else 0

        def push(da, db):
            moved = Zero(b.aval)
            if nonzero(da):
                da = lower(da, -k) if low else upper(da, k)
                da = flipped(da) if params["transpose_a"] else da
                da = conj(da) if params["conjugate_a"] and da.dtype.kind == "c" else da
                moved = neg(product(da, x) if left else product(x, da))
            total = add_tangents(db, moved)
            return self.bind(a, total, **params) if nonzero(total) else total

        return x, push

    def transpose(self, ct, a, b, **params):
        if isinstance(a, Undef):
            raise NotImplementedError("triangular_solve is not linear in its matrix")
        params["transpose_a"] = not params["transpose_a"]
        return [None, self.bind(a, ct, **params)]

    def batch(self, axis, vals, dims, /, **params):
        (a, b), (a_dim, b_dim) = vals, dims
        if a_dim is not None:
            pair = batched_front(axis, a, a_dim), batched_front(axis, b, b_dim)
            return self.bind(*pair, **params), 0
        # One matrix for the whole batch: all right-hand sides side by side.
        at = b.ndim - 1 if params["left_side"] else b.ndim - 2
        b = moveaxis(b, b_dim, at)
        split = at - 1
        joined = (*b.shape[:split], b.shape[split] * b.shape[split + 1], *b.shape[split + 2 :])
        return reshape(self.bind(a, reshape(b, joined), **params), b.shape), at


triangular_solve_p = TriangularSolve("triangular_solve")


def triangular_solve(a, b, *, left_side=False, lower=False, transpose_a=False, conjugate_a=False,
                     unit_diagonal=False):  # fmt: skip
    """Solve equations whose matrix is triangular.

    Args:
      a: matrices [..., n, n]; the other triangle is not looked at.
      b: right-hand sides [..., n, k] if left_side, else [..., k, n]; or vectors [..., n].
      left_side: a @ x = b rather than x @ a = b.
      lower: whether a is lower triangular.
      transpose_a, conjugate_a: take the transpose, the conjugate of a.
      unit_diagonal: take ones for the diagonal of a.

    Returns x, in the shape of b.
    Raises ValueError when shapes do not fit, TypeError for other dtypes than floats and complex.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> a = np.array([[2.0, 0.0], [1.0, 1.0]], "float32")
    >>> lax.linalg.triangular_solve(a, np.array([2.0, 3.0], "float32"), left_side=True, lower=True)
    Array([1., 2.], dtype=float32)
    """
    a, b = lift(a), lift(b)
    vector = b.ndim == a.ndim - 1
    if vector:
        b = expand_dims(b, (b.ndim if left_side else b.ndim - 1,))
    out = triangular_solve_p(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a and a.dtype.kind == "c",
        unit_diagonal=unit_diagonal,
    )
    return squeeze(out, (out.ndim - (1 if left_side else 2),)) if vector else out


# ---- Cholesky -----------------------------------------------------------------------------------


class Cholesky(MatrixPrimitive):
    """cholesky x: the lower triangular L with x = L @ L^H; nan where there is none."""

    def impl(self, x):
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:  # some matrix is not positive definite
            return super().impl(x)

    def one(self, x):
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            return np.nan

    def shapes(self, shape):
        if shape[0] != shape[1]:
            raise ValueError(f"The input to cholesky must be a square matrix. Got shape {shape}.")
        return shape

    def linearize(self, nz, x):
        root = lower(self.bind(x))

        def push(t):
            inner = triangular_solve(
                root, t, left_side=False, lower=True, transpose_a=True, conjugate_a=True
            )
            inner = triangular_solve(root, inner, left_side=True, lower=True)
            half = select(mask(inner.shape, diagonal=True), mul(inner, number(inner, 0.5)), inner)
            return product(root, lower(half))

        return root, push


cholesky_p = Cholesky("cholesky")


def cholesky(x, *, symmetrize_input=True):
    """The lower triangular L with x = L @ L^H.

    Args:
      x: Hermitian positive definite matrices [..., n, n]; others give nan.
      symmetrize_input: take (x + x^H) / 2, so that gradients are symmetric. If False, only the
        lower triangle counts.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> lax.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 2.0]], "float32"))
    Array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    x = lift(x)
    return lower(cholesky_p(symmetrized(x) if symmetrize_input else x))


class CholeskyUpdate(MatrixPrimitive):
    """cholesky_update r w: upper triangular, with the square r^T @ r + w w^T."""

    ranks = (2, 1)

    def shapes(self, r, w):
        if r != (*w, *w):
            raise ValueError(
                "Rank-1 update to Cholesky decomposition takes a square matrix and a vector of the "
                f"same size as input. Got shapes {r} and {w} instead"
            )
        return r

    def one(self, r, w):
        r, w = np.array(r), np.array(w)
        for k in range(len(w)):  # one Givens rotation per row makes an element of w zero
            radius = np.hypot(r[k, k], w[k])
            if w[k] != 0:
                c, s = r[k, k] / radius, w[k] / radius
                r[k], w = c * r[k] + s * w, c * w - s * r[k]
        return r


cholesky_update_p = CholeskyUpdate("cholesky_update")


def cholesky_update(r_matrix, w_vector):
    """The Cholesky factor of r^T @ r + w w^T, from that of r^T @ r, in O(n^2) steps.

    Args:
      r_matrix: upper triangular matrices [..., n, n]; w_vector: vectors [..., n].

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> lax.linalg.cholesky_update(np.eye(2, dtype="float32"), np.float32([0, 0]))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return cholesky_update_p(r_matrix, w_vector)
