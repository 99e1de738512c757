"""Calling back into Python from programs: pure_callback, io_callback, and what debug prints with.

A callback is a primitive whose implementation is the user's function, so a compiled program calls
it like any operation that it does not know as a kernel. A callback with effects is never dropped,
shared or moved out of a loop (`JaxprEqn.effectful`).
"""

import dataclasses
import traceback
from collections.abc import Callable

import numpy as np

from tinyjax import dtypes
from tinyjax.array import Array, lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive
from tinyjax.errors import JaxRuntimeError
from tinyjax.primitives.linear import broadcast, moveaxis
from tinyjax.primitives.slicing import index_in_dim
from tinyjax.tracebacks import boundary, shorten
from tinyjax.transforms.scan import scan
from tinyjax.tree_util import PyTreeDef, tree_flatten, tree_leaves, tree_map, tree_unflatten

# ---- debugging callbacks: no results, any number of times ----------------------------------------


class DebugEffect:
    """What a debugging callback does, as jaxprs print it."""

    def __str__(self):
        return "Debug"


class OrderedDebugEffect:
    """The same, in the order of the program. (Here every effect is in the order of the program.)"""

    def __str__(self):
        return "OrderedDebug"


class DebugCallback(Primitive):
    """A callback without results: it sees primal values, once per element of a batch."""

    multi = high = effectful = on_host = True

    def impl(self, *args, callback, **_):
        callback(*args)
        return []

    def type(self, *avals, **_):
        return []

    def linearize(self, nz, *primals, **params):
        self.bind(*primals, **params)
        return [], lambda *tangents: []

    def linear_part(self, own, *at_zero, **params):
        """Tangents have no values yet: the linear program calls back when it runs forwards."""

        def push(*tangents):
            args = [t if o else x for t, x, o in zip(tangents, at_zero, own)]
            self.bind(*args, **params)
            return []

        return [], push

    def transpose(self, cts, *args, **_):
        return [None] * len(args)

    def batch(self, axis, vals, dims, /, **params):
        for i in range(axis.size):
            self.bind(*[element(v, d, i) for v, d in zip(vals, dims)], **params)
        return [], []


def element(val, dim, i):
    """Element i of a batch."""
    return val if dim is None else index_in_dim(val, i, dim, keepdims=False)


debug_callback_p = DebugCallback("debug_callback")

# ---- callbacks with results ----------------------------------------------------------------------

VMAP_METHODS = [
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
    None,
]


@dataclasses.dataclass(frozen=True)
class _FlatCallback:
    """The user's function on leaves; equal for the same function and structure of arguments."""

    callback_func: Callable
    in_tree: PyTreeDef

    def __call__(self, *leaves):
        args, kwargs = tree_unflatten(self.in_tree, leaves)
        return tree_leaves(self.callback_func(*args, **kwargs))


def call_back(callback, args, avals):
    """The results of a callback, which must be what was announced; JaxRuntimeError if not."""
    try:
        outs = [np.asarray(out) for out in callback(*args)]
    except Exception as error:
        shorten(error, noted=False)
        raise JaxRuntimeError(
            "INTERNAL: CpuCallback error calling callback: " + traceback.format_exc()
        ) from error
    if len(outs) != len(avals):
        raise JaxRuntimeError(
            "Mismatched number of outputs from callback. "
            f"Expected: {len(avals)}, Actual: {len(outs)}"
        )
    outs = [out.astype(dtypes.canonicalize_dtype(out.dtype)) for out in outs]
    for i, (out, aval) in enumerate(zip(outs, avals)):
        for what in ("shape", "dtype"):
            if getattr(out, what) != getattr(aval, what):
                raise JaxRuntimeError(
                    f"Incorrect output {what} for return value #{i}: "
                    f"Expected: {getattr(aval, what)}, Actual: {getattr(out, what)}"
                )
    return [Array(out) for out in outs]


class Callback(Primitive):
    """pure_callback and io_callback: result_avals says what the function returns."""

    multi = high = on_host = True
    kind = "Pure"
    advice = " Please use `jax.custom_jvp` to use callbacks while taking gradients."

    def impl(self, *args, callback, result_avals, **_):
        return call_back(callback, args, result_avals)

    def type(self, *avals, result_avals, **_):
        return list(result_avals)

    def linearize(self, nz, *primals, **params):
        raise ValueError(f"{self.kind} callbacks do not support JVP.{self.advice}")

    def one_by_one(self, vals, dims, params, unroll=1):
        """Call back for each element of a batch, in a scan."""
        mapped = [v for v, d in zip(vals, dims) if d is not None]

        def step(_, rows):
            rows = iter(rows)
            args = [v if d is None else next(rows) for v, d in zip(vals, dims)]
            return (), self.bind(*args, **params)

        outs = scan(step, (), mapped, unroll=unroll)[1]
        return outs, [0] * len(outs)


