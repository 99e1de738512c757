"""scan: carries with and without tangents, constants, integers, nesting."""

import numpy as np

from programs.registry import XS, program, scalar


@scalar()
def scan_plain(jax, x):
    jnp = jax.numpy
    k, ys = jax.lax.scan(lambda k, a: (jnp.sin(k * x) + a, k * a * x), 1.0, XS)
    return k * jnp.sum(ys)


@scalar()
def scan_reverse_unrolled(jax, x):
    jnp = jax.numpy

    def step(k, a):
        return jnp.sin(k * x) + a, jnp.exp(k)

    k, ys = jax.lax.scan(step, x, XS, reverse=True, unroll=2)
    return k * jnp.sum(ys * XS)


@scalar(weak=False)  # whether its gradient is weak depends in JAX on the order of additions
def scan_integer_carry(jax, x):
    jnp = jax.numpy

    def step(carry, a):
        i, k = carry
        n, y = a
        return (i + n, jnp.sin(k * i.astype(np.float32) * x)), (n, k * y)

    (_, k), (_, ys) = jax.lax.scan(step, (0, x), (np.arange(3), XS))
    return k + jnp.sum(ys)


@scalar()
def scan_late_tangent(jax, x):
    """The tangent reaches the first carry after two steps: the fixpoint needs two rounds."""

    def step(carry, a):
        k0, k1, k2 = carry
        return (k1, k2 * 2.0, jax.numpy.sin(k2) * x), k0 * a

    return jax.lax.scan(step, (1.0, 2.0, 3.0), XS)[0][0]


@scalar()
def scan_loop_invariants(jax, x):
    jnp = jax.numpy

    def step(k, a):
        return k * jnp.cos(x) + jnp.exp(jnp.sin(x)) * a, None

    return jax.lax.scan(step, 1.0, XS)[0]


@scalar()
def scan_of_scan(jax, x):
    jnp, lax = jax.numpy, jax.lax

    def step(k, a):
        return lax.scan(lambda q, b: (jnp.sin(q * x) + a * b, q), k, XS)[0], None

    return lax.scan(step, x, XS)[0]


@scalar()
def scan_without_xs(jax, x):
    return jax.lax.scan(lambda k, _: (jax.numpy.sin(k) * x, None), x, None, length=4)[0]


@scalar()
def scan_of_cond_in_jit(jax, x):
    jnp, lax = jax.numpy, jax.lax

    def step(k, a):
        return lax.cond(k > a, lambda k: (jnp.sin(k * x), k), lambda k: (k + x, a * x), k)

    return jax.jit(lambda x: lax.scan(step, x, XS)[0])(x)


@program
def scan_trees_and_weak_types(jax):
    jnp, lax = jax.numpy, jax.lax
    return (
        lax.scan(lambda k, a: (k + a, k), 0, jnp.arange(3)),
        lax.scan(lambda k, a: (k * a, {"y": k, "none": None}), 1, jnp.asarray(XS)),
        lax.scan(lambda k, _: ((k[1], k[0]), ()), (1, 2), None, 3),
        lax.scan(lambda k, a: (k, a), {"c": 1.5}, (jnp.ones((0, 2)), jnp.zeros(0))),
        lax.scan(lambda k, a: (k, 1), 0.0, XS),
        lax.map(lambda x: x * 2, jnp.asarray(XS)),
    )


@program
def scan_batched_where(jax):
    jnp, lax = jax.numpy, jax.lax

    def f(init, xs, c):
        return lax.scan(lambda k, a: (k * c + a, k), init, xs)

    batch = jnp.asarray(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    forms = [(0, None, None), (None, 0, None), (None, None, 0), (None, 1, None), (0, 0, 0)]
    arrays = {0: batch, 1: batch.T, None: batch[0]}
    scalars = {0: jnp.asarray(XS[:2]), None: 0.5}
    return [
        jax.vmap(f, form)(scalars[form[0]], arrays[form[1]], scalars[form[2]]) for form in forms
    ]
