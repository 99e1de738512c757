"""Fresh processes: from the start of Python to the first result."""

from benchmarks.registry import workload


@workload(fresh=True)
def start(jax, jnp):
    """import, jit, first result; "first" with an empty cache on disk, "run" with a filled one"""
    f, x = jax.jit(lambda x: jnp.sum(jnp.sin(x) * 2.0)), jnp.asarray([1.0, 2.0, 3.0])
    return lambda: f(x)
