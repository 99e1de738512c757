"""Matrices as products of simpler ones: lu, qr, eigh, eig, svd."""

import numpy as np

from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Zero
from tinyjax.primitives.arithmetic import add, div, eq, mul, sub
from tinyjax.primitives.complex_parts import complex_, real
from tinyjax.primitives.creation import full_like
from tinyjax.primitives.gather_scatter import gather
from tinyjax.primitives.linear import convert, reshape
from tinyjax.primitives.matrices import (
    adjoint,
    as_columns,
    as_rows,
    diagonal,
    lower,
    mask,
    number,
    product,
    scale_columns,
    scale_rows,
    stretched,
    symmetrized,
    unit,
    upper,
)
from tinyjax.primitives.selection import select
from tinyjax.primitives.triangular import (
    MatrixPrimitive,
    check_matrix,
    linear_solve,
    triangular_solve,
)
from tinyjax.primitives.windows import GatherDimensionNumbers

INDEX = np.dtype(np.int32)


def real_dtype(dtype):
    """The dtype of the absolute value."""
    return np.zeros((), dtype).real.dtype


class Factorization(MatrixPrimitive):
    """Several matrices of one."""

    multi = True

    def weak_result(self, args, params):
        return False


# ---- LU -----------------------------------------------------------------------------------------


class LU(Factorization):
    """lu x: L and U in one matrix, the exchanged rows, the permutation; x[permutation] = L @ U."""

    def impl(self, x):
        lu = np.array(x)
        *batch, m, n = x.shape
        k = min(m, n)
        pivots = np.zeros((*batch, k), INDEX)
        permutation = np.broadcast_to(np.arange(m, dtype=INDEX), (*batch, m)).copy()
        for place in np.ndindex(*batch):
            eliminate(lu[place], pivots[place], permutation[place])
        return [lu, pivots, permutation]

    def type(self, x):
        *batch, m, n = x.shape
        pivots = ShapedArray((*batch, min(m, n)), INDEX)
        return [ShapedArray(x.shape, x.dtype), pivots, ShapedArray((*batch, m), INDEX)]

    def linearize(self, nz, x):
        lu, pivots, permutation = self.bind(x)

        def push(t):
            t = permuted(t, permutation)
            left, right = lu_parts(lu)
            inner = triangular_solve(left, t, left_side=True, lower=True, unit_diagonal=True)
            inner = triangular_solve(right, inner, left_side=False, lower=False)
            moved = add(product(left, lower(inner, -1)), product(upper(inner), right))
            return [moved, Zero(pivots.aval), Zero(permutation.aval)]

        return [lu, pivots, permutation], push


def eliminate(a, pivots, permutation):
    """Gaussian elimination of one matrix, in place, with the largest pivot of each column."""
    for j in range(min(a.shape)):
        best = j + int(np.argmax(np.abs(a[j:, j].real) + np.abs(a[j:, j].imag)))
        pivots[j] = best
        if best != j:
            a[[j, best]] = a[[best, j]]
            permutation[[j, best]] = permutation[[best, j]]
        if a[j, j] != 0:
            a[j + 1 :, j] /= a[j, j]
            a[j + 1 :, j + 1 :] -= np.outer(a[j + 1 :, j], a[j, j + 1 :])


def permuted(x, order):
    """The rows of x in an order."""
    n = x.ndim
    batch = tuple(range(n - 2))
    numbers = GatherDimensionNumbers((n - 1,), (n - 2,), (n - 2,), batch, batch)
    sizes = (1,) * (n - 1) + (x.shape[-1],)
    return gather(x, reshape(order, (*order.shape, 1)), numbers, sizes)


def lu_parts(lu):
    """-> square L and U; of the smaller one, an identity fills up what is missing."""
    m, n = lu.shape[-2:]
    if m == n:
        return add(lower(lu, -1), unit(lu)), upper(lu)
    raise NotImplementedError(
        f"The derivative of lu is implemented for square matrices only, got shape {lu.shape}"
    )


lu_p = LU("lu")


def lu(x):
    """-> L and U in one matrix, pivots, permutation: x[permutation] = L @ U.

    Args:
      x: matrices [..., m, n].

    L has ones on its diagonal, which are not stored. pivots[i] is the row that row i was exchanged
    with at step i; permutation is the order of rows that this gives.
    """
    x = lift(x)
    check_matrix("lu", x, square=False)
    return tuple(lu_p.bind(x))


