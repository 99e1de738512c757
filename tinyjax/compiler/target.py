"""Kernel source -> LLVM IR with Numba as the front end.  The one file that leans on Numba's
internals.

Numba turns the function's bytecode into its own IR, infers types and lowers to LLVM IR.  Three
things are ours:

* ``Buffer``, the type of an array argument: data pointer and lengths only, so no reference
  counts, no bounds or wrap-around tests, and LLVM sees through every index;
* the meaning of operators and words, taken from ``intrinsics.py``: the typing and lowering
  contexts below answer for them directly, so that none of Numba's registries (nor SciPy, which
  those import) is loaded;
* code generation: the LLVM IR goes to ``native.py``, not to Numba's.

``compile_with_njit`` is the plain way, by ``numba.njit``; the backend falls back on it if this
file meets a version of Numba that it does not fit.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from types import FunctionType

from llvmlite import ir
from numba.core import cgutils, compiler, cpu, funcdesc, imputils, lowering, types
from numba.core.callconv import CPUCallConv, create_error_model
from numba.core.compiler import Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.datamodel import models, register_default
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import type_inference_stage
from numba.core.types.containers import BaseTuple
from numba.core.types.misc import unliteral
from numba.core.typing import builtins as _typing_builtins  # noqa: F401  (registers range and friends)
from numba.core.typing import templates
from numba.core.typing.context import BaseContext as TypingBase
from numba.cpython import rangeobj, slicing, tupleobj  # noqa: F401  (register their lowering)

from tinyjax.compiler.complex_words import PART, join, split, to_complex
from tinyjax.compiler.intrinsics import (
    INTRINSICS,
    OPERATORS,
    Intrinsic,
    bf16_bits,
    f16_bits,
    f16_value,
)
from tinyjax.compiler.signature import Param, is_complex
from tinyjax.compiler.vector_ir import Num

# ---- types --------------------------------------------------------------------------------------


class Buffer(types.Type):
    """A C-contiguous array of dtype ``code``: a pointer and ``ndim`` lengths."""

    def __init__(self, code: str, ndim: int):
        self.code, self.ndim = code, ndim
        super().__init__(f"Buffer({code}, {ndim})")

    @property
    def key(self):
        return self.code, self.ndim


@register_default(Buffer)
class BufferModel(models.StructModel):
    """How a Buffer is laid out in LLVM."""

    def __init__(self, manager, kind):
        lengths = [(f"n{axis}", types.intp) for axis in range(kind.ndim)]
        super().__init__(manager, kind, [("data", types.voidptr), *lengths])


class Word(types.Callable, types.Opaque):
    """The type of a word of the kernel language, such as ``exp``, or of an operator."""

    def __init__(self, name: str, rule: Callable, emit: Callable):
        self.name_in_source, self.rule, self.emit = name, rule, emit
        super().__init__(f"Word({name})")

    def get_call_type(self, context, args, kws):
        return None if kws else self.rule(args)

    def get_call_signatures(self):
        return [], True

    def get_impl_key(self, sig):
        return self.name_in_source


SCALARS: dict[str, types.Type] = {
    "bool": types.boolean, "f32": types.float32, "f64": types.float64,
    "i8": types.int8, "i16": types.int16, "i32": types.int32, "i64": types.int64,
    "u8": types.uint8, "u16": types.uint16, "u32": types.uint32, "u64": types.uint64,
    "c64": types.complex64, "c128": types.complex128,
}  # fmt: skip
CODES = {kind: code for code, kind in SCALARS.items()}


def code_of(kind: types.Type) -> str | None:
    """The dtype code of a Numba scalar type (``'literal'`` for an integer in the source)."""
    if isinstance(kind, types.IntegerLiteral):
        return "literal"
    return CODES.get(unliteral(kind))


def numba_type(param: Param) -> types.Type:
    """The Numba type of a kernel's parameter."""
    if param.rank:
        return Buffer(param.code, param.rank)
    return SCALARS["i64" if param.code == "intp" else param.code]


def _typed(intrinsic: Intrinsic, args: Sequence[types.Type]):
    """The signature of a word or operator applied to ``args``; ``None`` if it does not apply."""
    codes = [code_of(kind) for kind in args]
    if len(codes) != intrinsic.arity or None in codes:
        return None
    result = intrinsic.result(*codes)
    return None if result is None else templates.signature(SCALARS[result], *args)


# ---- the language -------------------------------------------------------------------------------


def _placeholder(name: str) -> Callable:
    def word(*args):
        raise TypeError(
            f"{name} is a word of the kernel language; use the namespace of intrinsics_py to run it"
        )

    word.__name__ = name
    return word


