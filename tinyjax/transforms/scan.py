"""scan: a loop with a fixed number of steps, in one equation.

Residuals of the linearized loop that do not vary from step to step are kept once (hoist); which
carries have tangents, or are batched, is found by fixpoint.
"""

import operator

import numpy as np

from tinyjax import shape_messages
from tinyjax.array import Array, lift
from tinyjax.config import current_flags
from tinyjax.core import Literal, Tracer, Undef, Zero, memo, run
from tinyjax.errors import ConcretizationTypeError
from tinyjax.primitives.linear import (
    add_tangents,
    instantiate,
    moveaxis,
    new_front,
    zeros,
)
from tinyjax.primitives.slicing import index_in_dim
from tinyjax.primitives.stacking import stack
from tinyjax.tracebacks import boundary
from tinyjax.transforms.ad import transpose
from tinyjax.transforms.call import fill, known, masks, undefs
from tinyjax.transforms.flat import lift_args
from tinyjax.transforms.loops import (
    Loop,
    forwarding,
    promote_weak,
    trace_fun,
    type_differences,
)
from tinyjax.transforms.programs import batch_jaxpr, jvp_jaxpr, linearize_jaxpr
from tinyjax.transforms.stage import dce, dce_pruned, stage_closed
from tinyjax.tree_util import (
    keystr,
    tree_flatten,
    tree_flatten_with_path,
    tree_map,
    tree_unflatten,
    treedef_children,
    treedef_tuple,
)
from tinyjax.util import drop, fixpoint, split_list, spread, take

# ---- programs -----------------------------------------------------------------------------------


@memo
def hoist(jaxpr, num_consts):
    """Split off what depends on the first inputs only -> before, body, the hoisted variables."""
    invariant, before, rest = {*jaxpr.invars[:num_consts], *jaxpr.constvars}, [], []
    for eqn in jaxpr.eqns:
        fixed = all(isinstance(v, Literal) or v in invariant for v in eqn.invars)
        if fixed and eqn.invars and not eqn.effectful:
            before.append(eqn)
            invariant.update(eqn.outvars)
        else:
            rest.append(eqn)
    made = {v for eqn in before for v in eqn.outvars}
    reads = [v for vs in (*(eqn.invars for eqn in rest), jaxpr.outvars) for v in vs]
    moved = dict.fromkeys(v for v in reads if v in made)
    consts = jaxpr.invars[:num_consts]
    pre = dce(jaxpr.replace(invars=consts, eqns=before, outvars=list(moved)))
    invars = consts + list(moved) + jaxpr.invars[num_consts:]
    return pre, jaxpr.replace(invars=invars, eqns=rest), moved


class LinearScan:
    """A linearized scan body: what runs before the loop, the forward body, the linear body, the
    masks of nonzero tangents in and out, and the places of invariant and varying residuals."""

    def __init__(self, before, forward, linear, nz, out_nz, invariant, varying):
        self.before, self.forward, self.linear = before, forward, linear
        self.nz, self.out_nz = nz, out_nz
        self.invariant, self.varying = invariant, varying


@memo
def linearize_scan(jaxpr, nz, num_consts, num_carry):
    """The parts of a linearized scan."""
    n, num_xs = len(jaxpr.outvars), len(jaxpr.invars) - num_consts - num_carry
    const_nz, carry_nz, xs_nz = (tuple(m) for m in split_list(nz, num_consts, num_carry))
    # a carry is no residual as it is: it changes from step to step
    keep = (True,) * num_consts + (False,) * num_carry + (True,) * num_xs
    keep += (False,) * num_carry + (True,) * (n - num_carry)

    def parts_for(carry):
        return linearize_jaxpr(jaxpr, const_nz + carry + xs_nz, carry, keep)

    carry_nz = fixpoint(lambda carry: parts_for(carry).nz[:num_carry], carry_nz)
    parts = parts_for(carry_nz)
    before, body, moved = hoist(parts.forward, num_consts)
    outs = parts.forward.outvars
    stacked = [v for v in outs[n:] if v not in moved]
    forward = body.replace(outvars=outs[:n] + stacked)

    def place(i):
        """Where residual i is found: among the inputs, the outputs, or what ran before."""
        j = i - len(jaxpr.invars)
        if j < 0:
            return "in", i
        if j < n:
            return "out", j
        if outs[j] in moved:
            return "before", list(moved).index(outs[j])
        return "out", n + stacked.index(outs[j])

    places = [place(i) for i in parts.residuals]
    fixed = [where == "before" or where == "in" and i < num_consts for where, i in places]
    res, ts = split_list(parts.linear.invars, len(places))
    t_consts, t_carry, t_xs = split_list(ts, sum(const_nz), sum(carry_nz))
    invars = take(res, fixed) + t_consts + t_carry + t_xs + drop(res, fixed)
    return LinearScan(
        before,
        forward,
        parts.linear.replace(invars=invars),
        const_nz + carry_nz + xs_nz,
        parts.nz,
        take(places, fixed),
        drop(places, fixed),
    )


