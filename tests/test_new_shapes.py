"""A new shape of a known function compiles nothing: not a square one, not a tiny or a large one.

The first shape of each list compiles; the others find every kernel. Axes of length 0 to 4 are
written out in the text of a kernel, so a function may be compiled again for those.
"""

import jax
import jax.numpy
import numpy as np
import pytest

import tinyjax
from tinyjax.compiler import backend

F = np.float32


def normal(*shape, seed=0):
    """Random numbers."""
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(F)


# ---- functions of one array ----------------------------------------------------------------------


def selu(jnp, x):
    return 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)


def norm(jnp, x):
    x = x - x.mean(0)
    return x / x.std(0)


def softmax(jnp, x):
    e = jnp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def statistics(jnp, x):
    return jnp.mean(x), jnp.var(x, 0), jnp.max(x, 1), jnp.prod(jnp.tanh(x), 1), jnp.sum(x * x)


def places(jnp, x):
    return jnp.argmax(x, 1), jnp.argmin(x.T, 1), jnp.argmax(x.ravel())


def running(jnp, x):
    return jnp.cumsum(x, 0), jnp.cumsum(x, 1), jnp.cumprod(jnp.tanh(x), 1)


def turned(jnp, x):
    return x.T * 2, (x.T + 1).sum(0), x[::-1] - x, jnp.flip(x, 1) * 3


def joined(jnp, x):
    return jnp.concatenate([x, x + 1]) * 2, jnp.pad(x, ((5, 6), (0, 0))) + 1, jnp.roll(x, 7, 0)


def stencil(jnp, x):
    return x[2:] - 2 * x[1:-1] + x[:-2], x[:, 1:] * x[:, :-1]


def distances(jnp, x):
    d = x[:, None] - x[None, :]
    return jnp.sqrt((d * d).sum(-1) + 1)


def outer_sum(jnp, x):
    return x[:, 0][:, None] + x[0][None, :], jnp.arange(x.shape[1]) * x, jnp.zeros(x.shape) + x.T.T


def picked(jnp, x):
    index = jnp.arange(x.shape[0])[::-1]
    return x[index] * 2, x.at[index].add(x), jnp.take(x, jnp.array([5, 6]), 1) + 1


def sorted_rows(jnp, x):
    return jnp.sort(x, 1) * 2, jnp.argsort(x, 0) + 1


def triangles(jnp, x):
    y = x @ x.T
    return jnp.tril(y) + y.T, jnp.trace(y) * y


SHAPES = [(100, 50), (64, 64), (13, 17), (2000, 30), (16, 5000), (15, 15)]
LARGE = [(100_000, 14), (14, 100_000)]
ONE = [selu, norm, softmax, statistics, places, running, turned, joined, stencil, outer_sum]
ONE += [picked, sorted_rows]


def check(f, calls):
    """Results are those of JAX; only the first call compiles. calls: the arguments of each."""
    compiled, count = tinyjax.jit(lambda *xs: f(tinyjax, *xs)), None
    for xs in calls:
        got = tinyjax.tree.leaves(compiled(*xs))
        for y, want in zip(got, jax.tree.leaves(jax.jit(lambda *a: f(jax, *a))(*xs)), strict=True):
            scale = np.max(np.abs(want), initial=1.0)
            np.testing.assert_allclose(np.asarray(y), want, rtol=2e-5, atol=1e-5 * scale)
        now = len(backend._kernels)
        assert count in (None, now), f"{jax.tree.map(np.shape, xs)} compiled {now - count} kernels"
        count = now


@pytest.mark.parametrize("f", ONE, ids=lambda f: f.__name__)
def test_functions_of_one_array(f):
    check(lambda world, x: f(world.numpy, x), [[normal(*shape)] for shape in SHAPES + LARGE])


@pytest.mark.parametrize("f", [distances, triangles], ids=lambda f: f.__name__)
def test_functions_that_square_an_axis(f):
    check(
        lambda world, x: f(world.numpy, x),
        [[normal(*shape)] for shape in [(100, 50), (300, 300), (64, 17)]],
    )


def products(jnp, x):
    y = x @ x.T
    return jnp.tanh(y) @ x, (x @ x[0]).sum(), jnp.vdot(x, x), x[0] @ x.T + 1, x.T[5:] @ (x + 1)


