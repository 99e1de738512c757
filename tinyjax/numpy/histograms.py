"""Histograms, and indices of arrays as numbers: ravel_multi_index, unravel_index."""

import builtins
import math
import operator

import numpy as np

from tinyjax import dtypes
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.checks import check_sequence, concrete_or_error, ensure_arraylike
from tinyjax.numpy.creation import array, asarray, ones_like, zeros
from tinyjax.numpy.differences import diff
from tinyjax.numpy.division import divmod
from tinyjax.numpy.matrices import ix_
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.ranges import linspace
from tinyjax.numpy.reductions import any
from tinyjax.numpy.searching import bincount, clip, searchsorted, where
from tinyjax.numpy.shaping import reshape, transpose
from tinyjax.numpy.statistics import ptp

# ---- histograms ---------------------------------------------------------------------------------


def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges of the bins of a histogram.

    Args:
      a: array.
      bins: how many bins, or their edges.
      range: the outer edges; by default the smallest and the largest element.
      weights: has no effect.
    """
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    a, _ = ensure_arraylike("histogram_bin_edges", a, bins)
    dtype = dtypes.to_inexact_dtype(a.dtype)
    if np.ndim(bins) == 1:
        return asarray(bins, dtype=dtype)
    bins = concrete_or_error(operator.index, bins, "bins argument of histogram_bin_edges")
    ends = asarray([a.min(), a.max()] if range is None else range, dtype=dtype)
    if ends.shape != (2,):
        raise ValueError(f"`range` must be either None or a sequence of scalars, got {range}")
    low = where(ptp(ends) == 0, ends[0] - 0.5, ends[0])
    high = where(ptp(ends) == 0, ends[1] + 0.5, ends[1])
    return linspace(low, high, bins + 1, dtype=dtype)


def histogram(a, bins=10, range=None, weights=None, density=None):
    """How many elements lie in each bin.

    Args:
      a: array.
      bins, range: as of histogram_bin_edges.
      weights: how much each element counts.
      density: scale the counts so that their integral is 1.

    Returns (counts, edges).
    """
    if weights is None:
        a, _ = ensure_arraylike("histogram", a, bins)
        (a,) = promote_dtypes_inexact(a)
        weights = ones_like(a)
    else:
        a, _, weights = ensure_arraylike("histogram", a, bins, weights)
        if a.shape != weights.shape:
            raise ValueError("weights should have the same shape as a.")
        a, weights = promote_dtypes_inexact(a, weights)
    edges = histogram_bin_edges(a, bins, range, weights)
    which = searchsorted(edges, a, side="right")
    which = where(a == edges[-1], len(edges) - 1, which)
    counts = IndexUpdate(zeros(len(edges), weights.dtype))[which].add(weights)[1:]
    if density:
        counts = counts / diff(edges) / counts.sum()
    return counts, edges


def histogram2d(x, y, bins=10, range=None, weights=None, density=None):
    """A histogram of points in the plane; see histogramdd. Returns (counts, x edges, y edges)."""
    x, y = ensure_arraylike("histogram2d", x, y)
    count = len(bins) if hasattr(bins, "__len__") and np.ndim(bins[0]) == 0 else 1
    if hasattr(bins, "__len__") and len(bins) not in (1, 2):
        count = len(bins)
    if count not in (1, 2):
        bins = [asarray(bins)] * 2
    counts, edges = histogramdd(transpose(asarray([x, y])), bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(sample, bins=10, range=None, weights=None, density=None):
    """A histogram of points in space.

    Args:
      sample: one point per row.
      bins: how many along each axis, or a list with a number or edges per axis.
      range: the outer edges per axis.
      weights: how much each point counts.
      density: scale the counts so that their integral is 1.

    Returns (counts, list of edges).
    """
    if weights is None:
        (sample,) = promote_dtypes_inexact(ensure_arraylike("histogramdd", sample))
    else:
        sample, weights = ensure_arraylike("histogramdd", sample, weights)
        if weights.shape != sample.shape[:1]:
            raise ValueError("should have one weight for each sample.")
        sample, weights = promote_dtypes_inexact(sample, weights)
    n, dims = sample.shape
    if range is not None and (
        len(range) != dims or builtins.any(r is not None and np.shape(r)[0] != 2 for r in range)
    ):
        raise ValueError(
            f"For sample.shape={(n, dims)}, range must be a sequence of {dims} pairs or Nones; "
            f"got range={range!r}"
        )
    try:
        bins = list(bins)
    except TypeError:
        bins = [bins] * dims
    if len(bins) != dims:
        raise ValueError("should be a bin for each dimension.")
    which, edges = [], []
    for i in builtins.range(dims):
        x = sample[:, i]
        own = histogram_bin_edges(x, bins[i], None if range is None else range[i], weights)
        place = searchsorted(own, x, side="right")
        which.append(where(x == own[-1], place - 1, place))
        edges.append(own)
    shape = tuple(len(e) + 1 for e in edges)  # one more bin at each end, for what lies outside
    flat = ravel_multi_index(tuple(which), shape, mode="clip")
    counts = reshape(bincount(flat, weights, length=math.prod(shape)), shape)
    counts = counts[(slice(1, -1),) * dims]
    if density:
        counts = counts.astype(sample.dtype)
        counts = counts / counts.sum()
        for width in ix_(*map(diff, edges)):
            counts = counts / width
    return counts, edges


# ---- indices as numbers -------------------------------------------------------------------------


def ravel_multi_index(multi_index, dims, mode="raise", order="C", *, dtype=None):
    """Indices along several axes as indices of the flat array.

    Args:
      multi_index: an array of integers per axis.
      dims: the shape.
      mode: what happens to indices out of bounds: "raise" (not under jit), "clip", "wrap" or
        "ignore".
      order: "C" or "F".
      dtype: of the result.
    """
    if len(multi_index) != len(dims):
        raise ValueError(f"got {len(multi_index)} indices for {len(dims)} dims")
    dims = tuple(
        concrete_or_error(operator.index, d, "in `dims` argument of ravel_multi_index().")
        for d in dims
    )
    index = check_sequence("ravel_multi_index", multi_index)
    if dtype is None:
        dtype = dtypes.result_type(int, *index)
    else:
        dtype = dtypes.check_user_dtype_supported(dtype, "ravel_multi_index")
    if np.dtype(dtype).kind not in "iu":
        raise ValueError(f"dtype={dtype} is not an integer type.")
    if math.prod(dims) - 1 > np.iinfo(dtype).max:
        raise ValueError(
            f"jnp.ravel_multi_index: dtype={dtype} not large enough to hold flattened index for "
            f"dims={dims}. Use the dtype argument to pass a suitable dtype."
        )
    if builtins.any(i.dtype.kind not in "iu" for i in index):
        raise TypeError("only int indices permitted")
    if mode == "raise":
        message = (
            "The error occurred because ravel_multi_index was jit-compiled with mode='raise'. Use "
            "mode='wrap' or mode='clip' instead."
        )
        index = [concrete_or_error(asarray, i, message) for i in index]
        if builtins.any(any((i < 0) | (i >= d)) for i, d in zip(index, dims)):
            raise ValueError("invalid entry in coordinates array")
    elif mode == "clip":
        index = [clip(i, 0, d - 1) for i, d in zip(index, dims)]
    elif mode == "wrap":
        index = [i % d for i, d in zip(index, dims)]
    elif mode != "ignore":
        raise ValueError(f"invalid mode={mode!r}. Expected 'raise', 'wrap', 'clip', or 'ignore'.")
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected 'C' or 'F'")
    strides = np.cumprod((1,) + (dims[:-1] if order == "F" else dims[1:][::-1]))
    strides = strides if order == "F" else strides[::-1]
    out = array(0, dtype=dtype)
    for i, stride in zip(index, strides):
        out = out + i.astype(dtype) * int(stride)
    return out


def unravel_index(indices, shape):
    """Indices of the flat array as indices along each axis: a tuple of arrays.

    >>> import tinyjax.numpy as jnp
    >>> jnp.unravel_index(5, (2, 3))
    (Array(1, dtype=int32, weak_type=True), Array(2, dtype=int32, weak_type=True))
    """
    rest = ensure_arraylike("unravel_index", indices)
    shape = list(shape) if hasattr(shape, "__iter__") else [shape]
    if builtins.any(np.ndim(s) for s in shape):
        raise ValueError("unravel_index: shape should be a scalar or 1D sequence.")
    out = [0] * len(shape)
    for i in reversed(builtins.range(len(shape))):
        rest, out[i] = divmod(rest, shape[i])
    above = rest > 0
    below = asarray(False) if rest.dtype.kind == "u" else rest < -1
    return tuple(where(above, s - 1, where(below, 0, i)) for s, i in zip(shape, out))
