# The card of the exercise pmean. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 15

# %% [markdown] statement
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

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

LR = 0.5


def loss(params, x, y):
    """The mean squared error of a neuron on some points."""
    guess = jnp.tanh(x @ params["w"] + params["b"])
    return jnp.mean((guess - y) ** 2)


# %% stub
def step(params, x, y):
    """On a device with the points x, y: the new parameters, and the loss over all points."""
    raise NotImplementedError


# %% [markdown] hint
# A device can work out the loss and the gradient of its own points. What has to happen to both so
# that they belong to the points of all devices?

# %% [markdown] hint
# The loss is a mean over points, and all devices have equally many. So the loss over all points is
# the mean of the losses, and its gradient is the mean of the gradients. `lax.pmean(a, "devices")`
# is the mean of what the devices have, and everyone gets it. It takes a dictionary, too.

# %% [markdown] hint
#     def step(params, x, y):
#         value, gradient = jax.value_and_grad(loss)(params, x, y)
#         value = ...
#         gradient = ...
#         new = jax.tree.map(lambda p, g: ..., params, gradient)
#         return new, value

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax.learn import check

devices = 4
seconds = 60.0


def draw(rng):
    """Parameters, and points for two or three of the four devices, which see different data."""
    n, m = int(rng.integers(2, 4)), int(rng.integers(5, 7))
    return {
        "params": {
            "w": rng.normal(scale=0.6, size=3).round(2).astype(np.float32),
            "b": np.float32(round(rng.normal(), 2)),
        },
        "x": rng.normal(size=(n, m, 3)).round(1).astype(np.float32),
        "y": (rng.normal(size=(n, m)) + rng.normal(size=(n, 1))).round(1).astype(np.float32),
    }


def on_devices(student, params, x, y):
    """The results of all devices."""
    return jax.pmap(student.step, axis_name="devices", in_axes=(None, 0, 0))(params, x, y)


@check("the new parameters on each device")
def parameters(student, params, x, y):
    return on_devices(student, params, x, y)[0]


@check("the loss over all points, on each device")
def loss_of_all(student, params, x, y):
    return on_devices(student, params, x, y)[1]


# %% reference
def step(params, x, y):
    """On a device with the points x, y: the new parameters, and the loss over all points."""
    value, gradient = jax.value_and_grad(loss)(params, x, y)  # of the points on this device
    value, gradient = lax.pmean((value, gradient), "devices")  # of all points
    return jax.tree.map(lambda p, g: p - LR * g, params, gradient), value


# %% right: psum over psum of one
def step(params, x, y):
    n = lax.psum(1, "devices")
    value = lax.psum(loss(params, x, y), "devices") / n
    gradient = lax.psum(jax.grad(loss)(params, x, y), "devices")
    return {name: params[name] - LR * gradient[name] / n for name in params}, value


# %% right: the mean of the new parameters
def step(params, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    own = jax.tree.map(lambda p, g: p - LR * g, params, gradient)
    return lax.pmean(own, "devices"), lax.pmean(value, "devices")


# %% right: every device takes all points
def step(params, x, y):
    x = lax.all_gather(x, "devices", tiled=True)
    y = lax.all_gather(y, "devices", tiled=True)
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - LR * g, params, gradient), value


# %% right: forward mode, all_gather and a mean
def step(params, x, y):
    everyones = lax.all_gather(jax.jacfwd(loss)(params, x, y), "devices")
    gradient = jax.tree.map(lambda g: g.mean(0), everyones)
    losses = lax.all_gather(loss(params, x, y), "devices")
    return jax.tree.map(lambda p, g: p - LR * g, params, gradient), jnp.mean(losses)


# %% right: a compiled class with unicode names
class Step:
    def __call__(self, params, x, y):
        value, δ = jax.jit(jax.value_and_grad(loss))(params, x, y)
        δw, δb = (lax.pmean(δ[k], "devices") for k in ("w", "b"))
        new = {"w": params["w"] - LR * δw, "b": params["b"] - LR * δb}
        return new, lax.pmean(value, "devices")


step = Step()


