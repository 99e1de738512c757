# The card of the exercise shard_batch. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 10

# %% [markdown] statement
# # A batch for several devices
#
# `pmap` gives one element of the first axis to each device. A batch has more rows than there are
# devices, so its first axis must become two axes before: devices, and rows on a device.
#
# Write two functions.
#
# - `shard_batch(x, n)`: the rows of `x` for `n` devices. `x` is an array with the shape
#   `(N, ...)`, and `N` is a multiple of `n`. The result is an array with the shape
#   `(n, N // n, ...)`. Device 0 gets the first `N // n` rows, device 1 the next ones, and so on.
# - `gather_batch(parts)`: the way back. From the shape `(n, m, ...)` to `(n * m, ...)`, with the
#   rows in their old order.
#
# For example, `shard_batch(jnp.arange(6), 2)` is `[[0, 1, 2], [3, 4, 5]]`, and `gather_batch` of
# that is `[0, 1, 2, 3, 4, 5]`.
#
# Run this file, or `tinyjax check shard_batch`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def shard_batch(x, n):
    """The rows of x, shape (N, ...), for n devices: shape (n, N // n, ...)."""
    raise NotImplementedError


def gather_batch(parts):
    """All rows again, in their old order: from the shape (n, m, ...) to (n * m, ...)."""
    raise NotImplementedError


# %% [markdown] hint
# Write down the rows 0 to 5 in order, and cut the list for two devices. Does any row move?

# %% [markdown] hint
# No row moves, only the shape changes: `reshape` reads the elements in order and puts them into
# the new shape in order. Axes that you do not touch are `x.shape[1:]`.

# %% [markdown] hint
#     def shard_batch(x, n):
#         return x.reshape(..., ..., *x.shape[1:])
#
#     def gather_batch(parts):
#         return parts.reshape(..., *parts.shape[...:])

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax.learn import check

devices = 4
seconds = 60.0


def sizes(rng):
    """How many devices, and how many rows for each: never the same number."""
    return int(rng.integers(2, 4)), int(rng.integers(4, 7))


def draw(rng):
    """A batch of rows with two axes each, for two or three devices."""
    n, m = sizes(rng)
    return {"x": rng.normal(size=(n * m, 2, 3)).round(1).astype(np.float32), "n": n}


def draw_labels(rng):
    """One number for each row."""
    n, m = sizes(rng)
    return {"x": rng.integers(0, 100, size=n * m).astype(np.int32), "n": n}


def draw_parts(rng):
    """What n devices have computed: m rows each."""
    n, m = sizes(rng)
    return {"parts": rng.normal(size=(n, m, 2)).round(1).astype(np.float32)}


@check("a batch of rows")
def rows(student, x, n):
    return student.shard_batch(x, n)


@check("labels, one number for each row, under pmap", draw=draw_labels)
def labels_on_devices(student, x, n):
    return jax.pmap(lambda part: part - part.max())(student.shard_batch(x, n))


@check("the rows of all devices together again", draw=draw_parts)
def together(student, parts):
    return student.gather_batch(parts)


# %% reference
def shard_batch(x, n):
    """The rows of x, shape (N, ...), for n devices: shape (n, N // n, ...)."""
    return x.reshape(n, len(x) // n, *x.shape[1:])


def gather_batch(parts):
    """All rows again, in their old order: from the shape (n, m, ...) to (n * m, ...)."""
    n, m, *rest = parts.shape
    return parts.reshape(n * m, *rest)


# %% right: with -1
def shard_batch(x, n):
    return jnp.reshape(x, (n, -1) + x.shape[1:])


def gather_batch(parts):
    return jnp.reshape(parts, (-1,) + parts.shape[2:])


# %% right: split and stack, concatenate
def shard_batch(x, n):
    return jnp.stack(jnp.split(x, n))


def gather_batch(parts):
    return jnp.concatenate(list(parts))


# %% right: by the numbers of the rows
def shard_batch(x, n):
    m = x.shape[0] // n
    return x[jnp.arange(n)[:, None] * m + jnp.arange(m)]


def gather_batch(parts):
    m = parts.shape[1]
    k = jnp.arange(parts.shape[0] * m)
    return parts[k // m, k % m]


# %% right: a loop of slices, compiled
def shard_batch(x, n):
    m = x.shape[0] // n
    return jnp.array([x[k * m : (k + 1) * m] for k in range(n)])


@jax.jit
def gather_batch(parts):
    return jnp.vstack(parts) if parts.ndim > 2 else parts.ravel()


# %% wrong: the sizes the wrong way round
# You put the devices second: the first axis is the one that pmap deals out, so n comes first.
def shard_batch(x, n):
    return x.reshape(len(x) // n, n, *x.shape[1:])


def gather_batch(parts):
    return parts.reshape(-1, *parts.shape[2:])


# %% wrong: like cards
# You dealt the rows out one by one, like cards: device 0 gets the first N // n rows in one piece.
def shard_batch(x, n):
    return x.reshape(len(x) // n, n, *x.shape[1:]).swapaxes(0, 1)


def gather_batch(parts):
    return parts.reshape(-1, *parts.shape[2:])


# %% wrong: rows flattened
# You made one long row for each device: only the first axis is cut, the others keep their sizes.
def shard_batch(x, n):
    return x.reshape(n, -1)


def gather_batch(parts):
    return parts.reshape(-1, *parts.shape[2:])


# %% wrong: rows of two axes only
# Your shape counts on rows with axes of their own: a batch of labels has none, so use x.shape[1:].
def shard_batch(x, n):
    return x.reshape(n, -1, x.shape[1], x.shape[2])


def gather_batch(parts):
    return parts.reshape(-1, *parts.shape[2:])


# %% wrong: a list of parts
# You returned a list of arrays: pmap would map over each of them, so make one array of the list.
def shard_batch(x, n):
    m = len(x) // n
    return [x[k * m : (k + 1) * m] for k in range(n)]


def gather_batch(parts):
    return parts.reshape(-1, *parts.shape[2:])


# %% wrong: for all devices there are
# You cut the batch for all devices of the machine: the caller says how many, with n.
def shard_batch(x, n):
    return x.reshape(jax.device_count(), -1, *x.shape[1:])


def gather_batch(parts):
    return parts.reshape(-1, *parts.shape[2:])


# %% wrong: everything for everyone
# You gave every device all rows: each row belongs to one device only.
def shard_batch(x, n):
    return jnp.broadcast_to(x, (n, *x.shape))


def gather_batch(parts):
    return parts.reshape(-1, *parts.shape[2:])


# %% wrong: one row each
# You kept only one row for each device: all N rows must be dealt out, N // n for each.
def shard_batch(x, n):
    return x[:n, None]


def gather_batch(parts):
    return parts.reshape(-1, *parts.shape[2:])


# %% wrong: side by side
# You put the parts side by side: the rows of device 1 come below those of device 0.
def gather_batch(parts):
    return jnp.concatenate(list(parts), axis=1)


# %% wrong: the first rows first
# You took the first row of every device, then the second rows: all rows of device 0 come first.
def gather_batch(parts):
    return parts.swapaxes(0, 1).reshape(-1, *parts.shape[2:])


# %% wrong: one long row
# You flattened everything: the two first axes become one, the others stay.
def gather_batch(parts):
    return parts.reshape(-1)


# %% wrong: the mean of the devices
# You averaged over the devices: gather_batch keeps every row and only takes the parts together.
def gather_batch(parts):
    return parts.mean(0)
