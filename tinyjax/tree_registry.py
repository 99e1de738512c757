"""The registry of pytree containers: what is a node, how it comes apart and together.

A *node type* says how to take one container apart into children and metadata, and how to put
it together again. All else (flattening, unflattening, key paths) follows from that. What no
node type claims is a leaf. Subclasses of registered classes are leaves, namedtuples are nodes.
"""

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

# ---- key paths ----------------------------------------------------------------------------------
#
# A key path names the place of a leaf inside a tree by a key for each level. It prints as Python
# would get there: (DictKey("layers"), SequenceKey(0), GetAttrKey("w")) is `['layers'][0].w`.

KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]


def _printed_as(form):
    """The method __str__ of a key."""
    return lambda key: form.format(key)


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """The index of a child of a list or tuple: `[0]`."""

    idx: int
    __str__ = _printed_as("[{0.idx!r}]")


@dataclasses.dataclass(frozen=True)
class DictKey:
    """The key of a child of a dictionary: `['w']`."""

    key: Any
    __str__ = _printed_as("[{0.key!r}]")


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The attribute that holds a child of a dataclass or namedtuple: `.w`."""

    name: str
    __str__ = _printed_as(".{0.name}")


@dataclasses.dataclass(frozen=True)
class FlattenedIndexKey:
    """The position of a child whose node type names no keys."""

    key: int
    __str__ = _printed_as("[<flat index {0.key}>]")


def keystr(keys, *, simple=False, separator=""):
    """Print a key path.

    `simple=True` drops brackets, quotes and dots; give a `separator` with it.

    >>> path = (DictKey("layers"), SequenceKey(0), GetAttrKey("w"))
    >>> keystr(path)
    "['layers'][0].w"
    >>> keystr(path, simple=True, separator="/")
    'layers/0/w'
    """
    ours = (SequenceKey, DictKey, GetAttrKey, FlattenedIndexKey)
    # The one field of a key of ours; a user's own kind of key prints as it likes.
    bare = lambda key: str(*vars(key).values()) if isinstance(key, ours) else str(key)
    return separator.join(map(bare if simple else str, keys))


# ---- node types ---------------------------------------------------------------------------------


@dataclasses.dataclass(eq=False, slots=True)
class NodeType:
    """How containers of class `cls` come apart and together, one level at a time."""

    cls: type
    flatten: Callable  # x -> (children, metadata)
    unflatten: Callable  # (metadata, tuple of children) -> x
    keys: Callable  # (x, children) -> the key of each child
    is_namedtuple: bool = False

    def __reduce__(self):
        """Pickle by class, since the functions are mostly lambdas."""
        return _node_type_of, (self.cls,)


class NodeTypes(dict):
    """From classes to node types; None marks a class of leaves.

    Classes never seen before are classified once, so that a lookup is all flattening pays.
    """

    def __missing__(self, cls):
        """Classify a class that nobody registered: only namedtuples are nodes."""
        is_namedtuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
        self[cls] = _namedtuple_type(cls) if is_namedtuple else None
        return self[cls]

    def add(self, kind):
        """Enter a node type, once per class; a namedtuple may get another than it had."""
        known = self.get(kind.cls)
        if known is not None and not known.is_namedtuple:
            raise ValueError(f"Duplicate custom PyTreeDef type registration for {kind.cls}.")
        self[kind.cls] = kind


node_types = NodeTypes()


def _node_type_of(cls):
    """The node type of a class, for pickle."""
    return node_types[cls]


def is_tree_node(typ):
    """Whether instances of the class `typ` are containers rather than leaves.

    >>> is_tree_node(list), is_tree_node(float)
    (True, False)
    """
    return node_types[typ] is not None


# ---- built-in containers ------------------------------------------------------------------------


def _sorted_keys(d, error):
    """The keys in order, or an error that shows why they have none."""
    try:
        return sorted(d)
    except TypeError as e:
        raise error(
            "Comparator raised exception while sorting pytree dictionary keys: those of a "
            f"{type(d).__name__} must be of one type, for instance str, got {list(d)!r} ({e})."
        ) from None


def _flatten_dict(d):
    """Children in the order of the sorted keys, which are the metadata."""
    keys = _sorted_keys(d, ValueError)
    return [d[k] for k in keys], tuple(keys)


def _flatten_defaultdict(d):
    """As a dict; the metadata are the factory and the keys."""
    keys = _sorted_keys(d, TypeError)
    return [d[k] for k in keys], (d.default_factory, tuple(keys))


def _flatten_ordered_dict(d):
    """Children in the order of insertion, which is part of the structure."""
    return list(d.values()), tuple(d)


def _namedtuple_type(cls):
    """The node type of a namedtuple class, which the result keeps."""
    unflatten, keys = lambda aux, xs: cls(*xs), lambda x, xs: map(GetAttrKey, cls._fields)
    return NodeType(cls, lambda x: (x, cls), unflatten, keys, is_namedtuple=True)


def _add_built_in_containers():
    """Enter Python's own."""
    same, empty = lambda x: (x, None), lambda x: ((), None)
    places = lambda x, xs: map(SequenceKey, range(len(xs)))
    in_order, by_key = lambda d, xs: map(DictKey, d), lambda d, xs: map(DictKey, sorted(d))
    to_dict, to_ordered = lambda ks, xs: dict(zip(ks, xs)), lambda ks, xs: OrderedDict(zip(ks, xs))
    to_default = lambda aux, xs: defaultdict(aux[0], zip(aux[1], xs))
    node_types.add(NodeType(tuple, same, lambda _, xs: xs, places))
    node_types.add(NodeType(list, same, lambda _, xs: list(xs), places))
    node_types.add(NodeType(type(None), empty, lambda _, xs: None, places))
    node_types.add(NodeType(dict, _flatten_dict, to_dict, by_key))
    node_types.add(NodeType(OrderedDict, _flatten_ordered_dict, to_ordered, in_order))
    node_types.add(NodeType(defaultdict, _flatten_defaultdict, to_default, by_key))


