# %% [markdown]
# # The rule of the product
#
# `mul` is the primitive behind `x * y`. Its card is `mul_p` in `tinyjax/primitives/arithmetic.py`.
# Take the rule for tangents from it, and put your own in its place.
#
# `mul_jvp(primals, tangents)` gets a tuple of the two operands and a tuple of their two tangents.
# It returns the product and the tangent of the product. For the operands 2.0 and 3.0 with the
# tangents 1.0 and 10.0 these are 6.0 and 23.0.
#
# An operand that does not change has a tangent that is no array: it is a `Zero`, an object that
# says "known to be zero", so that nobody has to multiply with it. `isinstance(t, Zero)` asks for
# it. At most one of the two tangents is a `Zero`. The operands have the same shape, or one of them
# is a single number.
#
# The checks put your rule on the card, and differentiate functions with products in them, in
# forward and in reverse mode. In reverse mode tangents are tracers without values, and what your
# rule does to them is recorded.
#
# Run this file, or `tinyjax check mul_jvp`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core import Zero


def mul_jvp(primals, tangents):
    """The product, and its tangent.

    primals: a tuple of two arrays. tangents: a tuple of two; one of them may be a Zero.
    """
    x, y = primals
    dx, dy = tangents
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "mul_jvp"]))
