# %% [markdown]
# # Back to the small shape
#
# In `s * A` a number meets a matrix, in `row * A` an array of shape (1, 3) one of shape (2, 3). The
# small operand is stretched: each of its elements is used several times. So on the way back its
# cotangent arrives in the large shape, and must be brought back to the small one.
#
# In tinyjax the function `unbroadcast`, in `tinyjax/primitives/linear.py`, does this. The transpose
# rules of `mul`, `div` and others call it. In this exercise yours takes its place, and every `grad`
# goes through it.
#
# Write `unbroadcast(aval, ct)`. `aval.shape` is the shape of the operand. `ct` is the cotangent, in
# the shape of the result. Return the cotangent in the operand's shape. There are three cases:
#
# - the shapes are equal: there is nothing to do;
# - the operand is a number, of shape `()`;
# - both have as many axes, and some that have size 1 in the operand are longer in `ct`.
#
# For example:
#
#     ct = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
#     unbroadcast(jax.typeof(jnp.ones((1, 3))), ct)    # [[5. 7. 9.]]
#
# Run this file, or `tinyjax check unbroadcast`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def unbroadcast(aval, ct):
    """The cotangent of an operand of type aval, which was stretched to the shape of ct."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "unbroadcast"]))
