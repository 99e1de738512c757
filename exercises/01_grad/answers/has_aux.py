# The card of the exercise has_aux. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # The gradient, and what was left out
#
# A few points far off can spoil a fit. So leave them out, and say how many they were.
#
# Write `trimmed(model, w, x, y, limit)`. `model(w, x)` returns the predictions. A point counts when
# its error, prediction minus `y`, is at most `limit` in absolute value. The loss is the sum of the
# squares of the errors that count. Return three things: `(gradient, loss, left_out)`, where
# `gradient` is the derivative of the loss with respect to `w`, and `left_out` is the number of
# points that do not count.
#
# For `model = lambda w, x: w * x`, `w = 1.0`, `x = [1, 2, 3]`, `y = [0, 1, 9]` and `limit = 5.0`
# the errors are 1, 1 and -6. The last point is left out, and the result is `(6.0, 2.0, 1)`.
#
# The model is expensive: call it once.
#
# Run this file, or `tinyjax check has_aux`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def trimmed(model, w, x, y, limit):
    """The gradient of the trimmed loss, the loss, and how many points were left out."""
    raise NotImplementedError


# %% [markdown] hint
# `grad` differentiates one number. How does a function tell it that it returns something else
# besides?

# %% [markdown] hint
# Write an inner function of `w` that returns a pair: the loss, and the number of points left out.
# With `has_aux=True`, `value_and_grad` differentiates the first and passes the second on, so its
# result is `((loss, left_out), gradient)`. In the sum, `jnp.where` puts 0 in place of the squares
# that do not count.

# %% [markdown] hint
#     def trimmed(model, w, x, y, limit):
#         def loss(w):
#             errors = model(w, x) - y
#             counts = jnp.abs(errors) <= limit
#             return jnp.sum(jnp.where(counts, ..., ...)), ...
#
#         (..., ...), gradient = jax.value_and_grad(loss, has_aux=...)(w)
#         return ...

# %% checks
import numpy as np

import tinyjax.numpy as jnp
from tinyjax.learn import check


def draw(rng):
    """Points near a curve, some of them moved far up, others far down."""
    w = rng.uniform(0.5, 1.5, size=2).round(2)
    x = rng.uniform(-2.0, 2.0, size=8).round(2)
    far = rng.permutation([0, 0, 0, 0, 0, 9, 11, -10])
    errors = far + rng.choice([-1, 1], 8) * rng.uniform(0.3, 1.5, 8)
    return {
        "w": w.astype(np.float32),
        "x": x.astype(np.float32),
        "y": (w[0] * x + np.sin(w[1] * x) - errors).round(2).astype(np.float32),
        "limit": round(rng.uniform(3.0, 6.0), 1),
    }


def model(w, x):
    """A line and a wave."""
    return w[0] * x + jnp.sin(w[1] * x)


@check("gradient, loss and number")
def all_three(student, w, x, y, limit):
    return student.trimmed(model, w, x, y, limit)


@check("the model is called once")
def called_once(student, w, x, y, limit):
    calls = []

    def counted(w, x):
        calls.append(w)
        return model(w, x)

    gradient = student.trimmed(counted, w, x, y, limit)[0]
    return {"gradient": gradient, "calls of the model": len(calls)}


def draw_at_the_limit(rng):
    """Points whose errors are exact; two are at the limit, above and below, and one is beyond."""
    w = rng.integers(1, 5, size=2) / 2
    x = rng.permutation(np.arange(1, 7))
    limit = float(rng.integers(3, 7))
    errors = rng.permutation([limit, -limit, limit + 1.5, 0.5, -1.0, 1.5])
    return {
        "w": w.astype(np.float32),
        "x": x.astype(np.float32),
        "y": (w[0] * x + w[1] - errors).astype(np.float32),
        "limit": limit,
    }


@check("gradient and loss, with errors at the limit", draw=draw_at_the_limit)
def at_the_limit(student, w, x, y, limit):
    return student.trimmed(lambda w, x: w[0] * x + w[1], w, x, y, limit)[:2]


# %% reference
def trimmed(model, w, x, y, limit):
    """The gradient of the trimmed loss, the loss, and how many points were left out."""

    def loss(w):
        errors = model(w, x) - y
        counts = jnp.abs(errors) <= limit
        return jnp.sum(jnp.where(counts, errors**2, 0.0)), jnp.sum(~counts)

    (value, left_out), gradient = jax.value_and_grad(loss, has_aux=True)(w)
    return gradient, value, left_out


# %% right: everything passed along
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        squares = (errors * (jnp.abs(errors) <= limit)) ** 2
        return squares.sum(), errors

    gradient, errors = jax.grad(loss, has_aux=True)(w)
    kept = errors[jnp.abs(errors) <= limit]
    return gradient, kept @ kept, errors.size - kept.size


# %% right: a pullback of the predictions
def trimmed(model, w, x, y, limit):
    predictions, pullback = jax.vjp(lambda w: model(w, x), w)
    errors = predictions - y
    kept = jnp.where(jnp.abs(errors) <= limit, errors, 0.0)
    (gradient,) = pullback(2 * kept)
    return gradient, (kept**2).sum(), jnp.count_nonzero(jnp.abs(errors) > limit)


# %% right: in forward mode
def trimmed(model, w, x, y, limit):
    def loss(w):
        δ = model(w, x) - y
        inside = jnp.logical_and(δ <= limit, δ >= -limit)
        total = jnp.sum(δ * δ, where=inside)
        return total, {"loss": total, "left out": len(x) - inside.sum()}

    gradient, report = jax.jacfwd(loss, has_aux=True)(w)
    return gradient, report["loss"], report["left out"]


