# The card of the exercise value_and_grad. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 15

# %% [markdown] statement
# # The tangent
#
# The tangent of `f` at `x` is the straight line that touches the curve there. At `t` its height is
# `f(x) + f'(x) * (t - x)`.
#
# Write `tangent(f, x)`: it returns this line, as a function of `t`. For `f = lambda x: x**2` and
# `x = 3.0` the line has the height 9 at 3 and 15 at 4.
#
# Say that `f` is expensive. So `f` must be called exactly once, at `x`, however often the line is
# used.
#
# Run this file, or `tinyjax check value_and_grad`, to see whether it is right.

# %% given
import tinyjax as jax


# %% stub
def tangent(f, x):
    """The tangent of `f` at `x`, a function of `t`."""
    raise NotImplementedError


# %% [markdown] hint
# The line needs two numbers from `f`. Which function gives you both in one call?

# %% [markdown] hint
# `jax.value_and_grad(f)(x)` is a pair, the value first. Take it apart before you define the line:
# what is computed inside the line is computed again for every `t`.

# %% [markdown] hint
#     def tangent(f, x):
#         ..., ... = jax.value_and_grad(f)(x)
#
#         def line(t):
#             return ... + ... * (t - x)
#
#         return line

# %% checks
import tinyjax.numpy as jnp
from tinyjax.learn import check


def draw(rng):
    """A polynomial, a point, and three places at some distance from it."""
    x = round(rng.uniform(0.5, 1.5), 2)
    return {
        "coefficients": [float(c) for c in rng.uniform(0.5, 2.5, size=4).round(2)],
        "x": x,
        "ts": [round(x + d, 2) for d in (-rng.uniform(2, 4), rng.uniform(1, 2), rng.uniform(3, 5))],
    }


def value(coefficients, x):
    """The polynomial at x."""
    return sum(c * jnp.power(x, k) for k, c in enumerate(coefficients))


@check("the height of the line")
def height(student, coefficients, x, ts):
    line = student.tangent(lambda x: value(coefficients, x), x)
    return [line(t) for t in ts]


@check("f is called once")
def called_once(student, coefficients, x, ts):
    sizes = []

    def f(point):
        sizes.append(jnp.size(point))
        return value(coefficients, point)

    line = student.tangent(f, x)
    for t in ts:
        line(t)
    return {"where they touch": line(x), "points f was asked for": sum(sizes)}


# %% reference
def tangent(f, x):
    """The tangent of `f` at `x`, a function of `t`."""
    value, slope = jax.value_and_grad(f)(x)
    return lambda t: value + slope * (t - x)


# %% right: in forward mode
def tangent(f, x):
    value, slope = jax.jvp(f, (x,), (1.0,))
    return lambda t: value + slope * (t - x)


# %% right: a class with __call__
class Line:
    def __init__(self, ƒ, ξ):
        self.y, pull = jax.vjp(ƒ, ξ)
        (self.slope,) = pull(self.y * 0 + 1.0)
        self.height_at_0 = self.y - self.slope * ξ

    def __call__(self, t):
        return self.height_at_0 + self.slope * t


tangent = Line


# %% right: linearize
def tangent(f, x):
    value, push = jax.linearize(f, x)
    return lambda t: value + push(t - x)


# %% right: the value passed along
def tangent(f, x):
    def twice(x):
        y = f(x)
        return y, y

    slope, value = jax.grad(twice, has_aux=True)(x)
    return lambda t: value + slope * (t - x)


# %% wrong: called twice
# You called f twice, for the value and for the slope: value_and_grad returns both from one call.
def tangent(f, x):
    value, slope = f(x), jax.grad(f)(x)
    return lambda t: value + slope * (t - x)


# %% wrong: for every t again
# You asked for value and slope inside the line: then f is called again for every t.
def tangent(f, x):
    def line(t):
        value, slope = jax.value_and_grad(f)(x)
        return value + slope * (t - x)

    return line


# %% wrong: the formula as printed
# You wrote the formula inside the line, so each use of the line calls f twice, for the value and
# for the slope: ask for both before, with one value_and_grad.
def tangent(f, x):
    return lambda t: f(x) + jax.grad(f)(x) * (t - x)


# %% wrong: the slope before, the value inside
# You call f inside the line, so each use of the line calls it again: take the value from
# value_and_grad, together with the slope.
def tangent(f, x):
    slope = jax.grad(f)(x)
    return lambda t: f(x) + slope * (t - x)


# %% wrong: the curve itself
# You returned the height of the curve at t: the tangent is a straight line, made from the value and
# the slope at x.
def tangent(f, x):
    return lambda t: f(t)


# %% wrong: the gradient first
# You took the first of the pair for the slope: value_and_grad returns the value first.
def tangent(f, x):
    slope, value = jax.value_and_grad(f)(x)
    return lambda t: value + slope * (t - x)


# %% wrong: t in place of the distance
# You multiplied the slope by t: the line starts at x, so multiply by the distance t - x.
def tangent(f, x):
    value, slope = jax.value_and_grad(f)(x)
    return lambda t: value + slope * t


# %% wrong: the distance the wrong way round
# You have the distance the wrong way round: it is t - x, positive to the right of x.
def tangent(f, x):
    value, slope = jax.value_and_grad(f)(x)
    return lambda t: value + slope * (x - t)


# %% wrong: no value
# You left out the height at x: the line goes through f(x), not through 0.
def tangent(f, x):
    _, slope = jax.value_and_grad(f)(x)
    return lambda t: slope * (t - x)


# %% wrong: a level line
# You drew a level line: the slope is missing.
def tangent(f, x):
    value, _ = jax.value_and_grad(f)(x)
    return lambda t: value


# %% wrong: the slope at t
# You took the slope at t: the tangent keeps the slope that f has at x.
def tangent(f, x):
    value = f(x)
    return lambda t: value + jax.grad(f)(t) * (t - x)


# %% wrong: the pair itself
# You returned the two numbers: a function of t is wanted.
def tangent(f, x):
    return jax.value_and_grad(f)(x)


# %% wrong: a difference quotient
# You took the slope from f nearby: that is a secant, and costs more of f. Use value_and_grad.
def tangent(f, x):
    h = 0.05
    slope = (f(x + h) - f(x - h)) / (2 * h)
    value = f(x)
    return lambda t: value + slope * (t - x)


# %% wrong: the answer for the example
# You wrote the tangent of x**2, the function in the example: f can be any function.
def tangent(f, x):
    return lambda t: x**2 + 2 * x * (t - x)
