"""pmap: a function of single examples runs on many devices at once."""

import math
import os

from tinyjax.array import Array
from tinyjax.config import config, current_flags
from tinyjax.core import EVAL, check_floats, current_trace
from tinyjax.messages import check_backend
from tinyjax.parallel import local, threads
from tinyjax.parallel.engine import advice, num_devices, register
from tinyjax.parallel.executor import executor
from tinyjax.parallel.sharded import ShardedArray, row_aval
from tinyjax.transforms.axis_env import axis_env, named_axes
from tinyjax.transforms.batching import Axis
from tinyjax.transforms.flat import arg_names, flatten_axes, fun_name, lift_args, wraps
from tinyjax.transforms.jit import JitFunction, trace_to_jaxpr
from tinyjax.transforms.mapped_axes import check_axes_type, mapped_size, normal_dims, size_table
from tinyjax.transforms.pmap import pmap_p
from tinyjax.transforms.retraces import Key, Traces, log_miss
from tinyjax.tree_util import tree_flatten, tree_unflatten, treedef_children

# Windows has no memory that processes inherit.
register(local.LocalEngine if os.name == "posix" else threads.ThreadEngine)
PLAIN = {Array, ShardedArray}
UNNAMED = "_internal_pmap_axis_name"  # what JAX calls the axis of a pmap that gives it no name


