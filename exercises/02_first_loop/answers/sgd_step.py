# The card of the exercise sgd_step. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 15

# %% [markdown] statement
# # One step of gradient descent
#
# Chapter 02 fits a line `w * x + b` to points by walking downhill: every step moves
# `theta = [w, b]` a little against the gradient of the loss.
#
# Write that step. `theta` is an array of two numbers, `x` and `y` hold the points, and
# `lr`, the learning rate, says how far to go. Return the new theta.
#
# For `theta = [1, 0]`, one point with `x = [2]` and `y = [5]`, and `lr = 0.1` the gradient is
# `[-12, -6]`, and the new theta is `[2.2, 0.6]`.
#
# Run this file, or `tinyjax check sgd_step`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


def loss(theta, x, y):
    """The mean squared error of the line on the points."""
    w, b = theta
    return jnp.mean((w * x + b - y) ** 2)


# %% stub
def sgd_step(theta, x, y, lr):
    """One step of gradient descent on `loss`: the new theta."""
    raise NotImplementedError


# %% [markdown] hint
# Which function gives you the direction in which the loss grows fastest, and which way do
# you want to go?

# %% [markdown] hint
# `jax.grad(loss)` is a function with the arguments of `loss`. It differentiates with respect
# to the first one, so it returns an array shaped like `theta`. The step goes against it.

# %% [markdown] hint
#     def sgd_step(theta, x, y, lr):
#         g = jax.grad(loss)(..., ..., ...)
#         return theta - ...

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax.learn import check

seconds = 30.0  # the check under jit compiles a kernel


def draw(rng):
    """A random line, points that lie nowhere near it, and a learning rate."""
    return {
        "theta": rng.normal(size=2).round(2).astype(np.float32),
        "x": rng.normal(1.0, 1.0, size=5).round(2).astype(np.float32),
        "y": rng.normal(size=5).round(2).astype(np.float32),
        "lr": round(rng.uniform(0.02, 0.3), 3),
    }


@check("one step from a random theta")
def one_step(student, theta, x, y, lr):
    return student.sgd_step(theta, x, y, lr)


def draw_centred(rng):
    """The same with points whose x have the mean 0."""
    x = rng.uniform(0.3, 2.0, size=2).round(2)
    return draw(rng) | {"x": rng.permutation([*x, *-x, 0.0]).astype(np.float32)}


@check("the same step inside jit", draw=draw_centred)
def inside_jit(student, theta, x, y, lr):
    return {
        "as written": student.sgd_step(theta, x, y, lr),
        "compiled": jax.jit(student.sgd_step)(theta, x, y, lr),
    }


# %% reference
def sgd_step(theta, x, y, lr):
    """One step of gradient descent on `loss`: the new theta."""
    return theta - lr * jax.grad(loss)(theta, x, y)


# %% right: with value_and_grad
def sgd_step(theta, x, y, lr):
    _, gradient = jax.value_and_grad(loss)(theta, x, y)
    return theta + (-lr) * gradient


# %% right: in forward mode
def sgd_step(theta, x, y, lr):
    return theta - lr * jax.jacfwd(loss)(theta, x, y)


# %% right: by hand, as a tuple
def sgd_step(theta, x, y, lr):
    w, b = theta
    error = w * x + b - y
    return w - lr * 2 * jnp.mean(error * x), b - lr * 2 * jnp.mean(error)


# %% right: one derivative at a time
def sgd_step(theta, x, y, lr):
    slope_w = jax.grad(lambda w: loss((w, theta[1]), x, y))(theta[0])
    slope_b = jax.grad(lambda b: loss((theta[0], b), x, y))(theta[1])
    return jnp.stack([theta[0] - lr * slope_w, theta[1] - lr * slope_b])


# %% right: a class with __call__ and a unicode name
class Step:
    def __call__(self, θ, x, y, lr):
        return θ - lr * jax.grad(loss)(θ, x, y)


sgd_step = Step()


# %% wrong: uphill
# You went uphill: the gradient points to where the loss grows, so the step subtracts it.
def sgd_step(theta, x, y, lr):
    return theta + lr * jax.grad(loss)(theta, x, y)


# %% wrong: no learning rate
# You took the whole gradient as the step: scale it by the learning rate lr.
def sgd_step(theta, x, y, lr):
    return theta - jax.grad(loss)(theta, x, y)


# %% wrong: a fixed learning rate
# You used a learning rate of your own: the step must use the lr that it is given.
def sgd_step(theta, x, y, lr):
    return theta - 0.1 * jax.grad(loss)(theta, x, y)


