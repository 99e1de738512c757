"""Pytrees: trees of tuples, lists, dicts and registered classes with anything at the leaves.

This is the public face. Below it: `tree_registry` (what is a container, what its children are
called) and `treedef` (structure and flattening).
"""

import dataclasses
import functools
import operator
from collections.abc import Callable

from tinyjax.tree_registry import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    is_tree_node,
    keystr,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from tinyjax.treedef import (
    PyTreeDef,
    covered_leaves,
    flatten_one_level,
    flatten_one_level_with_keys,
    tree_flatten,
    tree_flatten_with_path,
    tree_structure,
    treedef_tuple,
)

_NOTHING = object()  # the default of arguments for which None is a value

# ---- leaves and treedefs ------------------------------------------------------------------------


def tree_leaves(tree, is_leaf=None):
    """The leaves of a pytree from left to right; `is_leaf` as in `tree_flatten`.

    >>> tree_leaves({"b": 2, "a": (1, None)})
    [1, 2]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_leaves_with_path(tree, is_leaf=None, is_leaf_takes_path=False):
    """Pairs (key path, leaf); arguments as in `tree_flatten_with_path`.

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_unflatten(treedef, leaves):
    """The pytree with this structure and these leaves; ValueError if their number is wrong.

    >>> leaves, treedef = tree_flatten({"a": 1, "b": [2]})
    >>> tree_unflatten(treedef, [10, 20])
    {'a': 10, 'b': [20]}
    """
    return treedef.unflatten(leaves)


def treedef_children(treedef):
    """The structures of the root's children.

    >>> treedef_children(tree_structure([(1, 2), 3]))
    [PyTreeDef((*, *)), PyTreeDef(*)]
    """
    return treedef.children()


def treedef_is_leaf(treedef):
    """Whether the tree is a single node: a leaf or an empty container.

    >>> treedef_is_leaf(tree_structure(1)), treedef_is_leaf(tree_structure([1]))
    (True, False)
    """
    return treedef.num_nodes == 1


def all_leaves(iterable, is_leaf=None):
    """Whether every element is a leaf.

    >>> all_leaves([1, 2.0, "three"]), all_leaves([1, (2, 3)])
    (True, False)
    """
    items = list(iterable)
    leaves = tree_leaves(items, is_leaf)
    return len(leaves) == len(items) and all(map(operator.is_, leaves, items))


# ---- maps ---------------------------------------------------------------------------------------


def tree_map(f, tree, *rest, is_leaf=None):
    """Apply `f` to every leaf; with more trees, to the leaves in the same places.

    `tree` may be a prefix of the `rest`: `f` then gets whole subtrees of these. Raises
    ValueError that names the key path where the structures differ.

    >>> tree_map(lambda p, g: p - g, {"w": 3, "b": 1}, {"w": 1, "b": 1})
    {'b': 0, 'w': 2}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    columns = [_up_to(treedef, leaves, tree, other, "tree_map tree") for other in rest]
    return treedef.unflatten(map(f, leaves, *columns))


def tree_map_with_path(f, tree, *rest, is_leaf=None, is_leaf_takes_path=False):
    """As `tree_map`, calling `f(key_path, leaf, ...)`.

    >>> tree_map_with_path(lambda path, x: f"{keystr(path)}={x}", {"a": [1]})
    {'a': ["['a'][0]=1"]}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    paths, leaves = [path for path, _ in pairs], [x for _, x in pairs]
    columns = [_up_to(treedef, leaves, tree, other, "tree_map_with_path tree") for other in rest]
    return treedef.unflatten(map(f, paths, leaves, *columns))


def _up_to(treedef, leaves, tree, other, name):
    """The subtrees of `other` in the places of the leaves of `tree`, or an error with a path."""
    try:
        return treedef.flatten_up_to(other)
    except ValueError as e:
        errors = prefix_errors(tree, other, lambda x: any(x is leaf for leaf in leaves))
        raise (errors[0](name) if errors else e) from None


def tree_broadcast(prefix_tree, full_tree, is_leaf=None):
    """A tree like `full_tree` with the leaves of a prefix tree repeated below their places.

    >>> tree_broadcast((0, 1), ([7, 8], {"a": 9}))
    ([0, 0], {'a': 1})
    """
    return tree_structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))