WORDS = {name: _placeholder(name) for name in INTRINSICS}


def kernel_globals() -> dict[str, object]:
    """The names a kernel may use, for compilation."""
    return {**WORDS, "inf": float("inf"), "nan": float("nan"), "pi": 3.141592653589793}


# ---- typing -------------------------------------------------------------------------------------

_BORROWED = (range, slice, "getiter", "iternext", "pair_first", "pair_second", "static_getitem")


class KernelTyping(TypingBase):
    """Types of operators, words and buffers; range, slices and tuples are Numba's own."""

    def _load_builtins(self):
        if self._functions:
            return
        borrowed = templates.Registry()
        borrowed.functions = [t for t in templates.builtin_registry.functions if t.key in _BORROWED]
        borrowed.globals = [
            (v, t) for v, t in templates.builtin_registry.globals if v in (range, slice)
        ]
        self.install_registry(borrowed)
        for function, word in _words().items():
            self.insert_global(function, word)

    def resolve_function_type(self, func, args, kws):
        word = _words().get(func)
        if word is None:
            return super().resolve_function_type(func, args, kws)
        return word.get_call_type(self, args, kws)

    def resolve_getattr(self, typ, attr):
        if isinstance(typ, Buffer):
            return {"size": types.intp, "shape": types.UniTuple(types.intp, typ.ndim)}.get(attr)
        return super().resolve_getattr(typ, attr)


def value_code(storage: str) -> str:
    """The dtype of a buffer's elements inside the kernel: halves are widened to float32."""
    return "f32" if storage in ("f16", "bf16") else storage


def _indices(index: types.Type) -> list[types.Type] | None:
    """The types of the single indices in ``a[index]``; ``None`` if not all are integers."""
    kinds = list(index) if isinstance(index, BaseTuple) else [index]
    return kinds if all(isinstance(kind, types.Integer) for kind in kinds) else None


def _typed_setitem(args):
    buffer, index, value = args
    kinds, code = _indices(index), code_of(value)
    if not isinstance(buffer, Buffer) or kinds is None or len(kinds) != buffer.ndim:
        return None
    if code is None or (is_complex(code) and not is_complex(buffer.code)):
        return None
    return templates.signature(types.none, buffer, index, SCALARS[value_code(buffer.code)])


def _typed_getitem(args):
    buffer, index = args
    if isinstance(buffer, types.UniTuple):  # x.shape[0]
        literal = isinstance(index, types.IntegerLiteral)
        return templates.signature(types.intp, *args) if literal else None
    if not isinstance(buffer, Buffer):
        return None
    if index == types.slice2_type:
        return templates.signature(buffer, buffer, index)
    kinds = _indices(index)
    if kinds is None or len(kinds) > buffer.ndim:
        return None
    if len(kinds) == buffer.ndim:
        return templates.signature(SCALARS[value_code(buffer.code)], buffer, index)
    return templates.signature(Buffer(buffer.code, buffer.ndim - len(kinds)), buffer, index)


# ---- lowering -----------------------------------------------------------------------------------


class _Modules:
    """Stands in for Numba's code generator and library: hands out and keeps the LLVM module."""

    module: ir.Module

    def _create_empty_module(self, name: str) -> ir.Module:
        return ir.Module(name)

    def create_ir_module(self, name: str) -> ir.Module:
        return ir.Module(name)

    def add_ir_module(self, module: ir.Module) -> None:
        self.module = module


class KernelTarget(cpu.CPUContext):
    """Emits LLVM IR for operators, words and buffers; range, slices and tuples are Numba's own."""

    def init(self):
        self.is32bit = False
        self._internal_codegen = _Modules()

    def refresh(self):
        if not self._defns:
            self.install_registry(imputils.builtin_registry)

    def post_lowering(self, mod, library):
        pass  # no reference-counting runtime to link

    def add_linking_libs(self, libs):
        pass

    def get_abi_sizeof(self, ty):
        return 0  # asked for debug information only, which is off

    @functools.cached_property
    def call_conv(self):
        return CPUCallConv(self)

    def get_function(self, fn, sig, _firstcall=True):
        word = fn if isinstance(fn, Word) else _words().get(fn)
        if word is not None:
            return functools.partial(word.emit, self, sig)
        return super().get_function(fn, sig, _firstcall)

    def get_getattr(self, typ, attr):
        if isinstance(typ, Buffer):
            return _emit_size if attr == "size" else _emit_shape
        return super().get_getattr(typ, attr)

    def get_constant_generic(self, builder, ty, val):
        if isinstance(ty, (types.Number, types.Boolean)):
            kind = self.get_value_type(ty)
            return ir.Constant(kind, float(val) if isinstance(ty, types.Float) else int(val))
        return self.get_dummy_value()

    def cast(self, builder, val, fromty, toty):
        source, wanted = code_of(fromty), CODES.get(toty)
        if source is None or wanted is None:
            return super().cast(builder, val, fromty, toty)
        number = _number(builder, fromty, val)
        return (to_complex(number, wanted) if is_complex(wanted) else number.to(wanted)).value


