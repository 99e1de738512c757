"""Arrays in kernels: how their elements lie in memory, and what an index means.

There are no bounds tests and no wrap-around: an index is one multiplication and one addition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from tinyjax.compiler.complex_words import PART, join, split
from tinyjax.compiler.intrinsics import INTRINSICS, bf16_bits, f16_bits, f16_value
from tinyjax.compiler.signature import is_complex
from tinyjax.compiler.vector_ir import Num, llvm_type

# ---- views --------------------------------------------------------------------------------------


@dataclass
class View:
    """A C-contiguous array or a part of one: a pointer to its first element, and lengths."""

    code: str
    data: ir.Value
    lengths: list[Num]

    def size(self) -> Num:
        """How many elements it has."""
        size = self.lengths[0]
        for length in self.lengths[1:]:
            size = size.new(size.builder.mul(size.value, length.value, flags=["nsw"]))
        return size

    def at(self, indices: Sequence[Num]) -> View:
        """The part at these indices of the first axes: a row, or a view of no axes."""
        builder, offset = indices[0].builder, indices[0].value
        for axis, length in enumerate(self.lengths[1:], start=1):
            offset = builder.mul(offset, length.value, flags=["nsw"])
            if axis < len(indices):
                offset = builder.add(offset, indices[axis].value, flags=["nsw"])
        pointer = builder.gep(self.data, [offset], inbounds=True)
        return View(self.code, pointer, self.lengths[len(indices) :])

    def slice(self, low: Num, high: Num) -> View:
        """``a[low:high]`` on the first axis, 0 <= low, clipped at the end."""
        length = self.lengths[0]
        high = INTRINSICS["minimum"].emit(high, length)
        count = INTRINSICS["maximum"].emit(high - low, length.const(0))
        return View(self.code, self.at([low]).data, [count, *self.lengths[1:]])


# ---- elements -----------------------------------------------------------------------------------

STORAGE = {"bool": ir.IntType(8), "f16": ir.IntType(16), "bf16": ir.IntType(16)}


def storage_type(code: str) -> ir.Type:
    """The LLVM type of an element in memory."""
    if is_complex(code):
        return ir.LiteralStructType([llvm_type(PART[code])] * 2)
    return STORAGE.get(code) or llvm_type(code)


def load(builder: ir.IRBuilder, code: str, pointer: ir.Value) -> Num:
    """Read an element in the form it has inside the kernel: halves are widened to float32."""
    if is_complex(code):
        parts = part_pointers(builder, pointer)
        return join(*(Num(builder, builder.load(p), PART[code]) for p in parts))
    value = builder.load(pointer)
    if code == "bool":
        return Num(builder, builder.trunc(value, ir.IntType(1)), "bool")
    if code in ("f16", "bf16"):
        bits = Num(builder, builder.zext(value, ir.IntType(32)), "u32")
        return f16_value(bits) if code == "f16" else (bits << 16).as_float()
    return Num(builder, value, code)


def store(builder: ir.IRBuilder, code: str, number: Num, pointer: ir.Value) -> None:
    """Write an element; halves are rounded to nearest even."""
    if is_complex(code):
        for part, place in zip(split(number), part_pointers(builder, pointer), strict=True):
            builder.store(part.value, place)
        return
    value = number.value
    if code == "bool":
        value = builder.zext(value, ir.IntType(8))
    elif code in ("f16", "bf16"):
        bits = f16_bits(number) if code == "f16" else bf16_bits(number)
        value = builder.trunc(bits.value, ir.IntType(16))
    builder.store(value, pointer)


def part_pointers(builder: ir.IRBuilder, pointer: ir.Value) -> list[ir.Value]:
    """Pointers to the real and the imaginary part of a complex number."""
    at = [ir.Constant(ir.IntType(32), k) for k in (0, 1)]
    return [builder.gep(pointer, [at[0], k], inbounds=True) for k in at]
