"""custom_vmap: functions that bring their own batching rule."""

import inspect

from tinyjax.array import lift
from tinyjax.core import run
from tinyjax.mapping import map as map_rows
from tinyjax.primitives.linear import instantiate
from tinyjax.tracebacks import boundary
from tinyjax.transforms.ad import is_inexact, jvp_flat
from tinyjax.transforms.batching import move_to
from tinyjax.transforms.call import Higher, fill
from tinyjax.transforms.flat import FlatFun, fun_name, lift_args, wraps
from tinyjax.transforms.programs import jvp_jaxpr, linearize_jaxpr
from tinyjax.transforms.stage import stage
from tinyjax.tree_util import tree_flatten, tree_map, tree_unflatten
from tinyjax.util import split_list, spread, take

# ---- the card ------------------------------------------------------------------------------------


class CustomVmapCall(Higher):
    """custom_vmap_call[call in_tree out_tree rule] *operands: run `call`; rule(size, batched, args)
    says what it does to a batch."""

    program = "call"

    def impl(self, *xs, call, **_):
        return run(call, *xs)

    def type(self, *avals, call, **_):
        return call.out_avals

    def linearize(self, nz, *xs, call, **_):
        """The derivative is that of the function; its batches are not the rule's business."""
        parts = linearize_jaxpr(call, tuple(nz))
        everything = run(parts.forward, *xs)
        pool, outs = [*xs, *everything], everything[: len(call.outvars)]

        def push(*ts):
            args = [pool[i] for i in parts.residuals] + take(ts, nz)
            return fill(run(parts.linear, *args), parts.nz, outs)

        return outs, push

    def jvp(self, primals, tangents, *, call, rule, in_tree, out_tree):
        """Values and tangents together have a rule again: the derivative of the rule."""
        nz = tuple(is_inexact(x.aval) for x in primals)
        out_nz = tuple(map(is_inexact, call.out_avals))
        joint, _ = jvp_jaxpr(call, nz, out_nz)
        ts = list(map(instantiate, take(tangents, nz)))
        trees = {"in_tree": in_tree, "out_tree": out_tree}
        outs = self.bind(*primals, *ts, call=joint, rule=JointRule(rule, nz, out_nz), **trees)
        outs, ts = split_list(outs, len(out_nz))
        return outs, fill(ts, out_nz, outs)

    def batch(self, axis, vals, dims, /, *, call, rule, **_):
        batched = [d is not None for d in dims]
        vals = [move_to(axis, v, d, 0) if b else v for v, d, b in zip(vals, dims, batched)]
        outs, out_batched = rule(axis.size, batched, vals)
        return outs, [0 if b else None for b in out_batched]


class JointRule:
    """The rule of a derivative: flat primals and tangents -> flat values and tangents."""

    def __init__(self, rule, nz, out_nz):
        self.rule, self.nz, self.out_nz = rule, nz, out_nz

    def __call__(self, size, batched, args):
        n, axis = len(self.nz), range(size)
        primals, tangents = split_list(args, n)
        tangents = spread(tangents, self.nz, lambda i: None)
        t_batched = spread(batched[n:], self.nz, lambda i: batched[i])
        any_batched = [p or t for p, t in zip(batched[:n], t_batched)]
        primals = [self.whole(axis, x, b, w) for x, b, w in zip(primals, batched, any_batched)]
        tangents = [
            None if t is None else self.whole(axis, t, b, w)
            for t, b, w in zip(tangents, t_batched, any_batched)
        ]
        flags = []

        def values(*chosen):
            full = spread(chosen, self.nz, lambda i: primals[i])
            outs, out_batched = self.rule(size, any_batched, full)
            flags[:] = out_batched
            return outs

        outs, ts = jvp_flat(values, take(primals, self.nz), take(tangents, self.nz))
        ts = [instantiate(t) for t in take(ts, self.out_nz)]
        return [*outs, *ts], [*flags, *take(flags, self.out_nz)]

    @staticmethod
    def whole(axis, x, batched, wanted):
        """x as a batch, if it is to be one."""
        if batched or not wanted:
            return x
        return lift(x)[None].repeat(len(axis), axis=0)


custom_vmap_p = CustomVmapCall("custom_vmap_call")

# ---- decorators ----------------------------------------------------------------------------------


