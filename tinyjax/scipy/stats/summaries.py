"""Numbers that describe a sample: mode, sem."""

from typing import NamedTuple

from tinyjax import numpy as jnp
from tinyjax.avals import Value
from tinyjax.mapping import vmap
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.primitives.linear import canonicalize_axis


class ModeResult(NamedTuple):
    """What mode returns."""

    mode: Value
    count: Value  # type: ignore[assignment]  # the name is SciPy's; tuple.count is hidden


def mode(a, axis=0, nan_policy="propagate", keepdims=False):
    """-> the most frequent value along an axis (the smallest of several), and how often it occurs.

    Args:
      a: array; axis: None is the flat array; keepdims: keep the axis, with size 1.
      nan_policy: only "propagate".
    """
    if nan_policy != "propagate":
        raise NotImplementedError(f"Logic for `nan_policy` of {nan_policy} is not implemented")
    a = ensure_arraylike("mode", a)
    kept = (1,) * a.ndim
    if axis is None:
        a, axis = a.ravel(), 0
    else:
        axis = canonicalize_axis(axis, a.ndim)
        kept = tuple(1 if d == axis else n for d, n in enumerate(a.shape))
    rows = jnp.moveaxis(a, axis, -1)
    out_shape = rows.shape[:-1]

    def most_frequent(row):
        values, counts = jnp.unique(row, return_counts=True, size=row.size)
        best = jnp.argmax(counts)
        return values[best], counts[best]

    values, counts = vmap(most_frequent)(rows.reshape(-1, rows.shape[-1]))
    shape = kept if keepdims else out_shape
    return ModeResult(values.reshape(shape), counts.reshape(shape))


def sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False):
    """The standard error of the mean along an axis: std / sqrt(n).

    Args:
      a: array; axis: None is all axes; ddof: as of std; keepdims: keep the axis, with size 1.
      nan_policy: "propagate", or "omit" to leave nans out.
    """
    a = ensure_arraylike("sem", a)
    if axis is None:
        a, axis = a.ravel(), 0
    if nan_policy == "omit":
        count = jnp.sum(~jnp.isnan(a), axis, keepdims=keepdims)
        return jnp.nanstd(a, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(count.astype(a.dtype))
    if nan_policy != "propagate":
        raise NotImplementedError(f"sem: nan_policy={nan_policy!r}")
    size = jnp.asarray(a.shape[axis], dtype=float)
    return jnp.std(a, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(size).astype(a.dtype)
