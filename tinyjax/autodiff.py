"""Derivatives of functions of pytrees: jvp linearize vjp linear_transpose grad."""

import operator

import numpy as np

from tinyjax import dtypes, messages
from tinyjax.array import Array, is_arraylike, lift
from tinyjax.core import Tracer, Undef, Zero, check_runnable, run
from tinyjax.primitives.linear import instantiate, zeros
from tinyjax.tracebacks import boundary
from tinyjax.transforms.ad import (
    LinearTracer,
    float0_zeros,
    is_inexact,
    jvp_flat,
    linearize_flat,
    run_linear,
    transpose,
)
from tinyjax.transforms.flat import FlatFun, arg_names, fun_name, lift_args, lift_output, wraps
from tinyjax.transforms.stage import dce, prune_captured
from tinyjax.transforms.tree_words import leaf_path, structure_differences
from tinyjax.tree_util import (
    Partial,
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_structure,
    tree_unflatten,
)
from tinyjax.util import spread, take

# ---- forward mode -------------------------------------------------------------------------------


@boundary
def jvp(fun, primals, tangents, has_aux=False):
    """Push tangents forward through a function (forward mode).

    Args:
      fun: function of positional arguments.
      primals: tuple or list of arguments, pytrees of arrays.
      tangents: the same structure, shapes and dtypes (float0 for integers).
      has_aux: fun returns (out, aux); aux is returned as a third result.

    Returns (out, tangent_out).
    Raises TypeError when primals and tangents do not match.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> y, t = jax.jvp(jnp.sin, (0.5,), (2.0,))
    >>> print(f"{y:.4f} {t:.4f}")
    0.4794 1.7552
    """
    for name, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(
                f"primal and tangent arguments to jax.jvp must be tuples or lists; found {name} "
                f"of type {type(value).__name__}. Write jax.jvp(f, (x,), (t,))."
            )
    check_callable(fun, "jvp")
    leaves, in_tree = tree_flatten(tuple(primals))
    tangent_leaves, tangent_tree = tree_flatten(tuple(tangents))
    if in_tree != tangent_tree or isinstance(primals, list) != isinstance(tangents, list):
        trees = tree_structure(primals), tree_structure(tangents)
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure, but they "
            "differ:\n" + "\n".join(structure_differences(*trees, "primals", "tangents"))
        )
    xs = lift_args(leaves, fun_name(fun))
    ts = [check_tangent(x, t, i) for i, (x, t) in enumerate(zip(xs, tangent_leaves))]
    flat = flat_fun(fun, in_tree, has_aux)
    outs, out_tangents = jvp_flat(flat, xs, ts)
    n = flat.out_tree.num_leaves
    out = tree_unflatten(flat.out_tree, outs[:n])
    out_tangents = [tangent_out(o, t) for o, t in zip(outs[:n], out_tangents)]
    tangent = tree_unflatten(flat.out_tree, out_tangents)
    return (out, tangent, flat.aux(outs[n:])) if has_aux else (out, tangent)


def check_tangent(primal, tangent, i):
    """A tangent as a Value or Zero; TypeError unless it has the primal's shape and dtype."""
    aval = primal.aval
    if not is_inexact(aval):
        if getattr(tangent, "dtype", None) == dtypes.float0:
            return Zero(aval)
        raise TypeError(
            "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in "
            f"case of int/bool primal dtype the tangent dtype must be float0. Got primal dtype "
            f"{aval.dtype} and so expected tangent dtype float0, but got tangent {tangent!r} "
            f"(leaf {i}). Use np.zeros(shape, jax.dtypes.float0), or a float primal."
        )
    t = lift(tangent)
    if t.dtype != aval.dtype:
        raise TypeError(
            "primal and tangent arguments to jax.jvp do not match; dtypes must be equal: got "
            f"primal dtype {aval.dtype} and tangent dtype {t.dtype} (leaf {i})."
        )
    if t.shape != aval.shape:
        raise ValueError(
            f"jvp called with different primal and tangent shapes; got primal shape {aval.shape} "
            f"and tangent shape {t.shape} (leaf {i})."
        )
    return t


def tangent_out(out, tangent):
    """The tangent of an output, as users see it: float0 for integers."""
    return instantiate(tangent) if is_inexact(out.aval) else float0_zeros(out.aval)


# ---- linearization ------------------------------------------------------------------------------


