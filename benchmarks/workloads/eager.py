"""Not jitted: every operation on its own, as people try things out."""

import numpy as np

from benchmarks.registry import workload
from benchmarks.workloads.elementwise import normal
from benchmarks.workloads.learning import network, squares


@workload()
def eager_add(jax, jnp):
    """x + y of three numbers"""
    x, y = jnp.asarray([1.0, 2.0, 3.0]), jnp.asarray([4.0, 5.0, 6.0])
    return lambda: x + y


OPERATIONS = {
    "mul": lambda xp, x, y: x * y,
    "exp": lambda xp, x, y: xp.exp(x),
    "where": lambda xp, x, y: xp.where(x > y, x, y),
    "sum": lambda xp, x, y: xp.sum(x),
    "max": lambda xp, x, y: xp.max(x, axis=0),
    "dot": lambda xp, x, y: x @ y,
    "reshape": lambda xp, x, y: xp.reshape(x, (2, 8)),
    "stack": lambda xp, x, y: xp.stack([x, y]),
    "item": lambda xp, x, y: x[3],
    "slice": lambda xp, x, y: x[1:3],
}


@workload(timed="numpy", name=tuple(OPERATIONS))
def eager_op(jax, jnp, name):
    """an operation on (4, 4) arrays; what NumPy needs for it is timed, too"""
    operation = OPERATIONS[name]
    arrays = np.random.default_rng(0).normal(size=(2, 4, 4)).astype(np.float32)
    x, y = map(jnp.asarray, arrays)

    def run():
        return operation(jnp, x, y)

    run.numpy = lambda: operation(np, *arrays)
    return run


@workload()
def eager_selu(jax, jnp):
    """selu of a million numbers"""
    x = normal(jnp, 1_000_000)
    return lambda: 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)


@workload()
def eager_norm(jax, jnp):
    """norm of a (10000, 100) array"""
    x = normal(jnp, 10_000, 100)
    return lambda: (x - x.mean(0)) / x.std(0)


@workload()
def eager_linear_regression(jax, jnp):
    """a step of linear regression with grad, 100 points"""

    def loss(params, x, y):
        w, b = params
        return jnp.mean((w * x + b - y) ** 2)

    x = normal(jnp, 100)
    y, params = 3 * x - 1, [jnp.asarray(0.0), jnp.asarray(0.0)]

    def step():
        return [p - 0.1 * g for p, g in zip(params, jax.grad(loss)(params, x, y))]

    return step


@workload()
def eager_network_step(jax, jnp):
    """a step of training with grad: 32 examples, 8 - 16 - 1"""
    loss, params = squares(jnp), network(jnp, (8, 16, 1))
    x, y = normal(jnp, 32, 8), normal(jnp, 32, 1, seed=1)

    def step():
        grads = jax.grad(loss)(params, x, y)
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads)

    return step