# %% wrong: the sum of the gradients
# You added the gradients of all devices: the loss is a mean over points, so take their mean.
def step(params, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    gradient = lax.psum(gradient, "devices")
    new = jax.tree.map(lambda p, g: p - LR * g, params, gradient)
    return new, lax.pmean(value, "devices")


# %% wrong: the sum of the losses
# You added the losses of all devices: the loss over all points is their mean.
def step(params, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    gradient = lax.pmean(gradient, "devices")
    new = jax.tree.map(lambda p, g: p - LR * g, params, gradient)
    return new, lax.psum(value, "devices")


# %% wrong: the own gradient
# Each device steps along the gradient of its own points: after jax.grad, average the gradients.
def step(params, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    new = jax.tree.map(lambda p, g: p - LR * g, params, gradient)
    return new, lax.pmean(value, "devices")


# %% wrong: averaged before differentiating
# Each device steps along the gradient of its own points: after jax.grad, average the gradients.
def step(params, x, y):
    def mean_loss(params):
        return lax.pmean(loss(params, x, y), "devices")

    value, gradient = jax.value_and_grad(mean_loss)(params)
    return jax.tree.map(lambda p, g: p - LR * g, params, gradient), value


# %% wrong: the own loss
# You returned the loss of this device's points: it has to be averaged over the devices, too.
def step(params, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    gradient = lax.pmean(gradient, "devices")
    return jax.tree.map(lambda p, g: p - LR * g, params, gradient), value


# %% wrong: divided by four
# You divided by four: there may be any number of devices, and lax.pmean counts them.
def step(params, x, y):
    value, gradient = lax.psum(jax.value_and_grad(loss)(params, x, y), "devices")
    return jax.tree.map(lambda p, g: p - LR * g / 4, params, gradient), value / 4


# %% wrong: divided by the points
# You divided by the number of points on a device: it is the devices that were added up.
def step(params, x, y):
    value, gradient = lax.psum(jax.value_and_grad(loss)(params, x, y), "devices")
    m = x.shape[0]
    return jax.tree.map(lambda p, g: p - LR * g / m, params, gradient), value / m


# %% wrong: uphill
# You went uphill: the step subtracts LR times the gradient.
def step(params, x, y):
    value, gradient = lax.pmean(jax.value_and_grad(loss)(params, x, y), "devices")
    return jax.tree.map(lambda p, g: p + LR * g, params, gradient), value


# %% wrong: the whole gradient
# You took the whole gradient as the step: scale it by the learning rate LR.
def step(params, x, y):
    value, gradient = lax.pmean(jax.value_and_grad(loss)(params, x, y), "devices")
    return jax.tree.map(lambda p, g: p - g, params, gradient), value


# %% wrong: the loss after the step
# You returned the loss after the step: the one before it is asked for.
def step(params, x, y):
    gradient = lax.pmean(jax.grad(loss)(params, x, y), "devices")
    new = jax.tree.map(lambda p, g: p - LR * g, params, gradient)
    return new, lax.pmean(loss(new, x, y), "devices")


# %% wrong: the mean of the points
# You averaged the points over the devices: average the losses and gradients, the points stay.
def step(params, x, y):
    x, y = lax.pmean((x, y), "devices")
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - LR * g, params, gradient), value


# %% wrong: the mean over the entries
# You used jnp.mean, which averages over the entries on one device: lax.pmean averages over devices.
def step(params, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    new = jax.tree.map(lambda p, g: p - LR * jnp.mean(g), params, gradient)
    return new, lax.pmean(value, "devices")


# %% wrong: only the weights
# You averaged the gradient of w alone: b has a gradient, too. lax.pmean takes the whole dictionary.
def step(params, x, y):
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    gradient["w"] = lax.pmean(gradient["w"], "devices")
    new = jax.tree.map(lambda p, g: p - LR * g, params, gradient)
    return new, lax.pmean(value, "devices")


# %% wrong: another name
# You asked for an axis with the name "i": the axis of this pmap is called "devices".
def step(params, x, y):
    value, gradient = lax.pmean(jax.value_and_grad(loss)(params, x, y), "i")
    return jax.tree.map(lambda p, g: p - LR * g, params, gradient), value
