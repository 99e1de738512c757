"""Treedefs and flattening: the structure of a pytree apart from its leaves.

Flattening lies on the path of every jit call, so treedefs are shared: flattening writes a flat
*signature* of the structure, and a table from signatures to treedefs returns the object built
the first time. Equal structures are then mostly the same object, with its hash already known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from tinyjax.tree_paths import KeyPath
from tinyjax.tree_registry import NONE_TYPE, NodeType, node_types, plain_aux

# --------------------------------------------------------------------------------- treedef


class PyTreeDef:
    """The structure of a pytree without its leaves: immutable, hashable, comparable.

    Made by `tree_flatten` and `tree_structure`. `num_leaves` counts leaves, `num_nodes`
    leaves and containers.

    >>> tree_structure({"b": [1, None], "a": 2})
    PyTreeDef({'a': *, 'b': [*, None]})
    """

    __slots__ = ("num_leaves", "num_nodes", "_kind", "_aux", "_children", "_hash")

    num_leaves: int
    num_nodes: int

    def __init__(self, kind: NodeType | None, aux: Any, children: tuple[PyTreeDef, ...]):
        """A node of type `kind` (None: a leaf) with metadata `aux`."""
        self._kind = kind
        self._aux = plain_aux(aux)
        self._children = children
        self.num_nodes = 1 + sum([c.num_nodes for c in children])
        self.num_leaves = 1 if kind is None else sum([c.num_leaves for c in children])
        # Metadata of custom nodes may be unhashable, so it takes part in == alone.
        keys = self._aux if kind is not None and kind.cls is dict else None
        self._hash = hash((kind, keys, children))

    # ---- comparing and printing

    def __hash__(self):
        """The hash, computed when the treedef was built."""
        return self._hash

    def __eq__(self, other):
        """Same containers, same metadata, same places of leaves."""
        if self is other:
            return True
        if type(other) is not PyTreeDef:
            return NotImplemented
        return (
            self._hash == other._hash
            and self._kind is other._kind
            and bool(self._aux == other._aux)
            and self._children == other._children
        )

    def __repr__(self):
        """The tree with `*` for leaves."""
        return f"PyTreeDef({self._body()})"

    def _body(self) -> str:
        """What stands between the parentheses of the repr."""
        if self._kind is None:
            return "*"
        children = [c._body() for c in self._children]
        inside = ", ".join(children)
        cls = self._kind.cls
        if cls is NONE_TYPE:
            return "None"
        if cls is tuple:
            return f"({inside},)" if len(children) == 1 else f"({inside})"
        if cls is list:
            return f"[{inside}]"
        if cls is dict:
            items = zip(self._aux, children, strict=True)
            return "{" + ", ".join([f"{k!r}: {c}" for k, c in items]) + "}"
        if self._kind.is_namedtuple:
            return f"CustomNode(namedtuple[{cls.__name__}], [{inside}])"
        return f"CustomNode({cls.__name__}[{self._aux}], [{inside}])"

    def __reduce__(self):
        """Pickle by class, since node types hold functions."""
        if self._kind is None:
            return _rebuild, (None, None, ())
        return _rebuild, (self._kind.cls, self._aux, self._children)

    # ---- looking inside

    def children(self) -> list[PyTreeDef]:
        """The treedefs of the children.

        >>> tree_structure([1, (2, 3)]).children()
        [PyTreeDef(*), PyTreeDef((*, *))]
        """
        return list(self._children)

    def node_data(self) -> tuple[type, Any] | None:
        """The root's class and metadata (a dict's keys as a list), or None for a leaf."""
        if self._kind is None:
            return None
        if self._kind.cls is dict:
            return dict, list(self._aux)
        if self._kind.is_namedtuple:
            return self._kind.cls, None
        return self._kind.cls, self._aux

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """The structure that has `inner` in the place of every leaf.

        >>> tree_structure((1, 2)).compose(tree_structure([3]))
        PyTreeDef(([*], [*]))
        """
        if self._kind is None:
            return inner
        return PyTreeDef(self._kind, self._aux, tuple([c.compose(inner) for c in self._children]))

    # ---- from leaves to trees and back

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with this structure and these leaves; ValueError if their number is wrong.

        >>> tree_structure({"w": 0, "b": 0}).unflatten([1, 2])
        {'b': 1, 'w': 2}
        """
        leaves = tuple(leaves)
        if len(leaves) < self.num_leaves:
            raise ValueError(
                f"Too few leaves for PyTreeDef; expected {self.num_leaves}, got {len(leaves)}. "
                f"The structure is {self}."
            )
        if len(leaves) > self.num_leaves:
            raise ValueError(
                f"Too many leaves for PyTreeDef; expected {self.num_leaves}, got {len(leaves)}. "
                f"The structure is {self}."
            )
        return self._build(iter(leaves))

    def _build(self, leaves) -> Any:
        """Put the tree together from an iterator over the leaves."""
        kind = self._kind
        if kind is None:
            return next(leaves)
        children = []
        for child in self._children:
            # A method call per leaf would double the time.
            children.append(next(leaves) if child._kind is None else child._build(leaves))
        return kind.unflatten(self._aux, tuple(children))

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of `tree` that stand where this structure has leaves.

        Raises ValueError if this structure is not a prefix of `tree`.

        >>> tree_structure((1, 2)).flatten_up_to(("a", ["b", "c"]))
        ['a', ['b', 'c']]
        """
        subtrees: list[Any] = []
        self._flatten_up_to(tree, subtrees)
        return subtrees

    def _flatten_up_to(self, x, subtrees) -> None:
        """Append the subtrees of `x` from left to right."""
        kind = self._kind
        if kind is None:
            subtrees.append(x)
            return
        if node_types[type(x)] is not kind:
            raise ValueError(_type_mismatch(kind, x))
        children, aux = kind.flatten(x)
        if kind.cls is dict and plain_aux(aux) != self._aux:
            raise ValueError(
                f"Dict key mismatch; expected keys: {list(self._aux)}; "
                f"present keys: {list(plain_aux(aux))}."
            )
        if len(children) != len(self._children):
            name = "Custom type"
            if kind.cls in (tuple, list):
                name = kind.cls.__name__.capitalize()
            raise ValueError(
                f"{name} arity mismatch: {len(children)} != {len(self._children)}; value: {x!r}."
            )
        if plain_aux(aux) != self._aux:
            raise ValueError(
                f"Mismatch custom node data: {self._aux} != {plain_aux(aux)}; value: {x!r}."
            )
        for child, y in zip(self._children, children, strict=True):
            child._flatten_up_to(y, subtrees)


def _type_mismatch(kind: NodeType, x) -> str:
    """What to say about `x` where a node of another type was expected."""
    if kind.cls is NONE_TYPE:
        return (
            f"Expected None, got {x!r}. None is an empty node, not a leaf: it matches None alone. "
            "Pass is_leaf=lambda x: x is None to treat it as a leaf."
        )
    if kind.cls in (tuple, list, dict):
        return f"Expected {kind.cls.__name__}, got {x!r}."
    if kind.is_namedtuple and not (isinstance(x, tuple) and hasattr(x, "_fields")):
        return f"Expected named tuple {kind.cls}, got {x!r}."
    name = "Named tuple" if kind.is_namedtuple else "Custom node"
    return f"{name} type mismatch: expected type: {kind.cls}, value: {x!r}."


def _rebuild(cls, aux, children) -> PyTreeDef:
    """Unpickle a treedef."""
    if cls is None:
        return _LEAF
    return PyTreeDef(node_types[cls], aux, children)


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose children have the given structures.

    >>> treedef_tuple([tree_structure(1), tree_structure([2, 3])])
    PyTreeDef((*, [*, *]))
    """
    children = tuple(treedefs)
    for child in children:
        if type(child) is not PyTreeDef:
            raise TypeError(f"treedef_tuple needs PyTreeDefs, got {child!r} of {type(child)}.")
    return PyTreeDef(node_types[tuple], None, children)


