# %% [markdown]
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

# %%
import tinyjax as jax


def tangent(f, x):
    """The tangent of `f` at `x`, a function of `t`."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "value_and_grad"]))
