# The card of the exercise unflatten. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 3
# minutes: 30

# %% [markdown] statement
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

# %% given
import tinyjax as jax


# %% stub
def unflatten(treedef, leaves):
    """The tree of this structure with these leaves."""
    raise NotImplementedError


# %% [markdown] hint
# When you come to a container in the tuple, where are its children, and how many of the things
# that you have built so far are they?

# %% [markdown] hint
# Keep a list of what is built and has no parent yet. A leaf goes to its end. A container takes as
# many things from its end as it has children, and is put there itself. In the end one thing is
# left: the tree. It is worth making a list of the leaves first, to count them.

# %% [markdown] hint
#     def unflatten(treedef, leaves):
#         leaves, built = list(leaves), []
#         if len(leaves) != ...:
#             raise ValueError(...)
#         remaining = iter(leaves)
#         for node in treedef:
#             if node is None:
#                 built.append(...)
#             else:
#                 kind, metadata, arity = node
#                 start = len(built) - ...
#                 children = tuple(built[start:])
#                 built[start:] = [...]
#         return ...

# %% checks
import tinyjax as jax
from tinyjax import tree_util
from tinyjax.learn import check, run_examples
from tinyjax.treedef import PyTreeDef


def install(student):
    """The student's function as the method."""
    PyTreeDef.unflatten = lambda treedef, leaves: student.unflatten(treedef, leaves)


def random_tree(rng, depth):
    """A nest of lists and dicts with some empty containers and None."""
    if depth == 0:
        return float(rng.integers(10, 99))
    size = int(rng.integers(2, 4))
    children = [
        random_tree(rng, depth - int(rng.integers(1, 3) if depth > 1 else 1)) for _ in range(size)
    ]
    children.insert(int(rng.integers(size)), [None, [], {}][int(rng.integers(3))])
    if rng.integers(2):
        return tuple(children) if rng.integers(2) else children
    return {str(k): child for k, child in zip(rng.permutation(list("abcdefg")), children)}


def draw(rng):
    """A tree of some depth."""
    return {"tree": [random_tree(rng, 3), {"x": 1.0, "y": [2.0, random_tree(rng, 2)]}, 3.0]}


def draw_count(rng):
    """Leaves for a list of as many, and how many others there are to be."""
    return {
        "n": int(rng.integers(3, 7)),
        "less": int(rng.integers(1, 3)),
        "more": int(rng.integers(1, 3)),
    }


def nothing(rng):
    """No inputs."""
    return {}


@check("a random tree with new leaves, and with doubled ones")
def new_leaves(student, tree):
    leaves, structure = jax.tree.flatten(tree)
    numbered = [f"{k}: {leaf}" for k, leaf in enumerate(leaves)]
    doubled = jax.tree.map(lambda x: 2 * x, (tree, [1]))
    return [jax.tree.unflatten(structure, numbered), doubled, str(jax.tree.structure(doubled))]


@check("too few leaves, and too many", draw=draw_count)
def counted(student, n, less, more):
    structure = jax.tree.structure(list(range(n)))
    outcomes = []
    for count in (n, n - less, n + more):
        try:
            outcomes.append(jax.tree.unflatten(structure, list(range(count))))
        except ValueError:
            outcomes.append(f"ValueError for {count} leaves")
    return outcomes


@check("the package's own examples", draw=nothing, draws=1)
def examples(student):
    return run_examples(tree_util.register_dataclass, tree_util.register_pytree_node_class)


# %% reference
def unflatten(treedef, leaves):
    """The tree of this structure with these leaves."""
    leaves = list(leaves)
    if len(leaves) != treedef.num_leaves:
        raise ValueError(f"{treedef} has {treedef.num_leaves} leaves, got {len(leaves)}.")
    remaining, built = iter(leaves), []  # built: subtrees whose parent is yet to come
    for node in treedef:
        if node is None:
            built.append(next(remaining))
        else:
            kind, metadata, arity = node
            start = len(built) - arity  # not -arity: with no children that would be all of them
            children = tuple(built[start:])
            built[start:] = [kind.unflatten(metadata, children)]
    (tree,) = built
    return tree


# %% right: a recursion from the root
def unflatten(treedef, leaves):
    nodes, leaves = list(treedef), [*leaves]

    def last_tree():
        """Takes the last subtree off both lists."""
        node = nodes.pop()
        if node is None:
            if not leaves:
                raise ValueError("too few leaves")
            return leaves.pop()
        kind, metadata, arity = node
        children = [last_tree() for _ in range(arity)]
        return kind.unflatten(metadata, tuple(reversed(children)))

    tree = last_tree()
    if leaves:
        raise ValueError("too many leaves")
    return tree


# %% right: by the structures of the children
def unflatten(treedef, leaves):
    leaves = tuple(leaves)
    if len(leaves) != treedef.num_leaves:
        raise ValueError("another number of leaves is needed")
    if treedef[-1] is None:
        return leaves[0]
    kind, metadata, _ = treedef[-1]
    children, start = [], 0
    for child in treedef.children():
        stop = start + child.num_leaves
        children.append(unflatten(child, leaves[start:stop]))
        start = stop
    return kind.unflatten(metadata, tuple(children))


# %% right: a class that pops
class Unflatten:
    def __call__(self, τ, leaves):
        waiting, stack = list(leaves)[::-1], []
        for node in τ:
            if node is None:
                if not waiting:
                    raise ValueError("too few")
                stack.append(waiting.pop())
                continue
            children = ()
            for _ in range(node[2]):
                children = (stack.pop(), *children)
            stack.append(node[0].unflatten(node[1], children))
        if waiting:
            raise ValueError("too many")
        return stack.pop()