def _number(builder, kind: types.Type, value) -> Num:
    literal = kind.literal_value if isinstance(kind, types.IntegerLiteral) else None
    return Num(builder, value, CODES[unliteral(kind)], literal)


def _emit_intrinsic(intrinsic: Intrinsic, context, sig, builder, args, loc=None):
    return intrinsic.emit(
        *(_number(builder, kind, v) for kind, v in zip(sig.args, args, strict=True))
    ).value


def _parts(builder, kind: Buffer, value) -> tuple[ir.Value, list[ir.Value]]:
    """Data pointer and lengths of a buffer."""
    fields = [builder.extract_value(value, k) for k in range(1 + kind.ndim)]
    return builder.bitcast(fields[0], STORAGE[kind.code].as_pointer()), fields[1:]


def _pack(context, builder, kind: Buffer, data, lengths):
    value = ir.Constant(context.get_value_type(kind), ir.Undefined)
    data = builder.bitcast(data, ir.IntType(8).as_pointer())
    for k, part in enumerate((data, *lengths)):
        value = builder.insert_value(value, part, k)
    return value


def _product(builder, factors):
    result = factors[0]
    for factor in factors[1:]:
        result = builder.mul(result, factor, flags=["nsw"])
    return result


def _emit_size(context, builder, kind, value, attr=None):
    return _product(builder, _parts(builder, kind, value)[1])


def _emit_shape(context, builder, kind, value, attr=None):
    return cgutils.pack_array(builder, _parts(builder, kind, value)[1])


def _address(builder, kind: Buffer, data, lengths, indices):
    """Pointer to the element (or row) at ``indices``."""
    offset = indices[0]
    for axis in range(1, kind.ndim):
        offset = builder.mul(offset, lengths[axis], flags=["nsw"])
        if axis < len(indices):
            offset = builder.add(offset, indices[axis], flags=["nsw"])
    return builder.gep(data, [offset], inbounds=True)


STORAGE = {
    "bool": ir.IntType(8), "f16": ir.IntType(16), "bf16": ir.IntType(16),
    "f32": ir.FloatType(), "f64": ir.DoubleType(),
    **{f"{sign}{bits}": ir.IntType(bits) for sign in "iu" for bits in (8, 16, 32, 64)},
    "c64": ir.LiteralStructType([ir.FloatType()] * 2),
    "c128": ir.LiteralStructType([ir.DoubleType()] * 2),
}  # fmt: skip


def _unpack_index(builder, kind, value):
    if isinstance(kind, BaseTuple):
        pairs = zip(kind, cgutils.unpack_tuple(builder, value, len(kind)), strict=True)
    else:
        pairs = [(kind, value)]
    return [_number(builder, k, v).to("i64").value for k, v in pairs]


def _emit_getitem(context, sig, builder, args, loc=None):
    kind, index = sig.args
    if isinstance(kind, types.UniTuple):
        return builder.extract_value(args[0], index.literal_value)
    data, lengths = _parts(builder, kind, args[0])
    if index == types.slice2_type:
        return _emit_slice(context, builder, kind, index, data, lengths, args[1])
    indices = _unpack_index(builder, index, args[1])
    pointer = _address(builder, kind, data, lengths, indices)
    if len(indices) < kind.ndim:
        return _pack(context, builder, sig.return_type, pointer, lengths[len(indices) :])
    return _load(builder, kind.code, pointer)


def _load(builder, code: str, pointer):
    """Read an element in the form it has inside the kernel."""
    if is_complex(code):
        return join(
            *(Num(builder, builder.load(p), PART[code]) for p in _part_pointers(builder, pointer))
        ).value
    value = builder.load(pointer)
    if code == "bool":
        return builder.trunc(value, ir.IntType(1))
    if code in ("f16", "bf16"):
        bits = Num(builder, builder.zext(value, ir.IntType(32)), "u32")
        return (f16_value(bits) if code == "f16" else (bits << 16).as_float()).value
    return value


