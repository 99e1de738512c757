# %% [markdown]
# # From a deep tree of keys to a wide one
#
# `deep_walks` lets some walkers take some random steps each. Every step has a key of its own, but
# all keys hang in one long chain: each walk has to wait for the keys of all walks before it.
#
# Write `walks(key, walkers, steps)`, which does it with one level of keys:
#
# - Walker `i` gets key `i` of `jax.random.split(key, walkers)`, and no other key.
# - One draw from this key gives all steps of the walker: `jax.random.normal`, shape `(steps,)`.
# - A position is the sum of the steps so far. All walkers start at 0.
#
# The result has the shape `(walkers, steps)`. `walks(jax.random.key(0), 2, 3)` is about
# `[[1.004, 0.0977, -0.6505], [-2.4425, -4.4781, -4.2726]]`. Use `jnp`, not NumPy: your function is
# traced, to see how deep its tree of keys is.
#
# Run this file, or `tinyjax check wide_not_deep`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def deep_walks(key, walkers, steps):
    """The positions of random walkers after each step, with a chain of keys."""
    table = []
    for _ in range(walkers):
        position, row = 0.0, []
        for _ in range(steps):
            key, subkey = jax.random.split(key)
            position = position + jax.random.normal(subkey)
            row.append(position)
        table.append(jnp.stack(row))
    return jnp.stack(table)


def walks(key, walkers, steps):
    """The positions of random walkers after each step, with one level of keys."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "wide_not_deep"]))
