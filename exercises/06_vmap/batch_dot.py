# %% [markdown]
# # Build it: the batching rule of dot_general
#
# Every product of arrays is one primitive, `dot_general x y`. Its `dimension_numbers` are
# `((contract_x, contract_y), (batch_x, batch_y))`, tuples of axes. It sums products over the
# contracting axes. Batch axes go side by side: element by element, no sum. The result has **the
# batch axes first, then the other axes of x, then the other axes of y**, each in their order.
#
# Its batching rule is in `tinyjax/primitives/dot.py`: the method `batch` of `DotGeneral`. Write
# your own. It takes the place of the real one, and the package's `vmap` calls it.
#
# `batch_dot(self, axis, vals, dims, *, dimension_numbers, **params)` gets
#
# - `self`: the primitive. `self.bind(x, y, dimension_numbers=..., **params)` computes it.
# - `axis`: the mapped axis; `axis.size` is its length.
# - `vals`: x and y, and `dims`: for each the place of its mapped axis, or `None` if it has none.
# - `dimension_numbers`: they are about **one element**, whose arrays lack the mapped axis.
#
# It returns the result and the place of the mapped axis in it. Bind once, and loop over nothing.
#
# An example: x of shape (2, 3) for all, y of shape (3, 5) with `dims = [None, 1]`: five vectors.
# For one element the numbers are `(((1,), (0,)), ((), ()))`. The same numbers will do for the
# batch. The result has the shape (2, 5), so you return it and 1.
#
# Run this file, or `tinyjax check batch_dot`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    """dot_general on a whole batch -> result, the place of its mapped axis."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "batch_dot"]))
