"""Call: a primitive that runs one jaxpr; what jit and checkpoint share."""

from tinyjax.core import (
    Jaxpr,
    JaxprEqn,
    Primitive,
    Tracer,
    Undef,
    Var,
    Zero,
    inner_jaxprs,
    memo,
    nonzero,
    run,
)
from tinyjax.transforms.programs import (
    batch_jaxpr,
    jvp_jaxpr,
    linearize_jaxpr,
    spread_cts,
    transpose_jaxpr,
)
from tinyjax.transforms.stage import dce, dce_pruned, opened
from tinyjax.util import split_list, spread, take


class Higher(Primitive):
    """A primitive that holds programs; `program` is the parameter with the first of them."""

    multi = high = collective = True
    program = "jaxpr"

    def bind(self, *args, **params):
        """As ever, but live tracers inside of programs become operands first."""
        consts = [c for jaxpr in inner_jaxprs(params) for c in jaxpr.consts]
        if any(isinstance(c, Tracer) for c in consts):
            args, params = self.open(args, params)
        return super().bind(*args, **params)

    def open(self, args, params):
        """-> operands and parameters with the programs' tracers as first operands."""
        jaxpr, captured = opened(params[self.program])
        params = params | {self.program: jaxpr}
        if "num_consts" in params:
            params["num_consts"] += len(captured)
        return [*captured, *args], params

    def alone(self, avals, params):
        """The program that consists of one such equation; the same one for the same parameters."""
        first = params[self.program]
        first = first[0] if isinstance(first, tuple) else first
        return program_of_one(first, self, tuple(params.items()), tuple(avals))

    def linear_part(self, own, *xs, **params):
        """Values that depend on the linear operands are not computed: maybe they cannot be (a
        custom_vjp function in forward mode)."""
        if self.callables:
            return self.linearize(own, *xs, **params)
        whole = self.alone([x.aval for x in xs], params)
        parts, forward, wanted = linear_and_rest(whole, tuple(own))
        outs = spread(run(forward, *xs), wanted, lambda i: None)
        pool, values = [*xs, *outs], outs[: len(parts.nz)]

        def push(*ts):
            residuals = [pool[i] for i in parts.residuals]
            return fill(run(parts.linear, *residuals, *take(ts, own)), parts.nz, values)

        return values, push


@memo
def program_of_one(_, prim, params, avals):
    """The program that consists of one equation."""
    params = dict(params)
    invars = [Var(a) for a in avals]
    outvars = [Var(a) for a in prim.type(*avals, **params)]
    return Jaxpr(invars, [JaxprEqn(prim, invars, params, outvars)], outvars)


@memo
def linear_and_rest(jaxpr, own):
    """-> the Linearized program, its forward part without the values that depend on the linear
    inputs, and the mask of the outputs that are left."""
    parts = linearize_jaxpr(jaxpr, own)
    needed = {i - len(own) for i in parts.residuals}
    wanted = [
        i >= len(parts.nz) or not parts.nz[i] or i in needed
        for i in range(len(parts.forward.outvars))
    ]
    return parts, dce(parts.forward, wanted), wanted


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
