"""Which results of a program differ between the devices along an axis.

A result that does not is kept once for all of them, and may have out_axes=None.
"""

from tinyjax.compiler.passes import called
from tinyjax.core import Literal, inner_jaxprs, memo
from tinyjax.util import fixpoint, split_list

AGREEING = {"psum", "pmax", "pmin", "all_gather"}  # everyone gets the same
APART = {"axis_index", "reduce_scatter", "all_to_all", "ppermute", "io_callback"}


def axes_of(params):
    """The names that a collective is over."""
    names = params.get("axes", params.get("axis_name"))
    return names if isinstance(names, tuple) else (names,)


@memo
def varies(jaxpr, name, ins):
    """A mask of the outputs that differ along the axis called name. ins: that of the inputs."""
    known = dict(zip(jaxpr.invars, ins, strict=True))

    def read(atom):
        return not isinstance(atom, Literal) and known.get(atom, False)

    for eqn in jaxpr.eqns:
        known.update(zip(eqn.outvars, outputs_vary(eqn, name, tuple(map(read, eqn.invars)))))
    return tuple(map(read, jaxpr.outvars))


def outputs_vary(eqn, name, ins):
    """The mask of the results of one equation."""
    prim, params = eqn.primitive.name, eqn.params
    rule = RULES.get(prim)
    inner, _ = called(eqn)
    if rule is not None:
        return rule(params, name, ins)
    if inner is not None:
        return varies(inner, name, ins)
    if prim in AGREEING and name in axes_of(params) and params.get("axis_index_groups") is None:
        return [False] * len(eqn.outvars)
    apart = prim in APART and (name in axes_of(params) or prim == "io_callback")
    hidden = any(
        any(varies(jaxpr, name, (False,) * len(jaxpr.invars))) for jaxpr in inner_jaxprs(params)
    )
    return [apart or hidden or any(ins)] * len(eqn.outvars)


# ---- programs in programs ------------------------------------------------------------------------


def scan_varies(params, name, ins):
    """Until the carry varies no further."""
    consts, carry, xs = split_list(ins, params["num_consts"], params["num_carry"])
    step = lambda c: varies(params["jaxpr"], name, (*consts, *c, *xs))[: len(carry)]
    carry = fixpoint(step, tuple(carry))
    return varies(params["jaxpr"], name, (*consts, *carry, *xs))


def while_varies(params, name, ins):
    """If the number of rounds varies, so does everything."""
    of_cond, of_body, carry = split_list(ins, params["cond_nconsts"], params["body_nconsts"])
    carry = fixpoint(
        lambda c: varies(params["body_jaxpr"], name, (*of_body, *c)),
        tuple(carry),
    )
    rounds = any(varies(params["cond_jaxpr"], name, (*of_cond, *carry)))
    return [rounds or c for c in carry]


def cond_varies(params, name, ins):
    """If the choice varies, so does everything."""
    choice, *rest = ins
    outs = [varies(branch, name, tuple(rest)) for branch in params["branches"]]
    return [choice or any(branch) for branch in zip(*outs)]


def pmap_varies(params, name, ins):
    """The inner axis does not matter, unless it has the same name and hides this one."""
    if params["axis_name"] == name:
        return [any(ins)] * len(params["jaxpr"].outvars)
    return varies(params["jaxpr"], name, ins)


RULES = {"scan": scan_varies, "while": while_varies, "cond": cond_varies, "pmap": pmap_varies}
