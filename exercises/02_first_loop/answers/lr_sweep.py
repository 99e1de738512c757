# The card of the exercise lr_sweep. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 20

# %% [markdown] statement
# # Which learning rate?
#
# Too small a learning rate costs time, too large a one never arrives. Try some and take the best.
#
# Write `lr_sweep(lrs, theta, x, y, steps)`. For each learning rate in the list `lrs`, start at
# `theta`, take that many `steps` with `update`, and note the loss where you end. Return the pair
# `(losses, best)`: the losses in the order of `lrs`, and the learning rate with the smallest loss.
#
# For `lrs = [0.01, 0.1]`, `theta = [1, 0]`, one point with `x = [2]` and `y = [5]`, and 1 step,
# `losses` is `[7.29, 0.0]` and `best` is 0.1.
#
# A learning rate that is far too large ends at `nan`, which is no number and never the best.
#
# Run this file, or `tinyjax check lr_sweep`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


def loss(theta, x, y):
    """The mean squared error of the line on the points."""
    w, b = theta
    return jnp.mean((w * x + b - y) ** 2)


def update(theta, x, y, lr):
    """One step of gradient descent: the new theta."""
    return theta - lr * jax.grad(loss)(theta, x, y)


# %% stub
def lr_sweep(lrs, theta, x, y, steps):
    """The loss after `steps` steps for each learning rate, and the best learning rate."""
    raise NotImplementedError


# %% [markdown] hint
# Two loops, one inside the other: what has to begin again for every learning rate?

# %% [markdown] hint
# `update` returns a new theta and leaves the old one as it is, so you can start from `theta` again
# and again. `jnp.argmin` finds the position of the smallest loss, but it takes a `nan` for the
# smallest; `jnp.nanargmin` passes it by.

# %% [markdown] hint
#     def lr_sweep(lrs, theta, x, y, steps):
#         losses = []
#         for lr in lrs:
#             moved = ...
#             for _ in range(...):
#                 moved = update(..., x, y, ...)
#             losses.append(...)
#         return losses, lrs[...]

# %% checks
import numpy as np

from tinyjax.learn import check

seconds = 30.0  # who compiles the loop needs a while


def draw(rng):
    """Points near a line, a theta far from it, and learning rates that are not too large."""
    x = rng.choice([-1, 1], 5) * rng.uniform(0.5, 1.5, 5)
    w, b = rng.choice([-1, 1], 2) * rng.uniform(1.0, 2.0, 2)
    return {
        "lrs": [float(lr) for lr in rng.permutation([0.003, 0.02, 0.15])],
        "theta": np.array([-w, -b]).round(2).astype(np.float32),
        "x": x.round(2).astype(np.float32),
        "y": (w * x + b + rng.normal(0.0, 0.2, 5)).round(2).astype(np.float32),
        "steps": int(rng.integers(2, 5)),
    }


def draw_too_large(rng):
    """The first learning rate is so large that nan comes out."""
    far_too_large = float(rng.integers(1, 9)) * 1e8
    others = rng.permutation([0.003, 0.15])
    return draw(rng) | {"lrs": [far_too_large, *map(float, others), 0.02], "steps": 7}


@check("the losses")
def the_losses(student, lrs, theta, x, y, steps):
    losses, _ = student.lr_sweep(lrs, theta, x, y, steps)
    return losses


@check("the best, where one of them ends at nan", draw=draw_too_large, draws=2)
def the_best(student, lrs, theta, x, y, steps):
    _, best = student.lr_sweep(lrs, theta, x, y, steps)
    return best


# %% reference
def lr_sweep(lrs, theta, x, y, steps):
    """The loss after `steps` steps for each learning rate, and the best learning rate."""
    losses = []
    for lr in lrs:
        moved = theta  # every learning rate starts from the same place
        for _ in range(steps):
            moved = update(moved, x, y, lr)
        losses.append(loss(moved, x, y))
    return jnp.array(losses), lrs[int(jnp.nanargmin(jnp.array(losses)))]


# %% right: all at once with vmap
def lr_sweep(lrs, theta, x, y, steps):
    rates = jnp.array(lrs)
    thetas = jnp.tile(theta, (len(lrs), 1))
    one_step = jax.vmap(update, in_axes=(0, None, None, 0))
    for _ in range(steps):
        thetas = one_step(thetas, x, y, rates)
    losses = jax.vmap(loss, in_axes=(0, None, None))(thetas, x, y)
    return losses, rates[jnp.nanargmin(losses)]


# %% right: a fold, and sorted pairs
def lr_sweep(lrs, theta, x, y, steps):
    from functools import reduce
    from math import isnan

    def loss_of(α):
        return float(loss(reduce(lambda θ, _: update(θ, x, y, α), range(steps), theta), x, y))

    losses = [loss_of(lr) for lr in lrs]
    _, best = sorted((found, lr) for found, lr in zip(losses, lrs) if not isnan(found))[0]
    return losses, best


# %% right: a gradient by hand, and infinity for nan
class Sweep:
    def __call__(self, lrs, theta, x, y, steps):
        losses = {}
        for lr in lrs:
            w, b = theta
            for _ in range(steps):
                error = w * x + b - y
                w, b = w - 2 * lr * jnp.mean(error * x), b - 2 * lr * jnp.mean(error)
            losses[lr] = jnp.mean((w * x + b - y) ** 2)
        best = min(losses, key=lambda lr: jnp.where(jnp.isnan(losses[lr]), jnp.inf, losses[lr]))
        return tuple(losses.values()), best


