"""The registry of pytree containers: what is a node, how it comes apart and together.

A *node type* says how to take one container apart into children and metadata, and how to put
it together again. All else (flattening, unflattening, key paths) follows from that. What no
node type claims is a leaf. Subclasses of registered classes are leaves, namedtuples are nodes.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from tinyjax.tree_paths import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey

Class = TypeVar("Class", bound=Any)

# ------------------------------------------------------------------------------ node types


class NodeType:
    """How containers of class `cls` come apart and together, one level at a time."""

    __slots__ = ("cls", "flatten", "unflatten", "flatten_with_keys", "is_namedtuple")

    def __init__(self, cls, flatten, unflatten, flatten_with_keys, is_namedtuple=False):
        """Store the functions; see `register_pytree_node` for their meaning."""
        self.cls = cls
        self.flatten = flatten  # x -> (children, metadata fit for a signature, see Aux)
        self.unflatten = unflatten  # (metadata, tuple of children) -> x
        self.flatten_with_keys = flatten_with_keys  # the same with (key, child) pairs
        self.is_namedtuple = is_namedtuple


class NodeTypes(dict):
    """From classes to node types; None marks a class of leaves.

    Classes never seen before are classified once, so that a lookup is all flattening pays.
    """

    def __missing__(self, cls):
        """Classify a class that nobody registered: only namedtuples are nodes."""
        kind = None
        if issubclass(cls, tuple) and hasattr(cls, "_fields"):
            kind = _namedtuple_type(cls)
        self[cls] = kind
        return kind


node_types = NodeTypes()
_registered: set[type] = set()


def add_node_type(kind: NodeType) -> None:
    """Enter a node type in the registry, once per class."""
    if kind.cls in _registered:
        raise ValueError(
            f"Duplicate custom PyTreeDef type registration for {kind.cls}: "
            "a class can be registered as a pytree node only once."
        )
    _registered.add(kind.cls)
    node_types[kind.cls] = kind


def is_tree_node(typ: type) -> bool:
    """Whether instances of `typ` are containers rather than leaves.

    >>> is_tree_node(list), is_tree_node(float)
    (True, False)
    """
    return node_types[typ] is not None


# ------------------------------------------------------------------ metadata in signatures


class Aux:
    """Metadata inside a signature: equal only if interchangeable.

    Python says 1 == True == 1.0, but a dict rebuilt from another's treedef must get its own
    keys back. Metadata of unknown classes refuses to be hashed, which keeps its treedef out
    of the table: a table that held users' functions would keep all that they capture alive.
    """

    __slots__ = ("value",)

    def __init__(self, value):
        """Wrap the metadata `value`."""
        self.value = value

    def __hash__(self):
        """Hash the exact form; TypeError if there is none."""
        return hash(_exact(self.value))

    def __eq__(self, other):
        """Compare exact forms."""
        return type(other) is Aux and _exact(self.value) == _exact(other.value)


def _exact(value) -> Hashable:
    """A form of `value` that also tells classes apart; TypeError for unknown classes."""
    cls = type(value)
    if value is None or cls is str or cls is bytes:
        return value
    if cls is int or cls is bool or cls is type:
        return cls, value
    if cls is float:
        return cls, repr(value)  # 0.0 == -0.0
    if cls is tuple:
        return tuple([_exact(v) for v in value])
    raise TypeError(f"treedefs with metadata of type {cls} are not shared")


def plain_aux(aux):
    """Metadata as its owner knows it."""
    if type(aux) is Aux:
        return aux.value
    return aux


# -------------------------------------------------------------------- built-in containers


def _flatten_dict(d):
    """Children in the order of the sorted keys."""
    keys = _sorted_keys(d, ValueError)
    children = [d[k] for k in keys]
    for key in keys:
        if type(key) is not str:
            return children, Aux(tuple(keys))
    return children, tuple(keys)


def _sorted_keys(d, error: type[Exception]) -> list:
    """The keys in order, or an error that shows why they have none."""
    try:
        return sorted(d)
    except TypeError as e:
        raise error(
            "Comparator raised exception while sorting pytree dictionary keys: "
            f"keys {list(d)!r} of a {type(d).__name__} must be comparable with one another "
            f"({e}). Use keys of one type, for instance str."
        ) from None


def _flatten_defaultdict(d):
    """As a dict; the metadata are the factory and the keys."""
    keys = tuple(_sorted_keys(d, TypeError))
    return [d[k] for k in keys], Aux((d.default_factory, keys))


def _keyed_sequence(x):
    """Children of a list or tuple with their indices."""
    return _pair(map(SequenceKey, range(len(x))), x), None


def _keyed_dict(d):
    """Children of a dict with their keys."""
    children, aux = _flatten_dict(d)
    return _pair(map(DictKey, plain_aux(aux)), children), aux


def _flatten_ordered_dict(d):
    """Children in the order of insertion, which is part of the structure."""
    return list(d.values()), Aux(tuple(d))


def _keyed_ordered_dict(d):
    """Children of an OrderedDict with their keys."""
    return _pair(map(DictKey, d), d.values()), Aux(tuple(d))


def _keyed_defaultdict(d):
    """Children of a defaultdict with their keys."""
    children, aux = _flatten_defaultdict(d)
    return _pair(map(DictKey, aux.value[1]), children), aux


def _pair(keys, children) -> list[tuple[Any, Any]]:
    """Keys and children, one to one."""
    return list(zip(keys, children, strict=True))


def _namedtuple_type(cls) -> NodeType:
    """The node type of a namedtuple class, which the result keeps."""
    return NodeType(
        cls,
        lambda x: (x, cls),
        lambda aux, xs: cls(*xs),
        lambda x: (_pair(map(GetAttrKey, cls._fields), x), cls),
        is_namedtuple=True,
    )


NONE_TYPE = type(None)
for _kind in (
    NodeType(tuple, lambda x: (x, None), lambda aux, xs: xs, _keyed_sequence),
    NodeType(list, lambda x: (x, None), lambda aux, xs: list(xs), _keyed_sequence),
    NodeType(dict, _flatten_dict, lambda keys, xs: dict(zip(keys, xs)), _keyed_dict),
    NodeType(NONE_TYPE, lambda x: ((), None), lambda aux, xs: None, lambda x: ((), None)),
    NodeType(
        collections.OrderedDict,
        _flatten_ordered_dict,
        lambda keys, xs: collections.OrderedDict(zip(keys, xs, strict=True)),
        _keyed_ordered_dict,
    ),
    NodeType(
        collections.defaultdict,
        _flatten_defaultdict,
        lambda aux, xs: collections.defaultdict(aux[0], zip(aux[1], xs, strict=True)),
        _keyed_defaultdict,
    ),
):
    add_node_type(_kind)


# ---------------------------------------------------------------------------- registration


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, tuple], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
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

    def flatten(x):
        return _checked(nodetype, flatten_func(x))

    def flatten_with_keys(x):
        if flatten_with_keys_func is None:
            children, aux = flatten(x)
            return _pair(map(FlattenedIndexKey, range(len(children))), children), aux
        return _checked(nodetype, flatten_with_keys_func(x))

    add_node_type(NodeType(nodetype, flatten, unflatten_func, flatten_with_keys))


def _checked(nodetype, out):
    """What a user's flatten function returned, if it has the right form."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise ValueError(
            f"The flatten function (to_iterable) for the custom PyTree node {nodetype} should "
            f"return a (children, aux_data) tuple, got {out!r}"
        )
    children, aux = out
    try:
        children = tuple(children)
    except TypeError:
        raise ValueError(
            f"The flatten function (to_iterable) for the custom PyTree node {nodetype} should "
            f"return a (children, aux_data) tuple where 'children' is iterable, got {out!r}"
        ) from None
    return children, aux if aux is None else Aux(aux)


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, tuple], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """As `register_pytree_node`, for nodes that name their children.

    `flatten_with_keys(x)` returns `(pairs, aux_data)` with pairs `(key, child)`; a key is for
    instance `GetAttrKey("x")`. `flatten_func` is an optional faster way to the same children.
    """

    def without_keys(x):
        pairs, aux = flatten_with_keys(x)
        return [child for _, child in pairs], aux

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: Class) -> Class:
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


