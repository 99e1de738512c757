"""LLVM IR text -> object code, through llvmlite alone (numba is never imported here).

Object files are all that the disk cache stores; ``loader.py`` makes them callable.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping, Sequence

import llvmlite.binding as llvm

_lock = threading.Lock()  # LLVM contexts are not thread-safe
_alive: list[object] = []  # code that is loaded is never unloaded

# Versions of LLVM whose options are known: any other could end the process at one it does not know.
KNOWN = range(14, 23)

# ---- the machine --------------------------------------------------------------------------------


@functools.cache
def target_machine(opt: int = 2) -> llvm.TargetMachine:
    """LLVM's description of this CPU, with every feature it has.

    Loop strength reduction is switched off, for the whole process, on x86: it takes a third of the
    time of making code, and where loads compute addresses, loops are as fast without.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    x86 = llvm.get_process_triple().startswith("x86_64")
    if x86 and llvm.llvm_version_info[0] in KNOWN:
        llvm.set_option("tinyjax", "-disable-lsr")
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


def link_with_llvm(code: bytes, symbols: Sequence[str], known: Mapping[str, int]) -> dict[str, int]:
    """Load an object file that may refer to what is ``known``: addresses of some of its symbols."""
    with _lock:
        for symbol, address in known.items():
            llvm.add_symbol(symbol, address)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _alive.append(engine)
        return {symbol: engine.get_function_address(symbol) for symbol in symbols}
