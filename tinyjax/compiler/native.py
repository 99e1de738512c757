"""LLVM IR text -> object code -> a Python callable, through llvmlite alone (numba is never
imported here).

Object files are all that the disk cache stores.  A kernel's holds one function; the launcher
(``launcher.py``), itself an object file, turns it into a callable.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Sequence

import llvmlite.binding as llvm

from tinyjax.compiler import launcher
from tinyjax.compiler.signature import Param

_lock = threading.Lock()  # LLVM contexts are not thread-safe

# ---- the machine --------------------------------------------------------------------------------


@functools.cache
def target_machine(opt: int = 2) -> llvm.TargetMachine:
    """LLVM's description of this CPU, with every feature it has."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=host_features(),
        opt=opt,
        reloc="static",
        codemodel="jitdefault",
        jit=True,
    )


@functools.cache
def host_features() -> str:
    """The CPU's features in LLVM's notation; the widest vectors are preferred where they exist."""
    features = llvm.get_host_cpu_features().flatten()
    return features + ",-prefer-256-bit" if "+avx512f" in features else features


@functools.cache
def register_bits() -> int:
    """Width of a SIMD register."""
    features = host_features()
    for feature, bits in (("+avx512f", 512), ("+avx", 256)):
        if feature in features:
            return bits
    return 128


def machine_key() -> str:
    """A text that changes whenever object code compiled elsewhere must not be loaded here."""
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {host_features()}"


# ---- compile and load ---------------------------------------------------------------------------


def compile_ir(text: str) -> bytes:
    """Optimise LLVM IR and translate it to an object file."""
    with _lock:
        machine = target_machine()
        module = llvm.parse_assembly(text)
        module.data_layout = str(machine.target_data)
        tuning = llvm.create_pipeline_tuning_options(speed_level=2)
        tuning.loop_vectorization = True
        tuning.loop_interleaving = True
        tuning.slp_vectorization = False
        tuning.loop_unrolling = False
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
        return machine.emit_object(module)


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_METH_FASTCALL = 0x80
_alive: list[
    object
] = []  # engines, definitions and texts that must outlive every function made from them


def load_symbols(code: bytes, symbols: Sequence[str]) -> list[int]:
    """Load an object file made by ``compile_ir``: the addresses of some of its functions."""
    with _lock:
        # Symbols of our own: Numba redefines names such as PyExc_TypeError in LLVM's table.
        llvm.add_symbol("tinyjax_TypeError", id(TypeError))
        llvm.add_symbol("tinyjax_None", id(None))
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        addresses = [engine.get_function_address(symbol) for symbol in symbols]
        _alive.append(engine)
    if not all(addresses):
        raise ValueError(f"object code lacks one of the functions {symbols}")
    return addresses


def publish(code: bytes, symbols: Sequence[str]) -> None:
    """Load an object file and let those loaded later refer to its functions."""
    for symbol, address in zip(symbols, load_symbols(code, symbols), strict=True):
        llvm.add_symbol(symbol, address)


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
    _alive.extend((cell, callback))
    with _lock:
        llvm.add_symbol(symbol, ctypes.addressof(cell))


def load_kernel(
    code: bytes, name: str, params: Sequence[Param], launch: int
) -> Callable[..., None]:
    """A Python function that calls a kernel's object file through the launcher at ``launch``."""
    [address] = load_symbols(code, [launcher.KERNEL])
    itself, message = launcher.describe(name, address, params)
    definition = _MethodDef(name.encode(), launch, _METH_FASTCALL, None)
    _alive.extend((definition, itself, message))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.py_object, ctypes.py_object),
    )
    return make(ctypes.addressof(definition), itself, None)
