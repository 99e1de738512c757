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
from tinyjax.purity.code import is_user_class, is_user_module, is_watched, uses
from tinyjax.purity.spots import (
    MISSING,
    AttributeSpot,
    CellSpot,
    ClassSpot,
    FunctionSpot,
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

    key = property(lambda self: (self.spot.root, self.spot.path, type(self.spot)))

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
        form = "{}.{}" if attribute else "{}[{!r}]"
        return [
            (form.format(path, k), before.get(k, MISSING), after.get(k, MISSING))
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
        if id(x) in self.seen or isinstance(x, Tracer):
            return
        kind = spot_kind(x)
        if kind:
            self.add_spot(kind(x, root, path))
        elif isinstance(x, tuple):
            for i, part in enumerate(x):
                self.add(part, root, f"{path}[{i}]")
        elif isinstance(x, types.FunctionType):
            self.add_function(x, root, path)
        elif isinstance(x, types.MethodType):
            self.add(x.__self__, root if path == "self" else "attribute", "self")
            self.add(x.__func__, root, path)
        elif isinstance(x, functools.partial):
            self.seen[id(x)] = x
            for part in (x.func, *x.args, *x.keywords.values()):
                self.add(part, root, path)
        elif isinstance(x, type):
            if is_user_class(x):
                self.add_spot(ClassSpot(x, root, path))
        elif isinstance(x, NAMESPACES) or is_user_class(type(x)):
            self.add_object(x, root, path)
        elif type(x).__module__.startswith("tinyjax."):
            self.add_wrapper(x, root, path)

    def add_object(self, x, root, path):
        """An instance of a class of the user: its attributes, and those of the class."""
        if isinstance(x, types.ModuleType):
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
            part = getattr(x, name, None)
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
                        self.add(x, "closure", getattr(x, "__name__", name))
                continue
            self.cells.setdefault(code, {})[name] = cell
            if id(cell) not in self.seen:
                self.add_spot(spot)
        if mine:
            self.add_defaults(f)
            self.add_spot(FunctionSpot(f, root, f.__name__))
        wrapped = getattr(f, "__wrapped__", None)
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
        """The globals that a code object names, as they are now."""
        if code in self.codes:
            return
        self.codes.add(code)
        for use in uses(code):
            name = use.names[0]
            if use.scope != "global" or (name not in namespace and not use.written):
                continue
            value = namespace.get(name)
            if isinstance(value, types.ModuleType):
                if len(use.names) > 1 and is_user_module(value):
                    self.add_name(vars(value), use.names[1], f"{name}.{use.names[1]}")
                continue
            self.add_name(namespace, name, name)

    def add_name(self, namespace, name, path):
        """A global variable."""
        key = ("name", id(namespace), name)
        if key not in self.seen and not isinstance(namespace.get(name), types.ModuleType):
            self.seen[key] = namespace
            spot = NameSpot(namespace, name, "global", path)
            self.spots.append(spot)
            self.contents.append(spot.read())
            for inner, x in spot.parts():
                self.add(x, "global", inner)

    def changes(self):
        """What is no longer as it was."""
        return self.changes_of(range(len(self.spots)))

    def changes_of(self, numbers):
        """The changes of some spots."""
        found = []
        for i in numbers:
            now = self.spots[i].read()
            if not same(self.contents[i], now):
                found.append(Change(self.spots[i], self.contents[i], now))
        return found

    def restore(self):
        """Set everything back, what was found first last."""
        for change in reversed(self.changes()):
            change.spot.write(change.before)
