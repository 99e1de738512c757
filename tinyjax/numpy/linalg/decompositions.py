"""Matrices as products of simpler ones: Cholesky, QR, SVD, eigenvalues."""

from typing import NamedTuple

import numpy as np

from tinyjax import lax
from tinyjax.avals import Value
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.gather import take_along_axis
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.shaping import matrix_transpose
from tinyjax.numpy.ufuncs import conj
from tinyjax.primitives.factorizations import geqrf
from tinyjax.transforms.subprogram import subprogram


class EighResult(NamedTuple):
    """What eigh returns."""

    eigenvalues: Value
    eigenvectors: Value


class EigResult(NamedTuple):
    """What eig returns."""

    eigenvalues: Value
    eigenvectors: Value


class QRResult(NamedTuple):
    """What qr returns."""

    Q: Value
    R: Value


class SVDResult(NamedTuple):
    """What svd returns."""

    U: Value
    S: Value
    Vh: Value


def inexact_matrix(name, a):
    """An argument as an array of floats or complex numbers."""
    return promote_dtypes_inexact(ensure_arraylike(f"jnp.linalg.{name}", a))[0]


def adjoint(x):
    """The conjugate transpose."""
    return conj(matrix_transpose(x))


@subprogram(static_argnames=("upper", "symmetrize_input"))
def cholesky(a, *, upper=False, symmetrize_input=True):
    """The lower triangular L with a = L @ L^H; nan if a is not positive definite.

    Args:
      a: Hermitian matrices along the last two axes.
      upper: return the adjoint of L.
      symmetrize_input: take (a + a^H) / 2.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 2.0]]))
    Array([[2., 0.],
           [1., 1.]], dtype=float32)
    """
    a = inexact_matrix("cholesky", a)
    lower = lax.linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return conj(matrix_transpose(lower)) if upper else lower


@subprogram(static_argnames=("mode",))
def qr(a, mode="reduced"):
    """-> Q with orthonormal columns and R upper triangular, a = Q @ R.

    Args:
      a: matrices along the last two axes.
      mode: "reduced", "complete" (Q is square), "r" (only R) or "raw" (the transpose of R with
        the reflectors above its diagonal, and their factors).

    >>> import tinyjax.numpy as jnp
    >>> q, r = jnp.linalg.qr(jnp.array([[3.0], [4.0]]))
    >>> print(jnp.abs(r))
    [[5.]]
    """
    a = inexact_matrix("qr", a)
    if mode == "raw":
        both, taus = geqrf(a)
        return QRResult(matrix_transpose(both), taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = lax.linalg.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


@subprogram(static_argnames=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(a, full_matrices=True, compute_uv=True, hermitian=False, subset_by_index=None):
    """-> U, S, Vh with a = U * S @ Vh: singular values from the largest to the smallest.

    Args:
      a: matrices along the last two axes.
      full_matrices: whether U and Vh are square.
      compute_uv: False returns only S.
      hermitian: promise that a is Hermitian.
      subset_by_index: (start, end) of the singular values wanted; on a CPU all must be.

    >>> import tinyjax.numpy as jnp
    >>> u, s, vh = jnp.linalg.svd(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> s
    Array([2., 1.], dtype=float32)
    """
    a = inexact_matrix("svd", a)
    if hermitian:
        return hermitian_svd(a, compute_uv, subset_by_index)
    out = lax.linalg.svd(
        a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
    )
    return SVDResult(*out) if compute_uv else out


def hermitian_svd(a, compute_uv, subset_by_index):
    """svd from eigenvalues: their signs go into Vh."""
    vectors, values = lax.linalg.eigh(a, subset_by_index=subset_by_index)
    s, last = lax.abs(values), values.ndim - 1
    if not compute_uv:
        return lax.rev(lax.sort(s, dimension=-1), dimensions=[last])
    sign = lax.sign(values)
    index = lax.broadcasted_iota(np.uint32, s.shape, last)
    s, index, sign = (
        lax.rev(x, dimensions=[last]) for x in lax.sort((s, index, sign), dimension=-1, num_keys=1)
    )
    u = take_along_axis(vectors, index[..., None, :], axis=-1)
    return SVDResult(u, s, adjoint(u * sign[..., None, :].astype(u.dtype)))


def svdvals(x, /):
    """The singular values, from the largest to the smallest.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.svdvals(jnp.diag(jnp.array([1.0, 3.0])))
    Array([3., 1.], dtype=float32)
    """
    return svd(x, compute_uv=False)


def eig(a):
    """-> eigenvalues and eigenvectors (columns) of square matrices; both complex.

    >>> import tinyjax.numpy as jnp
    >>> w, v = jnp.linalg.eig(jnp.diag(jnp.array([1.0, 3.0])))
    >>> w
    Array([1.+0.j, 3.+0.j], dtype=complex64)
    """
    a = inexact_matrix("eig", a)
    return EigResult(*lax.linalg.eig(a, compute_left_eigenvectors=False))


@subprogram
def eigvals(a):
    """The eigenvalues of square matrices; complex.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.eigvals(jnp.diag(jnp.array([1.0, 3.0])))
    Array([1.+0.j, 3.+0.j], dtype=complex64)
    """
    a = inexact_matrix("eigvals", a)
    return lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@subprogram(static_argnames=("UPLO", "symmetrize_input"))
def eigh(a, UPLO=None, symmetrize_input=True):
    """-> eigenvalues (ascending) and eigenvectors (columns) of Hermitian matrices.

    Args:
      a: matrices along the last two axes.
      UPLO: "L" or "U": which triangle counts, if the input is not symmetrized.
      symmetrize_input: take (a + a^H) / 2.

    >>> import tinyjax.numpy as jnp
    >>> w, v = jnp.linalg.eigh(jnp.diag(jnp.array([3.0, 1.0])))
    >>> w
    Array([1., 3.], dtype=float32)
    """
    a = inexact_matrix("eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    vectors, values = lax.linalg.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


@subprogram(static_argnames=("UPLO", "symmetrize_input"))
def eigvalsh(a, UPLO="L", *, symmetrize_input=True):
    """The eigenvalues of Hermitian matrices, ascending.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.eigvalsh(jnp.diag(jnp.array([3.0, 1.0])))
    Array([1., 3.], dtype=float32)
    """
    a = inexact_matrix("eigvalsh", a)
    return eigh(a, UPLO, symmetrize_input=symmetrize_input).eigenvalues
