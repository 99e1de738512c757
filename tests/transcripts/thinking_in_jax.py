# %%
import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jit, lax, vmap

# %%
t = np.linspace(0, 6, 7)
print(np.round(2 * np.sin(t) * np.cos(t), 3).dtype)
u = jnp.linspace(0, 6, 7)
2 * jnp.sin(u) * jnp.cos(u)

# %%
a, b = np.arange(5), jnp.arange(5)
type(a).__name__, isinstance(b, jax.Array), isinstance(a, jax.Array)

# %%
b.devices(), len(b.sharding.device_set)

# %%
b.sharding

# %%
a[0] = 7
a

# %% the same with an immutable array
# raises TypeError: immutable, .at[
b[0] = 7

# %%
c = b.at[0].set(7)
print(b, c, sep="\n")

# %%
jnp.add(3, 2.5)

# %%
lax.add(3, 2)

# %% lax is strict
# raises TypeError: add, int32, float32
lax.add(jnp.int32(3), jnp.float32(2.5))

# %%
lax.add(jnp.float32(3), 2.5)

# %%
# raises TypeError: int32, float32
lax.add(1, 1.0)

# %%
kernel = jnp.array([0.5, 1.0, 2.0])
signal = jnp.arange(6.0)
jnp.convolve(signal, kernel)

# %%
from jax import lax

out = lax.conv_general_dilated(
    signal.reshape(1, 1, 6).astype(float),
    kernel.reshape(1, 1, 3)[:, :, ::-1].astype(float),
    window_strides=(1,),
    padding=[(2, 2)],
)
out[0, 0]


# %%
def center(X):
    X = X - X.mean(axis=1, keepdims=True)
    return X / X.std(axis=1, keepdims=True)


center_jit = jit(center)
X = jnp.sin(jnp.arange(20.0) * 3).reshape(4, 5)
np.allclose(center(X), center_jit(X), atol=1e-6)


# %%
def negative_ones(x):
    return x[x < 0]


negative_ones(jnp.array([1, -2, 3, -4]))

# %%
# raises NonConcreteBooleanIndexError: bool[4]
jit(negative_ones)(jnp.array([1, -2, 3, -4]))


# %%
@jit
def noisy(x, y):
    print("tracing noisy:")
    print(f"  x = {x}")
    print(f"  y = {y}")
    r = jnp.dot(x + 1, y + 1)
    print(f"  r = {r}")
    return r


noisy(jnp.ones((3, 4)), jnp.ones(4))

# %%
noisy(2 * jnp.ones((3, 4)), jnp.zeros(4))


# %%
def shape_of(x, y):
    return jnp.dot(x + 1, y + 1)


jax.make_jaxpr(shape_of)(jnp.ones((3, 4)), jnp.ones(4))


# %%
@jit
def flip(x, neg):
    return -x if neg else x


# %%
# raises TracerBoolConversionError: bool[], neg, flip
flip(1, True)

# %%
from functools import partial


@partial(jit, static_argnums=(1,))
def flip(x, neg):
    print("compiled for", neg)
    return -x if neg else x


print(flip(1, True), flip(1, False), flip(3, True))


# %%
@jit
def flat(x):
    return x.reshape(jnp.array(x.shape).prod())


# %%
# raises TypeError: concrete values, int32[]
flat(jnp.ones((2, 3)))


# %%
@jit
def flat(x):
    print(f"{x = }")
    print(f"{x.shape = }")
    print(f"{jnp.array(x.shape).prod() = }")
    return x


flat(jnp.ones((2, 3)))


# %%
@jit
def flat(x):
    return x.reshape((np.prod(x.shape),))


flat(jnp.ones((2, 3)))


# %%
def total_logistic(x):
    return jnp.sum(1.0 / (1.0 + jnp.exp(-x)))


print(grad(total_logistic)(jnp.arange(3.0)))


# %%
def first_differences(f, x, eps=1e-3):
    return jnp.array([(f(x + eps * v) - f(x - eps * v)) / (2 * eps) for v in jnp.eye(len(x))])


# within 1e-3
print(first_differences(total_logistic, jnp.arange(3.0)))

# %%
print(grad(jit(grad(jit(grad(total_logistic)))))(1.0))

# %%
from jax import jacobian

print(jacobian(jnp.exp)(jnp.arange(3.0)))

# %%
from jax import jacfwd, jacrev


def hessian(f):
    return jit(jacfwd(jacrev(f)))


print(hessian(total_logistic)(jnp.arange(3.0)))

# %%
key = jax.random.key(1701)
k1, k2 = jax.random.split(key)
mat, batch = jax.random.normal(k1, (5, 4)), jax.random.normal(k2, (3, 4))


def apply_matrix(x):
    return jnp.dot(mat, x)


@jit
def naive(b):
    return jnp.stack([apply_matrix(v) for v in b])


@jit
def by_hand(b):
    return jnp.dot(b, mat.T)


@jit
def by_vmap(b):
    return vmap(apply_matrix)(b)


np.testing.assert_allclose(naive(batch), by_hand(batch), atol=1e-4, rtol=1e-4)
np.testing.assert_allclose(by_hand(batch), by_vmap(batch), atol=1e-4, rtol=1e-4)
by_vmap(batch).shape

# %%
print(key)

# %%
key

# %%
print(jax.random.normal(key), jax.random.normal(key))

# %%
for i in range(3):
    new_key, subkey = jax.random.split(key)
    del key
    val = jax.random.normal(subkey)
    del subkey
    print(f"draw {i}: {val}")
    key = new_key

# %%
jnp.ones(3) @ jnp.arange(3.0), jax.default_backend()
