# %% [markdown]
# # A walk with a key for each step
#
# A random walk starts at 0. Each step is one number from `jax.random.normal`, and is added to the
# position. The walk ends as soon as the position is beyond `limit`: above `limit` or below
# `-limit`. So nobody knows how many steps it takes, and how many keys.
#
# Write `walk(key, limit)`. Return the positions after each step, the last one too, as a list of
# numbers. In each step, split the key in two: go on with the first of the new keys, and draw
# from the second. Never use a key twice.
#
# `walk(jax.random.key(6), 2.0)` returns about `[-0.8673, -1.7844, -2.0576]`.
#
# Run this file, or `tinyjax check split_loop`, to see whether it is right.

# %%
import tinyjax as jax


def walk(key, limit):
    """The positions of a random walk, up to the first one beyond the limit."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "split_loop"]))
