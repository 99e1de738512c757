# %% [markdown]
# # Value and slope from one run
#
# Newton's method looks for a zero of `f`: from `x` it goes to `x - f(x) / f'(x)`, again and again.
#
# Write one such step. `newton_step(f, x)` returns the new `x`. It calls `f` **once**: the value and
# the derivative come out of the same run.
#
# `x` is a number, or an array. An array holds several starting points, each of which takes a step
# of its own; `f` works element by element then. For `f = lambda x: x * x - 2.0` and `x = 1.0` the
# result is 1.5.
#
# Run this file, or `tinyjax check newton_step`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def newton_step(f, x):
    """x - f(x) / f'(x), for a number or for each element of an array."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "newton_step"]))
