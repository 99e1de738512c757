# %%
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

# %%
def f_host(x):
    return np.sin(x).astype(x.dtype)

def f(x):
    result_shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(f_host, result_shape, x, vmap_method="sequential")

x = jnp.arange(5.0)
f(x)

# %%
jax.jit(f)(x)

# %%
jax.vmap(f)(x)

# %%
jax.lax.scan(lambda _, x: (_, f(x)), None, jnp.arange(5.0))[1]

# %%
# raises ValueError: Pure callbacks do not support JVP
jax.grad(f)(x[0])

# %%
@jax.jit
def f1():
    return jax.pure_callback(
        lambda: (print("not dropped"), np.float32(1.0))[1], jax.ShapeDtypeStruct((), np.float32)
    )

f1()

# %%
@jax.jit
def f2():
    jax.pure_callback(
        lambda: (print("dropped"), np.float32(1.0))[1], jax.ShapeDtypeStruct((), np.float32)
    )
    return 1.0

f2()

# %%
for method in ["sequential", "expand_dims", "broadcast_all"]:
    def shapes(x, y):
        def host(x, y):
            print(np.shape(x), np.shape(y))
            return np.asarray(x + y)
        out = jax.ShapeDtypeStruct((), np.float32)
        return jax.pure_callback(host, out, x, y, vmap_method=method)
    print(method, jax.vmap(shapes, in_axes=(0, None))(jnp.arange(3.0), 2.0))

# %%
# raises NotImplementedError: vmap_method
def g(x):
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), np.float32), x)

jax.vmap(g)(jnp.arange(3.0))

# %%
global_rng = np.random.default_rng(0)

def host_side_random_like(x):
    return global_rng.uniform(size=x.shape).astype(x.dtype)

@jax.jit
def numpy_random_like(x):
    return io_callback(host_side_random_like, x, x)

x = jnp.zeros(5)
numpy_random_like(x)

# %%
jax.vmap(numpy_random_like)(x)

# %%
@jax.jit
def numpy_random_like_ordered(x):
    return io_callback(host_side_random_like, x, x, ordered=True)

# raises ValueError: Cannot `vmap` ordered IO callback
jax.vmap(numpy_random_like_ordered)(x)

# %%
# raises ValueError: IO callbacks do not support JVP
jax.grad(numpy_random_like)(1.0)

# %%
@jax.jit
def f(x):
    jax.debug.callback(lambda x: print("log:", x), x, ordered=True)
    return x

f(1.0)
jax.effects_barrier()

# %%
jax.grad(f)(1.0)
jax.effects_barrier()

# %%
@jax.custom_jvp
def sine(x):
    return jax.pure_callback(
        f_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims"
    )

@sine.defjvp
def sine_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return sine(x), t * jnp.cos(x)

jax.jit(jax.vmap(jax.grad(sine)))(jnp.arange(3.0))
