"""Choosing and finding: where, select, clip, argmax, nonzero, bincount, searchsorted."""

import operator

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import lift
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.checks import (
    check_arraylike,
    check_out,
    check_sequence,
    concrete_or_error,
    ensure_arraylike,
)
from tinyjax.numpy.comparisons import isnan
from tinyjax.numpy.creation import arange, array, asarray, zeros
from tinyjax.numpy.gather import open_grid
from tinyjax.numpy.joining import stack, vstack
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.reductions import all, any, cumsum
from tinyjax.numpy.selection import _where
from tinyjax.numpy.shaping import atleast_1d, broadcast_arrays, moveaxis, ravel, transpose
from tinyjax.numpy.sorting import argsort
from tinyjax.numpy.ufuncs import maximum, minimum
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import subprogram

# ---- choosing -----------------------------------------------------------------------------------


@recorded
def where(condition, x=None, y=None, /, *, size=None, fill_value=None):
    """Elements of x where the condition holds, of y elsewhere.

    Args:
      condition: booleans (or numbers: nonzero counts as true).
      x, y: arrays or numbers; all three broadcast. Without them: nonzero(condition).
      size, fill_value: of nonzero.

    Gradients flow into x and y where they were chosen. An inf or nan in the branch not chosen
    still spoils them: make both branches safe.

    >>> import tinyjax.numpy as jnp
    >>> jnp.where(jnp.array([True, False]), 1.0, jnp.array([5.0, 6.0]))
    Array([1., 6.], dtype=float32)
    """
    if x is None and y is None:
        check_arraylike("where", condition)
        return nonzero(condition, size=size, fill_value=fill_value)
    if size is not None or fill_value is not None:
        raise ValueError(
            "size and fill_value arguments cannot be used in three-term where function."
        )
    check_arraylike("where", condition, x, y)
    return _where(condition, x, y)


def select(condlist, choicelist, default=0):
    """The choice that belongs to the first condition that holds, elementwise.

    Args:
      condlist: list of boolean arrays.
      choicelist: as many arrays.
      default: where no condition holds.
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})"
        )
    if len(condlist) == 0:
        raise ValueError("condlist must be non-empty")
    check_arraylike("select", *condlist, *choicelist, default)
    choices = promote_dtypes(default, *choicelist)
    conditions = stack(broadcast_arrays(False, *condlist))
    which = argmax(conditions.astype(bool), axis=0)
    return lax.select_n(*broadcast_arrays(which, *choices))


def choose(a, choices, out=None, mode="raise"):
    """For every element of a, one of the choices: the one that it numbers."""
    check_out("choose", out)
    a, *choices = check_sequence("choose", (a, *choices))
    if a.dtype.kind not in "iu":
        raise ValueError("`a` array must be integer typed")
    n = len(choices)
    if mode == "raise":
        message = (
            "The error occurred because jnp.choose was jit-compiled with mode='raise'. Use "
            "mode='wrap' or mode='clip' instead."
        )
        a = concrete_or_error(asarray, a, message)
        if any((a < 0) | (a >= n)):
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        a = a % n
    elif mode == "clip":
        a = clip(a, 0, n - 1)
    else:
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    a, *choices = broadcast_arrays(a, *choices)
    return array(choices)[(a, *open_grid(a.shape))]


@subprogram
def clip(arr=None, /, min=None, max=None):
    """Numbers limited to an interval: min and max, either of which may be None.

    >>> import tinyjax.numpy as jnp
    >>> jnp.clip(jnp.array([-1.0, 0.5, 3.0]), 0, 1)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    if arr is None:
        raise ValueError("No input was provided to the clip function.")
    check_arraylike("clip", arr)
    if builtin_any(x is not None and lift(x).dtype.kind == "c" for x in (arr, min, max)):
        raise ValueError(
            "Clip received a complex value either through the input or the min/max keywords. "
            "Complex values have no ordering and cannot be clipped. Please convert to a real "
            "value or array by taking the real or imaginary components via jax.numpy.real/imag."
        )
    if min is not None:
        arr = maximum(min, arr)
    if max is not None:
        arr = minimum(max, arr)
    return asarray(arr)


