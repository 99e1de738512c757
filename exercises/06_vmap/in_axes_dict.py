# %% [markdown]
# # A dict with an axis for each leaf
#
# `reading(sensor)` says what **one** sensor shows. `sensor` is a dict:
#
# - `"gain"`: one number,
# - `"filter"`: a vector of T numbers,
# - `"signal"`: a vector of T numbers, what there is to see.
#
# It returns a dict: `"level"`, one number, and `"curve"`, a vector of T numbers.
#
# Now there are S sensors, in one dict: `"gain"` has the shape (S,), `"filter"` has the shape
# (T, S), **one column for each sensor**, and `"signal"` has the shape (T,): all sensors look at
# the same signal.
#
# Write `all_readings(reading, sensors)`. It returns a dict with `"level"` of shape (S,) and
# `"curve"` of shape (T, S), again one column for each sensor. Call `reading` once, not once for
# each sensor.
#
# For one sensor with `gain = 2.`, `filter = [1., 0.]`, `signal = [3., 5.]`, let `reading` give
# `level = gain` and `curve = filter * signal = [3., 0.]`. The sensors
# `{"gain": [2.], "filter": [[1.], [0.]], "signal": [3., 5.]}` then give
# `{"level": [2.], "curve": [[3.], [0.]]}`.
#
# Run this file, or `tinyjax check in_axes_dict`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def all_readings(reading, sensors):
    """`reading` of each sensor: {"level": (S,), "curve": (T, S)}."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "in_axes_dict"]))
