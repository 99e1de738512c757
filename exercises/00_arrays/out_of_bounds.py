# %% [markdown]
# # Read beyond the end, and see it
#
# `x[10]` raises no error when `x` has five elements: you get the last one. That hides mistakes.
#
# Write `look_up(table, positions, default)`. `table` has the shape `(n,)` and the dtype float32;
# `positions` is an array of integers. Return an array of float32 with the element of `table` at
# each position, and `default` (a number) where `table` has no such position. Positions count as in
# Python: from 0 to `n - 1`, and from the end with -1 down to `-n`. For `table = [5.0, 6.0, 7.0]`,
# `positions = [0, 3, -1, -4]` and `default = 0.5` the result is `[5.0, 0.5, 7.0, 0.5]`.
#
# Run this file, or `tinyjax check out_of_bounds`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def look_up(table, positions, default):
    """The elements of `table` at `positions`; `default` where there is none."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "out_of_bounds"]))
