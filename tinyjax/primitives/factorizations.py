"""Matrices as products of simpler ones: lu and qr, and the reflectors that qr is made of."""

import numpy as np

from tinyjax.core import Zero
from tinyjax.primitives.arithmetic import add, sub
from tinyjax.primitives.complex_parts import real
from tinyjax.primitives.creation import full_like
from tinyjax.primitives.gather_scatter import gather
from tinyjax.primitives.linear import convert, reshape
from tinyjax.primitives.matrices import (
    adjoint,
    block,
    flipped,
    lower,
    mask,
    padded,
    product,
    unit,
    upper,
)
from tinyjax.primitives.matrix_cards import (
    INDEX,
    Factorization,
    MatrixPrimitive,
    lapack,
    many_small,
    needed,
    unitary,
)
from tinyjax.primitives.selection import select
from tinyjax.primitives.shaping import concatenate
from tinyjax.primitives.triangular import triangular_solve
from tinyjax.primitives.windows import GatherDimensionNumbers

# ---- LU -----------------------------------------------------------------------------------------


class LU(Factorization):
    """lu x: L and U in one matrix, the exchanged rows, the permutation; x[permutation] = L @ U."""

    def impl(self, x):
        if many_small(x, x.dtype):
            lu, pivots = eliminated(x)
            return [lu, pivots, permutation_of(pivots, x.shape[-2])]
        return super().impl(x)

    def one(self, x):
        lu, pivots, _ = lapack("getrf", x.dtype)(x)
        return lu, pivots, permutation_of(pivots, len(x))

    def shapes(self, shape):
        return [shape, (min(shape),), shape[:1]]

    def dtypes(self, dtype):
        return [dtype, INDEX, INDEX]

    def linearize(self, nz, x):
        lu, pivots, permutation = self.bind(x)

        def push(t):
            left, right = lu_parts(lu)
            t = rows_in_order(t, permutation)
            inner = triangular_solve(left, t, left_side=True, lower=True, unit_diagonal=True)
            inner = triangular_solve(right, inner, left_side=False, lower=False)
            moved = add(product(left, lower(inner, -1)), product(upper(inner), right))
            return [moved, Zero(pivots.aval), Zero(permutation.aval)]

        return [lu, pivots, permutation], push


def eliminated(x):
    """-> L and U in one matrix, exchanged rows: Gauss, with the largest pivot of each column."""
    *batch, m, n = x.shape
    a = np.array(x).reshape(np.prod(batch, dtype=int), m, n)
    every, pivots = np.arange(len(a)), np.zeros((len(a), min(m, n)), INDEX)
    for j in range(min(m, n)):
        column = a[:, j:, j]
        best = j + np.argmax(np.abs(column.real) + np.abs(column.imag), axis=1)
        pivots[:, j] = best
        row = a[every, best]
        a[every, best] = a[:, j]
        a[:, j] = row
        pivot = a[:, j, j, None]
        factors = a[:, j + 1 :, j] / np.where(pivot == 0, 1, pivot)
        a[:, j + 1 :, j] = factors
        a[:, j + 1 :, j + 1 :] -= factors[..., None] * a[:, j, None, j + 1 :]
    return a.reshape(x.shape), pivots.reshape(*batch, min(m, n))


def permutation_of(pivots, size):
    """The order of rows after row i was exchanged with row pivots[i], for each i in turn."""
    *batch, k = pivots.shape
    pivots = pivots.reshape(np.prod(batch, dtype=int), k)
    if len(pivots) <= 4:  # Python exchanges numbers sooner than NumPy columns of so few
        return np.array([exchanged(p, size) for p in pivots.tolist()], INDEX).reshape(*batch, size)
    order = np.tile(np.arange(size, dtype=INDEX), (len(pivots), 1))
    every = np.arange(len(pivots))
    for i in range(k):
        row = order[every, pivots[:, i]]
        order[every, pivots[:, i]] = order[:, i]
        order[:, i] = row
    return order.reshape(*batch, size)


def exchanged(pivots, size):
    """permutation_of one list of pivots."""
    order = list(range(size))
    for i, p in enumerate(pivots):
        order[i], order[p] = order[p], order[i]
    return order


