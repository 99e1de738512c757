# The card of the exercise scan. Spoilers: it holds the solutions.
# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # Water in a reservoir
#
# Each day water flows into a reservoir. What does not fit spills over. Then a tenth of what is in
# there evaporates.
#
# Write `simulate(level, inflow, capacity)`. `level` is how much water there is at first, `inflow`
# an array with the water of each day. It returns a pair: the level after the last day, and an
# array with what spilled on each day. On one day:
#
# 1. the inflow is added to the level;
# 2. what exceeds the capacity spills, so at most `capacity` stays;
# 3. the level is multiplied with 0.9.
#
# For example:
#
#     simulate(5.0, jnp.array([3.0, 8.0, 0.0]), 10.0)    # 8.1 and [0. 5.2 0. ]
#
# (Day 1: 8, nothing spills, 7.2 stays. Day 2: 15.2, of which 5.2 spills; 9 stays.)
#
# For a long `inflow` the program must not grow, and `jax.grad` must be able to go through it.
#
# Run this file, or `tinyjax check scan`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


# %% stub
def simulate(level, inflow, capacity):
    """The level after the last day, and what spills on each day."""
    raise NotImplementedError


# %% [markdown] hint
# What must one day know of the day before, and what do you want to keep of each day?

# %% [markdown] hint
# The level passes from day to day: it is the carry of a `lax.scan`. The inflow is what the scan
# goes over. The step returns the next carry and what to keep, in this order.

# %% [markdown] hint
#     def simulate(level, inflow, capacity):
#         def day(level, water):
#             level = level + water
#             spilled = ...
#             return 0.9 * ..., ...
#
#         return lax.scan(day, ..., ...)

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

seconds = 60.0


def draw(rng):
    """A reservoir that spills on some days and not on others."""
    capacity = round(float(rng.uniform(8.0, 12.0)), 2)
    inflow = rng.uniform(0.0, 2.0, size=7)
    inflow[[1, 4]] += capacity
    return {
        "level": round(float(rng.uniform(1.0, 5.0)), 2),
        "inflow": inflow.round(2).astype(np.float32),
        "capacity": capacity,
    }


@check("a week")
def week(student, level, inflow, capacity):
    last, spilled = student.simulate(level, inflow, capacity)
    return {"last level": last, "spilled": spilled}


@check("140 days, and the size of the programs for 14 and 28")
def size(student, level, inflow, capacity):
    def equations(weeks):  # those of inner programs, too
        days = jnp.tile(inflow, weeks)
        return str(jax.make_jaxpr(student.simulate)(level, days, capacity)).count(" = ")

    last, spilled = student.simulate(level, jnp.tile(inflow, 20), capacity)
    more = equations(4) > equations(2)
    return {"equations": "more for more days" if more else "as many", "sum": jnp.sum(spilled)}


@check("the derivative of a weighted sum of the spills")
def derivative(student, level, inflow, capacity):
    weights = jnp.arange(1.0, 1.0 + len(inflow))

    def weighted(inflow):
        return jnp.sum(weights * student.simulate(level, inflow, capacity)[1])

    return jax.grad(weighted)(inflow)


# %% reference
def simulate(level, inflow, capacity):
    """The level after the last day, and what spills on each day."""

    def day(level, water):
        level = level + water
        spilled = jnp.maximum(level - capacity, 0.0)
        return 0.9 * (level - spilled), spilled  # the carry, and what to keep

    return lax.scan(day, level, inflow)


# %% right: with minimum, jitted
@jax.jit
def simulate(level, inflow, capacity):
    def day(level, water):
        full = level + water
        left = jnp.minimum(full, capacity)
        return 0.9 * left, full - left

    last, spilled = lax.scan(day, level, inflow)
    return last, spilled


# %% right: a loop of lax that writes into an array
def simulate(level, inflow, capacity):
    def day(i, state):
        level, spilled = state
        level = level + inflow[i]
        over = jnp.where(level > capacity, level - capacity, 0.0)
        return 0.9 * (level - over), spilled.at[i].set(over)

    return lax.fori_loop(0, len(inflow), day, (level, jnp.zeros(len(inflow))))


# %% right: the state is a dictionary
def simulate(level, inflow, capacity):
    def day(state, Δ):
        total = state["level"] + Δ
        spilled = jax.nn.relu(total - capacity)
        return {"level": (total - spilled) * 9 / 10}, spilled

    state, spilled = lax.scan(day, {"level": level}, inflow)
    return [state["level"], spilled]


