"""Linear equations, inverses, determinants."""

import functools
import math
import operator
from typing import NamedTuple

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.avals import Value
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.creation import array, asarray, empty, eye, zeros
from tinyjax.numpy.linalg.decompositions import adjoint, inexact_matrix, svd
from tinyjax.numpy.linalg.equations import solve_matrix
from tinyjax.numpy.linalg.norms import norm
from tinyjax.numpy.linear import matmul
from tinyjax.numpy.matrices import diagonal, ix_, trace
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.reductions import any, count_nonzero, cumprod, prod, sum
from tinyjax.numpy.searching import where
from tinyjax.numpy.shaping import broadcast_to, moveaxis
from tinyjax.numpy.subprogram import subprogram
from tinyjax.numpy.ufuncs import abs, conj, exp, log, real
from tinyjax.numpy.vectorizing import vectorize
from tinyjax.transforms.custom import custom_jvp

HIGHEST = lax.Precision.HIGHEST

# ---- equations ----------------------------------------------------------------------------------


@subprogram
def solve(a, b):
    """x with a @ x = b.

    Args:
      a: square matrices along the last two axes.
      b: a vector, or matrices whose columns are right-hand sides.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 4.0]))
    Array([1., 1.], dtype=float32)
    """
    a, b = promote_dtypes_inexact(*ensure_arraylike("jnp.linalg.solve", a, b))
    if a.ndim < 2:
        raise ValueError(f"left hand array must be at least two dimensional; got a.shape={a.shape}")
    if (
        b.ndim > 1
        and a.ndim == b.ndim + 1
        and a.shape[-1] == b.shape[-1]
        and a.shape[-1] != b.shape[-2]
    ):
        raise ValueError(
            f"Invalid shapes for solve: {a.shape}, {b.shape}. Prior to JAX v0.5.0, this would have "
            "been treated as a batched 1-dimensional solve. To recover this behavior, use "
            "solve(a, b[..., None]).squeeze(-1)."
        )
    signature = "(m,m),(m)->(m)" if b.ndim == 1 else "(m,m),(m,n)->(m,n)"
    return vectorize(solve_matrix, signature=signature)(a, b)


@subprogram
def inv(a):
    """The inverse of square matrices; to solve equations, solve is faster and more exact."""
    a = ensure_arraylike("jnp.linalg.inv", a)
    check_square("inv", a)
    return solve(a, lax.broadcast(eye(a.shape[-1], dtype=a.dtype), a.shape[:-2]))


