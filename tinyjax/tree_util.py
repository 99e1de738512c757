"""Pytrees: trees of tuples, lists, dicts and registered classes with anything at the leaves.

This is the public face. Below it: `tree_paths` (names of places), `tree_registry` (what is a
container), `treedef` (structure and flattening), `tree_prefix` (prefixes and mismatches).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from tinyjax.tree_paths import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    keystr,
)
from tinyjax.tree_prefix import (
    broadcast_prefix,
    equality_errors,
    flatten_axes,
    match_prefix,
    prefix_errors,
)
from tinyjax.tree_registry import (
    is_tree_node,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from tinyjax.treedef import (
    PyTreeDef,
    flatten_one_level,
    flatten_one_level_with_keys,
    tree_flatten,
    tree_flatten_with_path,
    tree_structure,
    treedef_tuple,
)

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "broadcast_prefix",
    "equality_errors",
    "flatten_axes",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "prefix_errors",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

IsLeaf = Callable[[Any], bool]


class _Unspecified:
    """The default of arguments for which None is a value."""

    def __repr__(self):
        """Print in signatures."""
        return "<unspecified>"


_UNSPECIFIED = _Unspecified()


# ----------------------------------------------------------------------- leaves and treedefs


def tree_leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a pytree from left to right; `is_leaf` as in `tree_flatten`.

    >>> tree_leaves({"b": 2, "a": (1, None)})
    [1, 2]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """Pairs (key path, leaf); arguments as in `tree_flatten_with_path`.

    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The pytree with this structure and these leaves; ValueError if their number is wrong.

    >>> leaves, treedef = tree_flatten({"a": 1, "b": [2]})
    >>> tree_unflatten(treedef, [10, 20])
    {'a': 10, 'b': [20]}
    """
    return treedef.unflatten(leaves)


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the root's children.

    >>> treedef_children(tree_structure([(1, 2), 3]))
    [PyTreeDef((*, *)), PyTreeDef(*)]
    """
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the tree is a single node: a leaf or an empty container.

    >>> treedef_is_leaf(tree_structure(1)), treedef_is_leaf(tree_structure([1]))
    (True, False)
    """
    return treedef.num_nodes == 1


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf | None = None) -> bool:
    """Whether every element is a leaf.

    >>> all_leaves([1, 2.0, "three"]), all_leaves([1, (2, 3)])
    (True, False)
    """
    items = list(iterable)
    if is_leaf is None:
        return not any(is_tree_node(type(x)) for x in items)
    leaves = tree_leaves(items, is_leaf)
    if len(leaves) != len(items):
        return False
    return all(x is y for x, y in zip(items, leaves))


# ----------------------------------------------------------------------------------- maps


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Apply `f` to every leaf; with more trees, to the leaves in the same places.

    `tree` may be a prefix of the `rest`: `f` then gets whole subtrees of these. Raises
    ValueError that names the key path where the structures differ.

    >>> tree_map(lambda p, g: p - g, {"w": 3, "b": 1}, {"w": 1, "b": 1})
    {'b': 0, 'w': 2}
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(x) for x in leaves])
    columns = [match_prefix(treedef, tree, r, is_leaf, "tree_map tree") for r in rest]
    return treedef.unflatten([f(*xs) for xs in zip(leaves, *columns, strict=True)])


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """As `tree_map`, calling `f(key_path, leaf, ...)`.

    >>> tree_map_with_path(lambda path, x: f"{keystr(path)}={x}", {"a": [1]})
    {'a': ["['a'][0]=1"]}
    """
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    # Where a mismatch is looked for, is_leaf gets no path: give it the leaves found already.
    found = [x for _, x in pairs]
    is_found = None
    if is_leaf is not None:
        is_found = lambda x: any(x is leaf for leaf in found)
    name = "tree_map_with_path tree"
    columns = [match_prefix(treedef, tree, r, is_found, name) for r in rest]
    return treedef.unflatten([f(p, x, *xs) for (p, x), *xs in zip(pairs, *columns, strict=True)])


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """A tree like `full_tree` with the leaves of a prefix tree repeated below their places.

    >>> tree_broadcast((0, 1), ([7, 8], {"a": 9}))
    ([0, 0], {'a': 1})
    """
    return tree_structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
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


# ------------------------------------------------------------------------------ reductions


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """`functools.reduce` over the leaves; TypeError for no leaves and no initializer.

    >>> tree_reduce(lambda a, b: a + b, {"x": 1, "y": (2, 3)})
    6
    """
    leaves = tree_leaves(tree, is_leaf)
    if initializer is _UNSPECIFIED:
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _UNSPECIFIED,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Reduce the leaves by halves, to a depth that is the logarithm of their number.

    `identity` is the result for a tree without leaves, which else raises TypeError.

    >>> tree_reduce_associative(lambda a, b: f"({a}{b})", list("wxyz"))
    '((wx)(yz))'
    """
    leaves = tree_leaves(tree, is_leaf)
    if leaves:
        return _reduce_halves(operation, leaves)
    if identity is _UNSPECIFIED:
        raise TypeError(
            "tree_reduce_associative: the tree has no leaves, specify identity for the "
            "reduction of an empty sequence."
        )
    return identity


def _reduce_halves(operation, items):
    """Reduce each half, then combine."""
    if len(items) == 1:
        return items[0]
    middle = len(items) // 2
    left = _reduce_halves(operation, items[:middle])
    return operation(left, _reduce_halves(operation, items[middle:]))


def tree_all(tree: Any, *, is_leaf: IsLeaf | None = None) -> bool:
    """Whether all leaves are true.

    >>> tree_all({"a": True, "b": [True, False]})
    False
    """
    return all(tree_leaves(tree, is_leaf))


# --------------------------------------------------------------------------------- Partial


class _HashableCallableShim:
    """Hides a functools.partial, which another one would merge with itself.

    Which arguments are leaves must stay as written: those of the outer Partial alone.
    """

    __slots__ = ("fun",)

    def __init__(self, fun):
        """Wrap `fun`."""
        self.fun = fun

    def __call__(self, *args, **kwargs):
        """Call it."""
        return self.fun(*args, **kwargs)

    def __hash__(self):
        """Hash as it."""
        return hash(self.fun)

    def __eq__(self, other):
        """Compare as it."""
        if isinstance(other, _HashableCallableShim):
            return self.fun == other.fun
        return self.fun == other

    def __repr__(self):
        """Show it."""
        return f"_HashableCallableShim({self.fun!r})"


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


register_pytree_node(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
