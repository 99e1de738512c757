"""Quantiles, percentiles, medians; with and without nans."""

import math

import numpy as np

from tinyjax import lax
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.gather import take_along_axis
from tinyjax.numpy.promotion import const, promote_dtypes_inexact
from tinyjax.numpy.reductions import all, any, cumsum, sum
from tinyjax.numpy.selection import _where
from tinyjax.numpy.shaping import broadcast_to, moveaxis
from tinyjax.primitives.linear import canonicalize_axes, canonicalize_axis, convert
from tinyjax.transforms.subprogram import subprogram

METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")
STATIC = ("axis", "overwrite_input", "keepdims", "method")

# ---- the functions ------------------------------------------------------------------------------


@subprogram(static_argnames=STATIC)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False,
             *, weights=None):  # fmt: skip
    """The values below which the fractions q of the elements lie.

    Args:
      a: array of real numbers.
      q: one fraction or several, in [0, 1]; several become the first axis of the result.
      axis: along which axis or axes; all by default.
      out, overwrite_input: not supported.
      method: between two elements, "linear" interpolates, "lower", "higher", "midpoint" and
        "nearest" choose. "inverted_cdf" takes the first element up to which the share of the
        weights reaches q.
      keepdims: keep reduced axes, with size 1.
      weights: how much each element counts, for "inverted_cdf"; an array of the shape of a, or of
        the reduced axes. A negative weight makes the result nan.

    Returns an array of floats. Raises ValueError for other methods, weights of other shapes, and
    complex numbers; NotImplementedError for weights with another method.

    >>> import tinyjax.numpy as jnp
    >>> jnp.quantile(jnp.arange(5.0), jnp.array([0.25, 0.5]))
    Array([1., 2.], dtype=float32)
    >>> jnp.quantile(jnp.arange(3.0), 0.5, weights=jnp.array([1, 1, 4]), method="inverted_cdf")
    Array(2., dtype=float32)
    """
    settings = axis, out, overwrite_input, method, keepdims
    return checked_quantile("quantile", a, q, *settings, weights, squash_nans=False)


@subprogram(static_argnames=STATIC)
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False,
                *, weights=None):  # fmt: skip
    """quantile of the elements that are not nan."""
    settings = axis, out, overwrite_input, method, keepdims
    return checked_quantile("nanquantile", a, q, *settings, weights, squash_nans=True)


@subprogram(static_argnames=STATIC)
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False,
               *, weights=None):  # fmt: skip
    """quantile with q in percent."""
    a, q = ensure_arraylike("percentile", a, q)
    (q,) = promote_dtypes_inexact(q)
    return quantile(a, q / 100, axis=axis, out=out, overwrite_input=overwrite_input,
                    method=method, keepdims=keepdims, weights=weights)  # fmt: skip


@subprogram(static_argnames=STATIC)
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear",
                  keepdims=False, *, weights=None):  # fmt: skip
    """nanquantile with q in percent."""
    a, q = ensure_arraylike("nanpercentile", a, q)
    (q,) = promote_dtypes_inexact(q)
    return nanquantile(a, q / 100, axis=axis, out=out, overwrite_input=overwrite_input,
                       method=method, keepdims=keepdims, weights=weights)  # fmt: skip


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


def checked_quantile(name, a, q, axis, out, overwrite_input, method, keepdims, weights,
                     squash_nans):  # fmt: skip
    """Check the arguments of quantile; then sort, and look between two elements."""
    a, q = ensure_arraylike(name, a, q)
    if overwrite_input or out is not None:
        raise ValueError(f"jax.numpy.{name} does not support overwrite_input=True or out != None")
    if method not in METHODS:
        raise ValueError(f"method can only be one of {METHODS}, got {method!r}")
    a, weights = a_and_weights(name, a, weights, axis, method)
    if a.dtype.kind == "c":
        raise ValueError(
            "quantile does not support complex input, as the operation is poorly defined."
        )
    if q.ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {q.shape}")
    (a, *w), axis, kept_shape = one_axis([x for x in (a, weights) if x is not None], axis)
    if method == "inverted_cdf":
        weights = w[0] if w else lax.full_like(a, 1)
        result = by_weight(a, weights, q, axis, squash_nans)
        result = lax.expand_dims(result, (q.ndim + axis,)) if keepdims else result
    else:
        find = ignore_nans if squash_nans else spread_nans
        low, high, low_weight, high_weight = find(a, q, axis, keepdims)
        result = between(method, q.dtype, low, high, low_weight, high_weight)
    if keepdims and kept_shape is not None:
        result = result.reshape([*q.shape, *kept_shape])
    return lax.convert_element_type(result, a.dtype)


