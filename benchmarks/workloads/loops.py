"""Loops inside of programs: scan, fori_loop, while_loop."""

from benchmarks.registry import workload
from benchmarks.workloads.elementwise import normal


def recurrent(jax, jnp):
    """A recurrent network -> its last state."""

    def last(weights, inputs, xs):
        def step(state, x):
            return jnp.tanh(weights @ state + inputs @ x), None

        return jax.lax.scan(step, jnp.zeros(64), xs)[0]

    return last, (
        normal(jnp, 64, 64) / 8,
        normal(jnp, 64, 32, seed=1),
        normal(jnp, 100, 32, seed=2),
    )


@workload()
def rnn(jax, jnp):
    """a recurrent network of 64 cells over 100 steps"""
    last, operands = recurrent(jax, jnp)
    f = jax.jit(last)
    return lambda: f(*operands)


@workload()
def rnn_grad(jax, jnp):
    """its gradient"""
    last, operands = recurrent(jax, jnp)
    f = jax.jit(jax.grad(lambda *xs: jnp.sum(last(*xs) ** 2), argnums=(0, 1)))
    return lambda: f(*operands)


@workload()
def leapfrog(jax, jnp):
    """1000 steps of 1000 pendulums"""

    @jax.jit
    def swing(x, v):
        def step(_, state):
            x, v = state
            v = v - 0.005 * jnp.sin(x)
            x = x + 0.01 * v
            return x, v - 0.005 * jnp.sin(x)

        return jax.lax.fori_loop(0, 1000, step, (x, v))

    x, v = 0.5 * normal(jnp, 1000), 0.1 * normal(jnp, 1000, seed=1)
    return lambda: swing(x, v)


@workload()
def while_vmap(jax, jnp):
    """vmap of a while_loop: square roots of 1000 numbers by Newton's method"""

    def root(x):
        def far(y):
            return jnp.abs(y * y - x) > 1e-4 * x

        return jax.lax.while_loop(far, lambda y: 0.5 * (y + x / y), x)

    f, x = jax.jit(jax.vmap(root)), jnp.abs(normal(jnp, 1000)) + 0.1
    return lambda: f(x)


@workload()
def heat(jax, jnp):
    """100 steps of the heat equation on a (128, 128) grid, by roll in a scan"""

    @jax.jit
    def spread(u):
        def step(u, _):
            around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
            return u + 0.1 * (around - 4 * u), None

        return jax.lax.scan(step, u, None, length=100)[0]

    u = normal(jnp, 128, 128)
    return lambda: spread(u)