def tree_transpose(outer_treedef, inner_treedef, pytree_to_transpose):
    """Turn a tree of trees inside out: a list of pairs becomes a pair of lists.

    Without `inner_treedef` it is the structure of the first inner tree. Raises TypeError if
    the tree does not consist of `inner_treedef` in the places of `outer_treedef`.

    >>> outer, inner = tree_structure([0, 0, 0]), tree_structure((0, 0))
    >>> tree_transpose(outer, inner, [(1, 2), (3, 4), (5, 6)])
    ([1, 3, 5], [2, 4, 6])
    """
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    size = inner_treedef.num_leaves
    if len(leaves) != outer_treedef.num_leaves * size:
        raise TypeError(f"Mismatch\n{treedef}\n != \n{outer_treedef.compose(inner_treedef)}")
    columns = [leaves[i::size] for i in range(size)]
    return inner_treedef.unflatten([outer_treedef.unflatten(column) for column in columns])


# ---- reductions ---------------------------------------------------------------------------------


def tree_reduce(function, tree, initializer=_NOTHING, is_leaf=None):
    """`functools.reduce` over the leaves; TypeError for no leaves and no initializer.

    >>> tree_reduce(lambda a, b: a + b, {"x": 1, "y": (2, 3)})
    6
    """
    start = () if initializer is _NOTHING else (initializer,)
    return functools.reduce(function, tree_leaves(tree, is_leaf), *start)


def tree_reduce_associative(operation, tree, *, identity=_NOTHING, is_leaf=None):
    """Reduce the leaves by halves, to a depth that is the logarithm of their number.

    `identity` is the result for a tree without leaves, which else raises TypeError.

    >>> tree_reduce_associative(lambda a, b: f"({a}{b})", list("wxyz"))
    '((wx)(yz))'
    """

    def halves(items):
        if len(items) == 1:
            return items[0]
        middle = len(items) // 2
        return operation(halves(items[:middle]), halves(items[middle:]))

    leaves = tree_leaves(tree, is_leaf)
    if not leaves and identity is _NOTHING:
        raise TypeError("tree_reduce_associative of an empty tree: specify identity.")
    return halves(leaves or [identity])


def tree_all(tree, *, is_leaf=None):
    """Whether all leaves are true.

    >>> tree_all({"a": True, "b": [True, False]})
    False
    """
    return all(tree_leaves(tree, is_leaf))


# ---- mismatches ---------------------------------------------------------------------------------

_LEAF = object()  # stands for the leaves of a tree of which only the treedef is known


def equality_errors(tree1, tree2):
    """Where the structures of two pytrees differ: (path, thing 1, thing 2, explanation).

    Accepts treedefs in place of trees.

    >>> [(path, *things)] = equality_errors([1, (2, 3)], [1, (2,)])
    >>> keystr(path), things
    ('[1]', ['tuple of length 2', 'tuple of length 1', 'the lengths do not match'])
    """
    both_leaves = lambda x, y: not is_tree_node(type(x)) and not is_tree_node(type(y))
    found = _mismatches((), _as_tree(tree1), _as_tree(tree2), both_leaves)
    return ((path, left, right, why) for path, _, left, right, why in found)


def prefix_errors(prefix_tree, full_tree, is_leaf=None):
    """Every reason why `prefix_tree` is not a prefix of `full_tree` (a tree or a treedef).

    A prefix of a tree is the same tree cut off higher up: `(0, None)` is a prefix of
    `(x, {"w": w, "b": b})`. Each leaf of the prefix then speaks for all leaves below its place,
    as `in_axes` of `vmap` does. Each element of the list makes an exception from the name by
    which the user knows the prefix tree.

    >>> [error] = prefix_errors([0, [0]], [1, (2, 3)])
    >>> print(error("in_axes"))
    pytree structure error: different types at key path
        in_axes[1]
    At that key path, the prefix pytree in_axes has a subtree of
        <class 'list'>
    but the full pytree has a subtree of
        <class 'tuple'>
    (their Python types differ).
    """

    def prefix_ends(x, y):
        return not is_tree_node(type(x)) or (is_leaf is not None and is_leaf(x))

    found = _mismatches((), prefix_tree, _as_tree(full_tree), prefix_ends)
    return [functools.partial(_prefix_error, *mismatch) for mismatch in found]


def _prefix_error(path, what, left, right, why, name):
    """The exception for one mismatch with a prefix tree called `name`."""
    return ValueError(
        f"pytree structure error: different {what} at key path\n    {name}{keystr(path)}\n"
        f"At that key path, the prefix pytree {name} has a subtree of\n    {left}\n"
        f"but the full pytree has a subtree of\n    {right}\n({why})."
    )


