"""Cases of the linear algebra cards. Their rules are ours, so only plain programs print alike."""

import jax.numpy
import numpy as np

from cards import Case

RNG = np.random.default_rng(3)
A = RNG.normal(size=(3, 3)).astype(np.float32) + 2 * np.eye(3, dtype=np.float32)
B = RNG.normal(size=(3, 2)).astype(np.float32)
P = (A @ A.T + np.eye(3)).astype(np.float32)
BATCH = np.stack([P, P + np.eye(3, dtype=np.float32)])
TALL = RNG.normal(size=(4, 2)).astype(np.float32)
C = (A + 1j * RNG.normal(size=(3, 3))).astype(np.complex64)
OURS = {"order2": False, "tol": 2e-3, "printed": False}


def solved(lax, a, b):
    """The oracle has another primitive for this, which holds programs."""
    return getattr(lax.linalg, "linear_solve", jax.numpy.linalg.solve)(a, b)


CASES = [
    Case("linear_solve", "linear_solve", solved, (A, B), (0, 1), **OURS),
    Case("cholesky", "cholesky", lambda lax, x: lax.linalg.cholesky(x), (P,), (0,), **OURS),
    Case("cholesky batch", "cholesky", lambda lax, x: lax.linalg.cholesky(x), (BATCH,), **OURS),
    Case("triangular_solve", "triangular_solve",
         lambda lax, a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
         (A, B), (0, 1), **OURS),
    Case("triangular_solve transposed", "triangular_solve",
         lambda lax, a, b: lax.linalg.triangular_solve(a, b.T, transpose_a=True),
         (A, B), (0, 1), **OURS),
    # jax 0.10.2 cannot batch its own derivative of lu; test_linalg.py tests ours
    Case("lu", "lu", lambda lax, x: lax.linalg.lu(x), (A,), **OURS),
    Case("lu complex", "lu", lambda lax, x: lax.linalg.lu(x), (C,), **OURS),
    Case("qr", "qr", lambda lax, x: lax.linalg.qr(x, full_matrices=False)[1], (A,), (0,), **OURS),
    Case("eigh", "eigh", lambda lax, x: lax.linalg.eigh(x)[1], (P,), (0,), **OURS),
    Case("svd", "svd", lambda lax, x: lax.linalg.svd(x, compute_uv=False), (TALL,), (0,), **OURS),
    Case("eig", "eig", lambda lax, x: lax.linalg.eig(
        x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0], (P,), **OURS),
]  # fmt: skip
