# %% [markdown]
# # Get a value out without a leak
#
# `step`, below, goes one step downhill, and its loss notes on the way how large the largest error
# is. But what it stores in the list are tracers. They have leaked: to use one is an
# `UnexpectedTracerError`.
#
# Write `pure_step(theta, x, y, lr)`, which returns two things: the new `theta`, and the largest
# error at the old one, `max |theta[0] * x + theta[1] - y|`, a number. For `theta = [1, 0]`, `x =
# [1, 2]`, `y = [1, 5]` and `lr = 0.1` these are `[1.6, 0.3]` and `3.0`.
#
# It must work under `jax.jit`, and no tracer may be left behind anywhere. You may write a loss of
# your own.
#
# Run this file, or `tinyjax check leaked_tracer`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp

worst = []


def loss(theta, x, y):
    """The mean squared error of a line; notes the largest error. Not pure."""
    errors = jnp.abs(theta[0] * x + theta[1] - y)
    worst.append(jnp.max(errors))
    return jnp.mean(errors**2)


def step(theta, x, y, lr):
    """One step of gradient descent."""
    return theta - lr * jax.grad(loss)(theta, x, y)


def pure_step(theta, x, y, lr):
    """The new theta, and the largest error at the old one."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "leaked_tracer"]))