_add_built_in_containers()


# ---- registration -------------------------------------------------------------------------------


def register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func=None):
    """Teach the library that instances of `nodetype` are containers.

    `flatten_func(x)` returns `(children, aux_data)`, where `aux_data` is static and hashable;
    `unflatten_func(aux_data, children)` builds the container again. With
    `flatten_with_keys_func`, whose children are pairs `(key, child)`, key paths get names.

    Raises ValueError if the class is registered already, TypeError for arguments that are
    not a class and functions.

    >>> from tinyjax.tree_util import tree_leaves
    >>> class Ball:
    ...     def __init__(self, x, v):
    ...         self.x, self.v = x, v
    >>> register_pytree_node(Ball, lambda b: ((b.x, b.v), None), lambda _, xv: Ball(*xv))
    >>> tree_leaves([Ball(1, 2), 3])
    [1, 2, 3]
    """
    if not isinstance(nodetype, type):
        raise TypeError(f"register_pytree_node: nodetype must be a class, got {nodetype!r}.")
    for name, func in (("flatten_func", flatten_func), ("unflatten_func", unflatten_func)):
        if not callable(func):
            raise TypeError(f"register_pytree_node: {name} must be a function, got {func!r}.")

    flatten = lambda x: _checked(nodetype, flatten_func(x))

    def keys(x, children):
        if flatten_with_keys_func is None:
            return map(FlattenedIndexKey, range(len(children)))
        return [key for key, _ in _checked(nodetype, flatten_with_keys_func(x))[0]]

    node_types.add(NodeType(nodetype, flatten, unflatten_func, keys))


def _checked(nodetype, out):
    """What a user's flatten function returned, if it has the right form."""
    wanted = "a (children, aux_data) tuple"
    if isinstance(out, tuple) and len(out) == 2:
        try:
            return tuple(out[0]), out[1]
        except TypeError:
            wanted += " where 'children' is iterable"
    raise ValueError(
        f"The flatten function (to_iterable) for the custom PyTree node {nodetype} should "
        f"return {wanted}, got {out!r}"
    )


