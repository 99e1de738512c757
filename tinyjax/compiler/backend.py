"""Kernel source and argument types -> a fast callable: the door to the compiler's lower half.

``compile_kernel`` looks for the kernel in this process, then in the disk cache (Numba is not
imported for that), and compiles it otherwise: Numba's front end gives LLVM IR (``target``), LLVM
gives object code (``native``).  If the private target does not fit the installed Numba, plain
``numba.njit`` compiles the same text, and without Numba it runs as the Python that it is.

A kernel is the text of one function of the form

    def scale(x, factor, out):
        for i in range(x.size):
            out[i] = x[i] * factor[0]

with loops over ``range``, ``while``, ``break``, ``if``, scalars, operators, comparisons of two
values, indexing ``a[i]``, ``a[i, j]``, rows ``a[i]``, slices ``a[i:j]`` of the first axis,
``.size``, ``.shape`` and the words of ``intrinsics``.  One variable has one type, and is known in
the block that assigns it; indices are in bounds and not negative (nothing checks); a step of
``range`` that is no literal is positive.  Results are written to array parameters; scratch arrays
are parameters too.
"""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from tinyjax.compiler import cache, launcher
from tinyjax.compiler.intrinsics_py import run_source_in_python
from tinyjax.compiler.loader import load_kernel, load_symbols, publish, publish_lazily
from tinyjax.compiler.signature import Param, parse
from tinyjax.source import warn

Kernel = Callable[..., None]
Request = tuple[str, str, tuple[str, ...]]  # name, source, signature

__all__ = [
    "Kernel",
    "KernelError",
    "compile_kernel",
    "compile_kernels",
    "kernel_counts",
    "run_source_in_python",
]

_kernels: dict[tuple[str, tuple[str, ...]], Kernel] = {}
_lock = threading.RLock()  # Numba compiles for one thread at a time
_counts = {"compiled": 0, "loaded": 0}  # kernels, since the process started


class KernelError(Exception):
    """A kernel's source cannot be compiled: the message says why and shows the source."""


class KernelCounts(NamedTuple):
    """How many kernels a process has compiled, and how many it has read from the disk cache."""

    compiled: int
    loaded: int


def kernel_counts() -> KernelCounts:
    """How many kernels this process has compiled, and how many it has read from the disk cache.

    A kernel does not know sizes: a function that meets arrays of a new shape is traced again, but
    finds its kernels.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> f = jax.jit(lambda x: jnp.sin(x) * x)
    >>> y = f(jnp.ones(1000))
    >>> before = kernel_counts()
    >>> y = f(jnp.ones(2000))
    >>> kernel_counts() == before
    True
    """
    return KernelCounts(**_counts)


def compile_kernel(name: str, source: str, signature: tuple[str, ...]) -> Kernel:
    """Compile the function ``name`` of ``source`` for arguments of the types in ``signature``.

    Each entry of ``signature`` is ``'dtype[rank]'`` for an array (dtypes bool, i8..i64, u8..u64,
    f16, bf16, f32, f64) or ``'intp'`` for a Python int (also ``'f32'``, ``'f64'``, ``'i32'`` ...:
    a number passed by value).  A rank-1 parameter takes an array of any rank as flat (so
    ``'f32[1]'`` is right for a 0-d array), and one of rank r merges the leading axes of an array
    of higher rank.

    The result is called with NumPy arrays (C-contiguous, of the right dtype: only the former is
    checked) and ints. It releases the GIL, returns None, and assumes that no array that is
    written overlaps another argument.

    Raises ``KernelError`` if the source does not compile.

    >>> import numpy as np
    >>> double = compile_kernel("double", "def double(x, out):\\n    for i in range(x.size):\\n"
    ...                         "        out[i] = x[i] + x[i]\\n", ("f32[1]", "f32[1]"))
    >>> out = np.empty(3, np.float32)
    >>> double(np.arange(3, dtype=np.float32), out)
    >>> out
    array([0., 2., 4.], dtype=float32)
    """
    known = _kernels.get((source, signature))
    return compile_kernels([(name, source, signature)])[0] if known is None else known


def compile_kernels(requests: Sequence[Request]) -> list[Kernel]:
    """Compile several kernels, each as ``compile_kernel`` does.

    That is faster than one by one: LLVM makes the code of one, in a thread of its own, while Numba
    reads the next.
    """
    with _lock:
        missing = [r for r in dict.fromkeys(requests) if r[1:] not in _kernels]
        if len(missing) == 1:
            _kernels[missing[0][1:]] = _build(*missing[0])
        elif missing:
            beside = ThreadPoolExecutor(1)
            try:
                begun = [_Build(*r, lambda *args: beside.submit(*args).result) for r in missing]
                for request, build in zip(missing, begun, strict=True):
                    _kernels[request[1:]] = build.finish()
            finally:
                beside.shutdown(wait=False, cancel_futures=True)  # Ctrl-C need not wait for LLVM
    return [_kernels[request[1:]] for request in requests]


def _build(name: str, source: str, codes: tuple[str, ...]) -> Kernel:
    """Load a kernel from the disk cache or compile it."""
    return _Build(name, source, codes, functools.partial).finish()


