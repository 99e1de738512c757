"""Prefix trees, and how to say in which place two trees differ.

A prefix of a tree is the same tree cut off higher up: `(0, None)` is a prefix of
`(x, {"w": w, "b": b})`. Each leaf of the prefix then speaks for all leaves below its place,
as `in_axes` of `vmap` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tinyjax.tree_paths import KeyPath, keystr
from tinyjax.tree_registry import is_tree_node
from tinyjax.treedef import PyTreeDef, flatten_one_level_with_keys, tree_flatten, tree_structure

# ----------------------------------------------------------------------------- differences


class PytreeLeaf:
    """Stands for the leaves of a tree of which only the treedef is known."""

    def __repr__(self):
        """Name it for messages."""
        return "pytree leaf"


class _Difference(NamedTuple):
    """In what two roots differ, and what stands on either side."""

    what: str
    left: str
    right: str
    explanation: str


def _describe(tree) -> str:
    """The class of a root."""
    if type(tree) is PytreeLeaf:
        return "pytree leaf"
    return str(type(tree))


def _placeholder(treedef: PyTreeDef) -> Any:
    """Some tree with the given structure."""
    return treedef.unflatten([PytreeLeaf()] * treedef.num_leaves)


def _compare_roots(a, b) -> _Difference | list[tuple[Any, Any, Any]]:
    """How the roots differ, or else triples (key, child of a, child of b). `a` is a node."""
    if type(a) is not type(b):
        return _Difference("types", _describe(a), _describe(b), "their Python types differ")
    pairs_a, meta_a = flatten_one_level_with_keys(a)
    pairs_b, meta_b = flatten_one_level_with_keys(b)
    name = _describe(a)
    if len(pairs_a) != len(pairs_b):
        if isinstance(a, (list, tuple)):
            return _Difference(
                f"lengths of {type(a).__name__}",
                f"{type(a).__name__} of length {len(pairs_a)}",
                f"{type(b).__name__} of length {len(pairs_b)}",
                "the lengths do not match",
            )
        only = [k for k, _ in pairs_a if k not in dict(pairs_b)]
        only += [k for k, _ in pairs_b if k not in dict(pairs_a)]
        names = ", ".join([keystr((k,), simple=True) for k in only])
        return _Difference(
            "numbers of pytree children",
            f"{name} with {_count_keys(pairs_a)}",
            f"{name} with {_count_keys(pairs_b)}",
            f"the numbers of children do not match; the symmetric difference of key sets is "
            f"{{{names}}}",
        )
    if meta_a != meta_b:
        return _Difference(
            "pytree metadata",
            f"{name} with pytree metadata {meta_a}",
            f"{name} with pytree metadata {meta_b}",
            "the pytree node metadata does not match",
        )
    return [(k, x, y) for (k, x), (_, y) in zip(pairs_a, pairs_b, strict=True)]


def _count_keys(pairs) -> str:
    """The number of children and their keys."""
    noun = "child" if len(pairs) == 1 else "children"
    keys = ", ".join([keystr((k,), simple=True) for k, _ in pairs])
    return f"{len(pairs)} {noun} ({keys})"


def equality_errors(tree1: Any, tree2: Any) -> Iterator[tuple[KeyPath, str, str, str]]:
    """Where the structures of two pytrees differ: (path, thing 1, thing 2, explanation).

    Accepts treedefs in place of trees.

    >>> [(path, *things)] = equality_errors([1, (2, 3)], [1, (2,)])
    >>> keystr(path), things
    ('[1]', ['tuple of length 2', 'tuple of length 1', 'the lengths do not match'])
    """
    if isinstance(tree1, PyTreeDef):
        tree1 = _placeholder(tree1)
    if isinstance(tree2, PyTreeDef):
        tree2 = _placeholder(tree2)
    return _equality_errors((), tree1, tree2)


def _equality_errors(path, a, b):
    """Walk down both trees as far as they agree."""
    if not is_tree_node(type(a)) and not is_tree_node(type(b)):
        return
    found = _compare_roots(a, b)
    if isinstance(found, _Difference):
        yield path, found.left, found.right, found.explanation
        return
    for key, x, y in found:
        yield from _equality_errors((*path, key), x, y)


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[Callable[[str], ValueError]]:
    """Every reason why `prefix_tree` is not a prefix of `full_tree` (a tree or a treedef).

    Each element makes an exception from the name by which the user knows the prefix tree.

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
    if isinstance(full_tree, PyTreeDef):
        full_tree = _placeholder(full_tree)
    return list(_prefix_errors((), prefix_tree, full_tree, is_leaf))


