"""Equations: triangular_solve, linear_solve; and cholesky, whose rule needs them."""

import numpy as np

from tinyjax.array import lift
from tinyjax.core import Primitive, Undef, Zero, nonzero
from tinyjax.primitives.arithmetic import mul, neg
from tinyjax.primitives.complex_parts import conj
from tinyjax.primitives.linear import add_tangents, batched_front
from tinyjax.primitives.matrices import (
    flipped,
    lower,
    mask,
    number,
    product,
    symmetrized,
    upper,
)
from tinyjax.primitives.selection import select

ACCEPTED = "fc"


class MatrixPrimitive(Primitive):
    """Works on the last two axes: a batch goes in front."""

    def batch(self, axis, vals, dims, /, **params):
        outs = self.bind(*[batched_front(axis, v, d) for v, d in zip(vals, dims)], **params)
        return outs, [0] * len(outs) if self.multi else 0


def check_matrix(name, x, square=True):
    """Raise unless x holds (square) matrices of single or double precision."""
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        what = "square matrices [..., n, n]" if square else "matrices [..., m, n]"
        raise ValueError(f"{name} takes {what}, got an array of shape {x.shape}")
    if x.dtype.kind not in ACCEPTED or x.dtype.itemsize < 4:
        raise TypeError(
            f"{name} does not accept dtype {x.dtype.name}. Accepted dtypes are float32, float64, "
            "complex64 and complex128."
        )


# ---- equations with any matrix ------------------------------------------------------------------


class Solve(MatrixPrimitive):
    """linear_solve a b: x with a @ x = b. Linear in b."""

    def impl(self, a, b):
        try:
            return np.linalg.solve(a, b).astype(b.dtype)
        except np.linalg.LinAlgError:  # some matrix is singular
            shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
            a = np.broadcast_to(a, shape + a.shape[-2:])
            out = np.array(np.broadcast_to(b, shape + b.shape[-2:]))
            for place in np.ndindex(shape):
                try:
                    out[place] = np.linalg.solve(a[place], out[place])
                except np.linalg.LinAlgError:
                    out[place] = np.inf
            return out

    def type(self, a, b):
        return b

    def linearize(self, nz, a, b):
        x = self.bind(a, b)

        def push(da, db):
            moved = neg(product(da, x)) if nonzero(da) else Zero(b.aval)
            total = add_tangents(db, moved)
            return self.bind(a, total) if nonzero(total) else total

        return x, push

    def transpose(self, ct, a, b):
        if isinstance(a, Undef):
            raise NotImplementedError("linear_solve is not linear in its matrix")
        return [None, self.bind(flipped(a), ct)]


linear_solve_p = Solve("linear_solve")


def linear_solve(a, b):
    """x with a @ x = b, for square matrices a and matrices b of one dtype.

    A singular matrix gives infinities.
    """
    a, b = lift(a), lift(b)
    check_matrix("linear_solve", a)
    check_right_side("linear_solve", a, b, True)
    return linear_solve_p.bind(a, b)


def check_right_side(name, a, b, left_side):
    """Raise unless b fits a."""
    axis = -2 if left_side else -1
    if b.ndim != a.ndim or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[axis]:
        raise TypeError(f"Incompatible shapes for {name}: a has shape {a.shape}, b {b.shape}")
    if a.dtype != b.dtype:
        raise TypeError(
            f"{name} requires arguments of one dtype, got {a.dtype.name} and {b.dtype.name}"
        )


# ---- equations with a triangular matrix ---------------------------------------------------------


def substitute(a, b, lower):
    """x with a @ x = b, row by row: from the top if a is lower triangular."""
    n = a.shape[-1]
    x = np.array(b)
    for i in range(n) if lower else reversed(range(n)):
        known = slice(0, i) if lower else slice(i + 1, n)
        done = np.einsum("...j,...jk->...k", a[..., i, known], x[..., known, :])
        x[..., i, :] = (x[..., i, :] - done) / a[..., i, i, None]
    return x


class TriangularSolve(MatrixPrimitive):
    """triangular_solve[left_side lower transpose_a conjugate_a unit_diagonal] a b.

    op(a) @ x = b, or x @ op(a) = b. Linear in b.
    """

    def impl(self, a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
        if conjugate_a:
            a = np.conj(a)
        if transpose_a:
            a, lower = np.swapaxes(a, -1, -2), not lower
        if unit_diagonal:
            eye = np.eye(a.shape[-1], dtype=bool)
            a = np.where(eye, np.ones((), a.dtype), a)
        if left_side:
            return substitute(a, b, lower)
        return np.swapaxes(
            substitute(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), not lower), -1, -2
        )

    def type(self, a, b, **params):
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


triangular_solve_p = TriangularSolve("triangular_solve")


def triangular_solve(a, b, *, left_side=False, lower=False, transpose_a=False, conjugate_a=False,
                     unit_diagonal=False):  # fmt: skip
    """Solve equations whose matrix is triangular.

    Args:
      a: matrices [..., n, n]; the other triangle is not looked at.
      b: right-hand sides [..., n, k] if left_side, else [..., k, n].
      left_side: a @ x = b rather than x @ a = b.
      lower: whether a is lower triangular.
      transpose_a, conjugate_a: take the transpose, the conjugate of a.
      unit_diagonal: take ones for the diagonal of a.

    Returns x, in the shape of b.
    """
    a, b = lift(a), lift(b)
    check_matrix("triangular_solve", a)
    check_right_side("triangular_solve", a, b, left_side)
    return triangular_solve_p.bind(
        a,
        b,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a and a.dtype.kind == "c",
        unit_diagonal=unit_diagonal,
    )


# ---- Cholesky -----------------------------------------------------------------------------------


class Cholesky(MatrixPrimitive):
    """cholesky x: the lower triangular L with x = L @ L^H; nan where there is none."""

    def impl(self, x):
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:  # some matrix is not positive definite
            out = np.full(x.shape, np.nan, x.dtype)
            for place in np.ndindex(x.shape[:-2]):
                try:
                    out[place] = np.linalg.cholesky(x[place])
                except np.linalg.LinAlgError:
                    continue
            return out

    def type(self, x):
        return x

    def linearize(self, nz, x):
        root = self.bind(x)

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
      symmetrize_input: take (x + x^H) / 2, so that gradients are symmetric.
    """
    x = lift(x)
    check_matrix("cholesky", x)
    return lower(cholesky_p.bind(symmetrized(x) if symmetrize_input else x))
