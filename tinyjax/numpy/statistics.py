"""Statistics: variance, quantiles, averages, covariance, histograms' ranges."""

import math

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.checks import check_out, check_where, ensure_arraylike, static_axes
from tinyjax.numpy.creation import array, full
from tinyjax.numpy.linear import dot
from tinyjax.numpy.matrices import diag
from tinyjax.numpy.promotion import (
    promote_args_inexact,
    promote_dtypes_inexact,
    to_shape,
)
from tinyjax.numpy.reductions import amax, amin, count_elements, mean, sum, upcast_f16
from tinyjax.numpy.searching import clip
from tinyjax.numpy.selection import _where
from tinyjax.numpy.shaping import atleast_2d
from tinyjax.numpy.ufuncs import abs, imag, real, sqrt, true_divide
from tinyjax.primitives.linear import canonicalize_axes, convert
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import subprogram

# ---- variance -----------------------------------------------------------------------------------


@recorded
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None, mean=None,
        correction=None):  # fmt: skip
    """The variance along axes: the mean of abs(a - mean)**2.

    Args:
      a: array.
      axis, keepdims, where: as of sum.
      dtype: of the result.
      out: not supported.
      ddof: the sum of squares is divided by the number of elements minus this.
      mean: the mean, if it is known (with keepdims=True).
      correction: another name for ddof.

    >>> import tinyjax.numpy as jnp
    >>> jnp.var(jnp.array([1.0, 2.0, 3.0, 4.0]))
    Array(1.25, dtype=float32)
    """
    correction = one_correction(ddof, correction)
    a = ensure_arraylike("var", a)
    return _var(a, axis=static_axes(axis), dtype=dtype, out=out, correction=correction,
                keepdims=keepdims, where=where, a_mean=mean)  # fmt: skip


@recorded
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None, mean=None,
        correction=None):  # fmt: skip
    """The standard deviation along axes: the square root of var, whose arguments it takes."""
    correction = one_correction(ddof, correction)
    a = ensure_arraylike("std", a)
    return _std(a, axis=static_axes(axis), dtype=dtype, out=out, correction=correction,
                keepdims=keepdims, where=where, mean=mean)  # fmt: skip


def one_correction(ddof, correction):
    """ddof and correction are two names for one thing."""
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


@subprogram(static_argnames=("axis", "dtype", "keepdims"))
def _var(a, *, axis=None, dtype=None, out=None, correction=0, keepdims=False, where=None,
         a_mean=None):  # fmt: skip
    """var with its settings known."""
    where = check_where("var", where)
    check_out("var", out)
    if dtype is not None:
        dtype = dtypes.check_user_dtype_supported(dtype, "var")
    computed, dtype = variance_dtypes(a.dtype, dtype)
    a = convert(a, computed)
    if a_mean is None:
        a_mean = mean(a, axis, dtype=computed, keepdims=True, where=where)
    else:
        a_mean = convert(ensure_arraylike("var", a_mean), computed)
    squares = squared_magnitude(lax.sub(a, a_mean))
    count = count_elements(a, axis, keepdims, where, squares.dtype)
    count = lax.sub(count, lax.convert_element_type(correction, squares.dtype))
    total = sum(squares, axis, dtype=squares.dtype, keepdims=keepdims, where=where)
    result = convert(lax.div(total, count), dtype)
    return _where(count > 0, result, np.nan)


@subprogram(static_argnames=("axis", "dtype", "keepdims"))
def _std(a, *, axis=None, dtype=None, out=None, correction=0, keepdims=False, where=None,
         mean=None):  # fmt: skip
    """std with its settings known."""
    where = check_where("std", where)
    check_out("std", out)
    if dtype is not None:
        dtype = dtypes.check_user_dtype_supported(dtype, "std")
        if not dtypes.issubdtype(dtype, np.inexact):
            raise ValueError(f"dtype argument to jnp.std must be inexact; got {dtype}")
    return lax.sqrt(var(a, axis=axis, dtype=dtype, correction=correction, keepdims=keepdims,
                        where=where, mean=mean))  # fmt: skip


def squared_magnitude(x):
    """abs(x)**2, without the root."""
    return lax.real(lax.mul(x, lax.conj(x))) if x.dtype.kind == "c" else lax.square(x)


def variance_dtypes(a_dtype, dtype):
    """-> the dtype to compute a variance with, and that of the result."""
    if dtype is not None:
        if a_dtype.kind == "c" and np.dtype(dtype).kind != "c":
            raise ValueError(
                "jax.numpy.var does not yet support real dtype parameters when computing the "
                "variance of an array of complex values."
            )
        return upcast_f16(dtype), np.dtype(dtype)
    if not dtypes.issubdtype(a_dtype, np.inexact):
        dtype = dtypes.to_inexact_dtype(a_dtype)
        return upcast_f16(dtype), dtype
    return upcast_f16(a_dtype), np.array(0, a_dtype).real.dtype


def ptp(a, axis=None, out=None, keepdims=False):
    """The largest minus the smallest element, along axes."""
    return _ptp(ensure_arraylike("ptp", a), static_axes(axis), out, keepdims)


