# The card of the exercise purify_rng. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 12

# %% [markdown] statement
# # A random point without a hidden state
#
# `noisy_point`, below, draws a point in a rectangle. It is not pure: NumPy's generator has a
# hidden state, and both draws change it. `draw` is the generator of chapter 03, with its state in
# sight.
#
# Write `random_point(state, width, height)` with two draws from it: the first number times
# `width` is x, the second times `height` is y. Return the state for the next call, and the pair
# `(x, y)`.
#
# From the state `jnp.uint32(1)` the two numbers are 0.2365 and 0.3693. So with a width of 2 and a
# height of 10 the point is (0.473, 3.693), and the new state is 1586005467. It must work under
# `jax.jit`, too.
#
# Run this file, or `tinyjax check purify_rng`, to see whether it is right.

# %% given
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp


def noisy_point(width, height):
    """A random point in a rectangle. Not pure."""
    return width * np.random.uniform(), height * np.random.uniform()


def draw(state):
    """The next state, and a number from 0 to 1. The state is a uint32."""
    state = 1664525 * state + 1013904223
    return state, state / 2.0**32


# %% stub
def random_point(state, width, height):
    """The next state, and a point (x, y) in the rectangle."""
    raise NotImplementedError


# %% [markdown] hint
# You draw twice. From which state is the second number drawn, and which state is the one for the
# next call?

# %% [markdown] hint
# Each draw gives you a new state, and the old one is used up: draw from it again, and you get the
# same number again. So the states are a chain through your function, from its argument to its
# result.

# %% [markdown] hint
#     def random_point(state, width, height):
#         state, u = draw(...)
#         state, v = draw(...)
#         return ..., (..., ...)

# %% checks
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

seconds = 30.0  # a kernel is compiled


def draw(rng):
    """A state, and a rectangle that is no square."""
    return {
        "state": int(rng.integers(1000, 2**31)),
        "width": round(rng.uniform(1.0, 3.0), 2),
        "height": round(rng.uniform(10.0, 30.0), 2),
    }


@check("three points in a row, and the last state")
def in_a_row(student, state, width, height):
    state, points = jnp.uint32(state), []
    for _ in range(3):
        state, point = student.random_point(state, width, height)
        points.append(point)
    return [points, state]


@check("a compiled call; then tracers that are left behind are watched for", draw=draw, draws=1)
def compiled(student, state, width, height):
    state = jnp.uint32(state)
    point = jax.jit(student.random_point)(state, width, height)[1]
    with jax.checking_leaks():
        jax.make_jaxpr(lambda *args: student.random_point(*args))(state, width, height)
    return point


# %% reference
def random_point(state, width, height):
    """The next state, and a point (x, y) in the rectangle."""
    state, u = draw(state)
    state, v = draw(state)  # from the state that the first draw has left
    return state, (u * width, v * height)


# %% right: a loop over the sides
def random_point(state, width, height):
    point = []
    for side in (width, height):
        state, number = draw(state)
        point.append(side * number)
    return [state, jnp.stack(point)]


# %% right: two steps at once
def random_point(state, width, height):
    a, c = jnp.uint32(1664525), jnp.uint32(1013904223)
    first, second = a * state + c, a * a * state + (a * c + c)
    return second, jnp.array([width, height]) * jnp.stack([first, second]) / 2.0**32


# %% right: a class with __call__, compiled
class Point:
    def __call__(self, σ, width, height):
        σ1, u = draw(σ)
        σ2, v = draw(σ1)
        return σ2, (u * width, v * height)


random_point = jax.jit(Point())


# %% wrong: the same state twice
# Both of your numbers are the same: draw the second from the state that the first draw returned.
def random_point(state, width, height):
    new_state, u = draw(state)
    new_state, v = draw(state)
    return new_state, (u * width, v * height)


# %% wrong: the state in the middle
# You returned the state after the first draw: the next point will begin with the number of your
# y.
def random_point(state, width, height):
    middle, u = draw(state)
    _, v = draw(middle)
    return middle, (u * width, v * height)


# %% wrong: the old state
# You returned the state that came in: the next call draws the same point again.
def random_point(state, width, height):
    middle, u = draw(state)
    _, v = draw(middle)
    return state, (u * width, v * height)


# %% wrong: the state is ignored
# You begin with a state of your own: draw from the state that comes in.
def random_point(state, width, height):
    state, u = draw(jnp.uint32(1))
    state, v = draw(state)
    return state, (u * width, v * height)


# %% wrong: NumPy's generator
# You still draw from a generator of NumPy, which hides its state: draw(state) has it in sight.
generator = np.random.default_rng(0)


def random_point(state, width, height):
    return state, (generator.uniform() * width, generator.uniform() * height)


# %% wrong: a generator made from the state
# You used the state as the seed of another generator: the two numbers come from draw.
def random_point(state, width, height):
    numbers = np.random.default_rng(int(state)).uniform(size=2)
    state, _ = draw(state)
    state, _ = draw(state)
    return state, (numbers[0] * width, numbers[1] * height)


# %% wrong: a global beside
# You also keep the state in a global variable: under jit a tracer stays in it. Return it, no more.
kept = None


def random_point(state, width, height):
    global kept
    kept, u = draw(state)
    kept, v = draw(kept)
    return kept, (u * width, v * height)


# %% wrong: the second number first
# You gave the second number to x: the first number drawn belongs to x, the second to y.
def random_point(state, width, height):
    state, v = draw(state)
    state, u = draw(state)
    return state, (u * width, v * height)


# %% wrong: width and height change places
# You multiplied the first number by the height: x goes with the width, y with the height.
def random_point(state, width, height):
    state, u = draw(state)
    state, v = draw(state)
    return state, (u * height, v * width)


# %% wrong: the numbers as they are
# Your numbers go from 0 to 1: multiply them by the width and the height.
def random_point(state, width, height):
    state, u = draw(state)
    state, v = draw(state)
    return state, (u, v)


# %% wrong: Python floats
# float() asks for a number, but under jit there is none yet: leave u and v as they are.
def random_point(state, width, height):
    state, u = draw(state)
    state, v = draw(state)
    return state, (float(u) * width, float(v) * height)


# %% wrong: the point alone
# You returned the point alone: without the new state the next call can only draw it again.
def random_point(state, width, height):
    state, u = draw(state)
    state, v = draw(state)
    return u * width, v * height


# %% wrong: nothing is returned
# Your function returns None: does it end in a return?
def random_point(state, width, height):
    state, u = draw(state)
    state, v = draw(state)
