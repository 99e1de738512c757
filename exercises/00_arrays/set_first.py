# %% [markdown]
# # Set the first element of each row
#
# Nothing changes an array; `x.at[...]` makes a new one.
#
# Write `set_first(x, values)`. `x` is a matrix of shape `(rows, columns)`, and `values` has the
# shape `(rows,)`. Return a matrix like `x` in which the first element of each row is the value for
# that row. For `x = [[1, 2, 3], [4, 5, 6]]` and `values = [10, 20]` that is
# `[[10, 2, 3], [20, 5, 6]]`.
#
# Transformations must be able to look into your function: the last check calls `jax.grad` on it.
#
# Run this file, or `tinyjax check set_first`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def set_first(x, values):
    """A matrix like `x` whose first column is `values`."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "set_first"]))
