"""Arrays as sets: unique elements, unions, intersections, differences."""

import math
import operator
from typing import NamedTuple

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.avals import Value
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.checks import concrete_or_error, ensure_arraylike
from tinyjax.numpy.comparisons import isnan
from tinyjax.numpy.creation import arange, asarray, empty, full, ones, zeros
from tinyjax.numpy.differences import diff
from tinyjax.numpy.joining import append, concatenate
from tinyjax.numpy.promotion import const, promote_dtypes
from tinyjax.numpy.reductions import all, any, cumsum
from tinyjax.numpy.searching import nonzero, searchsorted, where
from tinyjax.numpy.shaping import moveaxis, ravel
from tinyjax.numpy.sorting import lexsort, sort
from tinyjax.primitives.linear import canonicalize_axis
from tinyjax.transforms.subprogram import subprogram

# ---- unique -------------------------------------------------------------------------------------

SIZE_HINT = (
    "To make jnp.unique() compatible with JIT and other transforms, you can specify a concrete "
    "value for the size argument, which will determine the output size."
)


def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *,
           equal_nan=True, size=None, fill_value=None, sorted=True):  # fmt: skip
    """The distinct elements, sorted.

    Args:
      ar: array.
      return_index: also return where each one occurs first.
      return_inverse: also return which one each element of ar is.
      return_counts: also return how often each one occurs.
      axis: distinct slices along an axis; None: elements of the flat array.
      equal_nan: whether nans count as one.
      size: how many to return; needed under jit.
      fill_value: what fills those too many; the smallest by default.
      sorted: has no effect, they always are.

    >>> import tinyjax.numpy as jnp
    >>> jnp.unique(jnp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    ar = ensure_arraylike("unique", ar)
    if size is None:
        message = "The error arose for the first argument of jnp.unique(). "
        ar = concrete_or_error(None, ar, message + SIZE_HINT)
    else:
        message = "The error arose for the size argument of jnp.unique(). "
        size = concrete_or_error(operator.index, size, message + SIZE_HINT)
    shape = ar.shape
    flat = ar.ravel() if axis is None else ar
    which = 0 if axis is None else canonicalize_axis(axis, ar.ndim)
    found = find_unique(flat, which, return_index, return_inverse, return_counts,
                        equal_nan=equal_nan, size=size, fill_value=fill_value)  # fmt: skip
    if return_inverse and axis is None:
        i = 2 if return_index else 1
        found[i] = found[i].reshape(shape)
    return found[0] if len(found) == 1 else tuple(found)


@subprogram(static_argnames=("axis", "equal_nan"))
def _unique_sorted_mask(ar, axis, equal_nan):
    """-> slices in sorted order, which of them differ from the one before, the order."""
    a = moveaxis(ar, axis, 0)
    if a.dtype.kind == "c":
        a = where(isnan(a), const(a, np.nan), a)
    size, width = a.shape[0], math.prod(a.shape[1:])
    if width == 0:
        size, order = 1, zeros(1, dtype=int)
    else:
        order = lexsort(a.reshape(size, width).T[::-1])
    a = a[order]
    if not a.size:
        return a, zeros(size, dtype=bool), order
    mask, later, earlier = ones(size, dtype=bool), a[1:], a[:-1]
    differs = lax.ne(later, earlier)
    if equal_nan and dtypes.issubdtype(a.dtype, np.inexact):
        differs = differs & ~(isnan(later) & isnan(earlier))
    differs = any(differs, tuple(range(1, a.ndim)))
    return a, IndexUpdate(mask)[1:].set(differs), order


def find_unique(ar, axis, return_index=False, return_inverse=False, return_counts=False,
                equal_nan=True, size=None, fill_value=None):  # fmt: skip
    """unique along an axis, as a list of what was asked for."""
    length = ar.shape[axis]
    if length == 0 and size and fill_value is None:
        raise ValueError(
            "jnp.unique: for zero-sized input with nonzero size argument, fill_value must be "
            "specified"
        )
    a, mask, order = _unique_sorted_mask(ar, axis=axis, equal_nan=equal_nan)
    if size is None:
        first = concrete_or_error(None, mask, "The error arose in jnp.unique(). " + SIZE_HINT)
    else:
        first = nonzero(mask, size=size)[0]
    out = a[first] if a.size else a
    if size is not None and fill_value is not None:
        fill = asarray(fill_value).astype(out.dtype)
        if out.shape[0]:
            valid = lax.expand_dims(arange(size) < mask.sum(), tuple(range(1, out.ndim)))
            out = where(valid, out, fill)
        else:
            out = lax.full_like(out, fill, shape=(size, *out.shape[1:]))
    found = [moveaxis(out, 0, axis)]
    if return_index:
        found.append(order[first] if a.size else order)
    if return_inverse:
        inverse = zeros(mask.shape if a.size else length, dtype=int)
        found.append(IndexUpdate(inverse)[order].set(cumsum(mask) - 1) if a.size else inverse)
    if return_counts:
        found.append(count_unique(a, mask, size, length))
    return found


def count_unique(a, mask, size, length):
    """How often each distinct slice occurs: the distances of their first occurrences."""
    if not a.size:
        return full((1,), length, dtype=int) if length else empty(0, dtype=int)
    if size is None:
        return diff(append(nonzero(mask)[0], mask.size))
    ends = nonzero(mask, size=size + 1)[0]
    return diff(IndexUpdate(ends)[1:].set(where(ends[1:], ends[1:], mask.size)))


class _UniqueAllResult(NamedTuple):
    """What unique_all returns."""

    values: Value
    indices: Value
    inverse_indices: Value
    counts: Value


class _UniqueCountsResult(NamedTuple):
    """What unique_counts returns."""

    values: Value
    counts: Value


class _UniqueInverseResult(NamedTuple):
    """What unique_inverse returns."""

    values: Value
    inverse_indices: Value


def unique_all(x, /, *, size=None, fill_value=None):
    """Distinct elements, where they occur first, which one each element is, how often."""
    return _UniqueAllResult(*unique(x, True, True, True, equal_nan=False, size=size,
                             fill_value=fill_value))  # fmt: skip


def unique_counts(x, /, *, size=None, fill_value=None):
    """Distinct elements and how often each occurs."""
    return _UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False, size=size,
                                fill_value=fill_value))  # fmt: skip


def unique_inverse(x, /, *, size=None, fill_value=None):
    """Distinct elements and which one each element is."""
    return _UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False, size=size,
                                 fill_value=fill_value))  # fmt: skip


def unique_values(x, /, *, size=None, fill_value=None):
    """Distinct elements."""
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# ---- membership ---------------------------------------------------------------------------------


def isin(element, test_elements, assume_unique=False, invert=False, *, method="auto"):
    """Whether elements occur in another array, elementwise.

    Args:
      element: array; test_elements: the other array.
      assume_unique: promise that both hold distinct elements.
      invert: whether they do not occur.
      method: "compare_all", "binary_search", "sort" or "auto"; the result is the same.
    """
    element, test_elements = ensure_arraylike("isin", element, test_elements)
    out = _in1d(element, test_elements, invert=invert, method=method, assume_unique=assume_unique)
    return out.reshape(element.shape)


@subprogram(static_argnames=("assume_unique", "invert", "method"))
def _in1d(ar1, ar2, invert, method="auto", assume_unique=False):
    """isin of flat arrays."""
    a, b = promote_dtypes(*ensure_arraylike("in1d", ar1, ar2))
    a, b = a.ravel(), b.ravel()
    if method not in ("auto", "compare_all", "binary_search", "sort"):
        raise ValueError(
            f"method={method!r} is not implemented; options are 'compare_all', 'binary_search', "
            "'sort', and 'auto'"
        )
    if a.size == 0 or b.size == 0:
        return (ones if invert else zeros)(a.shape, dtype=bool)
    if method in ("binary_search", "sort"):
        b = lax.sort(b)
        found = b[searchsorted(b, a)]
        return a != found if invert else a == found
    if invert:
        return all(a[:, None] != b[None, :], -1)
    return any(a[:, None] == b[None, :], -1)


# ---- two sets -----------------------------------------------------------------------------------


def union1d(ar1, ar2, *, size=None, fill_value=None):
    """The distinct elements of both arrays, sorted; size, fill_value: as of unique."""
    ar1, ar2 = ensure_arraylike("union1d", ar1, ar2)
    return unique(concatenate((ar1, ar2), axis=None), size=size, fill_value=fill_value)


def setdiff1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """The distinct elements of ar1 that are not in ar2; size, fill_value: as of unique."""
    a, b = ensure_arraylike("setdiff1d", ar1, ar2)
    a, b = a.ravel(), b.ravel()
    if size is None:
        a = concrete_or_error(None, a, "The error arose in setdiff1d()")
    else:
        size = concrete_or_error(operator.index, size, "The error arose in setdiff1d()")
    fill = lax.full_like(a, 0 if fill_value is None else fill_value, shape=())
    if a.size == 0:
        return lax.full_like(a, fill, shape=(size or 0,))
    if not assume_unique:
        a = unique(a, size=size and a.size)
    mask = _in1d(a, b, invert=True, assume_unique=assume_unique)
    if size is None:
        return a[mask]
    if not assume_unique:  # what fills a up to its size is no element
        distinct = a.size + 1 - (a == a[0]).sum()
        mask = where(arange(a.size) < distinct, mask, False)
    return where(arange(size) < mask.sum(), a[where(mask, size=size)], fill)


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False, *, size=None,
                fill_value=None):  # fmt: skip
    """The distinct elements that both arrays hold, sorted.

    Args:
      ar1, ar2: arrays.
      assume_unique: promise that each holds distinct elements.
      return_indices: also return where they occur first in each array.
      size, fill_value: as of unique.
    """
    a, b = promote_dtypes(*ensure_arraylike("intersect1d", ar1, ar2))
    a, b = ravel(a), ravel(b)
    limited = size is not None
    if assume_unique:
        ia, ib = arange(a.size), arange(b.size)
        na, nb = a.size, b.size
    else:
        a, ia, na = distinct(a, limited)
        b, ib, nb = distinct(b, limited)
    both = concatenate((a, b))
    places = arange(both.size)
    unused = (places >= na) & (places < a.size) | (places >= a.size + nb)
    unused, both, order = lax.sort((unused, both, places), num_keys=2)
    twice = (both[1:] == both[:-1]) & ~unused[1:]
    if not limited:
        out, first, second = both[:-1][twice], order[:-1][twice], order[1:][twice] - a.size
        return (out, ia[first], ib[second]) if return_indices else out
    where_ = nonzero(twice, size=size, fill_value=both.size)[0]
    found = arange(size) < twice.sum()
    out = pad_results(both, where_, found, fill_value)
    if not return_indices:
        return out
    first = IndexUpdate(order)[where_].get(mode="fill", fill_value=0)
    second = IndexUpdate(order)[where_ + 1].get(mode="fill", fill_value=0) - a.size
    n1, n2 = np.size(ar1), np.size(ar2)
    return out, where(found, ia[first], n1), where(found, ib[second], n2)


def distinct(a, limited):
    """-> distinct elements (as many as a has, if limited), where they occur first, how many."""
    if not limited:
        values, index = unique(a, return_index=True)
        return values, index, values.size
    values, index = unique(a, return_index=True, size=a.size, fill_value=0)
    return values, index, _unique_sorted_mask(a, axis=0, equal_nan=True)[1].sum()


def pad_results(values, places, found, fill_value):
    """values at places, filled up (with the smallest found, by default) where there is none."""
    out = IndexUpdate(values)[places].get(mode="fill", fill_value=0)
    if fill_value is not None:
        return where(found, out, fill_value)
    out = where(found, out, out.max())
    return where(found, out, out.min())


def setxor1d(ar1, ar2, assume_unique=False, *, size=None, fill_value=None):
    """The distinct elements that exactly one of the arrays holds, sorted; see intersect1d."""
    a, b = promote_dtypes(*ensure_arraylike("setxor1d", ar1, ar2))
    a, b = ravel(a), ravel(b)
    if size is None:
        if not assume_unique:
            a, b = unique(a), unique(b)
        both = concatenate((a, b))
        if both.size == 0:
            return both
        both = sort(both)
        edge = concatenate((True, both[1:] != both[:-1], True), axis=None)
        return both[edge[1:] & edge[:-1]]
    na, nb = a.size, b.size
    if not assume_unique:
        (a, _, na), (b, _, nb) = distinct(a, True), distinct(b, True)
    both = concatenate((a, b))
    places = arange(both.size)
    unused = (places >= na) & (places < a.size) | (places >= a.size + nb)
    unused, both = lax.sort((unused, both), num_keys=2)
    edge = concatenate((True, (both[1:] != both[:-1]) | unused[1:], True), axis=None)
    alone = edge[1:] & edge[:-1] & ~unused
    where_ = nonzero(alone, size=size, fill_value=both.size)[0]
    return pad_results(both, where_, arange(size) < alone.sum(), fill_value)
