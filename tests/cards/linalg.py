"""Cases of the linear algebra cards. Their rules are ours, so only plain programs print alike."""

import jax._src.lax.linalg
import numpy as np

from cards import Case
from tinyjax.primitives import factorizations

RNG = np.random.default_rng(3)


def matrix(*shape):
    """Random numbers."""
    return RNG.normal(size=shape).astype(np.float32)


def as_complex(x):
    """With a random imaginary part."""
    return (x + 1j * RNG.normal(size=x.shape)).astype(np.complex64)


A = matrix(3, 3) + 2 * np.eye(3, dtype=np.float32)
B = matrix(3, 2)
P = (A @ A.T + np.eye(3)).astype(np.float32)
BATCH = np.stack([P, P + np.eye(3, dtype=np.float32)])
TALL, WIDE = matrix(4, 2), matrix(2, 4)
C, CTALL = as_complex(A), as_complex(TALL)
CP = (C @ C.conj().T + np.eye(3)).astype(np.complex64)
UPPER = np.triu(A)
V = matrix(3)
D = np.abs(matrix(3, 5)) + np.array([[0], [3], [0]], np.float32)
D[0, 0] = D[2, -1] = 0
REFLECTORS = np.array([[1, 0.5], [0.2, 1], [0.4, 0.1], [-0.3, 0.6]], np.float32)
TAUS = np.array([1.2, 0.7], np.float32)
OURS = {"order2": False, "tol": 2e-3, "printed": False}
FIXED = {"tol": 2e-3, "printed": False}  # no derivative
EIG = {"enable_eigvec_derivs": True}


def internal(lax, name):
    """What jax.lax.linalg does not show."""
    return getattr(factorizations if "tinyjax" in lax.__name__ else jax._src.lax.linalg, name)


def pivoted(lax, x):
    """The oracle's geqp3 counts columns from 1 and wants to be told that all may move."""
    if "tinyjax" in lax.__name__:
        return factorizations.geqp3_p.bind(x)
    free = lax.full(x.shape[:-2] + x.shape[-1:], 0, np.int32)
    out, order, taus = jax._src.lax.linalg.geqp3(x, free)
    return out, order - 1, taus


def signless(lax, *xs):
    """Absolute values: vectors are determined up to a factor."""
    return [lax.abs(x) for x in xs]


