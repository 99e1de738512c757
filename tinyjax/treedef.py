"""Treedefs and flattening: the structure of a pytree apart from its leaves.

A treedef is a flat list of the tree's nodes, children before their parents. So flattening and
unflattening, which lie on the path of every jit call, are loops over a list, and comparing two
structures is comparing two tuples.
"""

import itertools

from tinyjax.tree_registry import node_types

# ---- treedefs -----------------------------------------------------------------------------------


class PyTreeDef(tuple):
    """The structure of a pytree without its leaves: immutable, hashable, comparable.

    Made by `tree_flatten` and `tree_structure`. `num_leaves` counts leaves, `num_nodes`
    leaves and containers. Its items are None for a leaf, and for a container a triple: node type,
    metadata, number of children. The children stand before it, from left to right.

    >>> tree_structure({"b": [1, None], "a": 2})
    PyTreeDef({'a': *, 'b': [*, None]})
    """

    __slots__ = ()

    num_nodes = property(len)
    num_leaves = property(lambda self: self.count(None))

    def __hash__(self):
        """As of a tuple; metadata that cannot be hashed count in == alone."""
        try:
            return tuple.__hash__(self)
        except TypeError:
            return hash(tuple([node and node[0] for node in self]))

    def __repr__(self):
        """The tree with `*` for leaves."""
        return f"PyTreeDef({_draw(self)!r})"

    # ---- looking inside

    def children(self):
        """The treedefs of the children.

        >>> tree_structure([1, (2, 3)]).children()
        [PyTreeDef(*), PyTreeDef((*, *))]
        """
        nodes, children = list(self[:-1]), []
        while nodes:
            children.append(PyTreeDef(_pop_tree(nodes)))
        return children[::-1]

    def node_data(self):
        """The root's class and metadata (a dict's keys as a list), or None for a leaf."""
        if self[-1] is None:
            return None
        kind, aux, _ = self[-1]
        aux = list(aux) if kind.cls is dict else aux
        return kind.cls, None if kind.is_namedtuple else aux

    def compose(self, inner):
        """The structure that has the treedef `inner` in the place of every leaf.

        >>> tree_structure((1, 2)).compose(tree_structure([3]))
        PyTreeDef(([*], [*]))
        """
        return PyTreeDef(itertools.chain(*[inner if node is None else (node,) for node in self]))

    # ---- from leaves to trees and back

    def unflatten(self, leaves):
        """The tree with this structure and these leaves; ValueError if their number is wrong.

        >>> tree_structure({"w": 0, "b": 0}).unflatten([1, 2])
        {'b': 1, 'w': 2}
        """
        leaves = tuple(leaves)
        wanted = self.count(None)
        if len(leaves) != wanted:
            word = "few" if len(leaves) < wanted else "many"
            count = f"expected {wanted}, got {len(leaves)}"
            raise ValueError(f"Too {word} leaves for PyTreeDef; {count}. The structure is {self}.")
        remaining, built = iter(leaves), []  # built: whole subtrees whose parent is yet to come
        for node in self:
            if node is None:
                built.append(next(remaining))
            else:
                kind, aux, arity = node
                start = len(built) - arity
                children = tuple(built[start:])
                del built[start:]
                built.append(kind.unflatten(aux, children))
        return built[0]

    def flatten_up_to(self, tree):
        """The subtrees of `tree` that stand where this structure has leaves.

        Raises ValueError if this structure is not a prefix of `tree`.

        >>> tree_structure((1, 2)).flatten_up_to(("a", ["b", "c"]))
        ['a', ['b', 'c']]
        """
        subtrees, todo = [], [tree]
        for node in reversed(self):  # from the root down, from right to left
            x = todo.pop()
            if node is None:
                subtrees.append(x)
                continue
            kind, aux, arity = node
            if node_types[type(x)] is not kind:
                raise ValueError(_other_type(kind, x))
            children, x_aux = kind.flatten(x)
            if len(children) != arity or x_aux != aux:
                raise ValueError(_other_node(node, x, len(children), x_aux))
            todo += children
        return subtrees[::-1]


class _Text(str):
    """Prints without quotes."""

    __repr__ = str.__str__


def _draw(treedef):
    """Something that prints as the tree does: Python's own containers draw themselves."""
    if treedef[-1] is None:
        return _Text("*")
    kind, aux, _ = treedef[-1]
    children = [_draw(child) for child in treedef.children()]
    if kind.cls in (tuple, list, dict, type(None)):
        return kind.unflatten(aux, tuple(children))
    name = kind.cls.__name__
    head = f"namedtuple[{name}]" if kind.is_namedtuple else f"{name}[{aux}]"
    return _Text(f"CustomNode({head}, {children})")


def _pop_tree(nodes):
    """Take the nodes of the last subtree off a list of nodes."""
    start, missing = len(nodes), 1
    while missing:  # from the root up to the first leaf: each node is found, its children missing
        start -= 1
        missing += (0 if nodes[start] is None else nodes[start][2]) - 1
    tree = nodes[start:]
    del nodes[start:]
    return tree


