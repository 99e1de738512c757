"""cond and switch: residuals that differ by branch, constant branches, batched predicates."""

import numpy as np

from programs.registry import XS, program, scalar


@scalar()
def cond_plain(jax, x):
    return jax.lax.cond(x > 0.5, lambda v: jax.numpy.sin(v) * x, lambda v: v * v * v, x)


@scalar()
def cond_different_residuals(jax, x):
    jnp = jax.numpy

    def many(v):
        return jnp.sum(jnp.sin(v * XS))

    return jax.lax.cond(x > 0.5, many, lambda v: jnp.exp(jnp.sin(v)) * jnp.cos(v), x)


@scalar()
def cond_constant_branch(jax, x):
    return x * jax.lax.cond(x > 0.5, lambda v: 2.0, lambda v: v * v, x)


@scalar()
def switch_of_four(jax, x):
    jnp = jax.numpy
    branches = [lambda v: v, jnp.sin, lambda v: jnp.exp(v) * x, lambda v: v * v]
    return jax.lax.switch(jnp.asarray(x * 3.0).astype(np.int32), branches, x)


@scalar()
def switch_clamps(jax, x):
    jnp, lax = jax.numpy, jax.lax
    return lax.switch(7, [jnp.sin, jnp.cos], x) + lax.switch(-3, [jnp.sin, jnp.cos], x)


@program
def cond_forms(jax):
    jnp, lax = jax.numpy, jax.lax

    def f(p, x):
        return lax.cond(p, lambda d: {"o": d * 2}, lambda d: {"o": d + 1}, x)

    flags = jnp.asarray([True, False, True])
    return (
        f(True, 3),
        f(0, 3),
        f(2.5, 3),
        f(jnp.int8(1), jnp.float16(2)),
        lax.cond(False, lambda: 1, lambda: 2),
        jax.vmap(f)(flags, jnp.asarray(XS)),
        jax.vmap(f, (None, 0))(True, jnp.asarray(XS)),
        jax.vmap(f, (0, None))(flags, 2.0),
        jax.jit(f)(True, 2.0),
    )


@program
def switch_forms(jax):
    jnp, lax = jax.numpy, jax.lax
    branches = [lambda x: x, lambda x: x * 10, lambda x: -x]

    def f(i, x):
        return lax.switch(i, branches, x)

    return (
        [f(i, 3) for i in (-5, 0, 1, 2, 9)],
        jax.vmap(f, (0, None))(jnp.arange(-1, 5), 2.0),
        jax.jit(f)(jnp.uint8(1), 2.0),
        lax.switch(4, [lambda x: x + 1], 1.0),
    )
