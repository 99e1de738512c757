# %%
import jax
import jax.numpy as jnp
from jax import custom_jvp, custom_vjp, grad, jit, jvp, vjp, vmap


@custom_jvp
def f(x, y):
    return jnp.sin(x) * y


@f.defjvp
def f_jvp(primals, tangents):
    x, y = primals
    x_dot, y_dot = tangents
    return f(x, y), jnp.cos(x) * x_dot * y + jnp.sin(x) * y_dot


print(f(2.0, 3.0))
y, y_dot = jvp(f, (2.0, 3.0), (1.0, 0.0))
print(y, y_dot)
print(grad(f)(2.0, 3.0))


# %%
@custom_vjp
def g(x, y):
    return jnp.sin(x) * y


def g_fwd(x, y):
    return g(x, y), (jnp.cos(x), jnp.sin(x), y)


def g_bwd(res, ct):
    cos_x, sin_x, y = res
    return (cos_x * ct * y, sin_x * ct)


g.defvjp(g_fwd, g_bwd)
print(grad(g)(2.0, 3.0), grad(g, (0, 1))(2.0, 3.0))


# %%
def log1pexp(x):
    return jnp.log(1.0 + jnp.exp(x))


print(log1pexp(3.0), jit(log1pexp)(3.0), jit(grad(log1pexp))(3.0))
print(vmap(jit(grad(log1pexp)))(jnp.arange(3.0)), grad(log1pexp)(100.0))

# %%
jax.make_jaxpr(grad(log1pexp))(100.0)


# %%
@custom_jvp
def log1pexp(x):
    return jnp.log(1.0 + jnp.exp(x))


@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * x_dot


print(grad(log1pexp)(100.0), jit(log1pexp)(3.0), jit(grad(log1pexp))(3.0))
print(vmap(jit(grad(log1pexp)))(jnp.arange(3.0)))

# %%
jax.make_jaxpr(grad(log1pexp))(100.0)

# %%
jax.make_jaxpr(log1pexp)(1.0)

# %%
jax.make_jaxpr(g)(1.0, 2.0)

# %%
jax.make_jaxpr(jit(grad(g)))(1.0, 2.0)

# %%
log1pexp.defjvps(lambda t, ans, x: (1 - 1 / (1 + jnp.exp(x))) * t)
print(grad(log1pexp)(2.0))


# %% half line derivative
def h(x):
    return x / (1 + jnp.sqrt(x))


print(grad(h)(0.0))


# %%
@custom_jvp
def h(x):
    return x / (1 + jnp.sqrt(x))


@h.defjvp
def h_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return h(x), ((jnp.sqrt(x) + 2) / (2 * (jnp.sqrt(x) + 1) ** 2)) * t


print(grad(h)(0.0))


# %%
@custom_vjp
def clip_gradient(lo, hi, x):
    return x


clip_gradient.defvjp(lambda lo, hi, x: (x, (lo, hi)), lambda res, ct: (None, None, jnp.clip(ct, *res)))
vmap(grad(lambda x: jnp.sin(clip_gradient(-0.75, 0.75, x))))(jnp.linspace(0, 3, 5))

# %%
from functools import partial

from jax.lax import while_loop


@partial(custom_vjp, nondiff_argnums=(0,))
def fixed_point(f, a, x_guess):
    def cond_fun(carry):
        x_prev, x = carry
        return jnp.abs(x_prev - x) > 1e-6

    def body_fun(carry):
        _, x = carry
        return x, f(a, x)

    _, x_star = while_loop(cond_fun, body_fun, (x_guess, f(a, x_guess)))
    return x_star


def fixed_point_fwd(f, a, x_init):
    x_star = fixed_point(f, a, x_init)
    return x_star, (a, x_star)


def fixed_point_rev(f, res, x_star_bar):
    a, x_star = res
    _, vjp_a = vjp(lambda a: f(a, x_star), a)
    (a_bar,) = vjp_a(fixed_point(partial(rev_iter, f), (a, x_star, x_star_bar), x_star_bar))
    return a_bar, jnp.zeros_like(x_star)


def rev_iter(f, packed, u):
    a, x_star, x_star_bar = packed
    _, vjp_x = vjp(lambda x: f(a, x), x_star)
    return x_star_bar + vjp_x(u)[0]


fixed_point.defvjp(fixed_point_fwd, fixed_point_rev)


def newton_sqrt(a):
    return fixed_point(lambda a, x: 0.5 * (x + a / x), a, a)


print(newton_sqrt(2.0))
print(grad(newton_sqrt)(2.0), grad(grad(newton_sqrt))(2.0))

# %%
print(jit(vmap(newton_sqrt))(jnp.array([1.0, 2.0, 3.0, 4.0])), grad(jnp.sqrt)(2.0))


# %%
@partial(custom_jvp, nondiff_argnums=(0,))
def app(f, x):
    return f(x)


@app.defjvp
def app_jvp(f, primals, tangents):
    (x,), (t,) = primals, tangents
    return f(x), 2.0 * t


print(app(lambda x: x**3, 3.0), grad(app, 1)(lambda x: x**3, 3.0))


# %%
@partial(custom_vjp, nondiff_argnums=(0, 2))
def app2(f, x, g):
    return f(g(x))


app2.defvjp(lambda f, x, g: (app2(f, x, g), x), lambda f, g, res, ct: (5.0 * ct,))
grad(app2, argnums=1)(jnp.sin, 1.0, jnp.cos)


# %%
@custom_jvp
def only_forward(x):
    print("called", x)
    return jnp.sin(x)


# %%
# raises AttributeError: No JVP defined for custom_jvp function
only_forward(1.0)

# %%
# raises AttributeError: No VJP defined for custom_vjp function
custom_vjp(jnp.sin)(1.0)

# %%
# raises TypeError: forward-mode, custom_vjp
jvp(g, (1.0, 2.0), (1.0, 0.0))


# %%
# raises TypeError: Custom JVP rule, tuple, length two
@custom_jvp
def bad(x):
    return x


bad.defjvp(lambda primals, tangents: primals[0])
jvp(bad, (1.0,), (1.0,))


# %%
# raises TypeError: Custom VJP bwd rule, tuple
@custom_vjp
def bad2(x):
    return x


bad2.defvjp(lambda x: (x, None), lambda res, ct: ct)
grad(bad2)(1.0)


# %% pytrees
from collections import namedtuple

Point = namedtuple("Point", ["x", "y"])


@custom_jvp
def on_tree(pt):
    x, y = pt.x, pt.y
    return {"a": x**2, "b": (jnp.sin(x), jnp.cos(y))}


@on_tree.defjvp
def on_tree_jvp(primals, tangents):
    (pt,), (pt_dot,) = primals, tangents
    ans = on_tree(pt)
    return ans, {"a": 2 * pt.x * pt_dot.x, "b": (jnp.cos(pt.x) * pt_dot.x, -jnp.sin(pt.y) * pt_dot.y)}


grad(lambda pt: on_tree(pt)["a"] + on_tree(pt)["b"][1])(Point(1.0, 2.0))


# %%
@jax.custom_gradient
def square_half(x):
    return x**2, lambda g: (g * x,)


grad(square_half)(3.0)

# %%
jax.checkpoint(lambda x: x**2)(2.0), jax.linear_transpose(lambda x: 2 * x, 1.0)(3.0)


# %%
@jax.custom_batching.custom_vmap
def batched(x):
    return x + 1


@batched.def_vmap
def batched_rule(axis_size, in_batched, x):
    return x * 10, in_batched[0]


batched(1), vmap(batched)(jnp.arange(3))
