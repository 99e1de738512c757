"""Spots: places that hold state, each of which can be read, compared and set back.

A spot is one level deep: a list spot holds the list's elements, not what is in them. What they
contain has spots of its own (`Surroundings.add`), and so each change has one place and one name.
"""

import collections
import contextvars
import itertools
import os
import random
import types

import numpy as np

from tinyjax.purity.code import is_a, peek, text_of

MISSING = type("Missing", (), {"__repr__": lambda self: "nothing"})()
LARGE, SAMPLE = 1 << 26, 10_000  # bytes of an array to keep a copy of; elements of larger ones
PLAIN = (bool, int, float, complex, str, bytes, type(None))


def same(a, b):
    """Whether two contents are the same: the same objects, or equal plain values."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if is_a(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if is_a(a, dict):
        return len(a) == len(b) and all(k in b and same(x, b[k]) for k, x in a.items())
    if is_a(a, PLAIN):
        return a == b or (a != a and b != b)  # NaN
    return is_a(a, np.ndarray) and _content_of(a) == _content_of(b)


def _content_of(x):
    return x.shape, x.dtype, x.tobytes()


class Spot:
    """One place with state.

    root: how the user's code gets there: "global", "closure", "default", "attribute", "argument" (a
      pytree, which transformations build anew), "object" (an argument that is no pytree).
    path: how it is written there: "params['w']".
    """

    container = True  # whether it is a thing that changes, not a name that is bound anew

    def __init__(self, thing, root, path):
        self.thing, self.root, self.path = thing, root, path

    def read(self):
        """What is there now, as something that does not change."""
        raise NotImplementedError

    def content(self):
        """read(), or MISSING if a class of the user does not let itself be read."""
        try:
            return self.read()
        except Exception:
            return MISSING

    def write(self, content):
        """Set it back."""
        raise NotImplementedError

    def parts(self):
        """What is inside: pairs (path, object)."""
        return []


class NameSpot(Spot):
    """A name of a namespace: a global variable, or a variable of a module of the user."""

    container = False

    def __init__(self, namespace, name, root, path):
        super().__init__(namespace, root, path)
        self.name = name

    def read(self):
        return self.thing.get(self.name, MISSING)

    def write(self, content):
        if content is MISSING:
            self.thing.pop(self.name, None)
        else:
            self.thing[self.name] = content

    def parts(self):
        value = self.read()
        return [] if value is MISSING else [(self.path, value)]


class CellSpot(Spot):
    """A variable of an enclosing function."""

    container = False

    def read(self):
        try:
            return self.thing.cell_contents
        except ValueError:
            return MISSING

    def write(self, content):
        if content is not MISSING:
            self.thing.cell_contents = content

    def parts(self):
        value = self.read()
        return [] if value is MISSING else [(self.path, value)]


class SequenceSpot(Spot):
    """A list or deque."""

    def read(self):
        return tuple(self.thing)

    def write(self, content):
        self.thing.clear()
        self.thing.extend(content)

    def parts(self):
        parts = enumerate(self.thing)
        return [(f"{self.path}[{i}]", x) for i, x in parts if not is_a(x, PLAIN)]


class DictSpot(Spot):
    """A dict."""

    def read(self):
        return dict(self.thing)

    def write(self, content):
        self.thing.clear()
        self.thing.update(content)

    def parts(self):
        parts = self.thing.items()
        return [(f"{self.path}[{text_of(k)}]", x) for k, x in parts if not is_a(x, PLAIN)]


class SetSpot(Spot):
    """A set."""

    def read(self):
        return dict.fromkeys(self.thing)

    def write(self, content):
        self.thing.clear()
        self.thing.update(content)


class ArraySpot(Spot):
    """The elements of a NumPy array."""

    def read(self):
        if self.thing.nbytes <= LARGE:
            return self.thing.copy()
        return self.thing.ravel()[:: self.thing.size // SAMPLE].tobytes()

    def write(self, content):
        if isinstance(content, np.ndarray):  # not a sample
            self.thing[...] = content


class AttributeSpot(Spot):
    """The attributes of an object."""

    def read(self):
        cls, found = type(self.thing), attributes(self.thing)
        for name in slots_of(cls):
            value = peek(self.thing, name, MISSING)
            if value is not MISSING:
                found[name] = value
        return {n: x for n, x in found.items() if not is_cached(cls, n)}

    def write(self, content):
        now = self.read()
        for name in now.keys() - content.keys():
            object.__delattr__(self.thing, name)
        for name, x in content.items():
            if now.get(name, MISSING) is not x:
                object.__setattr__(self.thing, name, x)

    def parts(self):
        return [(f"{self.path}.{name}", x) for name, x in self.read().items()]


class ClassSpot(Spot):
    """The data that a class holds for all of its instances."""

    def read(self):
        return {
            n: x
            for n, x in vars(self.thing).items()
            if not n.startswith(("__", "_abc_"))
            and not callable(x)
            and not hasattr(type(x), "__get__")
        }

    def write(self, content):
        now = self.read()
        for name in now.keys() - content.keys():
            delattr(self.thing, name)
        for name, x in content.items():
            if now.get(name, MISSING) is not x:
                setattr(self.thing, name, x)

    def parts(self):
        return [(f"{self.path}.{name}", x) for name, x in self.read().items()]


class FunctionSpot(ClassSpot):
    """The attributes of a function: f.calls = 0."""

    def read(self):
        return {n: x for n, x in vars(self.thing).items() if not callable(x)}


class RandomSpot(Spot):
    """A generator of random numbers."""

    def read(self):
        if isinstance(self.thing, random.Random):
            return self.thing.getstate()
        if isinstance(self.thing, np.random.RandomState):  # keeps every second normal number
            return _frozen(self.thing.get_state(legacy=False))
        return _frozen(self.thing.bit_generator.state)

    def write(self, content):
        if isinstance(self.thing, random.Random):
            self.thing.setstate(content)
        elif isinstance(self.thing, np.random.RandomState):
            self.thing.set_state(content)
        else:
            self.thing.bit_generator.state = content


def _frozen(state):
    """A copy of a state, which NumPy gives as dicts of numbers and arrays."""
    if isinstance(state, dict):
        return {k: _frozen(v) for k, v in state.items()}
    return state.copy() if isinstance(state, np.ndarray) else state


class EnvironSpot(DictSpot):
    """os.environ."""

    def write(self, content):
        for name in self.thing.keys() - content.keys():
            del self.thing[name]
        self.thing.update(content)

    def parts(self):
        return []


class NamespaceSpot(DictSpot):
    """All that a module holds, for globals()["name"] = value."""

    def write(self, content):
        for name in self.thing.keys() - content.keys():
            del self.thing[name]
        for name, x in content.items():
            if self.thing.get(name, MISSING) is not x:
                self.thing[name] = x

    def parts(self):
        return []


class ContextSpot(Spot):
    """A context variable. It is set back by the context that the trace runs in."""

    def read(self):
        return self.thing.get(MISSING)

    def write(self, content):
        pass


class IteratorSpot(Spot):
    """How far an iterator is; only that of a list or the like can be set back."""

    def read(self):
        if is_a(self.thing, itertools.count):
            return repr(self.thing)
        if is_a(self.thing, types.GeneratorType):
            return self.thing.gi_frame and self.thing.gi_frame.f_lasti, peek(
                self.thing.gi_frame, "f_lineno"
            )
        return self.thing.__reduce__()[2:]

    def write(self, content):
        if content and hasattr(self.thing, "__setstate__"):
            self.thing.__setstate__(content[0])


ITERATORS: tuple[type, ...] = (itertools.count, types.GeneratorType, type(iter([])), type(iter(())))
GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)


def attributes(x):
    """A copy of an object's __dict__."""
    found = peek(x, "__dict__")
    return dict(found) if is_a(found, (dict, types.MappingProxyType)) else {}


def slots_of(cls):
    """The names of the slots of a class."""
    names = [getattr(c, "__slots__", ()) for c in cls.__mro__]
    names = [n for group in names for n in ((group,) if isinstance(group, str) else group)]
    return [n for n in names if n not in ("__dict__", "__weakref__")]


def is_cached(cls, name):
    """Whether an attribute is a functools.cached_property: it would be computed again."""
    return type(peek(cls, name)).__name__ == "cached_property"


def spot_kind(x):
    """The kind of spot that an object of the standard types is; None for others."""
    if is_a(x, random.SystemRandom):
        return None
    return next((spot for types, spot in KINDS if is_a(x, types)), None)


KINDS = (
    (GENERATORS, RandomSpot),
    ((list, collections.deque), SequenceSpot),
    (dict, DictSpot),
    (set, SetSpot),
    (np.ndarray, ArraySpot),
    (type(os.environ), EnvironSpot),
    (contextvars.ContextVar, ContextSpot),
    (ITERATORS, IteratorSpot),
)
