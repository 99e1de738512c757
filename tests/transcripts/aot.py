# %%
import jax
import jax.numpy as jnp
import numpy as np


def f(x, y):
    return 2 * x + y


x, y = 3, 4
traced = jax.jit(f).trace(x, y)
print(traced.jaxpr)

# %%
lowered = traced.lower()
compiled = lowered.compile()
type(lowered).__name__, type(compiled).__name__, compiled(x, y)

# %%
lowered.in_tree, lowered.out_tree, traced.out_info, lowered.args_info

# %%
i32 = jax.ShapeDtypeStruct((), jnp.dtype("int32"))
jax.jit(f).trace(i32, i32).lower().compile()(x, y), i32, i32.shape, i32.dtype

# %%
# raises TypeError: Argument types differ, compiled, int32[], float32[3]
jax.jit(f).lower(i32, i32).compile()(np.ones(3), np.ones(3))

# %%
# raises TypeError: input pytree, mismatches
jax.jit(f).lower(i32, i32).compile()(1)


# %%
def g(n, x):
    return x + n


lowered = jax.jit(g, static_argnums=0).lower(7, 8)
compiled = lowered.compile()
compiled(5)

# %%
compiled.in_tree, compiled.out_tree

# %%
# raises TypeError: Cannot apply JAX transformations
jax.vmap(compiled)(jnp.arange(2))

# %%
jax.vmap(lambda v: jax.jit(g, static_argnums=0)(7, v))(jnp.arange(2))

# %%
jax.eval_shape(f, jax.ShapeDtypeStruct((2, 3), jnp.float32), 1)

# %%
jax.jit(f).eval_shape(jnp.ones(2), i32), jax.eval_shape(lambda d: {"a": d["b"].sum(0)}, {"b": jnp.ones((2, 3))})

# %%
isinstance(lowered.as_text(), str), "flops" in str(jax.jit(f).lower(1.0, 2.0).cost_analysis())

# %%
jax.jit(f).lower(jnp.ones(2), y=jnp.ones(2)).compile()(jnp.ones(2), y=jnp.ones(2))

# %%
jax.ShapeDtypeStruct((2, 3), "float32"), jax.ShapeDtypeStruct((), int).dtype, jax.typeof(jnp.ones(2))

# %%
jax.block_until_ready({"a": jnp.ones(2)}), jnp.ones(2).block_until_ready()

# %%
jax.device_get({"a": jnp.ones(2)}), jax.device_put(np.arange(2)), jax.device_put([1.0, 2])

# %%
jax.devices()[0], jax.devices()[0].platform, jax.process_count(), jax.process_index()

# %%
jnp.ones(2).device, jnp.ones(2).nbytes, jnp.ones(2).itemsize, jnp.ones(2).is_fully_addressable, jnp.ones(1).committed
