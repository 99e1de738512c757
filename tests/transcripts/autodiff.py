# %%
import jax
import jax.numpy as jnp
from jax import grad

grad_tanh = grad(jnp.tanh)
print(grad_tanh(2.0))

# %%
print(grad(grad(jnp.tanh))(2.0))
print(grad(grad(grad(jnp.tanh)))(2.0))


# %%
def f(x):
    return x**3 + 2 * x**2 - 3 * x + 1


d1, d2, d3, d4 = f, grad(f), grad(grad(f)), grad(grad(grad(f)))
print(d1(1.0), d2(1.0), d3(1.0), d4(1.0), grad(d4)(1.0))

# %%
key = jax.random.key(0)


def sigmoid(x):
    return 0.5 * (jnp.tanh(x / 2) + 1)


def predict(W, b, inputs):
    return sigmoid(jnp.dot(inputs, W) + b)


inputs = jnp.array([[0.5, 1.1, 0.7], [0.8, -1.0, 0.1], [0.5, 0.0, -1.3], [0.7, -2.4, 1.3]])
targets = jnp.array([True, True, False, True])


def loss(W, b):
    preds = predict(W, b, inputs)
    label_probs = preds * targets + (1 - preds) * (1 - targets)
    return -jnp.sum(jnp.log(label_probs))


key, W_key, b_key = jax.random.split(key, 3)
W = jax.random.normal(W_key, (3,))
b = jax.random.normal(b_key, ())
W, b

# %%
W_grad = grad(loss, argnums=0)(W, b)
print(f"{W_grad = }")
W_grad = grad(loss)(W, b)
print(f"{W_grad = }")
b_grad = grad(loss, 1)(W, b)
print(f"{b_grad = }")
W_grad, b_grad = grad(loss, (0, 1))(W, b)
print(f"{W_grad = }")
print(f"{b_grad = }")


# %%
def loss2(params):
    preds = predict(params["W"], params["b"], inputs)
    return -jnp.sum(jnp.log(preds * targets + (1 - preds) * (1 - targets)))


print(grad(loss2)({"W": W, "b": b}))

# %%
loss_value, Wb_grad = jax.value_and_grad(loss, (0, 1))(W, b)
print("loss value", loss_value)
print("loss value", loss(W, b))

# %% within the reach of float32's differences
# within 1e-2
eps = 1e-3
print("b_grad", (loss(W, b + eps / 2.0) - loss(W, b - eps / 2.0)) / eps, grad(loss, 1)(W, b))

# %%
from jax.test_util import check_grads

check_grads(loss, (W, b), order=1)

# %%
jax.grad(lambda x: (x**2, {"aux": x + 1}), has_aux=True)(3.0)

# %%
jax.value_and_grad(lambda x: (x**2, [-x, "text"]), has_aux=True)(3.0)

# %%
# raises TypeError: scalar-output, (2,)
grad(lambda x: x * 2.0)(jnp.ones(2))

# %%
# raises TypeError: real- or complex-valued, int32
grad(f)(1)

# %%
# raises TypeError: scalar-output
grad(lambda x: (x, x))(1.0)

# %%
# raises TypeError: real-valued outputs, int
grad(lambda x: jnp.int32(3))(1.0)

# %%
# raises TypeError: holomorphic
grad(lambda x: x * (1 + 2j))(1.0)

# %%
# raises TypeError: argnums=2, at least 3 positional
grad(f, argnums=2)(1.0)

# %%
grad(lambda x, y: x * y, argnums=-1)(2.0, 3.0)

# %%
grad(f, allow_int=True)(3.0), jax.grad(lambda n: 2.0 * n, allow_int=True)(3).dtype

# %%
jax.make_jaxpr(grad(f))(1.0)

# %%
jax.make_jaxpr(grad(loss))(W, b)

# %%
# within 2e-6
jax.hessian(lambda W: loss(W, b))(W)

# %%
jax.make_jaxpr(jax.jacfwd(lambda x: jnp.sin(x)))(jnp.arange(2.0))

# %%
jax.make_jaxpr(jax.jacrev(lambda x: jnp.sin(x)))(jnp.arange(2.0))

# %%
jax.make_jaxpr(jax.hessian(lambda x: jnp.sum(x**2)))(jnp.arange(2.0))
