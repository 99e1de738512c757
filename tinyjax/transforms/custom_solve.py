"""custom_linear_solve and custom_root: solutions whose derivatives do not look inside the solver.

If A x = b then dx = solve(A, db - dA x), whatever way x was found (the implicit function theorem);
and the transpose of solving with A is solving with A's transpose. So custom_linear_solve holds four
programs: matvec, vecmat, solve and transpose_solve. Christianson, "Reverse accumulation and
attractive fixed points" (1994), derives both rules.
"""

import functools
import itertools
from typing import Any, NamedTuple

from tinyjax.array import lift
from tinyjax.core import Undef, Zero, nonzero, run
from tinyjax.primitives.arithmetic import neg
from tinyjax.primitives.linear import add_tangents, broadcast, instantiate, moveaxis, zeros
from tinyjax.tracebacks import boundary
from tinyjax.transforms.ad import (
    LinearTracer,
    is_inexact,
    jvp_flat,
    linearize_flat,
    run_linear,
    transpose,
)
from tinyjax.transforms.call import Higher, fill
from tinyjax.transforms.custom import custom_jvp
from tinyjax.transforms.flat import FlatFun, lift_args
from tinyjax.transforms.loops import trace_fun
from tinyjax.transforms.programs import batch_jaxpr, linearize_jaxpr
from tinyjax.transforms.stage import dce, opened, prune_captured
from tinyjax.tree_util import (
    tree_flatten,
    tree_leaves,
    tree_structure,
    tree_unflatten,
    treedef_children,
)
from tinyjax.util import split_list, spread, take

# ---- the card -----------------------------------------------------------------------------------


