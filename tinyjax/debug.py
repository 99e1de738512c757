"""Looking into traced and compiled functions: print, callback, log, breakpoint.

jax.debug.print("x is {x}", x=x)      at run time, with the value
print(x)                              while tracing, with the tracer
"""

import builtins
import functools
import logging
import string
import sys

import numpy as np

from tinyjax.array import is_arraylike, lift
from tinyjax.callbacks import (
    DebugCallback,
    DebugEffect,
    OrderedDebugEffect,
    debug_callback_p,
    io_callback,
)
from tinyjax.debugger import breakpoint_callback
from tinyjax.drawing import draw_sharding
from tinyjax.lax import stop_gradient
from tinyjax.placement import sharding_of
from tinyjax.tree_util import tree_flatten, tree_map, tree_unflatten

logger = logging.getLogger("tinyjax.debug")
debug_effect, ordered_debug_effect = DebugEffect(), OrderedDebugEffect()

# ---- arguments -----------------------------------------------------------------------------------


def split_args(args, kwargs):
    """-> structure, arrays, and the other leaves (strings and so on) by their place."""
    leaves, tree = tree_flatten((args, kwargs))
    arrays = [lift(x) for x in leaves if is_arraylike(x)]
    static = tuple((i, x) for i, x in enumerate(leaves) if not is_arraylike(x))
    return tree, arrays, static


def merge_args(tree, arrays, static):
    """-> args, kwargs."""
    others, it = dict(static), iter(arrays)
    count = len(others) + len(arrays)
    return tree_unflatten(tree, [others[i] if i in others else next(it) for i in range(count)])


# ---- print ---------------------------------------------------------------------------------------


class DebugPrint(DebugCallback):
    """debug_print[fmt ...] *operands: its parameters are JAX's."""

    def impl(self, *args, fmt, in_tree, static_args, np_printoptions, **params):
        args, kwargs = merge_args(in_tree, args, static_args)
        if params["has_placeholders"]:
            with np.printoptions(**dict(np_printoptions)):
                text = fmt.format(*args, **kwargs)
        else:
            text = " ".join([fmt, *map(str, args)])
        if params["logging_record"] is None:
            sys.stdout.write(text + "\n")
        else:
            logger.info(text)
        return []


debug_print_p = DebugPrint("debug_print")


class FormatChecker(string.Formatter):
    """Finds missing and unused arguments without formatting anything."""

    def format_field(self, value, format_spec):
        return ""

    def convert_field(self, value, conversion):
        return value

    def check_unused_args(self, used_args, args, kwargs):
        unused = [x for i, x in enumerate(args) if i not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `jax.debug.print`: {unused}")
        unused = [k for k in kwargs if k not in used_args]
        if unused:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {unused}. You may be passing an "
                'f-string (i.e, `f"{x}"`) into `jax.debug.print` and instead should pass in a '
                "regular string."
            )


def print(
    fmt=None,
    *args,
    ordered=False,
    partitioned=False,
    skip_format_check=False,
    _use_logging=False,
    **kwargs,
):
    """Print values when the program runs, also inside jit, vmap, grad and loops.

    Args:
      fmt: a format string as of str.format: "x = {x}, sum = {}". Not an f-string, which would print
        tracers.
      args, kwargs: what is formatted: arrays, pytrees of them, or anything else.
      ordered: keep the order of the program (it is kept anyway).
      partitioned: accepted as JAX's; there is one device.
      skip_format_check: do not look for missing and unused arguments now.

    Without fmt it returns a function of the other arguments: debug.print(ordered=True)("{}", x).
    Raises KeyError or IndexError for a placeholder without argument, ValueError for an argument
    without placeholder.

    >>> import tinyjax as jax
    >>> @jax.jit
    ... def f(x):
    ...     jax.debug.print("x = {x}, twice that: {:.1f}", 2 * x, x=x)
    ...     return x
    >>> y = f(1.5)
    x = 1.5, twice that: 3.0
    """

    def debug_print(fmt, *args, **kwargs):
        if not skip_format_check:
            FormatChecker().format(fmt, *args, **kwargs)
        pieces = builtins.list(string.Formatter().parse(fmt))
        in_tree, arrays, static_args = split_args(args, kwargs)
        debug_print_p.bind(
            *arrays,
            fmt=fmt,
            ordered=ordered,
            partitioned=partitioned,
            in_tree=in_tree,
            static_args=static_args,
            np_printoptions=tuple(np.get_printoptions().items()),
            has_placeholders=any(name is not None for _, name, _, _ in pieces),
            logging_record="INFO" if _use_logging else None,
        )

    return one_or_two_calls(debug_print, "debug_print", fmt, args, kwargs)


def one_or_two_calls(function, name, first, args, kwargs):
    """debug.print(fmt, x), or debug.print()(fmt, x)."""
    if first is not None:
        return function(first, *args, **kwargs)
    if args or kwargs:
        raise TypeError(
            f"{name} received unexpected arguments in the two-call form: args={args} "
            f"kwargs={kwargs}"
        )
    return function


log = functools.partial(print, _use_logging=True)

# ---- callback ------------------------------------------------------------------------------------


