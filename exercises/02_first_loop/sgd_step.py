# %% [markdown]
# # One step of gradient descent
#
# Chapter 02 fits a line `w * x + b` to points by walking downhill: every step moves
# `theta = [w, b]` a little against the gradient of the loss.
#
# Write that step. `theta` is an array of two numbers, `x` and `y` hold the points, and
# `lr`, the learning rate, says how far to go. Return the new theta.
#
# For `theta = [1, 0]`, one point with `x = [2]` and `y = [5]`, and `lr = 0.1` the gradient is
# `[-12, -6]`, and the new theta is `[2.2, 0.6]`.
#
# Run this file, or `tinyjax check sgd_step`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def loss(theta, x, y):
    """The mean squared error of the line on the points."""
    w, b = theta
    return jnp.mean((w * x + b - y) ** 2)


def sgd_step(theta, x, y, lr):
    """One step of gradient descent on `loss`: the new theta."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "sgd_step"]))
