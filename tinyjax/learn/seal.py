"""Sees whether a student's code has replaced something that the checks rely on.

What is right is decided elsewhere, by values. But checks also use the package, for instance to
compile the student's function; `tinyjax.jit = lambda f: f` would let them pass what cannot be
compiled. Such a file is told so and does not pass.
"""

import importlib
import sys
from collections import ChainMap
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

from tinyjax.core import Primitive

HOOKS = ("__setattr__", "__getattribute__", "__getattr__")  # through these, rules are put in place
SEALED = {"tinyjax", "numpy", "json", "base64", "math", "builtins"}
NAMESPACES = ("", ".numpy", ".lax", ".random", ".nn", ".tree_util")  # what students and checks use


class Sealed(NamedTuple):
    """A name of a module or class, and what it stood for."""

    where: str
    names: Mapping[str, Any]  # the live dictionary
    name: str
    value: Any
    code: Any

    @property
    def broken(self) -> bool:
        """Whether the name stands for something else now, or for the same with other code."""
        value = self.names.get(self.name)
        return value is not self.value or getattr(value, "__code__", None) is not self.code


class Rules(ChainMap):
    """The live rules of a primitive: what the card itself holds, else what its classes do."""

    def __init__(self, card: Primitive):
        super().__init__(*[vars(owner) for owner in (card, *type(card).__mro__[:-1])])
        self.card, self.cls = card, type(card)

    def get(self, key: str, default: Any = None) -> Any:
        """A rule; none for a card that has been given another class, which may put in its own."""
        return super().get(key, default) if type(self.card) is self.cls else default


def load_names() -> None:
    """Loads what the package would load at the first use: what is not there cannot be sealed."""
    for namespace in NAMESPACES:
        module = importlib.import_module("tinyjax" + namespace)
        for name in dir(module):
            getattr(module, name)


def take_seal() -> list[Sealed]:
    """Every function, method and rule of a primitive of the sealed packages that is loaded now."""
    seal: list[Sealed] = []
    cards: dict[Primitive, str] = {}
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and name.partition(".")[0] in SEALED:
            for value in seal_names(seal, name, vars(module)):
                if isinstance(value, type) and value.__module__ == name:
                    where = f"{name}.{value.__name__}"
                    seal_names(seal, where, vars(value))
                    absent = [hook for hook in HOOKS if hook not in vars(value)]
                    seal += [Sealed(where, vars(value), hook, None, None) for hook in absent]
            cards |= {v: n for n, v in vars(module).items() if isinstance(v, Primitive)}
    for card, where in cards.items():
        seal_names(seal, where, Rules(card))
    return seal


def seal_names(seal: list[Sealed], where: str, names: Mapping[str, Any]) -> list[Any]:
    """Seals what can be called among these names; returns it."""
    found = [(name, value) for name, value in names.items() if callable(value)]
    for name, value in found:
        seal.append(Sealed(where, names, name, value, getattr(value, "__code__", None)))
    return [value for _, value in found]


def seal_of(names: Mapping[str, Any], where: str) -> list[Sealed]:
    """Whatever stands under these names now."""
    return [
        Sealed(where, names, name, value, getattr(value, "__code__", None))
        for name, value in names.items()
    ]


def borrowed_pieces(seal: list[Sealed], names: Mapping[str, Any], asked: list[str]) -> list[str]:
    """Which of a student's names stand for the package's own piece, where theirs should be.

    Called when the student's piece has been put in its place. What was asked for must be none of
    the package's functions, and no name may keep what has just been replaced.
    """
    functions = {id(item.value) for item in seal}
    replaced = {id(item.value) for item in seal if item.broken and item.value is not None}
    return [
        name
        for name, value in names.items()
        if id(value) in (functions if name in asked else replaced)
        or id(getattr(value, "__func__", None)) in replaced
    ]


def broken_seals(seal: list[Sealed]) -> list[str]:
    """The names that stand for something else than they did; new names do not count."""
    return [f"{item.where}.{item.name}" for item in seal if item.broken]
