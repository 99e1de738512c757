"""Matrices as products of simpler ones: svd, qr, eigh, schur, hessenberg, polar."""

import functools

from tinyjax import dtypes, lax
from tinyjax import numpy as jnp
from tinyjax.numpy import linalg
from tinyjax.numpy.linalg.decompositions import adjoint
from tinyjax.numpy.promotion import promote_dtypes_complex, promote_dtypes_inexact
from tinyjax.primitives.factorizations import geqp3_p, geqrf_p
from tinyjax.primitives.matrix_cards import complex_dtype
from tinyjax.transforms.subprogram import subprogram

HIGHEST = lax.Precision.HIGHEST

# ---- svd, qr ------------------------------------------------------------------------------------


@subprogram(static_argnames=("full_matrices", "compute_uv"))
def _svd(a, *, full_matrices, compute_uv):
    """svd."""
    (a,) = promote_dtypes_inexact(jnp.asarray(a))
    return lax.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


def svd(a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True,
        lapack_driver="gesdd"):  # fmt: skip
    """-> U, s, Vh with a = U * s @ Vh: singular values from the largest to the smallest.

    Args:
      a: matrices [..., m, n].
      full_matrices: whether U and Vh are square.
      compute_uv: False returns only s.
      overwrite_a, check_finite, lapack_driver: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.svd(jnp.array([[0.0, 2.0], [1.0, 0.0]]), compute_uv=False)
    Array([2., 1.], dtype=float32)
    """
    return _svd(a, full_matrices=full_matrices, compute_uv=compute_uv)


@subprogram(static_argnames=("mode", "pivoting"))
def _qr(a, mode, pivoting):
    """qr."""
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    (a,) = promote_dtypes_inexact(jnp.asarray(a))
    out = lax.linalg.qr(a, pivoting=pivoting, full_matrices=mode != "economic")
    return tuple(out[1:] if mode == "r" else out)


def qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    """-> Q with orthonormal columns and R upper triangular, a = Q @ R; with pivoting also an order.

    Args:
      a: matrices [..., m, n].
      mode: "full" (Q is square), "economic" or "r" (only R, in a tuple).
      pivoting: a[:, p] = Q @ R, where the diagonal of R does not increase in size.
      overwrite_a, lwork, check_finite: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> q, r, p = linalg.qr(jnp.array([[1.0, 0.0], [0.0, 2.0]]), pivoting=True)
    >>> p
    Array([1, 0], dtype=int32)
    """
    return _qr(a, mode, pivoting)


def qr_multiply(a, c, mode="right", pivoting=False, conjugate=False, overwrite_a=False,
                overwrite_c=False):  # fmt: skip
    """-> c @ Q (or Q @ c), R, and with pivoting the order of columns; Q is never formed.

    Args:
      a: matrices [..., m, n], a = Q @ R.
      c: matrices or a vector.
      mode: "right" for c @ Q, "left" for Q @ c.
      conjugate: take the conjugate of Q.
      overwrite_a, overwrite_c: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> out, r = linalg.qr_multiply(jnp.eye(2), jnp.ones((1, 2)))
    >>> out.shape, r.shape
    ((1, 2), (2, 2))
    """
    a, c = promote_dtypes_inexact(jnp.asarray(a), jnp.asarray(c))
    if mode not in ("right", "left"):
        raise ValueError(f"mode must be 'right' or 'left', got {mode!r}")
    vector = c.ndim == 1
    if vector:
        c = c[:, None] if mode == "left" else c[None, :]
    m, n = a.shape[-2:]
    k = min(m, n)
    if mode == "left" and c.shape[-2] != k:
        raise ValueError(
            f"Array shapes are not compatible for Q @ c operation: a has shape {a.shape} so Q has "
            f"{k} columns, but c has {c.shape[-2]} rows (expected {k})."
        )
    if mode == "right" and c.shape[-1] != m:
        raise ValueError(
            f"Array shapes are not compatible for c @ Q operation: a has shape {a.shape} so Q has "
            f"{m} rows, but c has {c.shape[-1]} columns (expected {m})."
        )
    batch = lax.broadcast_shapes(a.shape[:-2], c.shape[:-2])
    a = jnp.broadcast_to(a, batch + a.shape[-2:])
    c = jnp.broadcast_to(c, batch + c.shape[-2:])
    if pivoting:
        both, order, taus = geqp3_p(a)
    else:
        both, taus = geqrf_p(a)
    if m > n and mode == "left":
        gap = jnp.zeros((*c.shape[:-2], m - k, c.shape[-1]), dtype=c.dtype)
        c = jnp.concatenate([c, gap], axis=-2)
    if conjugate:  # conj(Q) @ c is (c^T @ Q^H)^T
        c = c.swapaxes(-1, -2)
    left = (mode == "left") != conjugate
    out = lax.linalg.ormqr(both, taus, c, left=left, transpose=conjugate)
    if conjugate:
        out = out.swapaxes(-1, -2)
    if mode == "right":
        out = out[..., :k]
    out = out.ravel() if vector else out
    r = jnp.triu(both[..., :k, :])
    return (out, r, order) if pivoting else (out, r)


