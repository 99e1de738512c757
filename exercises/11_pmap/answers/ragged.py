# The card of the exercise ragged. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 3
# minutes: 25

# %% [markdown] statement
# # A batch that does not divide
#
# Ten points for four devices: that does not come out even. So we **pad**: we add rows until it
# does, and give each row a weight, 1.0 for a real one and 0.0 for padding. Write two functions.
#
# - `pad_batch(rows, n)`: `rows` has the shape `(N, ...)`. Return the parts, shape `(n, m, ...)`,
#   and the weights, shape `(n, m)`, where `m` is the smallest number of rows that is enough. The
#   real rows come first and in order, the padding follows. What the padding holds is up to you.
#   If `N` is a multiple of `n`, nothing is padded.
# - `mean_gradient(theta, x, y, weights)`: it runs on each device under `pmap`, on an axis with the
#   name `"devices"`. Return the gradient of the mean of `errors` over the **real** points of
#   **all** devices. Everyone gets the same. The padded rows of `x` and `y` hold some numbers,
#   which must not count. At least one point is real.
#
# For example, `pad_batch(jnp.array([7, 8, 9]), 2)` has the weights `[[1.0, 1.0], [1.0, 0.0]]`, and
# its parts may be `[[7, 8], [9, 0]]`.
#
# Run this file, or `tinyjax check ragged`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def errors(theta, x, y):
    """The squared error of each point: theta (2,), x (m, 2), y (m,) -> (m,)."""
    return (jnp.tanh(x @ theta) - y) ** 2


# %% stub
def pad_batch(rows, n):
    """The parts of n devices, shape (n, m, ...), and their weights, shape (n, m)."""
    raise NotImplementedError


def mean_gradient(theta, x, y, weights):
    """On one device: the gradient of the mean error over the real points of all devices."""
    raise NotImplementedError


# %% [markdown] hint
# A mean is a sum divided by a count. Which two numbers does each device know about its real points,
# and what do the others have to know of them?

# %% [markdown] hint
# The devices have different numbers of real points, so the mean of their means is not the mean of
# all. Add up the weighted errors on each device, differentiate that sum, and take `lax.psum` of
# the gradients and of the weights. Divide after that. For the padding: `-N % n` rows are missing.

# %% [markdown] hint
#     def pad_batch(rows, n):
#         missing = -len(rows) % n
#         padding = jnp.zeros((missing, *rows.shape[1:]), rows.dtype)
#         weights = jnp.concatenate([..., ...])
#         return jnp.concatenate([rows, padding]).reshape(...), weights.reshape(...)
#
#     def mean_gradient(theta, x, y, weights):
#         def total(theta):
#             return jnp.sum(...)
#
#         return lax.psum(...) / lax.psum(...)

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

devices = 4
seconds = 60.0


def draw(rng):
    """Rows that do not divide by the number of devices."""
    n = int(rng.integers(3, 5))
    rows = n * int(rng.integers(1, 4)) + int(rng.integers(1, n))
    return {"rows": rng.normal(size=(rows, 2)).round(1).astype(np.float32), "n": n}


def draw_even(rng):
    """Rows that divide."""
    n, m = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    return {"rows": rng.normal(size=(n * m, 2)).round(1).astype(np.float32), "n": n}


def points(rng, *shape):
    """Parameters and points."""
    return {
        "theta": rng.normal(size=2).round(2).astype(np.float32),
        "x": rng.normal(size=(*shape, 2)).round(1).astype(np.float32),
        "y": (2 * rng.normal(size=shape)).round(1).astype(np.float32),
    }


def draw_weights(rng):
    """Points of four devices; on some of them the last rows are padding."""
    real = rng.permutation([1, 2, 3, 4])
    weights = (np.arange(4) < real[:, None]).astype(np.float32)
    return {**points(rng, 4, 4), "weights": weights}


def draw_few(rng):
    """So few points that the last of four devices gets none."""
    return points(rng, int(rng.choice([5, 6, 9])))


