"""Key paths: how to name the place of a leaf inside a pytree.

A key path is a tuple of keys, one per level, and prints as the Python expression that leads
from the tree to the leaf: `tree['layers'][0].weight` is (DictKey, SequenceKey, GetAttrKey).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]


# ------------------------------------------------------------------------------------ keys


@dataclass(frozen=True)
class SequenceKey:
    """The index of a child of a list or tuple: `[0]`."""

    idx: int

    def __str__(self):
        """Print as an index."""
        return f"[{self.idx!r}]"


@dataclass(frozen=True)
class DictKey:
    """The key of a child of a dictionary: `['w']`."""

    key: Any

    def __str__(self):
        """Print as a subscript."""
        return f"[{self.key!r}]"


@dataclass(frozen=True)
class GetAttrKey:
    """The attribute that holds a child of a dataclass or namedtuple: `.w`."""

    name: str

    def __str__(self):
        """Print as an attribute."""
        return f".{self.name}"


@dataclass(frozen=True)
class FlattenedIndexKey:
    """The position of a child whose node type names no keys."""

    key: int

    def __str__(self):
        """Print so that nobody takes it for an expression."""
        return f"[<flat index {self.key}>]"


_FIELD_OF_KEY = {
    SequenceKey: "idx",
    DictKey: "key",
    GetAttrKey: "name",
    FlattenedIndexKey: "key",
}


# -------------------------------------------------------------------------------- printing


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Print a key path.

    `simple=True` drops brackets, quotes and dots; give a `separator` with it.

    >>> path = (DictKey("layers"), SequenceKey(0), GetAttrKey("w"))
    >>> keystr(path)
    "['layers'][0].w"
    >>> keystr(path, simple=True, separator="/")
    'layers/0/w'
    """
    write = _simple if simple else str
    return separator.join([write(key) for key in keys])


def _simple(key: KeyEntry) -> str:
    """The bare content of a key; a user's own kind of key prints as it likes."""
    field = _FIELD_OF_KEY.get(type(key))
    if field is None:
        return str(key)
    return str(getattr(key, field))
