# The card of the exercise newton_step. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 10

# %% [markdown] statement
# # Value and slope from one run
#
# Newton's method looks for a zero of `f`: from `x` it goes to `x - f(x) / f'(x)`, again and again.
#
# Write one such step. `newton_step(f, x)` returns the new `x`. It calls `f` **once**: the value and
# the derivative come out of the same run.
#
# `x` is a number, or an array. An array holds several starting points, each of which takes a step
# of its own; `f` works element by element then. For `f = lambda x: x * x - 2.0` and `x = 1.0` the
# result is 1.5.
#
# Run this file, or `tinyjax check newton_step`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def newton_step(f, x):
    """x - f(x) / f'(x), for a number or for each element of an array."""
    raise NotImplementedError


# %% [markdown] hint
# Which function of JAX returns a value and a tangent, and which tangent of `x` makes the tangent of
# the result the derivative?

# %% [markdown] hint
# `jax.jvp(f, (x,), (t,))` returns `f(x)` and the speed at which it changes. If x changes at the
# speed 1, this is the derivative. For an array, let every element change at the speed 1: each
# element of the result depends on one of them only.

# %% [markdown] hint
#     def newton_step(f, x):
#         value, slope = jax.jvp(f, (x,), (...,))
#         return x - ...

# %% checks
import numpy as np

import tinyjax.numpy as jnp
from tinyjax.learn import check


def draw(rng):
    """The coefficients of a polynomial, and a point where it is steep."""
    return {
        "coefficients": [round(float(c), 2) for c in rng.uniform(0.5, 2.0, size=4)],
        "x": round(rng.uniform(0.6, 1.4), 2),
    }


def draw_points(rng):
    """The same for several points."""
    n = int(rng.integers(2, 5))
    return draw(rng) | {"x": rng.uniform(0.6, 1.4, size=n).round(2).astype(np.float32)}


def polynomial(coefficients, calls):
    """A polynomial, which writes down when it is called."""

    def f(x):
        calls.append("called")
        return sum(c * x**k for k, c in enumerate(coefficients))

    return f


@check("one step from a number")
def number(student, coefficients, x):
    calls = []
    new = student.newton_step(polynomial(coefficients, calls), jnp.asarray(x))
    return {"new x": new, "calls of f": len(calls)}


@check("several points at once", draw=draw_points)
def points(student, coefficients, x):
    return student.newton_step(polynomial(coefficients, []), x)


# %% reference
def newton_step(f, x):
    """x - f(x) / f'(x), for a number or for each element of an array."""
    value, slope = jax.jvp(f, (x,), (jnp.ones_like(x),))
    return x - value / slope


# %% right: linearized
def newton_step(f, x):
    value, push = jax.linearize(f, x)
    return x - value / push(jnp.ones_like(x))


# %% right: backwards
def newton_step(f, x):
    y, pull = jax.vjp(f, x)
    (slope,) = pull(jnp.ones_like(y))
    return x - y / slope


# %% right: a class, compiled, and unicode names
class Newton:
    def __call__(self, f, ξ):
        @jax.jit
        def schritt(ξ):
            y, ẏ = jax.jvp(f, [ξ], [ξ * 0 + 1])
            return (ξ * ẏ - y) / ẏ

        return schritt(ξ)


newton_step = Newton()


# %% wrong: two runs
# You called f more than once: `jax.jvp` returns the value together with the tangent.
def newton_step(f, x):
    slope = jax.jvp(f, (x,), (jnp.ones_like(x),))[1]
    return x - f(x) / slope


# %% wrong: grad
# You took `jax.grad`, which needs a function with one number as its result: for an array of points
# use `jax.jvp`.
def newton_step(f, x):
    value, slope = jax.value_and_grad(f)(x)
    return x - value / slope


# %% wrong: the first point only
# You moved only the first element: let each element change at the speed 1, then each slope is
# there.
def newton_step(f, x):
    t = jnp.zeros_like(x)
    t = t.at[0].set(1.0) if t.ndim else t + 1.0
    value, slope = jax.jvp(f, (x,), (t,))
    return x - value / jnp.where(slope == 0, 1.0, slope)


# %% wrong: one tangent for all points
# You pushed a single number: the tangent must have the shape of x, with a 1 for each element.
def newton_step(f, x):
    value, slope = jax.jvp(f, (x,), (1.0,))
    return x - value / slope


# %% wrong: plus
# You added the quotient: the zero lies the other way, so subtract it.
def newton_step(f, x):
    value, slope = jax.jvp(f, (x,), (jnp.ones_like(x),))
    return x + value / slope


# %% wrong: slope by value
# You divided the slope by the value: it is the value divided by the slope.
def newton_step(f, x):
    value, slope = jax.jvp(f, (x,), (jnp.ones_like(x),))
    return x - slope / value


# %% wrong: a step of gradient descent
# You went down the slope: that looks for a minimum. Newton's step is the value divided by the
# slope.
def newton_step(f, x):
    value, slope = jax.jvp(f, (x,), (jnp.ones_like(x),))
    return x - slope


# %% wrong: x as the tangent
# You pushed x itself, so that you got x times the derivative: the tangent must be 1.
def newton_step(f, x):
    value, slope = jax.jvp(f, (x,), (x,))
    return x - value / slope


# %% wrong: the step alone
# You returned only how far to go: subtract it from x.
def newton_step(f, x):
    value, slope = jax.jvp(f, (x,), (jnp.ones_like(x),))
    return value / slope


# %% wrong: many steps
# You went on until the end: the exercise asks for one step.
def newton_step(f, x):
    for _ in range(30):
        value, slope = jax.jvp(f, (x,), (jnp.ones_like(x),))
        x = x - value / slope
    return x


# %% wrong: a small difference
# You took a small step for the slope, which loses digits and calls f more often: push a tangent.
def newton_step(f, x):
    h = 1e-3
    value = f(x)
    return x - value / ((f(x + h) - value) / h)


# %% wrong: the result of jvp is not taken apart
# You used the pair that `jax.jvp` returns as if it were one number: take value and tangent apart.
def newton_step(f, x):
    pair = jax.jvp(f, (x,), (jnp.ones_like(x),))
    return x - pair[0] / jnp.stack(pair)


# %% wrong: nothing is returned
# Your function returns None: does it end in a return?
def newton_step(f, x):
    value, slope = jax.jvp(f, (x,), (jnp.ones_like(x),))
    x = x - value / slope
