"""checkpoint (remat): the derivative computes the forward pass again."""

from programs.registry import XS, program, scalar


@scalar()
def checkpoint_plain(jax, x):
    jnp = jax.numpy
    return jax.checkpoint(lambda x: jnp.sin(jnp.sin(x) * x))(x)


@scalar()
def checkpoint_nested(jax, x):
    jnp = jax.numpy

    def outer(x):
        return x * jax.checkpoint(lambda y: jnp.sin(jnp.exp(y) * x))(jnp.sin(x))

    return jax.checkpoint(outer)(x)


@scalar()
def checkpoint_closure(jax, x):
    return jax.checkpoint(lambda y: jax.numpy.sin(y * x))(x * x)


@scalar()
def checkpoint_scan_body(jax, x):
    jnp = jax.numpy
    body = jax.checkpoint(lambda k, a: (jnp.sin(k * x) + a, jnp.cos(k)))
    return jax.lax.scan(body, x, XS)[0]


@scalar(weak=False)  # as in scan_integer_carry
def checkpoint_of_scan_and_cond(jax, x):
    lax, jnp = jax.lax, jax.numpy

    def loop(x):
        def step(k, a):
            return lax.cond(k > 0.6, lambda k: jnp.sin(k * x), lambda k: k + a, k), None

        return lax.scan(step, x, XS)[0]

    return jax.checkpoint(loop)(x)


@scalar()
def checkpoint_of_jit(jax, x):
    jnp = jax.numpy
    return jax.checkpoint(jax.jit(lambda x: jnp.sin(jax.jit(jnp.exp)(x)) * x))(x)


@program
def checkpoint_static_and_trees(jax):
    jnp = jax.numpy

    def f(params, power, double=False):
        y = jnp.sin(params["a"]) ** power * params["b"][0]
        return {"y": y * 2.0 if double is True else y}

    g = jax.checkpoint(f, static_argnums=(1,))
    params = {"a": jnp.float32(0.5), "b": [jnp.float32(2.0)]}
    return g(params, 3), jax.grad(lambda p: g(p, 2)["y"])(params)
