"""The rest of the top level: make_jaxpr, eval_shape, waiting for results."""

import operator

from tinyjax.array import Array, is_arraylike, lift
from tinyjax.autodiff import vjp
from tinyjax.core import Tracer
from tinyjax.dtypes import KeyType
from tinyjax.numpy.index_parsing import Slice
from tinyjax.tracebacks import boundary
from tinyjax.transforms.axis_env import named_axes
from tinyjax.transforms.batching import Axis
from tinyjax.transforms.flat import wraps
from tinyjax.transforms.jit import JitFunction, ShapeDtypeStruct, jit
from tinyjax.tree_util import tree_leaves, tree_map


def make_jaxpr(fun, static_argnums=(), axis_env=None, return_shape=False):
    """A function that returns the jaxpr of fun for its arguments, instead of running it.

    Args:
      fun: function of arrays and pytrees; other arguments must be static.
      static_argnums: positions of arguments that are Python values.
      axis_env: pairs (name, size) of named axes that fun may use.
      return_shape: also return the tree of output shapes.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.make_jaxpr(lambda x: jnp.sin(x) * 2)(0.5)
    { lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b 2.0:f32[] in (c,) }
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}: make_jaxpr takes a function.")
    traced = JitFunction(fun, static_argnums, None, False)

    def make_jaxpr_f(*args, **kwargs):
        with named_axes(*[Axis(size, name) for name, size in axis_env or ()]):
            found = traced.trace(*args, **kwargs)
        jaxpr = found.jaxpr
        return (jaxpr, found.out_info) if return_shape else jaxpr

    return wraps(fun, make_jaxpr_f)


@boundary
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


def copy_to_host_async(x):
    """The pytree as it is: its arrays are in the memory of this machine already."""
    return x


def device_get(x):
    """A pytree with its Arrays as NumPy arrays."""

    def get(leaf):
        if isinstance(leaf, Tracer):
            return leaf.__array__()  # raises, and says why
        keys = isinstance(getattr(leaf, "dtype", None), KeyType)  # NumPy has none
        return leaf.__array__() if isinstance(leaf, Array) and not keys else leaf

    return tree_map(get, x)


def typeof(x):
    """The abstract value (shape, dtype, weak type) of an array or number."""
    if not is_arraylike(x):
        raise TypeError(f"typeof takes an array or a number, got {x!r}")
    return lift(x).aval


def ds(start, size=None, stride=None):
    """The slice of a size from a start, which may be traced: ds(2, 3) is 2:5, ds(n) is :n.

    Args:
      start: an integer; the size, if nothing else is given.
      size: how many elements; it must be known.
      stride: take each stride-th element (of a known start).

    Such a slice stays inside the array: a start that is too large is moved down.

    >>> import tinyjax.numpy as jnp
    >>> jnp.arange(10)[ds(2, 3)]
    Array([2, 3, 4], dtype=int32)
    """
    if start is None:
        return slice(None)
    if size is None:
        start, size = 0, start
    size = operator.index(size)
    if (stride or 1) < 0:
        raise ValueError(f"ds: stride must not be negative, got {stride}")
    if (stride or 1) != 1:
        start = operator.index(start)
        return slice(start, start + size * stride, stride)
    return Slice(start, size)


def fwd_and_bwd(fun, argnums, has_aux=False, jitted=True):
    """The forward and the backward pass of a function, as two functions that are compiled once.

    Args:
      fun: function of arrays and pytrees.
      argnums: which arguments to differentiate by: an int, or a tuple of them.
      has_aux: fun returns (out, aux).
      jitted: return both under jit.

    Returns (fwd, bwd). fwd(*args) returns (out, residuals), or (out, residuals, aux).
    bwd(residuals, ct) returns the cotangents of the chosen arguments: a tuple, or one of them if
    argnums is an int.

    >>> import tinyjax as jax
    >>> fwd, bwd = jax.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    >>> out, residuals = fwd(2.0, 3.0)
    >>> [float(ct) for ct in bwd(residuals, 1.0)]
    [3.0, 2.0]
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}: fwd_and_bwd takes a function.")
    nums = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    nums = tuple(operator.index(n) for n in nums)

    def fwd(*args, **kwargs):
        def of_chosen(*chosen):
            full = list(args)
            for n, x in zip(nums, chosen):
                full[n] = x
            return fun(*full, **kwargs)

        return vjp(of_chosen, *[args[n] for n in nums], has_aux=has_aux)

    def bwd(residuals, ct):
        cts = residuals(ct)
        return cts if isinstance(argnums, (tuple, list)) else cts[0]

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


__all__ = [
    "ShapeDtypeStruct",
    "block_until_ready",
    "copy_to_host_async",
    "device_get",
    "ds",
    "eval_shape",
    "fwd_and_bwd",
    "make_jaxpr",
    "typeof",
]