# ---- eigenvalues --------------------------------------------------------------------------------


@subprogram(static_argnames=("lower", "eigvals_only", "eigvals", "type"))
def _eigh(a, b, lower, eigvals_only, eigvals, type):
    """eigh."""
    if b is not None:
        raise NotImplementedError("Only the b=None case of eigh is implemented")
    if type != 1:
        raise NotImplementedError("Only the type=1 case of eigh is implemented.")
    if eigvals is not None:
        raise NotImplementedError("Only the eigvals=None case of eigh is implemented.")
    (a,) = promote_dtypes_inexact(jnp.asarray(a))
    v, w = lax.linalg.eigh(a, lower=lower)
    return w if eigvals_only else (w, v)


def eigh(a, b=None, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False,
         turbo=True, eigvals=None, type=1, check_finite=True):  # fmt: skip
    """-> eigenvalues (ascending) and eigenvectors (columns) of Hermitian matrices.

    Args:
      a: matrices [..., n, n]; lower: which triangle counts.
      eigvals_only: return no eigenvectors.
      b, eigvals: must be None; type: must be 1.
      overwrite_a, overwrite_b, turbo, check_finite: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.eigh(jnp.diag(jnp.array([3.0, 1.0])), eigvals_only=True)
    Array([1., 3.], dtype=float32)
    """
    return _eigh(a, b, lower, eigvals_only, eigvals, type)


@subprogram(static_argnames=("eigvals_only", "select", "select_range"))
def eigh_tridiagonal(d, e, *, eigvals_only=False, select="a", select_range=None, tol=None,
                     key=None):  # fmt: skip
    """-> eigenvalues (ascending) and eigenvectors (columns) of a Hermitian tridiagonal matrix.

    Args:
      d: the diagonal [n]; e: the elements above it [n - 1].
      eigvals_only: return no eigenvectors.
      select: "a" for all, "i" for those with numbers from select_range[0] to select_range[1].
      tol, key: accepted as JAX's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> w = linalg.eigh_tridiagonal(jnp.zeros(2), jnp.ones(1), eigvals_only=True)
    >>> print(jnp.round(w, 3))
    [-1.  1.]
    """
    d, e = jnp.asarray(d), jnp.asarray(e)
    if d.dtype != e.dtype:
        raise TypeError(
            f"diagonal and off-diagonal values must have same dtype, got {d.dtype} and {e.dtype}"
        )
    if d.dtype.name not in ("float32", "float64", "complex64", "complex128"):
        raise TypeError(
            "Only float32 and float64 inputs are supported as inputs to "
            f"jax.scipy.linalg.eigh_tridiagonal, got {d.dtype} and {e.dtype}"
        )
    if select == "i":
        if select_range is None:
            raise ValueError("for select='i', select_range must be specified.")
        if select_range[0] > select_range[1]:
            raise ValueError("Got empty index range in select_range.")
    elif select == "v":
        raise NotImplementedError("eigh_tridiagonal(..., select='v') is not implemented")
    elif select != "a":
        raise ValueError("'select must have a value in {'a', 'i', 'v'}.")
    a = jnp.diag(jnp.real(d).astype(d.dtype)) + jnp.diag(e, 1) + jnp.diag(jnp.conj(e), -1)
    v, w = lax.linalg.eigh(a, symmetrize_input=False)
    if select == "i":
        kept = slice(select_range[0], select_range[1] + 1)
        v, w = v[:, kept], w[kept]
    return w if eigvals_only else (w, v)


