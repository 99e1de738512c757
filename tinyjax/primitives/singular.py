"""The singular value decomposition."""

import enum

import numpy as np

from tinyjax.primitives.arithmetic import add, div, eq, mul, sub
from tinyjax.primitives.creation import full_like
from tinyjax.primitives.eigen import off_diagonal_inverse, real_part
from tinyjax.primitives.linear import convert
from tinyjax.primitives.matrices import (
    adjoint,
    as_columns,
    as_rows,
    diagonal,
    mask,
    number,
    product,
    scale_columns,
    scale_rows,
    stretched,
)
from tinyjax.primitives.matrix_cards import Factorization, real_dtype
from tinyjax.primitives.selection import select


class SvdAlgorithm(enum.Enum):
    """Methods for the singular value decomposition."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


class SVD(Factorization):
    """svd[algorithm compute_uv full_matrices subset_by_index] x: singular values, and U, Vh."""

    def impl(self, x, *, full_matrices, compute_uv, subset_by_index, algorithm):
        if subset_by_index not in (None, (0, min(x.shape[-2:]))):
            raise NotImplementedError("subset_by_index not implemented for CPU and GPU")
        if algorithm in (SvdAlgorithm.JACOBI, SvdAlgorithm.POLAR):
            raise NotImplementedError(
                "The SVD Jacobi and Polar algorithms are not implemented on CPU."
            )
        try:
            if not compute_uv:
                s = np.linalg.svd(x, compute_uv=False)
                return [s.astype(real_dtype(x.dtype))]
            u, s, vh = np.linalg.svd(x, full_matrices=full_matrices)
        except np.linalg.LinAlgError:  # it does not converge: there is a nan or inf
            params = {"compute_uv": compute_uv, "subset_by_index": subset_by_index}
            return super().impl(x, full_matrices=full_matrices, algorithm=algorithm, **params)
        return [s.astype(real_dtype(x.dtype)), u, vh]

    def one(self, x, **params):
        if not np.isfinite(x).all():
            return [np.nan] * (3 if params["compute_uv"] else 1)
        return self.impl(x, **params)

    def shapes(self, shape, *, full_matrices, compute_uv, subset_by_index, algorithm):
        m, n = shape
        k = min(m, n)
        if subset_by_index is not None:
            if full_matrices and subset_by_index != (0, k):
                raise ValueError("full_matrices and subset_by_index cannot both be set")
            k = min(k, subset_by_index[1] - subset_by_index[0])
        if not compute_uv:
            return [(k,)]
        return [(k,), (m, m if full_matrices else k), (n if full_matrices else k, n)]

    def dtypes(self, dtype, *, compute_uv, **params):
        return [real_dtype(dtype), dtype, dtype] if compute_uv else real_dtype(dtype)

    def linearize(self, nz, x, **params):
        *_, m, n = x.shape
        compute_uv = params["compute_uv"]
        if params["full_matrices"] and compute_uv and m != n:
            raise NotImplementedError(
                "Singular value decomposition JVP not implemented for full matrices"
            )
        s, u, vh = self.bind(x, **(params | {"full_matrices": False, "compute_uv": True}))
        rule = SVDRule(s, u, vh)

        def push(t):
            inside = rule.inside(t)
            ds = real_part(diagonal(inside))
            if not compute_uv:
                return [ds]
            return [ds, rule.du(inside, t), adjoint(rule.dv(inside, t))]

        return [s, u, vh] if compute_uv else [s], push


class SVDRule:
    """The derivative of the singular value decomposition, around one matrix."""

    def __init__(self, s, u, vh):
        self.s, self.u, self.v = convert(s, u.dtype), u, adjoint(vh)
        shape = (*s.shape, s.shape[-1])
        columns, rows = stretched(as_rows(s), shape), stretched(as_columns(s), shape)
        gaps = mul(add(columns, rows), sub(columns, rows))
        self.factors = convert(off_diagonal_inverse(gaps), u.dtype)
        none = eq(s, full_like(s, 0))
        safe = select(none, full_like(s, 1), s)
        inverse = select(none, full_like(s, 0), div(full_like(s, 1), safe))
        self.inverse = convert(inverse, u.dtype)

    def inside(self, t):
        """The tangent in the coordinates of U and V."""
        return product(product(adjoint(self.u), t), self.v)

    def du(self, inside, t):
        """The tangent of U."""
        turn = mul(self.factors, twice_symmetric(scale_columns(inside, self.s)))
        skew = mul(sub(inside, adjoint(inside)), number(inside, 0.5))
        turn = add(turn, self.on_diagonal(skew))
        out = product(self.u, turn)
        return add(out, self.outside(product(t, self.v), self.u)) if tall(self.u) else out

    def dv(self, inside, t):
        """The tangent of V."""
        turn = mul(self.factors, twice_symmetric(scale_rows(inside, self.s)))
        out = product(self.v, turn)
        return add(out, self.outside(product(adjoint(t), self.u), self.v)) if tall(self.v) else out

    def on_diagonal(self, x):
        """The diagonal of x, divided by the singular values."""
        scaled = scale_columns(x, self.inverse)
        return select(mask(x.shape, diagonal=True), scaled, full_like(x, 0))

    def outside(self, x, basis):
        """What of x lies outside the span of the columns of basis, over the singular values."""
        rest = sub(x, product(basis, product(adjoint(basis), x)))
        return scale_columns(rest, self.inverse)


def twice_symmetric(x):
    """x + x^H."""
    return add(x, adjoint(x))


def tall(x):
    """Whether matrices have more rows than columns."""
    return x.shape[-2] > x.shape[-1]


svd_p = SVD("svd")


def svd(x, *, full_matrices=True, compute_uv=True, subset_by_index=None, algorithm=None):
    """-> U, s, Vh with x = U * s @ Vh; singular values from the largest to the smallest.

    Args:
      x: matrices [..., m, n].
      full_matrices: whether U and Vh are square.
      compute_uv: False returns only s.
      subset_by_index: (start, end) of the singular values wanted; on a CPU all must be.
      algorithm: None or an SvdAlgorithm; JACOBI and POLAR are for other devices.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> u, s, vh = lax.linalg.svd(np.float32([[0, 2], [1, 0]]))
    >>> s
    Array([2., 1.], dtype=float32)
    """
    subset = None if subset_by_index is None else tuple(subset_by_index)
    outs = svd_p(
        x,
        full_matrices=full_matrices,
        compute_uv=compute_uv,
        subset_by_index=subset,
        algorithm=algorithm,
    )
    if not compute_uv:
        return outs[0]
    s, u, vh = outs
    return u, s, vh
