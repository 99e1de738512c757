# %% [markdown]
# # One step, taken by all devices
#
# Each device holds some of the points, and a copy of the parameters. `step` runs on every device
# under `pmap`, on an axis with the name `"devices"`:
#
#     jax.pmap(step, axis_name="devices", in_axes=(None, 0, 0))(params, x, y)
#
# Write it. `params` is a dictionary with `"w"`, an array of three numbers, and `"b"`, a number.
# `x`, shape `(m, 3)`, and `y`, shape `(m,)`, are the points of this device. Return two things.
#
# - The new parameters: one step of gradient descent with the learning rate `LR` on the loss over
#   the points of **all** devices.
# - The loss over the points of all devices, before the step.
#
# Both are then the same on every device, as if one device had all the points. All devices have
# equally many points, and there may be any number of devices.
#
# Run this file, or `tinyjax check pmean`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

LR = 0.5


def loss(params, x, y):
    """The mean squared error of a neuron on some points."""
    guess = jnp.tanh(x @ params["w"] + params["b"])
    return jnp.mean((guess - y) ** 2)


def step(params, x, y):
    """On a device with the points x, y: the new parameters, and the loss over all points."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "pmean"]))
