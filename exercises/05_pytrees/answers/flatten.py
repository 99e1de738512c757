# The card of the exercise flatten. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 25

# %% [markdown] statement
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

# %% given
import tinyjax as jax


# %% stub
def flatten(x):
    """The children of a dict, list, tuple or None, one level deep, and its metadata."""
    raise NotImplementedError


# %% [markdown] hint
# What is left of a dict when its values are taken out, and what of a list?

# %% [markdown] hint
# `sorted(d)` is the list of the keys of `d` in order. Values and keys must be in the same order,
# or the values come back under other keys. The children stay as they are, even if they are
# containers: `tree_flatten` comes back for them.

# %% [markdown] hint
#     def flatten(x):
#         if isinstance(x, dict):
#             keys = sorted(...)
#             return [x[...] for key in keys], ...
#         if x is None:
#             return ..., ...
#         return ..., None

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax import tree_util
from tinyjax.learn import check, run_examples
from tinyjax.tree_registry import node_types
from tinyjax.treedef import flatten_one_level


def install(student):
    """The student's function in the entries of the four containers."""
    for cls in (dict, list, tuple, type(None)):
        node_types[cls].flatten = lambda x: student.flatten(x)


def draw_tree(rng):
    """A nest of dicts, lists and tuples; keys are in no order, and some are numbers."""
    values = iter(rng.permutation(np.arange(10, 99))[:12].tolist())
    words = rng.permutation(["w", "b", "scale", "c", "offset"])
    # With 7 to 9 and 10 to 30 the order of the numbers is never that of their texts.
    numbers = [int(rng.integers(10, 31)), int(rng.integers(7, 10)), int(rng.integers(100, 130))]
    inner = {number: next(values) for number in numbers}
    by_word = {str(word): next(values) for word in words}
    return {"tree": [by_word, (next(values), [next(values), inner]), {"z": [next(values)]}]}


def draw(rng):
    """Names in one order and in another, and a value for each."""
    names = [str(name) for name in rng.permutation(["w", "b", "scale", "offset"])]
    if names == sorted(names):
        names = names[::-1]
    numbers = [float(v) for v in rng.normal(size=4).round(2)]
    return {"names": names, "p": numbers, "q": [float(v) for v in rng.normal(size=4).round(2)]}


def nothing(rng):
    """No inputs."""
    return {}


@check("the leaves of a random tree", draw=draw_tree)
def leaves(student, tree):
    return jax.tree.leaves(tree)


@check("a gradient, a map over two dicts filled in different orders, and how many kinds they are")
def together_again(student, names, p, q):
    params, other = dict(zip(names, p)), dict(zip(names[::-1], q))

    def loss(params):
        return sum(params[name] ** (k + 2) for k, name in enumerate(names))

    mapped = jax.tree.map(lambda a, b: a - 10 * b, [params, {}], [other, {}])
    kinds = {flatten_one_level(tree)[1] for tree in (params, other, mapped[0], {"z": 1})}
    return [jax.grad(loss)(params), mapped, len(kinds)]


@check("the package's own examples", draw=nothing, draws=1)
def examples(student):
    return run_examples(tree_util.tree_flatten, tree_util.tree_structure, tree_util.tree_leaves)


# %% reference
def flatten(x):
    """The children of a dict, list, tuple or None, one level deep, and its metadata."""
    if isinstance(x, dict):
        keys = sorted(x)  # not in the order in which somebody has filled the dict
        return [x[key] for key in keys], tuple(keys)
    if x is None:
        return (), None  # a container with nothing in it
    return x, None  # a list or a tuple is the sequence of its children


# %% right: match
def flatten(x):
    match x:
        case None:
            return [], None
        case dict():
            pairs = sorted(x.items(), key=lambda pair: pair[0])
            return [value for _, value in pairs], tuple(key for key, _ in pairs)
        case [*children]:
            return children, None


# %% right: a table of functions, in a class
def of_dict(d):
    keys = list(d)
    keys.sort()
    return list(map(d.__getitem__, keys)), (*keys,)


class Flatten:
    ways = {dict: of_dict, type(None): lambda x: ([], None)}

    def __call__(self, ξ):
        return self.ways.get(type(ξ), lambda x: (tuple(x), None))(ξ)


