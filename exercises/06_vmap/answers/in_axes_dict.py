# The card of the exercise in_axes_dict. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 15

# %% [markdown] statement
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

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def all_readings(reading, sensors):
    """`reading` of each sensor: {"level": (S,), "curve": (T, S)}."""
    raise NotImplementedError


# %% [markdown] hint
# How many arguments does `reading` have, and along which axis does each leaf of that argument
# hold the sensors?

# %% [markdown] hint
# Where one argument is a dict, its entry in `in_axes` can be a dict with the same names: an axis
# for each leaf, `None` for what is shared. `in_axes` itself is a tuple with one entry for each
# argument, so mind the comma. `out_axes` may be such a dict, too: it says where the axis of the
# sensors goes in each leaf of the result.

# %% [markdown] hint
#     def all_readings(reading, sensors):
#         axes = {"gain": ..., "filter": ..., "signal": ...}
#         out = {"level": ..., "curve": ...}
#         return jax.vmap(reading, in_axes=(...,), out_axes=...)(sensors)

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

seconds = 30.0  # a solution may be compiled


def sensors_of(rng, s, t):
    """S sensors and a signal of T numbers."""
    return {
        "sensors": {
            "gain": rng.uniform(0.5, 2.0, size=s).round(1).astype(np.float32),
            "filter": rng.normal(size=(t, s)).round(1).astype(np.float32),
            "signal": rng.normal(size=t).round(1).astype(np.float32),
        }
    }


def draw_square(rng):
    """As many sensors as times: a wrong axis is no error here, and shows in the numbers."""
    size = int(rng.integers(2, 5))
    return sensors_of(rng, size, size)


def draw(rng):
    """Sensors of another number than there are times."""
    return sensors_of(rng, *rng.choice([2, 3, 4, 5], size=2, replace=False))


def reading_that_counts(calls):
    """What one sensor shows; lists its calls."""

    def reading(sensor):
        calls.append(sensor)
        weighted = sensor["filter"] * sensor["signal"]
        return {
            "level": sensor["gain"] * jnp.sum(weighted) + sensor["filter"][0],
            "curve": sensor["gain"] + jnp.cumsum(weighted),
        }

    return reading


@check(
    "level = gain * sum(filter * signal) + filter[0], curve = gain + cumsum(filter * signal)",
    draw=draw_square,
)
def each_sensor(student, sensors):
    return student.all_readings(reading_that_counts([]), sensors)


@check("shapes; calls of reading: for these sensors, and for twice as many")
def shapes_and_calls(student, sensors):
    few, many = [], []
    twice = {
        "gain": jnp.concatenate([sensors["gain"], sensors["gain"]]),
        "filter": jnp.concatenate([sensors["filter"], sensors["filter"]], axis=1),
        "signal": sensors["signal"],
    }
    result = student.all_readings(reading_that_counts(few), sensors)
    student.all_readings(reading_that_counts(many), twice)
    shapes = {name: str(jnp.shape(leaf)) for name, leaf in result.items()}
    return {"shapes": shapes, "more calls for more sensors": len(many) - len(few)}


# %% reference
def all_readings(reading, sensors):
    """`reading` of each sensor: {"level": (S,), "curve": (T, S)}."""
    axes = {"gain": 0, "filter": 1, "signal": None}
    return jax.vmap(reading, in_axes=(axes,), out_axes={"level": 0, "curve": 1})(sensors)


# %% right: transposed before and after
def all_readings(reading, sensors):
    def one(gain, weights):
        return reading({"gain": gain, "filter": weights, "signal": sensors["signal"]})

    result = jax.vmap(one)(sensors["gain"], sensors["filter"].T)
    return {"level": result["level"], "curve": result["curve"].T}


