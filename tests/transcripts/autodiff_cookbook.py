# %%
import jax
import jax.numpy as jnp
from jax import grad, jit, random, vmap

key = random.key(0)
grad_tanh = grad(jnp.tanh)
print(grad_tanh(2.0), grad(grad(jnp.tanh))(2.0), grad(grad(grad(jnp.tanh)))(2.0))


# %%
def sigmoid(x):
    return 0.5 * (jnp.tanh(x / 2) + 1)


def predict(W, b, inputs):
    return sigmoid(jnp.dot(inputs, W) + b)


inputs = jnp.array([[0.4, 1.0, 0.6], [0.8, -1.1, 0.2], [0.5, 0.1, -1.2], [0.7, -2.3, 1.4]])
targets = jnp.array([True, True, False, True])


def loss(W, b):
    preds = predict(W, b, inputs)
    label_probs = preds * targets + (1 - preds) * (1 - targets)
    return -jnp.sum(jnp.log(label_probs))


key, W_key, b_key = random.split(key, 3)
W, b = random.normal(W_key, (3,)), random.normal(b_key, ())
W_grad, b_grad = grad(loss, (0, 1))(W, b)
print("W_grad", W_grad)
print("b_grad", b_grad)

# %%
from jax import value_and_grad

loss_value, Wb_grad = value_and_grad(loss, (0, 1))(W, b)
print("loss value", loss_value)
Wb_grad

# %%
key, subkey = random.split(key)
vec = random.normal(subkey, W.shape)
unitvec = vec / jnp.sqrt(jnp.vdot(vec, vec))
print("W_dirderiv_autodiff", jnp.vdot(grad(loss)(W, b), unitvec))

# %%
from jax.test_util import check_grads

check_grads(loss, (W, b), order=2, rtol=2e-2)

# %%
isinstance(jit, object), jax.tree.map(jnp.shape, grad(lambda p: loss(p["W"], p["b"]))({"W": W, "b": b}))


# %%
def hvp(f, x, v):
    return grad(lambda x: jnp.vdot(grad(f)(x), v))(x)


# within 1e-6
hvp(lambda W: loss(W, b), W, vec)

# %%
from jax import jacfwd, jacrev

f = lambda W: predict(W, b, inputs)
J = jacfwd(f)(W)
print("jacfwd result, with shape", J.shape)
print(J)
J = jacrev(f)(W)
print("jacrev result, with shape", J.shape)
print(J)


# %%
def predict_dict(params, inputs):
    return predict(params["W"], params["b"], inputs)


J_dict = jacrev(predict_dict)({"W": W, "b": b}, inputs)
for k, v in J_dict.items():
    print(f"Jacobian from {k} to logits is")
    print(v)


# %%
def hessian(f):
    return jacfwd(jacrev(f))


H = hessian(f)(W)
print("hessian, with shape", H.shape)
# within 1e-5
H

# %%
from jax import jvp

key, subkey = random.split(key)
v = random.normal(subkey, W.shape)
y, u = jvp(f, (W,), (v,))
y, u

# %%
from jax import vjp

y, vjp_fun = vjp(f, W)
key, subkey = random.split(key)
u = random.normal(subkey, y.shape)
vjp_fun(u)


# %%
def vgrad(f, x):
    y, vjp_fn = vjp(f, x)
    return vjp_fn(jnp.ones(y.shape))[0]


print(vgrad(lambda x: 3 * x**2, jnp.ones((2, 2))))


# %%
def hvp(f, primals, tangents):
    return jvp(grad(f), primals, tangents)[1]


def f(X):
    return jnp.sum(jnp.tanh(X) ** 2)


key, subkey1, subkey2 = random.split(key, 3)
X, V = random.normal(subkey1, (3, 4)), random.normal(subkey2, (3, 4))
ans1 = hvp(f, (X,), (V,))
ans2 = jnp.tensordot(hessian(f)(X), V, 2)
print(jnp.allclose(ans1, ans2, 1e-4, 1e-4), ans1.shape)


# %%
def hvp_revfwd(f, primals, tangents):
    g = lambda primals: jvp(f, primals, tangents)[1]
    return grad(g)(primals)


hvp_revfwd(f, (X,), (V,))[0].shape


# %%
def vmap_mjp(f, x, M):
    y, vjp_fun = vjp(f, x)
    (outs,) = vmap(vjp_fun)(M)
    return outs


def loop_mjp(f, x, M):
    y, vjp_fun = vjp(f, x)
    return jnp.vstack([vjp_fun(mi)[0] for mi in M])


f = lambda W: predict(W, b, inputs)
M = random.normal(random.key(1), (6, 4))
jnp.allclose(vmap_mjp(f, W, M), loop_mjp(f, W, M)), vmap_mjp(f, W, M)

# %%
vmap(lambda t: jvp(f, (W,), (t,))[1], out_axes=1)(jnp.eye(3))

# %%
from jax import jacrev as builtin_jacrev


def our_jacrev(f):
    def jacfun(x):
        y, vjp_fun = vjp(f, x)
        (J,) = vmap(vjp_fun, in_axes=0)(jnp.eye(len(y)))
        return J

    return jacfun


jnp.allclose(builtin_jacrev(f)(W), our_jacrev(f)(W))


# %% complex
def f(z):
    x, y = jnp.real(z), jnp.imag(z)
    return x**2 - y**2 + 1j * (2 * x * y)


grad(f, holomorphic=True)(3.0 + 4j), jacfwd(f, holomorphic=True)(1 + 1j)

# %%
jvp(f, (1.0 + 2j,), (1.0 + 0j,)), vjp(f, 1.0 + 2j)[1](1.0 + 0j)


# %%
def f(z):
    return jnp.conjugate(z)


z = 3.0 - 4j
grad(f, holomorphic=True)(z)


# %%
def check(seed):
    key = random.key(seed)
    z = random.normal(key, (), dtype=complex)
    return z, jnp.cos(z), jnp.sinh(z), jnp.abs(z), jnp.angle(z)


check(0)

# %%
A = jnp.array([[5.0, 2.0 + 3j, 5j], [2.0 - 3j, 7.0, 1.0 + 7j], [-5j, 1.0 - 7j, 12.0]])


def f(X):
    L = jnp.linalg.cholesky(X)
    return jnp.sum((L - jnp.sin(L)) ** 2)


# within 1e-4
grad(f, holomorphic=True)(A)

# %%
grad(lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0))(0.0), grad(lambda x: jnp.where(x > 0, jnp.sqrt(jnp.where(x > 0, x, 1.0)), 0.0))(0.0)

# %%
grad(jnp.abs)(0.0), grad(jnp.maximum)(1.0, 1.0), grad(jnp.sqrt)(0.0), grad(jax.nn.relu)(0.0), grad(jnp.linalg.norm)(jnp.zeros(2))
