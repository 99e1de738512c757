# %%
import jax
import jax.numpy as jnp


@jax.jit
def f(x):
    jax.debug.print("{x}", x=x)
    y = jnp.sin(x)
    jax.debug.print("{} and {y:.3f}", x, y=y)
    return y


f(2.0)


# %%
@jax.jit
def g(x):
    print("x:", x)
    y = jnp.sin(x)
    print("y:", y)
    return y


g(2.0)

# %%
xs = jnp.arange(3.0)


def h(x):
    jax.debug.print("x: {}", x)
    y = jnp.sin(x)
    jax.debug.print("y: {}", y)
    return y


jax.vmap(h)(xs)

# %%
jax.jit(h)(0.5)


# %%
def loss(x):
    jax.debug.print("x: {}", x)
    return x**2


jax.grad(loss)(1.0)


# %%
@jax.custom_vjp
def print_grad(x):
    return x


print_grad.defvjp(lambda x: (x, None), lambda _, g: (jax.debug.print("x_grad: {}", g), g)[1:])
jax.grad(lambda x: print_grad(x) ** 2)(3.0)


# %%
@jax.jit
def ordered(x, y):
    jax.debug.print("x: {}", x, ordered=True)
    jax.debug.print("y: {}", y, ordered=True)
    return x + y


ordered(1, 2)


# %%
def log_value(x):
    print("log:", x)


@jax.jit
def with_callback(x):
    jax.debug.callback(log_value, x)
    return x + 1


with_callback(1.0)
jax.effects_barrier()

# %%
jax.debug.print("no jit: {}", jnp.arange(2))

# %%
jax.lax.fori_loop(0, 3, lambda i, c: (jax.debug.print("i={i} c={c}", i=i, c=c), c + i)[1], 0)

# %%
jax.lax.scan(lambda c, x: (jax.debug.print("{}", c), (c + x, None))[1], 0.0, jnp.arange(3.0))[0]

# %%
jax.lax.cond(True, lambda x: jax.debug.print("true {}", x), lambda x: jax.debug.print("false {}", x), 5)

# %%
jax.make_jaxpr(lambda x: jax.debug.print("hi {}", x))(1.0).effects != set()

# %%
# raises IndexError: index
jax.debug.print("{} {}", 1)

# %%
# raises KeyError: y
jax.debug.print("{y}", x=1)

# %%
# raises ValueError: Unused positional arguments
jax.jit(lambda x: jax.debug.print(f"{x}", x))(1.0)

# %%
jax.config.update("jax_debug_nans", True)
jax.jit(lambda x: jnp.log(x))(1.0)

# %%
# raises FloatingPointError: nan
jax.lax.log(-1.0)

# %%
jax.config.update("jax_debug_nans", False)
with jax.debug_nans(True):
    print(jnp.sqrt(4.0))
jnp.log(-1.0)

# %%
# raises FloatingPointError: inf
with jax.debug_infs(True):
    jax.lax.div(jnp.ones(2), jnp.zeros(2))

# %%
with jax.disable_jit():
    print(jax.jit(lambda x: [x, float(x)])(2.0)[1])

# %%
jax.config.update("jax_disable_jit", True)
print(jax.lax.while_loop(lambda c: c < 3, lambda c: c + 1, 0), jax.lax.fori_loop(0, 3, lambda i, c: c + float(i), 0.0))
jax.config.update("jax_disable_jit", False)