# ---- QR -----------------------------------------------------------------------------------------


class QR(Factorization):
    """qr[full_matrices] x: Q with orthonormal columns, R upper triangular; x = Q @ R."""

    printed = {"pivoting": False, "use_magma": None}

    def impl(self, x, *, full_matrices):
        return list(np.linalg.qr(x, "complete" if full_matrices else "reduced"))

    def type(self, x, *, full_matrices):
        *batch, m, n = x.shape
        k = m if full_matrices else min(m, n)
        return [ShapedArray((*batch, m, k), x.dtype), ShapedArray((*batch, k, n), x.dtype)]

    def linearize(self, nz, x, *, full_matrices):
        q, r = self.bind(x, full_matrices=full_matrices)
        *_, m, n = x.shape
        if m < n or (full_matrices and m != n):
            raise NotImplementedError(
                "Unimplemented case of QR decomposition derivative: there must be no more columns "
                f"than rows, and full_matrices=False; got shape {x.shape}"
            )

        def push(t):
            inner = triangular_solve(r, t)  # t @ inv(r)
            inside = product(adjoint(q), inner)
            below = lower(inside, -1)
            turn = sub(below, adjoint(below))
            if x.dtype.kind == "c":  # the diagonal of R stays real
                angle = sub(inside, convert(real(inside), inside.dtype))
                turn = add(turn, select(mask(turn.shape, diagonal=True), angle, full_like(turn, 0)))
            dq = add(product(q, sub(turn, inside)), inner)
            return [dq, product(sub(inside, turn), r)]

        return [q, r], push


qr_p = QR("qr")


def qr(x, *, pivoting=False, full_matrices=True):
    """-> Q with orthonormal columns and R upper triangular: x = Q @ R.

    Args:
      x: matrices [..., m, n].
      pivoting: only False.
      full_matrices: whether Q is square.
    """
    if pivoting:
        raise NotImplementedError("qr with pivoting=True is not implemented.")
    x = lift(x)
    check_matrix("qr", x, square=False)
    return tuple(qr_p.bind(x, full_matrices=full_matrices))


# ---- eigenvalues --------------------------------------------------------------------------------


class Eigh(Factorization):
    """eigh[lower] x: eigenvectors (columns) and eigenvalues (ascending) of Hermitian matrices."""

    printed = {"algorithm": None, "sort_eigenvalues": True, "subset_by_index": None}

    def impl(self, x, *, lower):
        w, v = np.linalg.eigh(x, "L" if lower else "U")
        return [v.astype(x.dtype), w.astype(real_dtype(x.dtype))]

    def type(self, x, *, lower):
        return [ShapedArray(x.shape, x.dtype), ShapedArray(x.shape[:-1], real_dtype(x.dtype))]

    def linearize(self, nz, x, *, lower):
        v, w = self.bind(symmetrized(x), lower=lower)

        def push(t):
            inside = product(product(adjoint(v), symmetrized(t)), v)
            factors = convert(inverse_differences(w), x.dtype)
            return [product(v, mul(factors, inside)), real_part(diagonal(inside))]

        return [v, w], push


def inverse_differences(w):
    """1 / (w[j] - w[i]), and 0 on the diagonal."""
    shape = (*w.shape, w.shape[-1])
    gaps = sub(stretched(as_rows(w), shape), stretched(as_columns(w), shape))
    return off_diagonal_inverse(gaps)


def off_diagonal_inverse(x):
    """1 / x, and 0 on the diagonal."""
    same = mask(x.shape, diagonal=True)
    safe = select(same, full_like(x, 1), x)
    return select(same, full_like(x, 0), div(full_like(x, 1), safe))


def real_part(x):
    """The real part, of real numbers themselves."""
    return real(x) if x.dtype.kind == "c" else x


eigh_p = Eigh("eigh")


def eigh(x, *, lower=True, symmetrize_input=True):
    """-> eigenvectors (columns) and eigenvalues (ascending) of Hermitian matrices.

    Args:
      x: matrices [..., n, n].
      lower: which triangle counts.
      symmetrize_input: take (x + x^H) / 2.
    """
    x = lift(x)
    check_matrix("eigh", x)
    return tuple(eigh_p.bind(symmetrized(x) if symmetrize_input else x, lower=lower))