def rows_in_order(x, order):
    """The rows of x in an order."""
    n = x.ndim
    batch = tuple(range(n - 2))
    numbers = GatherDimensionNumbers((n - 1,), (n - 2,), (n - 2,), batch, batch)
    sizes = (1,) * (n - 1) + (x.shape[-1],)
    return gather(x, reshape(order, (*order.shape, 1)), numbers, sizes)


def lu_parts(lu):
    """-> square L and U; of the smaller one, an identity fills up what is missing."""
    m, n = lu.shape[-2:]
    k = min(m, n)
    left = lower(block(lu, slice(0, m), slice(0, k)), -1)
    right = upper(block(lu, slice(0, k), slice(0, n)))
    there = padded(unit(block(lu, slice(0, k), slice(0, k))), n - k, n - k)
    left, right = padded(left, 0, m - k), padded(right, n - k, 0)
    return add(left, unit(left)), add(right, sub(unit(right), there))


lu_p = LU("lu")


def lu(x):
    """-> L and U in one matrix, pivots, permutation: x[permutation] = L @ U.

    Args:
      x: matrices [..., m, n].

    L has ones on its diagonal, which are not stored. pivots[i] is the row that row i was exchanged
    with at step i; permutation is the order of rows that this gives.

    The derivative is that of De Hoog, Anderssen and Lukas, "Differentiation of matrix functionals
    using triangular factorization" (2011).

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> lax.linalg.lu(np.array([[1.0, 2.0], [2.0, 2.0]], "float32"))[0]
    Array([[2. , 2. ],
           [0.5, 1. ]], dtype=float32)
    """
    return lu_p(x)


class PivotsToPermutation(MatrixPrimitive):
    """lu_pivots_to_permutation[permutation_size] pivots."""

    ranks, accepts = (1,), "i"

    def shapes(self, shape, *, permutation_size):
        if permutation_size < shape[0]:
            raise ValueError(
                f"Output permutation size {permutation_size} has to exceed the trailing dimension "
                f"of the pivots. Got pivots size {shape[0]}"
            )
        return (permutation_size,)

    def one(self, pivots, *, permutation_size):
        return permutation_of(pivots, permutation_size)


lu_pivots_to_permutation_p = PivotsToPermutation("lu_pivots_to_permutation")


def lu_pivots_to_permutation(pivots, permutation_size):
    """The order of rows that exchanging row i with row pivots[i], for each i in turn, gives.

    Args:
      pivots: int32 array [..., k]; permutation_size: the number of rows, at least k.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> lax.linalg.lu_pivots_to_permutation(np.array([2, 2], "int32"), 3)
    Array([2, 0, 1], dtype=int32)
    """
    return lu_pivots_to_permutation_p(pivots, permutation_size=permutation_size)


def solve_with(a, b):
    """x with a @ x = b, for square matrices."""
    both, _, permutation = lu_p.bind(a)
    b = rows_in_order(b, permutation)
    b = triangular_solve(both, b, left_side=True, lower=True, unit_diagonal=True)
    return triangular_solve(both, b, left_side=True)


# ---- QR -----------------------------------------------------------------------------------------


class Geqrf(Factorization):
    """geqrf x: R, and below its diagonal the reflectors whose product is Q; their factors."""

    def shapes(self, shape):
        return [shape, (min(shape),)]

    def one(self, x):
        if x.size == 0:
            return x, 0
        qr, tau, _, _ = needed("geqrf", x.dtype)(x)
        return qr, tau


class Geqp3(Factorization):
    """geqp3 x: geqrf of x with its columns in an order; that order, factors."""

    def shapes(self, shape):
        return [shape, shape[1:], (min(shape),)]

    def dtypes(self, dtype):
        return [dtype, INDEX, dtype]

    def one(self, x):
        if x.size == 0:
            return x, np.arange(x.shape[1]), 0
        qr, order, tau, _, _ = needed("geqp3", x.dtype)(x)
        return qr, order - 1, tau


geqrf_p, geqp3_p = Geqrf("geqrf"), Geqp3("geqp3")


def geqrf(x):
    """-> R with the reflectors below its diagonal, their factors; Q is their product."""
    return geqrf_p(x)