@subprogram(static_argnames=("output",))
def _schur(a, output):
    """schur."""
    if output == "complex":
        a = a.astype(complex_dtype(a.dtype))
    return lax.linalg.schur(a)


def schur(a, output="real"):
    """-> T, Z: T upper triangular (real: with blocks of 2 for complex pairs), a = Z @ T @ Z^H.

    Args:
      a: matrices [..., n, n] of floats or complex numbers.
      output: "real" or "complex", for real matrices.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> t, z = linalg.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))
    >>> t
    Array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(
            f"Expected 'output' to be either 'real' or 'complex', got output={output!r}."
        )
    return _schur(jnp.asarray(a), output)


@subprogram(static_argnames=("check_finite",))
def rsf2csf(T, Z, check_finite=True):
    """-> T, Z: a real Schur form made a complex one, whose T is upper triangular.

    Args:
      T, Z: what schur returned, [..., n, n].
      check_finite: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> t, z = linalg.rsf2csf(*linalg.schur(jnp.array([[0.0, -1.0], [1.0, 0.0]])))
    >>> print(jnp.round(jnp.abs(t), 3))
    [[1. 0.]
     [0. 1.]]
    """
    T, Z = jnp.asarray(T), jnp.asarray(Z)
    for name, x in (("T", T), ("Z", Z)):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"Input '{name}' must be square.")
    if T.shape[-1] != Z.shape[-1]:
        raise ValueError(f"Input array shapes must match: Z: {Z.shape} vs. T: {T.shape}")
    return jnp.vectorize(complex_schur, signature="(n,n),(n,n)->(n,n),(n,n)")(T, Z)


def complex_schur(T, Z):
    """rsf2csf of one matrix: a rotation per element of the subdiagonal, from below."""
    T, Z = promote_dtypes_complex(T, Z)
    eps, n = dtypes.finfo(T.dtype).eps, T.shape[0]

    def rotate(m, T, Z):
        pair = lax.dynamic_slice(T, (m - 1, m - 1), (2, 2))
        mu = linalg.eigvals(pair) - T[m, m]
        r = linalg.norm(jnp.array([mu[0], T[m, m - 1]])).astype(T.dtype)
        c, s = mu[0] / r, T[m, m - 1] / r
        turn = jnp.array([[jnp.conj(c), s], [-s, c]], dtype=T.dtype)
        rows = lax.dynamic_slice_in_dim(T, m - 1, 2, axis=0)
        right = jnp.arange(n) >= m - 1
        rows = jnp.where(right, turn @ jnp.where(right, rows, 0), rows)
        T = lax.dynamic_update_slice_in_dim(T, rows, m - 1, axis=0)
        columns = lax.dynamic_slice_in_dim(T, m - 1, 2, axis=1)
        above = jnp.arange(n)[:, None] < m + 1
        columns = jnp.where(above, jnp.where(above, columns, 0) @ adjoint(turn), columns)
        T = lax.dynamic_update_slice_in_dim(T, columns, m - 1, axis=1)
        columns = lax.dynamic_slice_in_dim(Z, m - 1, 2, axis=1) @ adjoint(turn)
        return T, lax.dynamic_update_slice_in_dim(Z, columns, m - 1, axis=1)

    def step(i, forms):
        m = n - i
        T, Z = forms
        size = jnp.abs(T[m - 1, m - 1]) + jnp.abs(T[m, m])
        there = jnp.abs(T[m, m - 1]) > eps * size
        T, Z = lax.cond(there, rotate, lambda m, T, Z: (T, Z), m, T, Z)
        return T.at[m, m - 1].set(0.0), Z

    return lax.fori_loop(1, n, step, (T, Z)) if n > 1 else (T, Z)


# ---- other forms --------------------------------------------------------------------------------


@subprogram(static_argnames=("calc_q", "overwrite_a", "check_finite"))
def hessenberg(a, *, calc_q=False, overwrite_a=False, check_finite=True):
    """H, zero below its first subdiagonal; with calc_q H, Q with a = Q @ H @ Q^H.

    Args:
      a: matrices [..., n, n].
      overwrite_a, check_finite: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.hessenberg(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    a = jnp.asarray(a)
    n = a.shape[-1]
    if n == 0:
        empty = jnp.zeros_like(a)
        return (empty, empty) if calc_q else empty
    both, taus = lax.linalg.hessenberg(a)
    h = jnp.triu(both, -1)
    if not calc_q:
        return h
    q = lax.linalg.householder_product(both[..., 1:, :-1], taus)
    batch = both.shape[:-2]
    corner = jnp.ones((*batch, 1, 1), dtype=both.dtype)
    top = jnp.zeros((*batch, 1, n - 1), dtype=both.dtype)
    left = jnp.zeros((*batch, n - 1, 1), dtype=both.dtype)
    return h, jnp.block([[corner, top], [left, q]])


@subprogram(static_argnames=("side", "method"))
def polar(a, side="right", *, method="qdwh", eps=None, max_iterations=None):
    """-> U with orthonormal columns or rows, and P positive semidefinite: a = U @ P.

    Args:
      a: matrices [..., m, n].
      side: "right" for U @ P, "left" for P @ U.
      method: "qdwh" (which takes m >= n on the right, m < n on the left) or "svd"; both are
        computed from singular values here.
      eps, max_iterations: accepted as JAX's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> u, p = linalg.polar(jnp.array([[0.0, -2.0], [3.0, 0.0]]))
    >>> print(jnp.abs(jnp.round(p, 3)))
    [[3. 0.]
     [0. 2.]]
    """
    a = jnp.asarray(a)
    if a.ndim < 2:
        raise ValueError("The input `a` must be at least a 2-D array.")
    if side not in ("right", "left"):
        raise ValueError("The argument `side` must be either 'right' or 'left'.")
    if method not in ("qdwh", "svd"):
        raise ValueError(f"Unknown polar decomposition method {method}.")
    m, n = a.shape[-2:]
    if method == "qdwh" and (m >= n) != (side == "right"):
        raise NotImplementedError(
            "method='qdwh' only supports mxn matrices where m < n where side='right' and m >= n "
            f"side='left', got {a.shape} with side={side!r}"
        )
    out = "(n,n)" if side == "right" else "(m,m)"
    factors = functools.partial(polar_factors, side=side)
    return jnp.vectorize(factors, signature=f"(m,n)->(m,n),{out}")(a)


def polar_factors(a, side):
    """polar of one matrix."""
    u, s, vh = lax.linalg.svd(promote_dtypes_inexact(a)[0], full_matrices=False)
    s = s.astype(u.dtype)
    unitary = jnp.matmul(u, vh, precision=HIGHEST)
    if side == "right":
        return unitary, jnp.matmul(adjoint(vh) * s[None, :], vh, precision=HIGHEST)
    return unitary, jnp.matmul(u * s[None, :], adjoint(u), precision=HIGHEST)
