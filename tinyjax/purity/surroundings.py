"""What a function can reach beside its arguments' values, and what it did to it.

Surroundings begin with the function itself (its closure, its defaults, the object that it is a
method of) and grow while it is traced: when a function of the user is called, the globals that its
code names are added as they are at that moment, before its first instruction.
"""

import argparse
import functools
import random
import types

import numpy as np

from tinyjax.core import Tracer
from tinyjax.purity.code import is_a, is_user_class, is_watched, nested, peek, text_of, uses
from tinyjax.purity.spots import (
    MISSING,
    AttributeSpot,
    CellSpot,
    ClassSpot,
    FunctionSpot,
    NamespaceSpot,
    NameSpot,
    RandomSpot,
    same,
    spot_kind,
)

MOST = 20_000  # spots; what has more of them is looked at in part
NAMESPACES = (types.SimpleNamespace, argparse.Namespace)
WRAPPED = ("fun", "f", "func", "rule", "fwd", "bwd", "__wrapped__", "__func__")


class Change:
    """A spot whose content is another one than before."""

    def __init__(self, spot, before, after):
        self.spot, self.before, self.after, self.source = spot, before, after, None

    @property
    def key(self):
        """What tells the same change in another run."""
        part = tuple(self.before.keys()) if self.is_part else ()
        return (self.spot.root, self.spot.path, type(self.spot), *part)

    @property
    def is_part(self):
        """Whether it is about one attribute, not about all of an object."""
        mock = type(self.spot.thing).__module__ == "unittest.mock"
        return is_a(self.spot, (AttributeSpot, ClassSpot)) and is_a(self.before, dict) and not mock

    def by_attribute(self):
        """A change of several attributes of an object as one change for each."""
        if not self.is_part or not is_a(self.after, dict):
            return [self]
        names = {**self.before, **self.after}
        pairs = [(n, self.before.get(n, MISSING), self.after.get(n, MISSING)) for n in names]
        return [Change(self.spot, {n: a}, {n: b}) for n, a, b in pairs if not same(a, b)]

    def members(self):
        """What was put there: triples (path, before, after) of the parts that differ."""
        path, before, after = self.spot.path, self.before, self.after
        if not self.spot.container:
            return [(path, before, after)]
        if isinstance(before, tuple) and isinstance(after, tuple):
            before, after = dict(enumerate(before)), dict(enumerate(after))
        if not isinstance(before, dict) or not isinstance(after, dict):
            return []
        attribute = isinstance(self.spot, (AttributeSpot, ClassSpot))
        form = "{}.{}" if attribute else "{}[{}]"
        return [
            (
                form.format(path, k if attribute else text_of(k)),
                before.get(k, MISSING),
                after.get(k, MISSING),
            )
            for k in {**before, **after}
            if not same(before.get(k, MISSING), after.get(k, MISSING))
        ]


