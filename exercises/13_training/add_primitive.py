# %% [markdown]
# # Build it: a primitive of your own
#
# tinyjax knows about two hundred primitives, and you can add one: a **card** with a rule for each
# transformation (`tinyjax/core.py`, class `Primitive`; *How to add a primitive* in
# `docs/architecture.md`). Yours is `gaps`: differences of numbers that lie `by` places apart,
# along the last axis.
#
# `gaps(jnp.array([1., 4., 9., 16.]), by=2)` is `[8., 12.]`, that is 9 - 1 and 16 - 4.
#
# Write its five rules.
#
# - `impl(self, x, *, by)`: the value. `x` is a NumPy array. Compiled programs call it, too.
# - `type(self, x, *, by)`: the type of the result, from that of the operand, before there are
#   values. `x.shape` and `x.dtype` are known: return a `ShapedArray(shape, dtype)`.
# - `jvp(self, primals, tangents, *, by)`: for lists of one value and one tangent, the pair of the
#   result and its tangent.
# - `transpose(self, ct, x, *, by)`: `gaps` is linear. From the cotangent of the result, the
#   cotangent of x, in a list, since there is one for each operand. (`x` has no value here.)
# - `batch(self, axis, vals, dims, /, *, by)`: `vals` has the whole batch, `dims` the place of its
#   batch axis. Return the result and the place of the axis in it. Bind once, loop over nothing.
#
# `self.bind(x, by=by)` computes `gaps` inside of a rule. Then `grad`, `vmap` and `jit` of the
# package work on it. The checks also put it to work inside of `jnp.diff` and `jnp.trapezoid`.
#
# Run this file, or `tinyjax check add_primitive`, to see whether it is right.

# %%
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.extend.core import Primitive, ShapedArray


class Gaps(Primitive):
    """gaps[by] x: x[..., by:] - x[..., :-by]."""

    def impl(self, x, *, by):
        """The value, with NumPy."""
        raise NotImplementedError

    def type(self, x, *, by):
        """The type of the result, a ShapedArray, from that of x."""
        raise NotImplementedError

    def jvp(self, primals, tangents, *, by):
        """-> the result, its tangent."""
        raise NotImplementedError

    def transpose(self, ct, x, *, by):
        """-> [the cotangent of x], from the cotangent of the result."""
        raise NotImplementedError

    def batch(self, axis, vals, dims, /, *, by):
        """-> the result for the whole batch, the place of its batch axis."""
        raise NotImplementedError


gaps_p = Gaps("gaps")


def gaps(x, by=1):
    """Differences of numbers that lie `by` places apart, along the last axis."""
    return gaps_p.bind(x, by=by)


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "add_primitive"]))