# %% wrong: a Python loop
# Your Python loop is unrolled, so the program grows with the days: use lax.scan, which traces one
# day.
def simulate(level, inflow, capacity):
    spilled = []
    for water in inflow:
        level = level + water
        spilled.append(jnp.maximum(level - capacity, 0.0))
        level = 0.9 * jnp.minimum(level, capacity)
    return level, jnp.stack(spilled)


# %% wrong: while_loop
# grad cannot go back through a while_loop, whose length is not known: use lax.scan.
def simulate(level, inflow, capacity):
    def day(state):
        i, level, spilled = state
        level = level + inflow[i]
        over = jnp.maximum(level - capacity, 0.0)
        return i + 1, 0.9 * (level - over), spilled.at[i].set(over)

    start = (0, level, jnp.zeros(len(inflow)))
    return lax.while_loop(lambda state: state[0] < len(inflow), day, start)[1:]


# %% wrong: the levels of all days
# You returned the level of each day: the first result is the level after the last day, the final
# carry.
def simulate(level, inflow, capacity):
    def day(level, water):
        level = level + water
        spilled = jnp.maximum(level - capacity, 0.0)
        level = 0.9 * (level - spilled)
        return level, (level, spilled)

    return lax.scan(day, level, inflow)[1]


# %% wrong: carry and output are swapped
# Your step returns the spill as the carry: the carry, here the level, comes first.
def simulate(level, inflow, capacity):
    def day(level, water):
        level = level + water
        spilled = jnp.maximum(level - capacity, 0.0)
        return spilled, 0.9 * (level - spilled)

    return lax.scan(day, level, inflow)


# %% wrong: each day by itself
# You treated the days one by one, each from the first level: the level must pass from day to day.
def simulate(level, inflow, capacity):
    full = level + inflow
    spilled = jnp.maximum(full - capacity, 0.0)
    return 0.9 * (full - spilled)[-1], spilled


# %% wrong: it starts empty
# You started with an empty reservoir: the carry of the first day is the level that is given.
def simulate(level, inflow, capacity):
    def day(level, water):
        level = level + water
        spilled = jnp.maximum(level - capacity, 0.0)
        return 0.9 * (level - spilled), spilled

    return lax.scan(day, 0.0, inflow)


# %% wrong: evaporation first
# Your water evaporates before the rest spills: first the spill, then the factor 0.9.
def simulate(level, inflow, capacity):
    def day(level, water):
        level = 0.9 * (level + water)
        spilled = jnp.maximum(level - capacity, 0.0)
        return level - spilled, spilled

    return lax.scan(day, level, inflow)


# %% wrong: evaporation before the inflow is there
# Your water evaporates before it spills: the order is inflow, spill, then the factor 0.9 on what
# stays.
def simulate(level, inflow, capacity):
    def day(level, water):
        level = 0.9 * level + water
        spilled = jnp.maximum(level - capacity, 0.0)
        return level - spilled, spilled

    return lax.scan(day, level, inflow)


# %% wrong: no evaporation
# You left out the evaporation: what stays is multiplied with 0.9.
def simulate(level, inflow, capacity):
    def day(level, water):
        level = level + water
        spilled = jnp.maximum(level - capacity, 0.0)
        return level - spilled, spilled

    return lax.scan(day, level, inflow)


# %% wrong: what spills stays
# What spills is still in your reservoir: take it away from the level.
def simulate(level, inflow, capacity):
    def day(level, water):
        level = level + water
        return 0.9 * level, jnp.maximum(level - capacity, 0.0)

    return lax.scan(day, level, inflow)


# %% wrong: a negative spill
# Your spill is negative on days on which the water fits: nothing spills then, so it is 0.
def simulate(level, inflow, capacity):
    def day(level, water):
        level = level + water
        return 0.9 * jnp.minimum(level, capacity), level - capacity

    return lax.scan(day, level, inflow)


# %% wrong: NumPy in place
# You wrote into a NumPy array, which cannot hold tracers: let lax.scan collect what each day
# returns.
def simulate(level, inflow, capacity):
    import numpy as np

    spilled = np.zeros(len(inflow))
    for i, water in enumerate(inflow):
        level = level + water
        spilled[i] = jnp.maximum(level - capacity, 0.0)
        level = 0.9 * jnp.minimum(level, capacity)
    return level, spilled
