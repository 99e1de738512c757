"""Activation functions, elementwise."""

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.transforms.custom import custom_jvp
from tinyjax.transforms.subprogram import subprogram

# ---- clipped ------------------------------------------------------------------------------------


@custom_jvp
@subprogram
def relu(x):
    """max(x, 0); its derivative at 0 is 0.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.nn.relu(jnp.array([-2.0, 3.0]))
    Array([0., 3.], dtype=float32)
    """
    return jnp.maximum(x, 0)


relu.defjvps(lambda g, ans, x: lax.select(x > 0, g, lax.full_like(g, 0)))


@custom_jvp
@subprogram
def relu6(x):
    """min(max(x, 0), 6)."""
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


relu6.defjvps(lambda g, ans, x: lax.select((x > 0) & (x < 6), g, lax.full_like(g, 0)))


@subprogram
def leaky_relu(x, negative_slope=0.01):
    """x where x >= 0, negative_slope * x elsewhere."""
    x = ensure_arraylike("leaky_relu", x)
    return jnp.where(x >= 0, x, negative_slope * x)


@subprogram
def hard_tanh(x):
    """x limited to [-1, 1]."""
    x = ensure_arraylike("hard_tanh", x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@subprogram
def hard_sigmoid(x):
    """relu6(x + 3) / 6."""
    return relu6(x + 3.0) / 6.0


@subprogram
def hard_silu(x):
    """x * hard_sigmoid(x)."""
    x = ensure_arraylike("hard_silu", x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu

# ---- exponential --------------------------------------------------------------------------------


def sigmoid(x):
    """1 / (1 + exp(-x)).

    >>> import tinyjax as jax
    >>> jax.nn.sigmoid(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return lax.logistic(x)


@subprogram
def silu(x):
    """x * sigmoid(x)."""
    x = ensure_arraylike("silu", x)
    return x * sigmoid(x)


swish = silu


@subprogram
def softplus(x):
    """log(1 + exp(x))."""
    return jnp.logaddexp(x, 0)


@subprogram
def log_sigmoid(x):
    """log(sigmoid(x)) = -softplus(-x)."""
    x = ensure_arraylike("log_sigmoid", x)
    return -softplus(-x)


@subprogram
def mish(x):
    """x * tanh(softplus(x))."""
    x = ensure_arraylike("mish", x)
    return x * jnp.tanh(softplus(x))


@subprogram
def elu(x, alpha=1.0):
    """x where x > 0, alpha * (exp(x) - 1) elsewhere."""
    x = ensure_arraylike("elu", x)
    positive = x > 0
    safe = jnp.where(x > 0, 0.0, x)  # else inf in the branch not taken spoils the gradient
    return jnp.where(positive, x, alpha * jnp.expm1(safe))


@subprogram
def celu(x, alpha=1.0):
    """max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)."""
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


@subprogram
def selu(x):
    """elu, scaled so that mean 0 and variance 1 are kept."""
    alpha = 1.6732632423543772848170429916717
    scale = 1.0507009873554804934193349852946
    return scale * elu(x, alpha)


def gelu(x, approximate=True):
    """x times the normal distribution's cumulative function at x.

    Args:
      x: array.
      approximate: use tanh, which is faster and close.
    """
    (x,) = promote_args_inexact("gelu", x)
    if approximate:
        scale = np.sqrt(2 / np.pi).astype(x.dtype)
        return x * (0.5 * (1.0 + jnp.tanh(scale * (x + 0.044715 * (x**3)))))
    sqrt_half = np.sqrt(0.5).astype(x.dtype)
    return jnp.array(0.5 * x * lax.erfc(-x * sqrt_half), dtype=x.dtype)


@custom_jvp
@subprogram
def log1mexp(x):
    """log(1 - exp(-x)), for x > 0, exact for small and for large x."""
    x = ensure_arraylike("log1mexp", x)
    c = jnp.log(2.0)
    return jnp.where(x < c, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


log1mexp.defjvps(lambda g, ans, x: g / jnp.expm1(x))

# ---- algebraic ----------------------------------------------------------------------------------


@subprogram
def identity(x):
    """x."""
    return ensure_arraylike("identity", x)


@subprogram
def soft_sign(x):
    """x / (abs(x) + 1)."""
    x = ensure_arraylike("soft_sign", x)
    return x / (jnp.abs(x) + 1)


@subprogram
def squareplus(x, b=4):
    """(x + sqrt(x**2 + b)) / 2."""
    x, b = ensure_arraylike("squareplus", x, b)
    y = x + jnp.sqrt(jnp.square(x) + b)
    return y / 2


@subprogram
def sparse_plus(x):
    """0 up to -1, x from 1 on, and a parabola between."""
    x = ensure_arraylike("sparse_plus", x)
    low, high = x <= -1.0, x >= 1.0
    return jnp.where(low, 0.0, jnp.where(high, x, (x + 1.0) ** 2 / 4))


@subprogram
def sparse_sigmoid(x):
    """0 up to -1, 1 from 1 on, and a line between."""
    return 0.5 * jnp.clip(x + 1.0, 0.0, 2.0)


@subprogram(static_argnames=("axis",))
def glu(x, axis=-1):
    """The first half of an axis times the sigmoid of the second half."""
    x = ensure_arraylike("glu", x)
    if x.shape[axis] % 2:
        raise ValueError(f"axis size must be divisible by 2, got {x.shape[axis]}")
    x1, x2 = jnp.split(x, 2, axis)
    return x1 * sigmoid(x2)