def check_square(name, a):
    """Raise ValueError unless a holds square matrices."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to {name} must have shape [..., n, n], got {a.shape}.")


def lstsq(a, b, rcond=None, *, numpy_resid=False):
    """-> x that minimizes norm(b - a @ x), squared residuals, rank of a, singular values of a.

    Args:
      a: matrix; b: vector or matrix.
      rcond: singular values below this part of the largest count as zero.
      numpy_resid: return no residuals where NumPy returns none (not under jit).
    """
    a, b = ensure_arraylike("jnp.linalg.lstsq", a, b)
    if numpy_resid:
        return least_squares(a, b, rcond, True)
    return _lstsq(a, b, rcond)


@subprogram
def _lstsq(a, b, rcond):
    """lstsq, residuals always."""
    return least_squares(a, b, rcond, False)


def least_squares(a, b, rcond, numpy_resid):
    """lstsq by the singular value decomposition."""
    a, b = promote_dtypes_inexact(a, b)
    if a.shape[0] != b.shape[0]:
        raise ValueError("Leading dimensions of input arrays must match")
    flat = b.ndim == 1
    b = b[:, None] if flat else b
    if a.ndim != 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if b.ndim != 2:
        raise TypeError(f"{b.ndim}-dimensional array given. Array must be one or two-dimensional")
    m, n = a.shape
    eps = float(dtypes.finfo(a.dtype).eps)
    if a.size == 0:
        s, rank = empty(0, dtype=a.dtype), array(0, dtype=int)
        x = zeros((n, *b.shape[1:]), dtype=a.dtype)
    else:
        rcond = eps * max(n, m) if rcond is None else where(rcond < 0, eps, rcond)
        u, s, vt = svd(a, full_matrices=False)
        mask = (s > 0) & (s >= array(rcond, dtype=s.dtype) * s[0])
        rank = mask.sum()
        safe = where(mask, s, 1).astype(a.dtype)
        inverse = where(mask, 1 / safe, 0)[:, None]
        x = matmul(conj(vt).T, inverse * matmul(conj(u).T, b, precision=HIGHEST), precision=HIGHEST)
    if numpy_resid and (rank < n or m <= n):
        residuals = asarray([])
    else:
        residuals = norm(b - matmul(a, x, precision=HIGHEST), axis=0) ** 2
    return x.ravel() if flat else x, residuals, rank, s


def pinv(a, rtol=None, hermitian=False, *, rcond=None):
    """The pseudo-inverse of matrices.

    Args:
      a: matrices along the last two axes.
      rtol: singular values below this part of the largest count as zero (rcond: another name).
      hermitian: promise that a is Hermitian.
    """
    if rcond is not None and rtol is not None:
        raise ValueError("pinv: only one of rtol and rcond may be specified.")
    return _pinv(a, rcond if rtol is None else rtol, hermitian)


@functools.partial(custom_jvp, nondiff_argnums=(1, 2))
@subprogram(static_argnames=("hermitian",))
def _pinv(a, rtol=None, hermitian=False):
    """pinv by the singular value decomposition."""
    a = inexact_matrix("pinv", a)
    m, n = a.shape[-2:]
    if m == 0 or n == 0:
        return empty((*a.shape[:-2], n, m), a.dtype)
    a = conj(a)
    if rtol is None:
        rtol = 10.0 * max(m, n) * array(dtypes.finfo(a.dtype).eps)
    rtol = asarray(rtol)
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    rtol = lax.expand_dims(rtol[..., None], range(s.ndim - rtol.ndim - 1))
    s = where(s > rtol * s[..., 0:1], s, np.inf).astype(u.dtype)
    out = matmul(vh.mT, u.mT / s[..., None], precision=HIGHEST)
    return lax.convert_element_type(out, a.dtype)


@_pinv.defjvp
def _pinv_jvp(rtol, hermitian, primals, tangents):
    """Golub and Pereyra's formula, with products in the order that keeps matrices small."""
    (a,), (t,) = primals, tangents
    p = pinv(a, rtol=rtol, hermitian=hermitian)
    if hermitian:
        a, t = (a + adjoint(a)) / 2, (t + adjoint(t)) / 2
    if a.shape[-2] >= a.shape[-1]:
        s = p @ adjoint(p) @ adjoint(t)
        r = adjoint(t) @ adjoint(p) @ p
        return p, -(p @ t) @ p + s - s @ a @ p + r - p @ a @ r
    s = p @ (adjoint(p) @ adjoint(t))
    r = adjoint(t) @ (adjoint(p) @ p)
    return p, -p @ (t @ p) + s - s @ (a @ p) + r - p @ (a @ r)


def tensorsolve(a, b, axes=None):
    """x with tensordot(a, x, x.ndim) = b; axes: which axes of a to move to the end first."""
    a, b = ensure_arraylike("tensorsolve", a, b)
    if axes is not None:
        a = moveaxis(a, axes, len(axes) * (a.ndim - 1,))
    shape = a.shape[b.ndim :]
    if a.shape[: b.ndim] != b.shape:
        raise ValueError(
            "After moving axes to end, leading shape of a must match shape of b. got "
            f"a.shape={a.shape}, b.shape={b.shape}"
        )
    if b.size != math.prod(shape):
        raise ValueError(
            "Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]); got "
            f"a.shape={a.shape}, b.ndim={b.ndim}."
        )
    return solve(a.reshape(b.size, math.prod(shape)), b.ravel()).reshape(shape)