class LinearMap:
    """The static part of a pushforward or pullback: a linear program and the shapes around it."""

    def __init__(self, jaxpr, mask, in_tree, out_tree, outs, ins):
        self.jaxpr, self.mask = jaxpr, mask  # mask: the outputs that have a tangent
        self.in_tree, self.out_tree, self.outs, self.ins = in_tree, out_tree, outs, ins
        self.inexact = [is_inexact(a) for a in ins]

    @boundary
    def push(self, residuals, *tangents):
        """Tangents of the inputs -> tangents of the outputs."""
        check_runnable(self.jaxpr)
        leaves, in_tree = tree_flatten(tangents)
        if in_tree != self.in_tree:
            raise TypeError(
                f"the linear function takes tangents of structure {self.in_tree}, got {in_tree}"
            )
        ts = take([t if not i else lift(t) for t, i in zip(leaves, self.inexact)], self.inexact)
        for t, aval in zip(ts, take(self.ins, self.inexact)):
            if t.shape != aval.shape or t.dtype != aval.dtype:
                raise ValueError(
                    f"the linear function takes a tangent of type {aval.str_short()}, got "
                    f"{t.aval.str_short()}"
                )
        outs = run(self.jaxpr, *residuals, *ts)
        outs = spread(outs, self.mask, lambda i: tangent_of_constant(self.outs[i]))
        return tree_unflatten(self.out_tree, outs)

    @boundary
    def pull(self, residuals, ct):
        """Cotangents of the outputs -> cotangents of the inputs."""
        leaves, tree = tree_flatten(ct)
        if tree != self.out_tree:
            lines = structure_differences(tree, self.out_tree, "argument", "the function's output")
            raise ValueError(
                "unexpected tree structure of argument to vjp function: it must be that of the "
                "function's output, but they differ:\n" + "\n".join(lines)
            )
        cts = [check_cotangent(c, a, tree, i) for i, (c, a) in enumerate(zip(leaves, self.outs))]
        args = [*residuals, *map(Undef, take(self.ins, self.inexact))]
        cts = transpose(self.jaxpr, args, take(cts, self.mask))
        cts = spread(map(instantiate, cts), self.inexact, lambda i: float0_zeros(self.ins[i]))
        return tree_unflatten(self.in_tree, cts)


def tangent_of_constant(aval):
    """The tangent of an output that does not depend on the inputs."""
    return zeros(aval) if is_inexact(aval) else float0_zeros(aval)


def check_cotangent(ct, aval, tree, i):
    """A cotangent as a Value or Zero; ValueError unless it fits the output."""
    if not is_inexact(aval):
        return Zero(aval)
    if isinstance(ct, Zero):
        return ct
    c = lift(ct)
    if c.shape != aval.shape or c.dtype != aval.dtype:
        raise ValueError(
            f"unexpected JAX type (e.g. shape/dtype) for argument to vjp function: got "
            f"{c.aval.str_short()}, but expected {aval.str_short()} because the corresponding "
            f"output of the function had that type: output{leaf_path(tree, i)}"
        )
    return c


def linearize_tree(fun, primals, has_aux=False, what="linearize"):
    """-> output, residuals, LinearMap, auxiliary data."""
    check_callable(fun, what)
    leaves, in_tree = tree_flatten(tuple(primals))
    xs = lift_args(leaves, fun_name(fun))
    flat = flat_fun(fun, in_tree, has_aux)
    ins = [x.aval for x in xs]
    outs, mask, jaxpr, residuals = linearize_flat(flat, xs, [is_inexact(a) for a in ins])
    n, aux = flat.out_tree.num_leaves, None
    if has_aux:  # nothing is differentiated with respect to it
        aux = flat.aux(outs[n:])
        used = [i < n for i, m in enumerate(mask) if m]
        jaxpr, residuals = prune_captured(dce(jaxpr, used), residuals)
    out_avals = [o.aval for o in outs[:n]]
    linear = LinearMap(jaxpr, mask[:n], in_tree, flat.out_tree, out_avals, ins)
    return tree_unflatten(flat.out_tree, outs[:n]), residuals, linear, aux


@boundary
def linearize(fun, *primals, has_aux=False):
    """The value of a function and its derivative there, as a linear function of tangents.

    Args:
      fun: function of positional arguments, pytrees of arrays.
      primals: where to linearize.

    Returns (out, push): push(*tangents) gives the output tangent, without running fun again.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> y, push = jax.linearize(lambda x: x**2, 3.0)
    >>> push(1.0)
    Array(6., dtype=float32, weak_type=True)
    """
    out, residuals, linear, aux = linearize_tree(fun, primals, has_aux)
    push = Partial(linear.push, residuals)
    return (out, push, aux) if has_aux else (out, push)


