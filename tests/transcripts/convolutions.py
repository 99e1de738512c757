# %%
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

x = jnp.linspace(0, 2, 9)
noisy = jnp.sin(x) + 0.1 * random.normal(random.key(1701), shape=x.shape)
jnp.convolve(noisy, jnp.ones(3), mode="same")

# %%
for mode in ["full", "same", "valid"]:
    print(mode, jnp.convolve(jnp.arange(4.0), jnp.array([1.0, 2.0]), mode=mode))

# %%
jnp.correlate(jnp.array([1, 2, 3]), jnp.array([0, 1, 1]), mode="full")

# %%
image = jnp.arange(25.0).reshape(5, 5)
k = jnp.linspace(-3, 3, 3)
window = jax.scipy.stats.norm.pdf(k) * jax.scipy.stats.norm.pdf(k[:, None])
jax.scipy.signal.convolve(image, window, mode="same")

# %%
jax.scipy.signal.convolve2d(image, jnp.eye(2), mode="valid"), jax.scipy.signal.correlate(jnp.arange(3.0), jnp.ones(2))

# %%
kernel = jnp.zeros((3, 3, 3, 3), dtype=jnp.float32)
kernel += jnp.array([[1, 1, 0], [1, 0, -1], [0, -1, -1]])[:, :, jnp.newaxis, jnp.newaxis]
print("kernel:", kernel[:, :, 0, 0])

# %%
img = jnp.zeros((1, 12, 10, 3), dtype=jnp.float32)
for c in range(3):
    img = img.at[0, 2 + 2 * c : 6 + 2 * c, 2:6, c].set(1.0)
out = lax.conv(jnp.transpose(img, [0, 3, 1, 2]), jnp.transpose(kernel, [3, 2, 0, 1]), (1, 1), "SAME")
print(out.shape, out[0, 0, 2:5, 1:7])

# %%
out = lax.conv_with_general_padding(
    jnp.transpose(img, [0, 3, 1, 2]), jnp.transpose(kernel, [3, 2, 0, 1]), (1, 1), ((2, 2), (2, 2)), (1, 1), (1, 1)
)
out.shape

# %%
dn = lax.conv_dimension_numbers(img.shape, kernel.shape, ("NHWC", "HWIO", "NHWC"))
print(dn)

# %%
for padding, strides, lhs_dil, rhs_dil in [
    ("SAME", (1, 1), (1, 1), (1, 1)),
    ("VALID", (1, 1), (1, 1), (1, 1)),
    ("SAME", (2, 2), (1, 1), (1, 1)),
    ("VALID", (1, 1), (1, 1), (3, 3)),
    (((0, 0), (0, 0)), (1, 1), (2, 2), (1, 1)),
    (((8, 8), (8, 8)), (1, 1), (1, 1), (4, 4)),
]:
    out = lax.conv_general_dilated(img, kernel, strides, padding, lhs_dil, rhs_dil, dn)
    print(padding, out.shape, float(out.sum()))

# %%
dn = lax.conv_dimension_numbers((1, 200, 1), (5, 1, 1), ("NWC", "WIO", "NWC"))
print(dn)
kernel1d = jnp.array([[[1]], [[0]], [[-1]], [[0]], [[1]]], dtype=jnp.float32)
data = jnp.sin(jnp.arange(20.0)).reshape(1, 20, 1)
out = lax.conv_general_dilated(data, kernel1d, (1,), "SAME", (1,), (1,), dn)
print(out.shape, out[0, :4, 0])

# %%
out = lax.conv_general_dilated(data, kernel1d, (2,), "VALID", (1,), (2,), dn)
print(out.shape, out[0, :, 0])

# %%
kernel3 = jnp.zeros((3, 3, 3, 1, 1)).at[1].set(1.0)
data3 = jnp.arange(64.0).reshape(1, 4, 4, 4, 1)
dn = lax.conv_dimension_numbers(data3.shape, kernel3.shape, ("NHWDC", "HWDIO", "NHWDC"))
lax.conv_general_dilated(data3, kernel3, (1, 1, 1), "SAME", (1, 1, 1), (1, 1, 1), dn)[0, 1, :, :, 0]

# %%
jax.grad(lambda k: lax.conv_general_dilated(jnp.ones((1, 1, 4)), k, (1,), "VALID").sum())(jnp.ones((1, 1, 2)))

# %%
lax.conv_transpose(jnp.ones((1, 3, 1)), jnp.ones((2, 1, 1)), (2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))[0, :, 0]

# %%
# raises TypeError: lhs, rhs
lax.conv_general_dilated(jnp.ones((1, 3, 4)), jnp.ones((1, 1, 2, 2)), (1,), "SAME")

# %%
# raises ValueError: feature
lax.conv_general_dilated(jnp.ones((1, 3, 4)), jnp.ones((1, 2, 2)), (1,), "SAME")

# %%
lax.reduce_window(jnp.arange(16.0).reshape(4, 4), -jnp.inf, lax.max, (2, 2), (2, 2), "VALID")

# %%
jax.make_jaxpr(lambda x, y: jnp.convolve(x, y))(jnp.ones(3), jnp.ones(2))