# %% wrong: the model is called again
# You called the model again to count: let the loss return the number as well, with has_aux=True.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        return jnp.sum(jnp.where(jnp.abs(errors) <= limit, errors**2, 0.0))

    value, gradient = jax.value_and_grad(loss)(w)
    return gradient, value, jnp.sum(jnp.abs(model(w, x) - y) > limit)


# %% wrong: three calls
# You called the model three times: value_and_grad with has_aux=True needs one call for everything.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        return jnp.sum(jnp.where(jnp.abs(errors) <= limit, errors**2, 0.0))

    return jax.grad(loss)(w), loss(w), jnp.sum(jnp.abs(model(w, x) - y) > limit)


# %% wrong: has_aux is missing
# You returned a pair without saying has_aux=True: then grad takes the pair for the loss.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        counts = jnp.abs(errors) <= limit
        return jnp.sum(jnp.where(counts, errors**2, 0.0)), jnp.sum(~counts)

    (value, left_out), gradient = jax.value_and_grad(loss)(w)
    return gradient, value, left_out


# %% wrong: the pair the wrong way round
# You put the number first: has_aux differentiates the first of the pair, so that is the loss.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        counts = jnp.abs(errors) <= limit
        return jnp.sum(~counts), jnp.sum(jnp.where(counts, errors**2, 0.0))

    (left_out, value), gradient = jax.value_and_grad(loss, has_aux=True)(w)
    return gradient, value, left_out


# %% wrong: the result taken apart the wrong way
# You took the gradient first: value_and_grad returns ((loss, aux), gradient).
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        counts = jnp.abs(errors) <= limit
        return jnp.sum(jnp.where(counts, errors**2, 0.0)), jnp.sum(~counts)

    gradient, (value, left_out) = jax.value_and_grad(loss, has_aux=True)(w)
    return gradient, value, left_out


# %% wrong: returned as it comes
# You returned the result of value_and_grad as it comes, ((loss, aux), gradient): take it apart, and
# return the three in the order gradient, loss, number of points left out.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        counts = jnp.abs(errors) <= limit
        return jnp.sum(jnp.where(counts, errors**2, 0.0)), jnp.sum(~counts)

    return jax.value_and_grad(loss, has_aux=True)(w)


# %% wrong: less than the limit
# You left out errors that are as large as the limit: those at most `limit` count, so compare
# with <=.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        counts = jnp.abs(errors) < limit
        return jnp.sum(jnp.where(counts, errors**2, 0.0)), jnp.sum(~counts)

    (value, left_out), gradient = jax.value_and_grad(loss, has_aux=True)(w)
    return gradient, value, left_out


# %% wrong: the loss first
# You returned the loss first: the order is gradient, loss, number of points left out.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        counts = jnp.abs(errors) <= limit
        return jnp.sum(jnp.where(counts, errors**2, 0.0)), jnp.sum(~counts)

    (value, left_out), gradient = jax.value_and_grad(loss, has_aux=True)(w)
    return value, gradient, left_out


# %% wrong: through the back door
# You carried the loss out by a side effect: that value belongs to the derivative and is no number.
def trimmed(model, w, x, y, limit):
    seen = {}

    def loss(w):
        errors = model(w, x) - y
        counts = jnp.abs(errors) <= limit
        seen["loss"] = jnp.sum(jnp.where(counts, errors**2, 0.0))
        return seen["loss"], jnp.sum(~counts)

    gradient, left_out = jax.grad(loss, has_aux=True)(w)
    return gradient, seen["loss"], left_out


# %% wrong: those that stay are counted
# You counted the points that stay: left_out is the number of the others.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        counts = jnp.abs(errors) <= limit
        return jnp.sum(jnp.where(counts, errors**2, 0.0)), jnp.sum(counts)

    (value, stay), gradient = jax.value_and_grad(loss, has_aux=True)(w)
    return gradient, value, stay


# %% wrong: one side only
# You left out large positive errors only: take the absolute value before you compare.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        counts = errors <= limit
        return jnp.sum(jnp.where(counts, errors**2, 0.0)), jnp.sum(~counts)

    (value, left_out), gradient = jax.value_and_grad(loss, has_aux=True)(w)
    return gradient, value, left_out


# %% wrong: nothing is left out
# You counted the points but left none out of the loss: their squares must not be in the sum.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        return jnp.sum(errors**2), jnp.sum(jnp.abs(errors) > limit)

    (value, left_out), gradient = jax.value_and_grad(loss, has_aux=True)(w)
    return gradient, value, left_out


# %% wrong: the mean
# You took the mean of the squares: the loss is their sum.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        counts = jnp.abs(errors) <= limit
        return jnp.mean(jnp.where(counts, errors**2, 0.0)), jnp.sum(~counts)

    (value, left_out), gradient = jax.value_and_grad(loss, has_aux=True)(w)
    return gradient, value, left_out


# %% wrong: the absolute errors
# You summed the absolute errors: the loss is the sum of their squares.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = jnp.abs(model(w, x) - y)
        counts = errors <= limit
        return jnp.sum(jnp.where(counts, errors, 0.0)), jnp.sum(~counts)

    (value, left_out), gradient = jax.value_and_grad(loss, has_aux=True)(w)
    return gradient, value, left_out


# %% wrong: cut off in place of left out
# You cut large errors off at the limit: a point that does not count adds nothing to the sum.
def trimmed(model, w, x, y, limit):
    def loss(w):
        errors = model(w, x) - y
        cut = jnp.clip(errors, -limit, limit)
        return jnp.sum(cut**2), jnp.sum(jnp.abs(errors) > limit)

    (value, left_out), gradient = jax.value_and_grad(loss, has_aux=True)(w)
    return gradient, value, left_out
