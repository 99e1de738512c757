# The card of the exercise argnums. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 10

# %% [markdown] statement
# # When the data come first
#
# `jax.grad` differentiates with respect to the first argument. Not every function has its
# parameters there.
#
# Write `gradients(loss, x, y, w, b)`. `loss(x, y, w, b)` returns one number; `x` and `y` are the
# data, `w` and `b` the parameters. Return the pair `(dw, db)`: the derivative of the loss with
# respect to `w`, and the one with respect to `b`. Each has the shape of its parameter.
#
# For `loss = lambda x, y, w, b: w**2 * x + 3 * b + y`, the result of
# `gradients(loss, 2.0, 0.0, 5.0, 1.0)` is `(20.0, 3.0)`.
#
# Run this file, or `tinyjax check argnums`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def gradients(loss, x, y, w, b):
    """The derivatives of `loss(x, y, w, b)` with respect to `w` and to `b`."""
    raise NotImplementedError


# %% [markdown] hint
# Python counts the arguments of `loss` from 0. Which numbers do `w` and `b` have?

# %% [markdown] hint
# `jax.grad(loss, argnums=...)` differentiates with respect to the arguments you name. A tuple of
# numbers gives a tuple of derivatives, in the same order. The function you get takes all the
# arguments of `loss`, in their old places.

# %% [markdown] hint
#     def gradients(loss, x, y, w, b):
#         return jax.grad(loss, argnums=(..., ...))(...)

# %% checks
import numpy as np

import tinyjax.numpy as jnp
from tinyjax.learn import check


def draw(rng):
    """Data, two numbers as parameters, and the coefficients of a loss."""
    return {
        "x": rng.uniform(0.5, 2.0, size=4).round(2).astype(np.float32),
        "y": rng.normal(size=4).round(2).astype(np.float32),
        "w": round(rng.uniform(0.2, 1.2), 2),
        "b": round(rng.uniform(-1.2, -0.2), 2),
        "coefficients": [float(c) for c in rng.uniform(0.5, 2.0, size=3).round(2)],
    }


def draw_array(rng):
    """The same with an array of three weights."""
    return draw(rng) | {"w": rng.uniform(-1.0, 1.0, size=3).round(2).astype(np.float32)}


@check("two numbers as parameters")
def two_numbers(student, x, y, w, b, coefficients):
    c, d, e = coefficients

    def loss(x, y, w, b):
        errors = c * jnp.sin(w) * x + d * jnp.exp(b) * x**2 + e * w * b - y
        return 5000.0 + jnp.mean(jnp.asarray(errors, jnp.float32) ** 2)

    return student.gradients(loss, x, y, w, b)


@check("the derivative has the shape of w", draw=draw_array)
def an_array(student, x, y, w, b, coefficients):
    c, d, e = coefficients

    def loss(x, y, w, b):
        predictions = c * w[0] * x + d * w[1] * w[2] * x**2 + e * b
        return jnp.mean((predictions - y) ** 2)

    return student.gradients(loss, x, y, w, b)[0]


# %% reference
def gradients(loss, x, y, w, b):
    """The derivatives of `loss(x, y, w, b)` with respect to `w` and to `b`."""
    return jax.grad(loss, argnums=(2, 3))(x, y, w, b)


# %% right: one after the other
def gradients(loss, x, y, w, b):
    dw = jax.grad(loss, argnums=2)
    db = jax.grad(loss, 3)
    return dw(x, y, w, b), db(x, y, w, b)


# %% right: the parameters in one dict
def gradients(loss, x, y, w, b):
    def of_parameters(parameters):
        return loss(x, y, parameters["w"], parameters["b"])

    both = jax.grad(of_parameters)({"w": w, "b": b})
    return [both["w"], both["b"]]


# %% right: functions of one argument
def gradients(loss, x, y, w, b):
    dw = jax.grad(lambda ω: loss(x, y, ω, b))(w)
    db = jax.grad(lambda β: loss(x, y, w, β))(b)
    return dw, db


