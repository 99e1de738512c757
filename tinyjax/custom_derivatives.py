"""More ways to bring one's own derivatives: custom_gradient and closure_convert."""

from tinyjax.array import lift
from tinyjax.core import Tracer, run
from tinyjax.tracebacks import boundary
from tinyjax.transforms.ad import JVPTracer
from tinyjax.transforms.batching import BatchTracer
from tinyjax.transforms.custom import custom_jvp, custom_vjp
from tinyjax.transforms.flat import FlatFun, fun_name, lift_args
from tinyjax.transforms.stage import stage
from tinyjax.tree_util import Partial, tree_flatten, tree_unflatten


def traced(fun, args):
    """-> the program of fun for such arguments, the values it captured, its structures."""
    leaves, in_tree = tree_flatten(tuple(args))
    flat = FlatFun(fun, in_tree, fun_name(fun))
    avals = [x.aval for x in lift_args(leaves, flat.name)]
    jaxpr, captured = stage(flat, avals, flat.name, hoist=True)
    return jaxpr, captured, in_tree, flat.out_tree


def custom_gradient(fun):
    """A function that returns its value and its own gradient function.

    Args:
      fun: function of `*args` that returns (out, rule). rule takes a cotangent of out and returns
        a tuple of cotangents of the arguments (for a single argument the tuple may be left out).
        It may use what fun computed.

    Returns a function that returns out.

    >>> import tinyjax as jax
    >>> @jax.custom_gradient
    ... def f(x):
    ...     return x**2, lambda g: (g * x,)
    >>> print(f(3.0), jax.grad(f)(3.0))
    9.0 3.0
    """

    def value(*args, **kwargs):
        return fun(*args, **kwargs)[0]

    def fwd(*args, **kwargs):
        out, rule = fun(*args, **kwargs)
        jaxpr, captured, _, out_tree = traced(rule, (out,))
        return out, Partial(Residuals(jaxpr, out_tree), *captured)

    def bwd(residuals, ct):
        return residuals(ct)

    value.__name__ = fun_name(fun)
    wrapped = custom_vjp(value)
    wrapped.defvjp(fwd, bwd)
    return wrapped


class Residuals:
    """The gradient function of one call, as a program: captured values and ct -> cotangents."""

    def __init__(self, jaxpr, out_tree):
        self.jaxpr, self.out_tree = jaxpr, out_tree

    def __call__(self, *args):
        *captured, ct = args
        outs = run(self.jaxpr, *captured, *map(lift, tree_flatten(ct)[0]))
        cts = tree_unflatten(self.out_tree, outs)
        return cts if isinstance(cts, (tuple, list)) else (cts,)


def may_be_perturbed(x):
    """Whether a captured value may depend on what is being differentiated."""
    if isinstance(x, BatchTracer):
        return may_be_perturbed(x.val)
    if isinstance(x, JVPTracer):
        return True
    return isinstance(x, Tracer)


@boundary
def closure_convert(fun, *example_args):
    """Turn the values that a function closes over into arguments.

    Custom rules cannot differentiate by what a function closes over. After conversion these values
    are arguments, and the rule can treat them like any other.

    Args:
      fun: a pure function.
      example_args: arguments of the types that fun will be called with.

    Returns (converted, consts): converted takes fun's arguments and then `*consts`, the traced
    values that fun uses without having them as arguments.
    Raises TypeError when converted is called with arguments of another structure.

    >>> import tinyjax as jax
    >>> def f(a):
    ...     g, consts = jax.closure_convert(lambda x: a * x, 1.0)
    ...     return g(3.0, *consts)
    >>> print(jax.grad(f)(2.0))
    3.0
    """
    jaxpr, captured, in_tree, out_tree = traced(fun, example_args)
    hoisted = [may_be_perturbed(x) for x in captured]
    count = sum(hoisted)

    def converted(*args_and_consts):
        args = args_and_consts[: len(args_and_consts) - count]
        consts = iter(args_and_consts[len(args) :])
        leaves, tree = tree_flatten(tuple(args))
        if tree != in_tree:
            raise TypeError(
                "The inputs to the closure produced by closure_convert must have the same Pytree "
                "structure as the example arguments passed when closure_convert was called. "
                f"Expected {in_tree}, but got {tree}"
            )
        values = [next(consts) if h else x for h, x in zip(hoisted, captured)]
        return tree_unflatten(out_tree, run(jaxpr, *map(lift, (*values, *leaves))))

    return converted, [x for h, x in zip(hoisted, captured) if h]


__all__ = ["closure_convert", "custom_gradient", "custom_jvp", "custom_vjp"]
