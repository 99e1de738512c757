# %%
import jax
import jax.numpy as jnp

x = jnp.arange(6.0)
w = jnp.array([1.0, 0.5, -1.0])


def slide(x, w):
    out = []
    for i in range(1, len(x) - 1):
        out.append(jnp.dot(x[i - 1 : i + 2], w))
    return jnp.array(out)


slide(x, w)

# %%
xs, ws = jnp.stack([x, x + 1]), jnp.stack([w, 2 * w])


def by_loop(xs, ws):
    return jnp.stack([slide(xs[i], ws[i]) for i in range(xs.shape[0])])


by_loop(xs, ws)


# %%
def by_hand(xs, ws):
    out = []
    for i in range(1, xs.shape[-1] - 1):
        out.append(jnp.sum(xs[:, i - 1 : i + 2] * ws, axis=1))
    return jnp.stack(out, axis=1)


by_hand(xs, ws)

# %%
jax.vmap(slide)(xs, ws)

# %%
jax.vmap(slide, in_axes=1, out_axes=1)(jnp.transpose(xs), jnp.transpose(ws))

# %%
jax.vmap(slide, in_axes=[0, None])(xs, w)

# %%
jax.jit(jax.vmap(slide, (0, None)))(xs, w)

# %%
jax.make_jaxpr(jax.vmap(slide, (0, None)))(xs, w)

# %%
jax.make_jaxpr(slide)(x, w)


# %%
def show(v):
    print("v =", v)
    print("type:", jax.typeof(v), v.shape, v.dtype)
    return v * 2


jax.vmap(show)(jnp.arange(3))

# %%
jax.vmap(jax.vmap(show))(jnp.arange(4).reshape(2, 2))

# %%
jax.vmap(lambda d, y: d["a"] * y + d["b"][0], in_axes=({"a": 0, "b": [None]}, 0))(
    {"a": jnp.arange(3), "b": [10]}, jnp.ones(3)
)

# %%
jax.vmap(lambda x: (x, x + 1), out_axes=(0, 1))(jnp.ones((2, 3)))

# %%
jax.vmap(lambda x: {"x": x, "const": 3.0}, out_axes={"x": 0, "const": None})(jnp.arange(2))

# %%
pairs = jax.vmap(jax.vmap(lambda a, b: jnp.sqrt(jnp.sum((a - b) ** 2)), (None, 0)), (0, None))
points = jnp.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
pairs(points, points)

# %%
# raises ValueError: vmap got inconsistent sizes, axis 0, 3, 2
jax.vmap(lambda a, b: a + b)(jnp.arange(3), jnp.arange(2))

# %%
# raises ValueError: axis 0, rank
jax.vmap(lambda a: a)(1.0)

# %%
# raises ValueError: vmap in_axes must be
jax.vmap(lambda a, b: a + b, in_axes=(0,))(jnp.arange(3), jnp.arange(3))

# %%
# raises ValueError: out_axes
jax.vmap(lambda a: a, out_axes=None)(jnp.arange(3))

# %%
# raises ValueError: at least one, non-None
jax.vmap(lambda a: a, in_axes=None)(jnp.arange(3))

# %%
# raises TracerBoolConversionError: bool[]
jax.vmap(lambda a: a if a > 0 else -a)(jnp.arange(-2.0, 3.0))

# %%
jax.vmap(lambda a: jnp.where(a > 0, a, -a))(jnp.arange(-2.0, 3.0))

# %%
jax.vmap(lambda a: jax.lax.cond(a > 0, jnp.sin, jnp.cos, a))(jnp.array([-1.0, 2.0]))

# %%
jax.vmap(lambda a: a / jax.lax.psum(a, "batch"), axis_name="batch")(jnp.arange(1.0, 5.0))

# %%
jax.vmap(lambda a: jax.lax.axis_index("i") * a, axis_name="i")(jnp.ones(3, int))

# %%
jax.vmap(lambda key: jax.random.normal(key, (2,)))(jax.random.split(jax.random.key(0), 3))

# %%
jnp.vectorize(lambda a, b: jnp.dot(a, b), signature="(n),(n)->()")(jnp.ones((2, 3)), jnp.arange(3.0))

# %%
jax.lax.map(lambda a: a**2, jnp.arange(4)), jax.vmap(lambda a: 2 * a, axis_size=3, in_axes=None)(1)

# %%
jax.vmap(jax.grad(lambda p, a: (p * a) ** 2), in_axes=(None, 0))(2.0, jnp.arange(3.0))

# %%
jax.vmap(jnp.linalg.norm)(jnp.arange(6.0).reshape(2, 3)), jax.vmap(jnp.sort, 1)(jnp.array([[3, 1], [2, 5]]))