def _prefix_errors(path, prefix, full, is_leaf):
    """Walk down as far as the trees agree, or to the leaves of the prefix."""
    if not is_tree_node(type(prefix)) or (is_leaf is not None and is_leaf(prefix)):
        return
    found = _compare_roots(prefix, full)
    if isinstance(found, _Difference):

        def error(name):
            return ValueError(
                f"pytree structure error: different {found.what} at key path\n"
                f"    {name}{keystr(path)}\n"
                f"At that key path, the prefix pytree {name} has a subtree of\n"
                f"    {found.left}\n"
                f"but the full pytree has a subtree of\n"
                f"    {found.right}\n"
                f"({found.explanation})."
            )

        yield error
        return
    for key, x, y in found:
        yield from _prefix_errors((*path, key), x, y, is_leaf)


def match_prefix(treedef, prefix, full, is_leaf, name: str) -> list[Any]:
    """`treedef.flatten_up_to(full)`, whose errors give the key path.

    `treedef` is the structure of the tree `prefix`, which messages call `name`.
    """
    try:
        return treedef.flatten_up_to(full)
    except ValueError as e:
        errors = prefix_errors(prefix, full, is_leaf)
        raise (errors[0](name) if errors else e) from None


# ---------------------------------------------------------------------------- broadcasting


def broadcast_prefix(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[Any]:
    """One entry for every leaf of `full_tree`: the leaf of the prefix above it.

    `full_tree` is a pytree or a treedef. `is_leaf` is asked about the prefix; pass
    `lambda x: x is None` where None is a value (as an axis is) rather than an empty node.
    Raises ValueError that names the key path if `prefix_tree` is not a prefix.

    >>> broadcast_prefix((0, None), (1, [2, 3]), is_leaf=lambda x: x is None)
    [0, None, None]
    """
    return _broadcast(prefix_tree, full_tree, is_leaf, _first_prefix_error)


def _first_prefix_error(errors) -> ValueError:
    """The error of `broadcast_prefix`."""
    return errors[0]("broadcast_prefix prefix_tree")


def _broadcast(prefix_tree, full_tree, is_leaf, explain) -> list[Any]:
    """As `broadcast_prefix`; `explain(prefix errors)` makes the error to raise."""
    leaves, prefix = tree_flatten(prefix_tree, is_leaf)
    full = full_tree if isinstance(full_tree, PyTreeDef) else tree_structure(full_tree)
    counts: list[int] = []
    if not _count_leaves(prefix, full, counts):
        raise explain(prefix_errors(prefix_tree, full_tree, is_leaf))
    out = []
    for leaf, count in zip(leaves, counts, strict=True):
        out.extend([leaf] * count)
    return out


def _count_leaves(prefix: PyTreeDef, full: PyTreeDef, counts: list[int]) -> bool:
    """Append how many leaves of `full` each leaf of `prefix` covers; False if it is none."""
    if prefix.node_data() is None:
        counts.append(full.num_leaves)
        return True
    mine, theirs = prefix.children(), full.children()
    if prefix.node_data() != full.node_data() or len(mine) != len(theirs):
        return False
    return all(_count_leaves(p, f, counts) for p, f in zip(mine, theirs))


def flatten_axes(name: str, treedef: PyTreeDef, axes: Any, *, tupled_args: bool = False):
    """The axis of every leaf of `treedef`, from a prefix tree of ints and Nones.

    `name` is what the user calls the prefix ("vmap in_axes"); with `tupled_args` the tree is
    an argument list, and errors say how a specification for it is written.

    >>> flatten_axes("vmap in_axes", tree_structure((1, {"a": 2, "b": 3})), (None, 0))
    [None, 0, 0]
    """

    def explain(errors):
        hint = ""
        if tupled_args:
            hint = (
                f" Note that {name} that are non-trivial pytrees should always be wrapped in a "
                "tuple representing the argument list."
            )
            if len(treedef.children()) == 1 and not prefix_errors((axes,), treedef, _is_none):
                hint += f" For a single argument that is a singleton tuple: ({axes!r},)."
        details = "\n".join([str(error(name)) for error in errors])
        return ValueError(
            f"{name} specification must be a tree prefix of the corresponding value.{hint}\n"
            f"Mismatch details ({len(errors)} found):\n{details}"
        )

    return _broadcast(axes, treedef, _is_none, explain)


def _is_none(x) -> bool:
    """None is an axis: not mapped."""
    return x is None
