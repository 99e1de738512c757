"""Linear equations: cholesky, lu and what solves with their factors."""

import functools

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.mapping import vmap
from tinyjax.numpy import linalg
from tinyjax.numpy.linalg import equations
from tinyjax.numpy.linalg.decompositions import adjoint
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.primitives.identities import stop_gradient
from tinyjax.source import warn
from tinyjax.transforms.subprogram import subprogram

# ---- Cholesky -----------------------------------------------------------------------------------


@subprogram(static_argnames=("lower",))
def _cholesky(a, lower):
    """cholesky."""
    (a,) = promote_dtypes_inexact(jnp.asarray(a))
    root = lax.linalg.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    return root if lower else adjoint(root)


def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    """The triangular factor of Hermitian positive definite matrices.

    Args:
      a: matrices [..., n, n], of which one triangle counts.
      lower: return L with a = L @ L^H rather than U with a = U^H @ U.
      overwrite_a, check_finite: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 2.0]]))
    Array([[2., 1.],
           [0., 1.]], dtype=float32)
    """
    return _cholesky(a, lower)


def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    """-> the result of cholesky, lower: what cho_solve takes.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.cho_factor(jnp.array([[4.0, 2.0], [2.0, 2.0]]))
    (Array([[2., 1.],
           [0., 1.]], dtype=float32), False)
    """
    return cholesky(a, lower=lower), lower


@subprogram(static_argnames=("lower",))
def _cho_solve(c, b, lower):
    """cho_solve."""
    c, b = promote_dtypes_inexact(jnp.asarray(c), jnp.asarray(b))
    solve = functools.partial(triangular, c, signature=signature_of("cho_solve", c, b))
    b = solve(b, lower=lower, transpose_a=not lower, conjugate_a=not lower)
    return solve(b, lower=lower, transpose_a=lower, conjugate_a=lower)


def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    """x with a @ x = b, where cho_factor(a) is c_and_lower.

    Args:
      c_and_lower: what cho_factor returned; b: right-hand sides [..., n] or [..., n, k].
      overwrite_b, check_finite: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> factor = linalg.cho_factor(jnp.array([[4.0, 0.0], [0.0, 1.0]]))
    >>> linalg.cho_solve(factor, jnp.array([4.0, 1.0]))
    Array([1., 1.], dtype=float32)
    """
    c, lower = c_and_lower
    return _cho_solve(c, b, lower)


def signature_of(name, a, b, others=""):
    """vectorize's signature for matrices a and vectors or matrices b."""
    if b.ndim == 1:
        return f"(n,n){others},(n)->(n)"
    if a.ndim == b.ndim + 1 and a.shape[-1] == b.shape[-1]:
        warn(
            f"jax.scipy.linalg.{name}: batched 1D solves with b.ndim > 1 are deprecated, and in "
            "the future will be treated as a batched 2D solve. Append an axis to b and squeeze the "
            "result to avoid this warning.",
            FutureWarning,
        )
        return f"(n,n){others},(n)->(n)"
    return f"(n,n){others},(n,k)->(n,k)"


def triangular(a, b, *, signature, **settings):
    """lax.linalg.triangular_solve, whose batch axes broadcast."""
    solve = functools.partial(lax.linalg.triangular_solve, left_side=True, **settings)
    return jnp.vectorize(solve, signature=signature)(a, b)


# ---- LU -----------------------------------------------------------------------------------------


@subprogram(static_argnames=("overwrite_a", "check_finite"))
def lu_factor(a, overwrite_a=False, check_finite=True):
    """-> L and U in one matrix, pivots: what lu_solve takes.

    Args:
      a: matrices [..., m, n]. Row i was exchanged with row pivots[i], for each i in turn.
      overwrite_a, check_finite: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> both, pivots = linalg.lu_factor(jnp.array([[1.0, 2.0], [2.0, 2.0]]))
    >>> pivots
    Array([1, 1], dtype=int32)
    """
    (a,) = promote_dtypes_inexact(jnp.asarray(a))
    both, pivots, _ = lax.linalg.lu(a)
    return both, pivots


