"""Linear equations, inverses, powers."""

import functools
import math
import operator

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.creation import array, asarray, empty, eye, zeros
from tinyjax.numpy.linalg.decompositions import adjoint, inexact_matrix, svd
from tinyjax.numpy.linalg.equations import solve_matrix
from tinyjax.numpy.linalg.norms import norm
from tinyjax.numpy.linear import matmul
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.reductions import any
from tinyjax.numpy.searching import where
from tinyjax.numpy.shaping import broadcast_to, moveaxis
from tinyjax.numpy.ufuncs import conj
from tinyjax.numpy.vectorizing import vectorize
from tinyjax.transforms.custom import custom_jvp
from tinyjax.transforms.subprogram import subprogram

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
    """The inverse of square matrices; to solve equations, solve is faster and more exact.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
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

    >>> import tinyjax.numpy as jnp
    >>> x, *_ = jnp.linalg.lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))
    >>> print(jnp.round(x, 3))
    [2.]
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
    eps = dtypes.finfo(a.dtype).eps
    if a.size == 0:
        s, rank = empty(0, dtype=a.dtype), array(0, dtype=int)
        x = zeros((n, *b.shape[1:]), dtype=a.dtype)
    else:
        rcond = float(eps) * max(n, m) if rcond is None else where(rcond < 0, eps, rcond)
        u, s, vt = svd(a, full_matrices=False)
        mask = (s > 0) & (s >= array(rcond, dtype=s.dtype) * s[0])
        rank = mask.sum()
        safe = where(mask, s, 1).astype(a.dtype)
        inverse = where(mask, 1 / safe, 0)[:, None]
        inside = matmul(conj(u).T, b, precision=HIGHEST)
        x = matmul(conj(vt).T, inverse * inside, precision=HIGHEST)
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

    >>> import tinyjax.numpy as jnp
    >>> print(jnp.round(jnp.linalg.pinv(jnp.array([[1.0], [1.0]])), 3))
    [[0.5 0.5]]
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
    """x with tensordot(a, x, x.ndim) = b; axes: which axes of a to move to the end first.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.tensorsolve(2 * jnp.eye(4).reshape(2, 2, 2, 2), jnp.ones((2, 2)))
    Array([[0.5, 0.5],
           [0.5, 0.5]], dtype=float32)
    """
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
    """The inverse for tensordot(a, b, ind).

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.tensorinv(jnp.eye(4).reshape(4, 2, 2), ind=1).shape
    (2, 2, 4)
    """
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
    """The n-th power of square matrices, by squaring; negative powers invert first.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [0, 1]]), 5)
    Array([[1, 5],
           [0, 1]], dtype=int32)
    """
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

    >>> import tinyjax.numpy as jnp
    >>> print(jnp.linalg.cond(jnp.diag(jnp.array([1.0, 4.0]))))
    4.0
    """
    x = ensure_arraylike("cond", x)
    if x.ndim < 2:
        raise ValueError(
            f"jnp.linalg.cond: input array must be at least 2D; got arr.shape={x.shape}"
        )
    if 0 in x.shape[-2:]:
        raise ValueError(f"jnp.linalg.cond: input array must not be empty; got arr.shape={x.shape}")
    if p is None or p == 2:
        s = svd(x, compute_uv=False)
        return s[..., 0] / s[..., -1]
    if p == -2:
        s = svd(x, compute_uv=False)
        r = s[..., -1] / s[..., 0]
    else:
        if x.shape[-2] != x.shape[-1]:
            raise ValueError(
                f"jnp.linalg.cond: for p={p!r}, array must be square; got arr.shape={x.shape}"
            )
        r = norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))
    return where(lax.ne(r, r) & ~any(lax.ne(x, x), axis=(-2, -1)), np.inf, r)