def tensorinv(a, ind=2):
    """The inverse for tensordot(a, b, ind)."""
    a = ensure_arraylike("tensorinv", a)
    ind = operator.index(ind)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got ind={ind}")
    rows, columns = a.shape[:ind], a.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise ValueError(
            "tensorinv is only possible when the product of the first `ind` dimensions equals "
            f"that of the remaining dimensions. got arr.shape={a.shape} with ind={ind}."
        )
    return inv(a.reshape(math.prod(rows), math.prod(columns))).reshape(*columns, *rows)


@subprogram(static_argnames=("n",))
def matrix_power(a, n):
    """The n-th power of square matrices, by squaring; negative powers invert first."""
    a = ensure_arraylike("jnp.linalg.matrix_power", a)
    if a.ndim < 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-2] != a.shape[-1]:
        raise TypeError("Last 2 dimensions of the array must be square")
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError(f"exponent must be an integer, got {n}") from error
    if n == 0:
        return broadcast_to(eye(a.shape[-2], dtype=a.dtype), a.shape)
    if n < 0:
        a, n = inv(a), -n
    if n == 3:
        return a @ a @ a
    square = result = None
    while n:
        square = a if square is None else square @ square
        n, bit = divmod(n, 2)
        if bit:
            result = square if result is None else result @ square
    return result


@subprogram(static_argnames=("p",))
def cond(x, p=None):
    """The condition number of matrices: norm(x) * norm(inv(x)).

    Args:
      x: matrices along the last two axes; p: the norm, 2 by default.
    """
    x = ensure_arraylike("cond", x)
    if x.ndim < 2:
        raise ValueError(f"jnp.linalg.cond: input array must be at least 2D; got shape {x.shape}")
    if 0 in x.shape:
        raise ValueError(f"jnp.linalg.cond: input array must not be empty; got shape {x.shape}")
    if p in (None, 2, -2):
        s = svd(x, compute_uv=False)
        r = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        if x.shape[-2] != x.shape[-1]:
            raise ValueError(
                "jnp.linalg.cond: for p not in {None, 2, -2}, array must be square; got shape "
                f"{x.shape}"
            )
        r = norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))
    given_nan = any(lax.ne(x, x), axis=(-2, -1))
    return where(lax.ne(r, r) & ~given_nan, np.inf, r)


# ---- determinants -------------------------------------------------------------------------------


class SlogdetResult(NamedTuple):
    """What slogdet returns."""

    sign: Value
    logabsdet: Value


