"""checkpoint (remat): trade memory for work by computing the forward pass again."""

import functools
from types import SimpleNamespace

from tinyjax.core import Literal, memo, run
from tinyjax.source import replays
from tinyjax.transforms.call import Call, fill
from tinyjax.transforms.flat import lift_args, wraps
from tinyjax.transforms.loops import trace_fun
from tinyjax.transforms.programs import linearize_jaxpr
from tinyjax.transforms.stage import dce, stage_closed, used_inputs
from tinyjax.tree_util import tree_flatten, tree_unflatten
from tinyjax.util import split_list, take

# ---- what may be kept ---------------------------------------------------------------------------


def everything_saveable(prim, *avals, **params):
    """Keep all intermediate values."""
    return True


def nothing_saveable(prim, *avals, **params):
    """Keep none, as without a policy."""
    return False


def dots_saveable(prim, *avals, **params):
    """Keep the results of matrix products, which are expensive."""
    return prim.name == "dot_general"


def dots_with_no_batch_dims_saveable(prim, *avals, **params):
    """Keep the results of matrix products that are not batches of products."""
    return prim.name == "dot_general" and not any(params["dimension_numbers"][1])


def save_only_these_names(*names_which_can_be_saved):
    """Keep what `ad_checkpoint.checkpoint_name` gave one of these names."""
    names = set(names_which_can_be_saved)
    return policy_of(lambda prim, params: prim.name == "name" and params["name"] in names)


def save_any_names_but_these(*names_not_to_save):
    """Keep all that has a name, but for these."""
    names = set(names_not_to_save)
    return policy_of(lambda prim, params: prim.name == "name" and params["name"] not in names)


def save_anything_except_these_names(*names_not_to_save):
    """Keep everything, but for what has one of these names."""
    names = set(names_not_to_save)
    return policy_of(lambda prim, params: prim.name != "name" or params["name"] not in names)


def policy_of(allowed):
    """A policy from a function of the primitive and its parameters."""

    def policy(prim, *avals, **params):
        return allowed(prim, params)

    return policy


def save_from_both_policies(policy_1, policy_2):
    """Keep what either policy keeps."""

    def policy(prim, *avals, **params):
        return policy_1(prim, *avals, **params) or policy_2(prim, *avals, **params)

    return policy


def save_and_offload_only_these_names(
    *, names_which_can_be_saved, names_which_can_be_offloaded, offload_src, offload_dst
):
    """Keep these names. There is only one memory, so nothing is moved to another."""
    return save_only_these_names(*names_which_can_be_saved, *names_which_can_be_offloaded)


def offload_dot_with_no_batch_dims(offload_src, offload_dst):
    """As dots_with_no_batch_dims_saveable: there is only one memory."""
    return dots_with_no_batch_dims_saveable


checkpoint_policies = SimpleNamespace(
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_anything_except_these_names=save_anything_except_these_names,
    save_from_both_policies=save_from_both_policies,
    save_only_these_names=save_only_these_names,
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
)

# ---- the card -----------------------------------------------------------------------------------


class Checkpoint(Call):
    """remat2[jaxpr] *operands: a call whose only residuals are its operands, and what the policy
    allows.

    No pass may inline it or share equations between its forward and its recomputation.
    """

    def linearize(self, nz, *xs, jaxpr, policy, **params):
        forward, push_jaxpr, out_nz = checkpoint_parts(jaxpr, tuple(nz), policy)
        outs, kept = split_list(run(forward, *xs), len(out_nz))
        params["differentiated"] = True

        def push(*ts):
            again = self.bind(*xs, *kept, *take(ts, nz), jaxpr=push_jaxpr, policy=policy, **params)
            return fill(again, out_nz, outs)

        return outs, push


