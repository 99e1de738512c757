# %% [markdown]
# # A length without nan
#
# The length of a row of numbers is the square root of the sum of their squares. Where all of them
# are 0, the length is 0, but its gradient comes out as `nan`: there the root has no slope. One such
# row in the data, and all the parameters behind it are `nan` after the next step.
#
# Write `lengths(rows)`. `rows` has the shape `(n, d)`; return the `n` lengths. For
# `[[3, 4], [0, 0]]` they are `[5, 0]`: exactly 0 for a row of zeros. The gradient must be right for
# every other row, and 0 for a row of zeros. For `jnp.sum(lengths(rows))` at these rows it is
# `[[0.6, 0.8], [0, 0]]`.
#
# Run this file, or `tinyjax check safe_where`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def lengths(rows):
    """The length of each row; for a row of zeros it is 0, and so is its gradient."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "safe_where"]))