@memo
def jvp_scan(jaxpr, nz, num_consts, num_carry):
    """-> joint body, mask of tangents in (carries completed), mask of tangents out."""
    const_nz, carry_nz, xs_nz = (tuple(m) for m in split_list(nz, num_consts, num_carry))

    def joint_for(carry):
        return jvp_jaxpr(jaxpr, const_nz + carry + xs_nz, carry)

    carry_nz = fixpoint(lambda carry: joint_for(carry)[1][:num_carry], carry_nz)
    joint, out_nz = joint_for(carry_nz)
    n_xs, n_ys = len(xs_nz), len(out_nz) - num_carry
    c, k, x, tc, tk, tx = split_list(
        joint.invars, num_consts, num_carry, n_xs, sum(const_nz), sum(carry_nz)
    )
    ko, yo, tko, tyo = split_list(joint.outvars, num_carry, n_ys, sum(carry_nz))
    body = joint.replace(invars=c + tc + k + tk + x + tx, outvars=ko + tko + yo + tyo)
    return body, const_nz + carry_nz + xs_nz, out_nz


@memo
def transpose_scan(jaxpr, linear, ys_nz, num_consts, num_carry):
    """Body: known consts | cts of consts, of the carry | nonzero cts of ys, known xs."""
    const_lin, _, xs_lin = split_list(linear, num_consts, num_carry)
    avals, outs = jaxpr.in_avals, jaxpr.out_avals
    const_avals, carry_avals, xs_avals = split_list(avals, num_consts, num_carry)

    def body(*args):
        known_consts, ct_consts, ct_carry, ct_ys, known_xs = split_list(
            args, const_lin.count(False), sum(const_lin), num_carry, sum(ys_nz)
        )
        not_linear = [not m for m in linear]
        ins = spread(known_consts + known_xs, not_linear, lambda i: Undef(avals[i]))
        cts = ct_carry + spread(ct_ys, ys_nz, lambda i: Zero(outs[num_carry + i]))
        new, rest = split_list(transpose(jaxpr, ins, cts), sum(const_lin))
        return [instantiate(add_tangents(a, b)) for a, b in zip(ct_consts, new)] + [
            instantiate(c) for c in rest
        ]

    return stage_closed(
        body,
        [
            *drop(const_avals, const_lin),
            *take(const_avals, const_lin),
            *carry_avals,
            *take(outs[num_carry:], ys_nz),
            *drop(xs_avals, xs_lin),
        ],
    )


# ---- the card -----------------------------------------------------------------------------------


