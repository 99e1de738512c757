# %%
import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jit, lax, random


def impure(x):
    print("running")
    return x


print("one:", jit(impure)(4.0))
print("two:", jit(impure)(5.0))
print("three:", jit(impure)(jnp.array([5.0])))

# %%
g = 0.0


def uses_global(x):
    return x + g


print("one:", jit(uses_global)(4.0))
g = 10.0
print("two:", jit(uses_global)(5.0))
print("three:", jit(uses_global)(jnp.array([4.0])))


# %%
def saves_global(x):
    global g
    g = x
    return x


print("one:", jit(saves_global)(4.0))
print("saved:", g)


# %%
def pure(x):
    state = dict(even=0, odd=0)
    for i in range(10):
        state["even" if i % 2 == 0 else "odd"] += x
    return state["even"] + state["odd"]


print(jit(pure)(5.0))

# %%
array = jnp.arange(10)
print(lax.fori_loop(0, 10, lambda i, x: x + array[i], 0))
iterator = iter(range(10))
print(lax.fori_loop(0, 10, lambda i, x: x + next(iterator), 0))


# %%
def with_scan(arr, extra):
    ones = jnp.ones(arr.shape)

    def body(carry, elems):
        a, b = elems
        return carry + a * b + extra, carry

    return lax.scan(body, 0.0, (arr, ones))


jax.make_jaxpr(with_scan)(jnp.arange(16), 5.0)

# %%
# raises TypeError: range_iterator
jax.make_jaxpr(with_scan)(iter(range(16)), 5.0)

# %%
array_operand = jnp.array([0.0])
lax.cond(True, lambda x: x + 1, lambda x: x - 1, array_operand)

# %%
# raises TypeError: range_iterator
lax.cond(True, lambda x: next(x) + 1, lambda x: next(x) - 1, iter(range(10)))

# %%
jax_array = jnp.zeros((3, 3), dtype=jnp.float32)
try:
    jax_array[1, :] = 1.0
except Exception as e:
    print(type(e).__name__, "immutable" in str(e), ".at[" in str(e))

# %%
updated = jax_array.at[1, :].set(1.0)
print("updated:\n", updated)
print("original unchanged:\n", jax_array)

# %%
print(jnp.ones((5, 6)).at[::2, 3:].add(7.0))

# %%
np.arange(10)[9], jnp.arange(10)[11], jnp.arange(10)[-12]

# %%
jnp.arange(10.0).at[11].get(), jnp.arange(10.0).at[11].get(mode="fill", fill_value=jnp.nan)

# %%
np.sum([1, 2, 3])

# %%
# raises TypeError: sum requires ndarray or scalar arguments, list
jnp.sum([1, 2, 3])


# %%
def permissive_sum(x):
    return jnp.sum(jnp.array(x))


x = list(range(10))
permissive_sum(x)

# %%
jax.make_jaxpr(permissive_sum)(x)

# %%
jax.make_jaxpr(permissive_sum)(jnp.array(x))

# %%
key = random.key(42)
print(random.normal(key))
print(random.normal(key))
key, sub = random.split(key)
print(sub, random.normal(sub, (2,)))


# %%
def nan_fn(x):
    return jnp.log(x) - jnp.log(x)


nan_fn(0.0)

# %%
jax.config.update("jax_debug_nans", True)

# %%
# raises FloatingPointError: nan
lax.div(0.0, 0.0)

# %%
jax.config.update("jax_debug_nans", False)
x = random.uniform(random.key(0), (1000,), dtype=jnp.float64)
x.dtype

# %%
jnp.zeros(2, dtype="float64").dtype, jnp.arange(3, dtype=np.int64).dtype

# %%
jnp.float64(3), jnp.int64(3), jnp.array(np.arange(2, dtype=np.uint64))

# %% the same everywhere: integer overflow and conversions
jnp.arange(254.0, 258.0).astype("uint8").dtype, jnp.int32(2**31 - 1) + 1, jnp.uint8(3) - jnp.uint8(5)

# %%
jnp.array([1.0, -1.0, jnp.nan, jnp.inf]).astype(bool), jnp.nanargmax(jnp.array([jnp.nan, jnp.nan]))

# %%
np.log(-1.0 + 0j), jnp.log(-1.0), jnp.sqrt(-1.0), jnp.power(-8.0, 1 / 3)

# %%
jnp.exp(88), jnp.exp(89), jnp.float32(1e30) * jnp.float32(1e30), jnp.finfo(jnp.float32).max

# %%
jnp.unique(jnp.array([3, 1, 3])), jnp.nonzero(jnp.array([0, 1, 2]))

# %%
# raises ConcretizationTypeError: unique, size
jit(jnp.unique)(jnp.array([3, 1, 3]))

# %%
# raises ConcretizationTypeError: nonzero, size
jit(jnp.nonzero)(jnp.array([3, 0, 3]))

# %%
jit(lambda x: jnp.unique(x, size=3, fill_value=-1))(jnp.array([3, 1, 3]))

# %%
jnp.where(jnp.array([True, False]), size=2), jit(lambda x: jnp.where(x > 1, size=2, fill_value=9))(jnp.arange(3))

# %%
jit(lambda x: jnp.where(x < 0, 0.0, x))(jnp.array([-1.0, 2.0]))


# %%
# raises ConcretizationTypeError: concrete
@jit
def dynamic(x, n):
    return x[: int(n)]


dynamic(jnp.arange(5), 2)

# %%
# raises IndexError: Slice entries must be static integers
jit(lambda x, n: x[:n])(jnp.arange(5), 2)

# %%
jit(lambda x, i: lax.dynamic_slice(x, (i,), (2,)))(jnp.arange(5), 2)

# %%
# raises TypeError: len() of unsized object
len(jnp.array(3))

# %%
# raises TypeError: unhashable
hash(jnp.arange(3))