def builtin_any(xs):
    """any of Python's."""
    return True in map(bool, xs)


# ---- the place of the largest -------------------------------------------------------------------


@recorded
def argmax(a, axis=None, out=None, keepdims=None):
    """The index of the largest element along an axis (of the flat array by default).

    The first one, if there are several; that of a nan, if there is one.

    >>> import tinyjax.numpy as jnp
    >>> jnp.argmax(jnp.array([1.0, 5.0, 5.0]))
    Array(1, dtype=int32)
    """
    return extremum("argmax", lax.argmax, a, axis, out, keepdims)


@recorded
def argmin(a, axis=None, out=None, keepdims=None):
    """The index of the smallest element along an axis; see argmax."""
    return extremum("argmin", lax.argmin, a, axis, out, keepdims)


def extremum(name, op, a, axis, out, keepdims):
    """argmax and argmin."""
    a = ensure_arraylike(name, a)
    check_out(name, out)
    if axis is None:
        new, a, axis = range(a.ndim), ravel(a), 0
    else:
        axis = operator.index(axis)
        if not -a.ndim <= axis < a.ndim:
            raise IndexError(f"{name}: axis {axis} is out of bounds for an array of rank {a.ndim}")
        axis %= a.ndim
        new = (axis,)
    if a.shape[axis] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    result = op(a, axis, int)
    return lax.expand_dims(result, new) if keepdims else result


def nanargmax(a, axis=None, out=None, keepdims=None):
    """argmax of the elements that are not nan; -1 if all are."""
    check_out("nanargmax", out)
    a = ensure_arraylike("nanargmax", a)
    return _nanargmax(a, None if axis is None else operator.index(axis), keepdims=bool(keepdims))


def nanargmin(a, axis=None, out=None, keepdims=None):
    """argmin of the elements that are not nan; -1 if all are."""
    check_out("nanargmin", out)
    a = ensure_arraylike("nanargmin", a)
    return _nanargmin(a, None if axis is None else operator.index(axis), keepdims=bool(keepdims))


@subprogram(static_argnames=("axis", "keepdims"))
def _nanargmax(a, axis=None, keepdims=False):
    """nanargmax with its settings known."""
    return nan_extremum(argmax, -np.inf, a, axis, keepdims)


@subprogram(static_argnames=("axis", "keepdims"))
def _nanargmin(a, axis=None, keepdims=False):
    """nanargmin with its settings known."""
    return nan_extremum(argmin, np.inf, a, axis, keepdims)


def nan_extremum(op, worst, a, axis, keepdims):
    """argmax or argmin with nans replaced by the worst value."""
    if not dtypes.issubdtype(a.dtype, np.inexact):
        return op(a, axis=axis, keepdims=keepdims)
    nans = isnan(a)
    found = op(_where(nans, worst, a), axis=axis, keepdims=keepdims)
    return _where(all(nans, axis=axis, keepdims=keepdims), -1, found)


# ---- the places of what is not zero -------------------------------------------------------------