class Scan(Loop):
    """scan[jaxpr length num_carry num_consts reverse unroll] consts carry xs -> carry ys."""

    program = "jaxpr"

    def impl(self, *args, jaxpr, length, num_carry, num_consts, reverse, unroll):
        consts, carry, xs = split_list(args, num_consts, num_carry)
        rows = [None] * length
        for i in range(length)[::-1] if reverse else range(length):
            outs = run(jaxpr, *consts, *carry, *[Array(x.npy[i], x.weak_type) for x in xs])
            carry, rows[i] = split_list(outs, num_carry)
        ys = [
            np.stack([row[j].npy for row in rows]) if length else np.zeros((0, *a.shape), a.dtype)
            for j, a in enumerate(jaxpr.out_avals[num_carry:])
        ]
        weak = [a.weak_type for a in jaxpr.out_avals[num_carry:]]
        return [*carry, *map(Array, ys, weak)]

    def type(self, *avals, jaxpr, length, num_carry, **_):
        return [
            a if i < num_carry else a.update(shape=(length, *a.shape))
            for i, a in enumerate(jaxpr.out_avals)
        ]

    def jvp(self, primals, tangents, *, jaxpr, num_carry, num_consts, **params):
        body, nz, out_nz = jvp_scan(jaxpr, masks(tangents), num_consts, num_carry)
        ts = [instantiate(t) for t in take(tangents, nz)]
        n_tc, n_tk = sum(nz[:num_consts]), sum(nz[num_consts : num_consts + num_carry])
        c, k, x, tc, tk, tx = split_list(
            [*primals, *ts],
            num_consts,
            num_carry,
            len(primals) - num_consts - num_carry,
            n_tc,
            n_tk,
        )
        outs = self.bind(
            *[*c, *tc, *k, *tk, *x, *tx],
            jaxpr=body,
            num_consts=num_consts + n_tc,
            num_carry=num_carry + n_tk,
            **params,
        )
        k, tk, y, ty = split_list(outs, num_carry, n_tk, len(jaxpr.outvars) - num_carry)
        return k + y, fill(tk + ty, out_nz, k + y)

    def linearize(self, nz, *xs, jaxpr, num_carry, num_consts, **params):
        parts = linearize_scan(jaxpr, tuple(nz), num_consts, num_carry)
        before = run(parts.before, *xs[:num_consts])
        everything = self.bind(
            *[*xs[:num_consts], *before, *xs[num_consts:]],
            jaxpr=parts.forward,
            num_consts=num_consts + len(before),
            num_carry=num_carry,
            **params,
        )
        outs = everything[: len(jaxpr.outvars)]
        values = {"in": xs, "before": before, "out": everything}

        def push(*ts):
            ts = [instantiate(t) for t in take(ts, parts.nz)]
            invariant = [values[where][i] for where, i in parts.invariant]
            varying = [values[where][i] for where, i in parts.varying]
            nz_consts, nz_carry, _ = split_list(parts.nz, num_consts, num_carry)
            out = self.bind(
                *[*invariant, *ts, *varying],
                jaxpr=parts.linear,
                num_consts=len(invariant) + sum(nz_consts),
                num_carry=sum(nz_carry),
                **params,
            )
            return fill(out, parts.out_nz, outs)

        return outs, push

    def transpose(self, cts, *args, jaxpr, num_carry, num_consts, reverse, **params):
        consts, _, xs = split_list(args, num_consts, num_carry)
        linear = undefs(consts) + (True,) * num_carry + undefs(xs)
        ys_nz = masks(cts[num_carry:])
        body = transpose_scan(jaxpr, linear, ys_nz, num_consts, num_carry)
        sums = [zeros(a) for a in take(jaxpr.in_avals[:num_consts], linear[:num_consts])]
        outs = self.bind(
            *[*known(consts), *sums, *map(instantiate, cts[:num_carry])],
            *[*take(cts[num_carry:], ys_nz), *known(xs)],
            jaxpr=body,
            num_consts=len(known(consts)),
            num_carry=len(sums) + num_carry,
            reverse=not reverse,
            **params,
        )
        outs = spread(outs, linear, lambda i: None)
        # a carry that is not Undef is a zero tangent made for the fixpoint: drop its cotangent
        return [o if isinstance(a, Undef) else None for o, a in zip(outs, args)]

    def batch(self, axis, vals, dims, /, *, jaxpr, num_carry, num_consts, **params):
        batched = tuple(d is not None for d in dims)
        n_ys = len(jaxpr.outvars) - num_carry

        def batched_for(carry):
            mask = batched[:num_consts] + carry + batched[num_consts + num_carry :]
            in_dims = tuple(0 if b else None for b in mask)
            return batch_jaxpr(jaxpr, axis, in_dims, carry + (False,) * n_ys)

        carry = batched[num_consts : num_consts + num_carry]
        carry = fixpoint(lambda k: [d == 0 for d in batched_for(k)[1][:num_carry]], carry)
        body, out_dims = batched_for(carry)
        first_x = num_consts + num_carry
        mask = batched[:num_consts] + carry + batched[first_x:]
        vals = list(vals)
        for i, (d, is_batched) in enumerate(zip(dims, mask)):
            if d is not None:
                vals[i] = moveaxis(vals[i], d, int(i >= first_x))
            elif is_batched:
                vals[i] = new_front(vals[i], axis.size)
        outs = self.bind(*vals, jaxpr=body, num_carry=num_carry, num_consts=num_consts, **params)
        return outs, [d if d is None or i < num_carry else 1 for i, d in enumerate(out_dims)]

    def dce(self, eqn, used):
        jaxpr, num_consts = eqn.params["jaxpr"], eqn.params["num_consts"]
        num_carry = eqn.params["num_carry"]
        ys = tuple(used[num_carry:])

        def needed(carry):
            return dce_pruned(jaxpr, carry + ys)[1]

        carry = fixpoint(
            lambda k: needed(k)[num_consts : num_consts + num_carry], tuple(used[:num_carry])
        )
        mask = needed(carry)
        mask = mask[:num_consts] + list(carry) + mask[num_consts + num_carry :]
        params = {
            **eqn.params,
            "jaxpr": dce_scan(jaxpr, carry + ys, tuple(mask)),
            "num_consts": sum(mask[:num_consts]),
            "num_carry": sum(carry),
        }
        return eqn.replace(
            invars=take(eqn.invars, mask), params=params, outvars=take(eqn.outvars, carry + ys)
        )


