# %% [markdown]
# # When the data come first
#
# `jax.grad` differentiates with respect to the first argument. Not every function has its
# parameters there.
#
# Write `gradients(loss, x, y, w, b)`. `loss(x, y, w, b)` returns one number; `x` and `y` are the
# data, `w` and `b` the parameters. Return the pair `(dw, db)`: the derivative of the loss with
# respect to `w`, and the one with respect to `b`. Each has the shape of its parameter.
#
# For `loss = lambda x, y, w, b: w**2 * x + 3 * b + y`, the result of
# `gradients(loss, 2.0, 0.0, 5.0, 1.0)` is `(20.0, 3.0)`.
#
# Run this file, or `tinyjax check argnums`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def gradients(loss, x, y, w, b):
    """The derivatives of `loss(x, y, w, b)` with respect to `w` and to `b`."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "argnums"]))
