"""Neural networks as pairs of functions.

A layer is `(init_fun, apply_fun)`:

    output_shape, params = init_fun(key, input_shape)
    outputs = apply_fun(params, inputs, rng=key)        rng: only where the layer is random

`serial` and `parallel` make layers of layers.
"""

import functools
import math

from tinyjax import lax, random
from tinyjax import numpy as jnp
from tinyjax.nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from tinyjax.nn.initializers import glorot_normal, normal, ones, zeros

# What weights and biases start with.
WEIGHTS, BIASES, SMALL_BIASES = glorot_normal(), normal(), normal(1e-6)
glorot, randn, logsoftmax = glorot_normal, normal, log_softmax

# ---- layers with parameters ----------------------------------------------------------------------


def Dense(out_dim, W_init=WEIGHTS, b_init=BIASES):
    """A fully connected layer: inputs @ W + b.

    >>> import tinyjax as jax
    >>> init, apply = Dense(3)
    >>> shape, (W, b) = init(jax.random.key(0), (-1, 2))
    >>> shape, W.shape, b.shape
    ((-1, 3), (2, 3), (3,))
    """

    def init_fun(rng, input_shape):
        k1, k2 = random.split(rng)
        W, b = W_init(k1, (input_shape[-1], out_dim)), b_init(k2, (out_dim,))
        return input_shape[:-1] + (out_dim,), (W, b)

    def apply_fun(params, inputs, **kwargs):
        W, b = params
        return jnp.dot(inputs, W) + b

    return init_fun, apply_fun


def convolution(conv, shape_of, dimension_numbers, out_chan, filter_shape, W_init, b_init):
    """What both convolution layers share: a kernel, and a bias per channel."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    W_init = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init_fun(rng, input_shape):
        sizes = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
        kernel_shape = [channels[c] if c in channels else next(sizes) for c in rhs_spec]
        bias_shape = [out_chan if c == "C" else 1 for c in out_spec]
        k1, k2 = random.split(rng)
        params = W_init(k1, kernel_shape), b_init(k2, bias_shape)
        return shape_of(input_shape, kernel_shape), params

    def apply_fun(params, inputs, **kwargs):
        W, b = params
        return conv(inputs, W) + b

    return init_fun, apply_fun


def GeneralConv(
    dimension_numbers,
    out_chan,
    filter_shape,
    strides=None,
    padding="VALID",
    W_init=None,
    b_init=SMALL_BIASES,
):
    """A convolution layer; the arguments are those of lax.conv_general_dilated."""
    one = (1,) * len(filter_shape)
    strides = strides or one

    def conv(inputs, W):
        return lax.conv_general_dilated(
            inputs, W, strides, padding, one, one, dimension_numbers=dimension_numbers
        )

    def shape_of(inputs, kernel):
        return lax.conv_general_shape_tuple(inputs, kernel, strides, padding, dimension_numbers)

    return convolution(conv, shape_of, dimension_numbers, out_chan, filter_shape, W_init, b_init)


def GeneralConvTranspose(
    dimension_numbers,
    out_chan,
    filter_shape,
    strides=None,
    padding="VALID",
    W_init=None,
    b_init=SMALL_BIASES,
):
    """A transposed convolution layer; the arguments are those of lax.conv_transpose."""
    strides = strides or (1,) * len(filter_shape)

    def conv(inputs, W):
        return lax.conv_transpose(inputs, W, strides, padding, dimension_numbers=dimension_numbers)

    def shape_of(inputs, kernel):
        return lax.conv_transpose_shape_tuple(inputs, kernel, strides, padding, dimension_numbers)

    return convolution(conv, shape_of, dimension_numbers, out_chan, filter_shape, W_init, b_init)


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(
    axis=(0, 1, 2), epsilon=1e-5, center=True, scale=True, beta_init=zeros, gamma_init=ones
):
    """Normalize over the given axes, then multiply by gamma (scale) and add beta (center)."""
    axis = (axis,) if jnp.isscalar(axis) else axis

    def init_fun(rng, input_shape):
        shape = tuple(d for i, d in enumerate(input_shape) if i not in axis)
        k1, k2 = random.split(rng)
        beta = beta_init(k1, shape) if center else ()
        gamma = gamma_init(k2, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params, x, **kwargs):
        beta, gamma = params
        spread = tuple(None if i in axis else slice(None) for i in range(jnp.ndim(x)))
        z = standardize(x, axis, epsilon=epsilon)
        z = gamma[spread] * z if scale else z
        return z + beta[spread] if center else z

    return init_fun, apply_fun


# ---- layers without parameters -------------------------------------------------------------------


def elementwise(fun, **fun_kwargs):
    """A layer that applies a function to each element."""

    def init_fun(rng, input_shape):
        return input_shape, ()

    def apply_fun(params, inputs, **kwargs):
        return fun(inputs, **fun_kwargs)

    return init_fun, apply_fun


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)
Identity = elementwise(lambda x: x)


def pooling(reducer, init_val, mean=False):
    """-> a function that makes layers which reduce windows; mean: divide by the window's size."""

    def PoolingLayer(window_shape, strides=None, padding="VALID", spec=None):
        """A pooling layer over windows of a shape. spec: names of the axes, such as "NHWC"."""
        spec = spec or "N" + "x" * len(window_shape) + "C"
        outer = sorted((spec.index("N"), spec.index("C")))
        strides = strides or (1,) * len(window_shape)
        inner = window_shape, strides
        for i in outer:
            window_shape = (*window_shape[:i], 1, *window_shape[i:])
            strides = (*strides[:i], 1, *strides[i:])

        def init_fun(rng, input_shape):
            pads = lax.padtype_to_pads(input_shape, window_shape, strides, padding)
            one = (1,) * len(window_shape)
            shape = lax.reduce_window_shape_tuple(
                input_shape, window_shape, strides, pads, one, one
            )
            return shape, ()

        def apply_fun(params, inputs, **kwargs):
            out = lax.reduce_window(inputs, init_val, reducer, window_shape, strides, padding)
            if not mean:
                return out
            shape = tuple(n for i, n in enumerate(inputs.shape) if i not in outer)
            counts = jnp.ones(shape, dtype=inputs.dtype)
            counts = lax.reduce_window(counts, 0.0, lax.add, *inner, padding)
            return out / jnp.expand_dims(counts, outer)

        return init_fun, apply_fun

    return PoolingLayer


