"""From functions of pytrees to functions of flat lists, and what a call's arguments are called."""

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import NamedTuple

from tinyjax import tree_util
from tinyjax.array import is_arraylike, lift
from tinyjax.tracebacks import boundary
from tinyjax.transforms.tree_words import compact
from tinyjax.tree_util import broadcast_prefix, prefix_errors, tree_flatten, tree_unflatten


class FlatFun:
    """f on the leaves of its arguments; after a call, out_tree and leaves are its result."""

    def __init__(self, f, in_tree, name=None):
        self.f, self.in_tree, self.out_tree = f, in_tree, None
        self.name = name or fun_name(f)

    def __call__(self, *leaves):
        out = self.f(*tree_unflatten(self.in_tree, leaves))
        self.leaves, self.out_tree = tree_flatten(out)
        return [lift_output(x, self.name, i) for i, x in enumerate(self.leaves)]


def lift_output(x, name, i):
    """An output leaf as a Value; anything else is the user's mistake."""
    if not is_arraylike(x):
        raise TypeError(
            f"function {name} returned a value of type {type(x)} at output leaf {i}, which is not "
            f"a valid JAX type: return arrays or numbers, got {x!r}."
        )
    return lift(x)


def fun_name(f):
    """The name of a function, or of what it wraps."""
    while isinstance(f, functools.partial) and not hasattr(f, "__name__"):
        f = f.func
    return getattr(f, "__name__", type(f).__name__)


def lift_args(leaves, name, what="argument", static="jit(f, static_argnames=...)", names=None):
    """Leaves of arguments as Values; TypeError names the one that is no array.

    names: a function that gives the names of all leaves, which is only asked for a message.
    """
    for i, x in enumerate(leaves):
        if not is_arraylike(x):
            known = names() if names else ()
            which = f"{known[i]}" if len(known) == len(leaves) else f"leaf {i}"
            if which.isidentifier():
                static = static.replace("...", f'"{which}"')
            try:
                shown = repr(x)
            except Exception:  # of a class of the user
                shown = "an object"
            raise TypeError(
                f"Error interpreting {what} to {name}: {which} is {shown} of type {type(x)}, which "
                "is not an array or a number. If it is a string, a function or a setting, make "
                f"the argument static with {static}."
            )
    return list(map(lift, leaves))


def arg_names(f, args, kwargs):
    """A name for every leaf of the arguments, such as "x" or "params['w']"."""
    try:
        bound = inspect.signature(f).bind(*args, **kwargs).arguments
        params = inspect.signature(f).parameters
    except (TypeError, ValueError):
        bound, params = None, {}
    names = []
    if bound is None or any(p.kind == p.VAR_POSITIONAL for p in params.values()):
        tops = [(f"args[{i}]", a) for i, a in enumerate(args)]
    else:
        order = [n for n in params if n in bound and n not in kwargs]
        tops = list(zip(order, args))
    tops += sorted(kwargs.items())
    for top, value in tops:
        paths, _ = tree_util.tree_flatten_with_path(value)
        names += [top + tree_util.keystr(path) for path, _ in paths]
    return names


class Layer(NamedTuple):
    """What a transformed function is made of: the transformation, the function inside, options.

    owner: the id of the transformed function. A decorator that copies attributes, as
    functools.wraps does, makes a function that has this one, too, but is not the owner.
    """

    transform: str
    function: Callable
    options: dict
    owner: int


def layer_of(f):
    """The Layer of a transformed function; None for other things."""
    layer = getattr(f, "__transform__", None)
    return layer if isinstance(layer, Layer) and layer.owner == id(f) else None


def wraps(f, wrapper, transform=None, **options):
    """Give a transformed function the name and docstring of the original, and (if the name of the
    transformation is given) the Layer that tells what it is made of."""
    both = [wrapper]  # with the function inside of the boundary
    if isinstance(wrapper, FunctionType):
        wrapper = boundary(wrapper)
        both.append(wrapper)
    if transform is not None:
        for each in both:
            each.__transform__ = Layer(transform, f, options, id(each))
    wrapper.__name__ = fun_name(f)
    wrapper.__qualname__ = getattr(f, "__qualname__", wrapper.__name__)
    wrapper.__doc__ = getattr(f, "__doc__", None)
    wrapper.__module__ = getattr(f, "__module__", None) or __name__
    wrapper.__wrapped__ = f
    return wrapper


def flatten_axes(name, treedef, axes, *, tupled_args=False):
    """The axis of every leaf of `treedef`, from a prefix tree of ints and Nones.

    `name` is what the user calls the prefix ("vmap in_axes"); with `tupled_args` the tree is
    an argument list, and errors say how a specification for it is written.

    >>> flatten_axes("vmap in_axes", tree_util.tree_structure((1, {"a": 2, "b": 3})), (None, 0))
    [None, 0, 0]
    """
    is_none = lambda x: x is None  # an axis, too: not mapped
    try:
        return broadcast_prefix(axes, treedef, is_none)
    except ValueError:
        errors = prefix_errors(axes, treedef, is_none)
    hint = ""
    if tupled_args:
        hint = f" {name} that are pytrees should be wrapped in a tuple: the argument list."
        if len(treedef.children()) == 1 and not prefix_errors((axes,), treedef, is_none):
            hint += f" For a single argument that is a singleton tuple: ({axes!r},)."
    details = compact(str(errors[0](name)))
    raise ValueError(
        f"{name} specification must be a tree prefix of the corresponding value.{hint}\n"
        f"Mismatch details ({len(errors)} found):\n{details}"
    )
