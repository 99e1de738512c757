"""Reductions that become one exchange: which ones, and that nothing else changes."""

import jax as real
import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core import all_eqns
from tinyjax.parallel.engine import use
from tinyjax.parallel.joining import MOST, joined
from tinyjax.parallel.lowering import Lowering
from tinyjax.parallel.threads import ThreadEngine


@pytest.fixture(autouse=True)
def threads():
    """Devices as threads: quick to start."""
    old = use(ThreadEngine())
    yield
    use(old)


def lowered(f, *args, devices=2):
    """The program that a device would run, not yet joined."""
    [eqn] = jax.make_jaxpr(jax.pmap(f, axis_name="i"))(*args).eqns
    return Lowering(devices).program(eqn.params["jaxpr"], {"i": 0})


def names(jaxpr):
    """The names of its equations that reduce over devices, programs inside included."""
    found = [eqn.primitive.name for eqn in all_eqns(jaxpr)]
    return [n for n in found if n in ("psum", "pmax", "pmin", "reduce_together")]


def check(f, *args):
    """pmap's results are those of JAX's vmap, for a function of a world."""
    ours = jax.pmap(lambda *xs: f(lax, jnp, *xs), axis_name="i")(*map(jnp.asarray, args))
    theirs = real.vmap(lambda *xs: f(real.lax, real.numpy, *xs), axis_name="i")(*args)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-6)


X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = np.array([[2.0], [-1.5]], np.float32)
N = np.array([3, 4], np.int32)


def test_reductions_side_by_side_become_one():
    def f(lax, jnp, x, y):
        a, b = lax.psum((x, y), "i")
        return x * a, y + b, lax.psum(x.sum(), "i") * x

    program = lowered(lambda x, y: f(lax, jnp, x, y), X, Y)
    assert names(program) == ["psum"] * 3
    assert names(joined(program, 2)) == ["reduce_together"]
    check(f, X, Y)


def test_what_needs_a_result_waits_behind_it():
    def f(lax, jnp, x, y):
        return [z - 0.5 * lax.pmean(z * z, "i") for z in (x, y, x + 1, y + 2)]

    program = joined(lowered(lambda x, y: f(lax, jnp, x, y), X, Y), 2)
    assert names(program) == ["reduce_together"]
    check(f, X, Y)


def test_one_that_needs_another_stays_behind_it():
    def f(lax, jnp, x, y):
        a = lax.psum(x, "i")
        b = lax.psum(a * y, "i")
        return x + lax.psum(b, "i"), y + lax.psum(y, "i")

    program = joined(lowered(lambda x, y: f(lax, jnp, x, y), X, Y), 2)
    assert names(program) == ["psum", "psum", "reduce_together"]
    check(f, X, Y)


def test_kinds_and_types_stay_apart():
    def f(lax, jnp, x, n):
        return (
            x + lax.psum(x, "i"),
            x * lax.pmax(x, "i"),
            n + lax.psum(n, "i"),
            x + lax.pmax(x, "i"),
        )

    program = joined(lowered(lambda x, n: f(lax, jnp, x, n), X, N), 2)
    assert names(program) == ["psum", "pmax", "psum", "pmax"]
    check(f, X, N)


def test_groups_stay_apart():
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    pairs, ends = [[0, 1], [2, 3]], [[0, 3], [1, 2]]

    def f(x):
        a, b = lax.psum((x, 2 * x), "i", axis_index_groups=pairs)
        c = lax.psum(x, "i", axis_index_groups=ends)
        return x * a, x * b, x * c

    assert names(joined(lowered(f, x, devices=4), 4)) == ["reduce_together", "psum"]
    groups = (
        {0: (0, 1), 1: (0, 1), 2: (2, 3), 3: (2, 3)},
        {0: (0, 3), 3: (0, 3), 1: (1, 2), 2: (1, 2)},
    )
    a, c = (np.stack([x[list(g[k])].sum(0) for k in range(4)]) for g in groups)
    for found, expected in zip(jax.pmap(f, axis_name="i")(x), (x * a, x * 2 * a, x * c)):
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("devices", [2, 8])
def test_no_more_than_fits_goes_together(devices):
    count = MOST // devices // 4 // 2  # two of them fill it
    xs = [jnp.ones((devices, n), "float32") for n in (count, count, 1, 4 * count, count)]

    def f(*xs):
        return [x * s for x, s in zip(xs, lax.psum(xs, "i"))]

    program = joined(lowered(f, *xs, devices=devices), devices)
    assert names(program) == ["reduce_together", "psum", "reduce_together"]
    for x in jax.pmap(f, axis_name="i")(*xs):
        np.testing.assert_array_equal(x, np.full(x.shape, devices))


def test_programs_inside_are_joined_too():
    def f(lax, jnp, x, y):
        def body(carry, _):
            a, b = lax.psum(carry, "i")
            return (0.1 * a + x, 0.2 * b - y), a.sum()

        (a, b), sums = lax.scan(body, (x, y), None, length=3)
        return a, b, sums, lax.cond(True, lambda x: x - lax.psum(x, "i"), lambda x: x, x)

    program = joined(lowered(lambda x, y: f(lax, jnp, x, y), X, Y), 2)
    assert names(program).count("reduce_together") == 1
    check(f, X, Y)


def test_a_training_step_meets_once():
    def loss(params, x):
        (w, b), (v, c) = params
        return ((jnp.tanh(x @ w + b) @ v + c) ** 2).mean()

    def step(params, x):
        grads = lax.pmean(jax.grad(loss)(params, x), "i")
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    rng = np.random.default_rng(0)
    shapes = ((3, 4), (4,)), ((4, 2), (2,))
    params = jax.tree.map(
        lambda s: np.stack([rng.normal(size=s).astype("f4")] * 2),
        shapes,
        is_leaf=lambda s: type(s[0]) is int,
    )
    x = rng.normal(size=(2, 5, 3)).astype("f4")
    assert names(joined(lowered(step, params, x), 2)) == ["reduce_together"]
    one = jax.tree.map(lambda p: p[0], params)
    grads = jax.tree.map(lambda *gs: sum(gs) / 2, *[jax.grad(loss)(one, part) for part in x])
    for found, p, g in zip(
        *map(jax.tree.leaves, (jax.pmap(step, axis_name="i")(params, x), one, grads))
    ):
        np.testing.assert_allclose(found, np.stack([p - 0.1 * g] * 2), rtol=1e-5, atol=1e-6)
