"""Matrices as products of Householder reflectors 1 - tau * v v^H, and the forms they lead to:
hessenberg, tridiagonal; householder_product and ormqr, which multiply them out."""

import numpy as np

from tinyjax.primitives.matrix_cards import (
    Factorization,
    MatrixPrimitive,
    needed,
    real_dtype,
    symmetric,
    unitary,
)


class Hessenberg(Factorization):
    """hessenberg x: zero below the first subdiagonal, where the reflectors are; their factors."""

    def shapes(self, shape):
        if shape[0] != shape[1]:
            raise ValueError(
                f"Argument to Hessenberg reduction must have shape [..., n, n], got shape {shape}"
            )
        return [shape, (shape[1] - 1,)]

    def one(self, x):
        out, taus, _ = needed("gehrd", x.dtype)(x)
        return out, taus


class HouseholderProduct(MatrixPrimitive):
    """householder_product a taus: the first columns of the product of the reflectors."""

    ranks = (2, 1)

    def shapes(self, shape, taus):
        if shape[0] < shape[1]:
            raise ValueError(
                "The first argument to householder_product must have at least as many rows as "
                f"columns, got shape {shape}"
            )
        if taus[0] > min(shape):
            raise ValueError(
                "The second argument to householder_product must not have more rows than the "
                "minimum of the first argument's rows and columns."
            )
        return shape

    def one(self, a, taus):
        return unitary("gqr", a.dtype)(a, taus)[0] if a.size else a


class Ormqr(MatrixPrimitive):
    """ormqr[left transpose] a taus c: c times the product of the reflectors."""

    ranks = (2, 1, 2)

    def shapes(self, a, taus, c, *, left, transpose):
        if c[0 if left else 1] != a[0]:
            where, what = ("left=True", "rows") if left else ("left=False", "columns")
            raise ValueError(
                f"ormqr with {where} expects c to have as many {what} as the Householder matrix a "
                f"has rows. Got a shape {a} and c shape {c}."
            )
        return c

    def one(self, a, taus, c, *, left, transpose):
        if c.size == 0 or taus.size == 0:
            return c
        turned = "N" if not transpose else "C" if a.dtype.kind == "c" else "T"
        a = a[:, : len(taus)]
        multiply = unitary("mqr", a.dtype)
        side = "L" if left else "R"
        size = int(multiply(side, turned, a, taus, c, -1)[1][0].real)
        return multiply(side, turned, a, taus, c, size)[0]


class Tridiagonal(Factorization):
    """tridiagonal[lower] x: the reflectors, the two diagonals, the factors."""

    def shapes(self, shape, *, lower):
        if shape[0] != shape[1] or shape[1] == 0:
            raise ValueError(
                f"The input to tridiagonal must be a square matrix. Got shape {shape}."
            )
        n = shape[0]
        return [shape, (n,), (n - 1,), (n - 1,)]

    def dtypes(self, dtype, *, lower):
        return [dtype, real_dtype(dtype), real_dtype(dtype), dtype]

    def one(self, x, *, lower):
        out, d, e, taus, _ = symmetric("trd", x.dtype)(x, lower=lower)
        return np.asarray(out), d, e, taus


hessenberg_p = Hessenberg("hessenberg")
householder_product_p = HouseholderProduct("householder_product")
ormqr_p = Ormqr("ormqr")
tridiagonal_p = Tridiagonal("tridiagonal")


def hessenberg(a):
    """-> a in Hessenberg form with the reflectors below it, and their factors.

    Args:
      a: matrices [..., n, n]. In the first result, what lies below the first subdiagonal belongs to
        the reflectors.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> h, taus = lax.linalg.hessenberg(np.float32([[1, 2], [3, 4]]))
    >>> h
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return hessenberg_p(a)


def householder_product(a, taus):
    """The product of reflectors, as far as a has columns.

    Args:
      a: matrices [..., m, n], m >= n, with the vectors of the reflectors below the diagonal.
      taus: their factors [..., k], k <= n.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> lax.linalg.householder_product(np.zeros((2, 2), "float32"), np.float32([2, 0]))
    Array([[-1.,  0.],
           [-0.,  1.]], dtype=float32)
    """
    return householder_product_p(a, taus)


def ormqr(a, taus, c, *, left=True, transpose=False):
    """Q @ c or c @ Q, where Q is a product of reflectors that is never formed.

    Args:
      a: matrices [..., m, n] with the vectors of the reflectors below the diagonal.
      taus: their factors [..., k].
      c: matrices.
      left: Q @ c rather than c @ Q.
      transpose: take Q^H for Q.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> h, taus, c = np.zeros((2, 2), "float32"), np.float32([2, 0]), np.ones((2, 1), "float32")
    >>> lax.linalg.ormqr(h, taus, c)
    Array([[-1.],
           [ 1.]], dtype=float32)
    """
    return ormqr_p(a, taus, c, left=left, transpose=transpose)


def tridiagonal(a, *, lower=True):
    """-> reflectors, diagonal, subdiagonal, factors: Hermitian matrices made tridiagonal.

    Args:
      a: matrices [..., n, n]; lower: which triangle counts.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> _, d, e, _ = lax.linalg.tridiagonal(np.float32([[1, 2], [2, 3]]))
    >>> d
    Array([1., 3.], dtype=float32)
    """
    return tridiagonal_p(a, lower=lower)
