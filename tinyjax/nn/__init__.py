"""The names of jax.nn: activation functions, softmax, attention, initializers."""

from tinyjax.lazy import lazy_imports as _lazy_imports

with _lazy_imports(globals()):
    from tinyjax.nn import initializers
    from tinyjax.nn.activations import (
        celu,
        elu,
        gelu,
        glu,
        hard_sigmoid,
        hard_silu,
        hard_swish,
        hard_tanh,
        identity,
        leaky_relu,
        log1mexp,
        log_sigmoid,
        mish,
        relu,
        relu6,
        selu,
        sigmoid,
        silu,
        soft_sign,
        softplus,
        sparse_plus,
        sparse_sigmoid,
        squareplus,
        swish,
    )
    from tinyjax.nn.attention import dot_product_attention
    from tinyjax.nn.normalizing import (
        log_softmax,
        logmeanexp,
        logsumexp,
        one_hot,
        softmax,
        standardize,
    )
    from tinyjax.numpy import tanh

__all__ = [
    "celu",
    "dot_product_attention",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "initializers",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "one_hot",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]