@boundary
def vjp(fun, *primals, has_aux=False, reduce_axes=()):
    """The value of a function and its pullback (reverse mode).

    Args:
      fun: function of positional arguments, pytrees of arrays.
      primals: where to differentiate.
      has_aux: fun returns (out, aux); aux is returned as a third result.

    Returns (out, pull): pull(ct) takes a cotangent of out's structure and types and returns a tuple
    with a cotangent per primal (float0 for integers). Raises ValueError when ct does not fit.

    >>> import tinyjax as jax
    >>> y, pull = jax.vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> [float(ct) for ct in pull(1.0)]
    [3.0, 2.0]
    """
    out, residuals, linear, aux = linearize_tree(fun, primals, has_aux, "vjp")
    pull = Partial(linear.pull, residuals)
    return (out, pull, aux) if has_aux else (out, pull)


@boundary
def linear_transpose(fun, *primals, reduce_axes=()):
    """The transpose of a function that is linear.

    Args:
      fun: a linear function of positional arguments.
      primals: examples of the arguments; only their shapes and dtypes matter.

    Returns a function from a cotangent of the output to a tuple of cotangents.
    Raises NotImplementedError where fun is not linear.

    >>> import tinyjax as jax
    >>> jax.linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    check_callable(fun, "linear_transpose")
    leaves, in_tree = tree_flatten(primals)
    avals = [getattr(x, "aval", None) or lift_struct(x) for x in leaves]
    flat = FlatFun(fun, in_tree)
    outs, trace = run_linear(flat, avals)
    mask = [isinstance(o, LinearTracer) for o in outs]
    jaxpr, captured = trace.finish([o.tangent for o in take(outs, mask)], hoist=True)
    jaxpr, captured = prune_captured(dce(jaxpr), captured)
    out_avals = [o.aval for o in outs]
    linear = LinearMap(jaxpr, mask, in_tree, flat.out_tree, out_avals, avals)
    return Partial(linear.pull, captured)


def lift_struct(x):
    """The aval of an example, which may be just a ShapeDtypeStruct."""
    if is_arraylike(x):
        return lift(x).aval
    from_shape = np.broadcast_to(np.zeros((), x.dtype), x.shape)
    return lift(from_shape).aval


# ---- reverse mode: grad -------------------------------------------------------------------------


def value_and_grad(
    fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False, reduce_axes=()
):
    """A function that returns both fun's value and its gradient; see grad.

    >>> import tinyjax as jax
    >>> value, gradient = jax.value_and_grad(lambda x: x**2)(3.0)
    >>> print(value, gradient)
    9.0 6.0
    """
    check_callable(fun, "grad")
    argnums = check_argnums(argnums)

    def value_and_grad_f(*args, **kwargs):
        nums = argnums if isinstance(argnums, tuple) else (argnums,)
        nums = [resolve_argnum(n, len(args), argnums) for n in nums]

        def of_chosen(*chosen):
            full = list(args)
            for n, x in zip(nums, chosen):
                full[n] = x
            return fun(*full, **kwargs)

        of_chosen.__name__ = fun_name(fun)
        chosen = [args[n] for n in nums]
        for n, arg in zip(nums, chosen):
            check_input(fun, args, kwargs, n, arg, holomorphic, allow_int)
        out, residuals, linear, aux = linearize_tree(of_chosen, chosen, has_aux, "grad")
        check_scalar(out, has_aux)
        check_output_dtype(out, holomorphic)
        ct = Array(np.ones((), out.dtype), lift(out).weak_type, literal=True)
        grads = linear.pull(residuals, ct)
        gradient = tuple(grads) if isinstance(argnums, tuple) else grads[0]
        return ((out, aux) if has_aux else out), gradient

    options = {"argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic}
    return wraps(fun, value_and_grad_f, "value_and_grad", **options, allow_int=allow_int)


def grad(fun, argnums=0, has_aux=False, holomorphic=False, allow_int=False, reduce_axes=()):
    """The gradient of a function, as a function of the same arguments.

    Args:
      fun: its output must be one real number (a scalar array).
      argnums: which argument to differentiate by (int, or a tuple for a tuple of gradients);
        negative ones count from the end.
      has_aux: fun returns (out, aux); the gradient function returns (gradient, aux).
      holomorphic: fun is complex-differentiable, with complex inputs and output.
      allow_int: permit integer arguments, whose gradients have dtype float0.

    Returns a function that gives a gradient of the argument's structure, shapes and dtypes.
    Raises TypeError when the output is not a real scalar or an argument is not a float.

    >>> import tinyjax as jax
    >>> f = lambda x: x**3 + 2 * x
    >>> print(jax.grad(f)(2.0), jax.grad(jax.grad(jax.grad(f)))(2.0))
    14.0 6.0
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    def grad_f(*args, **kwargs):
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    options = {"argnums": argnums, "has_aux": has_aux, "holomorphic": holomorphic}
    return wraps(fun, grad_f, "grad", **options, allow_int=allow_int)


