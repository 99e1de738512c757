"""custom_jvp and custom_vjp: functions that bring their own derivatives.

custom_jvp has a joint rule only; its linear map comes from running the rule on tangents without
values (ad.LinearTrace). custom_vjp puts one opaque equation into the linear program; transposing it
calls bwd. Functions are run, not staged, unless the current trace stages. vmap re-enters them under
the tag of its trace, so that values they close over take part.
"""

import functools
import inspect

from tinyjax import errors
from tinyjax.array import lift
from tinyjax.core import Jaxpr, Primitive, Zero, nonzero, run
from tinyjax.primitives.linear import add_tangents, instantiate, reduce_sum, zeros
from tinyjax.tracebacks import boundary
from tinyjax.transforms.ad import float0_zeros, is_inexact
from tinyjax.transforms.batching import move_to, vmap_flat
from tinyjax.transforms.call import Higher, masks
from tinyjax.transforms.flat import fun_name, lift_args, wraps
from tinyjax.transforms.stage import prune_captured, stage, stage_closed
from tinyjax.tree_util import (
    broadcast_prefix,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)
from tinyjax.util import spread, take

# ---- cards --------------------------------------------------------------------------------------


def call(fun, *args):
    """Run a function, or the jaxpr it has become."""
    return run(fun, *args) if isinstance(fun, Jaxpr) else fun(*args)


def in_front(axis, vals, dims):
    """All values with their batch axis in front."""
    return [move_to(axis, v, d, 0) for v, d in zip(vals, dims)]


class Custom(Higher):
    """num_consts: how many first operands are values that call_jaxpr captured when staged."""

    callables = True
    program = "call_jaxpr"
    hidden = ("trace",)
    printed = {"symbolic_zeros": False}

    def shown_params(self, params):
        """num_consts prints if there are any."""
        return [(k, v) for k, v in super().shown_params(params) if k != "num_consts" or v]

    def impl(self, *args, call_jaxpr, **_):
        return call(call_jaxpr, *args)

    def type(self, *avals, call_jaxpr, **_):
        return call_jaxpr.out_avals

    def stage(self, *args, call_jaxpr, num_consts, **params):
        """Turn the function into a jaxpr that takes what it captured as first operands."""
        if isinstance(call_jaxpr, Jaxpr):
            return args, dict(params, call_jaxpr=call_jaxpr, num_consts=num_consts)
        jaxpr, captured = stage(call_jaxpr, [a.aval for a in args], params["name"], hoist=True)
        jaxpr, captured = prune_captured(jaxpr, captured)
        params = dict(params, call_jaxpr=jaxpr, num_consts=len(captured))
        return (*captured, *args), params

    def check_closure(self, nz, num_consts):
        """Rules know nothing of what the function closes over."""
        if any(nz[:num_consts]):
            raise errors.UnexpectedTracerError(
                f"Detected differentiation of a {self.name.removesuffix('_call')} function with "
                "respect to a closed-over value. That isn't supported because the custom rule only "
                "specifies how to differentiate with respect to explicit inputs: pass the value as "
                "an argument."
            )

    def batched_fun(self, call_jaxpr, axis, vals, dims, num_consts, trace):
        """call_jaxpr on whole batches; outputs are batched in front."""

        def fun(*xs):
            outs = vmap_flat(lambda *a: call(call_jaxpr, *a), axis, xs, dims, trace.tag)
            return in_front(axis, *outs)

        return stage_closed(fun, [v.aval for v in vals]) if num_consts else fun