def register_pytree_with_keys(nodetype, flatten_with_keys, unflatten_func, flatten_func=None):
    """As `register_pytree_node`, for nodes that name their children.

    `flatten_with_keys(x)` returns `(pairs, aux_data)` with pairs `(key, child)`; a key is for
    instance `GetAttrKey("x")`. `flatten_func` is an optional faster way to the same children.
    """

    def without_keys(x):
        pairs, aux = flatten_with_keys(x)
        return [child for _, child in pairs], aux

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls):
    """Class decorator: register a class by its methods.

    The class has `tree_flatten(self) -> (children, aux_data)` and the class method
    `tree_unflatten(cls, aux_data, children)`.

    >>> from tinyjax.tree_util import tree_map
    >>> @register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    ...     def tree_flatten(self):
    ...         return (self.a, self.b), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux_data, children):
    ...         return cls(*children)
    >>> tree_map(lambda x: 10 * x, Pair(1, 2)).b
    20
    """
    register_pytree_node(cls, lambda x: x.tree_flatten(), cls.tree_unflatten)
    return cls


def register_pytree_with_keys_class(cls):
    """Class decorator: as `register_pytree_node_class`, with `tree_flatten_with_keys`."""
    flatten = getattr(cls, "tree_flatten", None)
    register_pytree_with_keys(cls, cls.tree_flatten_with_keys, cls.tree_unflatten, flatten)
    return cls


def register_static(cls):
    """Class decorator: instances have no leaves; they are part of the structure.

    Instances must be hashable and comparable, for jit compiles once for each value.

    >>> from tinyjax.tree_util import tree_structure
    >>> @register_static
    ... class Mode(str):
    ...     pass
    >>> tree_structure([1, Mode("fast")])
    PyTreeDef([*, CustomNode(Mode[fast], [])])
    """
    register_pytree_with_keys(cls, lambda x: ((), x), lambda x, _: x)
    return cls


def register_dataclass(nodetype, data_fields=None, meta_fields=None, drop_fields=()):
    """Register a dataclass: data fields are children, meta fields are static.

    Without `data_fields` and `meta_fields`, the fields made with
    `dataclasses.field(metadata=dict(static=True))` are static and all others data. Fields in
    `drop_fields` are not carried over; they must have defaults. Usable as a decorator. A class
    that is no dataclass must take all its fields as keyword arguments.

    Raises TypeError if one of the lists is missing, ValueError if the lists overlap or are not
    all the fields of the constructor.

    >>> from tinyjax.tree_util import tree_map
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = dataclasses.field(metadata=dict(static=True))
    >>> tree_map(lambda x: x + 1, Layer(2, "dense"))
    Layer(weight=3, name='dense')
    """
    names = "register_dataclass: data_fields and meta_fields"
    is_dataclass = dataclasses.is_dataclass(nodetype)
    fields = dataclasses.fields(nodetype) if is_dataclass else ()
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(f"{names} must both be specified when either is.")
    if data_fields is None and not is_dataclass:
        raise TypeError(f"{names} are required when nodetype is not a dataclass: {nodetype}.")
    if data_fields is None:
        data_fields = [f.name for f in fields if not f.metadata.get("static", False)]
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
    data, meta = tuple(data_fields), tuple(meta_fields)
    listed = {*data, *meta}
    wanted = {f.name for f in fields if f.init} - {*drop_fields} if is_dataclass else listed
    faults = {"Missing": wanted - listed, "Unexpected": listed - wanted}
    faults["Overlapping"] = {*data} & {*meta}
    for word, wrong in faults.items():
        if wrong:
            raise ValueError(
                f"{names} must include all dataclass fields of {nodetype} with init=True, less "
                f"drop_fields, and must not overlap. {word} fields: {sorted(wrong)}."
            )

    def flatten(x):
        return [getattr(x, n) for n in data], tuple([getattr(x, n) for n in meta])

    unflatten = lambda aux, xs: nodetype(**dict(zip(meta, aux)), **dict(zip(data, xs)))
    keys = lambda x, xs: map(GetAttrKey, data)
    node_types.add(NodeType(nodetype, flatten, unflatten, keys))
    return nodetype
