"""Short names for pytree functions: `tree.map` is `tree_util.tree_map`, and so on."""

from __future__ import annotations

import dataclasses

from tinyjax import tree_util
from tinyjax.printer import install
from tinyjax.tree_util import tree_all as all
from tinyjax.tree_util import tree_broadcast as broadcast
from tinyjax.tree_util import tree_flatten as flatten
from tinyjax.tree_util import tree_flatten_with_path as flatten_with_path
from tinyjax.tree_util import tree_leaves as leaves
from tinyjax.tree_util import tree_leaves_with_path as leaves_with_path
from tinyjax.tree_util import tree_map as map
from tinyjax.tree_util import tree_map_with_path as map_with_path
from tinyjax.tree_util import tree_reduce as reduce
from tinyjax.tree_util import tree_reduce_associative as reduce_associative
from tinyjax.tree_util import tree_structure as structure
from tinyjax.tree_util import tree_transpose as transpose
from tinyjax.tree_util import tree_unflatten as unflatten

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]


class PyTreeRegistry:
    """The containers that are known, as libraries address them: `tree_util.default_registry`."""

    flatten = staticmethod(tree_util.tree_flatten)
    flatten_one_level = staticmethod(tree_util.flatten_one_level)
    flatten_one_level_with_keys = staticmethod(tree_util.flatten_one_level_with_keys)
    flatten_with_path = staticmethod(tree_util.tree_flatten_with_path)
    register_node = staticmethod(tree_util.register_pytree_node)
    register_dataclass_node = staticmethod(tree_util.register_dataclass)


install(tree_util, default_registry=PyTreeRegistry())


def static(**kwargs):
    """A dataclass field that `register_dataclass` makes part of the structure.

    Takes the arguments of `dataclasses.field`.

    >>> from tinyjax.tree_util import register_dataclass
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     activation: str = static(default="relu")
    >>> structure(Layer(1.0))
    PyTreeDef(CustomNode(Layer[('relu',)], [*]))
    """
    metadata = {**(kwargs.pop("metadata", None) or {})}
    metadata.setdefault("static", True)
    return dataclasses.field(metadata=metadata, **kwargs)