@subprogram(static_argnames=("trans", "overwrite_b", "check_finite"))
def lu_solve(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    """x with a @ x = b, where lu_factor(a) is lu_and_piv.

    Args:
      lu_and_piv: what lu_factor returned; b: right-hand sides [..., n] or [..., n, k].
      trans: 0 for a, 1 for its transpose, 2 for its adjoint.
      overwrite_b, check_finite: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> factor = linalg.lu_factor(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    >>> linalg.lu_solve(factor, jnp.array([2.0, 4.0]))
    Array([1., 1.], dtype=float32)
    """
    both, pivots = lu_and_piv
    both, b = promote_dtypes_inexact(jnp.asarray(both), jnp.asarray(b))
    permutation = lax.linalg.lu_pivots_to_permutation(pivots, both.shape[-1])
    signature = signature_of("lu_solve", both, b, ",(n)")
    solve = functools.partial(equations.lu_solve, trans=trans)
    return jnp.vectorize(solve, signature=signature)(both, permutation, b)


@subprogram(static_argnames=("permute_l",))
def _lu(a, permute_l):
    """lu."""
    (a,) = promote_dtypes_inexact(jnp.asarray(a))
    both, _, permutation = lax.linalg.lu(a)
    m, n = a.shape
    k = min(m, n)
    across, rows = permutation[None, :], jnp.arange(m, dtype=permutation.dtype)[:, None]
    p = jnp.real(jnp.array(across == rows, dtype=a.dtype))
    left = jnp.tril(both, -1)[:, :k] + jnp.eye(m, k, dtype=a.dtype)
    right = jnp.triu(both)[:k, :]
    if permute_l:
        return jnp.matmul(p, left, precision=lax.Precision.HIGHEST), right
    return p, left, right


@subprogram(static_argnames=("permute_l", "overwrite_a", "check_finite"))
def lu(a, permute_l=False, overwrite_a=False, check_finite=True):
    """-> P, L, U with a = P @ L @ U; with permute_l P @ L, U.

    Args:
      a: matrix [m, n].
      overwrite_a, check_finite: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> p, l, u = linalg.lu(jnp.array([[1.0, 2.0], [2.0, 2.0]]))
    >>> u
    Array([[2., 2.],
           [0., 1.]], dtype=float32)
    """
    return _lu(a, permute_l)


# ---- solving ------------------------------------------------------------------------------------

ASSUMPTIONS = ["gen", "sym", "her", "pos"]


def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, debug=False, check_finite=True,
          assume_a="gen"):  # fmt: skip
    """x with a @ x = b.

    Args:
      a: square matrices along the last two axes.
      b: a vector, or matrices whose columns are right-hand sides.
      lower: which triangle of a counts, if assume_a is "pos".
      assume_a: "pos" for Hermitian positive definite matrices: Cholesky is used. "gen", "sym" and
        "her" use LU.
      overwrite_a, overwrite_b, debug, check_finite: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.solve(jnp.array([[4.0, 0.0], [0.0, 1.0]]), jnp.array([4.0, 1.0]), assume_a="pos")
    Array([1., 1.], dtype=float32)
    """
    if assume_a not in ASSUMPTIONS:
        raise ValueError(f"Expected assume_a to be one of {ASSUMPTIONS}; got {assume_a!r}")
    return _solve(a, b, assume_a, lower)


@subprogram(static_argnames=("assume_a", "lower"))
def _solve(a, b, assume_a, lower):
    """solve."""
    if assume_a != "pos":
        return linalg.solve(a, b)
    a, b = promote_dtypes_inexact(jnp.asarray(a), jnp.asarray(b))
    equations.check_shapes(a, b)
    factors = cho_factor(stop_gradient(a), lower=lower)
    custom = functools.partial(
        lax.custom_linear_solve,
        lambda x: equations.matvec(a, x),
        solve=lambda _, x: cho_solve(factors, x),
        symmetric=True,
    )
    if a.ndim == b.ndim + 1:
        return custom(b)
    return vmap(custom, b.ndim - 1, max(a.ndim, b.ndim) - 1)(b)


TRANSPOSED = {0: (False, False), "N": (False, False), 1: (True, False), "T": (True, False),
              2: (True, True), "C": (True, True)}  # fmt: skip


def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False,
                     debug=None, check_finite=True):  # fmt: skip
    """x with a @ x = b for triangular matrices.

    Args:
      a: matrices [..., n, n]; the other triangle is not looked at.
      b: right-hand sides [..., n] or [..., n, k].
      trans: 0 or "N" for a, 1 or "T" for its transpose, 2 or "C" for its adjoint.
      lower: whether a is lower triangular.
      unit_diagonal: take ones for the diagonal.
      overwrite_b, debug, check_finite: accepted as SciPy's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.solve_triangular(jnp.array([[2.0, 1.0], [0.0, 1.0]]), jnp.array([3.0, 1.0]))
    Array([1., 1.], dtype=float32)
    """
    return _solve_triangular(a, b, trans, lower, unit_diagonal)


@subprogram(static_argnames=("trans", "lower", "unit_diagonal"))
def _solve_triangular(a, b, trans, lower, unit_diagonal):
    """solve_triangular."""
    if trans not in TRANSPOSED:
        raise ValueError(f"Invalid 'trans' value {trans}")
    transpose_a, conjugate_a = TRANSPOSED[trans]
    a, b = promote_dtypes_inexact(jnp.asarray(a), jnp.asarray(b))
    return triangular(
        a,
        b,
        signature=signature_of("solve_triangular", a, b),
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )


def inv(a, overwrite_a=False, check_finite=True):
    """The inverse of square matrices; see jnp.linalg.inv.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    return linalg.inv(a)


def det(a, overwrite_a=False, check_finite=True):
    """The determinant of square matrices; see jnp.linalg.det.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> print(linalg.det(jnp.array([[2.0, 0.0], [0.0, 4.0]])))
    8.0
    """
    return linalg.det(a)
