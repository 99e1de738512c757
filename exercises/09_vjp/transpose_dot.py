# %% [markdown]
# # Turn a matrix product around
#
# In tinyjax every matrix product becomes the primitive `dot_general`. Its card, in
# `tinyjax/primitives/dot.py`, says how to transpose it, and `vjp` asks the card whenever a
# cotangent comes back to a product. In this exercise your rule takes its place: all products of
# two matrices go back through your code, in `grad`, `jit`, `vmap` and second derivatives.
#
# Write `transpose_dot(ct, x, y, *, dimension_numbers, **params)`.
#
# - The product was taken of `x` and `y`, and exactly one of the two is an `Undef`: it is the linear
#   operand. It has a `shape`, and no values. The other one is an array or a tracer.
# - `dimension_numbers` is `(((i,), (j,)), ((), ()))`: axis `i` of `x` and axis `j` of `y` were
#   summed over, so these two axes are gone. The result has the axis of `x` that is left, then
#   that of `y`. For `x @ y`, `i` is 1 and `j` is 0; but your rule must know all four cases.
# - `ct` is the cotangent of the result, and has its shape.
# - Return a list of two: the cotangent of the operand that is an `Undef`, in its place, and `None`
#   for the other one. (Leave `params` alone.)
#
# For example:
#
#     x, y = Undef(jax.typeof(jnp.ones((2, 3)))), jnp.ones((3, 4))
#     transpose_dot(jnp.ones((2, 4)), x, y, dimension_numbers=(((1,), (0,)), ((), ())))
#     # [an array of shape (2, 3), full of 4.0, None]
#
# Run this file, or `tinyjax check transpose_dot`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core import Undef


def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    """The cotangents of a product of two matrices: [of x, None] or [None, of y]."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "transpose_dot"]))
