"""Spots: places that hold state, each of which can be read, compared and set back.

A spot is one level deep: a list spot holds the list's elements, not what is in them. What they
contain has spots of its own (`Surroundings.add`), and so each change has one place and one name.
"""

import collections
import random

import numpy as np

MISSING = type("Missing", (), {"__repr__": lambda self: "nothing"})()
LARGE, SAMPLE = 1 << 26, 10_000  # bytes of an array to keep a copy of; elements of larger ones
PLAIN = (bool, int, float, complex, str, bytes, type(None))


def same(a, b):
    """Whether two contents are the same: the same objects, or equal plain values."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(k in b and same(x, b[k]) for k, x in a.items())
    if isinstance(a, PLAIN):
        return a == b
    return isinstance(a, np.ndarray) and _content_of(a) == _content_of(b)


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
        return [(f"{self.path}[{i}]", x) for i, x in parts if not isinstance(x, PLAIN)]


class DictSpot(Spot):
    """A dict."""

    def read(self):
        return dict(self.thing)

    def write(self, content):
        self.thing.clear()
        self.thing.update(content)

    def parts(self):
        parts = self.thing.items()
        return [(f"{self.path}[{k!r}]", x) for k, x in parts if not isinstance(x, PLAIN)]


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
        cls, found = type(self.thing), dict(getattr(self.thing, "__dict__", {}))
        for name in slots_of(cls):
            if hasattr(self.thing, name):
                found[name] = getattr(self.thing, name)
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


GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)


def slots_of(cls):
    """The names of the slots of a class."""
    names = [getattr(c, "__slots__", ()) for c in cls.__mro__]
    names = [n for group in names for n in ((group,) if isinstance(group, str) else group)]
    return [n for n in names if n not in ("__dict__", "__weakref__")]


def is_cached(cls, name):
    """Whether an attribute is a functools.cached_property: it would be computed again."""
    return type(getattr(cls, name, None)).__name__ == "cached_property"


def spot_kind(x):
    """The kind of spot that an object of the standard types is; None for others."""
    if isinstance(x, GENERATORS):
        return None if isinstance(x, random.SystemRandom) else RandomSpot
    if isinstance(x, (list, collections.deque)):
        return SequenceSpot
    if isinstance(x, dict):
        return DictSpot
    if isinstance(x, set):
        return SetSpot
    if isinstance(x, np.ndarray):
        return ArraySpot
    return None
