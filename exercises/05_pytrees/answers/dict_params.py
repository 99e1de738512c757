# The card of the exercise dict_params. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 10

# %% [markdown] statement
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

# %% given
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def loss(params, t, y):
    """The mean squared difference between the bump and the measurements."""
    raise NotImplementedError


# %% [markdown] hint
# How do you get the width out of a dict that lies in a dict?

# %% [markdown] hint
# `params["bump"]["width"]` is the width. Take each parameter by its name: the order of a dict is
# not to be relied on, since `grad` takes the dict apart and builds it again with its keys sorted.

# %% [markdown] hint
#     def loss(params, t, y):
#         height, bump = params["height"], params["bump"]
#         curve = height * jnp.exp(-(((t - bump[...]) / bump[...]) ** 2))
#         return ...

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax.learn import check


def draw(rng):
    """A bump, five times on both of its sides, and measurements."""
    params = {
        "height": round(rng.uniform(1.5, 3.0), 2),
        "bump": {
            "width": round(rng.uniform(0.6, 0.9), 2),
            "center": round(rng.uniform(1.1, 1.6), 2),
        },
    }
    t = rng.uniform(0.3, 2.4, size=5).round(2).astype(np.float32)
    return {"params": params, "t": t, "y": rng.normal(size=5).round(2).astype(np.float32)}


@check("the loss of a random bump")
def value(student, params, t, y):
    return {"loss": student.loss(params, t, y)}


@check("its gradient: a dict of the same form")
def gradient(student, params, t, y):
    return jax.grad(student.loss)(params, t, y)


# %% reference
def loss(params, t, y):
    """The mean squared difference between the bump and the measurements."""
    bump = params["bump"]
    curve = params["height"] * jnp.exp(-(((t - bump["center"]) / bump["width"]) ** 2))
    return jnp.mean((curve - y) ** 2)


# %% right: the leaves in their order
def loss(params, t, y):
    center, width, height = jax.tree.leaves(params)
    return jnp.mean((height * jnp.exp(-jnp.square((t - center) / width)) - y) ** 2)


# %% right: a point at a time, with keyword arguments
def curve(t, width, center):
    return jnp.exp(-(((t - center) / width) ** 2))


def loss(params, t, y):
    values = [params["height"] * curve(ti, **params["bump"]) for ti in t]
    return sum((v - yi) ** 2 for v, yi in zip(values, y)) / len(y)


# %% right: match, and a dot product
def loss(params, t, y):
    match params:
        case {"bump": {"width": σ, "center": μ}, "height": h}:
            ε = y - h * jnp.exp(-(t - μ) * (t - μ) / (σ * σ))
            return ε @ ε / ε.size


# %% wrong: values in the order of the statement
# You took the parameters by their position in the dict: grad sorts the keys, so take them by
# name.
def loss(params, t, y):
    width, center = params["bump"].values()
    curve = params["height"] * jnp.exp(-(((t - center) / width) ** 2))
    return jnp.mean((curve - y) ** 2)


# %% wrong: values in the sorted order
# You relied on sorted keys, but a dict of Python is in the order in which it was filled: take the
# parameters by name.
def loss(params, t, y):
    center, width = params["bump"].values()
    curve = params["height"] * jnp.exp(-(((t - center) / width) ** 2))
    return jnp.mean((curve - y) ** 2)


# %% wrong: NumPy
# You used a function of NumPy, which knows no tracers: with jnp.exp, grad can follow.
def loss(params, t, y):
    bump = params["bump"]
    curve = params["height"] * np.exp(-(((t - bump["center"]) / bump["width"]) ** 2))
    return jnp.mean((curve - y) ** 2)


# %% wrong: dots
# You wrote params.height: the entry of a dict is params["height"].
def loss(params, t, y):
    curve = params.height * jnp.exp(-(((t - params.bump.center) / params.bump.width) ** 2))
    return jnp.mean((curve - y) ** 2)


