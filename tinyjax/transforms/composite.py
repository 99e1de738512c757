"""composite: a program with a name that an accelerator may know; here it is what it is made of."""

import functools

from tinyjax.core import Tracer
from tinyjax.errors import UnexpectedTracerError
from tinyjax.transforms.call import Call
from tinyjax.transforms.flat import lift_args
from tinyjax.transforms.loops import trace_fun
from tinyjax.tree_util import tree_flatten, tree_unflatten


class Composite(Call):
    """composite[attributes jaxpr name version] *operands: run the program."""

    def jvp(self, primals, tangents, **params):
        raise ValueError(
            "JVP rule for composite not implemented. You can use `jax.custom_jvp` to add support."
        )

    def transpose(self, cts, *args, **params):
        raise ValueError(
            "Transpose rule for composite not implemented. You can use `jax.custom_jvp` or "
            "`jax.custom_vjp` to add support."
        )

    def batch(self, axis, vals, dims, /, **params):
        raise NotImplementedError("Batching rule for 'composite' not implemented")


composite_p = Composite("composite")


def refuse(tracers, name, what):
    """Raise if a composite depends on more than its arguments."""
    if any(isinstance(x, Tracer) for x in tracers):
        raise UnexpectedTracerError(
            f"Found a JAX Tracer as {what} in the decomposition for the composite op '{name}'. "
            "Values that are not known when it is traced must be passed as positional arguments."
        )


def composite(decomposition, name, version=0):
    """A function that stands as one equation with a name in a jaxpr.

    Args:
      decomposition: the function; positional arguments are operands, keyword arguments attributes,
        which must be known.
      name: the name.
      version: a number that tells its meanings apart.

    Raises UnexpectedTracerError when it depends on tracers that are no operands. It has no
    derivative: wrap it in custom_jvp or custom_vjp.

    >>> from tinyjax import lax
    >>> lax.composite(lambda x: lax.sin(x) / lax.cos(x), "my.tangent")(0.0)
    Array(0., dtype=float32, weak_type=True)
    """

    @functools.wraps(decomposition)
    def function(*args, **kwargs):
        leaves, in_tree = tree_flatten(args)
        xs = lift_args(leaves, name)
        attributes = tuple((k, *tree_flatten(v)) for k, v in kwargs.items())
        attributes = tuple((k, tuple(values), tree) for k, values, tree in attributes)
        refuse([v for _, values, _ in attributes for v in values], name, "an attribute")
        fun = functools.partial(decomposition, **kwargs)
        jaxpr, captured, out_tree = trace_fun(fun, [x.aval for x in xs], in_tree, name)
        refuse(captured, name, "a constant")
        params = {"name": name, "attributes": attributes, "version": version, "jaxpr": jaxpr}
        return tree_unflatten(out_tree, composite_p.bind(*captured, *xs, **params))

    return function