class QR(Factorization):
    """qr[full_matrices pivoting use_magma] x: Q with orthonormal columns, R upper triangular."""

    def shapes(self, shape, *, pivoting, full_matrices, use_magma):
        m, n = shape
        k = m if full_matrices else min(m, n)
        return [(m, k), (k, n), (n,)] if pivoting else [(m, k), (k, n)]

    def dtypes(self, dtype, *, pivoting, **params):
        return [dtype, dtype, INDEX] if pivoting else dtype

    def impl(self, x, *, pivoting, full_matrices, use_magma):
        if not pivoting:
            return list(np.linalg.qr(x, "complete" if full_matrices else "reduced"))
        return super().impl(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma)

    def one(self, x, *, pivoting, full_matrices, use_magma):
        m, n = x.shape
        if x.size == 0:
            return np.eye(m, m if full_matrices else min(m, n)), 0, np.arange(n)
        both, order, tau, _, _ = needed("geqp3", x.dtype)(x)
        k = m if full_matrices else min(m, n)
        reflectors = np.zeros((m, k), x.dtype)
        reflectors[:, : min(k, n)] = both[:, : min(k, n)]
        q = unitary("gqr", x.dtype)(reflectors, tau)[0]
        return q, np.triu(both)[:k], order - 1

    def linearize(self, nz, x, **params):
        outs = q, r, *order = self.bind(x, **params)
        m, n = x.shape[-2:]

        def push(t):
            if order:
                t = flipped(rows_in_order(flipped(t), order[0]))
            if m < n:
                dq, dr = wide_qr_tangent(q, r, t)
            elif m > n and params["full_matrices"]:
                dq, dr = full_qr_tangent(q, r, t)
            else:
                dq, dr = thin_qr_tangent(q, r, t)
            return [dq, dr, *[Zero(p.aval) for p in order]]

        return list(outs), push


def thin_qr_tangent(q, r, t):
    """For no more columns than rows: j-towns.github.io/papers/qr-derivative.pdf."""
    inner = triangular_solve(r, t)  # t @ inv(r)
    inside = product(adjoint(q), inner)
    below = lower(inside, -1)
    turn = sub(below, adjoint(below))
    if t.dtype.kind == "c":  # the diagonal of R stays real
        angle = sub(inside, convert(real(inside), inside.dtype))
        turn = add(turn, select(mask(turn.shape, diagonal=True), angle, full_like(turn, 0)))
    dq = add(product(q, sub(turn, inside)), inner)
    return dq, product(sub(inside, turn), r)


def wide_qr_tangent(q, r, t):
    """More columns than rows: the first ones determine Q, and R = Q^H x."""
    m, n = r.shape[-2:]
    first, rest = slice(0, m), slice(m, n)
    dq, dr = thin_qr_tangent(q, block(r, first, first), block(t, first, first))
    right = block(r, first, rest)
    moved = add(product(adjoint(dq), product(q, right)), product(adjoint(q), block(t, first, rest)))
    return dq, concatenate((dr, moved), r.ndim - 1)


def full_qr_tangent(q, r, t):
    """Square Q of more rows than columns: the columns that complete the basis turn with the others
    (arXiv:2409.13374, equations 32 and 33)."""
    m, n = t.shape[-2:]
    every, top, bottom = slice(0, m), slice(0, n), slice(n, m)
    thin, extra = block(q, every, top), block(q, every, bottom)
    dq, dr = thin_qr_tangent(thin, block(r, top, top), t)
    square = block(thin, top, top)
    zh = solve_with(adjoint(sub(square, unit(square))), adjoint(block(thin, bottom, top)))
    z = adjoint(zh)
    moved = sub(block(dq, bottom, top), product(z, block(dq, top, top)))
    moved = product(add(thin, product(extra, z)), adjoint(moved))
    dq = concatenate((dq, sub(product(dq, zh), moved)), q.ndim - 1)
    return dq, padded(dr, m - n, 0)


qr_p = QR("qr")


def qr(x, *, pivoting=False, full_matrices=True, use_magma=None):
    """-> Q with orthonormal columns and R upper triangular: x = Q @ R.

    Args:
      x: matrices [..., m, n].
      pivoting: exchange columns so that the diagonal of R does not increase in size; returns also
        their order p, for x[:, p] = Q @ R.
      full_matrices: whether Q is square.
      use_magma: accepted as JAX's; it is for GPUs.

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> q, r, p = lax.linalg.qr(np.float32([[1, 0], [0, 2]]), pivoting=True)
    >>> p
    Array([1, 0], dtype=int32)
    """
    return tuple(qr_p(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma))
