"""The larger functions of the mathematics: compiled once, called from kernels, not inlined.

Each function is an object file of its own with a scalar version and SIMD versions (a register's
lanes, and half as many).  Kernels call the scalar one; LLVM's loop vectoriser finds the others
through the ``vector-function-abi-variant`` attribute.  So a kernel with a dozen transcendentals
compiles in half the time, and a function may branch: sine, cosine and tangent leave the fast
path when a lane holds a huge number, whose reduction takes many digits of pi.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from llvmlite import ir

from tinyjax.compiler import vector_math, vector_special, vector_trig
from tinyjax.compiler.native import register_bits
from tinyjax.compiler.signature import BITS
from tinyjax.compiler.vector_ir import Num, llvm_type

_SYMBOL = re.compile(r'@"?(tinyjax\.math\.\w+\.f\d\d)"?\(')
_ATTRIBUTE = "vector-function-abi-variant"

# ---- the functions ------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[..., Num]] = {
    name: getattr(module, name)
    for module, names in {
        vector_math: "expm1 log log2 log1p sinh cosh tanh asinh acosh atanh logistic",
        vector_trig: "sin cos tan asin acos atan atan2",
        vector_special: "erf erfc erf_inv cbrt pow",
    }.items()
    for name in names.split()
}
ARITY = {"atan2": 2, "pow": 2}  # the others take one argument
PERIODIC = ("sin", "cos", "tan")
HUGE = 2.0**20  # where the fast reduction of an angle ends


def lanes_of(code: str) -> tuple[int, ...]:
    """How many SIMD lanes the versions of a function have: a register, and half of one."""
    full = register_bits() // BITS[code]
    return (full // 2, full) if full > 2 else (full,)


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
    called = used(kernel_ir)
    if not called:
        return kernel_ir
    kernel_ir = _with_hints(kernel_ir)
    # Vectors that live across a call are saved on the stack: fast only where that is aligned.
    kernel_ir = kernel_ir.replace(" noinline", ' noinline "stackrealign"')
    lines = []
    kept = []
    for number, target in enumerate(called):
        code = target[-3:]
        versions = lanes_of(code)
        scalar = "float" if code == "f32" else "double"
        declared = re.search(rf'declare \w+ @"?{re.escape(target)}"?\(.*\)', kernel_ir)
        assert declared is not None
        arity = declared[0].count(scalar) - 1
        kernel_ir = kernel_ir.replace(declared[0], f"{declared[0]} #{900 + number}")
        mapping = ",".join(f"_ZGV_LLVM_N{n}{'v' * arity}_{target}({target}.v{n})" for n in versions)
        lines.append(
            f"attributes #{900 + number} = "
            f'{{ nounwind willreturn memory(none) "{_ATTRIBUTE}"="{mapping}" }}'
        )
        for n in versions:
            vector = f"<{n} x {scalar}>"
            parameters = ", ".join([vector] * arity)
            lines.append(f'declare {vector} @"{target}.v{n}"({parameters}) nounwind memory(none)')
            kept.append(f'ptr @"{target}.v{n}"')
    lines.append(
        f"@llvm.compiler.used = appending global [{len(kept)} x ptr] "
        f'[{", ".join(kept)}], section "llvm.metadata"'
    )
    return "\n".join([kernel_ir, *lines, ""])


ONCE = '!{!"llvm.loop.interleave.count", i32 1}'
MASKED = '!{!"llvm.loop.vectorize.predicate.enable", i1 true}'
MANY = 12  # calls


def _with_hints(kernel_ir: str) -> str:
    """Tell LLVM how to vectorise the loops that call library functions.

    One vector at a time: several calls in flight only spill registers.  Where there are many, and
    the processor has masks, these do for the rest of the elements what would else be two more
    loops of the same length.  A loop is known by its branch back to a label above; what lies
    between is its body.
    """
    lines: list[str] = []
    labels: dict[str, int] = {}
    loops: list[str] = []
    for line in kernel_ir.splitlines():
        label = re.fullmatch(r'"?([\w.$<>]+)"?:', line)
        if label:
            labels[label[1]] = len(lines)
        elif line.lstrip().startswith("br "):
            back = [t for t in re.findall(r'label %"?([\w.$<>]+)"?', line) if t in labels]
            calls = len(_SYMBOL.findall("\n".join(lines[labels[back[0]] :]))) if back else 0
            if calls:
                number = 9001 + len(loops)
                wishes = f"{ONCE}, {MASKED}" if calls >= MANY and register_bits() == 512 else ONCE
                loops.append(f"!{number} = distinct !{{!{number}, {wishes}}}")
                line += f", !llvm.loop !{number}"
        lines.append(line)
    return "\n".join([*lines, *loops])


# ---- the library's side -------------------------------------------------------------------------


def versions_of(target: str) -> list[str]:
    """The symbols that the object file of the function ``target`` defines."""
    return [target, *(f"{target}.v{lanes}" for lanes in lanes_of(target[-3:]))]


def library_ir(target: str) -> str:
    """LLVM IR of all versions of the function whose scalar version is named ``target``."""
    name, code = target.split(".")[2:]
    module = ir.Module(target)
    for lanes in (0, *lanes_of(code)):
        kind = llvm_type(code, lanes)
        parameters = [kind] * ARITY.get(name, 1)
        function = ir.Function(module, ir.FunctionType(kind, parameters), symbol(name, code, lanes))
        _write_body(function, name, code)
    return str(module)


def _write_body(function: ir.Function, name: str, code: str) -> None:
    """The instructions of one version of a library function."""
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    operands = [Num(builder, argument, code) for argument in function.args]
    result = FUNCTIONS[name](*operands)
    if name in PERIODIC:
        result = _repair_huge(name, operands[0], result)
    builder.ret(result.value)


def define_here(module: ir.Module) -> None:
    """Define the library functions that a module calls inside of it, where nothing links them."""
    for function in list(module.functions):
        if function.is_declaration and function.name.startswith("tinyjax.math."):
            function.linkage = "internal"
            name, code = function.name.split(".")[2:]
            if name in PERIODIC and huge_cell(name) not in module.globals:
                exact = _huge_function(module, name)
                cell = ir.GlobalVariable(module, exact.type, huge_cell(name))
                exact.linkage = cell.linkage = "internal"
                cell.initializer = exact
            _write_body(function, name, code)


def huge_cell(name: str) -> str:
    """The linker's name of the pointer to sin, cos or tan of huge arguments."""
    return f"tinyjax.huge.{name}"