def _store(builder, code: str, value, pointer):
    """Write an element; halves are rounded to nearest even."""
    if is_complex(code):
        for part, target in zip(
            split(Num(builder, value, code)), _part_pointers(builder, pointer), strict=True
        ):
            builder.store(part.value, target)
        return
    if code == "bool":
        value = builder.zext(value, ir.IntType(8))
    elif code in ("f16", "bf16"):
        bits = (f16_bits if code == "f16" else bf16_bits)(Num(builder, value, "f32"))
        value = builder.trunc(bits.value, ir.IntType(16))
    builder.store(value, pointer)


def _part_pointers(builder, pointer):
    """Pointers to the real and the imaginary part of a complex number."""
    index = ir.IntType(32)
    return [
        builder.gep(pointer, [ir.Constant(index, 0), ir.Constant(index, k)], inbounds=True)
        for k in (0, 1)
    ]


def _emit_setitem(context, sig, builder, args, loc=None):
    kind, index, _ = sig.args
    data, lengths = _parts(builder, kind, args[0])
    pointer = _address(builder, kind, data, lengths, _unpack_index(builder, index, args[1]))
    _store(builder, kind.code, args[2], pointer)
    return context.get_dummy_value()


def _emit_slice(context, builder, kind, index, data, lengths, value):
    """``a[low:high]`` on the first axis, 0 <= low, clipped at the end."""
    bounds = context.make_helper(builder, index, value)
    low, high = bounds.start, bounds.stop
    high = builder.select(builder.icmp_signed("<", high, lengths[0]), high, lengths[0])
    count = builder.sub(high, low)
    zero = ir.Constant(count.type, 0)
    count = builder.select(builder.icmp_signed("<", count, zero), zero, count)
    return _pack(
        context, builder, kind, _address(builder, kind, data, lengths, [low]), [count, *lengths[1:]]
    )


@functools.cache
def _words() -> dict[Callable, Word]:
    """Every function whose meaning is ours: words, operators, ``bool`` and indexing."""
    table: dict[Callable, Intrinsic] = {
        WORDS[name]: intrinsic for name, intrinsic in INTRINSICS.items()
    }
    table[bool] = INTRINSICS["bool_"]
    table.update({getattr(operator, name): intrinsic for name, intrinsic in OPERATORS.items()})
    words: dict[Callable, Word] = {
        function: Word(
            intrinsic.name,
            functools.partial(_typed, intrinsic),
            functools.partial(_emit_intrinsic, intrinsic),
        )
        for function, intrinsic in table.items()
    }
    words[operator.getitem] = Word("getitem", _typed_getitem, _emit_getitem)
    words[operator.setitem] = Word("setitem", _typed_setitem, _emit_setitem)
    return words


# ---- compilation --------------------------------------------------------------------------------


@functools.cache
def _contexts() -> tuple[KernelTyping, KernelTarget]:
    typing_context = KernelTyping()
    target_context = KernelTarget(typing_context, "cpu")
    typing_context.refresh()
    target_context.refresh()
    return typing_context, target_context


def kernel_function(name: str, source: str, names: dict[str, object]) -> FunctionType:
    """The Python function that ``source`` defines, over ``names`` as globals."""
    space = dict(names)
    exec(compile(source, f"<kernel {name}>", "exec"), space)
    if not isinstance(space.get(name), FunctionType):
        raise ValueError(f"kernel source defines no function {name!r}")
    return space[name]  # type: ignore[return-value]


def lower_to_ir(name: str, source: str, params: Sequence[Param]) -> tuple[str, str]:
    """LLVM IR of a kernel as text, and the name of its function there."""
    typing_context, target_context = _contexts()
    function = kernel_function(name, source, kernel_globals())
    flags = Flags()
    flags.noalias = True
    flags.error_model = "numpy"
    context = target_context.subtarget(error_model=create_error_model("numpy", target_context))
    with global_compiler_lock, ConfigStack().enter(flags):
        numba_ir = compiler.run_frontend(function)
        arg_types = tuple(numba_type(p) for p in params)
        typed = type_inference_stage(typing_context, context, numba_ir, arg_types, types.none)
        description = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            numba_ir, typed.typemap, typed.return_type, typed.calltypes,
            mangler=lambda text, *rest, **options: f"tinyjax.{text}",
            inline=False, noalias=True, abi_tags=(),
        )  # fmt: skip
        modules = _Modules()
        lowering.Lower(context, modules, description, numba_ir).lower()
    compiled = modules.module.globals[description.llvm_func_name]
    compiled.linkage = "internal"
    compiled.attributes.add(
        "noinline"
    )  # its arguments' noalias marks survive best in a function of its own
    return str(modules.module), compiled.get_reference()
