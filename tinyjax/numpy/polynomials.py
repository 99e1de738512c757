"""Polynomials as arrays of coefficients, the highest power first."""

import operator

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy import linalg
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.checks import concrete_or_error, ensure_arraylike
from tinyjax.numpy.creation import arange, array, asarray, full, ones, zeros
from tinyjax.numpy.differences import convolve
from tinyjax.numpy.editing import trim_zeros
from tinyjax.numpy.joining import concatenate
from tinyjax.numpy.linear import dot, outer
from tinyjax.numpy.matrices import diag
from tinyjax.numpy.promotion import const, promote_dtypes, promote_dtypes_inexact
from tinyjax.numpy.reductions import all
from tinyjax.numpy.searching import argmin
from tinyjax.numpy.selection import _where
from tinyjax.numpy.shaping import atleast_1d, roll
from tinyjax.numpy.ufuncs import abs, maximum, power, sqrt, true_divide
from tinyjax.transforms.subprogram import subprogram

# ---- values and roots ---------------------------------------------------------------------------


@subprogram(static_argnames=("unroll",))
def polyval(p, x, *, unroll=16):
    """The value of a polynomial at x, by Horner's rule.

    Args:
      p: coefficients along the first axis.
      x: array.
      unroll: how many steps of the loop to write out.

    >>> import tinyjax.numpy as jnp
    >>> jnp.polyval(jnp.array([1.0, 0.0, 2.0]), 3.0)
    Array(11., dtype=float32)
    """
    p, x = promote_dtypes(*ensure_arraylike("polyval", p, x))
    shape = lax.broadcast_shapes(p.shape[1:], x.shape)
    y = lax.full_like(x, 0, shape=shape, dtype=x.dtype)
    return lax.scan(lambda y, c: (y * x + c, None), y, p, unroll=unroll)[0]


def roots(p, *, strip_zeros=True):
    """The roots of a polynomial: eigenvalues of its companion matrix.

    Args:
      p: coefficients.
      strip_zeros: leave out leading zeros. Under jit this must be False; then as many roots are
        nan.
    """
    (p,) = promote_dtypes_inexact(ensure_arraylike("roots", p))
    p = atleast_1d(p)
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    if p.size < 2:
        return array([], dtype=dtypes.to_complex_dtype(p.dtype))
    leading = _where(all(p == 0), len(p), argmin(p == 0))
    if not strip_zeros:
        return _roots_with_zeros(p, leading)
    leading = concrete_or_error(
        int,
        leading,
        "The error occurred in the jnp.roots() function. To use this within a JIT-compiled "
        "context, pass strip_zeros=False, but be aware that leading zeros will result in some "
        "returned roots being set to NaN.",
    )
    return _roots_no_zeros(p[leading:])


@subprogram
def _roots_no_zeros(p):
    """roots of a polynomial whose first coefficient is not zero."""
    if p.size < 2:
        return array([], dtype=dtypes.to_complex_dtype(p.dtype))
    companion = diag(ones((p.size - 2,), p.dtype), -1)
    companion = IndexUpdate(companion)[0, :].set(-p[1:] / p[0])
    return linalg.eigvals(companion)


@subprogram
def _roots_with_zeros(p, num_leading_zeros):
    """roots, of which as many are nan as there are leading zeros."""
    p = _where(len(p) == num_leading_zeros, 1.0, p)
    found = _roots_no_zeros(roll(p, -num_leading_zeros))
    found = lax.sort_key_val(found == 0, found)[1]
    return _where(arange(found.size) < found.size - num_leading_zeros, found,
                  complex(np.nan, np.nan))  # fmt: skip


@subprogram
def poly(seq_of_zeros):
    """The polynomial with these roots (or the characteristic polynomial of a matrix)."""
    (zeros_,) = promote_dtypes_inexact(ensure_arraylike("poly", seq_of_zeros))
    zeros_ = atleast_1d(zeros_)
    shape = zeros_.shape
    if len(shape) == 2 and shape[0] == shape[1] and shape[0]:
        zeros_ = linalg.eigvals(zeros_)
    if zeros_.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    dtype = zeros_.dtype
    if len(zeros_) == 0:
        return ones((), dtype=dtype)
    out = ones((1,), dtype=dtype)
    for k in range(len(zeros_)):
        out = convolve(out, array([1, -zeros_[k]], dtype=dtype), mode="full")
    return out


# ---- arithmetic ---------------------------------------------------------------------------------


@subprogram
def polyadd(a1, a2):
    """The sum of two polynomials."""
    a, b = promote_dtypes(*ensure_arraylike("polyadd", a1, a2))
    if b.shape[0] > a.shape[0]:
        a, b = b, a
    return IndexUpdate(a)[-b.shape[0] :].add(b)


@subprogram
def polysub(a1, a2):
    """The difference of two polynomials."""
    a, b = promote_dtypes(*ensure_arraylike("polysub", a1, a2))
    return polyadd(a, -b)


