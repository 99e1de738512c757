# The card of the exercise leaked_tracer. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 15

# %% [markdown] statement
# # Get a value out without a leak
#
# `step`, below, goes one step downhill, and its loss notes on the way how large the largest error
# is. But what it stores in the list are tracers. They have leaked: to use one is an
# `UnexpectedTracerError`.
#
# Write `pure_step(theta, x, y, lr)`, which returns two things: the new `theta`, and the largest
# error at the old one, `max |theta[0] * x + theta[1] - y|`, a number. For `theta = [1, 0]`, `x =
# [1, 2]`, `y = [1, 5]` and `lr = 0.1` these are `[1.6, 0.3]` and `3.0`.
#
# It must work under `jax.jit`, and no tracer may be left behind anywhere. You may write a loss of
# your own.
#
# Run this file, or `tinyjax check leaked_tracer`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp

worst = []


def loss(theta, x, y):
    """The mean squared error of a line; notes the largest error. Not pure."""
    errors = jnp.abs(theta[0] * x + theta[1] - y)
    worst.append(jnp.max(errors))
    return jnp.mean(errors**2)


def step(theta, x, y, lr):
    """One step of gradient descent."""
    return theta - lr * jax.grad(loss)(theta, x, y)


# %% stub
def pure_step(theta, x, y, lr):
    """The new theta, and the largest error at the old one."""
    raise NotImplementedError


# %% [markdown] hint
# The loss changes something outside of itself. How else could the largest error get out of it?

# %% [markdown] hint
# What changes goes out as a result. A loss may return a second thing beside its value if you tell
# `grad` with `has_aux=True` (chapter 01): then the gradient comes back as the first of a pair.

# %% [markdown] hint
#     def pure_loss(theta, x, y):
#         errors = ...
#         return jnp.mean(...), ...
#
#
#     def pure_step(theta, x, y, lr):
#         gradient, largest = jax.grad(pure_loss, has_aux=...)(theta, x, y)
#         return ..., ...

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax.learn import check

seconds = 30.0  # a kernel is compiled


def draw(rng):
    """Points that lie mostly above a random line: the largest error is mostly a negative one."""
    return {
        "theta": rng.normal(size=2).round(2).astype(np.float32),
        "x": rng.normal(0.5, 1.0, size=6).round(2).astype(np.float32),
        "y": rng.normal(4.0, 2.0, size=6).round(2).astype(np.float32),
        "lr": round(rng.uniform(0.05, 0.3), 3),
    }


@check("one step, as written")
def one_step(student, theta, x, y, lr):
    return student.pure_step(theta, x, y, lr)


@check("the largest error, compiled; then leaks are watched for", draw=draw, draws=1)
def compiled(student, theta, x, y, lr):
    largest = jax.jit(student.pure_step)(theta, x, y, lr)[1]
    with jax.checking_leaks():
        jax.make_jaxpr(lambda *args: student.pure_step(*args))(theta, x, y, lr)
    return largest


# %% reference
def pure_loss(theta, x, y):
    """The mean squared error of a line, and the largest error."""
    errors = jnp.abs(theta[0] * x + theta[1] - y)
    return jnp.mean(errors**2), jnp.max(errors)


def pure_step(theta, x, y, lr):
    """The new theta, and the largest error at the old one."""
    gradient, largest = jax.grad(pure_loss, has_aux=True)(theta, x, y)
    return theta - lr * gradient, largest


# %% right: computed a second time
def pure_step(theta, x, y, lr):
    def error(theta):
        return theta[0] * x + theta[1] - y

    gradient = jax.grad(lambda theta: jnp.mean(error(theta) ** 2))(theta)
    return theta - lr * gradient, jnp.max(jnp.abs(error(theta)))


# %% right: by hand, as lists
def pure_step(θ, x, y, lr):
    ε = θ[0] * x + θ[1] - y
    new = [θ[0] - lr * 2 * jnp.mean(ε * x), θ[1] - lr * 2 * jnp.mean(ε)]
    return [new, jnp.maximum(jnp.max(ε), -jnp.min(ε))]


# %% right: with value_and_grad, and a list of its own
def pure_step(theta, x, y, lr):
    def noted(theta):
        notes = []
        errors = theta[0] * x + theta[1] - y
        notes.append(jnp.max(jnp.abs(errors)))
        return jnp.mean(errors**2), notes

    (_, notes), gradient = jax.value_and_grad(noted, has_aux=True)(theta)
    return theta - lr * gradient, notes[0]