def pmap(
    fun,
    axis_name=None,
    *,
    in_axes=0,
    out_axes=0,
    static_broadcasted_argnums=(),
    devices=None,
    backend=None,
    axis_size=None,
    donate_argnums=(),
):
    """Map a function over an axis of its arguments, each element on a device of its own.

    Args:
      fun: function of single examples; it is compiled, as by jit.
      axis_name: a name for the axis, for collectives such as lax.psum inside fun.
      in_axes: which axis of each argument to map over, as for vmap; None: every device gets the
        whole argument. Keyword arguments are mapped over their first axis.
      out_axes: where the mapped axis goes in the results; None for results that are the same on
        all devices.
      static_broadcasted_argnums: positions of arguments that are Python values, not arrays.
      devices: which devices to run on, one for each element; the first ones by default.
      axis_size: the size of the axis, needed only when no argument is mapped.
      backend, donate_argnums: accepted as JAX's.

    Returns a function of whole arrays. Its results lie on the devices, and may go into the next
    call of a pmapped function without being moved. It returns before they are computed:
    `block_until_ready()`, printing and computing with them wait.

    Raises ValueError if the mapped axes differ in size, or are longer than there are devices (the
    sizes of pmaps inside one another multiply); DeviceError if a device is lost.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> print(jax.pmap(jnp.add)(jnp.arange(8), jnp.arange(8)))
    [ 0  2  4  6  8 10 12 14]
    >>> share = jax.pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")
    >>> share(jnp.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}: pmap takes a function.")
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    check_axes_type("pmap", in_axes, "in_axes")
    check_axes_type("pmap", out_axes, "out_axes")
    check_backend(backend)
    mapping = Mapping(fun, UNNAMED if axis_name is None else axis_name, in_axes, out_axes)
    mapping.choose(static_broadcasted_argnums, devices, axis_size)

    def pmap_f(*args, **kwargs):
        return mapping(args, kwargs)

    pmap_f.lower = JitFunction(pmap_f, None, None, False).lower
    return wraps(
        fun,
        pmap_f,
        "pmap",
        axis_name=axis_name,
        in_axes=in_axes,
        out_axes=out_axes,
        static_broadcasted_argnums=mapping.static.static_argnums,
        devices=devices,
        axis_size=axis_size,
    )


class Mapping:
    """What pmap was told, and the programs traced so far."""

    def __init__(self, fun, axis_name, in_axes, out_axes):
        self.fun, self.name, self.axis_name = fun, fun_name(fun), axis_name
        self.in_axes, self.out_axes = in_axes, out_axes
        self.traces, self.plain = Traces(), {}

    def choose(self, static, devices, axis_size):
        """The optional choices, checked."""
        static = (static,) if isinstance(static, int) else tuple(static)
        if not all(isinstance(n, int) for n in static):
            raise TypeError(f"pmap static_broadcasted_argnums must be ints, got {static!r}")
        self.static = JitFunction(self.fun, static, None, False)
        if axis_size is not None and not isinstance(axis_size, int):
            raise TypeError(f"pmap axis_size must be an int, got {axis_size!r}")
        try:
            hash(self.axis_name)
        except TypeError:
            raise TypeError(f"pmap axis_name must be hashable, got {self.axis_name!r}") from None
        self.axis_size, self.devices = axis_size, None
        if devices is not None:
            self.devices = tuple(getattr(d, "id", None) for d in devices)
            if None in self.devices:
                raise TypeError(
                    f"pmap devices must be devices, such as jax.devices()[:2], got {devices!r}"
                )
            if not self.devices:
                raise ValueError("'devices' argument to pmap must be non-empty, or None.")
            if len(set(self.devices)) < len(self.devices):
                raise ValueError(f"pmap got a device twice in devices={list(devices)}")

    def __call__(self, args, kwargs):
        key = None
        if current_trace() is EVAL and not kwargs:
            key, leaves = plain_key(args, self.static.static_argnums)
            known = self.plain.get(key)
            if known is not None:  # arrays of known types, and nothing transforms the call
                traced, run = known
                outs = run(leaves)
                return outs[0] if traced.single else tree_unflatten(traced.out_tree, outs)
        traced, params, leaves = self.lookup(args, kwargs)
        jaxpr, captured = traced.jaxpr, traced.captured
        watched = current_flags().debug_key_reuse  # as an operation, for EVAL to look at
        if current_trace() is EVAL and not captured and not watched:
            for x in leaves:
                EVAL.check(x)
            run = executor(jaxpr, tuple(params.items())).run
            outs = run(leaves)
            check_floats(f"pmap({self.name})", outs, leaves, {"jaxpr": jaxpr, **params})
            if key is not None:
                self.plain[key] = traced, run
        else:
            outs = pmap_p.bind(*captured, *leaves, jaxpr=jaxpr, **params)
        return tree_unflatten(traced.out_tree, outs)

    def lookup(self, args, kwargs):
        """-> the traced program, the parameters of its equation, the arguments' leaves."""
        self.check_static(args)
        fun, static, dynamic, kwargs = self.static.split_static(args, kwargs)
        leaves, in_tree = tree_flatten((dynamic, kwargs))
        leaves = lift_args(leaves, self.name, static="pmap(f, static_broadcasted_argnums=...)")
        key = Key(
            in_tree,
            tuple([(x.shape, x.dtype, x.weak_type) for x in leaves]),
            static,
            axis_env() if current_trace() is not EVAL else (),
            config.trace_key(),
            config.num_devices,
        )
        found = self.traces.get(key)
        if found is None:
            if current_flags().explain_retraces:
                log_miss(self, self.traces, arg_names(fun, dynamic, kwargs), key)
            found = self.trace(fun, args, dynamic, kwargs, leaves, in_tree)
            self.traces.add(key, found[0], found, self.fun)
        return *found, leaves

    def check_static(self, args):
        """Static arguments are given by position."""
        nums = self.static.static_argnums
        if nums and max(nums) >= len(args):
            raise ValueError(
                f"pmapped function has static_broadcasted_argnums={nums} but was called with only "
                f"{len(args)} positional argument{'s' if len(args) != 1 else ''}. All static "
                "broadcasted arguments must be passed positionally."
            )

    def trace(self, fun, args, dynamic, kwargs, leaves, in_tree):
        """Trace the function for the parts that a device gets."""
        in_axes = self.in_axes
        if isinstance(in_axes, tuple):
            if len(in_axes) != len(args):
                raise ValueError(
                    "pmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                    f"positional arguments passed to the function, but got len(in_axes)="
                    f"{len(in_axes)}, len(args)={len(args)}"
                )
            nums = {n % len(args) for n in self.static.static_argnums}
            in_axes = tuple(a for i, a in enumerate(in_axes) if i not in nums)
        args_tree, kwargs_tree = treedef_children(in_tree)
        axes = flatten_axes("pmap in_axes", args_tree, in_axes, tupled_args=True)
        axes += [0] * kwargs_tree.num_leaves
        axes = normal_dims("pmap", fun, dynamic, kwargs, leaves, axes)
        size = mapped_size("pmap", fun, dynamic, kwargs, leaves, axes, self.axis_size)
        table = size_table(fun, dynamic, kwargs, leaves, axes)
        if size < 1:
            raise ValueError(
                f"pmap of {self.name} maps an axis of size {size}, but each device needs an "
                f"element:\n{table}"
            )
        self.check_devices(size, table)
        avals = [row_aval(x.aval, a) for x, a in zip(leaves, axes)]
        with named_axes(Axis(size, self.axis_name, devices=True)):
            traced = trace_to_jaxpr(fun, dynamic, kwargs, avals, in_tree, self.name)
        out_axes = flatten_axes("pmap out_axes", traced.out_tree, self.out_axes)
        params = {
            "axis_name": self.axis_name,
            "axis_size": size,
            "devices": self.devices,
            "in_axes": (*[None] * len(traced.captured), *axes),
            "name": self.name,
            "out_axes": tuple(map(self.out_axis, out_axes, traced.jaxpr.out_avals)),
        }
        return traced, params

    def out_axis(self, axis, aval):
        """A possibly negative axis of a result."""
        rank = len(aval.shape) + 1
        if axis is not None and not -rank <= axis < rank:
            raise ValueError(
                f"pmap out_axes {axis} is out of bounds for a result of dimension {rank} (the "
                f"mapped axis included) of {self.name}."
            )
        return axis if axis is None else axis % rank

    def check_devices(self, size, table):
        """There must be a device for each element; those of pmaps around this one count, too."""
        if self.devices is not None and len(self.devices) != size:
            raise ValueError(
                f"pmap of {self.name} maps an axis of size {size}, but devices= names "
                f"{len(self.devices)}:\n{table}\nGive one device for each element."
            )
        outer = [a.size for a in axis_env() if a.devices]
        needed, there = size * math.prod(outer), num_devices()
        if needed <= there:
            return
        product = " x ".join(map(str, [*reversed(outer), size]))
        product = f" ({product}, since pmaps inside one another multiply)" if outer else ""
        raise ValueError(
            f"pmap of {self.name} requires {needed} devices{product}, but only {there} are "
            f"available:\n{table}\nMap over at most {there // math.prod(outer)} elements "
            "(split the axis and use pmap(vmap(f))), or ask for more devices: "
            f"{advice(needed)}."
        )


def plain_key(args, static):
    """-> what tells calls with arrays apart, or None if there is anything else; the arrays.

    static: positions of static arguments. If there are any, only arguments that are arrays count.
    """
    flags = current_flags()
    if flags.debug_nans or flags.debug_infs or flags.debug_key_reuse:
        return None, args
    tree, types = None, array_types(args)
    if types is None and not static:
        args, tree = tree_flatten(args)
        types = array_types(args)
    return types and (tree, flags.trace_key, flags.num_devices, *types), args


def array_types(leaves):
    """What tells arrays apart; None if there is anything else, or nothing."""
    types = [(x.shape, x.dtype, x.weak_type) for x in leaves if type(x) in PLAIN]
    return types if types and len(types) == len(leaves) else None
