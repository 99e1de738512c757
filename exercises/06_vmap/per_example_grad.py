# %% [markdown]
# # No example may pull too hard
#
# The gradient of a mean hides who pulls. Take the gradient of each example, shorten those that
# are too long, then take the mean: now no single example can spoil the step.
#
# `loss(params, x, y)` is the loss of **one** example. `params` is a dict of arrays. `xs` and
# `ys` hold N examples along axis 0. Write two functions.
#
# - `per_example_grad(loss, params, xs, ys)` returns a dict as `params` is. Each leaf has an axis
#   of N gradients in front, one for each example. Call `loss` once, not once for each example.
# - `clipped_mean(gradients, limit)` takes such a dict. The **length** of an example's gradient
#   is the square root of the sum of the squares of all its numbers, over all leaves. If it is
#   longer than `limit`, multiply this gradient by `limit / length`; otherwise leave it alone.
#   Return the mean over the examples: a dict as `params` is.
#
# For `gradients = {"b": [0., 4.], "w": [1., 3.]}`, two examples, the lengths are 1 and 5. With
# `limit = 2.5` the second is halved, and the mean is `{"b": 1., "w": 1.25}`.
#
# Run this file, or `tinyjax check per_example_grad`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def per_example_grad(loss, params, xs, ys):
    """The gradient of `loss` with respect to params for each example: a dict of leaves (N, ...)."""
    raise NotImplementedError


def clipped_mean(gradients, limit):
    """The mean of the gradients, each shortened to length `limit` if it is longer."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "per_example_grad"]))
