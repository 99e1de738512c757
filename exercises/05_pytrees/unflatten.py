# %% [markdown]
# # Put a tree together
#
# The structure of a tree is a `PyTreeDef` (in `tinyjax/treedef.py`). In tinyjax it is a flat
# tuple of the tree's nodes, **children before their parents**, from left to right. A leaf is
# `None` in it. A container is a triple `(kind, metadata, arity)`, where `arity` is the number of
# its children.
#
#     jax.tree.structure({"a": 1, "b": [2, 3]})    # its items:
#     # None, None, None, (kind of lists, None, 2), (kind of dicts, ("a", "b"), 2)
#
# Write `unflatten(treedef, leaves)`, which builds the tree again, with these leaves.
#
# - `kind.unflatten(metadata, children)` builds one container, of any kind. `children` is a tuple.
# - `leaves` may be any iterable: `jax.tree.map` hands over a `map` object.
# - Too few or too many leaves are a `ValueError`.
#
# Yours takes the place of the method `PyTreeDef.unflatten`. `jax.tree.unflatten`, `jax.tree.map`
# and `grad` call it.
#
# Run this file, or `tinyjax check unflatten`, to see whether it is right.

# %%
import tinyjax as jax


def unflatten(treedef, leaves):
    """The tree of this structure with these leaves."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "unflatten"]))
