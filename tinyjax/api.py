"""The rest of the top level: make_jaxpr, eval_shape, waiting for results."""

from tinyjax.array import Array, is_arraylike, lift
from tinyjax.core import Tracer
from tinyjax.transforms.flat import wraps
from tinyjax.transforms.jit import JitFunction, ShapeDtypeStruct, jit
from tinyjax.transforms.stage import closed
from tinyjax.tree_util import tree_leaves, tree_map


def make_jaxpr(fun, static_argnums=(), return_shape=False):
    """A function that returns the jaxpr of fun for its arguments, instead of running it.

    Args:
      fun: function of arrays and pytrees; other arguments must be static.
      static_argnums: positions of arguments that are Python values.
      return_shape: also return the tree of output shapes.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(0.5)
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b 2.0:f32[] in (c,) }
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}: make_jaxpr takes a function.")
    traced = JitFunction(fun, static_argnums, None, False)

    def make_jaxpr_f(*args, **kwargs):
        found = traced.trace(*args, **kwargs)
        jaxpr = closed(found.jaxpr, found.traced.captured)
        return (jaxpr, found.out_info) if return_shape else jaxpr

    return wraps(fun, make_jaxpr_f)


def eval_shape(fun, *args, **kwargs):
    """Shapes and dtypes of fun's result, without computing it.

    Args:
      fun: a function.
      args, kwargs: arrays, or anything with shape and dtype (such as ShapeDtypeStruct).

    Returns the result's structure with a ShapeDtypeStruct per array.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.eval_shape(jnp.dot, jnp.ones((2, 3)), jnp.ones((3, 4)))
    ShapeDtypeStruct(shape=(2, 4), dtype=float32)
    """
    return jit(fun).eval_shape(*args, **kwargs)


def block_until_ready(x):
    """Wait for every array of a pytree to be computed; returns the pytree."""
    for leaf in tree_leaves(x):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def device_put(x, device=None):
    """A pytree with its numbers and NumPy arrays as Arrays (there is one CPU device)."""

    def put(leaf):
        value = lift(leaf)
        return Array(value.npy, value.weak_type) if isinstance(value, Array) else value

    return tree_map(put, x)


def device_get(x):
    """A pytree with its Arrays as NumPy arrays."""

    def get(leaf):
        if isinstance(leaf, Tracer):
            return leaf.__array__()  # raises, and says why
        return leaf.__array__() if isinstance(leaf, Array) else leaf

    return tree_map(get, x)


def typeof(x):
    """The abstract value (shape, dtype, weak type) of an array or number."""
    if not is_arraylike(x):
        raise TypeError(f"typeof takes an array or a number, got {x!r}")
    return lift(x).aval


__all__ = [
    "ShapeDtypeStruct",
    "block_until_ready",
    "device_get",
    "device_put",
    "eval_shape",
    "make_jaxpr",
    "typeof",
]
