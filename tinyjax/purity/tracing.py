"""Tracing a function under a watch, as if for the first time."""

import contextlib
import io
import re
from typing import Any, NamedTuple

import numpy as np

from tinyjax.array import is_arraylike, lift
from tinyjax.config import FlagScope, current_flags
from tinyjax.core import Tracer, inner_jaxprs
from tinyjax.purity.code import is_a
from tinyjax.purity.spots import PLAIN
from tinyjax.transforms import jit as jit_module
from tinyjax.transforms import loops
from tinyjax.transforms.flat import arg_names, fun_name
from tinyjax.transforms.retraces import Traces
from tinyjax.transforms.stage import stage
from tinyjax.transforms.staged import ShapeDtypeStruct, as_aval
from tinyjax.tree_util import tree_flatten, tree_unflatten


class Program(NamedTuple):
    """What tells one trace of a function from another."""

    text: str
    constants: list  # the bytes of all arrays that were captured
    out_tree: Any
    captured: list
    others: list  # what is returned beside arrays

    def is_that_of(self, traced):
        """Whether jit's cache holds the same program."""
        mine = self.text, self.constants, self.out_tree
        return mine == (*described(traced.jaxpr), traced.out_tree)


class Fresh(FlagScope):
    """Inside, no trace of before is used: this value of the flag is part of every cache's key."""

    def __init__(self):  # a value that no flag has: an object
        self.name, self.value = "check_purity", object()

    def forget(self):
        """Drop the traces that were made inside."""
        for options in list(jit_module._caches.values()):
            for cache in options.values():
                drop(cache, self.value)
        for cache in list(loops._traced.values()):
            drop(cache, self.value)


def drop(cache, value):
    """Delete the entries with a flag's value in their key."""
    for key in list(cache):
        parts = [x for part in key if isinstance(part, tuple) for x in part]
        if any(x is value for x in parts):
            cache.pop(key, None)
    if isinstance(cache, Traces):
        log = [miss for miss in cache.log if not any(x is value for x in miss.key.flags)]
        cache.misses -= len(cache.log) - len(log)
        cache.log.clear()
        cache.log.extend(log)


def is_inside():
    """Whether a check is going on in this thread."""
    return not isinstance(current_flags().check_purity, bool)


def trace_watched(f, args, kwargs, watch, known=()):
    """Trace f under a watch -> its Program; raises what f raises.

    known: types of Python numbers that are not traced.
    """
    leaves, tree = tree_flatten((args, kwargs))
    traced = [is_traced(x) and not is_a(x, known) for x in leaves]
    avals = [
        as_aval(x) if is_a(x, ShapeDtypeStruct) else lift(x).aval
        for x, t in zip(leaves, traced)
        if t
    ]
    names = arg_names(f, args, kwargs)
    names = [n for n, t in zip(names, traced) if t] if len(names) == len(leaves) else ()
    others, trees = [], []

    def flat(*tracers):
        it = iter(tracers)
        full = [next(it) if t else x for x, t in zip(leaves, traced)]
        given, named = tree_unflatten(tree, full)
        with watch:
            out = f(*given, **named)
        outs, out_tree = tree_flatten(out)
        trees.append(out_tree)
        others.extend([x if isinstance(x, PLAIN) else type(x) for x in outs if not is_arraylike(x)])
        return [lift(x) for x in outs if is_arraylike(x)]

    scope = Fresh()
    try:
        with FlagScope("explain_retraces", False), scope, quiet():
            jaxpr, captured = stage(flat, avals, fun_name(f), names)
    finally:
        scope.forget()
    return Program(*described(jaxpr), trees[-1], list(map(id, captured)), others)


def is_traced(x):
    """Whether an argument is an array, a number or a description of one."""
    return is_arraylike(x) or is_a(x, ShapeDtypeStruct)


def described(jaxpr):
    """-> a program's text and its constants."""
    text = re.sub("0x[0-9a-f]+", "0x", str(jaxpr))  # addresses of functions among the parameters
    return text, list(constants(jaxpr))


def constants(jaxpr):
    """The bytes of all arrays that a program and those inside it captured."""
    for c in jaxpr.consts:
        yield id(c) if isinstance(c, Tracer) else np.asarray(c.npy).tobytes()
    for eqn in jaxpr.eqns:
        for inner in inner_jaxprs(eqn.params):
            yield from constants(inner)


@contextlib.contextmanager
def quiet():
    """What is printed meanwhile is dropped: the check is not a call."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
