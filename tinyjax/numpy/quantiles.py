"""Quantiles, percentiles, medians; with and without nans."""

import math

import numpy as np

from tinyjax import lax
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.promotion import const, promote_dtypes_inexact
from tinyjax.numpy.reductions import any, sum
from tinyjax.numpy.selection import _where
from tinyjax.numpy.subprogram import subprogram
from tinyjax.primitives.linear import canonicalize_axes, canonicalize_axis, convert

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")
STATIC = ("axis", "overwrite_input", "keepdims", "method")

# ---- the functions ------------------------------------------------------------------------------


@subprogram(static_argnames=STATIC)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """The values below which the fractions q of the elements lie.

    Args:
      a: array of real numbers.
      q: one fraction or several, in [0, 1]; several become the first axis of the result.
      axis: along which axis or axes; all by default.
      out, overwrite_input: not supported.
      method: between two elements, "linear" interpolates, "lower", "higher", "midpoint" and
        "nearest" choose.
      keepdims: keep reduced axes, with size 1.
    """
    return checked_quantile("quantile", a, q, axis, out, overwrite_input, method, keepdims, False)


@subprogram(static_argnames=STATIC)
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """quantile of the elements that are not nan."""
    return checked_quantile("nanquantile", a, q, axis, out, overwrite_input, method, keepdims, True)


@subprogram(static_argnames=STATIC)
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """quantile with q in percent."""
    a, q = ensure_arraylike("percentile", a, q)
    (q,) = promote_dtypes_inexact(q)
    return quantile(a, q / 100, axis=axis, out=out, overwrite_input=overwrite_input,
                    method=method, keepdims=keepdims)  # fmt: skip


@subprogram(static_argnames=STATIC)
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear",
                  keepdims=False):  # fmt: skip
    """nanquantile with q in percent."""
    a, q = ensure_arraylike("nanpercentile", a, q)
    (q,) = promote_dtypes_inexact(q)
    return nanquantile(a, q / 100, axis=axis, out=out, overwrite_input=overwrite_input,
                       method=method, keepdims=keepdims)  # fmt: skip


