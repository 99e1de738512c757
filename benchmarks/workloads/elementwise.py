"""Kernels over the elements of arrays: chains, reductions along with them, softmax and its kin."""

import numpy as np

from benchmarks.registry import workload


def normal(jnp, *shape, seed=0):
    """float32 numbers of a normal distribution, the same in both worlds."""
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def waves(jnp):
    """A function of elements: a chain of exp, sin, tanh and arithmetic."""
    return lambda x: jnp.tanh(jnp.sin(x) * 2.0 + 1.0) * jnp.exp(-x * x) + 0.5 * x


@workload(size=(1_000, 10_000, 100_000, 1_000_000, 10_000_000))
def chain(jax, jnp, size):
    """exp, sin, tanh and arithmetic on as many numbers"""
    f, x = jax.jit(waves(jnp)), normal(jnp, size)
    return lambda: f(x)


@workload()
def norm(jax, jnp):
    """(x - mean) / deviation of the columns of a (10000, 100) array: JAX's introduction"""

    @jax.jit
    def norm(x):
        x = x - x.mean(0)
        return x / x.std(0)

    x = normal(jnp, 10_000, 100)
    return lambda: norm(x)


@workload()
def table_of_two(jax, jnp):
    """a row and a column of 1000 numbers make a table"""
    f = jax.jit(lambda x, y: jnp.exp(-((x[:, None] - y) ** 2)) * x[:, None] + y)
    x, y = normal(jnp, 1000), normal(jnp, 1000, seed=1)
    return lambda: f(x, y)


@workload()
def transposed(jax, jnp):
    """x + 2 x.T of a (1000, 1000) array"""
    f, x = jax.jit(lambda x: x + 2 * x.T), normal(jnp, 1000, 1000)
    return lambda: f(x)


def call_price(jax, jnp):
    """Black and Scholes' price of a call."""

    def cdf(x):
        return 0.5 * (1 + jax.lax.erf(x / np.sqrt(2).astype(np.float32)))

    def price(spot, strike, time, rate, volatility):
        spread = volatility * jnp.sqrt(time)
        d = (jnp.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread
        return spot * cdf(d) - strike * jnp.exp(-rate * time) * cdf(d - spread)

    return price


def market(jnp, size):
    """Operands of the price."""
    rng = np.random.default_rng(0)
    bounds = [(50, 150), (50, 150), (0.1, 2), (0.0, 0.1), (0.1, 0.5)]
    return [jnp.asarray(rng.uniform(a, b, size).astype(np.float32)) for a, b in bounds]


@workload()
def black_scholes(jax, jnp):
    """prices of a million options"""
    f, xs = jax.jit(call_price(jax, jnp)), market(jnp, 1_000_000)
    return lambda: f(*xs)


@workload()
def black_scholes_grad(jax, jnp):
    """their derivatives with respect to everything"""
    price, xs = call_price(jax, jnp), market(jnp, 1_000_000)
    f = jax.jit(jax.grad(lambda *xs: price(*xs).sum(), argnums=tuple(range(5))))
    return lambda: f(*xs)


@workload()
def cross_entropy_grad(jax, jnp):
    """gradient of the cross entropy of a softmax, (1024, 1000)"""

    def loss(scores, labels):
        logs = jax.nn.log_softmax(scores)
        return -jnp.mean(jnp.take_along_axis(logs, labels[:, None], axis=1))

    f, scores = jax.jit(jax.grad(loss)), normal(jnp, 1024, 1000)
    labels = jnp.asarray(np.random.default_rng(0).integers(1000, size=1024).astype(np.int32))
    return lambda: f(scores, labels)


@workload()
def n_body(jax, jnp):
    """forces among 512 bodies"""

    @jax.jit
    def forces(x):
        apart = x[None] - x[:, None]
        squares = jnp.sum(apart**2, axis=-1) + 1e-3
        return jnp.sum(apart / (squares * jnp.sqrt(squares))[..., None], axis=1)

    x = normal(jnp, 512, 3)
    return lambda: forces(x)


# ---- reductions ----------------------------------------------------------------------------------


@workload(axis=("0", "1", "all"))
def sums(jax, jnp, axis):
    """sums of a (2000, 1000) array along an axis"""
    f = jax.jit(lambda x: jnp.sum(x, axis=None if axis == "all" else int(axis)))
    x = normal(jnp, 2000, 1000)
    return lambda: f(x)


@workload(kind=("max", "argmax"), axis=("0", "1", "all"))
def largest(jax, jnp, kind, axis):
    """the largest number of a (1000, 1000) array along an axis, or where it is"""
    along = None if axis == "all" else int(axis)
    f, x = jax.jit(lambda x: getattr(jnp, kind)(x, axis=along)), normal(jnp, 1000, 1000)
    return lambda: f(x)


@workload(kind=("cumsum", "sort"), axis=(0, 1))
def along(jax, jnp, kind, axis):
    """a function along an axis of a (1000, 1000) array"""
    f, x = jax.jit(lambda x: getattr(jnp, kind)(x, axis=axis)), normal(jnp, 1000, 1000)
    return lambda: f(x)


@workload()
def moments(jax, jnp):
    """mean, deviation, least and largest of a million numbers, in one program"""
    f = jax.jit(lambda x: (x.mean(), x.std(), x.min(), x.max()))
    x = normal(jnp, 1_000_000)
    return lambda: f(x)


@workload()
def gather(jax, jnp):
    """100,000 numbers out of a million"""
    places = np.random.default_rng(0).integers(1_000_000, size=100_000).astype(np.int32)
    f, x, i = jax.jit(lambda x, i: x[i]), normal(jnp, 1_000_000), jnp.asarray(places)
    return lambda: f(x, i)


@workload()
def scatter_add(jax, jnp):
    """100,000 numbers added into 10,000"""
    places = np.random.default_rng(0).integers(10_000, size=100_000).astype(np.int32)
    f = jax.jit(lambda x, i: jnp.zeros(10_000).at[i].add(x))
    x, i = normal(jnp, 100_000), jnp.asarray(places)
    return lambda: f(x, i)


# ---- random numbers ------------------------------------------------------------------------------


@workload(kind=("normal", "uniform"))
def random_numbers(jax, jnp, kind):
    """a million random numbers"""
    f = jax.jit(lambda key: getattr(jax.random, kind)(key, (1_000_000,)))
    key = jax.random.key(0)
    return lambda: f(key)


@workload()
def random_split(jax, jnp):
    """a key into 1000 keys"""
    f = jax.jit(lambda key: jax.random.key_data(jax.random.split(key, 1000)))
    key = jax.random.key(0)
    return lambda: f(key)
