"""A static look at code objects: which names they read and write, on which lines."""

import dis
import functools
import sys
from types import CodeType, ModuleType
from typing import NamedTuple

from tinyjax import source

_STDLIB = sys.stdlib_module_names

# What instructions are called, from Python 3.11 on; later versions join two loads of locals.
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_CELLS = ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_WRITES = {"STORE_GLOBAL": "global", "DELETE_GLOBAL": "global"}
_WRITES |= {"STORE_DEREF": "cell", "DELETE_DEREF": "cell"}
_SILENT = ("PUSH_NULL", "COPY", "EXTENDED_ARG", "CACHE")


class Use(NamedTuple):
    """A name, and the attributes behind it, that an instruction reads or writes."""

    scope: str  # "global", "cell" or "local"
    names: tuple  # ("self", "w") for self.w
    written: bool
    line: int
    instruction: int

    def at(self, code):
        """The Source of this use."""
        return source.Source(code, self.instruction)


@functools.lru_cache(4096)
def uses(code: CodeType):
    """All uses of names in a code object, in the order of its instructions."""
    found, current, line = [], None, code.co_firstlineno
    for op in dis.get_instructions(code):
        line = (op.positions and op.positions.lineno) or line
        scope = _scope(op.opname)
        if scope:
            names = op.argval if isinstance(op.argval, tuple) else (op.argval,)
            names = names[1:] if op.opname == "STORE_FAST_LOAD_FAST" else names
            for name in names:
                current = Use(scope, (name,), False, line, op.offset)
                found.append(current)
        elif op.opname in _ATTRIBUTES and current:
            found[-1] = current = current._replace(names=(*current.names, op.argval))
        elif op.opname in ("STORE_ATTR", "DELETE_ATTR") and current:
            found[-1] = Use(current.scope, (*current.names, op.argval), True, line, op.offset)
            current = None
        elif op.opname in _WRITES:
            found.append(Use(_WRITES[op.opname], (op.argval,), True, line, op.offset))
            current = None
        elif op.opname not in _SILENT:
            current = None
    return found


def _scope(opname):
    """Where an instruction that loads a name looks for it; None for other instructions."""
    if opname in _GLOBALS:
        return "global"
    if opname in _CELLS:
        return "cell"
    local = opname.startswith("LOAD_FAST") or opname == "STORE_FAST_LOAD_FAST"
    return "local" if local else None


def nested(code):
    """A code object and those of the functions that are defined in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from nested(const)


# ---- objects of any kind ------------------------------------------------------------------------
# A look at an object may run the user's code (__getattr__, __class__ and __repr__ of lazy proxies),
# which may raise anything.


def peek(x, name, default=None):
    """getattr, or the default, whatever is raised."""
    try:
        return getattr(x, name, default)
    except Exception:
        return default


def is_a(x, types):
    """isinstance, by the type alone: __class__ is not asked."""
    return issubclass(type(x), types)


def text_of(x):
    """repr, or the name of the type if that raises."""
    try:
        return repr(x)
    except Exception:
        return f"<{type(x).__name__}>"


# ---- whose code, whose class? --------------------------------------------------------------------


@functools.lru_cache(4096)
def is_watched_file(name):
    """Whether a file is one that the user wrote: not installed, not of Python, not ours."""
    return source.is_user_file(name) and "site-packages" not in name


def is_watched(code, namespace):
    """Whether a code object, with these globals, is the user's."""
    if is_watched_file(code.co_filename):
        return True
    own = namespace.get("__name__", "__main__") == "__main__"  # python -c and exec have no file
    return own and code.co_filename == "<string>" and code.co_name != "__init__"


def is_library(name):
    """Whether a file is of an installed package."""
    return source.is_user_file(name) and "site-packages" in name


def is_user_module(module):
    """Whether a module, or one of that name, is the user's."""
    if not is_a(module, ModuleType):
        name, module = module, sys.modules.get(module)
        if module is None:
            return name not in _STDLIB and name.partition(".")[0] != "tinyjax"
    if module.__name__ == "__main__":
        return True
    if module.__name__ == "unittest.mock":  # whose objects note that they are called
        return True
    if module.__name__.partition(".")[0] in {*_STDLIB, "tinyjax", "numpy"}:
        return False
    return is_watched_file(getattr(module, "__file__", None) or "<frozen>")


def is_user_class(cls):
    """Whether instances of a class hold state that the user's code may change."""
    module = peek(cls, "__module__")
    return is_user_module(module if isinstance(module, str) else "builtins")
