# %% [markdown]
# # Value and Jacobian in one run
#
# `jax.value_and_grad` returns a value together with its gradient. There is no such function for
# Jacobians. Write it.
#
# `value_and_jacfwd(f)` is a function of one array `x`, of any shape, which returns a pair: the
# value `f(x)`, an array of any shape, and the Jacobian there. The Jacobian has the shape of the
# value, followed by the shape of `x`: if `x` has shape `(2, 3)` and `f(x)` has shape `(4,)`, then
# it has shape `(4, 2, 3)`, and its element `[i, j, k]` says how `f(x)[i]` changes with `x[j, k]`.
#
# Use forward mode, so that also functions with a `lax.while_loop` can be differentiated. And do it
# in one run: `f` shall be called only once.
#
# For `f = lambda x: jnp.array([x[0] * x[1], x[0]])` and `x = [2.0, 3.0]` the result is
# `[6.0, 2.0]` and `[[3.0, 2.0], [1.0, 0.0]]`.
#
# Run this file, or `tinyjax check jacfwd`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def value_and_jacfwd(f):
    """A function of x that returns f(x) and the Jacobian, of shape f(x).shape + x.shape."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "jacfwd"]))