unflatten = Unflatten()


# %% wrong: a list of children
# You gave kind.unflatten a list: it takes the children as a tuple, and the node type of tuples
# returns them as they are.
def unflatten(treedef, leaves):
    leaves, built = list(leaves), []
    if len(leaves) != treedef.num_leaves:
        raise ValueError("another number of leaves is needed")
    remaining = iter(leaves)
    for node in treedef:
        if node is None:
            built.append(next(remaining))
        else:
            kind, metadata, arity = node
            start = len(built) - arity
            built[start:] = [kind.unflatten(metadata, built[start:])]
    return built[0]


# %% wrong: itself
# You called treedef.unflatten, and that is your own function now: it calls itself for ever.
def unflatten(treedef, leaves):
    return treedef.unflatten(leaves)


# %% wrong: one level
# You gave all leaves to the root: a child that is a container must be built from its own leaves
# first.
def unflatten(treedef, leaves):
    leaves = tuple(leaves)
    if len(leaves) != treedef.num_leaves:
        raise ValueError("another number of leaves is needed")
    if treedef[-1] is None:
        return leaves[0]
    kind, metadata, _ = treedef[-1]
    return kind.unflatten(metadata, leaves)


# %% wrong: backwards
# You took the children off the end one by one, so they are in reverse order: turn them round.
def unflatten(treedef, leaves):
    leaves, built = list(leaves), []
    if len(leaves) != treedef.num_leaves:
        raise ValueError("another number of leaves is needed")
    remaining = iter(leaves)
    for node in treedef:
        if node is None:
            built.append(next(remaining))
        else:
            kind, metadata, arity = node
            children = tuple(built.pop() for _ in range(arity))
            built.append(kind.unflatten(metadata, children))
    return built[0]


# %% wrong: leaves from the end
# You took the leaves from the end of the list: the first leaf comes first.
def unflatten(treedef, leaves):
    leaves, built = list(leaves), []
    if len(leaves) != treedef.num_leaves:
        raise ValueError("another number of leaves is needed")
    for node in treedef:
        if node is None:
            built.append(leaves.pop())
        else:
            kind, metadata, arity = node
            start = len(built) - arity
            built[start:] = [kind.unflatten(metadata, tuple(built[start:]))]
    return built[0]


# %% wrong: the last zero
# You wrote built[-arity:], and for an empty container built[-0:] is all there is: count from the
# front, with len(built) - arity.
def unflatten(treedef, leaves):
    leaves, built = list(leaves), []
    if len(leaves) != treedef.num_leaves:
        raise ValueError("another number of leaves is needed")
    remaining = iter(leaves)
    for node in treedef:
        if node is None:
            built.append(next(remaining))
        else:
            kind, metadata, arity = node
            built[-arity:] = [kind.unflatten(metadata, tuple(built[-arity:]))]
    return built[0]


# %% wrong: the children stay
# You left the children among what has no parent yet: take them away when their parent is built.
def unflatten(treedef, leaves):
    leaves, built = list(leaves), []
    if len(leaves) != treedef.num_leaves:
        raise ValueError("another number of leaves is needed")
    remaining = iter(leaves)
    for node in treedef:
        if node is None:
            built.append(next(remaining))
        else:
            kind, metadata, arity = node
            built.append(kind.unflatten(metadata, tuple(built[len(built) - arity :])))
    return built[-1]


# %% wrong: the length of a map
# You asked for the length of leaves, but jax.tree.map hands over a map object, which has none:
# make a list of it first.
def unflatten(treedef, leaves):
    if len(leaves) != treedef.num_leaves:
        raise ValueError("another number of leaves is needed")
    remaining, built = iter(leaves), []
    for node in treedef:
        if node is None:
            built.append(next(remaining))
        else:
            kind, metadata, arity = node
            start = len(built) - arity
            built[start:] = [kind.unflatten(metadata, tuple(built[start:]))]
    return built[0]


# %% wrong: nobody counts
# You ignore leaves that are left over: too many are a ValueError, and too few are one, too.
def unflatten(treedef, leaves):
    remaining, built = iter(leaves), []
    for node in treedef:
        if node is None:
            built.append(next(remaining))
        else:
            kind, metadata, arity = node
            start = len(built) - arity
            built[start:] = [kind.unflatten(metadata, tuple(built[start:]))]
    return built[0]


# %% wrong: too few alone
# You noticed too few leaves, but not too many: any other number than treedef.num_leaves is an
# error.
def unflatten(treedef, leaves):
    leaves, built = list(leaves), []
    if len(leaves) < treedef.num_leaves:
        raise ValueError("too few leaves")
    remaining = iter(leaves)
    for node in treedef:
        if node is None:
            built.append(next(remaining))
        else:
            kind, metadata, arity = node
            start = len(built) - arity
            built[start:] = [kind.unflatten(metadata, tuple(built[start:]))]
    return built[0]


# %% wrong: the four containers
# You built the containers of Python yourself, and met a class that somebody has registered:
# kind.unflatten knows how to build each of them.
def unflatten(treedef, leaves):
    leaves, built = list(leaves), []
    if len(leaves) != treedef.num_leaves:
        raise ValueError("another number of leaves is needed")
    remaining = iter(leaves)
    for node in treedef:
        if node is None:
            built.append(next(remaining))
            continue
        kind, metadata, arity = node
        start = len(built) - arity
        children = built[start:]
        if kind.cls is dict:
            tree = dict(zip(metadata, children))
        elif kind.cls is type(None):
            tree = None
        else:
            tree = kind.cls(children)
        built[start:] = [tree]
    return built[0]
