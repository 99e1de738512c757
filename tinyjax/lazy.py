"""Imports that wait for the first use of a name: `import tinyjax` reads what it needs, not all.

A package whose file does nothing but pass names on writes its imports in a block:

    with lazy_imports(globals()):
        from tinyjax.numpy.sorting import argsort, sort

Editors, type checkers and readers see ordinary imports. Python only notes in the block where each
name is from; whoever asks for `argsort` first loads that file, and from then on the name is an
ordinary one of the package. (Python 3.15 says `lazy from ... import` for this.)

What such a package cannot do is to use its own names. A name may not be lazy if a file of the
package has the same name but is not what is meant: Python binds files it has loaded by itself.
"""

import builtins
import importlib
import sys
from types import ModuleType, SimpleNamespace
from typing import NamedTuple


class Place(NamedTuple):
    """Where a name is from."""

    module: str
    name: str


class lazy_imports:
    """A block of `from module import names` that are loaded at their first use."""

    def __init__(self, namespace):
        self.namespace, self.package = namespace, namespace["__name__"]

    def __enter__(self):
        self.import_now = builtins.__import__
        builtins.__import__ = self.note

    def note(self, name, globals=None, locals=None, fromlist=(), level=0):
        """What `from name import fromlist` calls: our own imports give places, others modules."""
        if globals is not self.namespace:  # another thread's
            return self.import_now(name, globals, locals, fromlist, level)
        return SimpleNamespace(**{wanted: Place(name, wanted) for wanted in fromlist})

    def __exit__(self, *exception):
        builtins.__import__ = self.import_now
        found = {name: x for name, x in self.namespace.items() if isinstance(x, Place)}
        for name in found:
            del self.namespace[name]
        self.names = found
        own = [name for name, x in self.namespace.items() if not isinstance(x, ModuleType)]
        public = sorted(name for name in (*own, *found) if not name.startswith("_"))
        self.namespace.setdefault("__all__", public)
        self.namespace |= {"__getattr__": self.load, "__dir__": self.everything}

    def load(self, name):
        """The package's __getattr__: Python calls it for names that the package has not yet."""
        place = self.names.get(name)
        if place is None:
            raise AttributeError(
                f"module {self.package!r} has no attribute {name!r}",
                name=name,
                obj=sys.modules[self.package],  # for "Did you mean ...?"
            )
        if place.module == self.package:  # a file of the package itself
            value = importlib.import_module(f"{self.package}.{place.name}")
        else:
            value = getattr(importlib.import_module(place.module), place.name)
        self.namespace[name] = value
        return value

    def everything(self):
        """The package's __dir__: all names, loaded or not."""
        return sorted({*self.namespace, *self.names})
