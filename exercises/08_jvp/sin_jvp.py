# %% [markdown]
# # The rule of the sine
#
# Everything that tinyjax knows about the sine stands on its card, `sin_p` in
# `tinyjax/primitives/maths.py`. Take the rule for tangents from it, and put your own in its place.
#
# `sin_jvp(primals, tangents)` gets a tuple with one array `x`, and a tuple with one array `t`, the
# speed at which `x` changes. It returns the value `sin(x)` and the tangent of the value. For
# `x = 0.0` and `t = 2.0` these are 0.0 and 2.0.
#
# The checks do not call your function. They put it on the card, and then differentiate functions
# with a sine in them, in forward and in reverse mode: `jax.jvp` and `jax.grad` call your rule
# whenever they meet one. In reverse mode `t` is a tracer without a value, and what your rule does
# to it is recorded. So use functions of `jnp` only.
#
# Run this file, or `tinyjax check sin_jvp`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def sin_jvp(primals, tangents):
    """The value of sin, and the tangent of the value.

    primals: a tuple of one array. tangents: a tuple of one array, of the same shape.
    """
    (x,) = primals
    (t,) = tangents
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "sin_jvp"]))