MaxPool = pooling(lax.max, -jnp.inf)
SumPool = pooling(lax.add, 0.0)
AvgPool = pooling(lax.add, 0.0, mean=True)


def _flatten():
    """A layer that makes one axis of all but the first."""

    def init_fun(rng, input_shape):
        return (input_shape[0], math.prod(input_shape[1:])), ()

    def apply_fun(params, inputs, **kwargs):
        return jnp.reshape(inputs, (inputs.shape[0], -1))

    return init_fun, apply_fun


Flatten = _flatten()


def Dropout(rate, mode="train"):
    """A layer that keeps elements with probability `rate` and scales these up (mode "train")."""

    def init_fun(rng, input_shape):
        return input_shape, ()

    def apply_fun(params, inputs, **kwargs):
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError(
                "Dropout layer requires apply_fun to be called with a PRNG key argument. That is, "
                "instead of `apply_fun(params, inputs)`, call it like `apply_fun(params, inputs, "
                "rng)` where `rng` is a PRNG key (e.g. from `jax.random.key`)."
            )
        if mode != "train":
            return inputs
        keep = random.bernoulli(rng, rate, inputs.shape)
        return jnp.where(keep, inputs / rate, 0)

    return init_fun, apply_fun


# ---- several inputs or outputs -------------------------------------------------------------------


def FanOut(num):
    """A layer that repeats its input, as a list."""

    def init_fun(rng, input_shape):
        return [input_shape] * num, ()

    def apply_fun(params, inputs, **kwargs):
        return [inputs] * num

    return init_fun, apply_fun


def _fan_in_sum():
    """A layer that adds up a list of inputs."""

    def init_fun(rng, input_shape):
        return input_shape[0], ()

    def apply_fun(params, inputs, **kwargs):
        return sum(inputs)

    return init_fun, apply_fun


FanInSum = _fan_in_sum()


def FanInConcat(axis=-1):
    """A layer that joins a list of inputs along an axis."""

    def init_fun(rng, input_shape):
        first = input_shape[0]
        ax = axis % len(first)
        size = sum(shape[ax] for shape in input_shape)
        return first[:ax] + (size,) + first[ax + 1 :], ()

    def apply_fun(params, inputs, **kwargs):
        return jnp.concatenate(inputs, axis)

    return init_fun, apply_fun


# ---- layers of layers ----------------------------------------------------------------------------


def keys_for(kwargs, count):
    """One key per layer, from the keyword argument rng; None for each if there is none."""
    rng = kwargs.pop("rng", None)
    return random.split(rng, count) if rng is not None else (None,) * count


def serial(*layers):
    """One layer after the other; its parameters are a list.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> init, apply = serial(Dense(4), Relu, Dense(1))
    >>> shape, params = init(jax.random.key(0), (5, 2))
    >>> shape, apply(params, jnp.ones((5, 2))).shape
    ((5, 1), (5, 1))
    """
    init_funs, apply_funs = zip(*layers)

    def init_fun(rng, input_shape):
        params = []
        for init in init_funs:
            rng, layer_rng = random.split(rng)
            input_shape, param = init(layer_rng, input_shape)
            params.append(param)
        return input_shape, params

    def apply_fun(params, inputs, **kwargs):
        rngs = keys_for(kwargs, len(layers))
        for apply, param, rng in zip(apply_funs, params, rngs):
            inputs = apply(param, inputs, rng=rng, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers):
    """Layers side by side: the i-th one for the i-th of a list of inputs."""
    init_funs, apply_funs = zip(*layers)

    def init_fun(rng, input_shape):
        rngs = random.split(rng, len(layers))
        return zip(*[init(k, shape) for init, k, shape in zip(init_funs, rngs, input_shape)])

    def apply_fun(params, inputs, **kwargs):
        rngs = keys_for(kwargs, len(layers))
        parts = zip(apply_funs, params, inputs, rngs)
        return [apply(p, x, rng=rng, **kwargs) for apply, p, x, rng in parts]

    return init_fun, apply_fun


def shape_dependent(make_layer):
    """A layer that make_layer makes when the shape of its input is known."""

    def init_fun(rng, input_shape):
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params, inputs, **kwargs):
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init_fun, apply_fun