def padded(student, rows, n):
    """What must hold of the padding: the shape, where the real rows are, and the weights."""
    parts, weights = student.pad_batch(rows, n)
    parts = jnp.asarray(parts)
    real = parts.reshape(-1, *rows.shape[1:])[: len(rows)]
    return {"shape": list(parts.shape), "the first rows": real, "weights": weights}


def gradients(student, theta, x, y, weights):
    """The gradients that the devices have."""
    mapped = jax.pmap(student.mean_gradient, axis_name="devices", in_axes=(None, 0, 0, 0))
    return mapped(theta, x, y, weights)


@check("padding")
def padding(student, rows, n):
    return padded(student, rows, n)


@check("a batch that divides", draw=draw_even)
def divides(student, rows, n):
    return padded(student, rows, n)


@check("the gradient on four devices", draw=draw_weights)
def gradient(student, theta, x, y, weights):
    return gradients(student, theta, x, y, weights)


@check("both together, and the last device has no point", draw=draw_few)
def together(student, theta, x, y):
    (x, weights), (y, _) = student.pad_batch(x, 4), student.pad_batch(y, 4)
    return gradients(student, theta, x, y, weights)


# %% reference
def pad_batch(rows, n):
    """The parts of n devices, shape (n, m, ...), and their weights, shape (n, m)."""
    missing = -len(rows) % n  # 0 when it comes out even
    padding = jnp.zeros((missing, *rows.shape[1:]), rows.dtype)
    weights = jnp.concatenate([jnp.ones(len(rows)), jnp.zeros(missing)])
    parts = jnp.concatenate([rows, padding])
    return parts.reshape(n, -1, *rows.shape[1:]), weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    """On one device: the gradient of the mean error over the real points of all devices."""

    def total(theta):  # a sum, because sums of devices may be added
        return jnp.sum(weights * errors(theta, x, y))

    gradient = lax.psum(jax.grad(total)(theta), "devices")
    count = lax.psum(jnp.sum(weights), "devices")
    return gradient / count


# %% right: jnp.pad, and pmean twice
def pad_batch(rows, n):
    missing = -rows.shape[0] % n
    width = [(0, missing)] + [(0, 0)] * (rows.ndim - 1)
    parts = jnp.pad(rows, width)
    weights = jnp.arange(parts.shape[0]) < rows.shape[0]
    return parts.reshape(n, -1, *rows.shape[1:]), 1.0 * weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    weighted = lambda t: weights @ errors(t, x, y)
    return lax.pmean(jax.grad(weighted)(theta), "devices") / lax.pmean(weights.sum(), "devices")


# %% right: the last row again, and the gradient of each point
def pad_batch(rows, n):
    count = len(rows)
    m = (count + n - 1) // n
    numbers = jnp.arange(n * m).reshape(n, m)
    return rows[jnp.minimum(numbers, count - 1)], jnp.where(numbers < count, 1.0, 0.0)


def mean_gradient(theta, x, y, weights):
    each = jax.vmap(jax.grad(lambda t, a, b: errors(t, a, b)), in_axes=(None, 0, 0))(theta, x, y)
    total, count = lax.psum((weights @ each, weights.sum()), "devices")
    return total / count


