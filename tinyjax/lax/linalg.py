"""The names of jax.lax.linalg."""

from tinyjax.primitives.factorizations import (
    eig,
    eig_p,
    eigh,
    eigh_p,
    lu,
    lu_p,
    qr,
    qr_p,
    svd,
    svd_p,
)
from tinyjax.primitives.triangular import (
    cholesky,
    cholesky_p,
    linear_solve,
    linear_solve_p,
    triangular_solve,
    triangular_solve_p,
)

__all__ = [
    "cholesky",
    "cholesky_p",
    "eig",
    "eig_p",
    "eigh",
    "eigh_p",
    "linear_solve",
    "linear_solve_p",
    "lu",
    "lu_p",
    "qr",
    "qr_p",
    "svd",
    "svd_p",
    "triangular_solve",
    "triangular_solve_p",
]
