# %%
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name, print_saved_residuals


def g(W, x):
    y = jnp.dot(W, x)
    return jnp.sin(y)


def f(W1, W2, W3, x):
    x = g(W1, x)
    x = g(W2, x)
    x = g(W3, x)
    return x


W1, W2, W3 = jnp.ones((5, 4)), jnp.ones((6, 5)), jnp.ones((7, 6))
x = jnp.ones(4)
jax.ad_checkpoint.print_saved_residuals(f, W1, W2, W3, x)


# %%
def f2(W1, W2, W3, x):
    x = jax.checkpoint(g)(W1, x)
    x = jax.checkpoint(g)(W2, x)
    x = jax.checkpoint(g)(W3, x)
    return x


print_saved_residuals(f2, W1, W2, W3, x)

# %%
f3 = jax.checkpoint(f, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
print_saved_residuals(f3, W1, W2, W3, x)


# %%
def f4(W1, W2, W3, x):
    x = checkpoint_name(g(W1, x), name="a")
    x = checkpoint_name(g(W2, x), name="b")
    x = checkpoint_name(g(W3, x), name="c")
    return x


f4 = jax.checkpoint(f4, policy=jax.checkpoint_policies.save_only_these_names("a"))
print_saved_residuals(f4, W1, W2, W3, x)


# %%
def loss(params, x, y):
    return jnp.sum((predict(params, x) - y) ** 2)


def predict(params, x):
    *Ws, last = params
    for i, W in enumerate(Ws):
        x = layer(W, x)
        x = checkpoint_name(x, name=f"layer{i}_output")
    return jnp.dot(last, x)


def layer(W, x):
    return jnp.sin(jnp.dot(W, x))


params = [jnp.ones((4, 4))] * 3
x = y = jnp.ones(4)
print_saved_residuals(loss, params, x, y)

# %%
policy = jax.checkpoint_policies.save_any_names_but_these("layer1_output")
print_saved_residuals(jax.checkpoint(loss, policy=policy), params, x, y)

# %%
policy = jax.checkpoint_policies.checkpoint_dots_with_no_batch_dims
print_saved_residuals(jax.checkpoint(loss, policy=policy), params, x, y)

# %%
jax.make_jaxpr(jax.checkpoint(jnp.sin))(1.0)

# %%
jax.make_jaxpr(jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))))(1.0)

# %%
jax.make_jaxpr(lambda x: checkpoint_name(x * 2, "doubled"))(1.0)

# %%
jax.grad(jax.remat(lambda x: jnp.sin(x) ** 2))(1.0)


# %%
def chain(funs):
    def run(x):
        for fun in funs:
            x = fun(x)
        return x

    return run


chain8 = chain([jnp.sin] * 8)
print_saved_residuals(chain8, 3.0)


# %%
def recursive(funs):
    if len(funs) == 1:
        return funs[0]
    if len(funs) == 2:
        return lambda x: funs[0](funs[1](x))
    half = len(funs) // 2
    one, two = recursive(funs[:half]), recursive(funs[half:])
    return lambda x: one(jax.checkpoint(two)(x))


print_saved_residuals(recursive([jnp.sin] * 8), 3.0)


# %%
@jax.jit
def train_step(params, x, y):
    grads = jax.grad(jax.checkpoint(loss))(params, x, y)
    return [p - 0.01 * g for p, g in zip(params, grads)]


train_step(params, x, y)[0][0]


# %%
def scan_loss(x):
    body = jax.checkpoint(lambda c, _: (jnp.sin(c), None))
    return jax.lax.scan(body, x, None, length=3)[0]


print(jax.grad(scan_loss)(1.0))

# %%
jax.checkpoint(lambda x, flag: x if flag else -x, static_argnums=(1,))(3.0, False)

# %%
# raises TracerBoolConversionError: bool[]
jax.grad(jax.checkpoint(lambda x, flag: x if flag else -x))(3.0, False)
