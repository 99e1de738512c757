"""What control flow primitives share: tracing their functions, compiling one of them at once."""

import weakref

from tinyjax import dtypes
from tinyjax.compiler import compile_jaxpr
from tinyjax.config import config, current_flags
from tinyjax.core import Tracer
from tinyjax.primitives.linear import convert
from tinyjax.transforms.axis_env import axis_env
from tinyjax.transforms.call import Higher
from tinyjax.transforms.flat import FlatFun, fun_name
from tinyjax.transforms.stage import stage
from tinyjax.transforms.tree_words import readable, reason
from tinyjax.tree_util import equality_errors, keystr, tree_flatten_with_path


class Loop(Higher):
    """A control flow primitive. Outside of jit it is compiled as a program of one equation."""

    def eager(self, *args, **params):
        if current_flags().disable_jit:
            return self.impl(*args, **params)
        return compile_jaxpr(self.alone([a.aval for a in args], params), self.name)(args)


_traced: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def trace_fun(f, avals, in_tree, name=None):
    """Stage a function of pytrees -> jaxpr, captured values (its first inputs), output tree.

    A function is traced once for each kind of argument, as in JAX: a loop that is called again is
    compiled already. (What captured a tracer, or a NumPy array that may change, is for this time
    only.)
    """
    key = (tuple(avals), in_tree, name, axis_env(), config.trace_key())
    try:
        known = _traced.setdefault(f, {})
    except TypeError:  # a callable without a hash or weak references
        known = {}
    if key in known:
        return known[key]
    flat = FlatFun(f, in_tree, name or fun_name(f))
    jaxpr, captured = stage(flat, avals, flat.name, hoist=True)
    if not any(isinstance(x, Tracer) or x.literal is None for x in captured):
        known[key] = jaxpr, captured, flat.out_tree
    return jaxpr, captured, flat.out_tree


def forget_traces():
    """Trace all functions anew."""
    _traced.clear()


def forwarding(jaxpr):
    """For each output the number of the input that it is, or None."""
    place = {v: i for i, v in enumerate(jaxpr.invars)}
    return [place.get(v) for v in jaxpr.outvars]


# ---- comparing types of carries and branches ----------------------------------------------------


def type_differences(tree_in, avals_in, tree_out, avals_out, name_in, name_out):
    """Lines that say which leaves of two trees of types differ, and how; empty if none do."""
    if tree_in != tree_out:
        a, b = tree_in.unflatten(avals_in), tree_out.unflatten(avals_out)
        return [
            f"  * {name_in}{keystr(path)} is {readable(one, two)} but {name_out} has "
            f"{readable(two, one)} there, so {reason(why)}"
            for path, one, two, why in equality_errors(a, b)
        ] or [f"  * {name_in} has structure {tree_in} but {name_out} has {tree_out}"]
    paths = [p for p, _ in tree_flatten_with_path(tree_in.unflatten(avals_in))[0]]
    return [
        f"  * {name_in}{keystr(p)} has type {a.str_short()} but {name_out} has "
        f"{b.str_short()} there{how_they_differ(a, b)}"
        for p, a, b in zip(paths, avals_in, avals_out)
        if not a.matches(b)
    ]


def how_they_differ(a, b):
    """', so the shapes differ' and so on."""
    parts = [
        n for n, x, y in (("dtypes", a.dtype, b.dtype), ("shapes", a.shape, b.shape)) if x != y
    ]
    return f", so the {' and the '.join(parts)} differ"


def promote_weak(carry, out_avals):
    """Weakly typed carries at the dtype that the body's results need; None if nothing changes."""
    promoted = [
        promote_one(c, a) if c.weak_type and c.shape == a.shape else c
        for c, a in zip(carry, out_avals)
    ]
    return None if all(p is c for p, c in zip(promoted, carry)) else promoted


def promote_one(carry, out):
    """One weakly typed carry at the common dtype of it and what came out."""
    dtype, _ = dtypes.lattice_result_type(carry, out)
    return carry if dtype == carry.dtype else convert(carry, dtype)
