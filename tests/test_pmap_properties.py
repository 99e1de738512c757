"""Random programs with collectives: pmap does what vmap does, and so do their transforms."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

N = 4  # devices

# Each step takes the values made so far (of one shape each) and makes another one.
STEPS = {
    "sin": lambda rng, xs: jnp.sin(pick(rng, xs)),
    "product": lambda rng, xs: pick(rng, xs) * pick(rng, xs),
    "sum": lambda rng, xs: pick(rng, xs) + 0.5 * pick(rng, xs),
    "psum": lambda rng, xs: lax.psum(pick(rng, xs), "i") / N,
    "pmean": lambda rng, xs: lax.pmean(pick(rng, xs), "i"),
    "index": lambda rng, xs: pick(rng, xs) * lax.axis_index("i"),
    "gather": lambda rng, xs: lax.all_gather(pick(rng, xs), "i").sum(0) / N,
    "gather tiled": lambda rng, xs: lax.all_gather(pick(rng, xs), "i", tiled=True)[-2:] * 0.5,
    "scatter": lambda rng, xs: lax.psum_scatter(jnp.stack([pick(rng, xs)] * N), "i") / N,
    "to all": lambda rng, xs: lax.all_to_all(jnp.stack([pick(rng, xs)] * N), "i", 0, 0).mean(0),
    "permute": lambda rng, xs: lax.ppermute(pick(rng, xs), "i", cycle(rng)),
    "shuffle": lambda rng, xs: lax.pshuffle(pick(rng, xs), "i", rng.permutation(N).tolist()),
    "scan": lambda rng, xs: loop(pick(rng, xs), pick(rng, xs)),
    "cond": lambda rng, xs: choice(pick(rng, xs), pick(rng, xs)),
}


def pick(rng, xs):
    """One of the values."""
    return xs[rng.integers(len(xs))]


def cycle(rng):
    """Pairs of a permutation, one of them left out."""
    return list(enumerate(rng.permutation(N).tolist()))[:-1]


def loop(x, y):
    """Three rounds that exchange."""
    return lax.fori_loop(0, 3, lambda k, c: jnp.tanh(lax.pmean(c, "i") + y * k), x)


def choice(x, y):
    """A choice that differs between elements."""
    return lax.cond(x[0] > y[0], lambda a, b: a * b, lambda a, b: a - b, x, y)


def program(seed):
    """A function of two arrays of two elements; and its mapped axes."""

    def f(x, w):
        rng, xs = np.random.default_rng(seed), [x, w]
        for name in rng.choice(list(STEPS), 5):
            xs.append(STEPS[name](rng, xs))
        return xs[-1], xs[-2] * w

    rng = np.random.default_rng(seed + 1000)
    x_axis, w_axis, out_axes = rng.integers(2), [0, None][rng.integers(2)], rng.integers(2, size=2)
    x = np.moveaxis(rng.uniform(-1, 1, (N, 2)).astype(np.float32), 0, x_axis)
    w = rng.uniform(-1, 1, (2,) if w_axis is None else (N, 2)).astype(np.float32)
    axes = {
        "axis_name": "i",
        "in_axes": (int(x_axis), w_axis),
        "out_axes": tuple(map(int, out_axes)),
    }
    return f, axes, x, w


def agree(one, other):
    """Assert that trees of arrays agree."""
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def total(f):
    """The sum of what a function returns."""
    return lambda *args: sum(jnp.sum(jnp.cos(y)) for y in f(*args))


WAYS = {
    "value": lambda f, x, w: f(x, w),
    "jit": lambda f, x, w: jax.jit(f)(x, w),
    "jvp": lambda f, x, w: jax.jvp(f, (x, w), (w_like(x), w_like(w))),
    "gradient": lambda f, x, w: jax.grad(total(f), (0, 1))(x, w),
    "second": lambda f, x, w: jax.grad(
        lambda x: jnp.sum(jax.grad(total(f), 1)(x, w) ** 2)
    )(x),
    "batch": lambda f, x, w: jax.vmap(f, (1, None), (0, 1))(np.stack([x, x * 2], 1), w),
    "both batched": lambda f, x, w: jax.vmap(f)(np.stack([x, -x]), np.stack([w, w * 2])),
    "gradient of a batch": lambda f, x, w: jax.vmap(jax.grad(total(f), 1), (0, None))(
        np.stack([x, -x]), w
    ),
}  # fmt: skip


def w_like(x):
    """A direction."""
    return np.linspace(-1, 1, x.size, dtype=np.float32).reshape(x.shape)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(12))
def test_pmap_is_vmap(seed, way):
    f, axes, x, w = program(seed)
    transformed = WAYS[way]
    agree(transformed(jax.pmap(f, **axes), x, w), transformed(jax.vmap(f, **axes), x, w))
