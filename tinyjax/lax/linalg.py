"""The names of jax.lax.linalg."""

from tinyjax.lax.polar import qdwh
from tinyjax.primitives.banded import (
    symmetric_product,
    symmetric_product_p,
    tridiagonal_solve,
    tridiagonal_solve_p,
)
from tinyjax.primitives.eigen import (
    EighImplementation,
    EigImplementation,
    eig,
    eig_p,
    eigh,
    eigh_p,
    schur,
    schur_p,
)
from tinyjax.primitives.factorizations import (
    lu,
    lu_p,
    lu_pivots_to_permutation,
    lu_pivots_to_permutation_p,
    qr,
    qr_p,
)
from tinyjax.primitives.reflectors import (
    hessenberg,
    hessenberg_p,
    householder_product,
    householder_product_p,
    ormqr,
    ormqr_p,
    tridiagonal,
    tridiagonal_p,
)
from tinyjax.primitives.singular import SvdAlgorithm, svd, svd_p
from tinyjax.primitives.triangular import (
    cholesky,
    cholesky_p,
    cholesky_update,
    cholesky_update_p,
    triangular_solve,
    triangular_solve_p,
)

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_p",
    "cholesky_update",
    "cholesky_update_p",
    "eig",
    "eig_p",
    "eigh",
    "eigh_p",
    "hessenberg",
    "hessenberg_p",
    "householder_product",
    "householder_product_p",
    "lu",
    "lu_p",
    "lu_pivots_to_permutation",
    "lu_pivots_to_permutation_p",
    "ormqr",
    "ormqr_p",
    "qdwh",
    "qr",
    "qr_p",
    "schur",
    "schur_p",
    "svd",
    "svd_p",
    "symmetric_product",
    "symmetric_product_p",
    "triangular_solve",
    "triangular_solve_p",
    "tridiagonal",
    "tridiagonal_p",
    "tridiagonal_solve",
    "tridiagonal_solve_p",
]
