# %%
import jax
import jax.numpy as jnp
import numpy as np
from jax import random

np.random.seed(0)
print(np.random.uniform(size=3))

# %%
key = random.key(42)
print(key)

# %%
key, key.dtype, key.shape, random.key_data(key), random.key_impl(key)

# %%
print(random.normal(key))
print(random.normal(key))

# %%
for i in range(3):
    new_key, subkey = random.split(key)
    del key
    val = random.normal(subkey)
    del subkey
    print(f"draw {i}: {val}")
    key = new_key

# %%
key = random.key(42)
subkeys = random.split(key, 4)
subkeys, subkeys[0], subkeys.shape, len(subkeys), [str(k) for k in subkeys][:2]

# %%
key, *rest = random.split(key, 3)
key, rest

# %%
key = random.key(42)
print("individually:", np.stack([random.normal(k) for k in random.split(key, 3)]))
print("all at once:", random.normal(random.key(42), shape=(3,)))

# %%
jax.vmap(random.normal)(random.split(random.key(0), 3)), jax.vmap(lambda k: random.uniform(k, (2,)))(random.split(random.key(1), 2))

# %%
random.fold_in(key, 7), random.fold_in(random.PRNGKey(3), 7), random.PRNGKey(0)

# %%
random.wrap_key_data(jnp.array([1, 2], dtype=jnp.uint32)), random.clone(key)

# %%
jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key), isinstance(key, jax.Array)

# %%
# raises TypeError: add, key<fry>
key + 1

# %%
# raises TypeError: key
jnp.sin(key)

# %%
# raises TypeError: scalar seed
random.key(jnp.arange(2))

# %%
# raises ValueError: key array
random.normal(random.split(key, 2), (2,))

# %%
# raises TypeError: float
random.key(1.5)

# %%
random.uniform(key, (2, 2)), random.uniform(key, (2,), minval=-1.0, maxval=1.0)

# %%
random.randint(key, (5,), 0, 10), random.bits(key, (2,)), random.bernoulli(key, 0.3, (4,))

# %%
random.permutation(key, 6), random.permutation(key, jnp.arange(6).reshape(3, 2), axis=1, independent=True)

# %%
random.choice(key, 5, (3,)), random.choice(key, jnp.arange(5) * 10, (3,), replace=False), random.choice(key, 3, (4,), p=jnp.array([0.1, 0.1, 0.8]))

# %%
random.categorical(key, jnp.log(jnp.array([0.1, 0.2, 0.7])), shape=(5,)), random.truncated_normal(key, -1.0, 1.0, (3,))

# %%
random.exponential(key, (2,)), random.gamma(key, 2.0, (2,)), random.beta(key, 1.0, 2.0, (2,)), random.poisson(key, 3.0, (4,))

# %%
random.multivariate_normal(key, jnp.zeros(2), jnp.array([[2.0, 0.5], [0.5, 1.0]])), random.dirichlet(key, jnp.ones(3))

# %%
random.laplace(key), random.gumbel(key, (2,)), random.cauchy(key), random.logistic(key), random.t(key, 3.0), random.rademacher(key, (4,))

# %%
random.normal(key, (2,), dtype=jnp.float16), random.normal(key, (2,), dtype=jnp.bfloat16), random.normal(key, (2,), dtype=complex)

# %%
jax.jit(lambda k: random.normal(k, (2,)))(key), jax.make_jaxpr(lambda k: random.uniform(k))(key)

# %%
jax.make_jaxpr(lambda k: random.split(k))(key)

# %%
jnp.stack([key, key]), jnp.concatenate([rest[0][None], key[None]]).shape, key[None].reshape(1, 1)

# %%
random.shuffle if hasattr(random, "shuffle") else "no shuffle", random.ball(key, 2), random.orthogonal(key, 2).shape