def _as_tree(tree):
    """A tree as it is, and for a treedef some tree of that structure."""
    return tree.unflatten([_LEAF] * tree.num_leaves) if isinstance(tree, PyTreeDef) else tree


def _mismatches(path, a, b, ends):
    """(path, what differs, left, right, why), where two trees part; not below where one `ends`."""
    if ends(a, b):
        return
    if type(a) is not type(b):
        yield path, "types", _describe(a), _describe(b), "their Python types differ"
        return
    pairs_a, meta_a = flatten_one_level_with_keys(a)
    pairs_b, meta_b = flatten_one_level_with_keys(b)
    if len(pairs_a) != len(pairs_b) and isinstance(a, (list, tuple)):
        name = type(a).__name__
        lengths = [f"{name} of length {len(pairs)}" for pairs in (pairs_a, pairs_b)]
        yield path, f"lengths of {name}", *lengths, "the lengths do not match"
    elif len(pairs_a) != len(pairs_b):
        counts = [f"{_describe(a)} with {_count_children(pairs)}" for pairs in (pairs_a, pairs_b)]
        keys_a, keys_b = dict(pairs_a), dict(pairs_b)
        only = [k for k, _ in pairs_a + pairs_b if (k in keys_a) != (k in keys_b)]
        why = "the numbers of children do not match; the symmetric difference of key sets is "
        yield path, "numbers of pytree children", *counts, f"{why}{{{_names(only)}}}"
    elif meta_a != meta_b:
        both = [f"{_describe(a)} with pytree metadata {meta}" for meta in (meta_a, meta_b)]
        yield path, "pytree metadata", *both, "the pytree node metadata does not match"
    else:
        for (key, x), (_, y) in zip(pairs_a, pairs_b):
            yield from _mismatches((*path, key), x, y, ends)


def _describe(tree):
    """The class of a root."""
    return "pytree leaf" if tree is _LEAF else str(type(tree))


def _count_children(pairs):
    """The number of children and their keys."""
    noun = "child" if len(pairs) == 1 else "children"
    return f"{len(pairs)} {noun} ({_names(key for key, _ in pairs)})"


def _names(keys):
    """Keys for messages."""
    names = [keystr((key,), simple=True) for key in keys]
    if len(names) > 8:  # a long list hides what it is there to show
        names = [*names[:5], f"and {len(names) - 5} more"]
    return ", ".join(names)


# ---- prefixes -----------------------------------------------------------------------------------


def broadcast_prefix(prefix_tree, full_tree, is_leaf=None):
    """One entry for every leaf of `full_tree`: the leaf of the prefix above it.

    `full_tree` is a pytree or a treedef. `is_leaf` is asked about the prefix; pass
    `lambda x: x is None` where None is a value (as an axis is) rather than an empty node.
    Raises ValueError that names the key path if `prefix_tree` is not a prefix.

    >>> broadcast_prefix((0, None), (1, [2, 3]), is_leaf=lambda x: x is None)
    [0, None, None]
    """
    leaves, prefix = tree_flatten(prefix_tree, is_leaf)
    full = full_tree if isinstance(full_tree, PyTreeDef) else tree_structure(full_tree)
    counts = covered_leaves(prefix, full)
    if counts is None:
        raise prefix_errors(prefix_tree, full_tree, is_leaf)[0]("broadcast_prefix prefix_tree")
    return [leaf for leaf, count in zip(leaves, counts) for _ in range(count)]


# ---- Partial ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _HashableCallableShim:
    """Hides a functools.partial, which another one would merge with itself.

    Which arguments are leaves must stay as written: those of the outer Partial alone.
    """

    fun: Callable

    def __repr__(self):
        return f"_HashableCallableShim({self.fun!r})"

    def __call__(self, *args, **kwargs):
        return self.fun(*args, **kwargs)


class Partial(functools.partial):
    """`functools.partial` as a pytree: the bound arguments are leaves, the function static.

    It can be passed into and out of transformed functions, which a plain function cannot.

    >>> add = Partial(lambda a, b: a + b, 1)
    >>> add(2), tree_leaves(add)
    (3, [1])
    """

    def __new__(cls, func, /, *args, **kwargs):
        """Bind arguments to `func`."""
        if isinstance(func, functools.partial):
            func = _HashableCallableShim(func)
        return super().__new__(cls, func, *args, **kwargs)


_parts = lambda partial: ((partial.args, partial.keywords), partial.func)
register_pytree_node(Partial, _parts, lambda func, xs: Partial(func, *xs[0], **xs[1]))
