# %% [markdown]
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

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def best_line(x, y):
    """The slope `w` and the height `b` of the line with the smallest mean squared error."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "closed_form_check"]))
