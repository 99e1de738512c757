# %% [markdown]
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

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def loss(theta, x, y):
    """The mean squared error of the line on the points."""
    w, b = theta
    return jnp.mean((w * x + b - y) ** 2)


def update(theta, x, y, lr):
    """One step of gradient descent: the new theta."""
    return theta - lr * jax.grad(loss)(theta, x, y)


def lr_sweep(lrs, theta, x, y, steps):
    """The loss after `steps` steps for each learning rate, and the best learning rate."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "lr_sweep"]))
