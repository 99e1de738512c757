"""Functions of matrices: expm, sqrtm, funm; the Sylvester equation."""

import functools
import math

from tinyjax import dtypes, lax
from tinyjax import numpy as jnp
from tinyjax.autodiff import jvp
from tinyjax.numpy import linalg
from tinyjax.numpy.linalg.decompositions import adjoint
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.scipy.linalg.decompositions import rsf2csf, schur
from tinyjax.scipy.linalg.equations import solve_triangular
from tinyjax.transforms.subprogram import subprogram

HIGHEST = lax.Precision.HIGHEST
dot = functools.partial(jnp.dot, precision=HIGHEST)

# ---- the exponential ----------------------------------------------------------------------------

# Higham, "The scaling and squaring method for the matrix exponential revisited" (2005), table 2.3:
# the norm up to which the approximant of each order is exact, and the order for what is larger.
ORDERS = {4: ((3, 5, 7), (4.258730016922831e-1, 1.880152677804762), 3.925724783138660),
          8: ((3, 5, 7, 9, 13), (1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1,
                                 2.097847961257068), 5.371920351148152)}  # fmt: skip


@subprogram(static_argnames=("upper_triangular", "max_squarings"))
def expm(A, *, upper_triangular=False, max_squarings=16):
    """The exponential of square matrices, 1 + A + A @ A / 2 + ...

    Args:
      A: matrices [..., n, n].
      upper_triangular: promise that A is upper triangular.
      max_squarings: A is halved at most so many times; larger ones give nan.

    Higham, "The scaling and squaring method for the matrix exponential revisited" (2005).

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.expm(jnp.zeros((2, 2)))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    (A,) = promote_dtypes_inexact(jnp.asarray(A))
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"Expected A to be a (batched) square matrix, got A.shape={A.shape!r}.")
    settings = {"upper_triangular": upper_triangular, "max_squarings": max_squarings}
    if A.ndim > 2:
        one = functools.partial(expm, **settings)
        return jnp.vectorize(one, signature="(n,n)->(n,n)")(A)
    precision = jnp.real(A).dtype.itemsize
    if precision not in ORDERS:
        raise TypeError(f"A.dtype={A.dtype} is not supported.")
    orders, limits, largest = ORDERS[precision]
    size = linalg.norm(A, 1)
    squarings = jnp.maximum(0, jnp.floor(jnp.log2(size / largest)))
    A = A / 2 ** squarings.astype(A.dtype)
    which = jnp.digitize(size, jnp.array(limits, dtype=size.dtype))
    U, V = lax.switch(which, [functools.partial(pade, order=m) for m in orders], A)

    def too_large(A, P, Q):
        return jnp.full_like(A, jnp.nan)

    def compute(A, P, Q):
        R = solve_triangular(Q, P) if upper_triangular else linalg.solve(Q, P)
        return squared(R, squarings, max_squarings)

    return lax.cond(squarings > max_squarings, too_large, compute, A, U + V, V - U)


def pade(A, order):
    """-> odd and even part of the numerator p of exp's approximant p(A) / p(-A)."""
    m, f = order, math.factorial
    b = [float(f(2 * m - k) // (f(k) * f(m - k))) for k in range(m + 1)]
    one = jnp.eye(len(A), dtype=A.dtype)
    powers = [one, dot(A, A)]
    count = 4 if m == 13 else (m + 1) // 2
    while len(powers) < count:
        powers.append(dot(powers[-1], powers[1]))

    def combination(coefficients):
        return sum(c * P for c, P in reversed(list(zip(coefficients, powers))))

    odd, even = combination(b[1 : 2 * count : 2]), combination(b[0 : 2 * count : 2])
    if m == 13:  # the higher powers share a factor A**6
        odd = odd + dot(powers[3], b[13] * powers[3] + b[11] * powers[2] + b[9] * powers[1])
        even = even + dot(powers[3], b[12] * powers[3] + b[10] * powers[2] + b[8] * powers[1])
    return dot(A, odd), even


def squared(R, times, most):
    """R, squared so many times."""

    def step(R, i):
        return lax.cond(i < times, lambda x: dot(x, x), lambda x: x, R), None

    return lax.scan(step, R, jnp.arange(most, dtype=times.dtype))[0]


@subprogram(static_argnames=("method", "compute_expm"))
def expm_frechet(A, E, *, method=None, compute_expm=True):
    """-> expm(A) and its derivative in direction E; the derivative only, if not compute_expm.

    Args:
      A, E: matrices [..., n, n].
      method: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.expm_frechet(jnp.zeros((2, 2)), jnp.eye(2), compute_expm=False)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    A, E = jnp.asarray(A), jnp.asarray(E)
    for name, x in (("A", A), ("E", E)):
        if x.ndim < 2 or x.shape[-2] != x.shape[-1]:
            raise ValueError(
                f"expected {name} to be a (batched) square matrix, got {name}.shape={x.shape}"
            )
    if A.shape != E.shape:
        raise ValueError(
            f"expected A and E to be the same shape, got A.shape={A.shape} E.shape={E.shape}"
        )
    out, derivative = jvp(expm, (A,), (E,))
    return (out, derivative) if compute_expm else derivative


# ---- other functions ----------------------------------------------------------------------------


def sqrtm(A, blocksize=1):
    """A matrix whose square is A; complex.

    Args:
      A: matrix [n, n]; blocksize: must be 1.

    Bjorck and Hammarling, "A Schur method for the square root of a matrix" (1983).

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.sqrtm(jnp.diag(jnp.array([4.0, 9.0]))).real
    Array([[2., 0.],
           [0., 3.]], dtype=float32)
    """
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    return _sqrtm(jnp.asarray(A))


@subprogram
def _sqrtm(A):
    """sqrtm."""
    T, Z = schur(A, output="complex")
    root = jnp.matmul(Z, triangular_root(T), precision=HIGHEST)
    return jnp.matmul(root, adjoint(Z), precision=HIGHEST)


def triangular_root(T):
    """The square root of an upper triangular matrix, column by column, from the diagonal up."""
    diagonal = jnp.sqrt(jnp.diag(T))

    def column(j, U):
        def element(l, U):
            i = j - 1 - l
            known = dot(U[i], U[:, j])  # what is not known yet is zero
            rest = (T[i, j] - known) / (diagonal[i] + diagonal[j])
            return U.at[i, j].set(jnp.where(T[i, j] == known, 0.0, rest))

        return lax.fori_loop(0, j, element, U)

    return lax.fori_loop(0, T.shape[0], column, jnp.diag(diagonal))


def funm(A, func, disp=True):
    """func of a matrix: of its eigenvalues, if it is diagonalizable; complex.

    Args:
      A: matrix [n, n].
      func: function of an array of complex numbers, elementwise.
      disp: False returns also an estimate of the error.

    Golub and Van Loan, "Matrix Computations", algorithm 11.1.1 (Parlett's recurrence).

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> bool(jnp.allclose(linalg.funm(jnp.eye(2), jnp.exp), linalg.expm(jnp.eye(2))))
    True
    """
    A = jnp.asarray(A)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError("expected square array_like input")
    T, Z = rsf2csf(*schur(A))
    F = jnp.diag(func(jnp.diag(T))).astype(T.dtype)
    F, smallest = parlett(F, T)
    F = Z @ F @ adjoint(Z)
    if disp:
        return F
    tol = dtypes.finfo(jnp.float64 if F.dtype == "complex128" else jnp.float32).eps
    smallest = jnp.where(smallest == 0.0, tol, smallest)
    error = jnp.maximum(tol, (tol / smallest) * linalg.norm(jnp.triu(T, 1), 1))
    return F, jnp.where(jnp.any(jnp.isinf(F)), jnp.inf, jnp.minimum(1, error))


def parlett(F, T):
    """-> F off the diagonal, from F @ T = T @ F, diagonal by diagonal; the smallest divisor."""
    n = T.shape[0]

    def diagonal(p, state):
        def element(i, state):
            F, smallest = state
            j = i + p
            between = (jnp.arange(n) > i) & (jnp.arange(n) < j)
            products = T[i] * F[:, j] - F[i] * T[:, j]
            value = T[i, j] * (F[j, j] - F[i, i]) + jnp.sum(jnp.where(between, products, 0))
            gap = T[j, j] - T[i, i]
            value = jnp.where(gap != 0, value / jnp.where(gap != 0, gap, 1), value)
            return F.at[i, j].set(value), jnp.minimum(smallest, jnp.abs(gap))

        return lax.fori_loop(0, n - p, element, state)

    return lax.fori_loop(1, n, diagonal, (F, jnp.abs(T[0, 0])))


# ---- the Sylvester equation ---------------------------------------------------------------------


@subprogram(static_argnames=("method",))
def solve_sylvester(A, B, C, *, method="schur", tol=1e-8):
    """X with A @ X + X @ B = C.

    Args:
      A: matrices [..., m, m]; B: [..., n, n]; C: [..., m, n].
      method: "schur" or "eigen", which is faster, and less exact if eigenvectors are nearly
        dependent.
      tol: if an eigenvalue of A and one of -B are as near as this, the result is nan.

    Bartels and Stewart, "Solution of the matrix equation AX + XB = C" (1972).

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> x = linalg.solve_sylvester(jnp.eye(2), 2 * jnp.eye(2), 3 * jnp.ones((2, 2)))
    >>> print(jnp.round(x, 3))
    [[1. 1.]
     [1. 1.]]
    """
    A, B, C = promote_dtypes_inexact(jnp.asarray(A), jnp.asarray(B), jnp.asarray(C))
    m, n = C.shape[-2:]
    if A.shape[-2:] != (m, m) or B.shape[-2:] != (n, n):
        raise ValueError(
            f"Incompatible shapes for Sylvester equation:\nA: {A.shape}\nB: {B.shape}\nC: {C.shape}"
        )
    if method not in ("schur", "eigen"):
        raise ValueError(
            f'Unrecognized method {method}. The two valid methods are either "schur" or "eigen".'
        )
    one = functools.partial(sylvester, method=method, tol=tol)
    return jnp.vectorize(one, signature="(m,m),(n,n),(m,n)->(m,n)")(A, B, C)


def sylvester(A, B, C, method, tol):
    """solve_sylvester of one equation."""
    if method == "schur":
        R, U = schur(A, output="complex")
        S, V = schur(adjoint(B), output="complex")
        F = adjoint(U) @ C.astype(R.dtype) @ V
        X = U @ triangular_sylvester(R, adjoint(S), F) @ adjoint(V)
    else:
        RA, UA = linalg.eig(A)
        RB, UB = linalg.eig(B)
        Y = linalg.solve(UA, C.astype(RA.dtype) @ UB) / (RA[:, None] + RB[None, :])
        X = UA @ Y @ linalg.inv(UB)
    if C.dtype.kind != "c":
        X = X.real
    sums = linalg.eigvals(A)[:, None] + linalg.eigvals(B)[None, :]
    return jnp.where(jnp.any(jnp.abs(sums) < tol), jnp.nan, X)


def triangular_sylvester(R, S, F):
    """Y with R @ Y + Y @ S = F, R upper and S lower triangular: from the last element back."""
    m, n = F.shape

    def step(Y, index):
        i, j = index // n, index % n
        known = dot(R[i], Y[:, j]) + dot(Y[i], S[:, j])  # what is not known yet is zero
        return Y.at[i, j].set((F[i, j] - known) / (R[i, i] + S[j, j])), None

    return lax.scan(step, jnp.zeros_like(F), jnp.arange(m * n - 1, -1, -1))[0]
