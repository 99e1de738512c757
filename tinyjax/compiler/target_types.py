"""The types of a kernel's values, as Numba's type inference sees them."""

from __future__ import annotations

from collections.abc import Callable

from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.types.misc import unliteral

from tinyjax.compiler.signature import Param


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


def value_code(storage: str) -> str:
    """The dtype of a buffer's elements inside the kernel: halves are widened to float32."""
    return "f32" if storage in ("f16", "bf16") else storage