# %% right: with vjp, compiled
@jax.jit
def pure_step(theta, x, y, lr):
    errors, pullback = jax.vjp(lambda theta: theta[0] * x + theta[1] - y, theta)
    (gradient,) = pullback(2 * errors / x.size)
    return theta - lr * gradient, jnp.abs(errors).max()


# %% wrong: the last of the list
# You took the largest error from the list: what lies there is a tracer that has leaked.
def pure_step(theta, x, y, lr):
    new_theta = theta - lr * jax.grad(loss)(theta, x, y)
    return new_theta, worst[-1]


# %% wrong: returned and stored
# You return the largest error, but the loss on the way stores a tracer outside, and to clear the
# list later is too late: use a loss without the append.
def noted_loss(theta, x, y):
    errors = jnp.abs(theta[0] * x + theta[1] - y)
    worst.append(jnp.max(errors))
    return jnp.mean(errors**2), jnp.max(errors)


def pure_step(theta, x, y, lr):
    gradient, largest = jax.grad(noted_loss, has_aux=True)(theta, x, y)
    return theta - lr * gradient, largest


# %% wrong: at the new theta
# You computed the largest error at the new theta: it is that of the theta that came in.
def pure_step(theta, x, y, lr):
    def squares(theta):
        return jnp.mean((theta[0] * x + theta[1] - y) ** 2)

    theta = theta - lr * jax.grad(squares)(theta)
    return theta, jnp.max(jnp.abs(theta[0] * x + theta[1] - y))


# %% wrong: float
# float() asks for a number, but under jit there is none yet: return the array as it is.
def pure_step(theta, x, y, lr):
    def squares(theta):
        return jnp.mean((theta[0] * x + theta[1] - y) ** 2)

    largest = float(jnp.max(jnp.abs(theta[0] * x + theta[1] - y)))
    return theta - lr * jax.grad(squares)(theta), largest


# %% wrong: without has_aux
# Your loss returns a pair, and grad wants a number: tell it with has_aux=True.
def pair_loss(theta, x, y):
    errors = jnp.abs(theta[0] * x + theta[1] - y)
    return jnp.mean(errors**2), jnp.max(errors)


def pure_step(theta, x, y, lr):
    gradient, largest = jax.grad(pair_loss)(theta, x, y)
    return theta - lr * gradient, largest


# %% wrong: gradient and aux change places
# You unpacked the pair the wrong way round: with has_aux the gradient comes first.
def pair_loss(theta, x, y):
    errors = jnp.abs(theta[0] * x + theta[1] - y)
    return jnp.mean(errors**2), jnp.max(errors)


def pure_step(theta, x, y, lr):
    largest, gradient = jax.grad(pair_loss, has_aux=True)(theta, x, y)
    return theta - lr * gradient, largest


# %% wrong: the error with its sign
# You took the largest signed error: without its sign, a negative one may be the largest.
def pure_step(theta, x, y, lr):
    def signed_loss(theta):
        errors = theta[0] * x + theta[1] - y
        return jnp.mean(errors**2), jnp.max(errors)

    gradient, largest = jax.grad(signed_loss, has_aux=True)(theta)
    return theta - lr * gradient, largest


# %% wrong: the loss itself
# You returned the loss: asked for is the largest error.
def pure_step(theta, x, y, lr):
    def squares(theta):
        return jnp.mean((theta[0] * x + theta[1] - y) ** 2)

    value, gradient = jax.value_and_grad(squares)(theta)
    return theta - lr * gradient, value


# %% wrong: nothing moves
# You returned the theta that came in: take a step against the gradient.
def pure_step(theta, x, y, lr):
    return theta, jnp.max(jnp.abs(theta[0] * x + theta[1] - y))


# %% wrong: uphill
# You went uphill: the step is subtracted from theta.
def pure_step(theta, x, y, lr):
    def squares(theta):
        errors = jnp.abs(theta[0] * x + theta[1] - y)
        return jnp.mean(errors**2), jnp.max(errors)

    gradient, largest = jax.grad(squares, has_aux=True)(theta)
    return theta + lr * gradient, largest


# %% wrong: theta alone
# You returned the new theta alone: the largest error goes out beside it.
def pure_step(theta, x, y, lr):
    def squares(theta):
        return jnp.mean((theta[0] * x + theta[1] - y) ** 2)

    return theta - lr * jax.grad(squares)(theta)
