# %%
import jax
import jax.numpy as jnp
import numpy as np

# %%
@jax.jit
def f(x):
    print("print(x) ->", x)
    y = jnp.sin(x)
    print("print(y) ->", y)
    jax.debug.print("x={x}", x=x)
    return y

result = f(2.0)
jax.effects_barrier()

# %%
def f(x):
    jax.debug.print("x: {}", x)

xs = jnp.arange(3.0)

def map_(xs):
    return jax.lax.map(lambda x: (jax.debug.print("{} squared", x, ordered=True), x)[1], xs)

map_(xs)

# %%
@jax.jit
def f(x, y):
    jax.debug.print("x: {}", x, ordered=True)
    jax.debug.print("y: {y}, sum {s:.2f}", y=y, s=x + y, ordered=True)
    return x + y

f(1, 2)

# %%
# raises KeyError: missing
jax.debug.print("{missing}", x=1)

# %%
# raises ValueError: f-string
x = 1.0
jax.debug.print(f"{x}", x=x)

# %%
def g(x):
    jax.debug.print("g: {}", x, ordered=True)
    return jnp.where(x > 0, x, 0.0)

print(jax.grad(g)(2.0))
jax.effects_barrier()

# %%
@jax.custom_gradient
def print_grad(x):
    return x, lambda g: (jax.debug.print("gradient: {}", g), g)[1]

jax.grad(lambda x: print_grad(x) * 3)(1.0)

# %%
jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(1.0)

# %%
# raises FloatingPointError: invalid value (nan) encountered in div
with jax.debug_nans(True):
    jax.lax.div(jnp.zeros(3), jnp.zeros(3))

# %%
# raises FloatingPointError: invalid value (nan) encountered in log
with jax.debug_nans(True):
    jax.jit(lambda x: jax.lax.log(-x))(jnp.ones(3))

# %%
# raises FloatingPointError: invalid value (inf)
with jax.debug_infs(True):
    jax.lax.div(jnp.ones(3), jnp.zeros(3))

# %%
with jax.disable_jit():
    jax.jit(lambda x: (print("value", x), x)[1])(1.0)

# %%
with jax.disable_jit():
    print(jax.lax.scan(lambda c, x: (c + x, float(c)), 0.0, jnp.arange(3.0)))

# %%
# raises Exception: Leaked trace
leaks = []

@jax.jit
def leaky(x):
    leaks.append(x + 1)
    return x

with jax.checking_leaks():
    leaky(1.0)

# %%
# raises UnexpectedTracerError: side effect
leaky(2.0)
leaks[-1] + 1

# %%
jax.config.update("jax_log_compiles", False)
jax.config.update("jax_numpy_rank_promotion", "allow")
jax.config.jax_numpy_rank_promotion

# %%
# raises ValueError: rank
with jax.numpy_rank_promotion("raise"):
    jnp.ones((2, 3)) + jnp.ones(3)
