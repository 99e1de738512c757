"""jit under derivatives and batches; values that are integers, constant, unused or stopped."""

import numpy as np

from programs.registry import MAT, XS, program, scalar


@scalar()
def jit_nested(jax, x):
    jnp = jax.numpy
    return jax.jit(lambda x: jax.jit(lambda y: jnp.sin(y) * x)(x * x) + x)(x)


@scalar()
def jit_dead_code(jax, x):
    jnp = jax.numpy
    used = jax.jit(lambda x: (jnp.sin(x), jnp.exp(x), 3))(x)[0]

    def step(carry, a):
        a0, a1, a2 = carry
        return (a0 * x, a1 + a0, jnp.sin(a2 * x)), (a1, a)

    return used + jax.lax.scan(step, (x, x, x), XS)[0][2]


@scalar()
def jit_integer_outputs(jax, x):
    jnp = jax.numpy
    return jax.jit(lambda x: (jnp.sin(x), x.astype(np.int32), x > 0.5))(x)[0] * 2.0


@scalar()
def floor_and_stop_gradient(jax, x):
    return x * jax.numpy.floor(x * 5.0) + jax.lax.stop_gradient(x) * x


@scalar()
def matmuls(jax, x):
    jnp = jax.numpy
    mat = jnp.asarray(MAT)
    return jnp.sum(jnp.tanh((mat * x) @ mat @ jnp.asarray(MAT.T)))


@scalar()
def maximum_and_index(jax, x):
    jnp = jax.numpy
    xs = jnp.asarray(XS) * x
    return jnp.max(xs) * xs[1]


@program
def vjp_of_integers_and_booleans(jax):
    y, pull = jax.vjp(lambda x, n: (jax.numpy.sin(x), n + 1), 0.5, 3)
    cts = pull((1.0, np.zeros((), jax.dtypes.float0)))
    return y, cts[0]


@program
def gradients_that_are_zero(jax):
    jnp, lax = jax.numpy, jax.lax
    return (
        jax.grad(lambda x: 3.0 + 0.0 * lax.stop_gradient(x))(1.0),
        jax.grad(lambda x, y: y * 2.0, 0)(jnp.asarray(XS)[0], 2.0),
        jax.jit(jax.grad(lambda x: lax.scan(lambda k, a: (k + a, a), 0.0, XS)[0]))(1.0),
    )


@program
def jit_trees_keywords_and_none(jax):
    @jax.jit
    def f(params, *, scale=2.0, extra=None):
        return {"a": params["w"] * scale, "b": [params["b"], extra], "n": None}

    params = {"w": np.float32(3.0), "b": np.int32(4)}
    return f(params), f(params, scale=3), f(params, extra=(1, 2.5))


@program
def jit_weak_types(jax):
    jnp = jax.numpy
    f = jax.jit(lambda x, y: (x + y, x * 2, y * 1.5))
    return f(1, 2), f(1.0, jnp.int8(2)), f(jnp.float16(1), 2), f(True, 2), f(1j, 2)
