"""The calls inside of a call: which arguments reach the function inside of each transformation.

Arguments are pytrees of types (ShapedArray) for what is traced; any other leaf is a constant.
"""

import functools
from typing import Any, NamedTuple

from tinyjax.array import is_arraylike
from tinyjax.avals import ShapedArray
from tinyjax.core import Tracer
from tinyjax.explaining.stack import AT_ONCE, TRANSFORMS, unbound
from tinyjax.transforms.axis_env import axis_env, named_axes
from tinyjax.transforms.flat import Layer, arg_names, fun_name, layer_of, lift_output
from tinyjax.transforms.jit import JitFunction
from tinyjax.transforms.stage import closed, stage
from tinyjax.transforms.staged import as_aval
from tinyjax.tree_util import tree_flatten, tree_leaves, tree_map, tree_unflatten
from tinyjax.util import spread, take


class Level(NamedTuple):
    """A call of one of the functions, from the outermost to the one inside of all."""

    fun: Any
    layer: Layer | None  # None: nothing transforms it
    args: tuple
    kwargs: dict
    axes: tuple  # named axes in scope, innermost first

    @property
    def name(self):
        """The name of the function inside."""
        return fun_name(self.fun)

    @property
    def leaves(self):
        """The leaves of the arguments."""
        return tree_leaves((self.args, self.kwargs))

    @property
    def names(self):
        """What they are called."""
        names = arg_names(self.fun, self.args, self.kwargs)
        return names if len(names) == len(self.leaves) else [f"#{i}" for i in range(len(names))]

    def program(self):
        """The jaxpr of this call."""
        return traced(self.fun, self)[0]


def traced(fun, level):
    """-> the jaxpr of a function for the arguments of a level, and the structure of its result."""
    leaves, tree = tree_flatten((level.args, level.kwargs))
    mask = [isinstance(x, ShapedArray) for x in leaves]
    trees = []

    def flat(*values):
        args, kwargs = tree_unflatten(tree, spread(values, mask, lambda i: leaves[i]))
        outs, out_tree = tree_flatten(fun(*args, **kwargs))
        trees.append(out_tree)
        return [lift_output(x, level.name, i) for i, x in enumerate(outs)]

    with named_axes(*reversed(level.axes)):
        names = take(level.names, mask)
        jaxpr = closed(*stage(flat, take(leaves, mask), level.name, names))
    return jaxpr, trees[0]


# ---- from the outside in -------------------------------------------------------------------------


def levels(fun, args, kwargs):
    """The Levels of a call, the outermost first. (The next one may be asked for when the one before
    is known to be free of errors.)"""
    nums, names = static_arguments(fun)
    nums = of_length({0} if takes_function(fun) else nums, len(args))
    args = [a if i in nums else types_of(a) for i, a in enumerate(args)]
    kwargs = {k: v if k in names else types_of(v) for k, v in kwargs.items()}
    return levels_of(*unbound(fun, args, kwargs), ())


def levels_of(fun, args, kwargs, axes):
    """The same, for arguments of which what is traced has become types."""
    while True:
        layer = layer_of(fun)
        if args and takes_function(fun):
            fun, layer, args = at_once(fun, *args, **kwargs)
            kwargs = {}
        level = Level(fun, layer, tuple(args), kwargs, axes)
        yield level
        if layer is None:
            return
        args, kwargs, axes = arguments_inside(level)
        fun, args, kwargs = unbound(layer.function, args, kwargs)


def takes_function(fun):
    """Whether it is jvp, linearize or vjp."""
    return any(fun is transform for transform in AT_ONCE)


def at_once(transform, function, *args, **options):
    """jvp, linearize or vjp of a function, as a function of what is left; its Layer; arguments."""
    args += tuple(options.pop(n) for n in ("primals", "tangents") if n in options)

    def call(*args):
        return transform(function, *args, **options)

    call.__name__ = fun_name(function)
    return call, Layer(AT_ONCE[transform], function, options, id(call)), args


def types_of(tree):
    """A pytree with types for what can be traced; all else as it is."""

    def one(x):
        struct = hasattr(x, "shape") and hasattr(x, "dtype")
        return as_aval(x) if is_arraylike(x) or struct else x

    return tree_map(one, tree)


def static_arguments(fun):
    """Positions and names of the arguments that some layer takes as Python values."""
    nums, names, shift = set(), set(), 0
    while True:
        whole, fun = fun, unbound(fun)[0]
        shift += len(unbound(whole)[1])
        layer = layer_of(fun)
        if layer is None:
            return nums, names
        for source in (layer.options, vars(fun) if isinstance(fun, JitFunction) else {}):
            static = source.get("static_argnums") or source.get("static_broadcasted_argnums") or ()
            static = (static,) if isinstance(static, int) else static
            nums |= {n - shift if n >= 0 else n for n in static}
            named = source.get("static_argnames") or ()
            names |= {named} if isinstance(named, str) else set(named)
        fun = layer.function


def of_length(nums, count):
    """Possibly negative positions as ones in [0, count)."""
    return {n % count for n in nums if -count <= n < count}


# ---- a step inwards ------------------------------------------------------------------------------


class Reached(Exception):
    """Raised in the place of a function, once its arguments are known."""


def arguments_inside(level):
    """-> args, kwargs, named axes of the call of the function inside of a level."""
    name = level.layer.transform
    if name in ("vmap", "pmap"):
        return seen_arguments(level)
    if name == "jvp":  # of (function, primals, tangents)
        return level.args[0], {}, level.axes
    return level.args, level.kwargs, level.axes


def seen_arguments(level):
    """What vmap or pmap calls its function with: found by doing so."""

    @functools.wraps(level.layer.function)
    def stand_in(*args, **kwargs):
        type_of = lambda x: x.aval if isinstance(x, Tracer) else x
        raise Reached(*tree_map(type_of, (args, kwargs)), axis_env())

    again = TRANSFORMS[level.layer.transform](stand_in, **level.layer.options)
    try:
        traced(again, level)
    except Reached as reached:
        return reached.args
    raise AssertionError(f"{level.layer.transform} did not call its function")