flatten = Flatten()


# %% right: a sorted dict
def flatten(x):
    if type(x) is dict:
        x = dict(sorted(x.items(), key=lambda item: item[0]))
        return tuple(x.values()), tuple(x.keys())
    return list(x or []), None


# %% wrong: not sorted
# You took the dict in the order in which it was filled: equal dicts must have equal leaves, so
# sort the keys.
def flatten(x):
    if isinstance(x, dict):
        return list(x.values()), tuple(x)
    return (() if x is None else x), None


# %% wrong: sorted values
# You sorted the values: sort the keys, and take the values in the order of the keys.
def flatten(x):
    if isinstance(x, dict):
        keys = sorted(x)
        return sorted(x.values(), key=str), tuple(keys)
    return (() if x is None else x), None


# %% wrong: sorted as text
# You sorted the keys as text, where 10 comes before 9: sort the keys themselves.
def flatten(x):
    if isinstance(x, dict):
        keys = sorted(x, key=str)
        return [x[key] for key in keys], tuple(keys)
    return (() if x is None else x), None


# %% wrong: the keys in another order
# Your children are in the order of the sorted keys, your metadata are not: values come back under
# other keys.
def flatten(x):
    if isinstance(x, dict):
        return [x[key] for key in sorted(x)], tuple(x)
    return (() if x is None else x), None


# %% wrong: backwards
# You sorted the keys from large to small: the smallest comes first.
def flatten(x):
    if isinstance(x, dict):
        keys = sorted(x, reverse=True)
        return [x[key] for key in keys], tuple(keys)
    return (() if x is None else x), None


# %% wrong: to the bottom
# You went down to the leaves: take one level apart, and leave the containers in it whole.
def flatten(x):
    def leaves(x):
        if isinstance(x, dict):
            return [leaf for key in sorted(x) for leaf in leaves(x[key])]
        if isinstance(x, (list, tuple)):
            return [leaf for child in x for leaf in leaves(child)]
        return [] if x is None else [x]

    return leaves(x), tuple(sorted(x)) if isinstance(x, dict) else None


# %% wrong: None is forgotten
# You forgot None: it is a container without children.
def flatten(x):
    if isinstance(x, dict):
        keys = sorted(x)
        return [x[key] for key in keys], tuple(keys)
    if isinstance(x, (list, tuple)):
        return x, None
    return None


# %% wrong: None as a child
# Flattening never ends: you made None a child of itself, or you called a function of jax.tree,
# which calls yours again.
def flatten(x):
    if isinstance(x, dict):
        keys = sorted(x)
        return [x[key] for key in keys], tuple(keys)
    return ([None] if x is None else x), None


# %% wrong: the package's flatten
# Flattening never ends: you made None a child of itself, or you called a function of jax.tree,
# which calls yours again.
def flatten(x):
    return jax.tree.flatten(x)


# %% wrong: an empty dict
# You returned None as the metadata of a dict: without the tuple of its keys, even if it is empty,
# nobody can build the dict again.
def flatten(x):
    if not x:
        return [], None
    if isinstance(x, dict):
        keys = sorted(x)
        return [x[key] for key in keys], tuple(keys)
    return x, None


# %% wrong: no metadata
# You returned None as the metadata of a dict: without the tuple of its keys, even if it is empty,
# nobody can build the dict again.
def flatten(x):
    if isinstance(x, dict):
        return [x[key] for key in sorted(x)], None
    return (() if x is None else x), None


# %% wrong: a list of keys
# Your metadata are a list, which Python cannot hash: jit looks structures up, so use a tuple.
def flatten(x):
    if isinstance(x, dict):
        keys = sorted(x)
        return [x[key] for key in keys], keys
    return (() if x is None else x), None


# %% wrong: pairs as children
# Your children are pairs of a key and a value: the keys belong into the metadata.
def flatten(x):
    if isinstance(x, dict):
        return sorted(x.items(), key=lambda pair: pair[0]), tuple(sorted(x))
    return (() if x is None else x), None


# %% wrong: the children alone
# You returned the children alone: return a pair, the children and the metadata.
def flatten(x):
    if isinstance(x, dict):
        return [x[key] for key in sorted(x)]
    return [] if x is None else list(x)