_LEAF = PyTreeDef(None, None, ())


# ------------------------------------------------------------------------------ flattening

# A signature lists a tree's nodes from the root down: None for a leaf, and for a container
# its node type, metadata and number of children, followed by the children.

_shared: dict[tuple, PyTreeDef] = {}
_MAX_SHARED = 1024  # signatures in the table, which is emptied when full
_MAX_SIGNATURE = 8192  # entries in a signature that is worth keeping


def tree_flatten(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a pytree from left to right, and its structure.

    `is_leaf` is asked at every node; where it says True, the whole subtree counts as a leaf.
    Raises ValueError if the keys of a dict cannot be sorted.

    >>> tree_flatten([1, {"b": 2, "a": (3, None)}])
    ([1, 3, 2], PyTreeDef([*, {'a': (*, None), 'b': *}]))
    """
    leaves: list[Any] = []
    signature: list[Any] = []
    if is_leaf is None:
        _flatten_into((tree,), leaves, signature)
    else:
        _flatten_until(is_leaf, (tree,), leaves, signature)
    return leaves, _treedef(tuple(signature))


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef:
    """The structure of a pytree; `is_leaf` as in `tree_flatten`.

    >>> tree_structure((1, [2, None]))
    PyTreeDef((*, [*, None]))
    """
    return tree_flatten(tree, is_leaf)[1]


def _flatten_into(siblings, leaves, signature) -> None:
    """Append the leaves and the signatures of all siblings."""
    for x in siblings:
        kind = node_types[type(x)]
        if kind is None:
            leaves.append(x)
            signature.append(None)
        else:
            children, aux = kind.flatten(x)
            num_children = len(children)
            signature += (kind, aux, num_children)
            if num_children:  # kwargs, mostly {}, save a call
                _flatten_into(children, leaves, signature)


def _flatten_until(is_leaf, siblings, leaves, signature) -> None:
    """As `_flatten_into`, stopping where `is_leaf` says so."""
    for x in siblings:
        kind = node_types[type(x)]
        if _says_leaf(is_leaf(x)) or kind is None:
            leaves.append(x)
            signature.append(None)
        else:
            children, aux = kind.flatten(x)
            signature += (kind, aux, len(children))
            _flatten_until(is_leaf, children, leaves, signature)


def _flatten_with_path(is_leaf, siblings, leaves, signature) -> None:
    """As `_flatten_until`, from pairs (path, subtree) to pairs (path, leaf)."""
    for path, x in siblings:
        kind = node_types[type(x)]
        if _says_leaf(is_leaf(path, x)) or kind is None:
            leaves.append((path, x))
            signature.append(None)
        else:
            pairs, aux = kind.flatten_with_keys(x)
            signature += (kind, aux, len(pairs))
            children = [((*path, key), child) for key, child in pairs]
            _flatten_with_path(is_leaf, children, leaves, signature)


def _says_leaf(answer) -> bool:
    """The answer of an is_leaf function; NumPy's bools, say, are likely mistakes."""
    if answer is True or answer is False or answer is None:
        return bool(answer)
    raise ValueError(
        f"is_leaf predicate returned a non-boolean value {answer!r}; expected a boolean"
    )


def _treedef(signature: tuple) -> PyTreeDef:
    """The treedef of a signature, from the table if it is there."""
    try:
        treedef = _shared.get(signature)
    except TypeError:  # metadata that must not be shared
        return _parse(iter(signature))
    if treedef is None:
        treedef = _parse(iter(signature))
        if len(signature) <= _MAX_SIGNATURE:
            if len(_shared) >= _MAX_SHARED:
                _shared.clear()
            _shared[signature] = treedef
    return treedef


def _parse(entries) -> PyTreeDef:
    """Build a treedef from an iterator over its signature."""
    kind = next(entries)
    if kind is None:
        return _LEAF
    aux = next(entries)
    num_children = next(entries)
    return PyTreeDef(kind, aux, tuple([_parse(entries) for _ in range(num_children)]))


# ------------------------------------------------------------------------------- key paths


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """As `tree_flatten`, with pairs (key path, leaf).

    `is_leaf` takes the subtree, or with `is_leaf_takes_path` its path and the subtree.

    >>> tree_flatten_with_path({"a": [1]})[0]
    [((DictKey(key='a'), SequenceKey(idx=0)), 1)]
    """

    def asks(path, x):
        if is_leaf is None:
            return False
        if is_leaf_takes_path:
            return is_leaf(path, x)
        return is_leaf(x)

    leaves: list[tuple[KeyPath, Any]] = []
    signature: list[Any] = []
    _flatten_with_path(asks, [((), tree)], leaves, signature)
    return leaves, _treedef(tuple(signature))


# ------------------------------------------------------------------------------- one level


def flatten_one_level(tree: Any) -> tuple[Sequence[Any], Hashable]:
    """The children of the root, not flattened further, and its metadata.

    Raises ValueError for a leaf.

    >>> flatten_one_level({"b": [1, 2], "a": 3})
    ([3, [1, 2]], ('a', 'b'))
    """
    children, aux = _node_type(tree).flatten(tree)
    return children, plain_aux(aux)


def flatten_one_level_with_keys(tree: Any) -> tuple[Sequence[tuple[Any, Any]], Hashable]:
    """As `flatten_one_level`, with pairs (key, child).

    >>> flatten_one_level_with_keys((7,))
    ([(SequenceKey(idx=0), 7)], None)
    """
    pairs, aux = _node_type(tree).flatten_with_keys(tree)
    return pairs, plain_aux(aux)


def _node_type(tree) -> NodeType:
    """The node type of a container; ValueError for leaves."""
    kind = node_types[type(tree)]
    if kind is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}, which is a leaf")
    return kind