# %% right: every device takes all points
def pad_batch(rows, n):
    m = -(-len(rows) // n)
    parts = jnp.zeros((n * m, *rows.shape[1:]), rows.dtype).at[: len(rows)].set(rows)
    weights = jnp.zeros(n * m).at[: len(rows)].set(1.0)
    return parts.reshape(n, m, *rows.shape[1:]), weights.reshape(n, m)


def mean_gradient(theta, x, y, weights):
    x, y, weights = (lax.all_gather(a, "devices", tiled=True) for a in (x, y, weights))
    return jax.grad(lambda t: jnp.average(errors(t, x, y), weights=weights))(theta)


# %% right: the count first, so that each device has its share of the mean
def pad_batch(rows, n):
    weights = jnp.ones(len(rows))
    while len(rows) % n:
        rows = jnp.concatenate([rows, rows[:1]])
        weights = jnp.append(weights, 0.0)
    return jnp.stack(jnp.split(rows, n)), jnp.stack(jnp.split(weights, n))


def mean_gradient(theta, x, y, weights):
    share = weights / lax.psum(weights.sum(), "devices")
    return lax.psum(jax.jacfwd(lambda t: share @ errors(t, x, y))(theta), "devices")


# %% wrong: the mean of the means
# You averaged the means of the devices, although some have fewer real points: add up the sums and
# the counts over the devices, and divide after that.
def pad_batch(rows, n):
    missing = -len(rows) % n
    weights = jnp.concatenate([jnp.ones(len(rows)), jnp.zeros(missing)])
    parts = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]))])
    return parts.reshape(n, -1, *rows.shape[1:]), weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    def mean(theta):
        return jnp.sum(weights * errors(theta, x, y)) / jnp.sum(weights)

    return lax.pmean(jax.grad(mean)(theta), "devices")


# %% wrong: padding counts
# You left the weights out: the errors of padded rows must be multiplied by 0.
def pad_batch(rows, n):
    missing = -len(rows) % n
    weights = jnp.concatenate([jnp.ones(len(rows)), jnp.zeros(missing)])
    parts = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]))])
    return parts.reshape(n, -1, *rows.shape[1:]), weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    return lax.pmean(jax.grad(lambda t: jnp.mean(errors(t, x, y)))(theta), "devices")


# %% wrong: relying on zeros
# You relied on padding of zeros, which has no gradient here: multiply the errors by the weights.
def pad_batch(rows, n):
    missing = -len(rows) % n
    weights = jnp.concatenate([jnp.ones(len(rows)), jnp.zeros(missing)])
    parts = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]))])
    return parts.reshape(n, -1, *rows.shape[1:]), weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    gradient = jax.grad(lambda t: jnp.sum(errors(t, x, y)))(theta)
    return lax.psum(gradient, "devices") / lax.psum(jnp.sum(weights), "devices")


# %% wrong: divided by all rows
# You divided by the number of all rows: padding is no point, so divide by the sum of the weights.
def pad_batch(rows, n):
    missing = -len(rows) % n
    weights = jnp.concatenate([jnp.ones(len(rows)), jnp.zeros(missing)])
    parts = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]))])
    return parts.reshape(n, -1, *rows.shape[1:]), weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    return lax.pmean(jax.grad(lambda t: jnp.mean(weights * errors(t, x, y)))(theta), "devices")


# %% wrong: the sum over all points
# You returned the gradient of the sum: for the mean, divide it by the number of real points.
def pad_batch(rows, n):
    missing = -len(rows) % n
    weights = jnp.concatenate([jnp.ones(len(rows)), jnp.zeros(missing)])
    parts = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]))])
    return parts.reshape(n, -1, *rows.shape[1:]), weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    return lax.psum(jax.grad(lambda t: jnp.sum(weights * errors(t, x, y)))(theta), "devices")


# %% wrong: the own count
# You divided by the number of real points on one device: the count needs lax.psum as well.
def pad_batch(rows, n):
    missing = -len(rows) % n
    weights = jnp.concatenate([jnp.ones(len(rows)), jnp.zeros(missing)])
    parts = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]))])
    return parts.reshape(n, -1, *rows.shape[1:]), weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    gradient = jax.grad(lambda t: jnp.sum(weights * errors(t, x, y)))(theta)
    return lax.psum(gradient, "devices") / jnp.sum(weights)


# %% wrong: the own gradient
# You did not add up the gradients of the devices: each one knows only its own points.
def pad_batch(rows, n):
    missing = -len(rows) % n
    weights = jnp.concatenate([jnp.ones(len(rows)), jnp.zeros(missing)])
    parts = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]))])
    return parts.reshape(n, -1, *rows.shape[1:]), weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    gradient = jax.grad(lambda t: jnp.sum(weights * errors(t, x, y)))(theta)
    return gradient / lax.psum(jnp.sum(weights), "devices")


