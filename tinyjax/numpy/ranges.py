"""Numbers between two ends: linspace, logspace, geomspace."""

import operator

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.checks import concrete_or_error, ensure_arraylike
from tinyjax.numpy.creation import asarray, empty, full
from tinyjax.numpy.promotion import to_shape
from tinyjax.numpy.ufuncs import log10, power, sign
from tinyjax.primitives.linear import canonicalize_axis, convert
from tinyjax.putting import takes_device
from tinyjax.transforms.subprogram import subprogram


@takes_device
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """Evenly spaced numbers from start to stop.

    Args:
      start, stop: numbers or arrays that broadcast together.
      num: how many numbers, known while tracing.
      endpoint: whether stop is the last of them.
      retstep: also return the spacing.
      dtype: a float dtype by default.
      axis: where in the result the numbers run.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    num = concrete_or_error(operator.index, num, "'num' argument of jnp.linspace")
    axis = concrete_or_error(operator.index, axis, "'axis' argument of jnp.linspace")
    return _linspace(start, stop, num, endpoint, retstep, dtype, axis)


@subprogram(static_argnames=("num", "endpoint", "retstep", "dtype", "axis"))
def _linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    """linspace with num and axis known."""
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = ensure_arraylike("linspace", start, stop)
    if dtype is None:
        dtype = dtypes.to_inexact_dtype(dtypes.result_type(start, stop))
    else:
        dtype = dtypes.check_user_dtype_supported(dtype, "linspace")
    computed = dtypes.to_inexact_dtype(dtype)
    start, stop = convert(start, computed), convert(stop, computed)
    shape = lax.broadcast_shapes(start.shape, stop.shape)
    starts, stops = to_shape(start, shape), to_shape(stop, shape)
    axis = len(shape) + axis + 1 if axis < 0 else axis
    bounds = [*shape[:axis], 1, *shape[axis:]]
    intervals = num - 1 if endpoint else num
    if num > 1:
        width = lax.convert_element_type(stop - start, computed)
        delta = width / asarray(intervals, dtype=computed)
        along = [1] * len(bounds)
        along[axis] = intervals
        real_dtype = dtypes.finfo(computed).dtype
        step = lax.iota(real_dtype, intervals).reshape(along) / asarray(intervals, real_dtype)
        step = convert(step, computed)
        out = starts.reshape(bounds) * (1 - step) + stops.reshape(bounds) * step
        if endpoint:  # stop itself, not what rounding makes of it
            last = lax.expand_dims(stops, (axis,))
            out = lax.concatenate([out, last], canonicalize_axis(axis, out.ndim))
    elif num == 1:
        delta = asarray(np.nan if endpoint else stop - start, dtype=computed)
        out = starts.reshape(bounds)
    else:
        delta = full((), np.nan, computed)
        out = empty([*shape[:axis], 0, *shape[axis:]], dtype)
    if dtype.kind in "iu" and out.dtype.kind not in "iu":
        out = lax.floor(out)
    result = convert(out, dtype)
    return (result, delta) if retstep else result


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """Numbers evenly spaced on a logarithmic scale, from base**start to base**stop."""
    num = concrete_or_error(operator.index, num, "'num' argument of jnp.logspace")
    axis = concrete_or_error(operator.index, axis, "'axis' argument of jnp.logspace")
    return _logspace(start, stop, num, endpoint, base, dtype, axis)


@subprogram(static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    """logspace with num and axis known."""
    dtype, start, stop = range_dtype("logspace", start, stop, dtype)
    lin = linspace(start, stop, num, endpoint=endpoint, retstep=False, dtype=None, axis=axis)
    return lax.convert_element_type(power(base, lin), dtype)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """A geometric progression from start to stop."""
    num = concrete_or_error(operator.index, num, "'num' argument of jnp.geomspace")
    axis = concrete_or_error(operator.index, axis, "'axis' argument of jnp.geomspace")
    return _geomspace(start, stop, num, endpoint, dtype, axis)


@subprogram(static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    """geomspace with num and axis known."""
    dtype, start, stop = range_dtype("geomspace", start, stop, dtype)
    sign_ = sign(start)
    exponents = log10(start / sign_), log10(stop / sign_)
    res = sign_ * logspace(*exponents, num, endpoint=endpoint, base=10.0, dtype=start.dtype, axis=0)
    axis = canonicalize_axis(axis, res.ndim)
    if axis != 0:
        res = lax.transpose(res, (*range(1, axis + 1), 0, *range(axis + 1, res.ndim)))
    return lax.convert_element_type(res, dtype)


def range_dtype(name, start, stop, dtype):
    """-> the dtype of the result, and both ends at the dtype to compute with."""
    if dtype is None:
        dtype = dtypes.to_inexact_dtype(dtypes.result_type(start, stop))
    else:
        dtype = dtypes.check_user_dtype_supported(dtype, name)
    computed = dtypes.to_inexact_dtype(dtype)
    start, stop = ensure_arraylike(name, start, stop)
    return dtype, convert(start, computed), convert(stop, computed)