lr_sweep = Sweep()


# %% wrong: nan wins
# You let nan win: nothing is smaller than nan or larger, so pass it by, with jnp.nanargmin.
def lr_sweep(lrs, theta, x, y, steps):
    losses = []
    for lr in lrs:
        moved = theta
        for _ in range(steps):
            moved = update(moved, x, y, lr)
        losses.append(loss(moved, x, y))
    return jnp.array(losses), lrs[int(jnp.argmin(jnp.array(losses)))]


# %% wrong: theta goes on
# You went on from where the last learning rate had ended: each one starts from the same theta.
def lr_sweep(lrs, theta, x, y, steps):
    losses = []
    for lr in lrs:
        for _ in range(steps):
            theta = update(theta, x, y, lr)
        losses.append(loss(theta, x, y))
    return jnp.array(losses), lrs[int(jnp.nanargmin(jnp.array(losses)))]


# %% wrong: one step
# You ended one step away from theta: take all the steps, each from where the last one ended.
def lr_sweep(lrs, theta, x, y, steps):
    losses = jnp.array([loss(update(theta, x, y, lr), x, y) for lr in lrs])
    return losses, lrs[int(jnp.nanargmin(losses))]


# %% wrong: the last step is missing
# You noted the loss before the last step: it belongs to the theta where you end.
def lr_sweep(lrs, theta, x, y, steps):
    losses = []
    for lr in lrs:
        moved = theta
        for _ in range(steps):
            last = loss(moved, x, y)
            moved = update(moved, x, y, lr)
        losses.append(last)
    return jnp.array(losses), lrs[int(jnp.nanargmin(jnp.array(losses)))]


# %% wrong: a step too many
# You took one step too many: range(steps) counts them right.
def lr_sweep(lrs, theta, x, y, steps):
    losses = []
    for lr in lrs:
        moved = update(theta, x, y, lr)
        for _ in range(steps):
            moved = update(moved, x, y, lr)
        losses.append(loss(moved, x, y))
    return jnp.array(losses), lrs[int(jnp.nanargmin(jnp.array(losses)))]


# %% wrong: every step starts at theta
# You ended one step away from theta: take all the steps, each from where the last one ended.
def lr_sweep(lrs, theta, x, y, steps):
    losses = []
    for lr in lrs:
        for _ in range(steps):
            moved = update(theta, x, y, lr)
        losses.append(loss(moved, x, y))
    return jnp.array(losses), lrs[int(jnp.nanargmin(jnp.array(losses)))]


# %% wrong: the loss of every step
# You noted the loss of every step: one for each learning rate is wanted, the last.
def lr_sweep(lrs, theta, x, y, steps):
    losses = []
    for lr in lrs:
        moved, path = theta, []
        for _ in range(steps):
            moved = update(moved, x, y, lr)
            path.append(loss(moved, x, y))
        losses.append(jnp.array(path))
    ends = jnp.array([path[-1] for path in losses])
    return losses, lrs[int(jnp.nanargmin(ends))]


# %% wrong: the position of the best
# You returned the position of the best learning rate: look it up in lrs.
def lr_sweep(lrs, theta, x, y, steps):
    losses = []
    for lr in lrs:
        moved = theta
        for _ in range(steps):
            moved = update(moved, x, y, lr)
        losses.append(loss(moved, x, y))
    return jnp.array(losses), int(jnp.nanargmin(jnp.array(losses)))


# %% wrong: the smallest loss itself
# You returned the smallest loss: the learning rate that led to it is wanted.
def lr_sweep(lrs, theta, x, y, steps):
    losses = []
    for lr in lrs:
        moved = theta
        for _ in range(steps):
            moved = update(moved, x, y, lr)
        losses.append(loss(moved, x, y))
    return jnp.array(losses), jnp.nanmin(jnp.array(losses))


# %% wrong: the largest loss
# You took the learning rate with the largest loss: small is good.
def lr_sweep(lrs, theta, x, y, steps):
    losses = []
    for lr in lrs:
        moved = theta
        for _ in range(steps):
            moved = update(moved, x, y, lr)
        losses.append(loss(moved, x, y))
    return jnp.array(losses), lrs[int(jnp.nanargmax(jnp.array(losses)))]


# %% wrong: the learning rate of the chapter
# You took a learning rate of your own, 0.1: the steps must use those in lrs.
def lr_sweep(lrs, theta, x, y, steps):
    losses = []
    for _ in lrs:
        moved = theta
        for _ in range(steps):
            moved = update(moved, x, y, 0.1)
        losses.append(loss(moved, x, y))
    return jnp.array(losses), 0.1


# %% wrong: the thetas
# You returned the thetas where the steps ended: it is their losses that tell which is best.
def lr_sweep(lrs, theta, x, y, steps):
    thetas = []
    for lr in lrs:
        moved = theta
        for _ in range(steps):
            moved = update(moved, x, y, lr)
        thetas.append(moved)
    losses = jnp.array([loss(moved, x, y) for moved in thetas])
    return jnp.stack(thetas), lrs[int(jnp.nanargmin(losses))]
