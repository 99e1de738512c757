"""Eigenvalues: eigh, eig; the Schur form."""

import enum

import numpy as np

from tinyjax.array import lift
from tinyjax.primitives.arithmetic import add, div, eq, mul, neg, sub
from tinyjax.primitives.complex_parts import complex_, conj, imag, real
from tinyjax.primitives.creation import broadcasted_iota, full_like
from tinyjax.primitives.factorizations import solve_with
from tinyjax.primitives.linear import convert, reduce_sum
from tinyjax.primitives.matrices import (
    adjoint,
    as_columns,
    as_rows,
    diagonal,
    mask,
    product,
    scale_columns,
    stretched,
    symmetrized,
)
from tinyjax.primitives.matrix_cards import (
    Factorization,
    complex_dtype,
    needed,
    real_dtype,
)
from tinyjax.primitives.order import abs_
from tinyjax.primitives.reducing import argmax
from tinyjax.primitives.selection import select
from tinyjax.source import warn

# ---- Hermitian matrices -------------------------------------------------------------------------


class EighImplementation(enum.Enum):
    """Methods for Hermitian matrices; on a CPU there is QR."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class Eigh(Factorization):
    """eigh[algorithm lower sort_eigenvalues subset_by_index] x: eigenvectors and eigenvalues."""

    printed = {"algorithm": None, "sort_eigenvalues": True}

    def impl(self, x, *, lower, subset_by_index):
        if subset_by_index not in (None, (0, x.shape[-1])):
            raise NotImplementedError("subset_by_index not supported on CPU and GPU")
        try:
            w, v = np.linalg.eigh(x, "L" if lower else "U")
        except np.linalg.LinAlgError:  # it does not converge: there is a nan or inf
            return super().impl(x, lower=lower, subset_by_index=subset_by_index)
        return [v.astype(x.dtype), w.astype(real_dtype(x.dtype))]

    def one(self, x, **params):
        return self.impl(x, **params) if np.isfinite(x).all() else [np.nan, np.nan]

    def shapes(self, shape, *, lower, subset_by_index):
        n = shape[0]
        if n != shape[1]:
            raise ValueError(
                "Argument to symmetric eigendecomposition must have shape [..., n, n], got shape "
                f"{shape}"
            )
        k = n if subset_by_index is None else subset_by_index[1] - subset_by_index[0]
        return [(n, k), (k,)]

    def dtypes(self, dtype, **params):
        return [dtype, real_dtype(dtype)]

    def linearize(self, nz, x, *, lower, subset_by_index):
        if subset_by_index not in (None, (0, x.shape[-1])):
            raise NotImplementedError("Derivatives not defined for partial eigen decomposition.")
        v, w = self.bind(symmetrized(x), lower=lower, subset_by_index=subset_by_index)

        def push(t):
            inside = product(product(adjoint(v), t), v)
            factors = convert(inverse_differences(w), x.dtype)
            return [product(v, mul(factors, inside)), real_part(diagonal(inside))]

        return [v, w], push


def differences(w):
    """w[j] - w[i] in row i, column j."""
    shape = (*w.shape, w.shape[-1])
    return sub(stretched(as_rows(w), shape), stretched(as_columns(w), shape))


def inverse_differences(w):
    """1 / (w[j] - w[i]), and 0 on the diagonal."""
    return off_diagonal_inverse(differences(w))


def off_diagonal_inverse(x):
    """1 / x, and 0 on the diagonal."""
    same = mask(x.shape, diagonal=True)
    safe = select(same, full_like(x, 1), x)
    return select(same, full_like(x, 0), div(full_like(x, 1), safe))


def real_part(x):
    """The real part, of real numbers themselves."""
    return real(x) if x.dtype.kind == "c" else x


eigh_p = Eigh("eigh")


def eigh(x, *, lower=True, symmetrize_input=True, sort_eigenvalues=True, subset_by_index=None,
         implementation=None):  # fmt: skip
    """-> eigenvectors (columns) and eigenvalues (ascending) of Hermitian matrices.

    Args:
      x: matrices [..., n, n].
      lower: which triangle counts.
      symmetrize_input: take (x + x^H) / 2.
      sort_eigenvalues: accepted as JAX's; they always ascend.
      subset_by_index: (start, end) of the eigenvalues wanted; on a CPU all must be.
      implementation: None or EighImplementation.QR.

    Raises ValueError for matrices that are not square, NotImplementedError for a subset and for the
    methods of other devices.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> v, w = lax.linalg.eigh(np.diag(np.float32([3, 1])))
    >>> w
    Array([1., 3.], dtype=float32)
    """
    x = lift(x)
    check_implementation(implementation)
    subset = None if subset_by_index is None else tuple(subset_by_index)
    x = symmetrized(x) if symmetrize_input else x
    return tuple(eigh_p(x, lower=lower, subset_by_index=subset))


def check_implementation(implementation):
    """Raise for methods that there are on other devices only."""
    if implementation is EighImplementation.JACOBI:
        raise NotImplementedError("Jacobi implementation is not supported on CPU")
    if implementation is EighImplementation.QDWH:
        raise NotImplementedError("QDWH implementation is only supported on TPU")


# ---- any square matrices ------------------------------------------------------------------------


class EigImplementation(enum.Enum):
    """Libraries for eig; on a CPU it is LAPACK."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class Eig(Factorization):
    """eig x: eigenvalues, left and right eigenvectors (columns); all are complex."""

    def one(self, x, *, compute_left_eigenvectors, compute_right_eigenvectors, **params):
        wanted = [True, compute_left_eigenvectors, compute_right_eigenvectors]
        if not np.isfinite(x).all():
            return [np.nan] * sum(wanted)
        if not any(wanted[1:]):
            return [np.linalg.eigvals(x)]
        w, right = np.linalg.eig(x)
        values = [w, left_vectors(w, x) if compute_left_eigenvectors else None, right]
        return [v for v, keep in zip(values, wanted) if keep]

    def shapes(self, shape, *, compute_left_eigenvectors, compute_right_eigenvectors, **params):
        if shape[0] != shape[1]:
            raise ValueError(f"The input to eig must be a square matrix. Got shape {shape}.")
        return [shape[:1]] + [shape] * (compute_left_eigenvectors + compute_right_eigenvectors)

    def dtypes(self, dtype, **params):
        return complex_dtype(dtype)

    def linearize(self, nz, x, **params):
        left, right = params["compute_left_eigenvectors"], params["compute_right_eigenvectors"]
        if (left or right) and not params["enable_eigvec_derivs"]:
            raise NotImplementedError(
                "Derivatives of non-symmetric eigenvectors are only valid under assumptions on the "
                "input that cannot be checked: all eigenvalues are distinct, and no eigenvector "
                "has two components tied for largest magnitude. Pass enable_eigvec_derivs=True to "
                "lax.linalg.eig to opt in."
            )
        outs = self.bind(x, **(params | {"compute_right_eigenvectors": True}))
        w, v = outs[0], outs[-1]

        def push(t):
            t = convert(t, v.dtype) if t.dtype.kind == "c" else complex_(t, full_like(t, 0))
            tangents = [diagonal(product(solve_with(v, t), v))]
            if left:
                tangents.append(vector_tangent(conj(w), outs[1], adjoint(t)))
            if right:
                tangents.append(vector_tangent(w, v, t))
            return tangents

        return outs[: 1 + left + right], push