def register_pytree_with_keys_class(cls: Class) -> Class:
    """Class decorator: as `register_pytree_node_class`, with `tree_flatten_with_keys`."""
    flatten = None
    if hasattr(cls, "tree_flatten"):
        flatten = lambda x: x.tree_flatten()
    register_pytree_with_keys(
        cls, lambda x: x.tree_flatten_with_keys(), cls.tree_unflatten, flatten
    )
    return cls


def register_static(cls: Class) -> Class:
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


def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
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
    if data_fields is None or meta_fields is None:
        data_fields, meta_fields = _infer_fields(nodetype, data_fields, meta_fields)
    data, meta = tuple(data_fields), tuple(meta_fields)
    _check_fields(nodetype, data, meta, drop_fields)

    def flatten(x):
        children = [getattr(x, name) for name in data]
        return children, Aux(tuple([getattr(x, name) for name in meta])) if meta else ()

    def flatten_with_keys(x):
        children, aux = flatten(x)
        return _pair(map(GetAttrKey, data), children), aux

    def unflatten(aux, children):
        fields = dict(zip(meta, aux, strict=True))
        fields.update(zip(data, children, strict=True))
        return nodetype(**fields)

    add_node_type(NodeType(nodetype, flatten, unflatten, flatten_with_keys))
    return nodetype


def _infer_fields(nodetype, data_fields, meta_fields) -> tuple[list[str], list[str]]:
    """Data and static fields of a dataclass as its author marked them."""
    if data_fields is not None or meta_fields is not None:
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must both be specified when "
            f"either is specified. Got {data_fields=} {meta_fields=}."
        )
    if not dataclasses.is_dataclass(nodetype):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields are required when nodetype is "
            f"not a dataclass. Got {nodetype=}."
        )
    data: list[str] = []
    meta: list[str] = []
    for field in dataclasses.fields(nodetype):
        fields = meta if field.metadata.get("static", False) else data
        fields.append(field.name)
    return data, meta


def _check_fields(nodetype, data, meta, drop_fields) -> None:
    """Each field of the constructor must be listed, and once."""
    listed = {*data, *meta}
    if dataclasses.is_dataclass(nodetype):
        wanted = {f.name for f in dataclasses.fields(nodetype) if f.init} - {*drop_fields}
        complaint = "register_dataclass: data_fields and meta_fields must include all dataclass "
        complaint += f"fields of {nodetype} with init=True and only them."
        if wanted - listed:
            raise ValueError(
                f"{complaint} Missing fields: {sorted(wanted - listed)}. List them as data or "
                "meta fields, or add them to drop_fields."
            )
        if listed - wanted:
            raise ValueError(f"{complaint} Unexpected fields: {sorted(listed - wanted)}.")
    overlap = sorted({*data} & {*meta})
    if overlap:
        raise ValueError(
            "register_dataclass: data_fields and meta_fields must not overlap. Overlapping "
            f"fields: {overlap}."
        )
