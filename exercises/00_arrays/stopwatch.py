# %% [markdown]
# # Time a call, and wait for it
#
# A call returns as soon as the work has been handed over; the values come later. And the first call
# of a compiled function compiles it. A fair time counts neither too little nor too much.
#
# Write `seconds(f, x, clock)`: how long one call `f(x)` takes from the moment it is made until its
# values are there, compilation left out. Call `f` once before you start the clock, so that it is
# compiled. (Then you may time several calls, and return their mean or the best.) `clock()` returns
# the present time in seconds, as `time.perf_counter()` does; `f(x)` returns an array.
#
# The checks bring a clock and a function that pretend: a compilation of 5 seconds, a call that
# returns after 0.01 seconds, values that come 2 seconds later. There `seconds` must return 2.01.
#
# Run this file, or `tinyjax check stopwatch`, to see whether it is right.

# %%
import time

import tinyjax as jax
import tinyjax.numpy as jnp


def seconds(f, x, clock=time.perf_counter):
    """The seconds from calling `f(x)` to its values, compilation left out."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "stopwatch"]))
