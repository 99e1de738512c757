"""Reductions over segments: rows with the same number are added, multiplied or compared."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax import numpy as jnp
from tinyjax.numpy.checks import concrete_or_error


def _segment(name, data, segment_ids, num_segments, sorted_ids, unique, bucket_size, mode, start):
    """Scatter the rows of data into an array that holds the value of an empty segment."""
    data, ids = jnp.asarray(data), jnp.asarray(segment_ids)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"segment_ids must have an integer dtype, got {ids.dtype.name}")
    if num_segments is None:
        num_segments = jnp.max(ids) + 1 if ids.size else 0
    num_segments = concrete_or_error(int, num_segments, "segment_sum() `num_segments` argument.")
    if num_segments < 0:
        raise ValueError("num_segments must be non-negative.")
    index, lead = (ids,), (num_segments,)
    if bucket_size is not None:
        buckets = -(-ids.size // bucket_size)
        index, lead = (jnp.arange(ids.shape[0]) // bucket_size, ids[None]), (buckets, num_segments)
    empty = jnp.full((*lead, *data.shape[1:]), start(data.dtype), data.dtype)
    out = getattr(empty.at[index], name)(
        data,
        indices_are_sorted=sorted_ids,
        unique_indices=unique,
        mode=lax.GatherScatterMode.FILL_OR_DROP if mode is None else mode,
        wrap_negative_indices=False,
    )
    if bucket_size is None:
        return out
    reduce = getattr(jnp, {"add": "sum", "multiply": "prod"}.get(name, name))
    return reduce(out, axis=0).astype(data.dtype)


def _lowest(dtype):
    """The maximum of no numbers."""
    if dtype.kind == "b":
        return False
    return -np.inf if dtypes.issubdtype(dtype, np.inexact) else dtypes.iinfo(dtype).min


def _highest(dtype):
    """The minimum of no numbers."""
    if dtype.kind == "b":
        return True
    return np.inf if dtypes.issubdtype(dtype, np.inexact) else dtypes.iinfo(dtype).max


def segment_sum(
    data,
    segment_ids,
    num_segments=None,
    indices_are_sorted=False,
    unique_indices=False,
    bucket_size=None,
    mode=None,
    out_sharding=None,
):
    """The sum of the rows of each segment.

    Args:
      data: array, whose first axis (or first axes, as many as segment_ids has) is summed.
      segment_ids: integer array: which segment each row belongs to. Rows with a number outside of
        [0, num_segments) are left out.
      num_segments: the size of the result; the largest number plus one by default, which is not
        known under jit.
      indices_are_sorted, unique_indices: promises, as JAX's.
      bucket_size: add up so many rows at a time, and then these sums (for precision).
      mode: as in `x.at[...].add(mode=...)`.

    Returns an array (num_segments, ...) of data's dtype; 0 for an empty segment.

    >>> import tinyjax.numpy as jnp
    >>> segment_sum(jnp.arange(5), jnp.array([0, 0, 1, 1, 2]))
    Array([1, 5, 4], dtype=int32)
    """
    options = (num_segments, indices_are_sorted, unique_indices, bucket_size, mode)
    return _segment("add", data, segment_ids, *options, lambda dtype: 0)


def segment_prod(
    data,
    segment_ids,
    num_segments=None,
    indices_are_sorted=False,
    unique_indices=False,
    bucket_size=None,
    mode=None,
    out_sharding=None,
):
    """The product of the rows of each segment (1 for an empty one); see segment_sum.

    >>> import tinyjax.numpy as jnp
    >>> segment_prod(jnp.arange(1, 5), jnp.array([0, 0, 1, 1]))
    Array([ 2, 12], dtype=int32)
    """
    options = (num_segments, indices_are_sorted, unique_indices, bucket_size, mode)
    return _segment("multiply", data, segment_ids, *options, lambda dtype: 1)


def segment_max(
    data,
    segment_ids,
    num_segments=None,
    indices_are_sorted=False,
    unique_indices=False,
    bucket_size=None,
    mode=None,
    out_sharding=None,
):
    """The maximum of each segment (the lowest number for an empty one); see segment_sum.

    >>> import tinyjax.numpy as jnp
    >>> segment_max(jnp.array([3.0, 1.0, 2.0]), jnp.array([0, 0, 1]))
    Array([3., 2.], dtype=float32)
    """
    options = (num_segments, indices_are_sorted, unique_indices, bucket_size, mode)
    return _segment("max", data, segment_ids, *options, _lowest)


def segment_min(
    data,
    segment_ids,
    num_segments=None,
    indices_are_sorted=False,
    unique_indices=False,
    bucket_size=None,
    mode=None,
    out_sharding=None,
):
    """The minimum of each segment (the highest number for an empty one); see segment_sum.

    >>> import tinyjax.numpy as jnp
    >>> segment_min(jnp.array([3.0, 1.0, 2.0]), jnp.array([0, 0, 1]))
    Array([1., 2.], dtype=float32)
    """
    options = (num_segments, indices_are_sorted, unique_indices, bucket_size, mode)
    return _segment("min", data, segment_ids, *options, _highest)


__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]
