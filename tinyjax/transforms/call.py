"""Call: a primitive that runs one jaxpr; what jit and checkpoint share."""

from tinyjax.core import Primitive, Undef, Zero, nonzero, run
from tinyjax.transforms.programs import batch_jaxpr, jvp_jaxpr, spread_cts, transpose_jaxpr
from tinyjax.transforms.stage import dce_pruned
from tinyjax.util import split_list, spread, take


class Higher(Primitive):
    """A primitive that holds programs."""

    multi = high = collective = True


def masks(tangents):
    """A hashable mask of the tangents or cotangents that are there."""
    return tuple(nonzero(t) for t in tangents)


def undefs(args):
    """A hashable mask of the linear operands."""
    return tuple(isinstance(a, Undef) for a in args)


def known(args):
    """The operands that are not linear."""
    return [a for a in args if not isinstance(a, Undef)]


def fill(tangents, nz, outs):
    """Tangents at the places of the mask, Zero elsewhere."""
    return spread(tangents, nz, lambda i: Zero(outs[i].aval))


class Call(Higher):
    """Run a jaxpr."""

    def impl(self, *xs, jaxpr, **params):
        return run(jaxpr, *xs)

    def type(self, *avals, jaxpr, **params):
        return jaxpr.out_avals

    def jvp(self, primals, tangents, *, jaxpr, **params):
        nz = masks(tangents)
        joint, out_nz = jvp_jaxpr(jaxpr, nz)
        outs = self.bind(*primals, *take(tangents, nz), jaxpr=joint, **params)
        outs, ts = split_list(outs, len(out_nz))
        return outs, fill(ts, out_nz, outs)

    def batch(self, axis, vals, dims, /, *, jaxpr, **params):
        batched, out_dims = batch_jaxpr(jaxpr, axis, tuple(dims))
        return self.bind(*vals, jaxpr=batched, **params), out_dims

    def dce(self, eqn, used):
        jaxpr, mask = dce_pruned(eqn.params["jaxpr"], tuple(used))
        return eqn.replace(
            invars=take(eqn.invars, mask),
            params={**eqn.params, "jaxpr": jaxpr},
            outvars=take(eqn.outvars, used),
        )

    def transpose(self, cts, *args, jaxpr, **params):
        backward, nz = transpose_jaxpr(jaxpr, undefs(args), masks(cts))
        out = self.bind(*known(args), *filter(nonzero, cts), jaxpr=backward, **params)
        return spread_cts(out, nz, args)
