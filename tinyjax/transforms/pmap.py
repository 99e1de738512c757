"""The primitive pmap: a program that runs on many devices, on each with its part of the operands.

    pmap[axis_name axis_size in_axes jaxpr name out_axes] *operands

in_axes and out_axes say, for each operand and result, which of its axes has one element on each
device; None: all devices see the whole. The rules transform the inner program and move these axes
along. Nothing here knows how devices run: `parallel/` does.
"""

from tinyjax.core import memo, run
from tinyjax.parallel.executor import executor
from tinyjax.parallel.sharded import whole_aval
from tinyjax.primitives.arithmetic import const, div
from tinyjax.transforms.axis_env import named_axes
from tinyjax.transforms.batching import Axis
from tinyjax.transforms.call import Higher, fill, known, masks, undefs
from tinyjax.transforms.collectives import psum
from tinyjax.transforms.programs import (
    batch_jaxpr,
    jvp_jaxpr,
    linearize_jaxpr,
    spread_cts,
    transpose_jaxpr,
)
from tinyjax.transforms.stage import dce_pruned, opened, stage_closed
from tinyjax.transforms.varying import varies
from tinyjax.util import drop, split_list, take


def mapped(axes):
    """A mask of what is mapped."""
    return tuple(a is not None for a in axes)


class Pmap(Higher):
    """pmap[axis_name axis_size in_axes jaxpr name out_axes] *operands."""

    hidden = ("devices",)

    def shown_params(self, params):
        shown = super().shown_params(params)
        return [("name", params["name"]), *[(k, v) for k, v in shown if k != "name"]]

    def scope(self, params):
        """The inner program's axis is in scope in this block."""
        return named_axes(Axis(params["axis_size"], params["axis_name"], devices=True))

    def replaced(self, params, jaxpr, in_axes, out_axes):
        """Parameters of the same pmap with another program."""
        return params | {"jaxpr": jaxpr, "in_axes": tuple(in_axes), "out_axes": tuple(out_axes)}

    def open(self, args, params):
        jaxpr, captured = opened(params["jaxpr"])
        in_axes = (*[None] * len(captured), *params["in_axes"])
        return [*captured, *args], self.replaced(params, jaxpr, in_axes, params["out_axes"])

    # ---- the rules ------------------------------------------------------------------------------

    def impl(self, *xs, jaxpr, **params):
        return executor(jaxpr, tuple(params.items())).run(xs)

    def type(self, *avals, jaxpr, axis_size, out_axes, **_):
        return [whole_aval(a, k, axis_size) for a, k in zip(jaxpr.out_avals, out_axes)]

    def batch(self, axis, vals, dims, /, **params):
        # An operand of rank r has the batch axis at d, the mapped one at m as if there were none.
        in_axes = [k if k is None or d is None else k + (d <= k)
                   for k, d in zip(params["in_axes"], dims)]  # fmt: skip
        inner = [d if d is None or k is None else d - (d > k) for k, d in zip(in_axes, dims)]
        with self.scope(params):
            jaxpr, found = batch_jaxpr(params["jaxpr"], axis, tuple(inner))
        out_axes = [k if k is None or d is None else k + (d < k)
                    for k, d in zip(params["out_axes"], found)]  # fmt: skip
        out_dims = [d if d is None or k is None else d + (k <= d) for k, d in zip(out_axes, found)]
        outs = self.bind(*vals, **self.replaced(params, jaxpr, in_axes, out_axes))
        return outs, out_dims

    def jvp(self, primals, tangents, **params):
        nz, in_axes, out_axes = masks(tangents), params["in_axes"], params["out_axes"]
        with self.scope(params):
            joint, out_nz = jvp_jaxpr(params["jaxpr"], nz)
        both = self.replaced(
            params, joint, (*in_axes, *take(in_axes, nz)), (*out_axes, *take(out_axes, out_nz))
        )
        outs = self.bind(*primals, *take(tangents, nz), **both)
        outs, ts = split_list(outs, len(out_nz))
        return outs, fill(ts, out_nz, outs)

    def linearize(self, nz, *xs, **params):
        name, in_axes, out_axes = params["axis_name"], params["in_axes"], params["out_axes"]
        differs = varies(params["jaxpr"], name, mapped(in_axes))
        # A result that is mapped but the same everywhere would look varying as a residual.
        keep = [True] * len(in_axes) + [v or k is None for v, k in zip(differs, out_axes)]
        with self.scope(params):
            parts = linearize_jaxpr(params["jaxpr"], tuple(nz), (), tuple(keep))
        new = varies(parts.forward, name, mapped(in_axes))[len(out_axes) :]
        forward_axes = (*out_axes, *[0 if v else None for v in new])
        outs = self.bind(*xs, **self.replaced(params, parts.forward, in_axes, forward_axes))
        pool, pool_axes = [*xs, *outs], (*in_axes, *forward_axes)
        residuals = [pool[i] for i in parts.residuals]
        linear = self.replaced(
            params,
            parts.linear,
            (*[pool_axes[i] for i in parts.residuals], *take(in_axes, nz)),
            take(out_axes, parts.nz),
        )
        outs = outs[: len(out_axes)]

        def push(*ts):
            return fill(self.bind(*residuals, *take(ts, nz), **linear), parts.nz, outs)

        return outs, push

    def transpose(self, cts, *args, **params):
        linear, ct_nz = undefs(args), masks(cts)
        in_axes, out_axes, size = params["in_axes"], params["out_axes"], params["axis_size"]
        with self.scope(params):
            backward, nz = transpose_jaxpr(params["jaxpr"], linear, ct_nz)
            ct_axes, ct_out_axes = take(out_axes, ct_nz), take(take(in_axes, linear), nz)
            backward = summed(
                backward, params["axis_name"], size, tuple(ct_axes), tuple(ct_out_axes)
            )
        operands = [*known(args), *take(cts, ct_nz)]
        all_axes = [*drop(in_axes, linear), *ct_axes]
        out = self.bind(*operands, **self.replaced(params, backward, all_axes, ct_out_axes))
        return spread_cts(out, nz, args)

    def dce(self, eqn, used):
        params = eqn.params
        jaxpr, mask = dce_pruned(params["jaxpr"], tuple(used))
        in_axes, out_axes = take(params["in_axes"], mask), take(params["out_axes"], used)
        return eqn.replace(
            invars=take(eqn.invars, mask),
            params=self.replaced(params, jaxpr, in_axes, out_axes),
            outvars=take(eqn.outvars, used),
        )


@memo
def summed(backward, name, size, ct_axes, out_axes):
    """A backward program whose cotangents fit the whole arrays.

    A result that all devices share has one cotangent: each device takes its part of it. An operand
    that all devices saw gets the sum of their cotangents.
    """

    def f(*args):
        n = len(args) - len(ct_axes)
        cts = [c if k is not None else div(c, const(c, size)) for c, k in zip(args[n:], ct_axes)]
        outs = run(backward, *args[:n], *cts)
        return [psum(o, name) if k is None else o for o, k in zip(outs, out_axes)]

    return stage_closed(f, backward.in_avals)


pmap_p = Pmap("pmap")
