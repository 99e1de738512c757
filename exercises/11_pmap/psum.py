# %% [markdown]
# # Two rules of psum
#
# On devices, `lax.psum(x, "i")` is an exchange. Under `vmap` there are no devices, and under `grad`
# something has to flow back. The primitive `psum` has a rule for each. They live in
# `tinyjax/transforms/named_reductions.py`. Write both; yours take their place in the package, and
# `vmap`, `grad`, `pmap` and `lax.pmean` then run on them.
#
# **`batch_along(axis, x, d, ...)`** is called when `vmap` maps along the axis that `psum` sums
# over. `axis.name` and `axis.size` tell which axis that is. `x` is the whole array, with the
# elements along its axis `d`. If `d` is `None`, `x` has no such axis: all `axis.size` elements are
# equal to `x`. Return a pair: the result, and the axis along which its elements lie. That is `None`
# if the result is the same for all elements. So for `x = [[1, 2], [3, 4], [5, 6]]` and `d = 0`,
# one right answer is `([9, 12], None)`.
#
# **`transpose(ct, x, ...)`** is called when a gradient flows back through `psum`. It runs for each
# element (or on each device). `ct` is the cotangent of the result there; `x` only tells the shape
# and dtype of the operand. Return a list with one entry: the cotangent of the operand. All
# results depend on each operand, so each operand hears from all of them.
#
# `axes` is what `lax.psum` was called with, here a tuple with one name. `axis_index_groups` is
# `None` here. (With several names, or groups, the package's own rules stay.)
#
# Run this file, or `tinyjax check psum`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def batch_along(axis, x, d, *, axes, axis_index_groups):
    """psum over the axis that vmap maps: the result, and its axis of elements or None."""
    raise NotImplementedError


def transpose(ct, x, *, axes, axis_index_groups):
    """The cotangent of psum's operand, in a list."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "psum"]))