def a_and_weights(name, a, weights, axis, method):
    """-> a and its weights as floats of one shape; weights may be None."""
    if weights is None:
        return (*promote_dtypes_inexact(a), None)
    weights = ensure_arraylike(name, weights)
    if weights.dtype.kind == "c":
        raise ValueError("Weights cannot be complex types.")
    if method != "inverted_cdf":
        raise NotImplementedError(
            f"{method} doesn't support weights. Only method 'inverted_cdf' supports weights."
        )
    a, weights = promote_dtypes_inexact(a, weights)
    if weights.shape == a.shape:
        return a, weights
    if axis is None:
        raise ValueError("Weights shape must match 'a' shape when axis is None.")
    axes = canonicalize_axes(axis if isinstance(axis, tuple) else (axis,), a.ndim)
    reduced = tuple(a.shape[d] for d in axes)
    if weights.shape != reduced:
        raise ValueError(f"Weights shape {weights.shape} must match reduction axes {reduced}")
    return a, lax.broadcast_in_dim(weights, a.shape, axes)


def one_axis(arrays, axis):
    """-> arrays with the axes to reduce made one, that axis, and the shape that keepdims keeps."""
    shape = arrays[0].shape
    if axis is None:
        return [a.ravel() for a in arrays], 0, [1] * len(shape)
    if not isinstance(axis, tuple):
        return arrays, canonicalize_axis(axis, len(shape)), None
    axes = canonicalize_axes(axis, len(shape))
    order = list(range(len(shape)))
    for i, s in enumerate(d for d in range(len(shape)) if d not in axes):
        order[i], order[s] = order[s], order[i]
    rest = tuple(n for d, n in enumerate(shape) if d not in axes)
    merged = math.prod(n for d, n in enumerate(shape) if d in axes)
    kept = [1 if d in axes else n for d, n in enumerate(shape)]
    return [lax.reshape(a, (*rest, merged), order) for a in arrays], len(rest), kept


def shares(q):
    """-> the elements below and above the place q, and their weights."""
    low, high = lax.floor(q), lax.ceil(q)
    high_weight = lax.sub(q, low)
    return low, high, lax.sub(const(high_weight, 1), high_weight), high_weight


def spread_nans(a, q, axis, keepdims):
    """The two elements around each q, nan if there is a nan."""
    a = _where(any(lax.ne(a, a), axis=axis, keepdims=True), np.nan, a)
    a = lax.sort(a, dimension=axis)
    n = lax.convert_element_type(a.shape[axis], q.dtype)
    low, high, low_weight, high_weight = shares(lax.mul(q, n - 1))
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
    low, high, low_weight, high_weight = shares(lax.mul(q, lax.sub(counts, const(q, 1))))
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


def by_weight(a, weights, q, axis, squash_nans):
    """The first elements, in order, up to which the weights make the share q of all weights.

    Elements that are nan weigh nothing if nans are squashed; if not, they make the result nan.
    """
    a, weights = lax.sort_key_val(_where(lax.ne(a, a), np.nan, a), weights, dimension=axis)
    nans = lax.ne(a, a)
    bad = lax.bitwise_not(lax.ge(weights, lax.full_like(weights, 0)))
    weights = lax.select(lax.bitwise_or(bad, nans), lax.full_like(weights, 0), weights)
    running = moveaxis(cumsum(weights, axis=axis), axis, -1)
    target = q.reshape(q.shape + (1,) * (a.ndim - 1)) * running[..., -1]
    found = sum(running < target[..., None], axis=-1, dtype=int)
    count = sum(lax.bitwise_not(nans), axis=axis, dtype=int) if squash_nans else a.shape[axis]
    found = lax.max(const(found, 0), lax.min(found, broadcast_to(count - 1, found.shape)))
    a = moveaxis(a, axis, -1)
    a = broadcast_to(a, (*q.shape, *a.shape))
    result = take_along_axis(a, found[..., None], axis=-1)[..., 0]
    unknown = any(bad, axis=axis) | (all(nans, axis=axis) if squash_nans else any(nans, axis=axis))
    return _where(unknown, np.nan, result)
