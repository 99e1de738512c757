# %%
import functools

import jax
import jax.numpy as jnp

log = []


def log_ratio(x):
    log.append(x)
    return jnp.log(x) / jnp.log(2.0)


print(jax.make_jaxpr(log_ratio)(3.0))

# %%
log


# %%
def log_and_print(x):
    print("x is", x)
    return jnp.log(x)


print(jax.make_jaxpr(log_and_print)(3.0))


# %%
def branch(x):
    return x if x.ndim == 2 else jnp.tile(x[None], (2, 1))


print(jax.make_jaxpr(branch)(jnp.array([1, 2, 3])))

# %%
jax.jit(branch)(jnp.array([1, 2, 3]))


# %%
def positive(x):
    if x > 0:
        return x
    return 2 * x


# %%
# raises TracerBoolConversionError: bool[], positive
jax.jit(positive)(10.0)


# %%
def steps(x, n):
    i = 0
    while i < n:
        i += 1
    return x + i


# %%
# raises TracerBoolConversionError: bool[], n
jax.jit(steps)(10, 20)

# %%
jax.jit(steps, static_argnums=1)(10, 20), jax.jit(steps, static_argnames=["n"])(10, n=3)

# %%
print(jax.jit(steps, static_argnames="n").lower(10, n=5).compile()(10))


# %%
@jax.jit
def outer(x, n):
    def inner(i, v):
        return v * 2

    return jax.lax.fori_loop(0, n, inner, x)


outer(1.5, 4)


# %%
@functools.partial(jax.jit, static_argnames=["n"])
def powers(x, n):
    print("traced", n)
    return [x**i for i in range(n)]


print(powers(2.0, n=3))
print(powers(3.0, n=3))
print(powers(3.0, n=2))


# %%
# raises ValueError: Non-hashable static, list
@functools.partial(jax.jit, static_argnums=0)
def first(opts):
    return opts[0]


first([1, 2])


# %%
class Setting:
    def __init__(self, scale):
        self.scale = scale

    def __hash__(self):
        return hash(self.scale)

    def __eq__(self, other):
        return isinstance(other, Setting) and self.scale == other.scale


f = jax.jit(lambda x, setting: x * setting.scale, static_argnums=1)
print(f(2.0, Setting(3.0)), f(2.0, Setting(3.0)), f._cache_size())


# %%
class Scaler:
    def __init__(self, mul):
        self.mul = mul

    @functools.partial(jax.jit, static_argnums=0)
    def scaled(self, x, y):
        return self.mul * (x + y)


Scaler(3).scaled(2, 1)


# %%
class Broken:
    mul = 2

    @jax.jit
    def scaled(self, x):
        return self.mul * x


# %%
# raises TypeError: Error interpreting argument, Broken
Broken().scaled(3)

# %%
# raises TypeError: str
jax.jit(lambda x: x)("text")

# %%
# raises TypeError: str
jax.jit(lambda x: "text")(1)

# %%
leaked = []
jax.jit(lambda x: leaked.append(x))(1.0)

# %%
# raises UnexpectedTracerError: side effect, escape
leaked[0] + 1

# %%
jax.jit(lambda x, *rest, **kw: (x, rest, kw))(1, 2, (3,), a=4)

# %%
f = jax.jit(lambda x: x * 2 + 1)
f.lower(jnp.ones(3)).in_tree, f.lower(jnp.ones(3)).out_tree, f.eval_shape(jnp.ones(3))

# %%
traced = f.trace(jax.ShapeDtypeStruct((3,), jnp.float32))
traced.jaxpr, traced.out_info

# %%
f.clear_cache()
f.__wrapped__(4), f(4)

# %%
# raises TracerArrayConversionError: float32[3]
import numpy as np

jax.jit(lambda x: np.sin(x))(jnp.ones(3))

# %%
# raises ConcretizationTypeError: int
jax.jit(lambda n: jnp.zeros(3)[: int(n)])(2)

# %%
# raises TypeError: Shapes must be 1D sequences, concrete
jax.jit(lambda n: jnp.zeros(n))(2)

# %%
jax.jit(lambda d: {k: v + 1 for k, v in d.items()})({"b": 1, "a": jnp.arange(2)})

# %%
jax.jit(lambda x, y: x + y, donate_argnums=0)(jnp.ones(2), 1.0)

# %%
with jax.disable_jit():
    print(jax.jit(positive)(-3.0))


# %%
def scale(x):
    return x * factor


factor = 2
g = jax.jit(scale)
print(g(1))
factor = 10
print(g(2), g(2.0))

# %%
jax.jit(jax.jit(lambda x: x + 1).__wrapped__, inline=True)(1)

# %%
jax.make_jaxpr(jax.jit(lambda x: jax.jit(jnp.sin)(x) + jax.jit(lambda y: y * 2)(x)))(1.0)
