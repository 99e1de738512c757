# %%
import jax
import jax.numpy as jnp
import numpy as np

# %%
np.add(1, 2), jnp.add(1, 2), jnp.add(1, 2.0), jnp.arange(2) + 1.5

# %%
jnp.arange(5, dtype="int8") + 1, 1 + jnp.float16(2), jnp.bfloat16(1) + jnp.float16(1)

# %%
jnp.asarray(2), jnp.asarray(2).weak_type, (jnp.asarray(2) + jnp.int8(3)).dtype, jnp.int32(2).weak_type

# %%
types = [jnp.bool_, jnp.uint8, jnp.uint16, jnp.uint32, jnp.int8, jnp.int16, jnp.int32, jnp.bfloat16, jnp.float16, jnp.float32, jnp.complex64]
for a in types:
    print(np.dtype(a).name, [jnp.promote_types(a, b).name for b in types])

# %%
print([jnp.result_type(t, 1).name for t in types], [jnp.result_type(t, 1.0).name for t in types], [jnp.result_type(t, 1j).name for t in types])

# %%
jnp.result_type(1, 2.0), jnp.result_type(jnp.int8(1), 3), jnp.result_type("float32", "int32"), jnp.promote_types("int32", "uint32")

# %%
for x in [True, 1, 1.0, 1j]:
    print(repr(jnp.asarray(x)), repr(jnp.asarray(x) + x), repr(jax.jit(lambda v: v)(x)))

# %%
with jax.numpy_dtype_promotion("strict"):
    print(jnp.float32(1) + 2, jnp.int32(1) + 1)

# %%
# raises TypePromotionError: strict, int32, float32
with jax.numpy_dtype_promotion("strict"):
    jnp.float32(1) + jnp.int32(2)

# %%
with jax.numpy_rank_promotion("allow"):
    print(jnp.ones((2, 3)) + jnp.ones(3))

# %%
# raises ValueError: rank_promotion, (2, 3), (3,)
with jax.numpy_rank_promotion("raise"):
    jnp.ones((2, 3)) + jnp.ones(3)

# %%
# raises TypeError: incompatible shapes for broadcasting, (2,), (3,)
jnp.ones(2) + jnp.ones(3)

# %%
jnp.array([1, 2]).dtype, jnp.array([1.0]).dtype, jnp.array([1j]).dtype, jnp.array([True]).dtype, jnp.zeros(1).dtype

# %% asking for 64 bits warns
jnp.zeros(3, dtype=jnp.float64), jnp.arange(2, dtype="int64")

# %%
with jax.enable_x64(True):
    print(jnp.arange(3).dtype, jnp.ones(2).dtype, repr(jnp.float32(1) + 1), jnp.array(1.0).dtype, jnp.pi * jnp.ones(2))

# %%
jax.config.update("jax_enable_x64", True)
print(repr(jnp.linspace(0, 1, 3)), jax.random.normal(jax.random.key(0), (2,)), jnp.sum(jnp.arange(3)).dtype)
jax.config.update("jax_enable_x64", False)

# %%
jax.dtypes.canonicalize_dtype("int64"), jnp.finfo("bfloat16").max, jnp.iinfo("int16").max, jnp.finfo(jnp.float32).eps

# %%
jax.dtypes.issubdtype(jnp.bfloat16, jnp.floating), jnp.issubdtype(jnp.int32, jnp.integer), jnp.issubdtype("float32", np.inexact)

# %%
jnp.array([1.7, -1.7]).astype(int), jnp.array([0, 2]).astype(bool), jnp.array(1 + 2j).astype(complex), jnp.astype(jnp.arange(2), float)

# %% the real part of a complex number warns
jnp.array(1 + 2j).astype(float)

# %%
jnp.int32(5) / 2, jnp.int32(5) // 2, jnp.int32(-5) % 3, jnp.int32(2) ** 3, 2 ** jnp.int32(3), jnp.float16(1) / 3

# %%
jnp.sum(jnp.ones(3, bool)), jnp.mean(jnp.arange(4)), jnp.sum(jnp.ones(3, jnp.int8)), jnp.prod(jnp.ones(2, jnp.uint8)), jnp.cumsum(jnp.ones(2, jnp.int16))

# %%
jnp.sqrt(4), jnp.exp(jnp.int8(0)), jnp.true_divide(1, 2), jnp.sin(True), jnp.mean(jnp.ones(2, bool))

# %%
jnp.where(True, 1, 2.0), jnp.where(jnp.array([True]), jnp.int8(1), 2), jnp.maximum(1, jnp.float16(2)), jnp.concatenate([jnp.ones(1), jnp.arange(1)])

# %%
jnp.array([1, 2.5, True]), jnp.array([[1, 2], [3, 4]], dtype=float), jnp.array("text"[0:0] == "") , jnp.float32([1, 2])

# %%
# raises TypeError: not a valid JAX array type
jnp.array("text")

# %%
# raises OverflowError: too large, int32
jnp.array(2**31)

# %%
# raises TypeError: Shapes must be 1D
jnp.zeros(2.0)

# %%
# raises TypeError: not understood
jnp.zeros(2, dtype="nonsense")

# %%
jax.jit(lambda x: x + 1)(jnp.bfloat16(1)), jnp.ones(3, jnp.bfloat16) / 3, np.asarray(jnp.ones(1, jnp.bfloat16)).dtype
