"""The names of jax.numpy.linalg."""

from tinyjax.lazy import lazy_imports as _lazy_imports

with _lazy_imports(globals()):
    from tinyjax.numpy.linalg.decompositions import (
        cholesky,
        eig,
        eigh,
        eigvals,
        eigvalsh,
        qr,
        svd,
        svdvals,
    )
    from tinyjax.numpy.linalg.determinants import det, slogdet
    from tinyjax.numpy.linalg.norms import matrix_norm, matrix_rank, norm, vector_norm
    from tinyjax.numpy.linalg.products import (
        cross,
        diagonal,
        matmul,
        multi_dot,
        outer,
        tensordot,
        trace,
    )
    from tinyjax.numpy.linalg.solving import (
        cond,
        inv,
        lstsq,
        matrix_power,
        pinv,
        solve,
        tensorinv,
        tensorsolve,
    )
    from tinyjax.numpy.linear import vecdot
    from tinyjax.numpy.shaping import matrix_transpose

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