class Eig(Factorization):
    """eig x: eigenvalues and eigenvectors (columns) of square matrices; both are complex."""

    def impl(self, x, *, compute_left_eigenvectors, compute_right_eigenvectors):
        out = np.dtype(np.result_type(x.dtype, np.complex64))
        outs = []
        if compute_left_eigenvectors or compute_right_eigenvectors:
            w, v = np.linalg.eig(x)
        else:
            w, v = np.linalg.eigvals(x), None
        outs.append(w.astype(out))
        if compute_left_eigenvectors:
            left = np.conj(np.swapaxes(np.linalg.inv(v), -1, -2))
            outs.append((left / np.linalg.norm(left, axis=-2, keepdims=True)).astype(out))
        if compute_right_eigenvectors:
            outs.append(v.astype(out))
        return outs

    def type(self, x, *, compute_left_eigenvectors, compute_right_eigenvectors):
        out = np.dtype(np.result_type(x.dtype, np.complex64))
        vectors = ShapedArray(x.shape, out)
        count = compute_left_eigenvectors + compute_right_eigenvectors
        return [ShapedArray(x.shape[:-1], out)] + [vectors] * count

    def linearize(self, nz, x, *, compute_left_eigenvectors, compute_right_eigenvectors):
        if compute_left_eigenvectors or compute_right_eigenvectors:
            raise NotImplementedError(
                "The derivatives of non-symmetric eigenvectors are not supported. Only first-order "
                "derivatives of eigenvalues are supported."
            )
        w, v = self.bind(x, compute_left_eigenvectors=False, compute_right_eigenvectors=True)

        def push(t):
            t = convert(t, v.dtype) if t.dtype.kind == "c" else complex_(t, full_like(t, 0))
            return [diagonal(product(linear_solve(v, t), v))]

        return [w], push


eig_p = Eig("eig")


def eig(x, *, compute_left_eigenvectors=True, compute_right_eigenvectors=True):
    """-> eigenvalues, left and right eigenvectors (columns) of square matrices; all complex.

    Args:
      x: matrices [..., n, n].
      compute_left_eigenvectors, compute_right_eigenvectors: whether to return them.
    """
    x = lift(x)
    check_matrix("eig", x)
    return tuple(
        eig_p.bind(
            x,
            compute_left_eigenvectors=compute_left_eigenvectors,
            compute_right_eigenvectors=compute_right_eigenvectors,
        )
    )


# ---- singular values ----------------------------------------------------------------------------


class SVD(Factorization):
    """svd[compute_uv full_matrices] x: singular values, and U, Vh with x = U * s @ Vh."""

    printed = {"algorithm": None, "subset_by_index": None}

    def impl(self, x, *, full_matrices, compute_uv):
        if not compute_uv:
            return [np.linalg.svd(x, compute_uv=False).astype(real_dtype(x.dtype))]
        u, s, vh = np.linalg.svd(x, full_matrices=full_matrices)
        return [s.astype(real_dtype(x.dtype)), u, vh]

    def type(self, x, *, full_matrices, compute_uv):
        *batch, m, n = x.shape
        k = min(m, n)
        s = ShapedArray((*batch, k), real_dtype(x.dtype))
        if not compute_uv:
            return [s]
        columns, rows = (m, n) if full_matrices else (k, k)
        u = ShapedArray((*batch, m, columns), x.dtype)
        return [s, u, ShapedArray((*batch, rows, n), x.dtype)]

    def linearize(self, nz, x, *, full_matrices, compute_uv):
        *_, m, n = x.shape
        if full_matrices and compute_uv and m != n:
            raise NotImplementedError(
                "Singular value decomposition JVP not implemented for full matrices"
            )
        s, u, vh = self.bind(x, full_matrices=False, compute_uv=True)
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


def svd(x, *, full_matrices=True, compute_uv=True):
    """-> U, s, Vh with x = U * s @ Vh; singular values from the largest to the smallest.

    Args:
      x: matrices [..., m, n].
      full_matrices: whether U and Vh are square.
      compute_uv: False returns only s.
    """
    x = lift(x)
    check_matrix("svd", x, square=False)
    if not compute_uv:
        return svd_p.bind(x, full_matrices=full_matrices, compute_uv=False)[0]
    s, u, vh = svd_p.bind(x, full_matrices=full_matrices, compute_uv=True)
    return u, s, vh
