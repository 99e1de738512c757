"""while_loop and fori_loop: loops whose number of steps may depend on values."""

import weakref

import numpy as np

from tinyjax import dtypes
from tinyjax.array import Array, lift
from tinyjax.config import current_flags
from tinyjax.core import Tracer, Var, Zero, memo, run
from tinyjax.errors import ConcretizationTypeError
from tinyjax.primitives.arithmetic import add, lt
from tinyjax.primitives.linear import (
    batched_front,
    broadcast_in_dim,
    convert,
    instantiate,
    moveaxis,
)
from tinyjax.primitives.reducing import reduce_or_p
from tinyjax.primitives.selection import select_n
from tinyjax.tracebacks import boundary
from tinyjax.transforms.batching import fronts
from tinyjax.transforms.call import fill, masks
from tinyjax.transforms.flat import lift_args
from tinyjax.transforms.loops import (
    Loop,
    forwarding,
    promote_weak,
    trace_fun,
    type_differences,
)
from tinyjax.transforms.programs import batch_jaxpr, jvp_jaxpr
from tinyjax.transforms.scan import scan
from tinyjax.transforms.stage import dce, opened, stage_closed, used_inputs
from tinyjax.tree_util import tree_flatten, tree_map, tree_structure, tree_unflatten, treedef_tuple
from tinyjax.util import fixpoint, split_list, spread, take


@memo
def jvp_while(body, cond, nz, n_body):
    """-> masks of constants and (completed) carries with tangents, joint cond and body."""
    const_nz, carry_nz = nz[:n_body], nz[n_body:]
    carry_nz = fixpoint(lambda k: jvp_jaxpr(body, const_nz + k, k)[1], carry_nz)
    joint, _ = jvp_jaxpr(body, const_nz + carry_nz, carry_nz)
    b, k, tb, tk = split_list(joint.invars, n_body, len(carry_nz), sum(const_nz))
    joint_cond = cond.replace(invars=cond.invars + [Var(v.aval) for v in tk])
    return const_nz, carry_nz, joint_cond, joint.replace(invars=b + tb + k + tk)


@memo
def single_predicate(cond, body, n_cond):
    """A batch of loops as one loop: go on while any predicate holds; carries whose own predicate
    fails stay as they are."""
    lanes = range(len(cond.out_avals[0].shape))

    def any_cond(*args):
        (p,) = run(cond, *args)
        return [reduce_or_p.bind(p, axes=tuple(lanes))]

    def guarded_body(*args):
        n = len(args) - len(body.outvars)
        cond_consts, body_consts, carry = split_list(args, n_cond, n - n_cond)
        (p,) = run(cond, *cond_consts, *carry)
        new = run(body, *body_consts, *carry)
        return [select_n(broadcast_in_dim(p, v.shape, lanes), o, v) for o, v in zip(carry, new)]

    avals = [*cond.in_avals[:n_cond], *body.in_avals]
    return stage_closed(any_cond, cond.in_avals), stage_closed(guarded_body, avals)


