"""The larger functions of the vector mathematics, compiled once and called from kernels instead
of inlined.

Each function is an object file of its own with a scalar version and versions for 2 to 16 SIMD
lanes.  Kernels call the scalar one; LLVM's loop vectoriser finds the others through the
``vector-function-abi-variant`` attribute.  So a kernel with a dozen transcendentals compiles in a
fraction of the time, and a function may branch: sine, cosine and tangent leave the fast path when
a lane holds a huge number, whose reduction takes many digits of pi."""

from __future__ import annotations

import re
from collections.abc import Callable

from llvmlite import ir

from tinyjax.compiler import vector_special, vector_trig
from tinyjax.compiler.launcher import LANES
from tinyjax.compiler.vector_ir import Num, llvm_type

_SYMBOL = re.compile(r'@"?(tinyjax\.math\.\w+\.f\d\d)"?\(')
_ATTRIBUTE = "vector-function-abi-variant"

# ---- the functions ------------------------------------------------------------------------------

Function = tuple[Callable[..., Num], int]  # implementation and number of arguments
FUNCTIONS: dict[str, Function] = {
    **{name: (getattr(vector_trig, name), 1) for name in ("asin", "acos")},
    **{name: (getattr(vector_special, name), 1) for name in ("erfc", "erf_inv", "cbrt")},
    "atan2": (vector_trig.atan2, 2),
    "pow": (vector_special.pow, 2),
    **{name: (getattr(vector_trig, name), 1) for name in ("sin", "cos", "tan")},
}
PERIODIC = ("sin", "cos", "tan")
HUGE = {"f32": 2.0**40, "f64": 2.0**20}  # where the fast reduction of an angle ends


def symbol(name: str, code: str, lanes: int = 0) -> str:
    """The linker's name of a function or of its version for ``lanes`` lanes."""
    return f"tinyjax.math.{name}.{code}" + (f".v{lanes}" if lanes else "")


def call(name: str, *operands: Num) -> Num:
    """A call of a library function on scalars of one dtype."""
    first = operands[0]
    kind = llvm_type(first.code)
    target = symbol(name, first.code)
    function = first.builder.module.globals.get(target)
    if function is None:
        function = ir.Function(
            first.builder.module, ir.FunctionType(kind, [kind] * len(operands)), target
        )
    return first.new(first.builder.call(function, [x.value for x in operands]))


# ---- the kernel's side --------------------------------------------------------------------------


def used(kernel_ir: str) -> list[str]:
    """The library functions that LLVM IR calls, as symbols of their scalar versions."""
    return sorted(set(_SYMBOL.findall(kernel_ir)))


def with_vector_versions(kernel_ir: str) -> str:
    """Tell LLVM of the vector versions of the library functions that a kernel calls."""
    lines = []
    kept = []
    for number, target in enumerate(used(kernel_ir)):
        code = target[-3:]
        scalar = "float" if code == "f32" else "double"
        declared = re.search(rf'declare \w+ @"?{re.escape(target)}"?\(.*\)', kernel_ir)
        assert declared is not None
        arity = declared[0].count(scalar) - 1
        kernel_ir = kernel_ir.replace(declared[0], f"{declared[0]} #{900 + number}")
        mapping = ",".join(f"_ZGV_LLVM_N{n}{'v' * arity}_{target}({target}.v{n})" for n in LANES)
        lines.append(
            f"attributes #{900 + number} = "
            f'{{ nounwind willreturn memory(none) "{_ATTRIBUTE}"="{mapping}" }}'
        )
        for n in LANES:
            vector = f"<{n} x {scalar}>"
            lines.append(
                f'declare {vector} @"{target}.v{n}"({", ".join([vector] * arity)}) '
                "nounwind memory(none)"
            )
            kept.append(f'ptr @"{target}.v{n}"')
    if kept:
        lines.append(
            f"@llvm.compiler.used = appending global [{len(kept)} x ptr] "
            f'[{", ".join(kept)}], section "llvm.metadata"'
        )
    return "\n".join([kernel_ir, *lines, ""])


# ---- the library's side -------------------------------------------------------------------------


def library_ir(target: str) -> str:
    """LLVM IR of all versions of the function whose scalar version is named ``target``."""
    name, code = target.split(".")[2:]
    module = ir.Module(target)
    slow = _define_slow(module, name, code) if name in PERIODIC else None
    for lanes in (0, *LANES):
        kind = llvm_type(code, lanes)
        implementation, arity = FUNCTIONS[name]
        function = ir.Function(
            module, ir.FunctionType(kind, [kind] * arity), symbol(name, code, lanes)
        )
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        operands = [Num(builder, argument, code) for argument in function.args]
        result = implementation(*operands)
        if slow is not None:
            result = _repair_huge(operands[0], result, slow)
        builder.ret(result.value)
    return str(module)


def _define_slow(module: ir.Module, name: str, code: str) -> ir.Function:
    """The scalar version for huge arguments."""
    kind = llvm_type(code)
    function = ir.Function(module, ir.FunctionType(kind, [kind]), f"{name}.slow")
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    x = Num(builder, function.args[0], code).to("f64")
    builder.ret(vector_trig.of_huge(name, x).to(code).value)
    return function


def _repair_huge(x: Num, result: Num, slow: ir.Function) -> Num:
    """``result``, recomputed by ``slow`` in the lanes where ``x`` is finite and huge."""
    builder = x.builder
    a = x.abs()
    huge = (a >= HUGE[x.code]) & (a < float("inf"))
    lanes = x.lanes
    if not lanes:
        with builder.if_else(huge.value, likely=False) as (then, otherwise):
            with then:
                exact = builder.call(slow, [x.value])
                from_slow = builder.block
            with otherwise:
                from_fast = builder.block
        choice = builder.phi(result.value.type)
        choice.add_incoming(exact, from_slow)
        choice.add_incoming(result.value, from_fast)
        return x.new(choice)
    mask = builder.bitcast(huge.value, ir.IntType(lanes))
    slot = builder.alloca(result.value.type)
    builder.store(result.value, slot)
    with builder.if_then(
        builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0)), likely=False
    ):
        index = ir.IntType(32)
        for lane in range(lanes):
            with builder.if_then(
                builder.extract_element(huge.value, ir.Constant(index, lane)), likely=False
            ):
                exact = builder.call(
                    slow, [builder.extract_element(x.value, ir.Constant(index, lane))]
                )
                updated = builder.insert_element(
                    builder.load(slot), exact, ir.Constant(index, lane)
                )
                builder.store(updated, slot)
    return x.new(builder.load(slot))