def _other_type(kind, x):
    """What to say about `x` where a node of type `kind` was expected."""
    if kind.cls is type(None):
        return (
            f"Expected None, got {x!r}. To have None as a leaf, pass is_leaf=lambda x: x is None."
        )
    if kind.cls in (tuple, list, dict):
        return f"Expected {kind.cls.__name__}, got {x!r}."
    if kind.is_namedtuple and not hasattr(x, "_fields"):
        return f"Expected named tuple {kind.cls}, got {x!r}."
    name = "Named tuple" if kind.is_namedtuple else "Custom node"
    return f"{name} type mismatch: expected type: {kind.cls}, value: {x!r}."


def _other_node(node, x, arity, aux):
    """What to say about a node `x` of the right type with other children or metadata."""
    kind, wanted_aux, wanted_arity = node
    if kind.cls is dict:
        return f"Dict key mismatch; expected keys: {list(wanted_aux)}; present keys: {list(aux)}."
    if arity != wanted_arity:
        name = kind.cls.__name__.capitalize() if kind.cls in (tuple, list) else "Custom type"
        return f"{name} arity mismatch: {arity} != {wanted_arity}; value: {x!r}."
    return f"Mismatch custom node data: {wanted_aux} != {aux}; value: {x!r}."


def treedef_tuple(treedefs):
    """The structure of a tuple whose children have the given structures.

    >>> treedef_tuple([tree_structure(1), tree_structure([2, 3])])
    PyTreeDef((*, [*, *]))
    """
    children = list(treedefs)
    for child in children:
        if type(child) is not PyTreeDef:
            raise TypeError(f"treedef_tuple needs PyTreeDefs, got {child!r} of {type(child)}.")
    return PyTreeDef([*itertools.chain(*children), (node_types[tuple], None, len(children))])


def covered_leaves(prefix, full):
    """How many leaves of the treedef `full` each leaf of `prefix` stands for; None if it is none.

    >>> covered_leaves(tree_structure((0, 0)), tree_structure((1, [2, 3])))
    [1, 2]
    """
    rest, counts = list(full), []
    for node in reversed(prefix):
        if node is None:
            counts.append(_pop_tree(rest).count(None))
        elif rest.pop() != node:
            return None
    return counts[::-1]


# ---- flattening ---------------------------------------------------------------------------------


def tree_flatten(tree, is_leaf=None):
    """The leaves of a pytree from left to right, and its structure.

    `is_leaf` is asked at every node; where it says True, the whole subtree counts as a leaf.
    Raises ValueError if the keys of a dict cannot be sorted.

    >>> tree_flatten([1, {"b": 2, "a": (3, None)}])
    ([1, 3, 2], PyTreeDef([*, {'a': (*, None), 'b': *}]))
    """
    leaves, nodes = [], []
    _flatten_into((tree,), is_leaf, leaves, nodes)
    return leaves, PyTreeDef(nodes)


def _flatten_into(siblings, is_leaf, leaves, nodes):
    """Append the leaves and the nodes of all siblings."""
    for x in siblings:
        kind = node_types[type(x)]
        if (is_leaf is not None and _says_leaf(is_leaf(x))) or kind is None:
            leaves.append(x)
            nodes.append(None)
        else:
            children, aux = kind.flatten(x)
            arity = len(children)
            if arity:  # kwargs, mostly {}, save a call
                _flatten_into(children, is_leaf, leaves, nodes)
            nodes.append((kind, aux, arity))


def tree_structure(tree, is_leaf=None):
    """The structure of a pytree; `is_leaf` as in `tree_flatten`.

    >>> tree_structure((1, [2, None]))
    PyTreeDef((*, [*, None]))
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_flatten_with_path(tree, is_leaf=None, is_leaf_takes_path=False):
    """As `tree_flatten`, with pairs (key path, leaf).

    `is_leaf` takes the subtree, or with `is_leaf_takes_path` its path and the subtree.

    >>> tree_flatten_with_path({"a": [1]})[0]
    [((DictKey(key='a'), SequenceKey(idx=0)), 1)]
    """
    leaves, nodes = [], []

    def visit(path, x):
        args = (path, x) if is_leaf_takes_path else (x,)
        if (is_leaf is not None and _says_leaf(is_leaf(*args))) or node_types[type(x)] is None:
            leaves.append((path, x))
            nodes.append(None)
            return
        pairs, aux = flatten_one_level_with_keys(x)
        for key, child in pairs:
            visit((*path, key), child)
        nodes.append((node_types[type(x)], aux, len(pairs)))

    visit((), tree)
    return leaves, PyTreeDef(nodes)


def _says_leaf(answer):
    """The answer of an is_leaf function; NumPy's bools, say, are likely mistakes."""
    if answer is True or answer is False or answer is None:
        return answer
    raise ValueError(f"is_leaf predicate returned a non-boolean value {answer!r}")


def flatten_one_level(tree):
    """The children of the root, not flattened further, and its metadata.

    Raises ValueError for a leaf.

    >>> flatten_one_level({"b": [1, 2], "a": 3})
    ([3, [1, 2]], ('a', 'b'))
    """
    kind = node_types[type(tree)]
    if kind is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}, which is a leaf")
    return kind.flatten(tree)


def flatten_one_level_with_keys(tree):
    """As `flatten_one_level`, with pairs (key, child).

    >>> flatten_one_level_with_keys((7,))
    ([(SequenceKey(idx=0), 7)], None)
    """
    children, aux = flatten_one_level(tree)
    keys = node_types[type(tree)].keys(tree, children)
    return list(zip(keys, children, strict=True)), aux
