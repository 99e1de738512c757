# %%
import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jit, lax


@jit
def f(x):
    for _ in range(3):
        x = 2 * x
    return x


print(f(3))


# %%
@jit
def g(x):
    y = 0.0
    for i in range(x.shape[0]):
        y = y + x[i]
    return y


print(g(jnp.array([1.0, 2.0, 3.0])))


# %%
@jit
def h(x):
    if x < 3:
        return 3.0 * x**2
    return -4 * x


# %%
# raises TracerBoolConversionError: bool[], h
h(2)


# %%
# raises TracerBoolConversionError: bool[]
@jit
def between(x):
    return (x > 0) and (x < 3)


between(2)

# %%
h_static = jit(h.__wrapped__, static_argnames="x")
print(h_static(2.0), h_static(4.0))


# %%
def total(x, n):
    y = 0.0
    for i in range(n):
        y = y + x[i]
    return y


jit(total, static_argnames="n")(jnp.array([2.0, 3.0, 4.0]), 2)


# %%
def filled(length, val):
    return jnp.ones((length,)) * val


print(filled(4, 3))

# %%
# raises TypeError: Shapes must be 1D sequences of concrete values of integer type
jit(filled)(10, 4)

# %%
good = jit(filled, static_argnames="length")
print(good(6, 4), good(2, 4))


# %%
@jit
def loud(x):
    print(x)
    y = 2 * x
    print(y)
    return y


loud(2)

# %%
operand = jnp.array([0.0])
print(lax.cond(True, lambda x: x + 1, lambda x: x - 1, operand))
print(lax.cond(False, lambda x: x + 1, lambda x: x - 1, operand))

# %%
lax.while_loop(lambda x: x < 10, lambda x: x + 1, 0)

# %%
lax.fori_loop(0, 10, lambda i, x: x + i, 0)

# %%
lax.scan(lambda c, x: (c + x, c * x), 0.0, jnp.arange(1.0, 5.0))

# %%
lax.scan(lambda c, _: (c * 2, c), 1, None, length=4), lax.scan(lambda c, x: (c, x), None, jnp.arange(3), reverse=True)

# %%
lax.switch(1, [lambda x: x, lambda x: -x, lambda x: x * 10], 3), lax.switch(9, [jnp.sin, jnp.cos], 0.0)

# %%
lax.select(jnp.array([True, False]), jnp.ones(2), jnp.zeros(2))

# %%
x = jnp.arange(-2.0, 3.0)
print(jnp.piecewise(x, [x < 0, x > 0], [lambda v: -v, lambda v: v**2, 7.0]))
print(jnp.select([x < 0, x > 1], [x * 2, x * 3], default=-1))


# %%
def even_python(x):
    is_even = x % 2 == 0
    return is_even and (x > 0)


@jit
def even_jax(x):
    is_even = x % 2 == 0
    return jnp.logical_and(is_even, x > 0)


print(even_python(24), even_jax(24))
print(even_jax(jnp.array([-1, 2, 5])))

# %%
# raises ValueError: truth value, more than one element, ambiguous
print(even_python(jnp.array([-1, 2, 5])))

# %%
# raises ValueError: truth value, empty
bool(jnp.array([]))

# %%
print(grad(h.__wrapped__)(2.0), grad(h.__wrapped__)(4.0))

# %%
# raises TypeError: true_fun, output, tuple
lax.cond(True, lambda x: (x, x), lambda x: x, 1.0)

# %%
# raises TypeError: output, float32, int32
lax.cond(True, lambda x: x, lambda x: 1, 1.0)

# %%
# raises TypeError: scan, carry, float32[], float32[2]
lax.scan(lambda c, x: (jnp.stack([c, x]), x), 0.0, jnp.ones(2))

# %%
# raises TypeError: while_loop body function, carry, int32, float32
lax.while_loop(lambda x: x < 10, lambda x: x * 1.5, jnp.int32(1))

# %%
# raises TypeError: cond_fun, bool
lax.while_loop(lambda x: x, lambda x: x + 1, 1)

# %%
# raises TypeError: Pred must be, scalar
lax.cond(jnp.array([True, False]), lambda x: x, lambda x: x, 1.0)

# %%
# raises ValueError: Reverse-mode, while_loop, fori_loop
grad(lambda x: lax.while_loop(lambda c: c < 10.0, lambda c: c * x, x))(2.0)

# %%
jax.jvp(lambda x: lax.while_loop(lambda c: c < 10.0, lambda c: c * x, x), (2.0,), (1.0,))

# %%
grad(lambda x: lax.fori_loop(0, 3, lambda i, c: c * x, x))(2.0)

# %%
# raises ValueError: scan, leading axis sizes, 2, 3
lax.scan(lambda c, x: (c, x), 0, (jnp.ones(2), jnp.ones(3)))

# %%
jax.make_jaxpr(lambda x, n: lax.fori_loop(0, n, lambda i, c: c + x, x))(jnp.ones(2), 5)

# %%
jax.make_jaxpr(lambda x: lax.fori_loop(0, 3, lambda i, c: c + x, x))(jnp.ones(2))

# %%
jax.make_jaxpr(lambda x: lax.cond(x > 0, jnp.sin, lambda v: v * 2, x))(1.0)

# %%
grad(lambda x: lax.cond(x > 0, jnp.sin, lambda v: v * 2, x))(1.0)

# %%
jax.make_jaxpr(grad(lambda x: lax.scan(lambda c, v: (c * v, None), jnp.float32(1.0), x)[0]))(jnp.ones(3))

# %%
jax.vmap(lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, 1)))(jnp.arange(4))

# %%
lax.associative_scan(jnp.add, jnp.arange(5)), lax.map(lambda v: v * 2, jnp.arange(3))

# %%
lax.cond(jnp.bool_(True), lambda: 1.0, lambda: 0.0), lax.cond(2 > 1, lambda a, b: a, lambda a, b: b, 1, 2)