class _LinearSolveTuple(NamedTuple):
    """Something for each of the four programs."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transpose(self):
        """The same for the transposed equation."""
        return type(self)(self.vecmat, self.matvec, self.transpose_solve, self.solve)


def parts(args, const_lengths):
    """-> what each program captured, and the right-hand side."""
    *consts, b = split_list(args, *const_lengths)
    return _LinearSolveTuple(*consts), b


def flat(lists):
    """The elements of several lists."""
    return list(itertools.chain.from_iterable(lists))


class LinearSolve(Higher):
    """custom_linear_solve[const_lengths jaxprs] *consts_of_each_program *b. Linear in b.

    Its results are the leaves of x, which are like those of b, and maybe auxiliary ones.
    """

    program = "jaxprs"

    def open(self, args, params):
        consts, b = parts(args, params["const_lengths"])
        jaxprs, operands = [], []
        for jaxpr, own in zip(params["jaxprs"], consts):
            jaxpr, captured = opened(jaxpr) if jaxpr else (None, [])
            jaxprs.append(jaxpr)
            operands.append([*captured, *own])
        lengths = _LinearSolveTuple(*map(len, operands))
        return [*flat(operands), *b], {
            "const_lengths": lengths,
            "jaxprs": _LinearSolveTuple(*jaxprs),
        }

    def impl(self, *args, const_lengths, jaxprs):
        consts, b = parts(args, const_lengths)
        return run(jaxprs.solve, *consts.solve, *b)

    def lower(self, args, *, const_lengths, jaxprs):
        """What runs is solve."""
        consts, b = parts(args, const_lengths)
        return [*consts.solve, *b], {"jaxpr": jaxprs.solve}

    def type(self, *avals, const_lengths, jaxprs):
        b = list(avals[sum(const_lengths) :])
        return b + jaxprs.solve.out_avals[len(b) :]

    def jvp(self, primals, tangents, **params):
        outs = self.bind(*primals, **params)
        consts, b = parts(primals, params["const_lengths"])
        dots, db = parts(tangents, params["const_lengths"])
        moved = [Zero(x.aval) for x in b]
        if any(map(nonzero, dots.matvec)):
            x = outs[: len(b)]
            still = [Zero(v.aval) for v in x]
            matvec = functools.partial(run, params["jaxprs"].matvec)
            _, moved = jvp_flat(matvec, [*consts.matvec, *x], [*dots.matvec, *still])
        return outs, self.tangent(outs, consts, db, moved, params)

    def linearize(self, nz, *args, **params):
        outs = self.bind(*args, **params)
        consts, b = parts(args, params["const_lengths"])
        nz_consts, _ = parts(nz, params["const_lengths"])
        moving = any(nz_consts.matvec)
        if moving:
            mask = (*nz_consts.matvec, *[False] * len(b))
            matvec = linearize_jaxpr(params["jaxprs"].matvec, mask)
            inputs = [*consts.matvec, *outs[: len(b)]]
            pool = [*inputs, *run(matvec.forward, *inputs)]

        def push(*tangents):
            dots, db = parts(tangents, params["const_lengths"])
            moved = [Zero(x.aval) for x in b]
            if moving:
                residuals = [pool[i] for i in matvec.residuals]
                ts = run(matvec.linear, *residuals, *filter(nonzero, dots.matvec))
                moved = fill(ts, matvec.nz, b)
            return self.tangent(outs, consts, db, moved, params)

        return outs, push

    def tangent(self, outs, consts, db, moved, params):
        """solve(db - dA x); zero for auxiliary results."""
        moved = [neg(t) if nonzero(t) else t for t in moved]
        total = list(map(add_tangents, db, moved))
        if not any(map(nonzero, total)):
            return [Zero(x.aval) for x in outs]
        dx = self.bind(*flat(consts), *map(instantiate, total), **params)
        return dx[: len(db)] + [Zero(x.aval) for x in outs[len(db) :]]

    def transpose(self, cts, *args, const_lengths, jaxprs):
        if jaxprs.transpose_solve is None:
            raise TypeError(
                "transpose_solve required for backwards mode automatic differentiation of "
                "custom_linear_solve"
            )
        consts, b = parts(args, const_lengths)
        if any(isinstance(x, Undef) for x in flat(consts)) or any(map(nonzero, cts[len(b) :])):
            raise NotImplementedError("custom_linear_solve is linear in its right-hand side only")
        out = self.bind(
            *flat(consts.transpose()),
            *map(instantiate, cts[: len(b)]),
            const_lengths=const_lengths.transpose(),
            jaxprs=jaxprs.transpose(),
        )
        return [None] * sum(const_lengths) + out[: len(b)]

    def batch(self, axis, vals, dims, /, *, const_lengths, jaxprs):
        consts, b = parts(vals, const_lengths)
        const_dims, b_dims = parts(dims, const_lengths)
        count, given = len(b), [d is not None for d in b_dims]
        moved = _LinearSolveTuple(*[list(map(to_front, *pair)) for pair in zip(consts, const_dims)])
        fronts = _LinearSolveTuple(*[[None if d is None else 0 for d in ds] for ds in const_dims])

        def batched(name, x_mask, force):
            """A program whose first inputs are batched as its constants are -> it, its outputs."""
            own = (*getattr(fronts, name), *[0 if m else None for m in x_mask])
            jaxpr, out = batch_jaxpr(getattr(jaxprs, name), axis, own, tuple(force))
            return jaxpr, [d is not None for d in out]

        b_mask, x_mask = given, [False] * len(jaxprs.solve.outvars)
        while True:  # until all four programs agree on what is batched
            programs, before = dict.fromkeys(_LinearSolveTuple._fields), (b_mask, x_mask)
            programs["solve"], out = batched("solve", b_mask, x_mask)
            x_mask = out
            if jaxprs.vecmat:
                aux = [True] * (len(out) - count)
                programs["vecmat"], also = batched("vecmat", b_mask, b_mask)
                x_mask = union([*also, *aux], out)
            programs["matvec"], also = batched("matvec", x_mask[:count], b_mask)
            b_mask = union(also, given)
            if jaxprs.transpose_solve:
                programs["transpose_solve"], also = batched(
                    "transpose_solve", x_mask[:count], x_mask
                )
                b_mask = union(b_mask, also[:count])
            if (b_mask, x_mask) == before:
                break
        b = [batched_rhs(axis, *three) for three in zip(b, b_dims, b_mask)]
        outs = self.bind(
            *flat(moved), *b, const_lengths=const_lengths, jaxprs=_LinearSolveTuple(**programs)
        )
        return outs, [0 if m else None for m in out]


def union(a, b):
    """Of two masks."""
    return [x or y for x, y in zip(a, b, strict=True)]


def to_front(x, dim):
    """x with its batch axis, if any, in front."""
    return x if dim is None else moveaxis(x, dim, 0)


def batched_rhs(axis, x, dim, wanted):
    """A part of b with a batch axis in front, if it is wanted."""
    return broadcast(x, (axis.size,)) if wanted and dim is None else to_front(x, dim)


linear_solve_p = LinearSolve("custom_linear_solve")


# ---- checks -------------------------------------------------------------------------------------


def check_tree(name, expected_name, tree, expected, has_aux=False):
    """Raise unless a function returned the structure of its argument (first, if has_aux)."""
    if has_aux:
        children = treedef_children(tree)
        if len(children) != 2:
            raise ValueError(
                f"{name}() produced a pytree with structure {tree}, but a pytree tuple with "
                "auxiliary output was expected because has_aux was set to True."
            )
        tree = children[0]
    if tree != expected:
        raise TypeError(
            f"{name}() output pytree structure must match {expected_name}, got {tree} and "
            f"{expected}."
        )


def shape_checked(f, name, shapes, has_aux=False):
    """f, whose result must have the shapes of b."""

    def checked(x):
        out = f(x)
        y = out[0] if has_aux and isinstance(out, (tuple, list)) and len(out) == 2 else out
        found = [lift(leaf).shape for leaf in tree_leaves(y)]
        if (not has_aux or y is not out) and found != shapes:
            raise ValueError(f"{name}() output shapes must match b, got {found} and {shapes}")
        return out

    return checked


# ---- linear equations ---------------------------------------------------------------------------


@boundary
def custom_linear_solve(
    matvec, b, solve, transpose_solve=None, symmetric=False, has_aux=False
):  # fmt: skip
    """Solve a linear equation by any method; derivatives come from the equation, not the method.

    Args:
      matvec: the linear map x -> A x; differentiable with respect to values it closes over.
      b: the right-hand side, a pytree of arrays.
      solve: function of matvec and b, to x with matvec(x) = b. It need not be differentiable.
      transpose_solve: the same for the transposed map, for reverse mode.
      symmetric: A is its own transpose, so solve does for transpose_solve.
      has_aux: solve and transpose_solve return a pair, whose second part is passed on.

    Returns solve(matvec, b).
    Raises TypeError or ValueError when a result does not look like b, and TypeError in reverse mode
    without transpose_solve.

    >>> import tinyjax as jax
    >>> from tinyjax import lax
    >>> def quotient(a, b):
    ...     def solve(matvec, b):
    ...         return b / matvec(1.0)
    ...     return lax.custom_linear_solve(lambda x: a * x, b, solve, symmetric=True)
    >>> print(jax.grad(quotient)(2.0, 3.0))  # -b / a**2
    -0.75
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    leaves, tree = tree_flatten(b)
    xs = lift_args(leaves, "custom_linear_solve")
    avals, shapes = [x.aval for x in xs], [x.shape for x in xs]
    in_tree = tree_structure((b,))

    def traced(f, name, aux=False):
        f = shape_checked(f, name, shapes, aux)
        jaxpr, captured, out_tree = trace_fun(f, avals, in_tree, name)
        check_tree(name, "b", out_tree, tree, aux)
        return jaxpr, captured, out_tree

    forward = traced(matvec, "matvec")
    solver = traced(functools.partial(solve, matvec), "solve", has_aux)
    backward = tr_solver = (None, [], None)
    if transpose_solve is not None:
        vecmat = matvec
        backward = forward
        if not symmetric:
            vecmat = transposed(matvec, avals, in_tree)
            backward = trace_fun(vecmat, avals, in_tree, "vecmat")
        tr_solver = traced(functools.partial(transpose_solve, vecmat), "transpose_solve", has_aux)
    jaxprs, consts, trees = zip(forward, backward, solver, tr_solver)
    outs = linear_solve_p.bind(
        *flat(consts),
        *xs,
        const_lengths=_LinearSolveTuple(*map(len, consts)),
        jaxprs=_LinearSolveTuple(*jaxprs),
    )
    return tree_unflatten(trees[2], outs)


