# %% [markdown]
# # Parameters with names
#
# A bump of some height, width and center is the curve
#
#     height * exp(-((t - center) / width) ** 2)
#
# Its three parameters are in a dict, and two of them in a dict in it:
#
#     params = {"height": 2.0, "bump": {"width": 0.5, "center": 1.0}}
#
# Write `loss(params, t, y)`: the mean of the squared differences between the curve at the times
# `t` and the measurements `y`, two arrays of one length. With these parameters, `t = [1, 1.5]`
# and `y = [1, 0]`, it is 0.7707. `jax.grad(loss)` must work: it returns a dict of the same form.
#
# Run this file, or `tinyjax check dict_params`, to see whether it is right.

# %%
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp


def loss(params, t, y):
    """The mean squared difference between the bump and the measurements."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "dict_params"]))
