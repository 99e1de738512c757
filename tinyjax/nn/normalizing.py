"""softmax and its kin; one_hot; standardize."""

import operator

import numpy as np

from tinyjax import dtypes, lax
from tinyjax import numpy as jnp
from tinyjax.numpy.checks import check_where, concrete_or_error, ensure_arraylike, static_axes
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.reductions import count_elements
from tinyjax.primitives.linear import canonicalize_axes, canonicalize_axis, convert
from tinyjax.primitives.maths import log_total
from tinyjax.tracebacks import boundary
from tinyjax.transforms.subprogram import subprogram

# ---- softmax ------------------------------------------------------------------------------------


@boundary
def softmax(x, axis=-1, where=None):
    """exp(x) divided by its sum along axes: positive numbers that sum to 1.

    Args:
      x: array.
      axis: along which axis or axes; None is all.
      where: boolean array; elements where it is false count as -inf.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.nn.softmax(jnp.array([0.0, 0.0]))
    Array([0.5, 0.5], dtype=float32)
    """
    where = check_where("softmax", where)
    largest = jnp.max(x, axis, where=where, initial=-np.inf, keepdims=True)
    x = x if where is None else jnp.where(where, x, -np.inf)
    powers = jnp.exp(x - lax.stop_gradient(largest))
    result = powers / jnp.sum(powers, axis, where=where, keepdims=True)
    return result if where is None else jnp.where(where, result, 0)


@subprogram(static_argnames=("axis",))
def log_softmax(x, axis=-1, where=None):
    """log(softmax(x)), without the loss of digits; arguments as of softmax."""
    x = ensure_arraylike("log_softmax", x)
    largest = jnp.max(x, axis, where=where, initial=-np.inf, keepdims=True)
    x = x if where is None else jnp.where(where, x, -np.inf)
    shifted = x - lax.stop_gradient(largest)
    total = jnp.sum(jnp.exp(shifted), axis, where=where, keepdims=True)
    result = shifted - jnp.log(total)
    return result if where is None else jnp.where(where, result, -np.inf)


@boundary
def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False, where=None):
    """log(sum(b * exp(a))) along axes, without overflow.

    Args:
      a: array.
      axis: along which axis or axes; all by default.
      b: factors, 1 by default.
      keepdims: keep reduced axes, with size 1.
      return_sign: also return the sign of the sum, of whose absolute value the log is.
      where: boolean array; only elements where it is true count.

    Of nothing but -inf the result is -inf, and its derivative is 0.
    """
    where = check_where("logsumexp", where)
    if where is not None:
        a = jnp.where(where, a, 0)
    if b is None:
        (a,) = promote_args_inexact("logsumexp", a)
    else:
        a, b = promote_args_inexact("logsumexp", a, b)
        a = jnp.where(b != 0, a, -np.inf)
    axis = static_axes(axis)
    axes = range(a.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = canonicalize_axes(axes, a.ndim)
    real = lax.real(a) if a.dtype.kind == "c" else a
    largest = jnp.max(real, axis=axes, keepdims=keepdims, where=where, initial=-np.inf)
    finite = jnp.isfinite(largest)
    largest = lax.stop_gradient(lax.select(finite, largest, lax.full_like(largest, 0)))
    spread = largest if keepdims else lax.expand_dims(largest, axes)
    powers = lax.exp(lax.sub(a, convert(spread, a.dtype)))
    if b is not None:
        powers = lax.mul(powers, b)
    total = jnp.sum(powers, axis=axes, keepdims=keepdims, where=where)
    sign = lax.sign(total)
    if return_sign or a.dtype.kind != "c":
        total = lax.abs(total)
    logs = lax.log(total) if b is not None else log_total(total)
    out = lax.add(logs, convert(largest, total.dtype))
    if return_sign:
        return out, sign
    if b is not None and out.dtype.kind != "c":
        out = jnp.where(sign < 0, jnp.asarray(np.nan, dtype=out.dtype), out)
    return out


@subprogram(static_argnames=("axis", "keepdims"))
def logmeanexp(x, axis=None, where=None, keepdims=False):
    """log(mean(exp(x))) along axes; arguments as of logsumexp."""
    x = ensure_arraylike("logmeanexp", x)
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    count = count_elements(x, axis, keepdims, where, total.dtype)
    return total - jnp.log(count)


# ---- others -------------------------------------------------------------------------------------


@subprogram(static_argnames=("axis", "algorithm"))
def standardize(x, axis=-1, mean=None, variance=None, epsilon=1e-5, where=None, *,
                algorithm="fast"):  # fmt: skip
    """x with its mean along axes subtracted, divided by its standard deviation.

    Args:
      x: array.
      axis: along which axis or axes.
      mean, variance: if they are known.
      epsilon: added to the variance.
      where: only elements where it is true count.
      algorithm: "fast" takes mean(x**2) - mean(x)**2, "stable" mean((x - mean(x))**2).
    """
    x = ensure_arraylike("standardize", x)
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "stable":
            squares = jnp.square(jnp.subtract(x, mean))
            variance = jnp.mean(squares, axis, keepdims=True, where=where)
        elif algorithm == "fast":
            squares = jnp.mean(jnp.square(x), axis, keepdims=True, where=where)
            variance = jnp.clip(squares - jnp.square(mean), 0)
        else:
            raise ValueError(f"Unknown algorithm '{algorithm}'. Expected 'fast' or 'stable'.")
    return jnp.subtract(x, mean) * lax.rsqrt(variance + epsilon)


@boundary
def one_hot(x, num_classes, *, dtype=None, axis=-1):
    """For each number a vector that is 1 at that place and 0 elsewhere.

    Args:
      x: integers; those outside [0, num_classes) give zeros.
      num_classes: length of the vectors, known while tracing.
      dtype: float32 by default.
      axis: where in the result the vectors run.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.nn.one_hot(jnp.array([0, 2]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    num_classes = concrete_or_error(
        operator.index,
        num_classes,
        "The error arose in jax.nn.one_hot argument `num_classes`.",
    )
    dtype = dtypes.default_float_dtype() if dtype is None else np.dtype(dtype)
    return _one_hot(jnp.asarray(x), num_classes, dtype=dtype, axis=axis)


@subprogram(static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x, num_classes, *, dtype, axis):
    """one_hot with its settings known."""
    if isinstance(axis, str):
        if num_classes != lax.axis_size(axis):
            raise ValueError(
                f"Expected num_classes to match the size of axis {axis}, but {num_classes} != "
                f"{lax.axis_size(axis)}"
            )
        return jnp.asarray(x == lax.axis_index(axis), dtype=dtype)
    axis = canonicalize_axis(axis, x.ndim + 1)
    shape = [1] * x.ndim
    shape.insert(axis, num_classes)
    classes = lax.expand_dims(x, (axis,))
    return (classes == lax.broadcasted_iota(x.dtype, shape, axis)).astype(dtype)