class While(Loop):
    """while[body_jaxpr body_nconsts cond_jaxpr cond_nconsts] cond consts, body consts, carry.

    The predicate is a scalar, or, after vmap, an array: then each element is the predicate of a
    loop of its own, and its axes are the first ones of every carry.
    """

    program = "body_jaxpr"

    def open(self, args, params):
        cond, of_cond = opened(params["cond_jaxpr"])
        body, of_body = opened(params["body_jaxpr"])
        cond_consts, rest = split_list(args, params["cond_nconsts"])
        return [*of_cond, *cond_consts, *of_body, *rest], {
            "cond_jaxpr": cond,
            "body_jaxpr": body,
            "cond_nconsts": params["cond_nconsts"] + len(of_cond),
            "body_nconsts": params["body_nconsts"] + len(of_body),
        }

    def lower(self, args, *, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
        """-> operands and parameters of the same loop with a scalar predicate, which can be run."""
        if cond_jaxpr.out_avals[0].shape:
            cond_jaxpr, body_jaxpr = single_predicate(cond_jaxpr, body_jaxpr, cond_nconsts)
            args = [*args[:cond_nconsts], *args]
            body_nconsts += cond_nconsts
        return args, {
            "cond_jaxpr": cond_jaxpr,
            "body_jaxpr": body_jaxpr,
            "cond_nconsts": cond_nconsts,
            "body_nconsts": body_nconsts,
        }

    def impl(self, *args, **params):
        args, params = self.lower(args, **params)
        return self.run(*args, **params)

    def run(self, *args, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
        """The loop itself."""
        cond_consts, body_consts, carry = split_list(args, cond_nconsts, body_nconsts)
        while run(cond_jaxpr, *cond_consts, *carry)[0].npy:
            carry = run(body_jaxpr, *body_consts, *carry)
        return carry

    def type(self, *avals, body_jaxpr, **_):
        return body_jaxpr.out_avals

    def jvp(self, primals, tangents, *, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
        nz = masks(tangents)[cond_nconsts:]
        const_nz, carry_nz, cond, body = jvp_while(body_jaxpr, cond_jaxpr, nz, body_nconsts)
        cond_consts, body_consts, carry = split_list(primals, cond_nconsts, body_nconsts)
        _, t_consts, t_carry = split_list(tangents, cond_nconsts, body_nconsts)
        t_consts = take(t_consts, const_nz)
        t_carry = [instantiate(t) for t in take(t_carry, carry_nz)]
        outs = self.bind(
            *[*cond_consts, *body_consts, *t_consts, *carry, *t_carry],
            cond_jaxpr=cond,
            body_jaxpr=body,
            cond_nconsts=cond_nconsts,
            body_nconsts=body_nconsts + len(t_consts),
        )
        outs, ts = split_list(outs, len(carry))
        return outs, fill(ts, carry_nz, outs)

    def linearize(self, nz, *xs, **params):
        outs = self.bind(*xs, **params)
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        moving = jvp_while(params["body_jaxpr"], params["cond_jaxpr"], tuple(nz[n_cond:]), n_body)

        def push(*ts):  # runs the loop again, and cannot be transposed
            if not any(moving[1]):
                return [Zero(o.aval) for o in outs]
            return self.jvp(xs, ts, **params)[1]

        return outs, push

    def transpose(self, cts, *args, **params):
        raise ValueError(
            "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
            "dynamic start/stop values: it would have to store every step, of a number that is not "
            "known. Try using lax.scan, or using fori_loop with static start/stop."
        )

    def batch(self, axis, vals, dims, /, *, cond_jaxpr, body_jaxpr, cond_nconsts, body_nconsts):
        vals, dims = fronts(vals, dims)
        cond_dims, body_dims, carry_dims = split_list(dims, cond_nconsts, body_nconsts)

        def as_dims(mask, at):
            return tuple(at if b else None for b in mask)

        def cond_for(carry, at):
            return batch_jaxpr(cond_jaxpr, axis, (*cond_dims, *as_dims(carry, at)), (False,))

        def body_for(carry, at):
            return batch_jaxpr(body_jaxpr, axis, (*body_dims, *as_dims(carry, at)), carry, at)

        rank = len(cond_jaxpr.out_avals[0].shape)

        def step(carry):
            if cond_for(carry, rank)[1][0] == 0:
                return [True] * len(carry)  # lanes end at different steps
            return [d is not None for d in body_for(carry, rank)[1]]

        mask = fixpoint(step, tuple(d == 0 for d in carry_dims))
        # the predicate's axes come first: a new one in front of them, any other behind them
        at = 0 if cond_for(mask, rank)[1][0] == 0 else rank
        cond_consts, body_consts, carry = split_list(vals, cond_nconsts, body_nconsts)
        carry = [
            moveaxis(batched_front(axis, v, d), 0, at) if b else v
            for v, b, d in zip(carry, mask, carry_dims)
        ]
        outs = self.bind(
            *[*cond_consts, *body_consts, *carry],
            cond_jaxpr=cond_for(mask, at)[0],
            body_jaxpr=body_for(mask, at)[0],
            cond_nconsts=cond_nconsts,
            body_nconsts=body_nconsts,
        )
        return outs, as_dims(mask, at)


while_p = While("while")

# ---- the functions ------------------------------------------------------------------------------


@boundary
def while_loop(cond_fun, body_fun, init_val):
    """Repeat body_fun while cond_fun holds.

    Args:
      cond_fun: function of the carry that returns a boolean scalar.
      body_fun: function of the carry that returns a new one, of the same structure and types.
      init_val: first carry, a pytree.

    Returns the last carry. Raises TypeError when cond_fun returns no boolean scalar or body_fun
    changes the type of the carry. Forward-mode derivatives only.

    >>> from tinyjax import lax
    >>> lax.while_loop(lambda x: x < 100, lambda x: x * 2, 1)
    Array(128, dtype=int32, weak_type=True)
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    if current_flags().disable_jit:
        try:
            return while_in_python(cond_fun, body_fun, init_val)
        except ConcretizationTypeError:
            pass  # a vmap is going on, whose values are not known: the primitive can do it
    leaves, tree = tree_flatten(init_val)
    carry, in_tree = lift_args(leaves, "while_loop", "init_val"), treedef_tuple([tree])
    while True:
        avals = [c.aval for c in carry]
        cond, cond_consts, cond_tree = trace_fun(cond_fun, avals, in_tree)
        body, body_consts, body_tree = trace_fun(body_fun, avals, in_tree)
        promoted = promote_weak(carry, body.out_avals) if body_tree == tree else None
        if promoted is None:
            break
        carry = promoted
    if cond_tree != tree_structure(0):
        raise TypeError(f"cond_fun must return a boolean scalar, but got pytree {cond_tree}.")
    if cond.out_avals[0].shape or cond.out_avals[0].dtype != np.bool_:
        raise TypeError(
            "cond_fun must return a boolean scalar, but got output type(s) "
            f"{cond.out_avals[0].str_short()}."
        )
    differences = type_differences(tree, avals, body_tree, body.out_avals, "input", "output")
    if differences:
        raise TypeError(
            "while_loop body function carry input and carry output must have equal types, but "
            "they differ:\n" + "\n".join(differences)
        )
    return tree_unflatten(tree, bind_forwarding(cond, cond_consts, body, body_consts, carry))


def while_in_python(cond_fun, body_fun, val):
    """The loop without tracing, for disable_jit: the functions see values."""
    val = tree_map(lift, val)
    while cond_fun(val):
        val = tree_map(lift, body_fun(val))
    return val


def bind_forwarding(cond, cond_consts, body, body_consts, carry):
    """Bind, where carries that never change and do not matter to the predicate are constants."""
    n = len(body_consts)
    cond, body, fixed = without_forwarding(body, cond, len(cond_consts), n)
    moving = [not f for f in fixed]
    outs = while_p.bind(
        *[*cond_consts, *take(carry, fixed), *body_consts, *take(carry, moving)],
        cond_jaxpr=cond,
        body_jaxpr=body,
        cond_nconsts=len(cond_consts),
        body_nconsts=n + sum(fixed),
    )
    return spread(outs, moving, lambda i: carry[i])


@memo
def without_forwarding(body, cond, n_cond, n_body):
    """-> predicate and body without what needs no loop; which carries are constants."""
    read = used_inputs(dce(cond))[n_cond:]
    fixed = [s == n_body + i and not r for i, (s, r) in enumerate(zip(forwarding(body), read))]
    moving = [not f for f in fixed]
    const_vars, carry_vars = split_list(body.invars, n_body)
    body = body.replace(
        invars=[*take(carry_vars, fixed), *const_vars, *take(carry_vars, moving)],
        outvars=take(body.outvars, moving),
    )
    cond_vars, pred_vars = split_list(cond.invars, n_cond)
    return cond.replace(invars=cond_vars + take(pred_vars, moving)), body, fixed


@boundary
def fori_loop(lower, upper, body_fun, init_val, *, unroll=None):
    """Repeat val = body_fun(i, val) for i from lower to upper (excluded).

    Args:
      lower, upper: integers. When both are Python ints the loop can be differentiated in reverse
        mode; otherwise it becomes a while_loop.
      body_fun: function (i, val) -> new val, of the same structure and types.
      init_val: first val, a pytree.
      unroll: accepted as JAX's.

    Returns the last val.

    >>> from tinyjax import lax
    >>> lax.fori_loop(0, 5, lambda i, total: total + i, 0)
    Array(10, dtype=int32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    dtype = loop_dtype(lower, upper)
    low, high = (x if x.dtype == dtype else convert(x, dtype) for x in map(lift, (lower, upper)))
    known = [static_value(b) for b in (lower, upper)]
    if all(k is not None for k in known):
        if known[1] <= known[0] and current_flags().disable_jit:
            return init_val
        return fori_scan(max(known[1] - known[0], 0), known[0], body_fun, init_val)
    body = with_index(counted, body_fun)
    return while_loop(before_stop, body, (low, high, init_val))[2]


def before_stop(carry):
    """The predicate of a counting loop."""
    i, stop, _ = carry
    return lt(i, stop)


def next_index(i):
    """i + 1."""
    return add(i, Array(np.ones((), i.dtype), literal=True))


def counted(body_fun):
    """The body of a while loop that counts."""

    def body(carry):
        i, stop, val = carry
        return next_index(i), stop, body_fun()(i, val)

    return body


def scanned(body_fun):
    """The body of a scan that counts."""

    def step(carry, _):
        i, val = carry
        return (next_index(i), body_fun()(i, val)), None

    return step


_with_index: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def with_index(maker, body_fun):
    """maker(a reference to body_fun), the same function each time: so it is traced once."""
    try:
        known = _with_index.setdefault(body_fun, {})
    except TypeError:  # a callable without a hash or weak references
        return maker(lambda: body_fun)
    if maker not in known:
        known[maker] = maker(weakref.ref(body_fun))
    return known[maker]


def fori_scan(length, lower, body_fun, init_val):
    """A loop of known length, as a scan that carries the index."""
    return scan(with_index(scanned, body_fun), (lower, init_val), None, length)[0][1]


def loop_dtype(lower, upper):
    """The dtype of the loop index; TypeError unless both bounds are integer scalars."""
    for name, bound in (("lower", lower), ("upper", upper)):
        value = lift(bound)
        if value.shape or not dtypes.issubdtype(value.dtype, np.integer):
            raise TypeError(
                f"lower and upper arguments to fori_loop must be integer scalars, got {name} of "
                f"type {value.aval.str_short()}."
            )
    a, b = lift(lower), lift(upper)
    dtype, _ = dtypes.lattice_result_type(a, b)
    if not (a.weak_type or b.weak_type) and a.dtype != b.dtype:
        raise TypeError(
            f"lower and upper arguments to fori_loop must have equal types, got {a.dtype} and "
            f"{b.dtype}"
        )
    return dtype


def static_value(bound):
    """The loop bound as an int, or None while it is traced."""
    bound = bound.concrete() if isinstance(bound, Tracer) and bound.trace.alive else bound
    return None if bound is None else int(bound)