def polymul(a1, a2, *, trim_leading_zeros=False):
    """The product of two polynomials; trim_leading_zeros: leave them out first (not under jit)."""
    a, b = promote_dtypes_inexact(*ensure_arraylike("polymul", a1, a2))
    if trim_leading_zeros and (len(a) > 1 or len(b) > 1):
        a, b = trim_zeros(a, trim="f"), trim_zeros(b, trim="f")
    if len(a) == 0:
        a = zeros(1, dtype=b.dtype)
    if len(b) == 0:
        b = zeros(1, dtype=a.dtype)
    return convolve(a, b, mode="full")


def polydiv(u, v, *, trim_leading_zeros=False):
    """-> quotient and remainder of two polynomials; the remainder keeps its leading zeros."""
    u, v = promote_dtypes_inexact(*ensure_arraylike("polydiv", u, v))
    m, n = len(u) - 1, len(v) - 1
    scale = 1.0 / v[0]
    q = zeros(max(m - n + 1, 1), dtype=u.dtype)
    for k in range(m - n + 1):
        d = scale * u[k]
        q = IndexUpdate(q)[k].set(d)
        u = IndexUpdate(u)[k : k + n + 1].add(-d * v)
    if trim_leading_zeros:
        u = trim_small(u, float(np.sqrt(np.finfo(u.dtype).eps)))
    return q, u


def trim_small(x, tolerance):
    """x without the small elements that it begins with."""
    small = concrete_or_error(asarray, abs(x) < tolerance, "It arose in polydiv.")
    return x[:0] if bool(all(small)) else x[int(argmin(small)) :]


@subprogram(static_argnames=("m",))
def polyder(p, m=1):
    """The m-th derivative of a polynomial."""
    m = concrete_or_error(operator.index, m, "'m' argument of jnp.polyder")
    (p,) = promote_dtypes_inexact(ensure_arraylike("polyder", p))
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    if m == 0:
        return p
    powers = arange(m, len(p), dtype=p.dtype)[None] - arange(m, dtype=p.dtype)[:, None]
    factors = powers.prod(0)
    return p[:-m] * factors[::-1]


@subprogram(static_argnames=("m",))
def polyint(p, m=1, k=None):
    """The m-th integral of a polynomial; k: the constants of integration, 0 by default."""
    m = concrete_or_error(operator.index, m, "'m' argument of jnp.polyint")
    p, k = promote_dtypes_inexact(*ensure_arraylike("polyint", p, 0 if k is None else k))
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = atleast_1d(k)
    if len(k) == 1:
        k = full((m,), k[0])
    if k.shape != (m,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    if m == 0:
        return p
    powers = arange(len(p) + m, dtype=p.dtype)[None] - arange(m, dtype=p.dtype)[:, None]
    return true_divide(concatenate((p, k)), maximum(1, powers).prod(0)[::-1])


# ---- fitting ------------------------------------------------------------------------------------


@subprogram(static_argnames=("N", "increasing"))
def vander(x, N=None, increasing=False):
    """The Vandermonde matrix: powers of x along rows, the highest first unless increasing."""
    x = ensure_arraylike("vander", x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array")
    n = x.shape[0] if N is None else concrete_or_error(
        operator.index, N, "'N' argument of jnp.vander()"
    )  # fmt: skip
    if n < 0:
        raise ValueError("N must be nonnegative")
    powers = lax.iota(x.dtype, n)
    if not increasing:
        powers = lax.sub(const(powers, n - 1), powers)
    return power(x[..., None], lax.expand_dims(powers, (0,)))


@subprogram(static_argnames=("deg", "rcond", "full", "cov"))
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """The polynomial of a degree that fits points best, by least squares.

    Args:
      x: where; y: the values (several columns for several fits).
      deg: the degree.
      rcond: singular values below this part of the largest count as zero.
      full: also return residuals, rank, singular values and rcond.
      w: weights of the points.
      cov: also return the covariance of the coefficients.
    """
    x, y = ensure_arraylike("polyfit", x, y)
    deg = concrete_or_error(int, deg, "deg must be int")
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = len(x) * float(dtypes.finfo(x.dtype).eps)
    left, right = vander(x, deg + 1), y
    if w is not None:
        (w,) = promote_dtypes_inexact(ensure_arraylike("polyfit", w))
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        left = left * w[:, None]
        right = right * (w[:, None] if right.ndim == 2 else w)
    scale = sqrt((left * left).sum(axis=0))
    left = left / scale[None, :]
    c, residuals, rank, singular = linalg.lstsq(left, right, rcond)
    c = (c.T / scale[None, :]).T if c.ndim > 1 else c / scale
    if full:
        return c, residuals, rank, singular, asarray(rcond)
    if not cov:
        return c
    base = linalg.inv(dot(left.T, left)) / outer(scale, scale)
    factor = array(1.0)
    if cov != "unscaled":
        if len(x) <= deg + 1:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = residuals / (len(x) - deg - 1)
    factor = atleast_1d(factor)
    if y.ndim == 1:
        return c, base * factor[None]
    return c, base[:, :, None] * factor[None, None, :]
