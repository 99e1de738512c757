# The card of the exercise closed_form_check. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 25

# %% [markdown] statement
# # The best line, by formula
#
# A line has a formula for its best slope and height, so a loop that fits one can be checked. Write
# the formula.
#
# `best_line(x, y)` returns `w` and `b`, as an array of two numbers or as a pair, for which the mean
# squared error of `w * x + b` on the points is smallest. There the derivative for `w` and the one
# for `b` are both 0. With `m` for the mean over the points, this gives
#
# - `w = m((x - m(x)) * (y - m(y))) / m((x - m(x))**2)`
# - `b = m(y) - w * m(x)`
#
# For `x = [0, 1, 2]` and `y = [1, 3, 5]` it is `[2, 1]`.
#
# Two things to know. You may find formulas with sums of `x**2` and `x*y` alone; they are the same
# on paper, but for years such as 2010 they have no digits left in 32 bits. And a check asks
# `jax.jacobian` how the slope changes with each `y`, so `np.polyfit` is no help.
#
# Run this file, or `tinyjax check closed_form_check`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def best_line(x, y):
    """The slope `w` and the height `b` of the line with the smallest mean squared error."""
    raise NotImplementedError


# %% [markdown] hint
# Which of the two numbers can you compute without the other, and what does the formula for it
# subtract first?

# %% [markdown] hint
# `jnp.mean` is `m`. With `dx = x - m(x)` and `dy = y - m(y)`, the slope is the mean of the products
# of both, divided by the mean of the squares of `dx`. The line goes through the point of the means,
# which gives the height.

# %% [markdown] hint
#     def best_line(x, y):
#         dx = x - jnp.mean(x)
#         dy = ...
#         w = jnp.mean(...) / jnp.mean(...)
#         return jnp.array([w, ...])

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax.learn import check


def draw(rng):
    """Points on both sides of a line, all to the right of 0."""
    n = int(rng.integers(5, 9))
    x = rng.permutation(np.arange(1, n + 1)) + rng.uniform(-0.3, 0.3, n)
    w, b = rng.uniform(0.5, 2.0), rng.uniform(1.0, 3.0)
    return {
        "x": x.round(2).astype(np.float32),
        "y": (w * x + b + rng.normal(0.0, 0.7, n)).round(2).astype(np.float32),
    }


def draw_years(rng):
    """The same with years in place of x, and numbers near 400, such as CO2 in the air, for y."""
    drawn = draw(rng)
    x = drawn["x"].round() + np.float32(rng.integers(2005, 2015))
    return {"x": x, "y": (drawn["y"] + np.float32(rng.integers(380, 420))).round(2)}


@check("slope and height")
def slope_and_height(student, x, y):
    return student.best_line(x, y)


@check("the slope, with years for x", draw=draw_years)
def with_years(student, x, y):
    return student.best_line(x, y)[0]


@check("how the slope changes with each y")
def derivative(student, x, y):
    return jax.jacobian(lambda y: student.best_line(x, y)[0])(y)


# %% reference
def best_line(x, y):
    """The slope `w` and the height `b` of the line with the smallest mean squared error."""
    dx, dy = x - jnp.mean(x), y - jnp.mean(y)  # small numbers: their squares keep their digits
    w = jnp.mean(dx * dy) / jnp.mean(dx**2)
    b = jnp.mean(y) - w * jnp.mean(x)
    return jnp.array([w, b])


# %% right: one step of Newton's method
def best_line(x, y):
    centre = x.mean()

    def loss(theta):
        return jnp.mean((theta[0] * (x - centre) + theta[1] - y) ** 2)

    start = jnp.zeros(2)
    w, c = start - jnp.linalg.solve(jax.hessian(loss)(start), jax.grad(loss)(start))
    return w, c - w * centre


# %% right: least squares with numbers near one
def best_line(x, y):
    shift, scale = jnp.mean(x), jnp.std(x)
    columns = jnp.column_stack([(x - shift) / scale, jnp.ones_like(x)])
    (slope, height), *_ = jnp.linalg.lstsq(columns, y)
    return jnp.stack([slope / scale, height - slope * shift / scale])


# %% right: covariance
def best_line(x, y):
    Σ = jnp.cov(x, y)
    ω = Σ[0, 1] / Σ[0, 0]
    return [ω, y.mean() - ω * x.mean()]


# %% right: weights for each y, and projections
class BestLine:
    def __call__(self, x, y):
        dx = x - x.sum() / x.size
        weights = dx / (dx @ dx)
        w = weights @ y
        return jnp.array([w, jnp.mean(y - w * x)])


best_line = BestLine()


# %% wrong: sums of squares
# You used the sums of x**2 and x*y alone: far from 0 their digits cancel, so centre x first.
def best_line(x, y):
    n = x.size
    w = (n * jnp.sum(x * y) - jnp.sum(x) * jnp.sum(y)) / (n * jnp.sum(x**2) - jnp.sum(x) ** 2)
    return jnp.array([w, jnp.mean(y) - w * jnp.mean(x)])


