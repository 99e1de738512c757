"""cond and switch: one of several programs, chosen by a value."""

import numpy as np

from tinyjax.array import Array, lift
from tinyjax.avals import ShapedArray
from tinyjax.config import current_flags
from tinyjax.core import Var, all_eqns, memo, run
from tinyjax.primitives.arithmetic import const, eq
from tinyjax.primitives.identities import stop_gradient
from tinyjax.primitives.linear import batched_front, broadcast_in_dim, convert, zeros
from tinyjax.primitives.random_bits import once_more
from tinyjax.primitives.reducing import argmax, reduce_or
from tinyjax.primitives.selection import clamp, select_n
from tinyjax.primitives.slicing import dynamic_index_in_dim
from tinyjax.tracebacks import boundary
from tinyjax.transforms.batching import fronts
from tinyjax.transforms.call import fill, known, masks, undefs
from tinyjax.transforms.flat import fun_name, lift_args
from tinyjax.transforms.loops import Loop, forwarding, trace_fun, type_differences
from tinyjax.transforms.programs import (
    batch_jaxpr,
    jvp_jaxpr,
    linearize_jaxpr,
    spread_cts,
    transpose_jaxpr,
)
from tinyjax.transforms.stage import dce, opened, prune, stage_closed, used_inputs
from tinyjax.transforms.while_loop import static_value, while_p
from tinyjax.tree_util import tree_flatten, tree_unflatten
from tinyjax.util import split_list, spread, take

# ---- programs -----------------------------------------------------------------------------------


def any_of(masks_):
    """The union of several masks."""
    return tuple(map(any, zip(*masks_)))


def bind_pruned(index, xs, branches):
    """Bind without the operands that no branch uses."""
    used = any_of([used_inputs(b) for b in branches])
    return cond_p.bind(index, *take(xs, used), branches=take_inputs(branches[0], branches, used))


@memo
def take_inputs(_, branches, mask):
    """The branches with the inputs of the mask only."""
    return tuple(b.replace(invars=take(b.invars, mask)) for b in branches)


@memo
def linearize_branches(_, branches, nz):
    """-> forward branches, linear branches, mask of nonzero tangents out.

    All branches get the same residual slots, shared by type; a branch fills those it does not use
    with zeros.
    """
    out_nz = any_of([linearize_jaxpr(b, nz).nz for b in branches])
    parts = [linearize_jaxpr(b, nz, out_nz) for b in branches]
    n_out, n_in, slots, seats = len(out_nz), len(nz), [], []
    for part in parts:
        seat = []
        for aval in part.forward.out_avals[n_out:]:
            free = [s for s, slot in enumerate(slots) if slot == aval and s not in seat]
            if not free:
                free = [len(slots)]
                slots.append(aval)
            seat.append(free[0])
        seats.append(seat)

    def forward(part, seat):
        def f(*xs):
            outs, new = split_list(run(part.forward, *xs), n_out)
            own = dict(zip(seat, new))
            return outs + [own[s] if s in own else zeros(a) for s, a in enumerate(slots)]

        return stage_closed(f, part.forward.in_avals)

    def linear(part, seat):
        def f(*args):
            values, slot, ts = split_list(args, n_in + n_out, len(slots))
            pool = values + [slot[s] for s in seat]
            return run(part.linear, *[pool[i] for i in part.residuals], *ts)

        ins, outs = branches[0].in_avals, branches[0].out_avals
        return stage_closed(f, [*ins, *outs, *slots, *take(ins, nz)])

    return tuple(map(forward, parts, seats)), tuple(map(linear, parts, seats)), out_nz


@memo
def dce_branches(_, branches, used):
    """Branches with the used outputs and only the inputs that one of them needs; that mask."""
    kept = [dce(b, used) for b in branches]
    mask = any_of([prune(b)[1] for b in kept])
    return take_inputs(kept[0], tuple(kept), mask), mask


# ---- the card -----------------------------------------------------------------------------------