@memo
def dce_scan(jaxpr, used, mask):
    """The body with the used outputs, and the inputs of the mask."""
    kept = dce(jaxpr, used)
    return kept.replace(invars=take(kept.invars, mask))


scan_p = Scan("scan")

# ---- the function -------------------------------------------------------------------------------


@boundary
def scan(f, init, xs=None, length=None, reverse=False, unroll=1, _split_transpose=False):
    """Loop over the leading axis of arrays, carrying state along.

    Args:
      f: function (carry, x) -> (new carry, y); the carry keeps its structure, shapes and dtypes.
      init: first carry, a pytree.
      xs: pytree of arrays of one leading size, or None.
      length: number of steps, needed when xs is None.
      reverse: go from the last x to the first.
      unroll: accepted as JAX's; the compiler decides.

    Returns (last carry, ys), the ys stacked along a new leading axis.
    Raises TypeError when f changes the type of the carry, ValueError when lengths differ.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.scan(lambda total, x: (total + x, total + x), 0, jnp.array([1, 2, 3]))
    (Array(6, dtype=int32), Array([1, 3, 6], dtype=int32))
    """
    if not callable(f):
        raise TypeError(f"lax.scan: f argument should be a callable, got {f!r}.")
    init_leaves, init_tree = tree_flatten(init)
    xs_leaves, xs_tree = tree_flatten(xs)
    carry = lift_args(init_leaves, "scan", "init")
    xs_vals = lift_args(xs_leaves, "scan", "xs")
    length = scan_length(xs, xs_vals, length)
    if current_flags().disable_jit:
        return scan_in_python(f, tree_map(lift, init), xs_vals, xs_tree, length, reverse)
    x_avals = [x.aval.update(shape=x.shape[1:]) for x in xs_vals]
    in_tree = treedef_tuple([init_tree, xs_tree])
    while True:
        avals = [c.aval for c in carry] + x_avals
        jaxpr, captured, out_tree = trace_fun(f, avals, in_tree)
        carry_tree, y_tree = split_output(out_tree)
        out_avals = jaxpr.out_avals[: carry_tree.num_leaves]
        promoted = promote_weak(carry, out_avals) if carry_tree == init_tree else None
        if promoted is None:
            break
        carry = promoted
    differences = type_differences(
        init_tree, [c.aval for c in carry], carry_tree, out_avals, "carry in", "carry out"
    )
    if differences:
        raise TypeError(
            "scan body function carry input and carry output must have equal types, but they "
            "differ:\n" + "\n".join(differences) + "\nRevise the scan body so that all output "
            "types match the types of the carry it was given."
        )
    outs = bind_forwarding(
        jaxpr,
        captured,
        carry,
        xs_vals,
        length=length,
        reverse=bool(reverse),
        unroll=1 if unroll is True else int(unroll),
    )
    carry, ys = split_list(outs, len(carry))
    return tree_unflatten(init_tree, carry), tree_unflatten(y_tree, ys)


