"""Kernel source -> LLVM IR with Numba as the front end.  Only the files named ``target*`` lean on
Numba's internals.

Numba turns the function's bytecode into its own IR, infers types and lowers to LLVM IR.  Four
things are ours:

* ``Buffer``, the type of an array argument: data pointer and lengths only (``target_types``), and
  what its elements and loops over ranges become (``target_lowering``);
* the meaning of operators and words, taken from ``intrinsics.py``: the typing and lowering
  contexts below answer for them directly, so that none of Numba's registries (nor SciPy, which
  those import) is loaded;
* fewer passes: Numba's serve programs with exceptions, generators and objects that are counted;
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
from numba.core import (
    bytecode,
    cpu,
    funcdesc,
    imputils,
    interpreter,
    lowering,
    transforms,
    types,
)
from numba.core.callconv import CPUCallConv, create_error_model
from numba.core.compiler import Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import type_inference_stage
from numba.core.types.containers import BaseTuple
from numba.core.typing import builtins as _typing_builtins  # noqa: F401  (registers range and friends)
from numba.core.typing import templates
from numba.core.typing.context import BaseContext as TypingBase
from numba.cpython import rangeobj, slicing, tupleobj  # noqa: F401  (register their lowering)

from tinyjax.compiler.complex_words import to_complex
from tinyjax.compiler.intrinsics import INTRINSICS, OPERATORS, Intrinsic
from tinyjax.compiler.signature import Param, is_complex
from tinyjax.compiler.target_lowering import (
    LOOPS,
    emit_getitem,
    emit_intrinsic,
    emit_range,
    emit_setitem,
    emit_shape,
    emit_size,
    number,
)
from tinyjax.compiler.target_types import (
    CODES,
    SCALARS,
    Buffer,
    Word,
    code_of,
    numba_type,
    value_code,
)

# ---- the language -------------------------------------------------------------------------------


def _typed(intrinsic: Intrinsic, args: Sequence[types.Type]):
    """The signature of a word or operator applied to ``args``; ``None`` if it does not apply."""
    codes = [code_of(kind) for kind in args]
    if len(codes) != intrinsic.arity or None in codes:
        return None
    result = intrinsic.result(*codes)
    return None if result is None else templates.signature(SCALARS[result], *args)


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
        word = func if isinstance(func, Word) else _words().get(func)
        if word is None:
            return super().resolve_function_type(func, args, kws)
        return word.get_call_type(self, args, kws)

    def resolve_getattr(self, typ, attr):
        if isinstance(typ, Buffer):
            return {"size": types.intp, "shape": types.UniTuple(types.intp, typ.ndim)}.get(attr)
        return super().resolve_getattr(typ, attr)


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
        if fn in LOOPS:
            return functools.partial(LOOPS[fn], self, sig)
        if isinstance(sig.return_type, types.RangeType):
            return functools.partial(emit_range, self, sig)
        return super().get_function(fn, sig, _firstcall)

    def get_getattr(self, typ, attr):
        if isinstance(typ, Buffer):
            return emit_size if attr == "size" else emit_shape
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
        x = number(builder, fromty, val)
        return (to_complex(x, wanted) if is_complex(wanted) else x.to(wanted)).value


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
            functools.partial(emit_intrinsic, intrinsic),
        )
        for function, intrinsic in table.items()
    }
    words[operator.getitem] = Word("getitem", _typed_getitem, emit_getitem)
    words[operator.setitem] = Word("setitem", _typed_setitem, emit_setitem)
    return words


# ---- compilation --------------------------------------------------------------------------------


class Reader(interpreter.Interpreter):
    """Turns bytecode into Numba's IR, without looking for try, with, and calls like f(*args)."""

    def post_process(self, peepholes, func_ir):
        return func_ir


def read(function: FunctionType):
    """Numba's IR of a function. When a variable is last used matters to counted objects only."""
    identity = bytecode.FunctionIdentity.from_function(function)
    numba_ir = Reader(identity).interpret(bytecode.ByteCode(identity))
    numba_ir.blocks = transforms.canonicalize_cfg(numba_ir.blocks)
    numba_ir.generator_info = None
    return numba_ir


class Lower(lowering.Lower):
    """Writes LLVM IR; a variable is only stored, since its old value needs no release."""

    def storevar(self, value, name, argidx=None):
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
            return
        self._alloca_var(name, self.typeof(name))
        self.builder.store(value, self.getvar(name))


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
        numba_ir = read(function)
        arg_types = tuple(numba_type(p) for p in params)
        typed = type_inference_stage(typing_context, context, numba_ir, arg_types, types.none)
        description = funcdesc.PythonFunctionDescriptor.from_specialized_function(
            numba_ir, typed.typemap, typed.return_type, typed.calltypes,
            mangler=lambda text, *rest, **options: f"tinyjax.{text}",
            inline=False, noalias=True, abi_tags=(),
        )  # fmt: skip
        modules = _Modules()
        Lower(context, modules, description, numba_ir).lower()
    compiled = modules.module.globals[description.llvm_func_name]
    compiled.linkage = "internal"
    # A function of its own: its arguments' noalias marks would not survive inlining as well.
    compiled.attributes.add("noinline")
    return str(modules.module), compiled.get_reference()
