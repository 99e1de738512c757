# %%
import jax
import jax.numpy as jnp
from jax import grad, hessian, jacfwd, jacrev, jit, jvp, vjp, vmap


def hvp(f, x, v):
    return grad(lambda x: jnp.vdot(grad(f)(x), v))(x)


f = lambda x: jnp.sum(jnp.sin(x) * x**2)
hvp(f, jnp.arange(3.0), jnp.array([1.0, 0.0, 2.0]))

# %%
jvp(grad(f), (jnp.arange(3.0),), (jnp.array([1.0, 0.0, 2.0]),))


# %% learning to learn
def meta_loss(lr, theta):
    inner = lambda th: jnp.sum((th - 1.0) ** 2)
    theta = theta - lr * grad(inner)(theta)
    return inner(theta)


grad(meta_loss)(0.1, jnp.array([2.0, 3.0])), grad(meta_loss, 1)(0.1, jnp.array([2.0, 3.0]))

# %% stopping gradients: a td update
value_fn = lambda theta, state: jnp.dot(theta, state)
theta = jnp.array([0.1, -0.1, 0.0])
s_t, r, s_next = jnp.array([1.0, 2.0, -1.0]), jnp.array(1.0), jnp.array([2.0, 1.0, 0.0])


def td(theta, s_t, r, s_next):
    target = r + value_fn(theta, s_next)
    return -0.5 * ((jax.lax.stop_gradient(target) - value_fn(theta, s_t)) ** 2)


grad(td)(theta, s_t, r, s_next)

# %%
jax.make_jaxpr(grad(td))(theta, s_t, r, s_next)

# %% straight through
round_through = lambda x: x - jax.lax.stop_gradient(x) + jax.lax.stop_gradient(jnp.round(x))
print("f(x): ", jnp.round(3.2), round_through(3.2))
print("grad:", grad(jnp.round)(3.2), grad(round_through)(3.2))

# %% per example
per_example = jit(vmap(grad(td), in_axes=(None, 0, 0, 0)))
per_example(theta, jnp.stack([s_t, s_t]), jnp.stack([r, r]), jnp.stack([s_next, s_next]))

# %%
A = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
g = lambda x: jnp.tanh(A @ x)
x = jnp.array([0.1, -0.2])
print(jacfwd(g)(x))
print(jacrev(g)(x))

# %%
hessian(lambda x: jnp.sum(g(x)))(x)

# %%
y, push = jax.linearize(g, x)
y, push(jnp.ones(2)), vmap(push)(jnp.eye(2))

# %%
y, pull = vjp(g, x)
print(pull(jnp.ones(3)))
vmap(pull)(jnp.eye(3))

# %%
jax.make_jaxpr(lambda x, t: jvp(g, (x,), (t,)))(x, x)

# %%
jax.make_jaxpr(lambda x, ct: vjp(g, x)[1](ct))(x, jnp.ones(3))

# %%
jax.make_jaxpr(lambda x: jax.linearize(g, x)[1](x))(x)

# %%
# raises TypeError: tangent, dtype
jvp(jnp.sin, (1.0,), (1,))

# %%
# raises ValueError: shape
jvp(jnp.sin, (jnp.ones(2),), (jnp.ones(3),))

# %%
# raises TypeError: tuple
jvp(jnp.sin, 1.0, 1.0)

# %%
# raises ValueError: float32[3], float32[2]
vjp(jnp.sin, jnp.ones(2))[1](jnp.ones(3))

# %%
out, pull, aux = vjp(lambda x: (x * 2, "aux"), 3.0, has_aux=True)
out, pull(1.0), aux

# %%
jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.0)), jvp(lambda x: (-x, {"k": x**2}), (2.0,), (1.0,))

# %%
jax.linear_transpose(lambda x: 3.0 * x + x, jnp.ones(2))(jnp.arange(2.0))

# %%
import numpy as np

res = vjp(lambda n: n * 2, 3)[1](np.zeros((), jax.dtypes.float0))
len(res), res[0].dtype

# %%
jax.jacrev(lambda p: {"a": p["w"] * 2, "b": p["w"].sum()})({"w": jnp.ones(2)})

# %%
jacfwd(lambda x, y: x * y, argnums=(0, 1))(jnp.ones(2), jnp.arange(2.0))

# %% complex numbers
h = lambda z: jnp.sin(z) * z
grad(h, holomorphic=True)(3.0 + 4j)

# %%
# raises TypeError: holomorphic=True, complex
grad(h, holomorphic=True)(3.0)

# %%
grad(lambda z: jnp.real(z * jnp.conj(z)))(1.0 + 2j), jvp(jnp.abs, (3 + 4j,), (1 + 0j,))

# %%
jax.jacobian(lambda z: z**2, holomorphic=True)(jnp.array([1 + 1j, 2.0]))

# %%
M = jnp.array([[2.0 + 1j, 0.5], [0.5, 3.0]])
grad(lambda m: jnp.real(jnp.trace(m @ m)))(M)

# %%
jax.closure_convert(lambda x: x * y.sum(), 1.0)[1], jax.checkpoint(jnp.sin)(1.0)
