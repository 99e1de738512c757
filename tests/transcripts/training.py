# %%
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jit, random, vmap
from jax.scipy.special import logsumexp


def random_layer_params(m, n, key, scale=1e-2):
    w_key, b_key = random.split(key)
    return scale * random.normal(w_key, (n, m)), scale * random.normal(b_key, (n,))


def init_network_params(sizes, key):
    keys = random.split(key, len(sizes))
    return [random_layer_params(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]


params = init_network_params([12, 8, 3], random.key(0))
jax.tree.map(jnp.shape, params)


# %%
def relu(x):
    return jnp.maximum(0, x)


def predict(params, image):
    activations = image
    for w, b in params[:-1]:
        activations = relu(jnp.dot(w, activations) + b)
    final_w, final_b = params[-1]
    logits = jnp.dot(final_w, activations) + final_b
    return logits - logsumexp(logits)


image = random.normal(random.key(1), (12,))
predict(params, image)

# %%
images = random.normal(random.key(1), (10, 12))
try:
    predict(params, images)
except TypeError as e:
    print("Invalid shapes!", type(e).__name__)

# %%
batched_predict = vmap(predict, in_axes=(None, 0))
batched_predict(params, images).shape


# %%
def one_hot(x, k, dtype=jnp.float32):
    return jnp.array(x[:, None] == jnp.arange(k), dtype)


def accuracy(params, images, targets):
    return jnp.mean(jnp.argmax(batched_predict(params, images), axis=1) == jnp.argmax(targets, axis=1))


def loss(params, images, targets):
    return -jnp.mean(batched_predict(params, images) * targets)


@jit
def update(params, x, y):
    grads = grad(loss)(params, x, y)
    return [(w - 0.5 * dw, b - 0.5 * db) for (w, b), (dw, db) in zip(params, grads)]


targets = one_hot(jnp.arange(10) % 3, 3)
targets[:4], accuracy(params, images, targets), loss(params, images, targets)

# %%
for step in range(40):
    params = update(params, images, targets)
print(f"{loss(params, images, targets):.3f} {accuracy(params, images, targets):.2f}")


# %% stateful computations
class Params(NamedTuple):
    weight: jnp.ndarray
    bias: jnp.ndarray


def init(rng):
    weights_key, bias_key = random.split(rng)
    return Params(random.normal(weights_key, ()), random.normal(bias_key, ()))


def linear_loss(params, x, y):
    return jnp.mean((params.weight * x + params.bias - y) ** 2)


@jit
def linear_update(params, x, y):
    return jax.tree.map(lambda p, g: p - 0.005 * g, params, grad(linear_loss)(params, x, y))


rng = np.random.default_rng(0)
x = rng.normal(size=(64, 1)).astype("float32")
y = x * 3 - 1
params = init(random.key(42))
print(params)
for _ in range(100):
    params = linear_update(params, x, y)
params


# %%
class Counter:
    def __init__(self):
        self.n = 0

    def count(self):
        self.n += 1
        return self.n


counter = Counter()
fast_count = jit(counter.count)
print(fast_count(), fast_count(), fast_count())


# %%
@jit
def count(n):
    return n + 1, n + 1


state = 0
for _ in range(3):
    value, state = count(state)
    print(value, repr(state))

# %% log probabilities
features, labels = random.normal(random.key(3), (6, 2)), jnp.array([1, 0, 1, 1, 0, 0])


def log_joint(beta):
    result = 0.0
    result = result + jnp.sum(jax.scipy.stats.norm.logpdf(beta, loc=0.0, scale=1.0))
    result = result + jnp.sum(-jnp.log(1 + jnp.exp(-(2 * labels - 1) * jnp.dot(features, beta))))
    return result


print(log_joint(jnp.ones(2)))
vmap(log_joint)(jnp.stack([jnp.ones(2), jnp.zeros(2)]))


# %%
def elbo(beta_loc, beta_log_scale, epsilon):
    beta_sample = beta_loc + jnp.exp(beta_log_scale) * epsilon
    return jnp.mean(vmap(log_joint)(beta_sample), 0) + jnp.sum(beta_log_scale - 0.5 * np.log(2 * np.pi))


elbo = jit(elbo)
jax.value_and_grad(elbo, argnums=(0, 1))(jnp.zeros(2), jnp.zeros(2), random.normal(random.key(4), (5, 2)))

# %% per example gradients
per_example = jit(vmap(grad(lambda p, x, y: (p[0] * x + p[1] - y) ** 2), in_axes=(None, 0, 0)))
per_example((1.0, 2.0), jnp.arange(3.0), jnp.ones(3))

# %% sharing the gradient over a named axis
vmap(lambda x: jax.lax.pmean(x, "batch"), axis_name="batch")(jnp.arange(4.0)), vmap(lambda x: x - jax.lax.pmax(x, "b"), axis_name="b")(jnp.arange(3.0))

# %%
from jax.example_libraries import optimizers, stax

opt_init, opt_update, get_params = optimizers.adam(1e-1)
opt_state = opt_init({"w": jnp.ones(2)})
for i in range(3):
    g = grad(lambda p: jnp.sum(p["w"] ** 2))(get_params(opt_state))
    opt_state = opt_update(i, g, opt_state)
get_params(opt_state)

# %%
init_fun, apply_fun = stax.serial(stax.Dense(4), stax.Relu, stax.Dense(2), stax.LogSoftmax)
shape, net = init_fun(random.key(0), (-1, 3))
print(shape)
apply_fun(net, jnp.ones((1, 3)))

# %%
jax.nn.one_hot(jnp.arange(3), 4), jax.nn.softmax(jnp.arange(3.0)), jax.nn.initializers.glorot_normal()(random.key(0), (2, 2))
