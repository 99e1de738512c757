"""Loops whose steps read a carried array elsewhere than they write it: compiled and eager."""

import jax
import numpy as np
import pytest

import tinyjax

X = np.array([0.3, 1.2, -0.7, 2.0], np.float32)


def repeat(step, start=lambda w, x: x):
    """A program that takes a step three times: (world, x) -> result; step(world, i, value)."""
    return lambda w, x: w.lax.fori_loop(0, 3, lambda i, r: step(w, i, r), start(w, x))


def table(w, x):
    """A matrix to carry."""
    return w.numpy.outer(x, x + 1)


def rolling(w, x):
    """Stacks a sum of each row that it rolls on."""
    step = lambda c, _: (w.numpy.roll(c, 1) + c * 0.5, c.sum())
    return w.lax.scan(step, x, None, length=4)


def until_four(w, x):
    """A while loop whose step reads one element beside all others."""
    jnp = w.numpy
    step = lambda c: (c[0] + 1, c[1] - c[1].mean() + jnp.where(c[1] > 1, c[1][0], c[1]))
    return w.lax.while_loop(lambda c: c[0] < 4, step, (0, x))


def backwards(w, x):
    """Rows scanned from the last to the first."""
    rows = w.numpy.arange(12.0).reshape(3, 4)
    return w.lax.scan(lambda c, a: (c[::-1] + a, c * a), x, rows, reverse=True)


PROGRAMS = {
    "reversed": repeat(lambda w, i, r: r[::-1] * 2.0 + r),
    "permuted": repeat(lambda w, i, r: r[w.numpy.array([1, 2, 0, 3])] + r),
    "window": repeat(
        lambda w, i, r: w.lax.dynamic_slice(w.numpy.concatenate([r, r]), (i + 1,), (4,)) + r * 0.1
    ),
    "transposed": repeat(lambda w, i, r: r.T + r * 0.5, table),
    "one_element": repeat(lambda w, i, r: r.at[i].set(r[3] + r.sum())),
    "shifted": repeat(lambda w, i, r: r.at[1:].set(r[:-1])),
    "updated": repeat(lambda w, i, r: w.lax.dynamic_update_slice(r, r[:2] * 2, (i,))),
    "cumulative": repeat(lambda w, i, r: w.numpy.cumsum(r) - r * 0.5),
    "sorted": repeat(lambda w, i, r: w.numpy.sort(w.numpy.sin(r * 3))),
    "exchanged": repeat(lambda w, i, c: (c[1], c[0] + c[1]), lambda w, x: (x, x * 2)),
    "exchanged_reversed": repeat(lambda w, i, c: (c[1] + 1.0, c[0][::-1]), lambda w, x: (x, x * 2)),
    "product": repeat(lambda w, i, r: w.numpy.tanh(r @ r.T) * 0.5, table),
    "broadcast": repeat(lambda w, i, r: r - r[:, None].mean(1) + r[None, :].sum()),
    "argsort": repeat(lambda w, i, r: w.numpy.take_along_axis(r, w.numpy.argsort(-r), 0) + 0.1),
    "padded": repeat(lambda w, i, r: w.numpy.pad(r, (1, 0))[:-1] + r),
    "rolling": rolling,
    "until_four": until_four,
    "backwards": backwards,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_eager_and_jax_agree(name):
    program = PROGRAMS[name]
    want = jax.tree.leaves(jax.jit(lambda x: program(jax, x))(X))
    for run in (tinyjax.jit(lambda x: program(tinyjax, x)), lambda x: program(tinyjax, x)):
        found = tinyjax.tree.leaves(run(X))
        for a, b in zip(found, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