def test_products_of_all_sizes_have_one_text():
    shapes = [(9, 7), (64, 64), (65, 64), (5, 300), (300, 7), (7, 16_000)]
    check(lambda world, x: products(world.numpy, x), [[normal(*shape)] for shape in shapes])


@pytest.mark.parametrize("f", [selu, softmax, norm], ids=lambda f: f.__name__)
def test_derivatives(f):
    g = lambda world, x: world.grad(lambda x: (f(world.numpy, x) ** 2).sum())(x)
    check(g, [[normal(*shape)] for shape in SHAPES + LARGE])


# ---- models --------------------------------------------------------------------------------------


def cross_entropy(world, w, x, y):
    def loss(w):
        z = x @ w
        z = z - world.scipy.special.logsumexp(z, -1, keepdims=True)
        return -world.numpy.take_along_axis(z, y[:, None], 1).mean()

    return world.grad(loss)(w)


def regression(world, w, x, y):
    loss = lambda w: world.numpy.mean((w[0] * x + w[1] - y) ** 2)
    return w - 0.1 * world.grad(loss)(w)


def rnn(world, w, xs):
    step = lambda h, x: ((h := world.numpy.tanh(w @ h + x)), h.sum())
    return world.lax.scan(step, world.numpy.zeros(w.shape[0]), xs)


def hessian(world, a, x):
    return world.hessian(lambda x: world.numpy.sum(world.numpy.sin(a @ x) ** 2))(x)


def halving(world, x):
    return world.lax.while_loop(lambda x: abs(x).max() > 1, lambda x: x / 2, x)


def leapfrog(world, x, v):
    def body(i, xv):
        x, v = xv
        v = v - 0.1 * x
        return x + 0.1 * v, v

    return world.lax.fori_loop(0, 10, body, (x, v))


def network(world, params, x, y):
    def loss(params):
        w, b, v = params
        return world.numpy.mean((world.numpy.tanh(x @ w + b) @ v - y) ** 2)

    return [p - 0.01 * g for p, g in zip(params, world.grad(loss)(params))]


def labels(n, k):
    """Numbers of classes."""
    return (np.arange(n) * 7 % k).astype(np.int32)


def test_regression():
    sizes = [100, 5, 1000, 100_000, 1_000_000, 8, 4096, 5000]
    check(regression, [[normal(2), normal(n), normal(n, seed=1)] for n in sizes])


def test_recurrent_network():
    check(
        rnn, [[normal(m, m) / m, normal(n, m)] for n, m in [(20, 30), (30, 30), (100, 17), (7, 40)]]
    )


def test_loops():
    check(halving, [[normal(*shape) * 100] for shape in SHAPES])
    check(leapfrog, [[normal(*s), normal(*s, seed=1)] for s in SHAPES])


def test_network():
    """The kernel computes small products, NumPy large ones."""
    calls = []
    large = [(100, 20, 30, 5), (8, 20, 30, 5), (30, 30, 30, 30), (600, 9, 70, 5)]
    for n, i, h, o in [(16, 8, 16, 5), *large, (9, 9, 9, 9), (20, 5, 6, 7)]:
        params = [normal(i, h) / 5, normal(h), normal(h, o) / 5]
        calls.append([params, normal(n, i), normal(n, o, seed=1)])
    check(network, calls)


def test_classifier():
    sizes = [(100, 30, 20), (33, 40, 40), (2000, 25, 10), (25, 25, 25)]
    check(cross_entropy, [[normal(m, k), normal(n, m), labels(n, k)] for n, m, k in sizes])


def test_hessian():
    check(hessian, [[normal(n, m), normal(m)] for n, m in [(20, 10), (12, 12), (10, 20)]])


def shifted(world, x):
    """The same equation of two programs, with other numbers."""
    step = lambda s, row: (s + row[11:31] * row[23:43], row[17:27] + 1)
    return x[13:33, 7:27] * 2, world.lax.scan(step, world.numpy.zeros(20), x[6:])


def test_offsets():
    check(
        lambda world, x: shifted(world, x), [[normal(*s)] for s in [(100, 50), (64, 64), (40, 60)]]
    )


def test_scalar_constants_that_are_sizes():
    check(
        lambda world, x: (x * 64.0, x / 30.0, x.mean()),
        [[normal(*s)] for s in [(100, 50), (7, 9), (64, 30), (8, 8)]],
    )
