# %% [markdown]
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

# %%
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


def random_point(state, width, height):
    """The next state, and a point (x, y) in the rectangle."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "purify_rng"]))
