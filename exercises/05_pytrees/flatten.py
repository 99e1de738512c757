# %% [markdown]
# # Take the containers apart
#
# In `tinyjax/tree_registry.py` each kind of container has an entry, a `NodeType`. Its function
# `flatten` takes **one level** of a container apart. `tree_flatten` (in `tinyjax/treedef.py`)
# calls it for the root, then for each child that is a container, and so on. All of `jax.tree`,
# and `grad`, `vmap` and `jit` with it, stand on these small functions.
#
# Write `flatten(x)` for dicts, lists, tuples and `None`. It returns a pair.
#
# - The children, as a list or a tuple. `None` has none. Those of a dict are its values in the
#   order of the sorted keys, for equal dicts must have the same leaves in the same order.
# - The metadata: what is needed to put the container together again. For a dict these are the
#   sorted keys, as a tuple. For the others they are `None`.
#
# So a dict and a list come apart like this:
#
#     flatten({"b": [1, 2], "a": 3})   # [3, [1, 2]], ("a", "b")
#     flatten([1, (2, 3)])             # [1, (2, 3)], None
#
# The keys of a dict are of one kind, all strings or all numbers. Yours takes the place of the
# package's own: `flatten` becomes the function of all four entries.
#
# Run this file, or `tinyjax check flatten`, to see whether it is right.

# %%
import tinyjax as jax


def flatten(x):
    """The children of a dict, list, tuple or None, one level deep, and its metadata."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "flatten"]))
