# %% [markdown]
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

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def simulate(level, inflow, capacity):
    """The level after the last day, and what spills on each day."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "scan"]))
