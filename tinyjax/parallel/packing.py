"""Jaxprs as bytes, for other processes.

tinyjax's own primitives go by name. Everything else goes by value (cloudpickle), so that a
primitive written in a notebook or script works on devices, too.
"""

import importlib
import io
import pickle
import sys
from functools import cache

from tinyjax.core import Jaxpr, Primitive


@cache
def packer_class():
    """cloudpickle's pickler, with names for our own primitives."""
    import cloudpickle

    class OwnPickler(cloudpickle.Pickler):
        def persistent_id(self, obj):
            if not isinstance(obj, Primitive):
                return None
            name = name_of(obj)
            module = sys.modules.get(type(obj).__module__)
            if name is None and module is not None:  # or devices would import the user's program
                cloudpickle.register_pickle_by_value(module)
            return name

        def reducer_override(self, obj):
            if isinstance(obj, Jaxpr):
                return rebuild, (obj.invars, obj.eqns, obj.outvars, obj.constvars, obj.consts)
            return super().reducer_override(obj)

    return OwnPickler


def rebuild(*parts):
    """A jaxpr of its parts, without what was memoised on it."""
    return Jaxpr(*parts)


def name_of(primitive):
    """(module, name) of a primitive that tinyjax defines; None for one that a user made."""
    names = own_names()
    if id(primitive) not in names:
        own_names.cache_clear()  # a module that was loaded since
        names = own_names()
    return names.get(id(primitive))


@cache
def own_names():
    """id -> (module, name) of all primitives in the modules of tinyjax that are loaded."""
    return {
        id(value): (module.__name__, name)
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("tinyjax.")
        for name, value in list(vars(module).items())
        if isinstance(value, Primitive)
    }


class Unpacker(pickle.Unpickler):
    """Finds primitives by name."""

    def persistent_load(self, pid):
        module, name = pid
        return getattr(importlib.import_module(module), name)


def pack(jaxpr):
    """A jaxpr as bytes. Raises what pickle raises for parameters that cannot be moved."""
    file = io.BytesIO()
    packer_class()(file).dump(jaxpr)
    return file.getvalue()


def unpack(code):
    """The jaxpr."""
    return Unpacker(io.BytesIO(code)).load()