def transposed(f, avals, in_tree):
    """The transpose of a linear function of one pytree."""
    g = FlatFun(f, in_tree)
    outs, trace = run_linear(g, avals)
    mask = [isinstance(o, LinearTracer) for o in outs]
    jaxpr, captured = trace.finish([o.tangent for o in take(outs, mask)], hoist=True)
    jaxpr, captured = prune_captured(dce(jaxpr), captured)

    def f_transposed(y):
        cts = take(list(map(lift, tree_leaves(y))), mask)
        ins = [*captured, *map(Undef, avals)]
        cts = map(instantiate, transpose(jaxpr, ins, cts))
        return tree_unflatten(in_tree, list(cts))[0]

    return f_transposed


# ---- roots --------------------------------------------------------------------------------------


@boundary
def custom_root(f, initial_guess, solve, tangent_solve, has_aux=False):
    """Find a root of f by any method; derivatives come from f = 0, not from the method.

    Args:
      f: function of one pytree to one of the same structure; differentiable with respect to values
        it closes over.
      initial_guess: where to begin, a pytree of arrays.
      solve: function of f and the guess, to x with f(x) = 0.
      tangent_solve: function of a linear function g (f linearized at the root) and y, to t with
        g(t) = y. For scalars: lambda g, y: y / g(1.0).
      has_aux: solve returns a pair, whose second part is passed on.

    Returns solve(f, initial_guess).
    Raises TypeError when a result has another structure than initial_guess.

    >>> import tinyjax as jax
    >>> from tinyjax import lax
    >>> def newton(f, x):
    ...     return lax.fori_loop(0, 10, lambda i, x: x - f(x) / jax.grad(f)(x), x)
    >>> def sqrt(a):
    ...     return lax.custom_root(lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> print(sqrt(4.0), jax.grad(sqrt)(4.0))
    2.0 0.25
    """
    guess, tree = tree_flatten(initial_guess)
    guess = lift_args(guess, "custom_root")
    avals, in_tree = [x.aval for x in guess], tree_structure((initial_guess,))
    f_jaxpr, f_consts, out_tree = trace_fun(f, avals, in_tree, "f")
    check_tree("f", "initial_guess", out_tree, tree)
    solver = functools.partial(solve, f)
    solve_jaxpr, solve_consts, solution_tree = trace_fun(solver, avals, in_tree, "solve")
    check_tree("solve", "initial_guess", solution_tree, tree, has_aux)

    def linearize_and_solve(x, y):
        return tangent_solve(linearized(f, x), y)

    both = tree_structure((initial_guess, initial_guess))
    tangent_jaxpr, tangent_consts, out_tree = trace_fun(
        linearize_and_solve, avals * 2, both, "tangent_solve"
    )
    check_tree("tangent_solve", "x", out_tree, tree)
    consts = [f_consts, solve_consts, tangent_consts]
    outs = _custom_root(
        tuple(map(len, consts)), (f_jaxpr, solve_jaxpr, tangent_jaxpr), *flat(consts), *guess
    )
    return tree_unflatten(solution_tree, outs)