def nonzero(a, *, size=None, fill_value=None):
    """The indices of the nonzero elements: one array per axis.

    Args:
      a: array with one axis or more.
      size: how many indices to return. The number of nonzero elements by default; under jit that
        is not known, and size must be given.
      fill_value: what indices too many are filled with, 0 by default; one number, or one per axis.

    >>> import tinyjax.numpy as jnp
    >>> jnp.nonzero(jnp.array([0, 5, 0, 6]))
    (Array([1, 3], dtype=int32),)
    """
    a = ensure_arraylike("nonzero", a)
    if a.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d(scalar).nonzero() "
            "instead."
        )
    mask = a if a.dtype == bool else a != 0
    size = concrete_or_error(
        int,
        mask.sum() if size is None else size,
        "The size argument of jnp.nonzero must be statically specified to use jnp.nonzero within "
        "JAX transformations.",
    )
    if a.size == 0 or size == 0:
        return tuple(zeros(size, int) for _ in a.shape)
    flat = cumsum(bincount(cumsum(mask), length=size))
    strides = (np.cumprod(a.shape[::-1])[::-1] // a.shape).astype(flat.dtype)
    out = tuple(flat // stride % n for stride, n in zip(strides, a.shape))
    if fill_value is None:
        return out
    fills = fill_value if isinstance(fill_value, tuple) else a.ndim * (fill_value,)
    if builtin_any(np.shape(f) != () for f in fills):
        raise ValueError(
            f"fill_value must be a scalar or a tuple of length {a.ndim}; got {fill_value}"
        )
    beyond = arange(size) >= mask.sum()
    return tuple(where(beyond, f, i) for f, i in zip(fills, out))


def flatnonzero(a, *, size=None, fill_value=None):
    """The indices of the nonzero elements in the flat array; see nonzero."""
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a, *, size=None, fill_value=None):
    """The indices of the nonzero elements, one row per element; see nonzero."""
    a = ensure_arraylike("argwhere", a)
    rows = transpose(vstack(nonzero(atleast_1d(a), size=size, fill_value=fill_value)))
    if a.ndim == 0:
        return rows[:0].reshape(rows.shape[0], 0)
    return rows.reshape(rows.shape[0], a.ndim)


def extract(condition, arr, *, size=None, fill_value=0):
    """The elements where the condition holds; see compress."""
    check_arraylike("extract", condition, arr, fill_value)
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


def compress(condition, a, axis=None, *, size=None, fill_value=0, out=None):
    """The slices of a along an axis for which the condition holds.

    Args:
      condition: one boolean per slice.
      a: array; axis: None takes elements of the flat array.
      size: how many slices to return (needed under jit); fill_value fills those too many.
    """
    condition, a, fill_value = ensure_arraylike("compress", condition, a, fill_value)
    condition = condition.astype(bool)
    check_out("compress", out)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1D array")
    if axis is None:
        a, axis = ravel(a), 0
    else:
        a = moveaxis(a, axis, 0)
    condition, extra = condition[: a.shape[0]], condition[a.shape[0] :]
    a = a[: condition.shape[0]]
    if size is None:
        if any(extra):
            raise ValueError("condition contains entries that are out of bounds")
        found = a[condition]
    elif not 0 <= size <= a.shape[0]:
        raise ValueError(
            "size must be positive and not greater than the size of the array axis; got "
            f"size={size} for a.shape[axis]={a.shape[0]}"
        )
    else:
        mask = lax.expand_dims(condition, range(1, a.ndim))
        a = where(mask, a, array(fill_value, dtype=a.dtype))
        found = a[argsort(condition, stable=True, descending=True)][:size]
    return moveaxis(found, 0, axis)


# ---- counting -----------------------------------------------------------------------------------


def bincount(x, weights=None, minlength=0, *, length=None):
    """How often each number 0, 1, 2 ... occurs in x.

    Args:
      x: one-dimensional array of integers; negative ones count as 0.
      weights: how much each element counts; 1 by default.
      minlength: the result is at least this long.
      length: of the result; it must be given under jit. Larger numbers are not counted.

    >>> import tinyjax.numpy as jnp
    >>> jnp.bincount(jnp.array([1, 1, 3]))
    Array([0, 2, 0, 1], dtype=int32)
    """
    x = ensure_arraylike("bincount", x)
    if x.dtype == bool:
        x = lax.convert_element_type(x, "int32")
    if x.dtype.kind not in "iu":
        raise TypeError(f"x argument to bincount must have an integer type; got {x.dtype}")
    if x.ndim != 1:
        raise ValueError("only 1-dimensional input supported.")
    minlength = concrete_or_error(
        operator.index, minlength, "It arose in the argument 'minlength' of jnp.bincount."
    )
    if length is None:
        known = concrete_or_error(
            asarray,
            x,
            "The error occurred because of argument 'x' of jnp.bincount. To avoid this error, "
            "pass a static `length` argument.",
        )
        length = builtin_max(minlength, int(builtin_max(0, known.max())) + 1 if known.size else 0)
    else:
        length = concrete_or_error(
            operator.index, length, "It arose in the argument 'length' of jnp.bincount."
        )
    if weights is None:
        weights = np.array(1, dtypes.default_int_dtype())
    elif np.shape(weights) != x.shape:
        raise ValueError(
            f"shape of weights must match shape of x, got {np.shape(weights)} and {x.shape}"
        )
    counts = zeros(length, dtypes.dtype(weights))
    return IndexUpdate(counts)[clip(x, 0)].add(weights, mode="drop")


builtin_max = max


# ---- searching in sorted arrays -----------------------------------------------------------------


@subprogram(static_argnames=("side", "method"))
def searchsorted(a, v, side="left", sorter=None, *, method="scan"):
    """Where to insert v into a sorted array so that it stays sorted.

    Args:
      a: sorted one-dimensional array.
      v: numbers.
      side: "left" is before equal elements, "right" after them.
      sorter: indices that sort a.
      method: "scan", "scan_unrolled", "sort" or "compare_all"; the result is the same.

    >>> import tinyjax.numpy as jnp
    >>> jnp.searchsorted(jnp.array([1, 3, 5]), 4)
    Array(2, dtype=int32)
    """
    if sorter is None:
        a, v = ensure_arraylike("searchsorted", a, v)
    else:
        a, v, sorter = ensure_arraylike("searchsorted", a, v, sorter)
    if side not in ("left", "right"):
        raise ValueError(f"{side!r} is an invalid value for keyword 'side'")
    if method not in ("scan", "scan_unrolled", "sort", "compare_all"):
        raise ValueError(
            f"{method!r} is an invalid value for keyword 'method': expected 'sort', 'scan', "
            "'scan_unrolled' or 'compare_all'"
        )
    if a.ndim != 1:
        raise ValueError("a should be 1-dimensional")
    a, v = promote_dtypes(a, v)
    if sorter is not None:
        a = a[sorter]
    if a.shape[0] == 0:
        return lax.full_like(v, 0, np.int32)
    return _searchsorted_scan_impl(a, v, side=side)


@subprogram(static_argnames=("side",))
def _searchsorted_scan_impl(a, v, side):
    """Bisection: the answer lies in (low, high], an interval that each step halves."""
    n = a.shape[0]
    low = lax.full_like(v, 0, np.uint32)
    high = lax.full_like(v, n, np.uint32)
    goes_left = before_or_equal if side == "left" else before

    def halve(state, _):
        low, high = state
        middle = low + (high - low) // 2
        left = goes_left(v, a[middle])
        return (lax.select(left, low, middle), lax.select(left, middle, high)), ()

    steps = int(np.ceil(np.log2(n + 1)))
    (_, high), _ = lax.scan(halve, (low, high), (), length=steps)
    return lax.convert_element_type(high, np.int32)


def before(x, y):
    """x < y in the order of sort: nans come last."""
    if not dtypes.issubdtype(x.dtype, np.inexact):
        return lax.lt(x, y)
    return lax.bitwise_or(x < y, lax.bitwise_and(isnan(y), lax.bitwise_not(isnan(x))))


def before_or_equal(x, y):
    """x <= y in the order of sort."""
    return lax.bitwise_not(before(y, x))


@subprogram(static_argnames=("right", "method"))
def digitize(x, bins, right=False, *, method=None):
    """The number of the bin in which each x lies.

    Args:
      x: array.
      bins: the edges of the bins, sorted (or sorted backwards).
      right: whether bins contain their right edge rather than their left one.
    """
    x, bins = ensure_arraylike("digitize", x, bins)
    if bins.ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got bins={bins}")
    if bins.shape[0] == 0:
        return lax.full_like(x, 0, np.int32)
    side = "left" if right else "right"
    settings = {} if method is None else {"method": method}
    return where(
        bins[-1] >= bins[0],
        searchsorted(bins, x, side=side, **settings),
        bins.shape[0] - searchsorted(bins[::-1], x, side=side, **settings),
    )
