"""Determinants."""

from typing import NamedTuple

import numpy as np

from tinyjax import lax
from tinyjax.avals import Value
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.creation import array, asarray
from tinyjax.numpy.linalg.decompositions import inexact_matrix
from tinyjax.numpy.linalg.solving import solve
from tinyjax.numpy.matrices import diagonal, ix_, trace
from tinyjax.numpy.reductions import any, count_nonzero, cumprod, prod, sum
from tinyjax.numpy.searching import where
from tinyjax.numpy.shaping import broadcast_to
from tinyjax.numpy.ufuncs import abs, exp, log, real, sign
from tinyjax.primitives.factorizations import geqrf
from tinyjax.transforms.custom import custom_jvp
from tinyjax.transforms.subprogram import subprogram


class SlogdetResult(NamedTuple):
    """What slogdet returns."""

    sign: Value
    logabsdet: Value


@subprogram(static_argnames=("method",))
def slogdet(a, *, method=None):
    """-> the sign of the determinant and the logarithm of its absolute value.

    Args:
      a: square matrices along the last two axes.
      method: "lu" (the default) or "qr", which is for real matrices.

    >>> import tinyjax.numpy as jnp
    >>> print(*jnp.linalg.slogdet(jnp.array([[0.0, 1.0], [1.0, 0.0]])))
    -1.0 0.0
    """
    a = inexact_matrix("slogdet", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to slogdet() must have shape [..., n, n], got {a.shape}")
    if method not in (None, "lu", "qr"):
        raise ValueError(
            f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and 'qr'."
        )
    if method == "qr" and a.dtype.kind == "c":
        raise NotImplementedError("slogdet method='qr' not implemented for complex inputs")
    if method == "qr":
        return SlogdetResult(*_slogdet_qr(a))
    return SlogdetResult(*(_slogdet_small if a.shape[-1] in (1, 2) else _slogdet_lu)(a))


@custom_jvp
def _slogdet_small(a):
    """slogdet of matrices of one or two rows."""
    if a.shape[-1] == 1:
        out = a[..., 0, 0]
    else:
        a00, a01 = a[..., 0, 0], a[..., 0, 1]
        a10, a11 = a[..., 1, 0], a[..., 1, 1]
        out = a00 * a11 - a01 * a10
    size = abs(out)
    return sign(out), real(log(size))


@_slogdet_small.defjvp
def _slogdet_small_jvp(primals, tangents):
    """By the formula of the determinant."""
    (a,), (t,) = primals, tangents
    s, logdet = _slogdet_small(a)
    if a.shape[-1] == 1:
        slope = t[..., 0, 0] / a[..., 0, 0]
    else:
        a00, a01 = a[..., 0, 0], a[..., 0, 1]
        a10, a11 = a[..., 1, 0], a[..., 1, 1]
        moved = t[..., 0, 0] * a11 - t[..., 0, 1] * a10 - t[..., 1, 0] * a01 + t[..., 1, 1] * a00
        slope = moved / (a00 * a11 - a01 * a10)
    return (s, logdet), split_slope(s, slope)


def split_slope(s, slope):
    """-> the tangents of sign and logarithm, from that of the logarithm of det(a)."""
    if s.dtype.kind != "c":
        return lax.full_like(s, 0), slope
    return (slope - real(slope).astype(slope.dtype)) * s, real(slope)


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


@custom_jvp
def _slogdet_qr(a):
    """slogdet from the diagonal of R and the number of reflections."""
    n = a.shape[-1]
    both, taus = geqrf(a)
    diag = diagonal(both, axis1=-2, axis2=-1)
    total = sum(log(abs(diag)), axis=-1)
    signs = prod(sign(diag), axis=-1)
    reflections = prod(where(taus[..., : n - 1] != 0, -1, 1), axis=-1).astype(signs.dtype)
    return signs * reflections, total


def _slogdet_jvp(primals, tangents):
    """The derivative of log(det(a)) is trace(inv(a) @ t)."""
    (a,), (t,) = primals, tangents
    s, logdet = slogdet(a)
    slope = trace(solve(a, t), axis1=-1, axis2=-2)
    return (s, logdet), split_slope(s, slope)


_slogdet_lu.defjvp(_slogdet_jvp)
_slogdet_qr.defjvp(_slogdet_jvp)


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