class PureCallback(Callback):
    """pure_callback[callback result_avals sharding vmap_method] *operands."""

    def batch(self, axis, vals, dims, /, *, result_avals, vmap_method, **params):
        vals = [v if d is None else moveaxis(v, d, 0) for v, d in zip(vals, dims)]
        params |= {"vmap_method": vmap_method}
        if vmap_method in ("sequential", "sequential_unrolled"):
            params |= {"result_avals": result_avals}
            unroll = axis.size if vmap_method == "sequential_unrolled" else 1
            return self.one_by_one(vals, dims, params, unroll)
        if vmap_method is None:
            raise NotImplementedError(
                "vmap is only supported for the pure_callback primitive when vmap_method is one "
                "of 'sequential', 'sequential_unrolled', 'expand_dims', 'broadcast_all', or "
                "'legacy_vectorized'. Got vmap_method=None."
            )
        if vmap_method != "legacy_vectorized":
            size = axis.size if vmap_method == "broadcast_all" else 1
            vals = [broadcast(v, (size,)) if d is None else v for v, d in zip(vals, dims)]
        avals = tuple(ShapedArray((axis.size, *a.shape), a.dtype) for a in result_avals)
        return self.bind(*vals, result_avals=avals, **params), [0] * len(avals)


class IOCallback(Callback):
    """io_callback[callback ordered result_avals sharding] *operands."""

    effectful = True
    kind, advice = "IO", ""

    def batch(self, axis, vals, dims, /, *, ordered, **params):
        if ordered:
            raise ValueError("Cannot `vmap` ordered IO callback.")
        vals = [v if d is None else moveaxis(v, d, 0) for v, d in zip(vals, dims)]
        return self.one_by_one(vals, dims, params | {"ordered": False})


pure_callback_p, io_callback_p = PureCallback("pure_callback"), IOCallback("io_callback")


def result_aval(x):
    """The type that a ShapeDtypeStruct, an array or a number announces."""
    if not hasattr(x, "shape") or not hasattr(x, "dtype"):
        x = lift(x)
    dtype = np.dtype(x.dtype) if not dtypes.issubdtype(x.dtype, dtypes.extended) else x.dtype
    if dtypes.canonicalize_dtype(dtype) != dtype:
        raise ValueError(
            "result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled"
        )
    return ShapedArray(x.shape, dtype)


def bind_callback(prim, callback, result_shape_dtypes, args, kwargs, **params):
    """Bind one of the two primitives -> the pytree of its results."""
    leaves, in_tree = tree_flatten((args, kwargs))
    avals, out_tree = tree_flatten(tree_map(result_aval, result_shape_dtypes))
    params |= {"callback": _FlatCallback(callback, in_tree), "result_avals": tuple(avals)}
    return tree_unflatten(out_tree, prim.bind(*map(lift, leaves), **params))


@boundary
def pure_callback(callback, result_shape_dtypes, *args, sharding=None, vmap_method=None, **kwargs):
    """Call a Python function without side effects from a traced or compiled function.

    Args:
      callback: gets the arguments as Arrays; returns arrays as announced.
      result_shape_dtypes: pytree of what has a shape and a dtype (ShapeDtypeStruct): the results.
      args, kwargs: arrays and pytrees of them.
      sharding: accepted as JAX's; there is one device.
      vmap_method: what happens to a batch. "sequential" and "sequential_unrolled" call back for
        each element; the others call back once: "expand_dims" gives unmapped arguments a first axis
        of size 1, "broadcast_all" repeats them, "legacy_vectorized" leaves them.

    The call may be repeated, or left out where nobody needs its results.
    Raises JaxRuntimeError if the callback fails or returns something else than announced,
    ValueError for a derivative, NotImplementedError under vmap without a vmap_method.

    >>> import numpy as np, tinyjax as jax
    >>> @jax.jit
    ... def f(x):
    ...     return jax.pure_callback(np.sinc, jax.ShapeDtypeStruct((), np.float32), x)
    >>> print(f(0.5))
    0.63661975
    """
    if vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be on of the allowed methods {VMAP_METHODS}, but got: {vmap_method}"
        )
    params = {"sharding": sharding, "vmap_method": vmap_method}
    return bind_callback(pure_callback_p, callback, result_shape_dtypes, args, kwargs, **params)


@boundary
def io_callback(callback, result_shape_dtypes, *args, sharding=None, ordered=False, **kwargs):
    """Call a Python function with side effects, exactly as often as the program says.

    Args:
      callback: gets the arguments as Arrays; returns arrays as announced.
      result_shape_dtypes: pytree of what has a shape and a dtype; None for no result.
      args, kwargs: arrays and pytrees of them.
      sharding: accepted as JAX's; there is one device.
      ordered: calls stay in the order of the program (they do anyway), and cannot be batched.

    Raises JaxRuntimeError if the callback fails or returns something else than announced,
    ValueError for a derivative, or for vmap of an ordered callback.

    >>> import numpy as np, tinyjax as jax
    >>> from tinyjax.experimental import io_callback
    >>> log = []
    >>> jax.jit(lambda x: io_callback(log.append, None, x))(1.5)
    >>> float(log[0])
    1.5
    """
    params = {"sharding": sharding, "ordered": ordered}
    return bind_callback(io_callback_p, callback, result_shape_dtypes, args, kwargs, **params)
