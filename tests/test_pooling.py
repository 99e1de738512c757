"""reduce and reduce_window with any function, against the oracle; errors; ties and odd numbers."""

import jax
import jax.numpy
import numpy as np
import pytest
from worlds import compare, same, same_error

import tinyjax

RNG = np.random.default_rng(3)
X = RNG.normal(size=(4, 6)).astype(np.float32)
I = np.array([4, 0, 3, 7, 1], np.int32)
ONE = np.float32(1)


def printed(run, *args):
    """The jaxprs of both worlds are the same."""
    assert str(tinyjax.make_jaxpr(run(tinyjax))(*args)) == str(jax.make_jaxpr(run(jax))(*args))


def everything(run, *args, gradient=False, joint_printed=True):
    """Values, printed forms (plain, jvp, vmap) and compiled values are the oracle's.

    joint_printed: False where the oracle prints one reshape for a transposition and a reshape.
    """
    compare(run(tinyjax)(*args), run(jax)(*args))
    compare(tinyjax.jit(run(tinyjax))(*args), run(jax)(*args))
    printed(run, *args)
    batch = [np.stack([a, a + 1]) for a in args]
    compare(tinyjax.vmap(run(tinyjax))(*batch), jax.vmap(run(jax))(*batch))
    if args[0].dtype.kind == "f":
        joint = lambda world: lambda *xs: world.jvp(run(world), xs, xs)
        if joint_printed:
            printed(joint, *args)
        compare(joint(tinyjax)(*args), joint(jax)(*args))
    if gradient:
        grads = lambda world: world.grad(lambda *xs: run(world)(*xs).sum())(*args)
        compare(grads(tinyjax), grads(jax))


# ---- reduce -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [(0,), (1,), (0, 1), ()])
def test_reduce_with_a_function(dims):
    def run(world):
        f = lambda a, b: world.lax.mul(a, b)
        f.__qualname__ = "f"
        return lambda x: world.lax.reduce(x, ONE, f, dims)

    everything(run, X, gradient=True, joint_printed=dims != (1,))


@pytest.mark.parametrize("kind", ["add", "mul", "max", "min"])
def test_reduce_from_another_number(kind):
    everything(lambda world: lambda x: world.lax.reduce(x, 0.5, getattr(world.lax, kind), (0,)), X)
    everything(lambda world: lambda x: world.lax.reduce(x, 2, getattr(world.lax, kind), (0,)), I)


@pytest.mark.parametrize("kind", ["bitwise_and", "bitwise_or", "bitwise_xor", "max", "min"])
@pytest.mark.parametrize("start", [0, -1, True, False])
def test_reduce_of_bits(kind, start):
    x = I > 2 if isinstance(start, bool) else I
    same(
        lambda world: world.lax.reduce(
            x, np.asarray(start, x.dtype), getattr(world.lax, kind), (0,)
        )
    )


def test_reduce_of_pairs():
    def run(world):
        def later(a, b):
            keep = a[0] >= b[0]
            return world.lax.select(keep, a[0], b[0]), world.lax.select(keep, a[1], b[1])

        later.__qualname__ = "later"
        n = world.lax.iota("int32", 6)

        def f(x):
            indices = world.lax.broadcast_in_dim(n, x.shape, (1,))
            return world.lax.reduce((x, indices), (-np.inf, 0), later, (1,))

        return f

    same(lambda world: run(world)(X))
    same(lambda world: world.jit(run(world))(X))
    same(lambda world: world.vmap(run(world))(np.stack([X, -X])))
    same(
        lambda world: world.lax.reduce(
            {"a": X}, {"a": 1.0}, lambda a, b: {"a": a["a"] + b["a"]}, [0]
        )
    )


def test_reduce_of_nothing():
    empty = np.zeros((0, 3), np.float32)
    same(lambda world: world.lax.reduce(empty, 2.0, lambda a, b: a * b, (0,)))
    same(lambda world: world.lax.reduce(empty, ONE, lambda a, b: a * b, (1,)))