def left_vectors(w, x):
    """Unit vectors with u^H @ x = w * u^H: eigenvectors of x^H, in the order of w."""
    other, vectors = np.linalg.eig(np.conj(x.T))
    free, order = list(range(len(w))), []
    for value in np.conj(w):
        nearest = min(free, key=lambda i: abs(other[i] - value))
        free.remove(nearest)
        order.append(nearest)
    return vectors[:, order]


def vector_tangent(w, v, t):
    """The tangent of unit eigenvectors whose largest component is real: Giles, "Collected matrix
    derivative results" (2008), 3.1, and what keeps that normalisation."""
    inside = product(solve_with(v, t), v)
    free = product(v, mul(off_diagonal_inverse(differences(w)), inside))
    rows = v.ndim - 2
    largest = stretched(as_rows(argmax(abs_(v), rows, np.int32)), v.shape)
    here = eq(broadcasted_iota(np.int32, v.shape, rows), largest)

    def at_largest(x):
        return reduce_sum(select(here, x, full_like(x, 0)), (rows,))

    along = neg(real(reduce_sum(mul(conj(v), free), (rows,))))
    turn = neg(div(imag(at_largest(free)), real(at_largest(v))))
    return add(free, scale_columns(v, complex_(along, turn)))


eig_p = Eig("eig")