class Surroundings:
    """All spots that were found, with the contents that they had when they were found."""

    def __init__(self):
        self.spots, self.contents, self.seen = [], [], {}
        self.codes = set()  # the code objects whose globals are here
        self.cells = {}  # code object -> name -> cell, of functions that were there before
        self.add_spot(RandomSpot(np.random.mtrand._rand, "global", "numpy.random"))
        self.add_spot(RandomSpot(random._inst, "global", "random"))

    def add_spot(self, spot):
        """Remember a spot and what is in it now."""
        if len(self.spots) >= MOST:
            return
        self.seen[id(spot.thing)] = spot.thing
        try:
            content, parts = spot.read(), spot.parts()
        except Exception:  # a class whose instances are not what they seem
            return
        self.spots.append(spot)
        self.contents.append(content)
        for path, x in parts:
            self.add(x, spot.root, path)

    def add(self, x, root, path):
        """Add the spots that can be reached from an object."""
        if id(x) in self.seen or is_a(x, Tracer):
            return
        kind = spot_kind(x)
        if kind:
            self.add_spot(kind(x, root, path))
        elif is_a(x, tuple):
            for i, part in enumerate(x):
                self.add(part, root, f"{path}[{i}]")
        elif is_a(x, types.FunctionType):
            self.add_function(x, root, path)
        elif is_a(x, types.MethodType):
            self.add(x.__self__, root if path == "self" else "attribute", owner(x))
            self.add(x.__func__, root, path)
        elif is_a(x, functools.partial):
            self.add_partial(x, root, path)
        elif is_a(x, type):
            if is_user_class(x):
                self.add_spot(ClassSpot(x, root, path))
        elif is_a(x, NAMESPACES) or is_user_class(type(x)):
            self.add_object(x, root, path)
        elif str(type(x).__module__).startswith("tinyjax."):
            self.add_wrapper(x, root, path)

    def add_partial(self, x, root, path):
        """A functools.partial: its function, and what it hands in, by the parameters' names."""
        self.seen[id(x)] = x
        self.add(x.func, root, path)
        code = peek(x.func, "__code__")
        names = code.co_varnames[peek(x.func, "__self__") is not None :] if code else ()
        names = [*names, *[f"args[{i}]" for i in range(len(names), len(x.args))]]
        for name, part in (*zip(names, x.args), *x.keywords.items()):
            self.add(part, "partial", name)

    def add_object(self, x, root, path):
        """An instance of a class of the user: its attributes, and those of the class."""
        if is_a(x, types.ModuleType):
            return
        self.add_spot(AttributeSpot(x, root, path))
        if is_user_class(type(x)):
            self.add(type(x), root, type(x).__name__)
        if callable(x) and isinstance(type(x).__call__, types.FunctionType):
            self.add(type(x).__call__, root, path)

    def add_wrapper(self, x, root, path):
        """What a transformation of ours made: the functions inside."""
        self.seen[id(x)] = x
        for name in WRAPPED:
            part = peek(x, name)
            if callable(part):
                self.add(part, root, path)

    def add_function(self, f, root, path):
        """A function: its closure, its defaults and its attributes."""
        self.seen[id(f)] = f
        code, mine = f.__code__, is_watched(f.__code__, f.__globals__)
        for name, cell in zip(code.co_freevars, f.__closure__ or ()):
            spot = CellSpot(cell, "closure", name)
            if not mine:  # a wrapper of a library: what it holds counts, not its own variables
                for _, x in spot.parts():
                    if callable(x):
                        self.add(x, "closure", peek(x, "__name__", name))
                continue
            self.cells.setdefault(code, {})[name] = cell
            if id(cell) not in self.seen:
                self.add_spot(spot)
        if mine:
            self.add_defaults(f)
            self.add_spot(FunctionSpot(f, root, f.__name__))
        wrapped = peek(f, "__wrapped__")
        if wrapped is not None:
            self.add(wrapped, root, path)

    def add_defaults(self, f):
        """The values of a function's optional parameters, which all calls share."""
        names = f.__code__.co_varnames[: f.__code__.co_argcount]
        defaults = f.__defaults__ or ()
        pairs = list(zip(names[len(names) - len(defaults) :], defaults))
        for name, x in (*pairs, *(f.__kwdefaults__ or {}).items()):
            self.add(x, "default", name)

    def add_globals(self, code, namespace):
        """The globals that a code object, or a function in it, names, as they are now."""
        if code in self.codes:
            return
        for inner in nested(code):
            self.codes.add(inner)
            for use in uses(inner):
                name = use.names[0]
                if use.scope != "global" or (name not in namespace and not use.written):
                    continue
                value = namespace.get(name)
                if not is_a(value, types.ModuleType):
                    self.add_name(namespace, name, name)
                elif len(use.names) > 1 and not is_foreign(value, use.names[1]):
                    self.add_name(vars(value), use.names[1], f"{name}.{use.names[1]}")

    def add_namespace(self, namespace):
        """All globals of a module, for globals()["name"] = value."""
        if id(namespace) not in self.seen:
            self.add_spot(NamespaceSpot(namespace, "global", "globals()"))

    def add_name(self, namespace, name, path):
        """A global variable."""
        key = ("name", id(namespace), name)
        if key not in self.seen and not is_a(namespace.get(name), types.ModuleType):
            self.seen[key] = namespace
            spot = NameSpot(namespace, name, "global", path)
            self.spots.append(spot)
            self.contents.append(spot.content())
            for inner, x in spot.parts():
                self.add(x, "global", inner)

    def changes(self):
        """What is no longer as it was."""
        found = self.changes_of(range(len(self.spots)))
        return [part for change in found for part in change.by_attribute()]

    def changes_of(self, numbers):
        """The changes of some spots."""
        found = []
        for i in numbers:
            now = self.spots[i].content()
            if not same(self.contents[i], now):
                found.append(Change(self.spots[i], self.contents[i], now))
        return found

    def restore(self):
        """Set everything back, what was found first last."""
        for change in reversed(self.changes_of(range(len(self.spots)))):
            change.spot.write(change.before)


def is_foreign(module, name):
    """Whether a variable of a module is ours, or one of the streams that a check sets."""
    streams = module.__name__ == "sys" and name in ("stdin", "stdout", "stderr")
    return streams or module.__name__.startswith("tinyjax")


def owner(method):
    """What the object of a method is called in it: 'self', or the name of the class."""
    if is_a(method.__self__, type):
        return method.__self__.__name__
    names = peek(peek(method.__func__, "__code__"), "co_varnames", ())
    return names[0] if names else "self"