def test_errors_of_reduce():
    same_error(lambda w: w.lax.reduce(X, np.int32(1), lambda a, b: a + b, (0,)), "dtypes")
    same_error(lambda w: w.lax.reduce((X, X), 0.0, lambda a, b: a, (0,)), "structure")
    same_error(lambda w: w.lax.reduce(X, X[0], lambda a, b: a + b, (0,)), "scalar")
    same_error(lambda w: w.lax.reduce(X, 0.0, lambda a, b: (a, b), (0,)), "as many")
    same_error(
        lambda w: w.jit(lambda x, y: w.lax.reduce(x, 1.0, lambda a, b: a * b * y, (0,)))(X, 2.0),
        "tracers",
    )


# ---- reduce_window ------------------------------------------------------------------------------

SETTINGS = [
    ((2, 2), None, "VALID", None, None),
    ((2, 3), (1, 2), "SAME", None, None),
    ((3, 2), (2, 1), "SAME_LOWER", None, None),
    ((2, 2), (1, 1), ((1, 0), (0, 2)), (2, 1), (1, 3)),
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_reduce_window_with_a_function(settings):
    everything(lambda w: lambda x: w.lax.reduce_window(x, ONE, w.lax.mul, *settings), X)
    everything(lambda w: lambda x: w.lax.reduce_window(x, 2.0, lambda a, b: a * b, *settings), X)


def test_reduce_window_of_pairs():
    def run(world):
        f = lambda a, b: (a[0] + b[0], world.lax.max(a[1], b[1]))
        return lambda x, y: world.lax.reduce_window(
            (x, y), (0.0, -np.inf), f, (2, 2), (2, 2), "SAME"
        )

    everything(run, X, -X)


@pytest.mark.parametrize("kind, start", [("max", -np.inf), ("min", np.inf)])
def test_extremes_of_ties_and_odd_numbers(kind, start):
    odd = np.array([1, np.nan, 2, 2, -np.inf, -np.inf, np.inf, 0.0, -0.0], np.float32)

    def run(world):
        def f(x):
            return world.lax.reduce_window(x, start, getattr(world.lax, kind), (2,), (1,), "SAME")

        t = np.arange(1.0, 10, dtype=np.float32)
        out, tangent = world.jvp(f, (odd,), (t,))
        return out, tangent, world.vjp(f, odd)[1](t)

    same(run)


def test_no_reverse_mode_of_other_functions():
    run = lambda w: w.grad(lambda x: w.lax.reduce_window(x, ONE, w.lax.mul, (2, 2)).sum())(X)
    same_error(run, "reverse")


def test_windows_that_the_oracle_cannot_take():
    lax = tinyjax.lax
    f = lambda x: lax.reduce_window(x, -np.inf, lax.max, (2,), (1,), ((-1, -1),))
    x = np.array([9.0, 1.0, 3.0, 2.0, 9.0], np.float32)
    np.testing.assert_array_equal(f(x), [3.0, 3.0])
    np.testing.assert_array_equal(tinyjax.grad(lambda x: f(x).sum())(x), [0, 0, 2, 0, 0])
    assert lax.reduce_window(x[:1], -np.inf, lax.max, (2,), (1,), "VALID").shape == (0,)


def test_shapes():
    same(lambda w: w.lax.reduce_window_shape_tuple((5, 6), (2, 2), (1, 2), ((0, 1), (1, 1))))
    same(lambda w: w.lax.reduce_window_shape_tuple((5,), (2,), (3,), ((0, 1),), (2,), (3,)))


def test_errors_of_reduce_window():
    run = lambda *args, **kwargs: lambda w: w.lax.reduce_window(X, 0.0, w.lax.add, *args, **kwargs)
    same_error(run((2,)), "window_dimensions")
    same_error(run((2, 0)), "strictly positive")
    same_error(run((2, 2), (1,)), "window_strides")
    same_error(run((2, 2), (1, 1), base_dilation=(0, 1)), "dilation")
    same_error(run((2, 2), (1, 1), "OTHER"), "padding")
    same_error(run((2, 2), None, "SAME"), "stride")
    same_error(lambda w: w.lax.reduce_window(X, np.int32(1), w.lax.add, (2, 2)), "dtypes")
    same_error(lambda w: w.lax.reduce_window((X, X), 0.0, w.lax.add, (2, 2)), "structure")
    same_error(lambda w: w.lax.reduce_window((), (), w.lax.add, (2, 2)), "at least one")
    same_error(lambda w: w.lax.reduce_window(X > 0, False, w.lax.add, (2, 2)), "number dtype")
