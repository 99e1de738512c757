# %%
import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from jax import jit, lax


# %%
# raises TracerArrayConversionError: numpy.ndarray
@jit
def func(x, y):
    return x[y] + np.sin(x)


func(jnp.ones(3), 0)


# %%
# raises TracerIntegerConversionError: __index__
@jit
def index_list(i):
    return [1, 2, 3][i]


index_list(0)


# %%
# raises TracerIntegerConversionError: __index__
jit(lambda x, axis: jnp.sum(x, axis=range(3)[axis]))(jnp.ones((2, 2)), 0)


# %%
# raises TracerArrayConversionError: traced
x = np.arange(10)


@jit
def use_global(i):
    return x[i]


use_global(0)


# %%
@jit
def use_global(i):
    return jnp.asarray(x)[i]


use_global(3)

# %%
# raises TracerBoolConversionError: bool[]
jit(lambda x, y: x if x > y else y)(1, 2)

# %%
# raises ConcretizationTypeError: concrete
jit(lambda x: float(x))(1)

# %%
# raises ConcretizationTypeError: complex
jit(lambda x: complex(x))(1)

# %%
# raises NonConcreteBooleanIndexError: boolean
jit(lambda x: x[x > 1])(jnp.arange(3))

# %%
jit(lambda x: jnp.where(x > 1, x, 0).sum())(jnp.arange(3))

# %%
# raises UnexpectedTracerError: intermediate value, int32
outs = []


@jit
def side_effect(x):
    y = x + 1
    outs.append(y)
    return x


side_effect(1)
outs[0] + 1

# %%
# raises KeyReuseError: Previously-consumed key
with jax.debug_key_reuse(True):
    key = jax.random.key(0)
    jax.random.normal(key)
    jax.random.normal(key)

# %%
isinstance(jax.errors.TracerBoolConversionError(None) if False else 0, int), issubclass(jax.errors.TracerBoolConversionError, jax.errors.ConcretizationTypeError), issubclass(jax.errors.TracerArrayConversionError, TypeError)


# %%
class CustomClass:
    def __init__(self, x, mul):
        self.x, self.mul = x, mul

    @partial(jit, static_argnums=0)
    def calc(self, y):
        if self.mul:
            return self.x * y
        return y


c = CustomClass(2, True)
print(c.calc(3))
c.mul = False
print(c.calc(3))


# %%
@jax.tree_util.register_pytree_node_class
class Tree:
    def __init__(self, x, mul):
        self.x, self.mul = x, mul

    @jit
    def calc(self, y):
        return self.x * y if self.mul else y

    def tree_flatten(self):
        return (self.x,), {"mul": self.mul}

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children, **aux)


t = Tree(2, True)
print(t.calc(3))
t.mul = False
print(t.calc(3))
t = Tree(jnp.array(2), True)
print(t.calc(3))


# %%
def my_log(x):
    return jnp.where(x > 0.0, jnp.log(x), 0.0)


jax.grad(my_log)(0.0), my_log(0.0)


# %%
def safe_log(x):
    return jnp.where(x > 0.0, jnp.log(jnp.where(x > 0.0, x, 1.0)), 0.0)


jax.grad(safe_log)(0.0)


# %%
def f(x):
    if x > 0:
        return x
    return jnp.sin(x)


jax.jvp(f, (-1.0,), (1.0,))

# %%
x = jnp.array([0.1, 3.0])
x.dtype, jnp.float32(0.1) == 0.1, jax.device_get(x), np.asarray(x).dtype

# %%
y = jnp.zeros(2)
y = y.at[0].add(1.0)
jnp.zeros(2) is y, y.devices() == x.devices(), jax.device_put(1.0).devices() == x.devices()

# %%
jnp.array([1, 2]).at[jnp.array([0, 0])].add(1), jnp.zeros(2, int).at[5].add(1), jnp.arange(3)[jnp.array([-1, 5])]

# %%
# raises TypeError: does not support string indexing
jnp.arange(3)["a"]

# %%
# raises IndexError: Too many indices
jnp.arange(3)[0, 1]

# %%
# raises TypeError: Indexer must have integer or boolean type, float32
jnp.arange(3)[jnp.array([1.0])]

# %%
# raises TypeError: non-tuple sequence
jnp.arange(3)[[0, 1]]

# %%
# raises TypeError: cannot reshape, (6,)
jnp.arange(6).reshape(4)

# %%
# raises TypeError: dot_general, contracting, (3,), (2,)
jnp.ones(3) @ jnp.ones(2)

# %%
# raises TypeError: concatenate, (2, 2), (2,)
jnp.concatenate([jnp.ones((2, 2)), jnp.ones(2)])

# %%
# raises ValueError: axis 2 is out of bounds
jnp.sum(jnp.ones((2, 2)), axis=2)

# %%
# raises IndexError: out of
jnp.argmax(jnp.ones(3), axis=1)

# %%
# raises IndexError: out of bounds
jnp.swapaxes(jnp.ones(3), 0, 1)

# %%
# raises ValueError: None
jnp.array(None)

# %%
# raises TypeError: where, NoneType, position 2
jnp.where(jnp.array([True]), 1)

# %%
jax.vmap(lambda x: (x, 3), out_axes=(0, None))(jnp.arange(2))

# %%
jnp.arange(6).reshape(2, 3, order="F"), jax.make_jaxpr(lambda x: x.reshape((2, 3), order="F"))(jnp.arange(6))

# %%
jnp.interp(jnp.array([0.5, 5.0, jnp.nan]), jnp.arange(3.0), jnp.array([1.0, 2.0, 4.0]))

# %%
jnp.searchsorted(jnp.arange(3.0), jnp.array([1.0, -0.0, jnp.nan])), jnp.searchsorted(jnp.arange(3), 1, side="right")

# %%
jnp.histogram(jnp.arange(5.0), bins=3)

# %%
jax.make_jaxpr(lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False))(jnp.arange(3.0), 1)

# %%
jax.vmap(lambda x: lax.psum(1, "i") * x, axis_name="i")(jnp.arange(3)), jax.vmap(lambda x: lax.psum(2.0, "i"), axis_name="i", out_axes=None)(jnp.arange(3))
