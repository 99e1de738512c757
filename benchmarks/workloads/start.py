"""Before things are fast: fresh processes, new shapes, long programs; and how much memory."""

from benchmarks.registry import SHAPES, workload
from benchmarks.workloads.elementwise import normal, waves
from benchmarks.workloads.learning import network, squares


@workload(timed="start")
def start(jax, jnp):
    """import, jit, first result; "first" with an empty cache on disk, "run" with a filled one"""
    f, x = jax.jit(lambda x: jnp.sum(jnp.sin(x) * 2.0)), jnp.asarray([1.0, 2.0, 3.0])
    return lambda: f(x)


# ---- the same function, new shapes ---------------------------------------------------------------


def each_once(f, operands):
    """A function that calls f with the next operands each time."""
    left = iter(operands)
    return lambda: f(*next(left))


@workload(timed="shapes")
def new_shape_chain(jax, jnp):
    """exp, sin, tanh and arithmetic on 1000 numbers, then 1001, ..."""
    return each_once(jax.jit(waves(jnp)), [(normal(jnp, 1000 + k),) for k in range(SHAPES)])


@workload(timed="shapes")
def new_shape_norm(jax, jnp):
    """norm of the columns of a (100, 50) array, then (101, 51), ..."""
    f = jax.jit(lambda x: (x - x.mean(0)) / x.std(0))
    return each_once(f, [(normal(jnp, 100 + k, 50 + k),) for k in range(SHAPES)])


@workload(timed="shapes")
def new_shape_training(jax, jnp):
    """gradient of a network 8 - 16 - 1 for 32 examples, then 33, ..."""
    params = network(jnp, (8, 16, 1))
    f = jax.jit(jax.grad(squares(jnp)))
    batches = [(normal(jnp, 32 + k, 8), normal(jnp, 32 + k, 1, seed=1)) for k in range(SHAPES)]
    return each_once(f, [(params, *batch) for batch in batches])


# ---- long programs -------------------------------------------------------------------------------


def many(jnp, x, equations):
    """So many different equations, one after the other."""
    for k in range(equations // 4):
        x = jnp.sin(x * (1.0 + k / 1000)) + (x - k / 100)
    return x


@workload()
def thousand_equations(jax, jnp):
    """a program of 1000 different equations"""
    f, x = jax.jit(lambda x: many(jnp, x, 1000)), normal(jnp, 1000)
    return lambda: f(x)


@workload()
def hundred_layers(jax, jnp):
    """500 equations, of which every fifth is a matrix product"""

    @jax.jit
    def f(w, x):
        for k in range(100):
            x = jnp.tanh(w @ x + k / 100) * (1.0 + k / 1000) - x
        return x

    w, x = normal(jnp, 16, 16) / 4, normal(jnp, 16)
    return lambda: f(w, x)


@workload()
def long_scan_body(jax, jnp):
    """a scan of ten steps whose body has 300 different equations"""
    f = jax.jit(lambda x: jax.lax.scan(lambda x, _: (many(jnp, x, 300), None), x, length=10)[0])
    x = normal(jnp, 100)
    return lambda: f(x)


# ---- memory --------------------------------------------------------------------------------------


@workload(timed="memory")
def memory_of_chain(jax, jnp):
    """chain of ten million numbers, compiled beforehand: the memory of its calls alone"""
    x = normal(jnp, 10_000_000)
    f = jax.jit(waves(jnp)).lower(x).compile()
    return lambda: f(x)