class _Build:
    """A kernel on its way: from the disk cache, or through Numba, which happens first, and LLVM.

    ``begin(function, argument)`` may begin to compute something; it returns what gives the result.
    """

    def __init__(self, name: str, source: str, codes: tuple[str, ...], begin: Callable):
        self.request = name, source, codes
        self.params, self.entry = parse(codes), cache.key(source, codes)
        self.stored, self.failure = cache.load(self.entry), None
        self.origin = "compiled" if self.stored is None else "loaded"
        if self.stored is None:
            try:
                functions, text = _llvm_ir(name, source, self.params)
                self.functions, self.code = functions, begin(object_of, text)
            except Exception as error:
                self.failure = error

    def finish(self) -> Kernel:
        """The kernel, when its code has been made; or what replaces it."""
        try:
            if self.failure is not None:
                raise self.failure
            if self.stored is None:
                self.stored = self.functions + self.code()
                cache.store(self.entry, self.stored)
            kernel = _load(self.request[0], self.params, self.stored)
        except Exception as error:
            kernel = _fall_back(*self.request, error)
        _counts[self.origin] += 1
        return kernel


def _llvm_ir(name: str, source: str, params: tuple[Param, ...]) -> tuple[bytes, str]:
    """What Numba makes of a kernel: a line that names library functions, and LLVM IR."""
    with _no_garbage_collection():
        from tinyjax.compiler.target import lower_to_ir
        from tinyjax.compiler.vector_library import used, with_vector_versions

        kernel_ir, function = lower_to_ir(name, source, params)
        text = with_vector_versions(kernel_ir) + launcher.unpacking_ir(params, function)
        return " ".join(used(kernel_ir)).encode() + b"\n", text


def _load(name: str, params: tuple[Param, ...], stored: bytes) -> Kernel:
    """A callable from an entry of the cache: names of library functions, then object code."""
    functions, code = stored.split(b"\n", 1)
    for target in functions.decode().split():
        _library_function(target)
    return load_kernel(code, name, params, _launcher())


def object_of(ir: str) -> bytes:
    """LLVM IR -> object code. LLVM is loaded now: a process that compiles nothing needs none."""
    from tinyjax.compiler.native import compile_ir

    return compile_ir(ir)


# ---- code that kernels share --------------------------------------------------------------------


def stored_or_compiled(entry: str, compile_it: Callable[[], bytes]) -> bytes:
    """An entry of the disk cache, made by ``compile_it`` if it is not there."""
    stored = cache.load(entry)
    if stored is None:
        stored = compile_it()
        cache.store(entry, stored)
    return stored


@functools.cache
def _launcher() -> int:
    """Address of the launcher, loaded once per process and compiled once per machine."""
    if not launcher.reads_arrays_right():
        raise RuntimeError("NumPy's array structure is not laid out as the launcher expects")
    code = stored_or_compiled(cache.key("launcher", ()), lambda: object_of(launcher.launcher_ir()))
    return load_symbols(code, [launcher.LAUNCHER])[0]


@functools.cache
def _library_function(target: str) -> None:
    """Load a function of the mathematical library, so that kernels loaded later find it."""

    def compile_it() -> bytes:
        from tinyjax.compiler.vector_library import cells_of, library_ir, versions_of

        header = " ".join(versions_of(target)) + "\n" + " ".join(cells_of(target)) + "\n"
        return header.encode() + object_of(library_ir(target))

    stored = stored_or_compiled(cache.key(target, ("library",)), compile_it)
    versions, cells, code = stored.split(b"\n", 2)
    for cell in cells.decode().split():
        publish_lazily(cell, functools.partial(_huge_function, cell))
    publish(code, versions.decode().split())


def _huge_function(cell: str) -> int:
    """Address of sin, cos or tan for huge arguments, compiled when the first one is met."""

    def compile_it() -> bytes:
        from tinyjax.compiler.vector_library import huge_ir

        return object_of(huge_ir(cell))

    code = stored_or_compiled(cache.key(cell, ("huge",)), compile_it)
    return load_symbols(code, [f"{cell}.function"])[0]


# ---- fall-backs ---------------------------------------------------------------------------------

_PROBE = "def probe(x, out):\n    for i in range(x.size):\n        out[i] = exp(x[i]) + x[0]\n"


@functools.cache
def _target_fits() -> bool:
    """Whether the private target works with the installed Numba at all; if not, says so, once."""
    params = parse(("f32[1]", "f32[1]"))
    try:
        functions, text = _llvm_ir("probe", _PROBE, params)
        _load("probe", params, functions + object_of(text))
    except Exception as error:
        instead = "numba.njit compiles kernels, which takes longer"
        if _njit() is None:
            instead = "Numba cannot be imported, so kernels run as slow Python code"
        warn(
            f"tinyjax's compiler does not fit the installed Numba "
            f"({type(error).__name__}: {error}); {instead}",
            RuntimeWarning,
        )
        return False
    return True


@functools.cache
def _njit() -> Callable[..., Kernel] | None:
    """How Numba compiles a kernel; ``None`` if it cannot be imported."""
    try:
        from tinyjax.compiler.njit_fallback import compile_with_njit
    except Exception:
        return None
    return compile_with_njit


def _fall_back(name: str, source: str, codes: tuple[str, ...], error: Exception) -> Kernel:
    """Compile with plain ``numba.njit`` or run in Python if that can be the remedy."""
    why = f"{error}"
    if not _target_fits():
        compile_with_njit = _njit()
        if compile_with_njit is None:
            return run_source_in_python(name, source, parse(codes))
        try:
            return compile_with_njit(name, source, codes)
        except Exception as second:
            why += f"; nor with numba.njit: {second}"
    raise KernelError(f"kernel {name!r} does not compile for {codes}: {why}\n{source}") from error


@contextmanager
def _no_garbage_collection():
    """Compiling makes a great many small objects: collections would take a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