@memo
def checkpoint_parts(jaxpr, nz, policy):
    """-> forward program, whose last outputs are what is kept; linear program that runs the rest
    again; mask of nonzero tangents."""
    parts, n = linearize_jaxpr(jaxpr, nz), len(nz)
    program = parts.forward
    allowed = [
        v
        for eqn in program.eqns
        for v in eqn.outvars
        if policy and policy(eqn.primitive, *[x.aval for x in eqn.invars], **eqn.params)
    ]

    def push(*args):
        xs, values, ts = split_list(args, n, len(allowed))
        pool = xs + run_rest(program, xs, dict(zip(allowed, values)), policy)
        return run(parts.linear, *[pool[i] for i in parts.residuals], *ts)

    avals = [*jaxpr.in_avals, *[v.aval for v in allowed], *take(jaxpr.in_avals, nz)]
    push_jaxpr = stage_closed(push, avals)
    used = used_inputs(push_jaxpr)[n : n + len(allowed)]
    xs, values, ts = split_list(push_jaxpr.invars, n, len(allowed))
    outvars = program.outvars[: len(jaxpr.outvars)] + take(allowed, used)
    forward = dce(program.replace(outvars=outvars))
    return forward, push_jaxpr.replace(invars=xs + take(values, used) + ts), parts.nz


@replays()
def run_rest(jaxpr, xs, known, policy):
    """The outputs of a program some of whose intermediate values are known. Callbacks are called
    again, unless the policy saves them and they look at more than inputs."""
    env = dict(zip(jaxpr.constvars, jaxpr.consts)) | dict(zip(jaxpr.invars, xs)) | known

    def read(atom):
        return atom.array if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        again = eqn.effectful and not (
            policy
            and policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
            and not all(v in jaxpr.invars for v in eqn.invars)
        )
        if again or not all(v in known for v in eqn.outvars):
            out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
            env |= dict(zip(eqn.outvars, out if eqn.primitive.multi else [out])) | known
    return list(map(read, jaxpr.outvars))


checkpoint_p = Checkpoint("remat2")


def checkpoint(
    fun=None,
    *,
    prevent_cse=True,
    policy=None,
    static_argnums=(),
    static_argnames=(),
    concrete=False,
):
    """A function whose derivative keeps only its inputs and computes the rest again.

    Args:
      fun: a function of arrays and pytrees.
      policy: which intermediate values may be kept, one of jax.checkpoint_policies or a function
        (primitive, *avals, **params) -> bool; by default none.
      static_argnums, static_argnames: positions and names of arguments that are Python values.
      prevent_cse: accepted as JAX's: what runs again is never merged with what ran before.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> g = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> print(f"{jax.grad(g)(2.0):.4f}")
    -0.2556
    """
    if fun is None:
        return functools.partial(
            checkpoint,
            prevent_cse=prevent_cse,
            policy=policy,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
        )
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}: checkpoint takes a function.")
    if concrete:
        raise NotImplementedError(
            "The 'concrete' option to jax.checkpoint is deprecated and no longer does anything: "
            "use static_argnums."
        )
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    named = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)

    def checkpointed(*args, **kwargs):
        if not all(-len(args) <= n < len(args) for n in static):
            raise ValueError(
                "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take "
                "integer values greater than or equal to `-len(args)` and less than `len(args)`, "
                f"but got {static}, while `len(args)` = {len(args)}"
            )
        fixed = {n % len(args) for n in static}
        fixed_kwargs = {k: v for k, v in kwargs.items() if k in named}
        kwargs = {k: v for k, v in kwargs.items() if k not in named}
        dynamic = [a for i, a in enumerate(args) if i not in fixed]
        leaves, in_tree = tree_flatten((dynamic, kwargs))

        def of_dynamic(values, keywords):
            it = iter(values)
            full = [a if i in fixed else next(it) for i, a in enumerate(args)]
            return fun(*full, **keywords, **fixed_kwargs)

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

    options = {"static_argnums": static_argnums, "static_argnames": static_argnames}
    return wraps(fun, checkpointed, "checkpoint", policy=policy, **options)


remat = checkpoint
