"""Initial values for weights: functions of (key, shape, dtype)."""

import math
from typing import Protocol

import numpy as np

from tinyjax import dtypes, random
from tinyjax import numpy as jnp
from tinyjax.primitives.linear import canonicalize_shape


def float_dtype(dtype):
    """A dtype argument, float32 by default."""
    return dtypes.default_float_dtype() if dtype is None else jnp.dtype(dtype)


class Initializer(Protocol):
    """What initializers are: functions of a key, a shape and a dtype."""

    def __call__(self, key, shape, dtype=None, out_sharding=None):
        """An array of this shape and dtype."""


# ---- constants ----------------------------------------------------------------------------------


def zeros(key, shape, dtype=None, out_sharding=None):
    """Zeros; the key is not used."""
    return jnp.zeros(shape, float_dtype(dtype))


def ones(key, shape, dtype=None, out_sharding=None):
    """Ones; the key is not used."""
    return jnp.ones(shape, float_dtype(dtype))


def constant(value, dtype=None):
    """An initializer that gives one value."""

    def init(key, shape, dtype=dtype, out_sharding=None):
        return jnp.full(shape, value, dtype=float_dtype(dtype))

    return init


# ---- a given scale ------------------------------------------------------------------------------


def uniform(scale=0.01, dtype=None):
    """An initializer that draws from [0, scale)."""

    def init(key, shape, dtype=dtype, out_sharding=None):
        dtype = float_dtype(dtype)
        return random.uniform(key, shape, dtype) * jnp.array(scale, dtype)

    return init


def normal(stddev=0.01, dtype=None):
    """An initializer that draws from the normal distribution."""

    def init(key, shape, dtype=dtype, out_sharding=None):
        dtype = float_dtype(dtype)
        return random.normal(key, shape, dtype) * jnp.array(stddev, dtype)

    return init


def truncated_normal(stddev=0.01, dtype=None, lower=-2.0, upper=2.0):
    """An initializer that draws from the normal distribution, between lower and upper.

    The limits are multiples of stddev, which is that of the distribution before it is cut off.
    """

    def init(key, shape, dtype=dtype, out_sharding=None):
        dtype = float_dtype(dtype)
        return random.truncated_normal(key, lower, upper, shape, dtype) * jnp.array(stddev, dtype)

    return init


# ---- a scale that fits the layer ----------------------------------------------------------------


def size(shape, axis):
    """The number of elements along axes."""
    axes = (axis,) if isinstance(axis, int) else axis
    return math.prod(shape[d] for d in axes)


def fans(shape, in_axis, out_axis, batch_axis):
    """-> how many inputs each output has, how many outputs each input."""
    if isinstance(in_axis, int) and in_axis == -2 and len(shape) <= 1:
        raise ValueError(
            f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor "
            "with default in_axis. Must be at least 2D or specify in_axis explicitly."
        )
    ins, outs, batch = size(shape, in_axis), size(shape, out_axis), size(shape, batch_axis)
    field = math.prod(shape) / ins / outs / batch
    return ins * field, outs * field


def variance_scaling(scale, mode, distribution, in_axis=-2, out_axis=-1, batch_axis=(),
                     dtype=None):  # fmt: skip
    """An initializer whose variance is scale / n, so that layers keep the scale of what they get.

    Args:
      scale: positive number.
      mode: n is the number of inputs ("fan_in"), of outputs ("fan_out"), their mean ("fan_avg") or
        their geometric mean ("fan_geo_avg").
      distribution: "truncated_normal", "normal" or "uniform".
      in_axis, out_axis, batch_axis: which axes of the weights are inputs, outputs, neither; other
        axes count as a receptive field.
      dtype: of the weights.
    """

    def init(key, shape, dtype=dtype, out_sharding=None):
        shape, dtype = canonicalize_shape(shape), float_dtype(dtype)
        fan_in, fan_out = fans(shape, in_axis, out_axis, batch_axis)
        choices = {
            "fan_in": fan_in,
            "fan_out": fan_out,
            "fan_avg": (fan_in + fan_out) / 2,
            "fan_geo_avg": (fan_in * fan_out) ** 0.5,
        }
        if mode not in choices:
            raise ValueError(f"invalid mode for variance scaling initializer: {mode}")
        variance = jnp.array(scale / choices[mode], dtype=dtype)
        if distribution == "normal":
            return random.normal(key, shape, dtype) * jnp.sqrt(variance)
        if distribution == "uniform":
            if dtype.kind == "c":
                return complex_uniform(key, shape, dtype) * jnp.sqrt(variance)
            return random.uniform(key, shape, dtype, -1) * jnp.sqrt(3 * variance)
        if distribution != "truncated_normal":
            raise ValueError(
                f"invalid distribution for variance scaling initializer: {distribution}"
            )
        if dtype.kind == "c":
            stddev = jnp.sqrt(variance) / jnp.array(0.95311164380491208, dtype)
            return complex_truncated_normal(key, 2, shape, dtype) * stddev
        # what a standard normal cut off at 2 has for a standard deviation
        stddev = jnp.sqrt(variance) / jnp.array(0.87962566103423978, dtype)
        return random.truncated_normal(key, -2, 2, shape, dtype) * stddev

    return init


