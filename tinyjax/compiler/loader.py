"""Object code -> a Python callable: addresses of its functions, and the launcher that calls them.

A kernel's object file holds one function; the launcher (``launcher.py``), itself an object file,
turns it into a callable.  Our own ``linker`` puts files into memory.  Where it does not know how,
LLVM does, which has to be loaded first.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Sequence

from tinyjax.compiler import launcher
from tinyjax.compiler.linker import NotLinkable, keep, link
from tinyjax.compiler.signature import Param

_lock = threading.Lock()

# ---- symbols ------------------------------------------------------------------------------------

# Names of our own: Numba redefines names such as PyExc_TypeError in LLVM's table.
_published = {"tinyjax_TypeError": id(TypeError), "tinyjax_None": id(None)}


def find(symbol: str) -> int | None:
    """The address of a symbol that object files may refer to: ours, or one of this process."""
    if symbol not in _published:
        try:
            function = getattr(_process(), symbol)
        except AttributeError:
            return None
        _published[symbol] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return _published[symbol]


@functools.cache
def _process() -> ctypes.PyDLL:
    """What Python and its libraries offer by name: memcpy, fmod, PyErr_SetString ..."""
    return ctypes.PyDLL(None)


def load_symbols(code: bytes, symbols: Sequence[str]) -> list[int]:
    """Load an object file made by ``compile_ir``: the addresses of some of its functions."""
    with _lock:
        try:
            found = link(code, find)
        except NotLinkable:
            from tinyjax.compiler.native import link_with_llvm

            found = link_with_llvm(code, symbols, dict(_published))
    if not all(found.get(symbol) for symbol in symbols):
        raise ValueError(f"object code lacks one of the functions {symbols}")
    return [found[symbol] for symbol in symbols]


def publish(code: bytes, symbols: Sequence[str]) -> None:
    """Load an object file and let those loaded later refer to its functions."""
    _published.update(zip(symbols, load_symbols(code, symbols), strict=True))


def publish_lazily(symbol: str, address: Callable[[], int]) -> None:
    """Let object files refer to a pointer to a function of one float64 that is found when called.

    The pointer first leads to a Python function, which replaces it with what ``address`` returns.
    """
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    cell = ctypes.c_void_p()

    def first_call(x: float) -> float:
        found = address()
        cell.value = found
        return kind(found)(x)

    callback = kind(first_call)
    cell.value = ctypes.cast(callback, ctypes.c_void_p).value
    keep(cell, callback)
    _published[symbol] = ctypes.addressof(cell)


# ---- kernels ------------------------------------------------------------------------------------


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_METH_FASTCALL = 0x80


def load_kernel(
    code: bytes, name: str, params: Sequence[Param], launch: int
) -> Callable[..., None]:
    """A Python function that calls a kernel's object file through the launcher at ``launch``."""
    [address] = load_symbols(code, [launcher.KERNEL])
    itself, message = launcher.describe(name, address, params)
    definition = _MethodDef(name.encode(), launch, _METH_FASTCALL, None)
    keep(definition, itself, message)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.py_object, ctypes.py_object),
    )
    return make(ctypes.addressof(definition), itself, None)