# %% right: in forward mode
def gradients(loss, x, y, w, b):
    return jax.jacfwd(loss, argnums=(2, 3))(x, y, w, b)


# %% right: all four, and two of them are kept
def gradients(loss, *arguments):
    return jax.grad(loss, argnums=tuple(range(4)))(*arguments)[2:]


# %% right: a pullback
def gradients(loss, x, y, w, b):
    value, pullback = jax.vjp(lambda w, b: loss(x, y, w, b), w, b)
    return pullback(jnp.ones_like(value))


# %% wrong: the first argument
# You differentiated with respect to x: without argnums it is the first argument.
def gradients(loss, x, y, w, b):
    return jax.grad(loss)(x, y, w, b)


# %% wrong: the data
# You differentiated with respect to the data: arguments 0 and 1 are x and y.
def gradients(loss, x, y, w, b):
    return jax.grad(loss, argnums=(0, 1))(x, y, w, b)


# %% wrong: exchanged
# You exchanged the two: first the derivative with respect to w, then the one with respect to b.
def gradients(loss, x, y, w, b):
    return jax.grad(loss, argnums=(3, 2))(x, y, w, b)


# %% wrong: counted from one
# You counted the arguments from 1: they are counted from 0, so w is number 2.
def gradients(loss, x, y, w, b):
    return jax.grad(loss, argnums=(3, 4))(x, y, w, b)


# %% wrong: y and w
# You differentiated with respect to y and w: they have the numbers 1 and 2, but w and b are wanted.
def gradients(loss, x, y, w, b):
    return jax.grad(loss, argnums=(1, 2))(x, y, w, b)


# %% wrong: w alone
# You differentiated with respect to w alone: name both arguments in a tuple.
def gradients(loss, x, y, w, b):
    return jax.grad(loss, argnums=2)(x, y, w, b)


# %% wrong: the sum of the pair
# You added the two derivatives: they are a pair, one for w and one for b.
def gradients(loss, x, y, w, b):
    dw, db = jax.grad(loss, argnums=(2, 3))(x, y, w, b)
    return dw + db


# %% wrong: w twice
# You took the derivative with respect to w twice: the second one belongs to b.
def gradients(loss, x, y, w, b):
    dw = jax.grad(loss, argnums=2)(x, y, w, b)
    return dw, dw


# %% wrong: the arguments in a new order
# You changed the order of the arguments: argnums chooses, and loss still takes x and y first.
def gradients(loss, x, y, w, b):
    return jax.grad(loss, argnums=(0, 1))(w, b, x, y)


# %% wrong: the value as well
# You returned the value of the loss as well: here the derivatives alone are wanted.
def gradients(loss, x, y, w, b):
    return jax.value_and_grad(loss, argnums=(2, 3))(x, y, w, b)


# %% wrong: stacked
# You put both into one array: they are a pair, since each has the shape of its own parameter.
def gradients(loss, x, y, w, b):
    return jnp.stack(jax.grad(loss, argnums=(2, 3))(x, y, w, b))


# %% wrong: a function
# You returned the function of derivatives: call it on x, y, w and b.
def gradients(loss, x, y, w, b):
    return jax.grad(loss, argnums=(2, 3))


# %% wrong: a difference quotient
# You took a difference quotient: in 32 bits its digits cancel, and grad has no such step.
def gradients(loss, x, y, w, b):
    h = 0.01
    dw = (loss(x, y, w + h, b) - loss(x, y, w - h, b)) / (2 * h)
    db = (loss(x, y, w, b + h) - loss(x, y, w, b - h)) / (2 * h)
    return dw, db


# %% wrong: the answer for the example
# You wrote down the derivatives of the example: the function must work for every loss.
def gradients(loss, x, y, w, b):
    return 2 * w * x, 3.0