@subprogram(static_argnames=("method",))
def slogdet(a, *, method=None):
    """-> the sign of the determinant and the logarithm of its absolute value.

    Args:
      a: square matrices along the last two axes.
      method: "lu", the default.
    """
    a = inexact_matrix("slogdet", a)
    check_square("slogdet()", a)
    if method not in (None, "lu"):
        raise ValueError(f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`).")
    return SlogdetResult(*_slogdet_lu(a))


@custom_jvp
def _slogdet_lu(a):
    """slogdet from the diagonal of U and the number of exchanged rows."""
    dtype = a.dtype
    lu, pivot, _ = lax.linalg.lu(a)
    diag = diagonal(lu, axis1=-2, axis2=-1)
    zero = any(diag == array(0, dtype=dtype), axis=-1)
    iota = lax.expand_dims(lax.iota(pivot.dtype, a.shape[-1]), range(pivot.ndim - 1))
    parity = count_nonzero(pivot != iota, axis=-1)
    if dtype.kind == "c":
        s = prod(diag / abs(diag).astype(dtype), axis=-1)
    else:
        s = array(1, dtype=dtype)
        parity = parity + count_nonzero(diag < 0, axis=-1)
    flips = (-2 * (parity % 2) + 1).astype(dtype)
    s = where(zero, array(0, dtype=dtype), s * flips)
    total = sum(log(abs(diag)).astype(dtype), axis=-1)
    return s, real(where(zero, array(-np.inf, dtype=dtype), total))


@_slogdet_lu.defjvp
def _slogdet_jvp(primals, tangents):
    """The derivative of log(det(a)) is trace(inv(a) @ t)."""
    (a,), (t,) = primals, tangents
    s, logdet = slogdet(a)
    slope = trace(solve(a, t), axis1=-1, axis2=-2)
    if a.dtype.kind != "c":
        return (s, logdet), (lax.full_like(s, 0), slope)
    turn = (slope - real(slope).astype(slope.dtype)) * s
    return (s, logdet), (turn, real(slope))


@subprogram
def det(a):
    """The determinant of square matrices.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array(-2., dtype=float32)
    """
    a = inexact_matrix("det", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to _det() must have shape [..., n, n], got {a.shape}")
    if a.shape[-1] == 2:
        return a[..., 0, 0] * a[..., 1, 1] - a[..., 0, 1] * a[..., 1, 0]
    if a.shape[-1] == 3:
        return (
            a[..., 0, 0] * a[..., 1, 1] * a[..., 2, 2]
            + a[..., 0, 1] * a[..., 1, 2] * a[..., 2, 0]
            + a[..., 0, 2] * a[..., 1, 0] * a[..., 2, 1]
            - a[..., 0, 2] * a[..., 1, 1] * a[..., 2, 0]
            - a[..., 0, 0] * a[..., 1, 2] * a[..., 2, 1]
            - a[..., 0, 1] * a[..., 1, 0] * a[..., 2, 2]
        )
    return _det(a)


@custom_jvp
def _det(a):
    """det of matrices that are not small."""
    s, logdet = slogdet(a)
    return s * exp(logdet).astype(s.dtype)


@_det.defjvp
def _det_jvp(primals, tangents):
    """trace(adjugate(a) @ t), which exists where a is singular, too."""
    (a,), (t,) = primals, tangents
    out, product = cofactor_solve(a, t)
    return out, trace(product, axis1=-1, axis2=-2)


def cofactor_solve(a, b):
    """-> det(a), det(a) * inv(a) @ b, for matrices of rank n - 1 or more.

    The last pivot, which is what a singular matrix lacks, is never divided by: it is replaced by
    the reciprocal of the product of the others.
    """
    if a.shape[-1] == 1:
        return a[..., 0, 0], b
    lu, pivots, permutation = lax.linalg.lu(a)
    n, dtype = a.shape[-1], a.dtype
    batch = lax.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    x = broadcast_to(b, batch + b.shape[-2:])
    lu = broadcast_to(lu, batch + lu.shape[-2:])
    diag = diagonal(lu, axis1=-2, axis2=-1)
    iota = lax.expand_dims(lax.iota(pivots.dtype, n), range(pivots.ndim - 1))
    parity = count_nonzero(pivots != iota, axis=-1)
    flips = asarray(-2 * (parity % 2) + 1, dtype=dtype)
    partial = cumprod(diag, axis=-1) * flips[..., None]
    lu = IndexUpdate(lu)[..., -1, -1].set(1.0 / partial[..., -2])
    permutation = broadcast_to(permutation, (*batch, n))
    rows = ix_(*(lax.iota(np.int32, k) for k in (*batch, 1)))
    probe = lax.linalg.triangular_solve(lu, lax.full_like(x[..., :1], 1), left_side=True,
                                        lower=False)  # fmt: skip
    degenerate = any(~lax.is_finite(abs(probe)), axis=(-2, -1))[..., None, None]
    degenerate = broadcast_to(degenerate, x.shape)
    x = where(degenerate, lax.full_like(x, 0), x)
    x = x[(*rows[:-1], permutation, slice(None))]
    x = lax.linalg.triangular_solve(lu, x, left_side=True, lower=True, unit_diagonal=True)
    x = lax.concatenate((x[..., :-1, :] * partial[..., -1, None, None], x[..., -1:, :]), x.ndim - 2)
    x = lax.linalg.triangular_solve(lu, x, left_side=True, lower=False)
    return partial[..., -1], where(degenerate, lax.full_like(x, 0), x)
