"""Every card, walked through the same questions: values, derivatives, batching, jit, printing.

The answers come from JAX, from finite differences and from Python loops. A primitive that no case
uses fails the last test, so a new card is tested by being registered.
"""

import importlib
import itertools
import pkgutil

import cards
import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
import pytest

import tinyjax
import tinyjax.scipy.special
from tinyjax.core import Primitive, all_eqns

CASES = [
    case
    for module in pkgutil.iter_modules(cards.__path__)
    for case in importlib.import_module(f"cards.{module.name}").CASES
]
NAMESPACES = {
    "lax": (tinyjax.lax, jax.lax),
    "random": (tinyjax.random, jax.random),
    "special": (tinyjax.scipy.special, jax.scipy.special),
    "world": (tinyjax, jax),
}
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def ours(case):
    """The case's function on tinyjax."""
    return lambda *args: case.fun(NAMESPACES[case.ns][0], *args)


def theirs(case):
    """The case's function on JAX."""
    return lambda *args: case.fun(NAMESPACES[case.ns][1], *args)


def key_data(world, x):
    """Typed keys as their numbers."""
    return world.random.key_data(x) if "key<" in str(getattr(x, "dtype", "")) else x


def leaves(world, tree):
    """Leaves as NumPy arrays, wide enough to compare."""
    out = []
    for leaf in world.tree_util.tree_leaves(tree):
        a = np.asarray(key_data(world, leaf))
        out.append(a.astype(np.float32) if a.dtype.name in ("bfloat16", "float16") else a)
    return out


def tolerance(case, dtype):
    """How far apart two results of this dtype may lie."""
    if case.tol is not None:
        return case.tol
    return {"float64": 1e-6, "complex128": 1e-6}.get(str(dtype), 2e-5)


def narrow(case):
    """Whether the case computes at 16 bits."""
    return any(str(np.asarray(a).dtype) in ("bfloat16", "float16") for a in case.args)


def assert_same(case, mine, others):
    """Equal shapes, dtypes and values."""
    mine, others = leaves(tinyjax, mine), leaves(jax, others)
    assert len(mine) == len(others)
    for a, b in zip(mine, others):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        if a.dtype.kind in "fc":
            tol = max(tolerance(case, a.dtype), 2e-2 if narrow(case) else 0)
            scale = np.max(np.abs(b[np.isfinite(b)]), initial=1e-3)
            np.testing.assert_allclose(a, b, rtol=tol, atol=tol * scale)
        else:
            np.testing.assert_array_equal(a, b)


def types(world, tree):
    """Dtype, shape and weak type of every leaf."""
    return [
        (str(x.dtype), tuple(x.shape), bool(getattr(x, "weak_type", False)))
        for x in world.tree_util.tree_leaves(tree)
    ]


# ---- values -------------------------------------------------------------------------------------


@every_case
def test_values_and_types_are_the_oracles(case):
    mine, others = ours(case)(*case.args), theirs(case)(*case.args)
    assert types(tinyjax, mine) == types(jax, others)
    assert_same(case, mine, others)


@every_case
def test_the_type_rule_tells_what_the_value_has(case):
    shapes = tinyjax.eval_shape(ours(case), *case.args)
    assert types(tinyjax, shapes) == types(tinyjax, ours(case)(*case.args))


@every_case
def test_jit_gives_the_eager_value(case):
    eager = ours(case)(*case.args)
    compiled = tinyjax.jit(ours(case))(*case.args)
    assert types(tinyjax, compiled) == types(tinyjax, eager)
    for a, b in zip(leaves(tinyjax, compiled), leaves(tinyjax, eager)):
        if a.dtype.kind in "fc":
            tol = max(tolerance(case, a.dtype), 2e-2 if narrow(case) else 0)
            np.testing.assert_allclose(a, b, rtol=tol, atol=tol)
        else:
            np.testing.assert_array_equal(a, b)


# ---- printed forms ------------------------------------------------------------------------------


def printed(world, f, *args):
    """A jaxpr's text. NumPy's older style makes the oracle print 1 where it holds np.int64(1)."""
    with np.printoptions(legacy="1.25"):
        return str(world.make_jaxpr(f)(*args))


def as_arrays(case):
    """Arguments as arrays, so that both worlds trace them."""
    numbers = (int, float, complex, bool)
    return [a if isinstance(a, numbers) else np.asarray(a) for a in case.args]


@every_case
def test_printed_form(case):
    if not case.printed:
        return
    args = as_arrays(case)
    assert printed(tinyjax, ours(case), *args) == printed(jax, theirs(case), *args)


