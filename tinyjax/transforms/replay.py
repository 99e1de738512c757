"""Eager calls that repeat run from a recording.

A function of jnp is a handful of operations, and between them stand promotion, checks and Arrays
that nobody sees. So a function that is called on arrays twice, with arguments of the same types, is
traced the second time, and its equations become a straight line of NumPy calls:

    def mean(args):
        [a] = [x.npy for x in args]
        b = reduce_sum(a)
        c = div(b, number_0)
        return [c]

The first call and the later ones compute the same to the bit: each equation is its card's `impl`.
Large arrays are worth more than that: for them the traced program is compiled, at the first call.
"""

import enum
import functools
import math
import warnings

import numpy as np

from tinyjax.array import Array
from tinyjax.compiler import compile_jaxpr
from tinyjax.compiler.passes import Inliner, called, drop_dead
from tinyjax.config import current_flags
from tinyjax.core import EVAL, JaxprEqn, Literal, StageTrace, Var, active, current_trace
from tinyjax.primitives.large import LARGE
from tinyjax.quiet import restore, silence
from tinyjax.tracebacks import shorten
from tinyjax.transforms import eager as _eager  # noqa: F401 (large operations are compiled)
from tinyjax.transforms.flat import FlatFun, fun_name
from tinyjax.tree_util import tree_structure, tree_unflatten

REPEATS = 8  # calls of one kind after which a recording, which takes as long as these, pays off
KEPT = 1024  # elements of an array that depends on no operand, and so is computed only once
FEW = 100  # kinds of calls after which it is no use to trace each new one that is large
MOST = 512  # kinds of calls of one function that are counted

# ---- what a recording depends on ----------------------------------------------------------------


class Unrepeatable(Exception):
    """An argument that nobody can compare, or a program that must not be repeated as it is."""


VALUES = {int, bool, str, type(None), type(Ellipsis), type}


def describe(x, arrays):
    """What of an argument a recording depends on: the type of an Array, any other value itself.

    The Arrays are collected. Raises Unrepeatable for what is neither.
    """
    kind = type(x)
    if kind is Array:
        arrays.append(x)
        npy = x.npy
        return npy.dtype, npy.shape, x.weak_type
    if isinstance(x, Array):  # keys, or not ready yet
        arrays.append(x)
        return x.dtype, x.shape, x.weak_type
    if kind in VALUES:
        return kind, x
    if kind is float:
        return kind, x, math.copysign(1.0, x)  # 0.0 == -0.0
    if kind is tuple or kind is list:
        return kind, tuple([describe(e, arrays) for e in x])
    if kind is slice:
        return kind, tuple([describe(e, arrays) for e in (x.start, x.stop, x.step)])
    if isinstance(x, (np.dtype, enum.Enum, type)):
        return kind, x
    raise Unrepeatable


def with_arrays(x, arrays):
    """An argument with its Arrays replaced by the next ones."""
    if isinstance(x, Array):
        return next(arrays)
    if type(x) is tuple or type(x) is list:
        return type(x)([with_arrays(e, arrays) for e in x])
    if type(x) is slice:
        return slice(*[with_arrays(e, arrays) for e in (x.start, x.stop, x.step)])
    return x


# ---- from a jaxpr to a line of NumPy calls ------------------------------------------------------


class Flat(Inliner):
    """The equations of a program and of those that it calls, as they are."""

    def __init__(self):
        self.eqns, self.consts = [], {}

    def called(self, eqn, where):
        return called(eqn)[0], where

    def constant(self, var, array):
        self.consts[var] = array.npy
        return var

    def equation(self, eqn, invars, where):
        outvars = [Var(v.aval) for v in eqn.outvars]
        self.eqns.append(JaxprEqn(eqn.primitive, invars, eqn.params, outvars))
        return outvars


def numpy_function(eqn):
    """What computes an equation from NumPy arrays."""
    prim, params = eqn.primitive, eqn.params
    if prim.high:
        return functools.partial(through_arrays, eqn)
    return functools.partial(prim.impl, **params) if params else prim.impl


def small(eqn):
    """Whether the results of an equation may be kept."""
    return all(v.aval.size <= KEPT for v in eqn.outvars)


def once(eqn, known):
    """The results of an equation between known values, as a list."""
    before = silence()
    try:
        values = [v.val if isinstance(v, Literal) else known[v] for v in eqn.invars]
        outs = numpy_function(eqn)(*values)
    finally:
        restore(before)
    return outs if eqn.primitive.multi else [outs]


def through_arrays(eqn, *arrays):
    """An equation that holds programs works on Arrays."""
    args = [Array(x, v.aval.weak_type) for x, v in zip(arrays, eqn.invars)]
    outs = EVAL.process(eqn.primitive, args, eqn.params)
    return [x.npy for x in outs] if eqn.primitive.multi else outs.npy


def worth_compiling(eqn):
    """Whether an equation is large enough for a kernel."""
    return any(v.aval.size >= eqn.primitive.large for v in (*eqn.invars, *eqn.outvars))


def program(jaxpr, name, large):
    """What runs a jaxpr on Arrays: kernels if arrays are large and kernels faster, or a player."""
    flat = Flat()
    outvars = flat.inline(jaxpr, dict(zip(jaxpr.invars, jaxpr.invars, strict=True)), None)
    if any(map(worth_compiling, flat.eqns)):
        if large:
            return compile_jaxpr(jaxpr, name)
        raise Unrepeatable  # its first calls compiled the large operations one by one
    if any(eqn.effectful for eqn in flat.eqns):
        raise Unrepeatable
    return player(jaxpr, flat, outvars, name)