def check_argnums(argnums):
    """argnums as an int, or as a tuple of ints where it is several of them, in a list, say."""
    try:
        if hasattr(argnums, "__index__"):
            return operator.index(argnums)
        return tuple(operator.index(n) for n in argnums)
    except TypeError:
        raise TypeError(
            f"argnums must be an int or a tuple of ints, got argnums={argnums!r}"
        ) from None


def resolve_argnum(n, count, argnums):
    """A possibly negative position as one in [0, count)."""
    if not -count <= n < count:
        error = TypeError if n >= 0 else ValueError  # as JAX has it
        raise error(
            f"differentiating with respect to argnums={argnums} requires at least "
            f"{n + 1 if n >= 0 else -n} positional arguments to be passed by the caller, but got "
            f"only {count} positional arguments."
        )
    return n % count


def check_input(fun, args, kwargs, n, arg, holomorphic, allow_int):
    """Every leaf of a differentiated argument must be a float (or complex: holomorphic)."""
    for path, x in tree_flatten_with_path(arg)[0]:
        name = f"argument {n}{keystr(path)}"
        if not is_arraylike(x):
            raise TypeError(
                f"grad requires arrays or numbers to differentiate by, but {name} is {x!r} of type "
                f"{type(x)}. Choose other argnums."
            )
        dtype = lift(x).dtype
        if holomorphic and dtype.kind != "c":
            raise TypeError(
                "grad with holomorphic=True requires inputs with complex dtype, but got "
                f"{dtype.name} for {name}."
            )
        if is_inexact(lift(x).aval) or allow_int:
            continue
        names = arg_names(fun, args, kwargs)
        hint = f" ({names[n]!r})" if n < len(names) and len(names) == len(args) else ""
        raise TypeError(
            "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
            f"np.inexact), but got {dtype.name} for {name}{hint}. Pass a float (3.0 instead of 3, "
            "x.astype(float)), or, if you want to use Boolean- or integer-valued inputs, use vjp "
            "or set allow_int to True."
        )


def check_scalar(out, has_aux):
    """The output of a function whose gradient is taken must be one number."""
    fix = (
        "Sum or average it, take one element, or use jax.jacobian for all derivatives "
        "(jax.vmap(jax.grad(f)) for a gradient per row of a batch)."
    )
    if not is_arraylike(out):
        more = "" if has_aux else " If the rest is extra information, pass has_aux=True."
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output was: {out}.{more}"
        )
    if lift(out).shape != ():
        raise TypeError(
            "Gradient only defined for scalar-output functions. Output had shape: "
            f"{lift(out).shape}. {fix}"
        )


def check_output_dtype(out, holomorphic):
    """The output must be real, unless the function is holomorphic."""
    dtype = lift(out).dtype
    if holomorphic:
        if dtype.kind != "c":
            raise TypeError(
                "grad with holomorphic=True requires outputs with complex dtype, but got "
                f"{dtype.name}."
            )
    elif dtype.kind == "c":
        raise TypeError(
            "grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
            f"but got {dtype.name}. For holomorphic differentiation, pass holomorphic=True. For "
            "differentiation of non-holomorphic functions involving complex outputs, use jax.vjp "
            "directly."
        )
    elif not is_inexact(lift(out).aval):
        raise TypeError(
            "grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
            f"but got {dtype.name}. For differentiation of functions with integer outputs, use "
            "jax.vjp directly."
        )


# ---- shared -------------------------------------------------------------------------------------


def check_callable(fun, name):
    """Transformations take functions."""
    if not callable(fun):
        raise messages.not_callable(fun, name)


class FunWithAux(FlatFun):
    """The first of f's two results. Traced values in the second, the auxiliary data, come out
    beside it; aux puts them back in their places."""

    def __call__(self, *leaves):
        pair = self.f(*tree_unflatten(self.in_tree, leaves))
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                "with has_aux=True, the function must return a pair (out, aux), got "
                f"{pair!r} of type {type(pair).__name__}"
            )
        outs, self.out_tree = tree_flatten(pair[0])
        self.aux_leaves, self.aux_tree = tree_flatten(pair[1])
        self.traced = [isinstance(x, Tracer) for x in self.aux_leaves]
        outs = [lift_output(x, self.name, i) for i, x in enumerate(outs)]
        return outs + take(self.aux_leaves, self.traced)

    def aux(self, values):
        """The auxiliary data, with values for what was traced."""
        leaves = spread(values, self.traced, lambda i: self.aux_leaves[i])
        return tree_unflatten(self.aux_tree, leaves)


def flat_fun(fun, in_tree, has_aux):
    """fun on leaves."""
    return FunWithAux(fun, in_tree) if has_aux else FlatFun(fun, in_tree)
