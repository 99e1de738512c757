"""Matrices: products, systems of equations, factors."""

import numpy as np

from benchmarks.registry import workload
from benchmarks.workloads.elementwise import normal


@workload(size=(64, 128, 256, 512, 1024, 2048))
def matmul(jax, jnp, size):
    """product of two square matrices"""
    f, x, y = jax.jit(jnp.matmul), normal(jnp, size, size), normal(jnp, size, size, seed=1)
    return lambda: f(x, y)


@workload()
def batched_matmul(jax, jnp):
    """256 products of (64, 64) matrices"""
    f, x, y = jax.jit(jnp.matmul), normal(jnp, 256, 64, 64), normal(jnp, 256, 64, 64, seed=1)
    return lambda: f(x, y)


@workload()
def integer_dot(jax, jnp):
    """the dot product of ten million integers with themselves"""
    f, x = jax.jit(lambda x: jnp.dot(x, x)), jnp.arange(10_000_000) % 7
    return lambda: f(x)


def definite(jnp, size):
    """A positive definite matrix."""
    x = np.random.default_rng(0).normal(size=(size, size))
    return jnp.asarray((x @ x.T / size + np.eye(size)).astype(np.float32))


@workload()
def solve(jax, jnp):
    """200 linear equations"""
    f, a, b = jax.jit(jnp.linalg.solve), definite(jnp, 200), normal(jnp, 200)
    return lambda: f(a, b)


@workload()
def cholesky_grad(jax, jnp):
    """gradient of the logarithm of a (100, 100) determinant by Cholesky's factors"""
    f = jax.jit(jax.grad(lambda a: jnp.sum(jnp.log(jnp.diag(jnp.linalg.cholesky(a))))))
    a = definite(jnp, 100)
    return lambda: f(a)