def scan_in_python(f, carry, xs, xs_tree, length, reverse):
    """The loop without tracing, for disable_jit: f sees values."""
    if length == 0:
        raise ValueError(
            "zero-length scan is not supported in disable_jit() mode because the output type is "
            "unknown."
        )
    rows = [None] * length
    for i in range(length)[::-1] if reverse else range(length):
        x = tree_unflatten(xs_tree, [index_in_dim(v, i, keepdims=False) for v in xs])
        carry, rows[i] = f(carry, x)
    return carry, tree_map(lambda *ys: stack(list(map(lift, ys))), *rows)


def bind_forwarding(jaxpr, consts, carry, xs, **params):
    """Bind without what needs no loop: a carry that never changes becomes a constant, a y that is
    an x is that x."""
    n = len(consts)
    body, fixed, copied, sources = without_forwarding(jaxpr, n, len(carry))
    outs = scan_p.bind(
        *[*take(carry, fixed), *consts, *drop(carry, fixed), *xs],
        jaxpr=body,
        num_carry=fixed.count(False),
        num_consts=n + sum(fixed),
        **params,
    )
    moving, ys = split_list(outs, fixed.count(False))
    carry_out = spread(moving, [not f for f in fixed], lambda i: carry[i])
    x_of = [s - n - len(carry) if c else None for s, c in zip(sources[len(carry) :], copied)]
    return carry_out + spread(ys, [not c for c in copied], lambda i: xs[x_of[i]])


@memo
def without_forwarding(jaxpr, n, n_carry):
    """-> the body without what needs no loop; which carries are fixed, which ys copied, of what."""
    sources = forwarding(jaxpr)
    fixed = [source == n + i for i, source in enumerate(sources[:n_carry])]
    copied = [s is not None and s >= n + n_carry for s in sources[n_carry:]]
    const_vars, carry_vars, x_vars = split_list(jaxpr.invars, n, n_carry)
    carry_outs, y_outs = split_list(jaxpr.outvars, n_carry)
    body = jaxpr.replace(
        invars=[*take(carry_vars, fixed), *const_vars, *drop(carry_vars, fixed), *x_vars],
        outvars=[*drop(carry_outs, fixed), *drop(y_outs, copied)],
    )
    return body, fixed, copied, sources


def scan_length(xs, vals, length):
    """The number of steps."""
    for path, x in tree_flatten_with_path(xs)[0]:
        if lift(x).ndim == 0:
            raise ValueError(
                f"scan got value with no leading axis to scan over: xs{keystr(path)} is a scalar."
            )
    sizes = {x.shape[0] for x in vals}
    if length is not None:
        try:
            length = operator.index(length)
        except TypeError as e:
            error = ConcretizationTypeError if isinstance(length, Tracer) else TypeError
            raise error(
                f"The `length` argument to `scan` expects a concrete `int` value: {e}"
            ) from None
        if any(n != length for n in sizes):
            raise ValueError(
                f"scan got `length` argument of {length} which disagrees with leading axis sizes "
                f"{sorted(sizes)}."
            )
        return length
    if len(sizes) > 1:
        text = ", ".join(str(x.shape[0]) for x in vals)
        paths = [keystr(path) for path, _ in tree_flatten_with_path(xs)[0]]
        rows = [(f"xs{p}", x.aval.str_short(), 0, x.shape[0]) for p, x in zip(paths, vals)]
        table = "\n".join(shape_messages.sizes(rows))
        raise ValueError(f"scan got values with different leading axis sizes: {text}.\n{table}")
    if not sizes:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    return sizes.pop()


def split_output(out_tree):
    """The structures of carry and y."""
    parts = treedef_children(out_tree)
    if out_tree.node_data() is None or out_tree.node_data()[0] not in (tuple, list):
        raise TypeError(f"scan body output must be a pair, got structure {out_tree}.")
    if len(parts) != 2:
        raise TypeError(
            f"scan body output must be a pair (carry, y), got {len(parts)} values: {out_tree}."
        )
    return parts
