# The card of the exercise dropout. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 15

# %% [markdown] statement
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

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def drop_channels(key, images, rate):
    """Images of which each has lost a random part of its channels."""
    raise NotImplementedError


# %% [markdown] hint
# How many random numbers does one image need, and how many keys do `n` images need?

# %% [markdown] hint
# Write it for one image first: the mask has the shape `(channels,)`, and broadcasts against
# `(height, width, channels)`. Then `jax.vmap` maps over keys and images together.

# %% [markdown] hint
#     def drop_channels(key, images, rate):
#         def one(key, image):
#             keep = jax.random.bernoulli(...)
#             return jnp.where(keep, ..., 0.0)
#
#         return jax.vmap(one)(jax.random.split(...), images)

# %% checks
import warnings
from contextlib import contextmanager

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

seconds = 30.0  # some will use jit, which compiles


def draw(rng):
    """A seed, a few images without zeros, and a rate."""
    shape = (3, 2, 1, int(rng.integers(6, 8)))
    images = rng.choice([-1, 1], size=shape) * rng.uniform(0.5, 2.0, size=shape)
    return {
        "seed": int(rng.integers(1, 10_000)),
        "images": images.round(2).astype(np.float32),
        "rate": round(float(rng.choice([rng.uniform(0.25, 0.4), rng.uniform(0.6, 0.75)])), 2),
    }


@contextmanager
def uncounted():
    """Keys may be used twice in here: only the numbers count."""
    with warnings.catch_warnings(), jax.debug_key_reuse(False):
        warnings.simplefilter("ignore")
        yield


@check("the pixels")
def pixels(student, seed, images, rate):
    with uncounted():
        return student.drop_channels(jax.random.key(seed), images, rate)


@check("no key is used twice")
def once(student, seed, images, rate):
    with uncounted():
        zeros = np.sum(np.array(student.drop_channels(jax.random.key(seed), images, rate)) == 0)
    try:
        with jax.debug_key_reuse(True):
            return list(np.shape(student.drop_channels(jax.random.key(seed), images, rate)))
    except Exception as error:  # a reuse: the zeros tell one mistake from the other
        error.args = (f"while {zeros} numbers were set to zero: {error}",)
        raise


@check("inside jit")
def traced(student, seed, images, rate):
    def run(key, images):
        return jnp.asarray(student.drop_channels(key, images, rate))

    with uncounted():
        program = jax.make_jaxpr(run)(jax.random.key(seed), images)
    return [str(v.aval.shape) for v in program.jaxpr.outvars]


# %% reference
def drop_channels(key, images, rate):
    """Images of which each has lost a random part of its channels."""

    def one(key, image):
        keep = jax.random.bernoulli(key, 1 - rate, image.shape[-1:])  # the same for every pixel
        return jnp.where(keep, image / (1 - rate), 0.0)

    return jax.vmap(one)(jax.random.split(key, len(images)), images)


# %% right: a loop over the images
def drop_channels(key, images, rate):
    n, _, _, channels = images.shape
    dropped = []
    for k, image in zip(jax.random.split(key, n), images):
        dropped.append(image * jax.random.bernoulli(k, 1 - rate, (channels,)) / (1 - rate))
    return jnp.stack(dropped)


# %% right: all masks first
def drop_channels(key, images, rate):
    keys = jax.random.split(key, images.shape[0])
    masks = jax.vmap(lambda k: jax.random.bernoulli(k, 1 - rate, images.shape[3:]))(keys)
    return images * (masks[:, None, None, :] / (1 - rate))


# %% right: from uniform numbers
def drop_channels(key, images, rate):
    p = 1 - rate
    keys = [jax.random.fold_in(key, i) for i in range(len(images))]
    u = jnp.stack([jax.random.uniform(k, images.shape[-1:]) for k in keys])
    return jnp.where(u[:, None, None] < p, images, 0) / p


# %% right: a class, and einsum
class Drop:
    def __init__(self, taux):
        self.taux = taux

    def scales(self, key, channels):
        return jax.random.bernoulli(key, 1 - self.taux, (channels,)) / (1 - self.taux)

    def __call__(self, key, images):
        n, channels = images.shape[0], images.shape[-1]
        scales = [self.scales(k, channels) for k in jax.random.split(key, n)]
        return jnp.einsum("nhwc,nc->nhwc", images, jnp.array(scales))


def drop_channels(key, images, rate):
    return Drop(rate)(key, images)


# %% wrong: one key for all images
# You drew with the same key for every image: all lose the same channels then, so split the key.
def drop_channels(key, images, rate):
    def one(key, image):
        keep = jax.random.bernoulli(key, 1 - rate, image.shape[-1:])
        return jnp.where(keep, image / (1 - rate), 0.0)

    return jax.vmap(one, in_axes=(None, 0))(key, images)


# %% wrong: one key, in a loop
# You drew with the same key for every image: all lose the same channels then, so split the key.
def drop_channels(key, images, rate):
    dropped = []
    for image in images:
        keep = jax.random.bernoulli(key, 1 - rate, image.shape[-1:])
        dropped.append(jnp.where(keep, image / (1 - rate), 0.0))
    return jnp.stack(dropped)


# %% wrong: a chain of keys
# You split off one key after the other: make all keys at once, with split(key, n).
def drop_channels(key, images, rate):
    dropped = []
    for image in images:
        key, own = jax.random.split(key)
        keep = jax.random.bernoulli(own, 1 - rate, image.shape[-1:])
        dropped.append(jnp.where(keep, image / (1 - rate), 0.0))
    return jnp.stack(dropped)