class FlatCallback:
    """The user's function on arrays; all else is bound. Jaxprs show what JAX has in its place."""

    def __init__(self, callback, in_tree, static_args):
        self.callback, self.in_tree, self.static_args = callback, in_tree, static_args

    def __call__(self, *arrays):
        args, kwargs = merge_args(self.in_tree, arrays, self.static_args)
        self.callback(*args, **kwargs)

    def __repr__(self):
        where = "debug_callback.<locals>._debug_callback.<locals>._flat_callback"
        return f"<function {where} at {id(self):#014x}>"


def callback(callback=None, *args, ordered=False, partitioned=False, **kwargs):
    """Call a Python function with values when the program runs; its result is ignored.

    Args:
      callback: function of the other arguments, whose arrays have values when it is called.
      args, kwargs: arrays, pytrees of them, or anything else.
      ordered, partitioned: accepted as JAX's; calls come in the order of the program.

    A derivative calls it with the primal values, vmap once per element. Without callback it returns
    a function of the other arguments.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> seen = []
    >>> @jax.jit
    ... def f(x):
    ...     jax.debug.callback(lambda y: seen.append(float(y)), x.sum())
    ...     return x
    >>> y = f(jnp.arange(3.0))
    >>> seen
    [3.0]
    """

    def debug_callback(callback, *args, **kwargs):
        if not callable(callback):
            raise TypeError(f"first argument to debug_callback must be callable, got {callback!r}")
        in_tree, arrays, static_args = split_args(args, kwargs)
        debug_callback_p.bind(
            *arrays,
            callback=FlatCallback(callback, in_tree, static_args),
            effect=ordered_debug_effect if ordered else debug_effect,
            partitioned=partitioned,
        )

    return one_or_two_calls(debug_callback, "debug_callback", callback, args, kwargs)


# ---- breakpoint ----------------------------------------------------------------------------------


def breakpoint(
    *, backend=None, filter_frames=True, num_frames=None, ordered=False, token=None, **kwargs
):
    """Stop when the program runs to this point, and look at the values around.

    Args:
      backend: accepted as JAX's; the debugger reads commands from the terminal (`h` lists them).
      filter_frames: leave out the frames of the machinery.
      num_frames: how many frames to keep.
      ordered: keep the order of the program (it is kept anyway).
      token: an array to stop for, when its value is known; it is returned.
      kwargs: `stdin` and `stdout` of the debugger.
    """
    if token is not None and ordered:
        raise ValueError("`ordered` and `token` are mutually exclusive arguments.")
    stop, values = breakpoint_callback(sys._getframe(1), filter_frames, num_frames, kwargs)
    if token is None:
        return callback(stop, values, ordered=ordered)

    def pass_on(token, values):
        stop(values)
        return token

    token, values = (
        tree_map(stop_gradient, token),
        [
            {name: stop_gradient(x) if is_arraylike(x) else x for name, x in frame.items()}
            for frame in values
        ],
    )
    return io_callback(pass_on, token, token, values)  # where it is called, and always


# ---- sharding ------------------------------------------------------------------------------------


class InspectSharding(DebugCallback):
    """inspect_sharding[callback] x: call back with the sharding of a value when it is known."""

    def impl(self, x, *, callback):
        callback(sharding_of(x))
        return []

    def batch(self, axis, vals, dims, /, *, callback):
        return self.bind(*vals, callback=callback), []


inspect_sharding_p = InspectSharding("inspect_sharding")


def inspect_array_sharding(value, *, callback):
    """Call back with the sharding of each array of a pytree: where its data are.

    In a jitted function it calls back when the function runs; all values are on one device there.

    >>> import tinyjax as jax
    >>> inspect_array_sharding(jax.numpy.zeros(2), callback=builtins.print)
    SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """
    tree_map(lambda x: inspect_sharding_p.bind(lift(x), callback=callback), value)


def visualize_sharding(
    shape, sharding, *, use_color=True, scale=1.0, min_width=9, max_width=80, color_map=None
):
    """Draw which device holds which part of an array of one or two dimensions.

    Args:
      shape: the shape of the array.
      sharding: any sharding, such as `x.sharding`.
      scale: 1 for a picture of about ten lines.
      min_width, max_width: bounds for the width of a box, and of the picture.
      use_color, color_map: accepted as JAX's; the picture is text.

    >>> import tinyjax as jax
    >>> mesh = jax.make_mesh((2, 2), ("x", "y"))
    >>> visualize_sharding((8,), jax.NamedSharding(mesh, jax.P("x")))
    ┌───────┬───────┐
    │CPU 0,1│CPU 2,3│
    └───────┴───────┘
    """
    if len(shape) not in (1, 2):
        raise ValueError("`visualize_sharding` only works for shapes with 1 and 2 dimensions.")
    builtins.print(draw_sharding(shape, sharding, scale, min_width, max_width))


def visualize_array_sharding(arr, **kwargs):
    """Draw which device holds which part of an array; see visualize_sharding."""

    def draw(sharding):
        visualize_sharding(arr.shape, sharding, **kwargs)

    inspect_array_sharding(arr, callback=draw)


__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]