def linearized(f, x):
    """The derivative of f at x, a linear function."""
    leaves, tree = tree_flatten(x)
    g = FlatFun(f, tree_structure((x,)))
    leaves = list(map(lift, leaves))
    outs, nz, jaxpr, residuals = linearize_flat(g, leaves, [True] * len(leaves))

    def push(t):
        ts = run(jaxpr, *residuals, *map(lift, tree_leaves(t)))
        return tree_unflatten(g.out_tree, spread(ts, nz, lambda i: zeros(outs[i].aval)))

    return push


@functools.partial(custom_jvp, nondiff_argnums=(0, 1))
def _custom_root(const_lengths, jaxprs, *args):
    """The leaves of solve's result."""
    _, consts, _, guess = split_list(args, *const_lengths)
    return run(jaxprs[1], *consts, *guess)


@_custom_root.defjvp
def _root_jvp(const_lengths, jaxprs, primals, tangents):
    """From f(m, x) = 0: dx solves (df/dx) dx = -(df/dm) dm."""
    f, _, tangent_solve = jaxprs
    f_consts, _, tangent_consts, _ = split_list(primals, *const_lengths)
    f_dots = split_list(tangents, *const_lengths)[0]
    outs = _custom_root(const_lengths, jaxprs, *primals)
    solution, aux = split_list(outs, len(f.outvars))
    still = [Zero(x.aval) for x in solution]
    _, rhs = jvp_flat(
        functools.partial(run, f),
        [*f_consts, *solution],
        [*map(lift_dot, f_consts, f_dots), *still],
    )
    rhs = map(instantiate, rhs)
    dots = [neg(t) for t in run(tangent_solve, *tangent_consts, *solution, *rhs)]
    return outs, dots + [zeros(x.aval) for x in aux]


def lift_dot(x, t):
    """A tangent of a constant; integers have none."""
    return lift(t) if is_inexact(x.aval) else Zero(x.aval)