@subprogram(static_argnames=("axis", "keepdims"))
def _ptp(a, axis=None, out=None, keepdims=False):
    """ptp with its settings known."""
    check_out("ptp", out)
    return lax.sub(amax(a, axis=axis, keepdims=keepdims), amin(a, axis=axis, keepdims=keepdims))


# ---- averages -----------------------------------------------------------------------------------


@recorded
def average(a, axis=None, weights=None, returned=False, keepdims=False):
    """The weighted mean along axes.

    Args:
      a: array.
      axis, keepdims: as of sum.
      weights: array of a's shape, or of the shape of its averaged axes; equal by default.
      returned: also return the sum of the weights.

    Raises ValueError if the weights do not fit.
    """
    axis = static_axes(axis)
    if weights is None:
        (a,) = promote_dtypes_inexact(ensure_arraylike("average", a))
        avg = mean(a, axis=axis, keepdims=keepdims)
        axes = canonicalize_axes(axes_tuple(axis, a.ndim), a.ndim)
        total = lax.full((), math.prod(a.shape[d] for d in axes), dtype=avg.dtype)
    else:
        a, weights = promote_dtypes_inexact(*ensure_arraylike("average", a, weights))
        axes = canonicalize_axes(axes_tuple(axis, a.ndim), a.ndim)
        if a.shape != weights.shape:
            weights = fit_weights(a, weights, axis, axes)
        total = sum(weights, axis=axis, keepdims=keepdims)
        avg = sum(a * weights, axis=axis, keepdims=keepdims) / total
    if not returned:
        return avg
    return avg, to_shape(total, avg.shape)


def axes_tuple(axis, ndim):
    """An axis argument as a tuple of axes."""
    if axis is None:
        return tuple(range(ndim))
    return (axis,) if isinstance(axis, int) else axis


def fit_weights(a, weights, axis, axes):
    """Weights for some axes of a, shaped to broadcast."""
    if axis is None:
        raise ValueError("Axis must be specified when shapes of a and weights differ.")
    if weights.shape != tuple(a.shape[d] for d in axes):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    shape = tuple(n if d in axes else 1 for d, n in enumerate(a.shape))
    return lax.reshape(weights, shape, dimensions=tuple(int(i) for i in np.argsort(axes)))


# ---- covariance ---------------------------------------------------------------------------------


@subprogram(static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, dtype=None):
    """The covariance matrix of variables.

    Args:
      m: array of one or two axes: rows are variables, columns observations.
      y: more variables.
      rowvar: False if columns are variables.
      bias: divide by the number of observations, not by one less.
      ddof: divide by the number of observations minus this.
      fweights, aweights: how often each observation counts, and how much.
      dtype: to compute with.
    """
    args = promote_args_inexact("cov", m) if y is None else promote_args_inexact("cov", m, y)
    for name, x in zip("my", args):
        if x.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    if dtype is not None and not dtypes.issubdtype(dtype, np.inexact):
        raise ValueError(f"cov: dtype must be a subclass of float or complex; got dtype={dtype!r}")
    X = atleast_2d(args[0])
    if not rowvar and args[0].ndim != 1:
        X = X.T
    if X.shape[0] == 0:
        return array([]).reshape(0, 0)
    if y is not None:
        Y = atleast_2d(args[1])
        Y = Y.T if not rowvar and Y.shape[0] != 1 else Y
        X = lax.concatenate((X, Y), 0)
    n = X.shape[1]
    if n == 0:
        return full(() if X.shape[0] == 1 else (X.shape[0],) * 2, np.nan, dtype=X.dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    w = None
    if fweights is not None:
        w = abs(check_weights("fweights", fweights, n))
        if w.dtype.kind not in "iu":
            raise TypeError("fweights must be integer.")
    if aweights is not None:
        aweights = abs(check_weights("aweights", aweights, n))
        w = aweights if w is None else w * aweights
    if dtype is not None:
        X = X.astype(dtype)
        w = None if w is None else w.astype(dtype)
    avg, w_sum = average(X, axis=1, weights=w, returned=True)
    w_sum = w_sum[0]
    if w is None:
        f = n - ddof
    elif ddof == 0:
        f = w_sum
    elif aweights is None:
        f = w_sum - ddof
    else:
        f = w_sum - ddof * sum(w * aweights) / w_sum
    X = X - avg[:, None]
    X_T = X.T if w is None else (X * lax.broadcast_to_rank(w, X.ndim)).T
    return true_divide(dot(X, X_T.conj()), f).squeeze()


def check_weights(name, weights, n):
    """Weights of n observations, as a Value."""
    weights = ensure_arraylike("cov", weights)
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != n:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    return weights


@subprogram(static_argnames=("rowvar", "dtype"))
def corrcoef(x, y=None, rowvar=True, dtype=None):
    """Correlation coefficients of variables: the covariances of what has variance 1. See cov."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return true_divide(c, c)
    deviation = sqrt(real(diag(c))).astype(c.dtype)
    c = c / deviation[:, None] / deviation[None, :]
    real_part = clip(real(c), -1, 1)
    if c.dtype.kind == "c":
        return lax.complex(real_part, clip(imag(c), -1, 1))
    return real_part