class Cond(Loop):
    """cond[branches] index *operands: run the branch with that number."""

    program = "branches"

    def open(self, args, params):
        programs = list(map(opened, params["branches"]))
        captured = list({id(c): c for _, cs in programs for c in cs}.values())
        branches = tuple(with_all_captured(jaxpr, cs, captured) for jaxpr, cs in programs)
        return [args[0], *captured, *args[1:]], {"branches": branches}

    def impl(self, index, *xs, branches):
        outs = run(branches[min(max(int(index.npy), 0), len(branches) - 1)], *xs)
        weak = [a.weak_type for a in branches[0].out_avals]  # branches may differ in it
        return [o if o.weak_type == w else Array(o.npy, w) for o, w in zip(outs, weak)]

    def eager(self, index, *xs, branches):
        return self.impl(index, *xs, branches=branches)

    def type(self, index, *avals, branches):
        return branches[0].out_avals

    def jvp(self, primals, tangents, *, branches):
        nz = masks(tangents[1:])
        out_nz = any_of([jvp_jaxpr(b, nz)[1] for b in branches])
        joint = tuple(jvp_jaxpr(b, nz, out_nz)[0] for b in branches)
        outs = self.bind(*primals, *take(tangents[1:], nz), branches=joint)
        outs, ts = split_list(outs, len(out_nz))
        return outs, fill(ts, out_nz, outs)

    def linearize(self, nz, index, *xs, branches):
        nz = tuple(nz[1:])
        forward, linear, out_nz = linearize_branches(branches[0], branches, nz)
        pool = self.bind(index, *xs, branches=forward)
        outs = pool[: len(out_nz)]

        def push(_, *ts):
            return fill(bind_pruned(index, [*xs, *pool, *take(ts, nz)], linear), out_nz, outs)

        return outs, push

    def transpose(self, cts, index, *args, branches):
        linear, ct_nz = undefs(args), masks(cts)
        nz = any_of([transpose_jaxpr(b, linear, ct_nz)[1] for b in branches])
        backward = tuple(transpose_jaxpr(b, linear, ct_nz, nz)[0] for b in branches)
        out = bind_pruned(index, known(args) + take(cts, ct_nz), backward)
        return [None, *spread_cts(out, nz, args)]

    def batch(self, axis, vals, dims, /, *, branches):
        vals, dims = fronts(vals, dims)
        if dims[0] is None:
            none = (False,) * len(branches[0].outvars)
            found = [batch_jaxpr(b, axis, dims[1:], none)[1] for b in branches]
            force = any_of([[d == 0 for d in ds] for ds in found])
            batched = [batch_jaxpr(b, axis, dims[1:], force) for b in branches]
            return self.bind(*vals, branches=tuple(b for b, _ in batched)), batched[0][1]
        return self.batch_by_select(axis, vals, dims, branches)

    def batch_by_select(self, axis, vals, dims, branches):
        """A batched index: run all branches and select, lane by lane."""
        index, *xs = vals
        xs = [batched_front(axis, x, d) for x, d in zip(xs, dims[1:])]
        force, outs = (True,) * len(branches[0].outvars), []
        for n, branch in enumerate(branches):
            mask = eq(index, const(index, n))
            batched, _ = batch_jaxpr(branch, axis, (0,) * len(xs), force)
            values = [once_more(x) for x in xs]  # a lane takes one branch: its key is used once
            if any(eqn.primitive is while_p for eqn in all_eqns(branch)):
                outs.append(run_on_own_lanes(batched, mask, values))
            else:
                # no derivative flows into lanes that take another branch: 0 * nan is nan
                own = [select_lanes(mask, stop_gradient(x), x) for x in values]
                outs.append(run(batched, *own))
        return [select_lanes(index, *cases) for cases in zip(*outs)], [0] * len(force)

    def dce(self, eqn, used):
        branches, mask = dce_branches(
            eqn.params["branches"][0], eqn.params["branches"], tuple(used)
        )
        return eqn.replace(
            invars=[eqn.invars[0], *take(eqn.invars[1:], mask)],
            params={"branches": branches},
            outvars=take(eqn.outvars, used),
        )


def select_lanes(which, *cases):
    """select_n with a mask or number per lane."""
    shape = cases[0].shape
    return select_n(broadcast_in_dim(which, shape, [0]), *cases)


def run_on_own_lanes(batched, mask, xs):
    """Run a branch that holds a loop, whose end is certain only for the lanes that chose it.

    The other lanes get the operands of one that did; if none did, it does not run at all.
    """
    index = convert(reduce_or(mask, (0,)), np.dtype(np.int32))
    none, own = own_lanes(batched, mask.shape[0])
    return cond_p.bind(index, mask, *xs, branches=(none, own))


@memo
def own_lanes(batched, size):
    """-> the program that gives zeros, and the one that runs the branch on safe operands."""
    mask_aval = ShapedArray((size,), np.dtype(bool))

    def none(mask, *xs):
        return [zeros(a) for a in batched.out_avals]

    def own(mask, *xs):
        first = argmax(mask, 0, np.int32)
        safe = [select_lanes(mask, spread_row(x, first), x) for x in xs]
        return run(batched, *safe)

    avals = [mask_aval, *batched.in_avals]
    return stage_closed(none, avals), stage_closed(own, avals)


def spread_row(x, i):
    """Row i of x in every row."""
    return broadcast_in_dim(dynamic_index_in_dim(x, i, keepdims=True), x.shape, range(x.ndim))


cond_p = Cond("cond")

NO_OPERAND = object()  # None is an operand

# ---- the functions ------------------------------------------------------------------------------


