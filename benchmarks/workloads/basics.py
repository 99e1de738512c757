"""One array, one device: jit, derivatives, and what a call costs."""

import numpy as np

from benchmarks.registry import workload
from benchmarks.workloads.elementwise import normal, waves


@workload()
def selu_1m(jax, jnp):
    """selu of a million numbers, jitted: the first example of JAX's introduction"""

    @jax.jit
    def selu(x, alpha=1.67, lmbda=1.05):
        return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    x = jnp.asarray(np.random.default_rng(0).normal(size=1_000_000).astype(np.float32))
    return lambda: selu(x)


@workload()
def linear_regression_step(jax, jnp):
    """one step of gradient descent on a line through 100 points"""

    def loss(params, x, y):
        w, b = params
        return jnp.mean((w * x + b - y) ** 2)

    @jax.jit
    def step(params, x, y):
        grads = jax.grad(loss)(params, x, y)
        return [p - 0.1 * g for p, g in zip(params, grads)]

    noise = np.random.default_rng(0).normal(size=(2, 100)).astype(np.float32)
    x = jnp.asarray(noise[0])
    y = jnp.asarray(3 * noise[0] - 1 + 0.1 * noise[1])
    params = [jnp.asarray(0.0), jnp.asarray(0.0)]
    return lambda: step(params, x, y)


@workload()
def jit_call(jax, jnp):
    """a jitted x + 1 of three numbers: what a call costs"""
    f, x = jax.jit(lambda x: x + 1), jnp.asarray([1.0, 2.0, 3.0])
    return lambda: f(x)


@workload()
def jit_call_tree(jax, jnp):
    """a jitted call with a dictionary of lists: what a call costs"""
    f = jax.jit(lambda tree: jax.tree_util.tree_map(lambda x: x + 1, tree))
    tree = {"a": [jnp.ones(3), jnp.ones(3)], "b": {"c": jnp.ones(3)}}
    return lambda: f(tree)


@workload(timed="returns")
def long_call_returns(jax, jnp):
    """a call that computes ten million numbers, until it returns; its result comes later"""
    f, x = jax.jit(waves(jnp)), normal(jnp, 10_000_000)
    return lambda: f(x)