def complex_uniform(key, shape, dtype):
    """Complex numbers, uniform in a disk."""
    key_r, key_theta = random.split(key)
    real = np.zeros((), dtype).real.dtype
    r = jnp.sqrt(2 * random.uniform(key_r, shape, real)).astype(dtype)
    theta = 2 * np.pi * random.uniform(key_theta, shape, real).astype(dtype)
    return r * jnp.exp(1j * theta)


def complex_truncated_normal(key, upper, shape, dtype):
    """Complex numbers, normal in a disk."""
    key_r, key_theta = random.split(key)
    real = np.zeros((), dtype).real.dtype
    mass = 1 - jnp.exp(jnp.array(-(upper**2), dtype))
    t = mass * random.uniform(key_r, shape, real).astype(dtype)
    theta = 2 * np.pi * random.uniform(key_theta, shape, real).astype(dtype)
    return jnp.sqrt(-jnp.log(1 - t)) * jnp.exp(1j * theta)


def scaled(name, scale, mode, distribution):
    """A variance_scaling with some settings chosen."""

    def initializer(in_axis=-2, out_axis=-1, batch_axis=(), dtype=None):
        return variance_scaling(
            scale, mode, distribution, in_axis, out_axis, batch_axis, dtype=dtype
        )

    initializer.__name__ = initializer.__qualname__ = name
    initializer.__doc__ = (
        f"variance_scaling({scale}, {mode!r}, {distribution!r}), whose other arguments it takes."
    )
    return initializer


glorot_uniform = xavier_uniform = scaled("glorot_uniform", 1.0, "fan_avg", "uniform")
glorot_normal = xavier_normal = scaled("glorot_normal", 1.0, "fan_avg", "truncated_normal")
lecun_uniform = scaled("lecun_uniform", 1.0, "fan_in", "uniform")
lecun_normal = scaled("lecun_normal", 1.0, "fan_in", "truncated_normal")
he_uniform = kaiming_uniform = scaled("he_uniform", 2.0, "fan_in", "uniform")
he_normal = kaiming_normal = scaled("he_normal", 2.0, "fan_in", "truncated_normal")

# ---- orthogonal matrices ------------------------------------------------------------------------


def orthogonal(scale=1.0, column_axis=-1, dtype=None):
    """An initializer that draws matrices with orthonormal columns (or rows, if they are fewer).

    Args:
      scale: factor.
      column_axis: the axis of the columns; all others are rows.
      dtype: of the weights.
    """

    def init(key, shape, dtype=dtype, out_sharding=None):
        dtype = float_dtype(dtype)
        if len(shape) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        columns = shape[column_axis]
        rows = math.prod(shape) // columns
        tall = (rows, columns) if rows > columns else (columns, rows)
        q, r = jnp.linalg.qr(random.normal(key, tall, dtype))
        diagonal = jnp.diagonal(r)
        q = q * (diagonal / jnp.abs(diagonal)).astype(dtype)  # all orthogonal matrices alike
        q = q if rows > columns else q.T
        others = tuple(int(n) for n in np.delete(shape, column_axis))
        q = jnp.moveaxis(q.reshape(*others, columns), -1, column_axis)
        return jnp.array(scale, dtype) * q

    return init


def delta_orthogonal(scale=1.0, column_axis=-1, dtype=None):
    """An initializer for convolutions: an orthogonal matrix in the middle of each window."""

    def init(key, shape, dtype=dtype, out_sharding=None):
        dtype = float_dtype(dtype)
        if len(shape) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
        if shape[-1] < shape[-2]:
            raise ValueError("`fan_in` must be less or equal than `fan_out`. ")
        matrix = orthogonal(scale, column_axis, dtype)(key, shape[-2:])
        middle = tuple((k - 1) // 2 for k in shape[:-2])
        return jnp.zeros(shape, dtype).at[middle].set(matrix)

    return init
