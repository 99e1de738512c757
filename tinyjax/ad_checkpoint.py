"""Names for values that checkpoint may keep, and a look at what a derivative keeps."""

from tinyjax.array import lift
from tinyjax.core import Literal, Primitive, StageTrace, active
from tinyjax.transforms.ad import is_inexact, linearize_flat
from tinyjax.transforms.checkpoint import checkpoint, checkpoint_policies, remat
from tinyjax.transforms.flat import FlatFun, arg_names, fun_name, lift_args
from tinyjax.tree_util import tree_flatten, tree_map

# ---- names ---------------------------------------------------------------------------------------


class Name(Primitive):
    """name[name] x: x itself, under a name that policies can ask for."""

    def impl(self, x, *, name):
        return x

    def type(self, x, *, name):
        return x

    def linearize(self, nz, x, *, name):
        return self.bind(x, name=name), lambda t: t

    def batch(self, axis, vals, dims, /, *, name):
        return self.bind(*vals, name=name), dims[0]


name_p = Name("name")


def checkpoint_name(x, name):
    """Name the arrays of a pytree, for policies such as save_only_these_names.

    >>> import tinyjax as jax
    >>> jax.make_jaxpr(lambda x: checkpoint_name(x, "hidden"))(1.0)
    { lambda ; a:f32[]. let b:f32[] = name[name=hidden] a in (b,) }
    """
    return tree_map(lambda leaf: name_p.bind(lift(leaf), name=name), x)


# ---- residuals -----------------------------------------------------------------------------------


def saved_residuals(f, *args, **kwargs):
    """What the backward pass of f keeps: pairs (type, where it comes from)."""
    leaves, in_tree = tree_flatten((args, kwargs))
    flat = FlatFun(lambda args, kwargs: f(*args, **kwargs), in_tree, fun_name(f))
    values = lift_args(leaves, flat.name)
    trace = StageTrace(flat.name)
    with active(trace, final=True):
        ins = [trace.new_input(x.aval) for x in values]
        found = linearize_flat(flat, ins, [is_inexact(x.aval) for x in values])[3]
        atoms = [trace.atom(x) for x in found]
    jaxpr, _ = trace.finish(found)
    names = arg_names(f, args, kwargs)
    yield from ((x.aval, "from a literal") for x in atoms if isinstance(x, Literal))
    yield from ((v.aval, "from a constant") for v in jaxpr.constvars if v in atoms)
    for v, name in zip(jaxpr.invars, names):
        if v in atoms:
            yield v.aval, f"from the argument {name}"
    yield from made_by(jaxpr, [v for v in atoms if not isinstance(v, Literal)])


def made_by(jaxpr, wanted):
    """(type, which equation made it) for variables of a program."""
    named = {e.invars[0]: e for e in jaxpr.eqns if e.primitive is name_p}
    for eqn in jaxpr.eqns:
        inner = eqn.params.get("jaxpr") if eqn.primitive.name in ("remat2", "checkpoint") else None
        for i, v in enumerate(eqn.outvars):
            if v not in wanted:
                continue
            maker = named.get(v, eqn)
            if inner is not None and maker is eqn:
                yield from made_by(inner, [inner.outvars[i]])
            elif maker.primitive is name_p:
                yield v.aval, f"named '{maker.params['name']}' from {place(maker)}"
            elif maker.primitive.name == "jit":
                name = maker.params["name"]
                yield v.aval, f"output of jitted function '{name}' from {place(maker)}"
            else:
                yield v.aval, f"output of {maker.primitive.name} from {place(maker)}"


def place(eqn):
    """Where an equation was written, or nothing."""
    return eqn.source.exact() if eqn.source else ""


def print_saved_residuals(f, *args, **kwargs):
    """Print what the backward pass of f keeps for these arguments: a line per array.

    >>> import tinyjax.numpy as jnp
    >>> print_saved_residuals(lambda x, y: x * y, jnp.ones(3), jnp.ones(3))
    f32[3] from the argument x
    f32[3] from the argument y
    """
    for aval, source in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short(short_dtypes=True)} {source}")


__all__ = [
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
]
