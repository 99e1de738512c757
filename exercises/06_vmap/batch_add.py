# %% [markdown]
# # Build it: the batching rule of add
#
# When `vmap` meets `x + y`, it asks the batching rule of `add`: if an operand holds a whole
# batch, how do you add all at once, and where is the batch axis in the result? tinyjax keeps that
# rule in `tinyjax/primitives/rules.py`, as the method `batch` of the class `Elementwise`. Chapter
# 06 prints it. Write your own. It takes the place of the real one for `add`, `sub`, `mul`, `div`,
# `max` and `min`, and the package's `vmap` calls it.
#
# `batch_add(self, axis, vals, dims)` gets
#
# - `self`: the primitive, for example `lax.add_p`. `self.bind(x, y)` computes it.
# - `axis`: the mapped axis; `axis.size` is its length.
# - `vals`: the two operands, and `dims`: for each the place of its batch axis, or `None` if the
#   operand is the same for all.
#
# It returns the result and the place of its batch axis.
#
# `bind` is strict: its operands must have the same number of axes, where an axis of length 1
# stretches, or be a single number (`ndim` is 0). That holds for one element of the batch as well:
# both operands have the same number of axes, or one of them is a number.
#
# An example: `vals` of shapes (5, 3) and (3,), `dims = [0, None]`. Five vectors meet a shared
# one, so the second must become (1, 3). The result has the shape (5, 3), its batch axis is 0.
#
# Run this file, or `tinyjax check batch_add`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def batch_add(self, axis, vals, dims, /, **params):
    """The primitive `self`, of two operands, on a whole batch -> result, its batch axis."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "batch_add"]))
