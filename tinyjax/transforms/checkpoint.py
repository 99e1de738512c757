"""checkpoint (remat): trade memory for work by computing the forward pass again."""

import functools

from tinyjax.core import memo, run
from tinyjax.transforms.call import Call, fill
from tinyjax.transforms.flat import lift_args, wraps
from tinyjax.transforms.loops import trace_fun
from tinyjax.transforms.programs import linearize_jaxpr
from tinyjax.transforms.stage import dce, stage_closed
from tinyjax.tree_util import tree_flatten, tree_unflatten
from tinyjax.util import split_list, take


class Checkpoint(Call):
    """remat2[jaxpr] *operands: a call whose only residuals are its operands.

    No pass may inline it or share equations between its forward and its recomputation.
    """

    def linearize(self, nz, *xs, jaxpr, **params):
        forward, push_jaxpr, out_nz = checkpoint_parts(jaxpr, tuple(nz))
        outs = self.bind(*xs, jaxpr=forward, **params)

        def push(*ts):
            again = self.bind(*xs, *take(ts, nz), jaxpr=push_jaxpr, **params)
            return fill(again, out_nz, outs)

        return outs, push


@memo
def checkpoint_parts(jaxpr, nz):
    """-> forward program, linear program that runs the forward again, mask of nonzero tangents."""
    parts, n = linearize_jaxpr(jaxpr, nz), len(jaxpr.outvars)

    def push(*args):
        xs, ts = split_list(args, len(nz))
        pool = xs + run(parts.forward, *xs)
        return run(parts.linear, *[pool[i] for i in parts.residuals], *ts)

    forward = dce(parts.forward, [i < n for i in range(len(parts.forward.outvars))])
    avals = [*jaxpr.in_avals, *take(jaxpr.in_avals, nz)]
    return forward, stage_closed(push, avals), parts.nz


checkpoint_p = Checkpoint("remat2")


def checkpoint(fun=None, *, prevent_cse=True, policy=None, static_argnums=(), concrete=False):
    """A function whose derivative keeps only its inputs and computes the rest again.

    Args:
      fun: a function of arrays and pytrees.
      policy: accepted as JAX's (what may be kept); everything is computed again here.
      static_argnums: positions of arguments that are Python values.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> g = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> print(f"{jax.grad(g)(2.0):.4f}")
    -0.2554
    """
    if fun is None:
        return functools.partial(
            checkpoint, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums
        )
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}: checkpoint takes a function.")
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)

    def checkpointed(*args, **kwargs):
        fixed = {n % len(args) for n in static}
        dynamic = [a for i, a in enumerate(args) if i not in fixed]
        leaves, in_tree = tree_flatten((dynamic, kwargs))

        def of_dynamic(values, keywords):
            it = iter(values)
            full = [a if i in fixed else next(it) for i, a in enumerate(args)]
            return fun(*full, **keywords)

        xs = lift_args(leaves, "checkpoint")
        jaxpr, captured, out_tree = trace_fun(of_dynamic, [x.aval for x in xs], in_tree)
        outs = checkpoint_p.bind(
            *[*captured, *xs],
            jaxpr=jaxpr,
            policy=policy,
            prevent_cse=prevent_cse,
            differentiated=False,
        )
        return tree_unflatten(out_tree, outs)

    return wraps(fun, checkpointed)


remat = checkpoint