# %% wrong: differentiated through psum
# You differentiated a loss with psum inside, which gives each device only the part of its own
# points, times the number of devices: take psum of the gradients instead.
def pad_batch(rows, n):
    missing = -len(rows) % n
    weights = jnp.concatenate([jnp.ones(len(rows)), jnp.zeros(missing)])
    parts = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]))])
    return parts.reshape(n, -1, *rows.shape[1:]), weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    def mean(theta):
        total = lax.psum(jnp.sum(weights * errors(theta, x, y)), "devices")
        return total / lax.psum(jnp.sum(weights), "devices")

    return jax.grad(mean)(theta)


# %% wrong: a row too many
# You padded a batch that divides: N % n is 0 then and n - N % n is n, so use -N % n.
def pad_batch(rows, n):
    missing = n - len(rows) % n
    weights = jnp.concatenate([jnp.ones(len(rows)), jnp.zeros(missing)])
    parts = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]))])
    return parts.reshape(n, -1, *rows.shape[1:]), weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    gradient = jax.grad(lambda t: jnp.sum(weights * errors(t, x, y)))(theta)
    return lax.psum(gradient, "devices") / lax.psum(jnp.sum(weights), "devices")


# %% wrong: padding in front
# You put the padding in front: the real rows come first, the padding follows.
def pad_batch(rows, n):
    missing = -len(rows) % n
    weights = jnp.concatenate([jnp.zeros(missing), jnp.ones(len(rows))])
    parts = jnp.concatenate([jnp.zeros((missing, *rows.shape[1:])), rows])
    return parts.reshape(n, -1, *rows.shape[1:]), weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    gradient = jax.grad(lambda t: jnp.sum(weights * errors(t, x, y)))(theta)
    return lax.psum(gradient, "devices") / lax.psum(jnp.sum(weights), "devices")


# %% wrong: all weights one
# You gave the padding the weight 1.0 as well: it must not count, so its weight is 0.0.
def pad_batch(rows, n):
    missing = -len(rows) % n
    parts = jnp.concatenate([rows, jnp.zeros((missing, *rows.shape[1:]))])
    parts = parts.reshape(n, -1, *rows.shape[1:])
    return parts, jnp.ones(parts.shape[:2])


def mean_gradient(theta, x, y, weights):
    gradient = jax.grad(lambda t: jnp.sum(weights * errors(t, x, y)))(theta)
    return lax.psum(gradient, "devices") / lax.psum(jnp.sum(weights), "devices")


# %% wrong: the rest dropped
# You dropped the rows that do not divide: every row counts, so add padding instead.
def pad_batch(rows, n):
    kept = rows[: len(rows) - len(rows) % n]
    parts = kept.reshape(n, -1, *rows.shape[1:])
    return parts, jnp.ones(parts.shape[:2])


def mean_gradient(theta, x, y, weights):
    gradient = jax.grad(lambda t: jnp.sum(weights * errors(t, x, y)))(theta)
    return lax.psum(gradient, "devices") / lax.psum(jnp.sum(weights), "devices")


# %% wrong: rows of one axis only
# Your padding fits rows with one axis each: y has none, so follow rows.shape[1:].
def pad_batch(rows, n):
    missing = -len(rows) % n
    parts = jnp.pad(rows, ((0, missing), (0, 0)))
    weights = jnp.pad(jnp.ones(len(rows)), (0, missing))
    return parts.reshape(n, -1, *rows.shape[1:]), weights.reshape(n, -1)


def mean_gradient(theta, x, y, weights):
    gradient = jax.grad(lambda t: jnp.sum(weights * errors(t, x, y)))(theta)
    return lax.psum(gradient, "devices") / lax.psum(jnp.sum(weights), "devices")
