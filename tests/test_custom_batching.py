"""custom_vmap and sequential_vmap against the oracle."""

import importlib

import numpy as np
from worlds import same, same_error

XS = np.array([0.5, -1.0, 2.0], np.float32)


def library(jax):
    """custom_batching of a world."""
    return importlib.import_module(f"{jax.__name__}.custom_batching")


def scaled_sine(jax, calls):
    """sin(x) * y, whose batches are something else."""
    jnp = jax.numpy

    @library(jax).custom_vmap
    def f(x, y):
        return {"a": jnp.sin(x) * y}

    @f.def_vmap
    def rule(size, batched, x, y):
        calls.append((size, *batched))
        return {"a": jnp.cos(x) * (y if batched[1] else 2 * y)}, {"a": True}

    return f


def test_rules_of_batches():
    def run(jax):
        calls = []
        f = scaled_sine(jax, calls)
        results = [
            f(1.0, 2.0),
            f(x=1.0, y=2.0),
            jax.vmap(f, (0, None))(XS, 2.0),
            jax.jit(jax.vmap(f))(XS, XS),
            jax.vmap(f, (None, 1))(1.0, np.ones((2, 3), np.float32)),
            jax.vmap(jax.vmap(f, (0, None)), (None, 0))(XS, XS),
        ]
        return results, [list(map(int, call)) for call in calls]

    same(run)


def test_derivatives_of_rules():
    def run(jax):
        f = scaled_sine(jax, [])
        batch = jax.vmap(f, (0, None))
        tangent = lambda x: jax.jvp(lambda x: f(x, 2.0), (x,), (1.0,))
        return (
            jax.jvp(f, (1.0, 2.0), (1.0, 0.0)),
            jax.jvp(lambda x: batch(x, 2.0), (XS,), (XS,)),
            jax.grad(lambda x: batch(x, 2.0)["a"].sum())(XS),
            jax.vmap(tangent)(XS),
        )

    same(run)


def test_sequential_vmap():
    def run(jax):
        f = library(jax).sequential_vmap(lambda x, y: jax.numpy.sin(x["a"]) * y)
        return (
            f({"a": 1.0}, 2.0),
            jax.vmap(f, ({"a": 0}, None))({"a": XS}, 2.0),
            jax.jit(jax.vmap(f))({"a": XS}, XS),
        )

    same(run)


def test_inside_another_custom_rule():
    def run(jax):
        jnp = jax.numpy

        @jax.custom_vjp
        @library(jax).custom_vmap
        def f(x, y):
            return jnp.sin(x) * y

        f.def_vmap(lambda size, batched, x, y: (jnp.cos(x) * y, True))
        f.defvjp(
            lambda x, y: (f(x, y), (jnp.cos(x), jnp.sin(x), y)),
            lambda res, ct: (res[0] * ct * res[2], res[1] * ct),
        )
        return jax.vmap(f)(XS, XS), jax.grad(f)(1.0, 2.0)

    same(run)


def test_errors():
    def without(jax):
        return library(jax).custom_vmap(lambda x: x)

    def wrong(jax, result):
        f = without(jax)
        f.def_vmap(lambda size, batched, x: result(x))
        return jax.vmap(f)(XS)

    same_error(lambda jax: without(jax)(1.0), "No batching rule defined")
    same_error(lambda jax: wrong(jax, lambda x: (x, [True])), "do not match")
    same_error(lambda jax: wrong(jax, lambda x: ([x], [True])), "original custom-vmapped")
    same_error(lambda jax: scaled_sine(jax, [])(1.0), "could not be resolved")