class UserRule:
    """The user's rule on flat lists."""

    def __init__(self, rule, in_tree, out_tree):
        self.rule, self.in_tree, self.out_tree = rule, in_tree, out_tree

    def __repr__(self):
        return repr(self.rule)

    def __call__(self, size, batched, args):
        flags = list(tree_unflatten(self.in_tree, batched))
        out, out_batched = self.rule(size, flags, *tree_unflatten(self.in_tree, args))
        outs, tree = tree_flatten(out)
        flags, flags_tree = tree_flatten(out_batched)
        name = getattr(self.rule, "__name__", "<unnamed rule>")
        if tree != flags_tree:
            raise ValueError(
                "structure of output value and output batching specification returned by custom "
                f"vmap rule ({name}) do not match.\nOutput values: {tree}\nBatching spec: "
                f"{flags_tree}"
            )
        if tree != self.out_tree:
            raise ValueError(
                f"structure of output returned by custom vmap rule ({name}) does not match that of "
                f"original custom-vmapped function.\nOriginal output: {self.out_tree}\nRule "
                f"output: {tree}"
            )
        return lift_args(outs, name), flags


class custom_vmap:
    """A function with its own batching rule.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> @custom_vmap
    ... def f(x, y):
    ...     return x + y
    >>> @f.def_vmap
    ... def f_vmap_rule(axis_size, in_batched, xs, ys):
    ...     print(axis_size, in_batched)
    ...     return xs * ys, True  # something else, to see that the rule is used
    >>> jax.vmap(f, in_axes=(0, None))(jnp.arange(3), 2)
    3 [True, False]
    Array([0, 2, 4], dtype=int32)
    """

    def __init__(self, fun):
        wraps(fun, self, "custom_vmap")
        self.fun, self.vmap_rule = fun, None

    def __getattr__(self, name):
        """Rules of other kinds belong to the function inside, which has its own decorator."""
        if name in ("defjvp", "defjvps", "defvjp"):
            return getattr(self.fun, name)
        raise AttributeError(f"'custom_vmap' object has no attribute {name!r}")

    def def_vmap(self, vmap_rule):
        """Set the rule: (axis_size, in_batched, *args) -> (out, out_batched); returns the rule.

        in_batched says of each argument (a pytree like it) whether it has a batch axis, in front;
        out_batched says the same of the output.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    @boundary
    def __call__(self, *args, **kwargs):
        name = fun_name(self.fun)
        args = positional(self.fun, name, args, kwargs)
        if not self.vmap_rule:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {name} using def_vmap."
            )
        leaves, in_tree = tree_flatten(tuple(args))
        flat = FlatFun(self.fun, in_tree, name)
        xs = lift_args(leaves, name)
        call, captured = stage(flat, [x.aval for x in xs], name, hoist=True)
        rule = ClosedRule(UserRule(self.vmap_rule, in_tree, flat.out_tree), len(captured))
        outs = custom_vmap_p.bind(
            *[*captured, *xs], call=call, rule=rule, in_tree=in_tree, out_tree=flat.out_tree
        )
        return tree_unflatten(flat.out_tree, outs)


def positional(fun, name, args, kwargs):
    """All arguments in order, keyword arguments and defaults included."""
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(
            f"The input arguments to the custom_vmap-decorated function {name} could not be "
            f"resolved to positional-only arguments. Binding failed with the error:\n{error}"
        ) from error
    bound.apply_defaults()
    return bound.args


class ClosedRule:
    """A rule that leaves out what the function closes over, the first operands."""

    def __init__(self, rule, count):
        self.rule, self.count = rule, count

    def __repr__(self):
        return repr(self.rule)

    def __call__(self, size, batched, args):
        if any(batched[: self.count]):
            raise ValueError(
                "a custom_vmap function closes over a batched value, which its rule cannot see: "
                "pass it as an argument"
            )
        return self.rule(size, batched[self.count :], args[self.count :])


def sequential_vmap(f):
    """A function that is called for one element of a batch after the other, in a loop.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> @sequential_vmap
    ... def f(x):
    ...     jax.debug.print("{}", x)
    ...     return x + 1
    >>> jax.vmap(f)(jnp.arange(2))
    0
    1
    Array([1, 2], dtype=int32)
    """
    mapped = custom_vmap(f)

    def rule(axis_size, in_batched, *args):
        leaves, tree = tree_flatten(args)
        flags = tree_flatten(in_batched)[0]

        def one(rows):
            return mapped(*tree_unflatten(tree, spread(rows, flags, lambda i: leaves[i])))

        out = map_rows(one, take(leaves, flags))
        return out, tree_map(lambda _: True, out)

    mapped.def_vmap(rule)
    return mapped


__all__ = ["custom_vmap", "sequential_vmap"]