@subprogram(static_argnames=STATIC[:-1])
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The middle element along axes, or the mean of the two middle ones."""
    a = ensure_arraylike("median", a)
    return quantile(a, 0.5, axis=axis, out=out, overwrite_input=overwrite_input,
                    keepdims=keepdims, method="midpoint")  # fmt: skip


@subprogram(static_argnames=STATIC[:-1])
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """median of the elements that are not nan."""
    a = ensure_arraylike("nanmedian", a)
    return nanquantile(a, 0.5, axis=axis, out=out, overwrite_input=overwrite_input,
                       keepdims=keepdims, method="midpoint")  # fmt: skip


# ---- how they are found -------------------------------------------------------------------------


def checked_quantile(name, a, q, axis, out, overwrite_input, method, keepdims, squash_nans):
    """Check the arguments of quantile; then sort, and look between two elements."""
    a, q = ensure_arraylike(name, a, q)
    if overwrite_input or out is not None:
        raise ValueError(f"jax.numpy.{name} does not support overwrite_input=True or out != None")
    if method not in METHODS:
        raise ValueError(f"method can only be one of {METHODS}, got {method!r}")
    (a,) = promote_dtypes_inexact(a)
    if a.dtype.kind == "c":
        raise ValueError(
            "quantile does not support complex input, as the operation is poorly defined."
        )
    if q.ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {q.shape}")
    a, axis, kept_shape = one_axis(a, axis)
    find = ignore_nans if squash_nans else spread_nans
    low, high, low_weight, high_weight = find(a, q, axis, keepdims)
    result = between(method, q.dtype, low, high, low_weight, high_weight)
    if keepdims and kept_shape is not None:
        result = result.reshape([*q.shape, *kept_shape])
    return lax.convert_element_type(result, a.dtype)


def one_axis(a, axis):
    """-> a with the axes to reduce made one, that axis, and the shape that keepdims keeps."""
    if axis is None:
        return a.ravel(), 0, [1] * a.ndim
    if not isinstance(axis, tuple):
        return a, canonicalize_axis(axis, a.ndim), None
    axes = canonicalize_axes(axis, a.ndim)
    order = list(range(a.ndim))
    for i, s in enumerate(d for d in range(a.ndim) if d not in axes):
        order[i], order[s] = order[s], order[i]
    rest = tuple(n for d, n in enumerate(a.shape) if d not in axes)
    merged = math.prod(n for d, n in enumerate(a.shape) if d in axes)
    a_kept = [1 if d in axes else n for d, n in enumerate(a.shape)]
    return lax.reshape(a, (*rest, merged), order), len(rest), a_kept


def weights(q):
    """-> the elements below and above the place q, and their weights."""
    low, high = lax.floor(q), lax.ceil(q)
    high_weight = lax.sub(q, low)
    return low, high, lax.sub(const(high_weight, 1), high_weight), high_weight


def spread_nans(a, q, axis, keepdims):
    """The two elements around each q, nan if there is a nan."""
    a = _where(any(lax.ne(a, a), axis=axis, keepdims=True), np.nan, a)
    a = lax.sort(a, dimension=axis)
    n = lax.convert_element_type(a.shape[axis], q.dtype)
    low, high, low_weight, high_weight = weights(lax.mul(q, n - 1))
    low = lax.clamp(const(low, 0), low, n - 1)
    high = lax.clamp(const(high, 0), high, n - 1)
    low, high = lax.convert_element_type(low, int), lax.convert_element_type(high, int)
    rank = q.ndim + a.ndim - (0 if keepdims else 1)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(q.ndim, rank)),
        collapsed_slice_dims=() if keepdims else (axis,),
        start_index_map=(axis,),
    )
    sizes = tuple(1 if d == axis else n for d, n in enumerate(a.shape))
    low, high = (lax.gather(a, lax.expand_dims(i, (i.ndim,)), numbers, sizes) for i in (low, high))
    if q.ndim == 1:
        low_weight = lax.broadcast_in_dim(low_weight, low.shape, (0,))
        high_weight = lax.broadcast_in_dim(high_weight, high.shape, (0,))
    return low, high, low_weight, high_weight


def ignore_nans(a, q, axis, keepdims):
    """The two elements around each q, among those that are not nan."""
    a = _where(lax.ne(a, a), np.nan, a)
    a = lax.sort(a, dimension=axis)
    counts = sum(lax.bitwise_not(lax.ne(a, a)), axis=axis, dtype=q.dtype, keepdims=keepdims)
    shape, n = counts.shape, q.ndim
    q_shape = q.shape
    q = lax.expand_dims(q, tuple(range(n, len(shape) + n)))
    counts = lax.expand_dims(counts, tuple(range(n)))
    low, high, low_weight, high_weight = weights(lax.mul(q, lax.sub(counts, const(q, 1))))
    low = lax.max(const(low, 0), lax.min(low, counts - 1))
    high = lax.max(const(high, 0), lax.min(high, counts - 1))
    low, high = lax.convert_element_type(low, int), lax.convert_element_type(high, int)
    index = [lax.broadcasted_iota(int, q_shape + shape, d + n) for d in range(len(shape))]
    if keepdims:
        index[axis] = low
    else:
        index.insert(axis, low)
    low_value = a[tuple(index)]
    index[axis] = high
    return low_value, a[tuple(index)], low_weight, high_weight


def between(method, dtype, low, high, low_weight, high_weight):
    """What lies between two elements."""
    if method == "linear":
        return lax.add(
            lax.mul(convert(low, dtype), low_weight), lax.mul(convert(high, dtype), high_weight)
        )
    if method == "lower":
        return low
    if method == "higher":
        return high
    if method == "nearest":
        return lax.select(lax.le(high_weight, const(high_weight, 0.5)), low, high)
    return lax.mul(lax.add(low, high), const(low, 0.5))