# %% wrong: means of products
# You used the sums of x**2 and x*y alone: far from 0 their digits cancel, so centre x first.
def best_line(x, y):
    w = (jnp.mean(x * y) - jnp.mean(x) * jnp.mean(y)) / (jnp.mean(x**2) - jnp.mean(x) ** 2)
    return jnp.array([w, jnp.mean(y) - w * jnp.mean(x)])


# %% wrong: the normal equations
# You solved equations with sums of x**2 in them: far from 0 their digits cancel, so centre x first.
def best_line(x, y):
    columns = jnp.column_stack([x, jnp.ones_like(x)])
    return jnp.linalg.solve(columns.T @ columns, columns.T @ y)


# %% wrong: polyfit
# You left it to NumPy: the numbers are right, but jax.jacobian cannot look into np.polyfit.
import numpy as np


def best_line(x, y):
    w, b = np.polyfit(np.asarray(x, "float64"), np.asarray(y, "float64"), 1)
    return jnp.array([w, b])


# %% wrong: the loop
# You walked downhill for some steps: that comes near the best line, and a formula hits it.
def best_line(x, y):
    def loss(theta):
        return jnp.mean((theta[0] * x + theta[1] - y) ** 2)

    theta = jnp.zeros(2)
    for _ in range(20):
        theta = theta - 0.01 * jax.grad(loss)(theta)
    return theta


# %% wrong: the standard deviation
# You divided by the standard deviation of x: divide by its variance, the mean of the squares.
def best_line(x, y):
    dx, dy = x - jnp.mean(x), y - jnp.mean(y)
    w = jnp.mean(dx * dy) / jnp.std(x)
    return jnp.array([w, jnp.mean(y) - w * jnp.mean(x)])


# %% wrong: the height at the mean
# You returned the height at the mean of x: at 0 it is lower by w times that mean.
def best_line(x, y):
    dx, dy = x - jnp.mean(x), y - jnp.mean(y)
    return jnp.array([jnp.mean(dx * dy) / jnp.mean(dx**2), jnp.mean(y)])


# %% wrong: through zero
# You worked with x as it comes: subtract its mean first, then multiply or solve.
def best_line(x, y):
    return jnp.array([jnp.mean(x * y) / jnp.mean(x**2), 0.0])


# %% wrong: least squares with x as it comes
# You worked with x as it comes: subtract its mean first, then multiply or solve.
def best_line(x, y):
    columns = jnp.column_stack([x, jnp.ones_like(x)])
    return jnp.linalg.lstsq(columns, y)[0]


# %% wrong: no height
# You left the height at 0: it is m(y) - w * m(x).
def best_line(x, y):
    dx, dy = x - jnp.mean(x), y - jnp.mean(y)
    return jnp.array([jnp.mean(dx * dy) / jnp.mean(dx**2), 0.0])


# %% wrong: divided by the spread of y
# You divided by the spread of y: w is what y changes per change of x, so divide by that of x.
def best_line(x, y):
    dx, dy = x - jnp.mean(x), y - jnp.mean(y)
    w = jnp.mean(dx * dy) / jnp.mean(dy**2)
    return jnp.array([w, jnp.mean(y) - w * jnp.mean(x)])


# %% wrong: the correlation
# You divided by both standard deviations: that is the correlation, and the slope divides by dx**2.
def best_line(x, y):
    dx, dy = x - jnp.mean(x), y - jnp.mean(y)
    w = jnp.mean(dx * dy) / (jnp.std(x) * jnp.std(y))
    return jnp.array([w, jnp.mean(y) - w * jnp.mean(x)])


# %% wrong: the sign of the height
# You added w * m(x): the line goes through the means, so the height at 0 is m(y) - w * m(x).
def best_line(x, y):
    dx, dy = x - jnp.mean(x), y - jnp.mean(y)
    w = jnp.mean(dx * dy) / jnp.mean(dx**2)
    return jnp.array([w, jnp.mean(y) + w * jnp.mean(x)])


# %% wrong: from the first point to the last
# You drew the line through two of the points: all of them count.
def best_line(x, y):
    w = (y[-1] - y[0]) / (x[-1] - x[0])
    return jnp.array([w, y[0] - w * x[0]])


# %% wrong: exchanged
# You returned the height first: the slope w comes first, then b.
def best_line(x, y):
    dx, dy = x - jnp.mean(x), y - jnp.mean(y)
    w = jnp.mean(dx * dy) / jnp.mean(dx**2)
    return jnp.array([jnp.mean(y) - w * jnp.mean(x), w])


# %% wrong: the mean of quotients
# You took the mean of the quotients dy / dx: it is the mean of dx * dy divided by that of dx**2.
def best_line(x, y):
    dx, dy = x - jnp.mean(x), y - jnp.mean(y)
    w = jnp.mean(dy / dx)
    return jnp.array([w, jnp.mean(y) - w * jnp.mean(x)])