# %% wrong: one level
# You looked for the width in the outer dict: it lies one level deeper, params["bump"]["width"].
def loss(params, t, y):
    curve = params["height"] * jnp.exp(-(((t - params["center"]) / params["width"]) ** 2))
    return jnp.mean((curve - y) ** 2)


# %% wrong: values of both
# You took the parameters by their position in the dict: grad sorts the keys, so take them by
# name.
def loss(params, t, y):
    height, bump = params.values()
    curve = height * jnp.exp(-(((t - bump["center"]) / bump["width"]) ** 2))
    return jnp.mean((curve - y) ** 2)


# %% wrong: float
# float() loses the derivative, so grad refuses it: leave the parameters as they are.
def loss(params, t, y):
    bump = params["bump"]
    curve = float(params["height"]) * jnp.exp(-(((t - bump["center"]) / bump["width"]) ** 2))
    return jnp.mean((curve - y) ** 2)


# %% wrong: the square of the mean
# You squared the mean: square each difference first, then take the mean.
def loss(params, t, y):
    bump = params["bump"]
    curve = params["height"] * jnp.exp(-(((t - bump["center"]) / bump["width"]) ** 2))
    return jnp.mean(curve - y) ** 2


# %% wrong: no square in the exponent
# You left out the square in the exponent: it is -(z ** 2), the same on both sides of the center.
def loss(params, t, y):
    bump = params["bump"]
    curve = params["height"] * jnp.exp(-(t - bump["center"]) / bump["width"])
    return jnp.mean((curve - y) ** 2)


# %% wrong: no square around the width
# You squared the distance alone: divide by the width first, and square the quotient.
def loss(params, t, y):
    bump = params["bump"]
    curve = params["height"] * jnp.exp(-((t - bump["center"]) ** 2) / bump["width"])
    return jnp.mean((curve - y) ** 2)


# %% wrong: no square of the difference
# You took the mean of the differences: square each of them first.
def loss(params, t, y):
    bump = params["bump"]
    curve = params["height"] * jnp.exp(-(((t - bump["center"]) / bump["width"]) ** 2))
    return jnp.mean(curve - y)


# %% wrong: a root
# You took the square root of the mean: the loss is the mean itself.
def loss(params, t, y):
    bump = params["bump"]
    curve = params["height"] * jnp.exp(-(((t - bump["center"]) / bump["width"]) ** 2))
    return jnp.sqrt(jnp.mean((curve - y) ** 2))


# %% wrong: a sum
# You added the squares up: the loss is their mean.
def loss(params, t, y):
    bump = params["bump"]
    curve = params["height"] * jnp.exp(-(((t - bump["center"]) / bump["width"]) ** 2))
    return jnp.sum((curve - y) ** 2)


# %% wrong: the sign in the exponent
# Your curve grows away from the center: the minus sign stands before the square, -(z ** 2), for
# in (-z) ** 2 it is squared away.
def loss(params, t, y):
    bump = params["bump"]
    curve = params["height"] * jnp.exp(((t - bump["center"]) / bump["width"]) ** 2)
    return jnp.mean((curve - y) ** 2)


# %% wrong: no measurements
# You returned the mean of the curve's squares: subtract the measurements y first.
def loss(params, t, y):
    bump = params["bump"]
    curve = params["height"] * jnp.exp(-(((t - bump["center"]) / bump["width"]) ** 2))
    return jnp.mean(curve**2)


# %% wrong: the differences alone
# You returned the squared differences, one for each time: the loss is one number, their mean.
def loss(params, t, y):
    bump = params["bump"]
    curve = params["height"] * jnp.exp(-(((t - bump["center"]) / bump["width"]) ** 2))
    return (curve - y) ** 2


# %% wrong: nothing is returned
# Your function returns None: does it end in a return?
def loss(params, t, y):
    bump = params["bump"]
    curve = params["height"] * jnp.exp(-(((t - bump["center"]) / bump["width"]) ** 2))
    jnp.mean((curve - y) ** 2)