@every_case
def test_printed_form_under_jvp(case):
    if not (case.printed and case.diff):
        return

    def joint(world, fun):
        def f(*args):
            def chosen(*xs):
                full = list(args)
                for i, x in zip(case.diff, xs):
                    full[i] = x
                return fun(*full)

            xs = tuple(args[i] for i in case.diff)
            return world.jvp(chosen, xs, xs)

        return f

    args = as_arrays(case)
    mine = printed(tinyjax, joint(tinyjax, ours(case)), *args)
    assert mine == printed(jax, joint(jax, theirs(case)), *args)


def batch_axes(case):
    """Ways to batch: every subset of the array arguments, in front; and at the end."""
    where = [i for i, a in enumerate(case.args) if isinstance(a, np.ndarray)]
    subsets = [s for n in range(1, len(where) + 1) for s in itertools.combinations(where, n)]
    for subset in subsets[:15]:
        yield tuple(0 if i in subset else None for i in range(len(case.args)))
        yield tuple(-1 if i in subset else None for i in range(len(case.args)))


def batched_args(case, axes):
    """Arguments with a batch of three at the given axes."""
    out = []
    for a, axis in zip(as_arrays(case), axes):
        if axis is None:
            out.append(a)
            continue
        rows = [np.roll(a, k) if a.ndim else a + np.asarray(k, a.dtype) for k in range(3)]
        if a.dtype == bool and not a.ndim:
            rows = [a, ~a, a]
        out.append(np.stack(rows, axis))
    return out


@every_case
def test_printed_form_under_vmap(case):
    if not (case.printed and case.batch):
        return
    for axes in batch_axes(case):
        args = batched_args(case, axes)
        mine = printed(tinyjax, tinyjax.vmap(ours(case), axes), *args)
        assert mine == printed(jax, jax.vmap(theirs(case), axes), *args), axes


# ---- batching -----------------------------------------------------------------------------------


@every_case
def test_batching_is_a_loop(case):
    if not case.batch:
        return
    for axes in batch_axes(case):
        args = batched_args(case, axes)
        mine = leaves(tinyjax, tinyjax.vmap(ours(case), axes)(*args))
        rows = []
        for k in range(3):
            one = [a if ax is None else np.take(a, k, ax) for a, ax in zip(args, axes)]
            rows.append(leaves(tinyjax, ours(case)(*one)))
        assert mine, "a batch has results"
        for a, want in zip(mine, zip(*rows), strict=True):
            want = np.stack(want)
            assert a.shape == want.shape
            tol = max(tolerance(case, a.dtype), 2e-2 if narrow(case) else 0)
            if a.dtype.kind in "fc":
                np.testing.assert_allclose(a, want, rtol=tol, atol=tol, err_msg=str(axes))
            else:
                np.testing.assert_array_equal(a, want, err_msg=str(axes))


# ---- derivatives --------------------------------------------------------------------------------