# %% wrong: the loss in place of its gradient
# You subtracted the loss itself: a step needs its derivative, jax.grad(loss).
def sgd_step(theta, x, y, lr):
    return theta - lr * loss(theta, x, y)


# %% wrong: the gradient alone
# You returned the gradient: the new theta is the old theta minus lr times the gradient.
def sgd_step(theta, x, y, lr):
    return jax.grad(loss)(theta, x, y)


# %% wrong: the step alone
# You returned only the change: add it to the theta you came from.
def sgd_step(theta, x, y, lr):
    return -lr * jax.grad(loss)(theta, x, y)


# %% wrong: what is to be subtracted
# You returned what is to be subtracted: the new theta is the old theta minus lr times the gradient.
def sgd_step(theta, x, y, lr):
    return lr * jax.grad(loss)(theta, x, y)


# %% wrong: with respect to x
# You differentiated with respect to x: the data stay, it is theta (argument 0) that moves.
def sgd_step(theta, x, y, lr):
    return x - lr * jax.grad(loss, argnums=1)(theta, x, y)


# %% wrong: theta minus the derivative with respect to x
# You differentiated with respect to x: its gradient has one entry per point, and theta has two.
def sgd_step(theta, x, y, lr):
    return theta - lr * jax.grad(loss, argnums=1)(theta, x, y)


# %% wrong: a sum in place of the mean
# You took the gradient of the sum of the squared errors: the loss is their mean.
def sgd_step(theta, x, y, lr):
    return theta - lr * x.size * jax.grad(loss)(theta, x, y)


# %% wrong: half the gradient
# You took half of the gradient: the derivative of error**2 is 2 * error.
def sgd_step(theta, x, y, lr):
    return theta - lr * jax.grad(loss)(theta, x, y) / 2


# %% wrong: only w moves
# You moved w only: b is a part of theta, too, and takes a step of its own.
def sgd_step(theta, x, y, lr):
    g = jax.grad(loss)(theta, x, y)
    return jnp.stack([theta[0] - lr * g[0], theta[1]])


# %% wrong: only b moves
# You moved b only: w is a part of theta, too, and takes a step of its own.
def sgd_step(theta, x, y, lr):
    g = jax.grad(loss)(theta, x, y)
    return jnp.stack([theta[0], theta[1] - lr * g[1]])


# %% wrong: one after the other
# You moved w first and took b's gradient at the new w: both gradients belong to the old theta.
def sgd_step(theta, x, y, lr):
    w = theta[0] - lr * jax.grad(loss)(theta, x, y)[0]
    b = theta[1] - lr * jax.grad(loss)((w, theta[1]), x, y)[1]
    return jnp.stack([w, b])


# %% wrong: nothing moves
# You returned the theta that came in: nothing has moved.
def sgd_step(theta, x, y, lr):
    return theta


# %% wrong: nothing is returned
# You returned nothing: does your function end in a return?
def sgd_step(theta, x, y, lr):
    theta = theta - lr * jax.grad(loss)(theta, x, y)


# %% wrong: Python floats
# You asked for a number with float(): inside jit there is none yet, so keep to jnp operations.
def sgd_step(theta, x, y, lr):
    g = jax.grad(loss)(theta, x, y)
    return jnp.array([theta[0] - lr * float(g[0]), theta[1] - lr * float(g[1])])


# %% wrong: in place
# You wrote into an array: arrays are immutable, so build a new theta: theta - lr * gradient.
def sgd_step(theta, x, y, lr):
    g = jax.grad(loss)(theta, x, y)
    theta[0] -= lr * g[0]
    theta[1] -= lr * g[1]
    return theta


# %% wrong: the best line at once
# You went to the best line at once, with polyfit: one step of length lr from theta is wanted.
import numpy as np


def sgd_step(theta, x, y, lr):
    return jnp.array(np.polyfit(np.asarray(x), np.asarray(y), 1))


# %% wrong: several steps
# You took several steps: the function is a single one, and the loop is around it.
def sgd_step(theta, x, y, lr):
    for _ in range(3):
        theta = theta - lr * jax.grad(loss)(theta, x, y)
    return theta


# %% wrong: to the zero of the gradient
# You divided by the second derivative, as Newton's method does: the step is lr times the gradient.
def sgd_step(theta, x, y, lr):
    gradient = jax.grad(loss)(theta, x, y)
    return theta - lr * jnp.linalg.solve(jax.hessian(loss)(theta, x, y), gradient)


# %% wrong: the length of the step alone
# You made every step lr long: the step is lr times the gradient, which shrinks by itself.
def sgd_step(theta, x, y, lr):
    gradient = jax.grad(loss)(theta, x, y)
    return theta - lr * gradient / jnp.linalg.norm(gradient)
