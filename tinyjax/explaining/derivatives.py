"""The programs of a derivative at one level of a call: forward, linear, backward; the joint one."""

import inspect
from typing import NamedTuple

import numpy as np

from tinyjax.array import is_arraylike, lift
from tinyjax.autodiff import linearize_tree
from tinyjax.avals import ShapedArray
from tinyjax.core import Jaxpr, StageTrace, Tracer, active
from tinyjax.explaining.levels import Level
from tinyjax.jacobians import choose
from tinyjax.primitives.linear import instantiate
from tinyjax.transforms.ad import is_inexact, jvp_flat
from tinyjax.transforms.axis_env import named_axes
from tinyjax.transforms.stage import closed, stage
from tinyjax.tree_util import tree_flatten, tree_leaves, tree_unflatten
from tinyjax.util import split_list, spread, take


class Derivative(NamedTuple):
    """forward: inputs -> values, residuals. linear: residuals, tangents -> tangents of the values.
    backward: residuals, cotangents of the values -> cotangents.

    values: how many outputs of `forward` are no residuals.
    """

    forward: Jaxpr
    linear: Jaxpr
    backward: Jaxpr
    values: int


def chosen_by(level):
    """-> a function of the level's arguments that gives what is differentiated and by what."""
    layer = level.layer
    argnums = layer.options.get("argnums")

    def chosen(args, kwargs):
        if argnums is None:  # vjp, linearize, custom rules: by all of them
            return layer.function, args
        of_chosen, x = choose(layer.function, args, kwargs, argnums)
        return of_chosen, (x,)

    return chosen


def with_custom_rule(level):
    """As chosen_by, for a function with its own rule: by all that is traced, but what the rule
    takes as it is."""
    fun = level.fun

    def chosen(args, kwargs):
        args = fun.positional(args, kwargs)
        fixed = {n % len(args) for n in fun.nondiff_argnums}
        names = list(inspect.signature(fun).parameters) if fun.nondiff_argnames else []
        fixed |= {names.index(n) for n in fun.nondiff_argnames}
        leaves, tree = tree_flatten([() if i in fixed else a for i, a in enumerate(args)])
        mask = [isinstance(x, (Tracer, ShapedArray)) for x in leaves]

        def of_traced(*xs):
            given = tree_unflatten(tree, spread(xs, mask, lambda i: leaves[i]))
            return fun(*[args[i] if i in fixed else a for i, a in enumerate(given)])

        return of_traced, tuple(take(leaves, mask))

    return chosen


def derivative(level: Level, fun_and_args, has_aux=False):
    """Linearize and transpose as grad and vjp do -> Derivative.

    fun_and_args: function of args, kwargs -> function, the tuple of arguments to differentiate by.
    """
    leaves, tree = tree_flatten((level.args, level.kwargs))
    mask = [isinstance(x, ShapedArray) for x in leaves]
    trace = StageTrace(level.name)
    with named_axes(*reversed(level.axes)):
        with active(trace, final=True):
            xs = [trace.new_input(a) for a in take(leaves, mask)]
            args, kwargs = tree_unflatten(tree, spread(xs, mask, lambda i: leaves[i]))
            fun, chosen = fun_and_args(args, kwargs)
            out, residuals, linear, aux = linearize_tree(fun, chosen, has_aux)
            outs = [lift(x) for x in tree_leaves((out, aux)) if is_arraylike(x)]
            backward, captured = backward_of(linear, residuals)
        forward = closed(*trace.finish([*outs, *residuals, *captured]))
    return Derivative(forward, linear.jaxpr, backward, len(outs))


def backward_of(linear, residuals):
    """-> the program that the pullback of a LinearMap runs; values that it needs besides."""
    n, floats = len(residuals), [is_inexact(a) for a in linear.outs]

    def pull(*values):
        cts = spread(values[n:], floats, lambda i: np.float32(0))  # integers have none
        found = linear.pull(list(values[:n]), tree_unflatten(linear.out_tree, cts))
        return take([lift(x) for x in tree_leaves(found)], linear.inexact)

    avals = [*[r.aval for r in residuals], *take(linear.outs, floats)]
    jaxpr, captured = stage(pull, avals, "the backward pass")
    besides, own, cts = split_list(jaxpr.invars, len(captured), n)  # a bwd may close over values
    return jaxpr.replace(invars=[*own, *besides, *cts]), captured


def joint(level: Level, fun_and_args):
    """The program of jvp: the inputs and a tangent for each float by which is differentiated ->
    values, tangents."""
    leaves, tree = tree_flatten((level.args, level.kwargs))
    mask = [isinstance(x, ShapedArray) for x in leaves]
    types = tree_leaves(fun_and_args(level.args, level.kwargs)[1])
    moving = [isinstance(x, ShapedArray) and is_inexact(x) for x in types]

    def flat(*values):
        it = iter(values)
        xs = [next(it) if m else x for x, m in zip(leaves, mask)]
        fun, chosen = fun_and_args(*tree_unflatten(tree, xs))
        primals, chosen_tree = tree_flatten(chosen)

        def of_moving(*moved):
            args = tree_unflatten(chosen_tree, spread(moved, moving, lambda i: primals[i]))
            return [lift(x) for x in tree_leaves(fun(*args)) if is_arraylike(x)]

        outs, ts = jvp_flat(of_moving, take(primals, moving), list(it))
        return [*outs, *[instantiate(t) for o, t in zip(outs, ts) if is_inexact(o.aval)]]

    with named_axes(*reversed(level.axes)):
        return closed(*stage(flat, [*take(leaves, mask), *take(types, moving)], level.name))