def direction(x, seed):
    """A fixed tangent for an argument."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.5, 1.5, np.shape(x)).astype(np.asarray(x).dtype)
    return t * (1 + 0.5j) if np.asarray(x).dtype.kind == "c" else t


def of_differentiated(case, fun):
    """-> fun of the differentiated arguments, these, tangents for them."""

    def chosen(*xs):
        full = list(case.args)
        for i, x in zip(case.diff, xs):
            full[i] = x
        return fun(*full)

    xs = tuple(np.asarray(case.args[i]) for i in case.diff)
    return chosen, xs, tuple(direction(x, i).astype(x.dtype) for i, x in enumerate(xs))


differentiable = pytest.mark.parametrize("case", [c for c in CASES if c.diff], ids=str)


@differentiable
def test_forward_derivative_is_the_oracles(case):
    f, xs, ts = of_differentiated(case, ours(case))
    g, _, _ = of_differentiated(case, theirs(case))
    assert_same(case, tinyjax.jvp(f, xs, ts), jax.jvp(g, xs, ts))
    jitted = tinyjax.jit(lambda *args: tinyjax.jvp(f, args, ts)[1])(*xs)
    assert_same(case, jitted, jax.jvp(g, xs, ts)[1])


def float_zeros(tree):
    """Cotangents of ones for float leaves; nothing flows to integer ones."""
    return jax.tree.map(
        lambda x: (
            np.zeros(x.shape, jax.dtypes.float0)
            if jnp.asarray(x).dtype.kind in "biu"
            else direction(np.asarray(x), 7).astype(np.asarray(x).dtype)
        ),
        tree,
    )


@differentiable
def test_reverse_derivative_is_the_oracles(case):
    f, xs, _ = of_differentiated(case, ours(case))
    g, _, _ = of_differentiated(case, theirs(case))
    out, pull = jax.vjp(g, *xs)
    cts = float_zeros(out)
    assert_same(case, tinyjax.vjp(f, *xs)[1](cts), pull(cts))


@differentiable
def test_derivatives_are_those_of_finite_differences(case):
    f, xs, ts = of_differentiated(case, ours(case))
    if not all(x.dtype == np.float32 for x in xs):
        return  # complex and narrow floats: compared with the oracle above
    with tinyjax.enable_x64(True):
        wide = [x.astype(np.float64) for x in xs]
        dirs = [t.astype(np.float64) for t in ts]
        try:
            out, tangent = tinyjax.jvp(f, tuple(wide), tuple(dirs))
        except TypeError:
            return  # another operand of the case is float32
        eps = 1e-6
        ahead = f(*[x + eps * t for x, t in zip(wide, dirs)])
        behind = f(*[x - eps * t for x, t in zip(wide, dirs)])
        for t, a, b in zip(*(leaves(tinyjax, v) for v in (tangent, ahead, behind))):
            if t.dtype.kind == "f":
                slope = (a - b) / (2 * eps)
                np.testing.assert_allclose(t, slope, rtol=2e-4, atol=2e-4)


@differentiable
def test_second_derivatives_are_the_oracles(case):
    if not case.order2:
        return

    def second(world, case_fun):
        f, xs, ts = of_differentiated(case, case_fun)

        def slope(*args):
            tangent = world.jvp(f, args, ts)[1]
            return [t for t in world.tree_util.tree_leaves(tangent) if "float0" not in str(t.dtype)]

        forward = world.jvp(slope, xs, ts)[1]
        out, pull = world.vjp(slope, *xs)
        cts = [np.ones(np.shape(o), o.dtype) for o in out]
        return forward, pull(cts)

    assert_same(case, second(tinyjax, ours(case)), second(jax, theirs(case)))


@differentiable
def test_batched_derivatives_are_the_oracles(case):
    if not case.batch:
        return

    def slopes(world, case_fun):
        f, xs, ts = of_differentiated(case, case_fun)
        batch = tuple(np.stack([x, x, x]) for x in xs)
        return world.vmap(lambda *args: world.jvp(f, args, ts)[1])(*batch)

    assert_same(case, slopes(tinyjax, ours(case)), slopes(jax, theirs(case)))


@every_case
def test_derivatives_exist_where_the_oracles_do(case):
    where = [i for i, a in enumerate(case.args) if inexact(a)]
    if not where:
        return

    def both_modes(world, fun):
        def chosen(*xs):
            full = list(case.args)
            for i, x in zip(where, xs):
                full[i] = x
            return fun(*full)

        xs = tuple(np.asarray(case.args[i]) for i in where)
        tangents = world.jvp(chosen, xs, tuple(map(np.ones_like, xs)))[1]
        out, pull = world.vjp(chosen, *xs)
        return types(world, tangents), types(world, pull(ones_like(world, out)))

    try:
        want = both_modes(jax, theirs(case))
    except Exception:
        return  # JAX has no derivative here
    found = both_modes(tinyjax, ours(case))
    assert [[t[:2] for t in ts] for ts in found] == [[t[:2] for t in ts] for ts in want]


def inexact(a):
    """Whether an argument is an array of real or complex numbers."""
    return isinstance(a, np.ndarray) and jax.dtypes.issubdtype(a.dtype, np.inexact)


def ones_like(world, tree):
    """Cotangents of ones; of float0 for integers and keys."""

    def one(x):
        if jax.dtypes.issubdtype(x.dtype, np.inexact):
            return np.ones(x.shape, x.dtype)
        return np.zeros(x.shape, jax.dtypes.float0)

    return world.tree_util.tree_map(one, tree)


# ---- completeness -------------------------------------------------------------------------------


def registered_cards():
    """Every primitive without inner programs that tinyjax.primitives defines."""
    found = {}
    for info in pkgutil.iter_modules(tinyjax.primitives.__path__):
        module = importlib.import_module(f"tinyjax.primitives.{info.name}")
        for value in vars(module).values():
            if isinstance(value, Primitive):
                found.setdefault(value.name, value)  # log has a variant with another slope
    return found


def test_every_card_has_a_case_that_uses_it():
    used = {case.prim_name for case in CASES}
    assert sorted(set(registered_cards()) - used) == []


@every_case
def test_a_case_uses_its_primitive(case):
    jaxpr = tinyjax.make_jaxpr(ours(case))(*as_arrays(case))
    traced = tinyjax.make_jaxpr(lambda *a: tinyjax.jvp(ours(case), a, a))
    names = {eqn.primitive.name for eqn in all_eqns(jaxpr)}
    if case.prim_name == "add_any":
        names |= {eqn.primitive.name for eqn in all_eqns(traced(*as_arrays(case)))}
    assert case.prim_name in names