# %% wrong: single numbers
# You dropped single numbers: one draw of shape (channels,) holds for all pixels of an image.
def drop_channels(key, images, rate):
    def one(key, image):
        keep = jax.random.bernoulli(key, 1 - rate, image.shape)
        return jnp.where(keep, image / (1 - rate), 0.0)

    return jax.vmap(one)(jax.random.split(key, len(images)), images)


# %% wrong: single numbers, one draw for all
# You dropped single numbers, all from one key: each image needs a key, and one mask of channels.
def drop_channels(key, images, rate):
    keep = jax.random.bernoulli(key, 1 - rate, images.shape)
    return jnp.where(keep, images / (1 - rate), 0.0)


# %% wrong: one draw for all channels
# You drew all masks from one key: each image is to have its own key, key i of the split.
def drop_channels(key, images, rate):
    keep = jax.random.bernoulli(key, 1 - rate, (images.shape[0], 1, 1, images.shape[-1]))
    return jnp.where(keep, images / (1 - rate), 0.0)


# %% wrong: the mask is drawn for every row again
# You drew the mask of an image more than once, from the same key: draw it once, and broadcast it.
def drop_channels(key, images, rate):
    dropped = []
    for k, image in zip(jax.random.split(key, len(images)), images):
        rows = [row * jax.random.bernoulli(k, 1 - rate, row.shape[-1:]) for row in image]
        dropped.append(jnp.stack(rows) / (1 - rate))
    return jnp.stack(dropped)


# %% wrong: split in the loop
# You split the same key again for each image: split it once, before the loop.
def drop_channels(key, images, rate):
    dropped = []
    for i, image in enumerate(images):
        own = jax.random.split(key, len(images))[i]
        keep = jax.random.bernoulli(own, 1 - rate, image.shape[-1:])
        dropped.append(jnp.where(keep, image / (1 - rate), 0.0))
    return jnp.stack(dropped)


# %% wrong: no scale
# You did not make the rest larger: divide what is kept by 1 - rate, so that the mean stays.
def drop_channels(key, images, rate):
    def one(key, image):
        keep = jax.random.bernoulli(key, 1 - rate, image.shape[-1:])
        return jnp.where(keep, image, 0.0)

    return jax.vmap(one)(jax.random.split(key, len(images)), images)


# %% wrong: multiplied
# You multiplied by 1 - rate, which makes the rest smaller: divide by it.
def drop_channels(key, images, rate):
    def one(key, image):
        keep = jax.random.bernoulli(key, 1 - rate, image.shape[-1:])
        return jnp.where(keep, image * (1 - rate), 0.0)

    return jax.vmap(one)(jax.random.split(key, len(images)), images)


# %% wrong: divided by the rate
# You divided by the rate: 1 - rate is the part that is kept, so divide by that.
def drop_channels(key, images, rate):
    def one(key, image):
        keep = jax.random.bernoulli(key, 1 - rate, image.shape[-1:])
        return jnp.where(keep, image / rate, 0.0)

    return jax.vmap(one)(jax.random.split(key, len(images)), images)


# %% wrong: kept with probability rate
# You kept channels with probability rate: rate is the part that is dropped, 1 - rate is kept.
def drop_channels(key, images, rate):
    def one(key, image):
        keep = jax.random.bernoulli(key, rate, image.shape[-1:])
        return jnp.where(keep, image / (1 - rate), 0.0)

    return jax.vmap(one)(jax.random.split(key, len(images)), images)


# %% wrong: the kept ones are dropped
# You set to zero what was to be kept: where takes its second argument where the mask is True.
def drop_channels(key, images, rate):
    def one(key, image):
        keep = jax.random.bernoulli(key, 1 - rate, image.shape[-1:])
        return jnp.where(keep, 0.0, image / (1 - rate))

    return jax.vmap(one)(jax.random.split(key, len(images)), images)


# %% wrong: scaled by what was kept
# You divided by the part that happened to be kept: divide by 1 - rate, the same in every call.
def drop_channels(key, images, rate):
    def one(key, image):
        keep = jax.random.bernoulli(key, 1 - rate, image.shape[-1:])
        return jnp.where(keep, image / jnp.maximum(keep.mean(), 0.05), 0.0)

    return jax.vmap(one)(jax.random.split(key, len(images)), images)


# %% wrong: a key of its own
# You made a key of your own: use the one that is handed in, or every step drops the same channels.
def drop_channels(key, images, rate):
    def one(key, image):
        keep = jax.random.bernoulli(key, 1 - rate, image.shape[-1:])
        return jnp.where(keep, image / (1 - rate), 0.0)

    return jax.vmap(one)(jax.random.split(jax.random.key(0), len(images)), images)


# %% wrong: NumPy draws
# You drew with NumPy and ignored the key: the channels must depend on the key and on nothing else.
def drop_channels(key, images, rate):
    import numpy as np

    rng = np.random.default_rng(0)
    keep = rng.random((images.shape[0], 1, 1, images.shape[-1])) < 1 - rate
    return jnp.where(keep, images / (1 - rate), 0.0)


# %% wrong: an if for each channel
# You asked with if whether a channel is kept: inside jit nobody knows yet, so use jnp.where.
def drop_channels(key, images, rate):
    dropped = images / (1 - rate)
    for i, k in enumerate(jax.random.split(key, len(images))):
        for c, keep in enumerate(jax.random.bernoulli(k, 1 - rate, images.shape[-1:])):
            if not keep:
                dropped = dropped.at[i, :, :, c].set(0.0)
    return dropped


# %% wrong: in place
# You wrote into the images: arrays are immutable, so make new ones with jnp.where.
def drop_channels(key, images, rate):
    for i, k in enumerate(jax.random.split(key, len(images))):
        images[i] *= jax.random.bernoulli(k, 1 - rate, images.shape[-1:]) / (1 - rate)
    return images
