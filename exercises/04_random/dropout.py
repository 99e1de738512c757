# %% [markdown]
# # Dropout of whole channels
#
# Chapter 04 drops single numbers. In images, neighbouring pixels are so alike that this changes
# little. So networks for images drop whole **channels**: all pixels of a channel are set to zero.
#
# Write `drop_channels(key, images, rate)`. `images` has the shape `(n, height, width, channels)`.
#
# - Image `i` gets key `i` of `jax.random.split(key, n)`. Use each key once.
# - One draw for each image, `jax.random.bernoulli(its key, 1 - rate, (channels,))`, says for each
#   of its channels whether it is kept.
# - Divide the pixels that are kept by `1 - rate`, so that the mean stays. All others are zero.
#
# Example: `drop_channels(jax.random.key(0), jnp.ones((1, 1, 2, 3)), 0.5)` makes `[0, 2, 2]` of both
# pixels. The function must also run inside `jax.jit`, where the key and the images are traced, but
# `rate` is a number.
#
# Run this file, or `tinyjax check dropout`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def drop_channels(key, images, rate):
    """Images of which each has lost a random part of its channels."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "dropout"]))
