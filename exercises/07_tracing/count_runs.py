# %% [markdown]
# # Look into the inner programs
#
# How often does the machine compute a sine, if it calls a function once? The jaxpr knows. But a
# function under `jit` is one equation, and so is a loop of `lax`: you must look into the programs
# that they hold.
#
# Write `count_runs(f, name, x)`: how many times the primitive called `name` runs, in one call of
# `f(x)`.
#
# - An equation `jit[...]` holds its program as `eqn.params["jaxpr"]`. Equations such as `sin` or
#   `add` have no parameter of this name.
# - A loop with a known number of passes is an equation `scan[...]`. Its body is
#   `eqn.params["jaxpr"]`, too, and `eqn.params["length"]` says how many times it runs.
# - In these programs there may be such equations again.
#
# For `f = lambda x: lax.fori_loop(0, 3, lambda i, x: x + jnp.sin(x), x)` the primitive `"sin"` runs
# 3 times.
#
# Run this file, or `tinyjax check count_runs`, to see whether it is right.

# %%
import tinyjax as jax


def count_runs(f, name, x):
    """How many times the primitive of this name runs in f(x), inner programs included."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "count_runs"]))
