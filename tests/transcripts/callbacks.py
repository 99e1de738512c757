# %%
import jax
import jax.numpy as jnp
import numpy as np


# %%
@jax.jit
def f(x):
    result = jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    return result * 2


f(jnp.arange(3.0))


# %%
def f_host(x):
    print("called with", np.shape(x))
    return np.sin(x).astype(x.dtype)


def f(x):
    return jax.pure_callback(f_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="sequential")


jax.vmap(f)(jnp.arange(2.0))

# %%
g = lambda x: jax.pure_callback(f_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims")
jax.vmap(g)(jnp.arange(4.0))

# %%
g = lambda x: jax.pure_callback(f_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="broadcast_all")
jax.jit(jax.vmap(g))(jnp.arange(4.0))


# %%
def body(_, i):
    jax.debug.callback(lambda i: print("step", i), i)
    return i + 1, None


jax.lax.scan(lambda c, i: (jax.pure_callback(lambda c: c + 1, jax.ShapeDtypeStruct((), "float32"), c), None), jnp.float32(0), jnp.arange(3))[0]

# %%
# raises ValueError: Pure callbacks do not support JVP
jax.grad(lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), "float32"), x))(1.0)

# %%
from jax.experimental import io_callback

rng = np.random.default_rng(0)


def host_rng(x):
    return rng.uniform(size=x.shape).astype(x.dtype)


@jax.jit
def numpy_random_like(x):
    return io_callback(host_rng, x, x)


numpy_random_like(jnp.zeros(3, dtype=float)).shape

# %%
# raises ValueError: vmap, ordered IO callback
jax.vmap(lambda x: io_callback(host_rng, x, x, ordered=True))(jnp.zeros(3))


# %%
@jax.custom_jvp
def jv(v, z):
    z, v = jnp.asarray(z), jnp.asarray(v)
    shape = jax.ShapeDtypeStruct(jnp.broadcast_shapes(v.shape, z.shape), z.dtype)
    return jax.pure_callback(lambda v, z: np.power(z, v).astype(z.dtype), shape, v, z, vmap_method="broadcast_all")


jv.defjvps(None, lambda t, ans, v, z: v * jv(v - 1, z) * t)
print(jv(3, 2.0), jax.grad(jv, argnums=1)(3, 2.0), jax.jit(jax.vmap(jv, (None, 0)))(2, jnp.arange(3.0)))


# %%
@jax.jit
def logged(x):
    y = jnp.sin(x)
    jax.debug.callback(lambda v: print("value", v), y)
    return y


logged(1.0)
jax.effects_barrier()

# %%
# raises ValueError: vmap_method
jax.vmap(lambda x: jax.pure_callback(np.sin, x, x, vmap_method="nonsense"))(jnp.ones(2))