def cells_of(target: str) -> list[str]:
    """The pointers that the object file of the function ``target`` reads."""
    name = target.split(".")[2]
    return [huge_cell(name)] if name in PERIODIC else []


def huge_ir(cell: str) -> str:
    """LLVM IR of the function behind such a pointer, on one float64."""
    module = ir.Module(cell)
    _huge_function(module, cell.split(".")[2])
    return str(module)


def _huge_function(module: ir.Module, name: str) -> ir.Function:
    """sin, cos or tan for huge arguments, in a module."""
    double = llvm_type("f64")
    kind = ir.FunctionType(double, [double])
    function = ir.Function(module, kind, f"{huge_cell(name)}.function")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(vector_trig.of_huge(name, Num(builder, function.args[0], "f64")).value)
    return function


def _repair_huge(name: str, x: Num, result: Num) -> Num:
    """``result``, with lanes recomputed where ``x`` is finite and huge (a branch rarely taken)."""
    builder = x.builder
    a = x.abs()
    huge = (a >= HUGE) & (a < float("inf"))
    slot = builder.alloca(result.value.type)
    builder.store(result.value, slot)
    if not x.lanes:
        with builder.if_then(huge.value, likely=False):
            builder.store(_call_huge(name, x).value, slot)
        return x.new(builder.load(slot))
    mask = builder.bitcast(huge.value, ir.IntType(x.lanes))
    with builder.if_then(
        builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0)), likely=False
    ):
        for k in range(x.lanes):
            lane = ir.Constant(ir.IntType(32), k)
            with builder.if_then(builder.extract_element(huge.value, lane), likely=False):
                exact = _call_huge(name, x.new(builder.extract_element(x.value, lane)))
                updated = builder.insert_element(builder.load(slot), exact.value, lane)
                builder.store(updated, slot)
    return x.new(builder.load(slot))


def _call_huge(name: str, x: Num) -> Num:
    """A call through the pointer that the backend keeps to the function for huge arguments."""
    builder, double = x.builder, llvm_type("f64")
    pointer = ir.FunctionType(double, [double]).as_pointer()
    module = builder.module
    cell = module.globals.get(huge_cell(name)) or ir.GlobalVariable(
        module, pointer, huge_cell(name)
    )
    wide = x.to("f64")
    return wide.new(builder.call(builder.load(cell), [wide.value])).to(x.code)
