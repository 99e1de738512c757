# %% [markdown]
# # Add, and keep the type
#
# `jnp.add` looks at both types and chooses one for the result. `lax.add` is strict: it takes two
# arrays of one type. So with `lax` it is you who chooses.
#
# Write `strict_add(x, y)` for two arrays of the same shape. The first one rules: convert `y` to the
# type of `x`, whatever that is, and then add. The result has the type of `x`. For
# `x = [-3, 4]` (int32) and `y = [1.5, 1.5]` (float32) it is `[-2, 5]` (int32): as an integer, 1.5
# is 1.
#
# Run this file, or `tinyjax check strict_add`, to see whether it is right.

# %%
import tinyjax.numpy as jnp
from tinyjax import lax


def strict_add(x, y):
    """The sum of `x` and `y` in the type of `x`."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "strict_add"]))
