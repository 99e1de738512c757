"""Functions that are made and jitted anew: a lambda in a loop has no traces, though its code has.

A jitted function is known by its object. What is remembered of the ones before, under the place of
their code, is only words: nothing here keeps a closure alive.
"""

import functools
import inspect
import weakref
from collections import deque
from types import FunctionType
from typing import Any, NamedTuple

from tinyjax.source import Source, cell_name, here, is_own_code
from tinyjax.transforms.differences import SHOWN, Difference, brief, listed, same
from tinyjax.transforms.flat import fun_name
from tinyjax.tree_util import tree_leaves

# ---- what a function is made of ----------------------------------------------------------------

_first: dict = {}  # the code of a function -> the first traces of functions that have it


class First(NamedTuple):
    """The first trace of a jitted function: nothing that keeps it or its closure alive."""

    jitted: weakref.ref
    key: Any
    around: dict  # what it captured, in words
    place: Source | None
    times: int


def layers(fun):
    """A function, the one that it wraps, and so on; and the objects of partial among them."""
    found = []
    while fun is not None and len(found) < 50:
        found.append(fun)
        fun = fun.func if isinstance(fun, functools.partial) else getattr(fun, "__wrapped__", None)
    return found


def code_of(fun):
    """The code of a function, a method or a callable object; None for what is not Python."""
    for f in (getattr(fun, "__func__", fun), type(fun).__call__):
        if isinstance(f, FunctionType):
            return f.__code__
    return None


def defined_at(code):
    """Where code begins."""
    return f"{cell_name(code.co_filename) or code.co_filename}:{code.co_firstlineno}"


def surroundings(fun):
    """The values that a function finds outside of its arguments, by name, layer by layer."""
    found = {}
    chain = layers(fun)
    for layer in chain:
        function = getattr(layer, "__func__", layer)
        if isinstance(function, FunctionType):
            code = function.__code__
            for name, cell in zip(code.co_freevars, function.__closure__ or ()):
                try:
                    value = cell.cell_contents
                except ValueError:  # not assigned yet
                    continue
                if not any(value is x for x in chain):
                    found.setdefault(name, value)
            for name in code.co_names if layer is chain[-1] else ():
                if name in function.__globals__:
                    found.setdefault(name, function.__globals__[name])
        if isinstance(layer, functools.partial):
            found |= {f"argument {i} of partial": x for i, x in enumerate(layer.args)}
            found |= {f"{k} of partial": x for k, x in layer.keywords.items()}
    return found


def made_anew(jitted, key):
    """The message of a jitted function that is new, though its code is not; None if it is.

    The one before must be gone: functions that live side by side are meant to.
    """
    fun = jitted.fun
    chain = layers(fun)
    codes = [code_of(layer) for layer in chain]
    root = codes[-1]
    if root is None:
        return None
    ident = [c and (c.co_filename, c.co_linetable, c) for c in codes]  # file, columns, text
    if is_own_code(root):
        ident.append(id(chain[-1]))  # jnp.sin and jnp.cos have the same code, and live on
    ident = tuple(ident)
    around = {k: brief(v) for k, v in surroundings(fun).items() if not inspect.ismodule(v)}
    seen = _first.setdefault(ident, deque(maxlen=8))
    earlier = next((x for x in reversed(seen) if x.jitted() is None and same(x.key, key)), None)
    seen.append(
        First(weakref.ref(jitted), key, around, here(), earlier.times + 1 if earlier else 1)
    )
    if earlier is None:
        return None
    changed = [k for k in around if earlier.around.get(k, around[k]) != around[k]]
    found = [
        Difference(f"{k} from outside: {earlier.around[k]} -> {around[k]}", "") for k in changed
    ]
    fix = "jit once, outside of the loop or function that calls it: f = jax.jit(...)"
    if changed:
        shown = [k.removesuffix(" of partial") for k in changed[:SHOWN]]
        bound = any(k.endswith(" of partial") for k in changed)
        fix += f", and pass {', '.join(shown)} {'in the call' if bound else 'as an argument'}"
    fix += "."
    lines = [
        f"{fun_name(fun)} ({defined_at(root)}) is traced again, called at "
        f"{here()}: it is a new function object, of the same code as {earlier.times} before.",
        *listed(found),
        f"fix: {fix}",
    ]
    return "\n".join(lines)


def culprits(fun, outside):
    """The traced values that a function found outside of its arguments, in words."""
    words = []
    for x in outside:
        found = [k for k, v in surroundings(fun).items() if any(x is y for y in tree_leaves(v))]
        kind = x.aval.str_short()
        words.append(f"{found[0]} ({kind})" if found else f"a value of type {kind}")
    return ", ".join(words[:SHOWN])