# %% right: everything is repeated
def all_readings(reading, sensors):
    s = sensors["gain"].size
    full = {
        "gain": sensors["gain"],
        "filter": jnp.moveaxis(sensors["filter"], 1, 0),
        "signal": jnp.stack([sensors["signal"]] * s),
    }
    result = jax.vmap(reading)(full)
    result["curve"] = jnp.swapaxes(result["curve"], 0, 1)
    return result


# %% right: out_axes=-1 for all, a class with __call__
class Readings:
    def __call__(self, reading, 传感器):
        axes = dict.fromkeys(传感器, -1) | {"signal": None}
        return jax.vmap(reading, in_axes=(axes,), out_axes=-1)(传感器)


all_readings = Readings()


# %% wrong: a loop
# You looped over the sensors, one call of reading for each: vmap calls it once for all.
def all_readings(reading, sensors):
    results = []
    for gain, weights in zip(sensors["gain"], sensors["filter"].T):
        results.append(reading({"gain": gain, "filter": weights, "signal": sensors["signal"]}))
    return {
        "level": jnp.stack([r["level"] for r in results]),
        "curve": jnp.stack([r["curve"] for r in results], axis=1),
    }


# %% wrong: axis 0 for all
# You left in_axes at 0, which maps axis 0 of every leaf: each leaf needs an entry of its own.
def all_readings(reading, sensors):
    return jax.vmap(reading, out_axes={"level": 0, "curve": 1})(sensors)


# %% wrong: out_axes is left out
# Your curves are rows: say with out_axes that the axis of the sensors comes second there.
def all_readings(reading, sensors):
    return jax.vmap(reading, in_axes=({"gain": 0, "filter": 1, "signal": None},))(sensors)


# %% wrong: out_axes is 1 for all
# You wrote out_axes=1 for all leaves: level is one number per sensor, its result has axis 0 only.
def all_readings(reading, sensors):
    axes = {"gain": 0, "filter": 1, "signal": None}
    return jax.vmap(reading, in_axes=(axes,), out_axes=1)(sensors)


# %% wrong: the rows of the filter
# You mapped the rows of the filter: the sensors lie along its axis 1, the columns.
def all_readings(reading, sensors):
    axes = {"gain": 0, "filter": 0, "signal": None}
    return jax.vmap(reading, in_axes=(axes,), out_axes={"level": 0, "curve": 1})(sensors)


# %% wrong: the signal is mapped
# You mapped the signal: all sensors see the same one, so its axis is None.
def all_readings(reading, sensors):
    axes = {"gain": 0, "filter": 1, "signal": 0}
    return jax.vmap(reading, in_axes=(axes,), out_axes={"level": 0, "curve": 1})(sensors)


# %% wrong: the gain is shared
# You shared the gain: each sensor has its own, so its axis is 0.
def all_readings(reading, sensors):
    axes = {"gain": None, "filter": 1, "signal": None}
    return jax.vmap(reading, in_axes=(axes,), out_axes=-1)(sensors)


# %% wrong: three entries for one argument
# You gave three entries to one argument: the dict of axes stands for it, in a tuple of one.
def all_readings(reading, sensors):
    return jax.vmap(reading, in_axes=(0, 1, None), out_axes={"level": 0, "curve": 1})(sensors)


# %% wrong: the whole dict at once
# You called reading on all sensors at once: it is made for one, so map it.
def all_readings(reading, sensors):
    return reading(sensors)


# %% wrong: only the first sensor
# You took the first sensor's filter for all: the filter is mapped along axis 1.
def all_readings(reading, sensors):
    def one(gain):
        return reading({**sensors, "gain": gain, "filter": sensors["filter"][:, 0]})

    return jax.vmap(one, out_axes={"level": 0, "curve": 1})(sensors["gain"])


# %% wrong: without the comma
# Your in_axes is a dict: it must be a tuple with one entry for each argument, here (axes,).
def all_readings(reading, sensors):
    axes = {"gain": 0, "filter": 1, "signal": None}
    return jax.vmap(reading, in_axes=axes, out_axes={"level": 0, "curve": 1})(sensors)
