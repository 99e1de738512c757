"""LLVM IR text -> object code -> a Python callable, through llvmlite alone (numba is never imported here).

A kernel's object file holds one function with CPython's ``METH_FASTCALL`` signature.  It takes the data pointer and
shape straight from each NumPy array, releases the GIL and runs the kernel, so a call costs about a tenth of a
microsecond.  The object file is all that the disk cache stores.
"""

from __future__ import annotations

import ctypes
import functools
import threading

import llvmlite.binding as llvm
import numpy as np

ENTRY = "tinyjax_kernel_entry"
_lock = threading.Lock()  # LLVM contexts are not thread-safe

# ------------------------------------------------------------------------------------------------ the machine


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


def machine_key() -> str:
    """A text that changes whenever object code compiled elsewhere must not be loaded here."""
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {host_features()}"


# ------------------------------------------------------------------------------------------------ compile and load


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
_alive: list[object] = []  # method definitions and engines must outlive every function made from them


def load_object(code: bytes, name: str) -> object:
    """Load an object file made by ``compile_ir`` and return its entry as a Python built-in function."""
    with _lock:
        # Symbols of our own: Numba redefines names such as PyExc_TypeError in LLVM's table.
        llvm.add_symbol("tinyjax_TypeError", id(TypeError))
        llvm.add_symbol("tinyjax_None", id(None))
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = engine.get_function_address(ENTRY)
    if not address:
        raise ValueError(f"object code of kernel {name!r} has no entry point")
    definition = _MethodDef(name.encode(), address, _METH_FASTCALL, None)
    _alive.extend((engine, definition))
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    # The function's `self` is the ndarray type: the entry compares each argument's type with it.
    return make(ctypes.addressof(definition), np.ndarray, None)
