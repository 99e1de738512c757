# %%
import jax
import jax.numpy as jnp


def selu(x, alpha=1.67, lmbda=1.05):
    return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


x = jnp.arange(5.0)
print(selu(x))

# %%
from jax import random

key = random.key(1701)
big = random.normal(key, (1_000_000,))
print(big.shape, big.dtype, big[:3])

# %%
fast = jax.jit(selu)
r = fast(big).block_until_ready()
jnp.abs(r - selu(big)).max() < 1e-5

# %%
jax.make_jaxpr(selu)(x)

# %%
print(jax.jit(selu).trace(x).jaxpr)

# %%
jax.grad(lambda x: jnp.sum(1.0 / (1.0 + jnp.exp(-x))))(jnp.arange(3.0))


# %%
def loss(w, batch):
    inputs, targets = batch
    return jnp.mean((inputs @ w - targets) ** 2)


w = jnp.zeros(2)
batch = (jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), jnp.array([1.0, 2.0, 4.0]))
jax.value_and_grad(loss)(w, batch)

# %%
jax.make_jaxpr(jax.grad(loss))(w, batch)

# %%
for step in range(3):
    w = w - 0.01 * jax.jit(jax.grad(loss))(w, batch)
    print(step, w)

# %%
jax.vmap(lambda v: jnp.tanh(v).sum())(batch[0])

# %%
repr(random.split(key, 2)), random.key_data(key)

# %%
# raises TypeError: scalar-output
jax.grad(lambda x: x * 2)(jnp.arange(3.0))

# %%
# raises TypeError: real- or complex-valued inputs, int32
jax.grad(lambda x: x * 2)(3)

# %%
jax.jit(lambda x: {"sum": x.sum(), "parts": [x, None]})(x)

# %%
jnp.ones((2, 2)), jnp.zeros(3, dtype=int), jnp.full((2,), 7), jnp.eye(2, dtype=bool)
