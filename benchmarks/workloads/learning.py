"""Models that learn: steps of training, and derivatives of higher order."""

from benchmarks.registry import workload
from benchmarks.workloads.elementwise import normal


@workload()
def linear_regression_loop(jax, jnp):
    """a thousand steps of linear regression, called one by one"""

    def loss(params, x, y):
        return jnp.mean((params[0] * x + params[1] - y) ** 2)

    @jax.jit
    def step(params, x, y):
        return params - 0.1 * jax.grad(loss)(params, x, y)

    x = normal(jnp, 100)
    y, start = 3 * x - 1, jnp.zeros(2)

    def run():
        params = start
        for _ in range(1000):
            params = step(params, x, y)
        return params

    return run


@workload()
def logistic_regression_step(jax, jnp):
    """a step of logistic regression, 10,000 examples of 50 numbers"""

    def loss(w, x, y):
        return jnp.mean(jnp.logaddexp(0.0, -y * (x @ w)))

    f = jax.jit(lambda w, x, y: w - 0.1 * jax.grad(loss)(w, x, y))
    x, w = normal(jnp, 10_000, 50), jnp.zeros(50)
    y = jnp.sign(normal(jnp, 10_000, seed=1))
    return lambda: f(w, x, y)


def network(jnp, layers):
    """Parameters of a network, [(weights, offsets), ...]."""
    sizes = list(zip(layers, layers[1:]))
    return [(normal(jnp, m, n, seed=m) / m**0.5, jnp.zeros(n)) for m, n in sizes]


def predict(jnp, params, x):
    """The network's last layer."""
    *hidden, (w_last, b_last) = params
    for w, b in hidden:
        x = jnp.tanh(x @ w + b)
    return x @ w_last + b_last


def squares(jnp):
    """A loss."""
    return lambda params, x, y: jnp.mean((predict(jnp, params, x) - y) ** 2)


@workload(model=("small", "large"))
def network_step(jax, jnp, model):
    """a step of training: 32 examples, 8 - 16 - 1, or 128 examples, 784 - 512 - 10"""
    examples, layers = {"small": (32, (8, 16, 1)), "large": (128, (784, 512, 10))}[model]
    loss = squares(jnp)

    @jax.jit
    def step(params, x, y):
        grads = jax.grad(loss)(params, x, y)
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads)

    params = network(jnp, layers)
    x, y = normal(jnp, examples, layers[0]), normal(jnp, examples, layers[-1], seed=1)
    return lambda: step(params, x, y)


@workload()
def gradients_per_example(jax, jnp):
    """vmap of a gradient: 128 examples, 32 - 64 - 1"""
    loss = squares(jnp)
    f = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
    params, x, y = network(jnp, (32, 64, 1)), normal(jnp, 128, 32), normal(jnp, 128, 1, seed=1)
    return lambda: f(params, x, y)


@workload()
def hessian(jax, jnp):
    """the Hessian of a function of 100 numbers"""
    a = normal(jnp, 100, 100)
    f = jax.jit(jax.hessian(lambda x: jnp.sum(jnp.sin(a @ x) ** 2)))
    x = normal(jnp, 100, seed=1)
    return lambda: f(x)