CASES = [
    Case("cholesky", "cholesky", lambda lax, x: lax.linalg.cholesky(x), (P,), (0,), **OURS),
    Case("cholesky batch", "cholesky", lambda lax, x: lax.linalg.cholesky(x), (BATCH,), **OURS),
    Case("cholesky complex", "cholesky", lambda lax, x: lax.linalg.cholesky(x), (CP,), **OURS),
    Case("cholesky_update", "cholesky_update",
         lambda lax, r, w: lax.linalg.cholesky_update(r, w), (UPPER, V), **FIXED),
    Case("triangular_solve", "triangular_solve",
         lambda lax, a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
         (A, B), (0, 1), **OURS),
    Case("triangular_solve transposed", "triangular_solve",
         lambda lax, a, b: lax.linalg.triangular_solve(a, b.T, transpose_a=True),
         (A, B), (0, 1), **OURS),
    Case("triangular_solve vector", "triangular_solve",
         lambda lax, a, b: lax.linalg.triangular_solve(a, b, left_side=True, unit_diagonal=True),
         (A, V), (0, 1), **OURS),
    Case("triangular_solve complex", "triangular_solve",
         lambda lax, a, b: lax.linalg.triangular_solve(a, b, conjugate_a=True), (C, C), **OURS),
    # jax 0.10.2 cannot batch its own derivative of lu; test_linalg.py tests ours
    Case("lu", "lu", lambda lax, x: lax.linalg.lu(x), (A,), **OURS),
    Case("lu tall", "lu", lambda lax, x: lax.linalg.lu(x), (TALL,), **OURS),
    Case("lu complex", "lu", lambda lax, x: lax.linalg.lu(x), (C,), **OURS),
    Case("lu_pivots_to_permutation", "lu_pivots_to_permutation",
         lambda lax, x: lax.linalg.lu_pivots_to_permutation(x, 4),
         (np.array([2, 1, 3], np.int32),)),
    Case("qr", "qr", lambda lax, x: lax.linalg.qr(x, full_matrices=False)[1], (A,), (0,), **OURS),
    Case("qr tall", "qr", lambda lax, x: lax.linalg.qr(x, full_matrices=False), (TALL,), (0,),
         **OURS),
    Case("qr wide", "qr", lambda lax, x: lax.linalg.qr(x, full_matrices=False), (WIDE,), (0,),
         **OURS),
    Case("qr full", "qr", lambda lax, x: lax.linalg.qr(x), (TALL,), (0,), **OURS),
    # jax 0.10.2 cannot batch this derivative, and has it wrong for wide matrices
    Case("qr pivoting", "qr", lambda lax, x: lax.linalg.qr(x, pivoting=True), (TALL,), **OURS),
    Case("qr pivoting wide", "qr",
         lambda lax, x: lax.linalg.qr(x, pivoting=True, full_matrices=False), (WIDE,), **OURS),
    Case("geqrf", "geqrf", lambda lax, x: internal(lax, "geqrf")(x), (TALL,), **FIXED),
    Case("geqp3", "geqp3", pivoted, (TALL,), **FIXED),
    Case("eigh", "eigh", lambda lax, x: lax.linalg.eigh(x)[1], (P,), (0,), **OURS),
    Case("eigh vectors", "eigh", lambda lax, x: signless(lax, *lax.linalg.eigh(x)), (P,), (0,),
         **OURS),
    Case("svd", "svd", lambda lax, x: lax.linalg.svd(x, compute_uv=False), (TALL,), (0,), **OURS),
    Case("svd vectors", "svd",
         lambda lax, x: signless(lax, *lax.linalg.svd(x, full_matrices=False)), (TALL,), (0,),
         **OURS),
    Case("eig", "eig", lambda lax, x: lax.linalg.eig(
        x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0], (P,), **OURS),
    Case("eig vectors", "eig",
         lambda lax, x: signless(lax, *lax.linalg.eig(x, **EIG)[1:]), (A,), **OURS),
    Case("schur", "schur", lambda lax, x: signless(lax, *lax.linalg.schur(x)), (P,), **FIXED),
    Case("hessenberg", "hessenberg", lambda lax, x: lax.linalg.hessenberg(x), (A,), **FIXED),
    Case("hessenberg complex", "hessenberg", lambda lax, x: lax.linalg.hessenberg(x), (C,),
         **FIXED),
    Case("householder_product", "householder_product",
         lambda lax, a, t: lax.linalg.householder_product(a, t), (REFLECTORS, TAUS), **FIXED),
    Case("ormqr", "ormqr", lambda lax, a, t, c: lax.linalg.ormqr(a, t, c),
         (REFLECTORS, TAUS, TALL), **FIXED),
    Case("ormqr right transposed", "ormqr",
         lambda lax, a, t, c: lax.linalg.ormqr(a, t, c, left=False, transpose=True),
         (REFLECTORS, TAUS, WIDE), **FIXED),
    Case("tridiagonal", "tridiagonal", lambda lax, x: lax.linalg.tridiagonal(x), (P,), **FIXED),
    Case("tridiagonal complex", "tridiagonal",
         lambda lax, x: lax.linalg.tridiagonal(x, lower=False), (CP,), **FIXED),
    Case("tridiagonal_solve", "tridiagonal_solve",
         lambda lax, *args: lax.linalg.tridiagonal_solve(*args), (*D, matrix(5, 2)), (0, 1, 2, 3),
         **OURS),
    Case("symmetric_product", "symmetric_product",
         lambda lax, a, c: lax.linalg.symmetric_product(a, c, alpha=2.0, beta=0.5,
                                                        symmetrize_output=True),
         (B, P), **FIXED),
]  # fmt: skip