@boundary
def cond(pred, true_fun, false_fun, *operands, operand=NO_OPERAND):
    """true_fun(*operands) if pred holds, else false_fun(*operands).

    Args:
      pred: boolean (or numeric) scalar. Under vmap, with a batched pred, both branches run.
      true_fun, false_fun: functions whose results agree in structure, shapes and dtypes.
      operands: their arguments, pytrees.

    Raises TypeError when pred is no scalar or the results differ in type.

    >>> from tinyjax import lax
    >>> lax.cond(True, lambda x: x + 1, lambda x: x - 1, 5)
    Array(6, dtype=int32, weak_type=True)
    """
    if not (callable(true_fun) and callable(false_fun)):
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    if operand is not NO_OPERAND:
        operands = (operand,)
    value = lift_pred(pred)
    if value.dtype != np.bool_:
        value = convert(value, np.dtype(bool)) if value.literal else value != 0
    if current_flags().disable_jit:
        known = static_value(value)
        if known is not None:
            return true_fun(*operands) if known else false_fun(*operands)
    index = convert(value, np.dtype(np.int32))
    branches, names = [true_fun, false_fun], ("true_fun", "false_fun")
    return choose(index, branches, operands, names, true_first=True)


def lift_pred(pred):
    """The predicate as a scalar Value."""
    if isinstance(pred, (list, tuple)):
        raise TypeError(f"Pred must be a scalar, got {pred} of type {type(pred)}.")
    try:
        value = lift(pred)
    except TypeError:
        raise TypeError(f"Pred type must be either boolean or number, got {pred!r}.") from None
    if value.dtype.kind == "c":
        raise TypeError(f"Pred type must be either boolean or number, got {value.dtype}.")
    if value.shape:
        raise TypeError(
            f"Pred must be a scalar, got {pred} of shape {value.shape}. To choose element by "
            "element use jnp.where(pred, a, b)."
        )
    return value


@boundary
def switch(index, branches, *operands, operand=NO_OPERAND):
    """branches[index](*operands), with index clamped to the existing ones.

    Args:
      index: integer scalar.
      branches: functions whose results agree in structure, shapes and dtypes.
      operands: their arguments, pytrees.

    >>> from tinyjax import lax
    >>> lax.switch(1, [lambda x: x, lambda x: x * 10], 5)
    Array(50, dtype=int32, weak_type=True)
    """
    branches = list(branches)
    if not branches:
        raise ValueError("Empty branch sequence: lax.switch needs at least one function.")
    if not all(map(callable, branches)):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    if operand is not NO_OPERAND:
        operands = (operand,)
    value = lift(index)
    if value.shape:
        raise TypeError(f"Branch index must be scalar, got {index} of shape {value.shape}.")
    if value.dtype.kind not in "iu":
        raise TypeError(f"Index type must be an integer, got {value.dtype}.")
    if len(branches) == 1:
        return branches[0](*operands)
    value = convert(value, np.dtype(np.int32))
    low, high = (Array(np.asarray(n, np.int32), literal=True) for n in (0, len(branches) - 1))
    value = clamp(low, value, high)
    if current_flags().disable_jit:
        known = static_value(value)
        if known is not None:
            return branches[known](*operands)
    return choose(value, branches, operands, [f"branch {i}" for i in range(len(branches))])


def choose(index, branches, operands, names, true_first=False):
    """Trace all branches with common operands, and bind. true_first: they are those of cond."""
    leaves, in_tree = tree_flatten(operands)
    xs = lift_args(leaves, "cond", "operand")
    avals = [x.aval for x in xs]
    traced = [trace_fun(f, avals, in_tree, fun_name(f)) for f in branches]
    first, _, tree = traced[0]
    for (jaxpr, _, other), name in zip(traced[1:], names[1:]):
        differences = type_differences(
            tree, first.out_avals, other, jaxpr.out_avals, names[0], name
        )
        if differences:
            raise TypeError(
                f"{names[0]} and {name} output must have identical types, but they differ:\n"
                + "\n".join(differences)
            )
    captured = list({id(c): c for _, cs, _ in traced for c in cs}.values())
    programs = [with_all_captured(jaxpr, cs, captured) for jaxpr, cs, _ in traced]
    inputs, same = [*captured, *xs], same_in_all(programs)
    keep = [i is None for i in same]
    programs = [p.replace(outvars=take(p.outvars, keep)) for p in programs]
    outs = cond_p.bind(index, *inputs, branches=tuple(programs[::-1] if true_first else programs))
    return tree_unflatten(tree, spread(outs, keep, lambda i: inputs[same[i]]))


def with_all_captured(jaxpr, own, captured):
    """The program of a branch, taking the captured values of all branches."""
    vars_of = dict(zip(map(id, own), jaxpr.invars))
    invars = [vars_of[id(c)] if id(c) in vars_of else Var(c.aval) for c in captured]
    return jaxpr.replace(invars=invars + jaxpr.invars[len(own) :])


def same_in_all(programs):
    """For each output the number of the input that it is in every branch, or None."""
    return [s[0] if len(set(s)) == 1 else None for s in zip(*map(forwarding, programs))]