def eig(x, *, compute_left_eigenvectors=True, compute_right_eigenvectors=True,
        enable_eigvec_derivs=False, implementation=None, use_magma=None):  # fmt: skip
    """-> [eigenvalues, left and right eigenvectors (columns)] of square matrices; all complex.

    Args:
      x: matrices [..., n, n].
      compute_left_eigenvectors, compute_right_eigenvectors: whether to return them.
      enable_eigvec_derivs: allow derivatives of eigenvectors, which exist only if all eigenvalues
        are distinct and no eigenvector has two components tied for largest magnitude.
      implementation, use_magma: accepted as JAX's; they are for GPUs.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> w, left, right = lax.linalg.eig(np.diag(np.float32([1, 3])))
    >>> w
    Array([1.+0.j, 3.+0.j], dtype=complex64)
    """
    if use_magma is not None:
        warn(
            "use_magma is deprecated, please use implementation=EigImplementation.MAGMA instead.",
            DeprecationWarning,
        )
        implementation = EigImplementation.MAGMA if use_magma else EigImplementation.LAPACK
    if implementation not in (None, EigImplementation.LAPACK):
        raise ValueError("Only the lapack implementation is supported on CPU.")
    return eig_p(
        x,
        compute_left_eigenvectors=compute_left_eigenvectors,
        compute_right_eigenvectors=compute_right_eigenvectors,
        enable_eigvec_derivs=enable_eigvec_derivs,
        implementation=implementation,
    )


# ---- the Schur form -----------------------------------------------------------------------------


class Schur(Factorization):
    """schur x: T, (block) upper triangular, and unitary Q with x = Q @ T @ Q^H."""

    def one(self, x, *, compute_schur_vectors, **params):
        if x.size == 0 or not np.isfinite(x).all():
            return [np.triu(np.full_like(x, np.nan)), np.nan][: 1 + compute_schur_vectors]
        gees = needed("gees", x.dtype)
        t, _, *_, q, _, _ = gees(lambda *_: False, x, compute_v=compute_schur_vectors, sort_t=0)
        return [t, q] if compute_schur_vectors else [t]

    def shapes(self, shape, *, compute_schur_vectors, **params):
        if shape[0] != shape[1]:
            raise ValueError(f"The input to schur must be a square matrix. Got shape {shape}.")
        return [shape] * (1 + compute_schur_vectors)


schur_p = Schur("schur")


def schur(x, *, compute_schur_vectors=True, sort_eig_vals=False, select_callable=None):
    """-> [T, Q]: T upper triangular (real: with blocks of 2 for complex pairs), x = Q @ T @ Q^H.

    Args:
      x: matrices [..., n, n].
      compute_schur_vectors: whether to return Q.
      sort_eig_vals, select_callable: accepted as JAX's; unused there, too.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> t, q = lax.linalg.schur(np.float32([[1, 2], [0, 3]]))
    >>> t
    Array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    return schur_p(
        x,
        compute_schur_vectors=compute_schur_vectors,
        sort_eig_vals=sort_eig_vals,
        select_callable=select_callable,
    )