class CustomJVPCall(Custom):
    """custom_jvp_call[name call_jaxpr jvp] *operands."""

    def jvp(self, primals, tangents, *, call_jaxpr, jvp, num_consts, name):
        self.check_closure(masks(tangents), num_consts)
        return jvp(primals[num_consts:], [instantiate(t) for t in tangents[num_consts:]])

    def batch(self, axis, vals, dims, /, *, call_jaxpr, jvp, num_consts, name, trace):
        fun = self.batched_fun(call_jaxpr, axis, vals, dims, num_consts, trace)

        def rule(primals, tangents):
            n = len(primals)

            def flat(*args):
                outs, out_tangents = jvp(args[:n], args[n:])
                return [*outs, *map(instantiate, out_tangents)]

            own = list(dims[num_consts:])
            outs = vmap_flat(flat, axis, [*primals, *tangents], own * 2, trace.tag)
            outs = in_front(axis, *outs)
            return outs[: len(outs) // 2], outs[len(outs) // 2 :]

        rule.__name__ = jvp.__name__
        outs = self.bind(*vals, call_jaxpr=fun, jvp=rule, num_consts=num_consts, name=name)
        return outs, [0] * len(outs)


class CustomVJPCall(Custom):
    """custom_vjp_call[name bwd call_jaxpr fwd] *operands."""

    def jvp(self, primals, tangents, **params):
        out, push = self.linearize(masks(tangents), *primals, **params)
        return out, push(*tangents)  # custom_lin raises if it is ever run

    def linearize(self, nz, *xs, call_jaxpr, fwd, bwd, num_consts, name):
        self.check_closure(nz, num_consts)
        outs, residuals = fwd(*xs[num_consts:])

        def push(*tangents):
            return custom_lin_p.bind(
                *[*residuals, *filter(nonzero, tangents)],
                num_res=len(residuals),
                nz=tuple(nz[num_consts:]),
                bwd=bwd,
                out_avals=tuple(o.aval for o in outs),
            )

        return outs, push

    def batch(self, axis, vals, dims, /, *, call_jaxpr, fwd, bwd, num_consts, name, trace):
        fun = self.batched_fun(call_jaxpr, axis, vals, dims, num_consts, trace)
        own, residual_dims = list(dims[num_consts:]), []

        def batched_fwd(*xs):
            n = 0

            def flat(*args):
                nonlocal n
                outs, residuals = fwd(*args)
                n = len(outs)
                return [*outs, *residuals]

            vs, ds = vmap_flat(flat, axis, xs, own, trace.tag)
            residual_dims[:] = ds[n:]  # read by batched_bwd, which runs later
            return in_front(axis, vs[:n], ds[:n]), vs[n:]

        def batched_bwd(residuals, cts):
            n = len(residuals)
            in_dims = [*residual_dims, *[0] * len(cts)]

            def flat(*args):
                return list(map(instantiate, bwd(args[:n], args[n:])))

            vs, ds = vmap_flat(flat, axis, [*residuals, *cts], in_dims, trace.tag)
            return [sum_to(axis, v, d, want) for v, d, want in zip(vs, ds, own)]

        batched_fwd.__name__, batched_bwd.__name__ = fwd.__name__, bwd.__name__
        outs = self.bind(
            *vals,
            call_jaxpr=fun,
            fwd=batched_fwd,
            bwd=batched_bwd,
            num_consts=num_consts,
            name=name,
        )
        return outs, [0] * len(outs)


def sum_to(axis, val, dim, want):
    """A cotangent where its operand has its batch axis; summed if the operand has none."""
    if want is not None:
        return move_to(axis, val, dim, want)
    return val if dim is None else reduce_sum(val, (dim,))


class CustomLin(Primitive):
    """custom_lin residuals, nonzero tangents -> tangents: known by its transpose only."""

    multi = reverse_only = True

    def type(self, *avals, out_avals, **_):
        return list(out_avals)

    def transpose(self, cts, *args, num_res, nz, bwd, out_avals):
        cts_in = bwd(args[:num_res], list(map(instantiate, cts)))
        return [None] * num_res + take(cts_in, nz)

    def impl(self, *args, **_):
        raise TypeError(
            "can't apply forward-mode autodiff (jvp) to a custom_vjp function. Its rule runs "
            "backwards only: use grad or vjp, or define the function with custom_jvp."
        )

    def linearize(self, own, *args, num_res, **params):
        """It is linear in the tangents, and unknown in the residuals."""
        if any(own[:num_res]):
            self.impl()
        params = dict(params, num_res=num_res)

        def push(*ts):
            return self.bind(*args[:num_res], *map(instantiate, ts[num_res:]), **params)

        return self.bind(*args, **params), push

    def batch(self, axis, vals, dims, /, *, num_res, nz, bwd, out_avals):
        wanted = spread(dims[num_res:], nz, lambda i: None)

        def batched_bwd(residuals, cts):
            in_dims = [*dims[:num_res], *[0] * len(cts)]

            def flat(*args):
                return list(map(instantiate, bwd(args[:num_res], args[num_res:])))

            vs, ds = vmap_flat(flat, axis, [*residuals, *cts], in_dims)
            return [sum_to(axis, v, d, want) for v, d, want in zip(vs, ds, wanted)]

        avals = tuple(a.update(shape=(axis.size, *a.shape)) for a in out_avals)
        outs = self.bind(*vals, num_res=num_res, nz=nz, bwd=batched_bwd, out_avals=avals)
        return outs, [0] * len(outs)


custom_jvp_call_p = CustomJVPCall("custom_jvp_call")
custom_vjp_call_p = CustomVJPCall("custom_vjp_call")
custom_lin_p = CustomLin("custom_lin")

# ---- decorators ---------------------------------------------------------------------------------


def record(out, box):
    """The leaves of an output, whose structure goes into the box."""
    leaves, tree = tree_flatten(out)
    box[:] = [tree]
    return list(map(lift, leaves))


class CustomFunction:
    """What custom_jvp and custom_vjp share: arguments that are differentiated, and others."""

    def __init__(self, fun, nondiff_argnums=(), nondiff_argnames=()):
        if not callable(fun):
            raise TypeError(f"Expected a callable value, got {fun!r}")
        options = {"nondiff_argnums": nondiff_argnums, "nondiff_argnames": nondiff_argnames}
        wraps(fun, self, type(self).__name__, **options)
        self.fun, self.name = fun, fun_name(fun)
        self.nondiff_argnums = (
            (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        )
        self.nondiff_argnames = tuple(nondiff_argnames)

    def __getattr__(self, name):
        """Rules of other kinds belong to the function inside, which has its own decorator."""
        if name in ("def_vmap", "defjvp", "defjvps", "defvjp"):
            return getattr(self.fun, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return lambda *args, **kwargs: self(instance, *args, **kwargs)

    def positional(self, args, kwargs):
        """All arguments in order, keyword arguments and defaults included."""
        try:
            signature = inspect.signature(self.fun)
        except (TypeError, ValueError):
            if kwargs:
                raise TypeError(f"{self.name} takes positional arguments only") from None
            return args
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"The keyword-only arguments {sorted(bound.kwargs)} of {self.name} cannot have "
                "custom derivatives: make them positional."
            )
        return bound.args

    def split(self, args):
        """-> nondiff values, leaves and tree of the others, function that puts all together."""
        count = len(args)
        names = list(inspect.signature(self.fun).parameters) if self.nondiff_argnames else []
        fixed_at = {n % count for n in self.nondiff_argnums}
        fixed_at |= {names.index(n) for n in self.nondiff_argnames}
        fixed = [args[i] for i in sorted(fixed_at)]
        leaves, tree = tree_flatten(tuple(a for i, a in enumerate(args) if i not in fixed_at))

        def merge(values):
            it = iter(tree_unflatten(tree, values))
            return [args[i] if i in fixed_at else next(it) for i in range(count)]

        return fixed, lift_args(leaves, self.name), tree, merge


class custom_jvp(CustomFunction):
    """A function with its own forward-mode rule (reverse mode follows from it).

    nondiff_argnums: positions of arguments that are not differentiated and reach the rule first.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> @jax.custom_jvp
    ... def log1pexp(x):
    ...     return jnp.log(1.0 + jnp.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t
    >>> print(jax.grad(log1pexp)(100.0))
    1.0
    """

    rule = None

    def defjvp(self, jvp, symbolic_zeros=False):
        """Set the rule: jvp(*nondiff, primals, tangents) -> (out, tangent_out)."""
        self.rule = jvp
        return jvp

    def defjvps(self, *jvps):
        """Set a rule per argument: jvp_i(tangent_i, out, *primals) -> its part of the tangent."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def rule(primals, tangents):
            out = self(*primals)
            parts = [f(t, out, *primals) for t, f in zip(tangents, jvps) if f is not None]
            if parts:
                return out, functools.reduce(add_trees, parts)
            return out, tree_map(lambda x: zeros(lift(x).aval), out)

        rule.__name__ = "jvp"  # what jaxprs print
        self.rule = rule

    @boundary
    def __call__(self, *args, **kwargs):
        if self.rule is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {self.name} using defjvp."
            )
        fixed, xs, tree, merge = self.split(self.positional(args, kwargs))
        out_tree = []

        def fun(*values):
            return record(self.fun(*merge(values)), out_tree)

        def rule(primals, tangents):
            given = [
                t if is_inexact(p.aval) else float0_zeros(p.aval) for p, t in zip(primals, tangents)
            ]
            pair = self.rule(*fixed, tree_unflatten(tree, primals), tree_unflatten(tree, given))
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise TypeError(
                    f"Custom JVP rule {fun_name(self.rule)} for function {self.name} must produce "
                    f"a pair (list or tuple of length two) representing primal and tangent "
                    f"outputs, but got {pair}."
                )
            return self.check_rule(*pair, out_tree)

        rule.__name__ = fun_name(self.rule)
        outs = custom_jvp_call_p.bind(*xs, call_jaxpr=fun, jvp=rule, num_consts=0, name=self.name)
        return tree_unflatten(out_tree[0], outs)

    def check_rule(self, out, tangent, out_tree):
        """Leaves of out and tangent, which must agree in structure, shapes and dtypes."""
        who = f"Custom JVP rule {fun_name(self.rule)} for function {self.name}"
        outs = record(out, out_tree)
        leaves, tree = tree_flatten(tangent)
        if tree != out_tree[0]:
            raise TypeError(
                f"{who} must produce primal and tangent outputs with equal container (pytree) "
                f"structures, but got {out_tree[0]} and {tree} respectively."
            )
        tangents = []
        for o, t in zip(outs, leaves):
            if not is_inexact(o.aval):
                tangents.append(Zero(o.aval))
                continue
            t = lift(t)
            if t.shape != o.shape or t.dtype != o.dtype:
                raise TypeError(
                    f"{who} must produce primal and tangent outputs with equal shapes and dtypes, "
                    f"but got {o.aval.str_short()} and {t.aval.str_short()}."
                )
            tangents.append(t)
        return outs, tangents


def add_trees(a, b):
    """The leafwise sum of two pytrees of one structure."""
    leaves, tree = tree_flatten(a)
    return tree_unflatten(
        tree, [add_tangents(lift(x), lift(y)) for x, y in zip(leaves, tree_leaves(b))]
    )


class custom_vjp(CustomFunction):
    """A function with its own reverse-mode rule.

    nondiff_argnums: positions of arguments that are not differentiated and reach bwd first.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> @jax.custom_vjp
    ... def clip_gradient(low, high, x):
    ...     return x
    >>> clip_gradient.defvjp(
    ...     lambda low, high, x: (x, (low, high)),
    ...     lambda res, ct: (None, None, jnp.clip(ct, res[0], res[1])))
    >>> print(jax.grad(lambda x: clip_gradient(-1.0, 1.0, 5.0 * x))(2.0))
    5.0
    """

    fwd = bwd = None

    def defvjp(self, fwd, bwd, symbolic_zeros=False, optimize_remat=False):
        """Set the rules: fwd(*args) -> (out, residuals); bwd(*nondiff, residuals, ct) -> cts.

        bwd returns a tuple with a cotangent per differentiated argument; None means zero.
        """
        self.fwd, self.bwd = fwd, bwd

    @boundary
    def __call__(self, *args, **kwargs):
        if self.fwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {self.name} using defvjp."
            )
        fixed, xs, tree, merge = self.split(self.positional(args, kwargs))
        avals = [x.aval for x in xs]
        out_tree, res_tree = [], []

        def fun(*values):
            return record(self.fun(*merge(values)), out_tree)

        def fwd(*values):
            pair = self.fwd(*merge(values))
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise TypeError(
                    f"Custom VJP fwd rule {fun_name(self.fwd)} for function {self.name} must "
                    f"produce a pair (list or tuple of length two) representing primal outputs "
                    f"and residuals, but got {pair}."
                )
            return record(pair[0], out_tree), record(pair[1], res_tree)

        def bwd(residuals, cts):
            res = tree_unflatten(res_tree[0], residuals)
            ct = self.bwd(*fixed, res, tree_unflatten(out_tree[0], cts))
            return self.check_cotangents(ct, tree, avals)

        fwd.__name__, bwd.__name__ = fun_name(self.fwd), fun_name(self.bwd)
        outs = custom_vjp_call_p.bind(
            *xs, call_jaxpr=fun, fwd=fwd, bwd=bwd, num_consts=0, name=self.name
        )
        return tree_unflatten(out_tree[0], outs)

    def check_cotangents(self, cts, tree, avals):
        """bwd's result as leaves: a Value or Zero per input."""
        who = f"Custom VJP bwd rule {fun_name(self.bwd)} for function {self.name}"
        if not isinstance(cts, tuple):
            if isinstance(cts, list):
                cts = tuple(cts)
            else:
                raise TypeError(
                    f"{who} must produce a tuple of cotangents, one per differentiated argument, "
                    f"but got {cts!r}. For one argument return (ct,)."
                )
        try:
            leaves = broadcast_prefix(cts, tree, is_leaf=lambda x: x is None)
        except ValueError as e:
            raise TypeError(
                f"{who} must produce an output with the same container (pytree) structure as the "
                f"args tuple of the primal function, {tree}, but got {tree_flatten(cts)[1]}. {e}"
            ) from None
        out = []
        for ct, aval in zip(leaves, avals):
            if ct is None or not is_inexact(aval):
                out.append(Zero(aval))
                continue
            c = lift(ct)
            if c.shape != aval.shape:
                raise ValueError(
                    f"{who} must produce cotangents of the shapes of the inputs: expected "
                    f"{aval.str_short()}, got {c.aval.str_short()}."
                )
            out.append(c)
        return out
