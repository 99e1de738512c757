"""Numbers that describe a sample: mode, sem, rankdata."""

import math
from typing import NamedTuple

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.avals import Value
from tinyjax.mapping import vmap
from tinyjax.numpy.checks import check_arraylike
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.linear import canonicalize_axis
from tinyjax.transforms.subprogram import subprogram

RANKS = ("average", "min", "max", "dense", "ordinal")


def check_nan_policy(name, nan_policy):
    """Only "propagate" can be compiled."""
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"Illegal nan_policy value {nan_policy!r}; expected one of "
            "{'propagate', 'omit', 'raise'}"
        )
    if nan_policy == "omit":
        raise NotImplementedError("Logic for `nan_policy` of omit is not implemented")
    if nan_policy == "raise":
        raise NotImplementedError(
            f"In order to best JIT compile `{name}`, we cannot know whether `x` contains nans. "
            f"Please check if nans exist in `x` outside of the `{name}` function."
        )


# ---- mode ---------------------------------------------------------------------------------------


class ModeResult(NamedTuple):
    """What mode returns."""

    mode: Value
    count: Value  # type: ignore[assignment]  # the name is SciPy's; tuple.count is hidden


@subprogram(static_argnames=("axis", "nan_policy", "keepdims"))
def mode(a, axis=0, nan_policy="propagate", keepdims=False):
    """-> the most frequent value along an axis (the smallest of several), and how often it occurs.

    Args:
      a: array.
      axis: None is the flat array.
      nan_policy: only "propagate".
      keepdims: keep the axis, with size 1.

    Of no values the mode is nan.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy.stats import mode
    >>> [int(x) for x in mode(jnp.array([2, 4, 1, 4]))]
    [4, 2]
    """
    check_arraylike("mode", a)
    x = jnp.atleast_1d(a)
    check_nan_policy("mode", nan_policy)
    axis = None if axis is None else canonicalize_axis(axis, x.ndim)
    reduced = range(x.ndim) if axis is None else (axis,)
    shape = [1 if i in reduced else n for i, n in enumerate(x.shape)]
    if not keepdims:
        shape = [n for i, n in enumerate(x.shape) if i not in reduced]
    if axis is None:
        x, axis = x.ravel(), 0
    columns = jnp.moveaxis(x, axis, 0)
    columns = columns.reshape(columns.shape[0], math.prod(columns.shape[1:]))
    values, counts = vmap(most_frequent, in_axes=1)(columns)
    return ModeResult(values.reshape(shape), counts.reshape(shape))


def most_frequent(x):
    """The most frequent value of a vector, and how often it occurs."""
    if not x.size:
        return jnp.array(np.nan, dtype=float), jnp.array(0, dtype=float)
    values, counts = jnp.unique(x, return_counts=True, size=x.size)
    return values[jnp.argmax(counts)], counts.max()


# ---- ranks --------------------------------------------------------------------------------------


@subprogram(static_argnames=("method", "axis", "nan_policy"))
def rankdata(a, method="average", *, axis=None, nan_policy="propagate"):
    """The ranks of values, from 1.

    Args:
      a: array.
      method: what equal values get: the "average", "min" or "max" of their ranks; "dense": the
        number of distinct values up to theirs; "ordinal": different ranks, in their order.
      axis: along which values are ranked; by default the flat array is.
      nan_policy: only "propagate": one nan makes all ranks nan.

    Returns floats of the shape of a, or a vector if axis is None.

    Raises ValueError for another method.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy.stats import rankdata
    >>> print(rankdata(jnp.array([10, 30, 30, 20])))
    [1.  3.5 3.5 2. ]
    """
    check_arraylike("rankdata", a)
    check_nan_policy("rankdata", nan_policy)
    if method not in RANKS:
        raise ValueError(f"unknown method '{method}'")
    if axis is not None:
        return jnp.apply_along_axis(rankdata, axis, a, method)
    a = jnp.ravel(a)
    nothing = jnp.full(a.shape, jnp.nan, float)
    return lax.cond(
        jnp.any(jnp.isnan(a)), lambda a: nothing, lambda a: ranks(a, method).astype(float), a
    )


def ranks(a, method):
    """The ranks of a vector."""
    ordered, sorter = lax.sort_key_val(a, jnp.arange(a.size))
    place = jnp.empty_like(sorter).at[sorter].set(jnp.arange(a.size, dtype=sorter.dtype))
    if method == "ordinal":
        return place + 1
    first = jnp.concatenate([jnp.array([True]), ordered[1:] != ordered[:-1]])
    dense = first.cumsum()[place]
    if method == "dense":
        return dense
    # where the runs of equal values begin, and where the last one ends
    begin = jnp.nonzero(first, size=a.size + 1, fill_value=a.size)[0].astype(float)
    if method == "max":
        return begin[dense]
    if method == "min":
        return begin[dense - 1] + 1
    return 0.5 * (begin[dense] + begin[dense - 1] + 1)


# ---- the standard error -------------------------------------------------------------------------


@subprogram(static_argnames=("axis", "nan_policy", "keepdims"))
def sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False):
    """The standard error of the mean along an axis: std / sqrt(n).

    Args:
      a: array.
      axis: None is all axes.
      ddof: as of std.
      nan_policy: "propagate", or "omit" to leave nans out.
      keepdims: keep the axis, with size 1.

    Raises ValueError for another nan_policy.
    """
    (b,) = promote_args_inexact("sem", a)
    if nan_policy == "omit":
        count = (~jnp.isnan(b)).sum(axis, keepdims=keepdims)
        return jnp.nanstd(b, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(count).astype(b.dtype)
    if nan_policy != "propagate":
        raise ValueError(f"{nan_policy} is not supported")
    size = b.size if axis is None else b.shape[axis]
    return b.std(axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(size).astype(b.dtype)
