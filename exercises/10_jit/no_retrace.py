# %% [markdown]
# # Trace once
#
# This descent gives the right numbers, and is slower than without `jit`:
#
#     def make_descent(slope):
#         def descent(x, rates):
#             for rate in rates:
#                 x = jax.jit(lambda x: x - rate * slope(x))(x)
#             return x
#
#         return descent
#
# Each pass of the loop makes a new function, so `slope` is traced again and again.
#
# Write a `make_descent` that does the same, and traces `slope` **once**: not once for each rate,
# and not once more when `descent` is called again with as many other rates and an `x` of the same
# type.
# `x` is an array, and `rates` a list of floats.
#
#     descent = make_descent(lambda x: 2 * x)
#     descent(jnp.array([1.0, -3.0]), [0.25, 0.25])    # [ 0.25 -0.75]
#
# Run this file, or `tinyjax check no_retrace`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def make_descent(slope):
    """The function descent(x, rates): x goes against slope(x), once for each rate."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "no_retrace"]))