def player(jaxpr, flat, outvars, name):
    """A function that runs a program on Arrays, equation by equation."""
    space, names, lines = {}, {}, []

    def name_of(atom):
        if isinstance(atom, Literal):
            names[atom] = f"number_{len(names)}"
            space[names[atom]] = atom.val
        elif atom not in names:
            names[atom] = f"v{len(names)}"
            if atom in flat.consts:
                space[names[atom]] = flat.consts[atom]
        return names[atom]

    def result(atom, aval):
        if isinstance(atom, Literal):
            raise Unrepeatable  # a number that prints as such
        if atom in jaxpr.invars and atom.aval == aval:
            return f"args[{jaxpr.invars.index(atom)}]"
        return f"Array({name_of(atom)}, {aval.weak_type})"

    inputs = "".join(f"{name_of(v)}, " for v in jaxpr.invars)
    for k, eqn in enumerate(drop_dead(flat.eqns, outvars)):
        if all(isinstance(v, Literal) or v in flat.consts for v in eqn.invars) and small(eqn):
            flat.consts.update(zip(eqn.outvars, once(eqn, flat.consts), strict=True))
            continue
        function = f"{eqn.primitive.name}_{k}".replace("-", "_")
        space[function] = numpy_function(eqn)
        operands = ", ".join(map(name_of, eqn.invars))
        outs = "".join(f"{name_of(v)}, " for v in eqn.outvars)
        target = f"[{outs}]" if eqn.primitive.multi else names[eqn.outvars[0]]
        lines.append(f"{target} = {function}({operands})")
    outs = ", ".join(map(result, outvars, jaxpr.out_avals))
    text = ["def play(args):", f"    [{inputs}] = [x.npy for x in args]", "    before = silence()"]
    text += ["    try:", *[f"        {line}" for line in lines or ["pass"]]]
    text += ["    finally:", "        restore(before)", f"    return [{outs}]"]
    space.update(Array=Array, silence=silence, restore=restore)
    exec(compile("\n".join(text), f"<recording of {name}>", "exec"), space)
    return space["play"]


# ---- recordings ---------------------------------------------------------------------------------

LEAF = tree_structure(0)
NEVER = -(1 << 60)  # so many calls to go before the recording of what cannot be recorded


class RecordingTrace(StageTrace):
    """Traces an eager call: whatever asks whether a program is being traced does as it did when the
    call just ran."""


class Recording:
    """A function recorded for one kind of call: from its Arrays to the leaves of its result."""

    __slots__ = ("play", "single", "tree")

    def __init__(self, fun, args, kwargs, arrays, large):
        def on_arrays(*values):
            values = iter(values)
            new = [with_arrays(x, values) for x in args]
            return fun(*new, **{k: with_arrays(x, values) for k, x in kwargs.items()})

        name = fun_name(fun)
        flat = FlatFun(on_arrays, tree_structure(tuple(arrays)), name)
        trace = RecordingTrace(name)
        with active(trace, final=True):
            outs = flat(*[trace.new_input(x.aval) for x in arrays])
        jaxpr, captured = trace.finish(outs)
        if captured:
            raise Unrepeatable
        self.play = program(jaxpr, name, large)
        self.single, self.tree = flat.out_tree == LEAF, flat.out_tree


def recorded(fun):
    """Decorate a function whose operations depend on the types of its Arrays, not on their values.

    Called on Arrays, with nothing that traces, it is recorded when a call repeats.
    """
    kept = {}

    @functools.wraps(fun)
    def wrapper(*args, **kwargs):
        try:
            if current_trace() is not EVAL:
                return fun(*args, **kwargs)
            arrays, key = [], [current_flags().trace_key]
            try:
                for x in args:
                    if type(x) is Array:  # as `describe`, which this spares a call
                        arrays.append(x)
                        npy = x.npy
                        key += (npy.dtype, npy.shape, x.weak_type)
                    else:
                        key.append(describe(x, arrays))
                for name, x in kwargs.items():
                    key += (name, describe(x, arrays))
            except Unrepeatable:
                return fun(*args, **kwargs)
            key = tuple(key)
            known = kept.get(key, 0)  # the recording, or how often there was such a call
            if type(known) is int:
                large = known == 0 and len(kept) < FEW and sum([x.size for x in arrays]) >= LARGE
                if known != REPEATS and not large:
                    if not known and len(kept) >= MOST:
                        kept.clear()
                    kept[key] = known + 1
                    return fun(*args, **kwargs)
                known = kept[key] = attempt(fun, args, kwargs, arrays, large)
                if known is NEVER:
                    return fun(*args, **kwargs)
            outs = known.play(arrays)
            return outs[0] if known.single else tree_unflatten(known.tree, outs)
        except Exception as error:
            shorten(error)
            raise

    return wrapper


def attempt(fun, args, kwargs, arrays, large):
    """The recording of a call, or NEVER if each call must run anew."""
    flags = current_flags()
    if flags.debug_nans or flags.debug_infs or flags.debug_key_reuse or flags.disable_jit:
        return NEVER  # each operation is to be looked at
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            recording = Recording(fun, args, kwargs, arrays, large)
    except Exception:  # what fails when it is traced fails, or works, when it just runs
        return NEVER
    return NEVER if heard else recording  # each call must warn
