"""A small expression language that writes LLVM IR: ``x * 2.0 + y`` appends instructions to a
function.

``Num`` wraps one LLVM value together with its dtype code (``'f32'``, ``'i64'``, ``'bool'`` ...).
The mathematics in ``vector_math*.py`` and the small language of ``intrinsics.py`` are written
once over it.  A ``Num`` may also hold a SIMD vector: every operation here works lane by lane, so
the same source yields scalar and vector code.

Python numbers on either side of an operator become constants of the other side's dtype.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from llvmlite import ir

from tinyjax.compiler.signature import BITS, is_float, is_signed


def llvm_type(code: str, lanes: int = 0) -> ir.Type:
    """The LLVM type of one value of dtype ``code`` (a vector of ``lanes`` of them if nonzero)."""
    if code == "f32":
        scalar: ir.Type = ir.FloatType()
    elif code == "f64":
        scalar = ir.DoubleType()
    else:
        scalar = ir.IntType(BITS[code])
    return ir.VectorType(scalar, lanes) if lanes else scalar


def round_to_f32(x: float) -> float:
    """``x`` rounded to the nearest float32 (overflow gives an infinity)."""
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")


# ---- values -------------------------------------------------------------------------------------


class Num:
    """One LLVM value, its dtype code and the builder that appends to the function in progress."""

    __slots__ = ("builder", "value", "code", "literal")

    def __init__(
        self, builder: ir.IRBuilder, value: ir.Value, code: str, literal: int | None = None
    ):
        self.builder, self.value, self.code = builder, value, code
        self.literal = literal  # the integer, where the kernel's text has one here

    # ---- constants and conversions --------------------------------------------------------------

    @property
    def lanes(self) -> int:
        """Number of SIMD lanes; 0 for a scalar."""
        kind = self.value.type
        return kind.count if isinstance(kind, ir.VectorType) else 0

    @property
    def typing_code(self) -> str:
        """The dtype code for typing rules: an integer literal adapts to its partner."""
        return self.code if self.literal is None else "literal"

    def new(self, value: ir.Value, code: str | None = None) -> Num:
        """A value made by the same builder, of this dtype unless ``code`` says otherwise."""
        return Num(self.builder, value, code or self.code)

    def const(self, x: float | int | bool | Num) -> Num:
        """``x`` as a constant of this dtype (a ``Num`` is returned unchanged)."""
        if isinstance(x, Num):
            return x
        if self.code == "f32":
            x = round_to_f32(float(x))
        elif self.code == "f64":
            x = float(x)
        elif self.code == "bool":
            x = bool(x)
        else:
            x = int(x)
        kind = llvm_type(self.code, self.lanes)
        return self.new(ir.Constant(kind, [x] * self.lanes if self.lanes else x))

    def _cast(self, instruction: str, code: str) -> Num:
        make = getattr(self.builder, instruction)
        return self.new(make(self.value, llvm_type(code, self.lanes)), code)

    def to(self, code: str) -> Num:
        """Convert to another dtype; float to integer truncates, saturates and sends NaN to 0."""
        if code == self.code:
            return self
        if code == "bool":
            return self != 0
        if is_float(self.code):
            if is_float(code):
                return self._cast("fpext" if code == "f64" else "fptrunc", code)
            return self._saturating(code)
        if is_float(code):
            return self._cast("sitofp" if is_signed(self.code) else "uitofp", code)
        if BITS[code] < BITS[self.code]:
            return self._cast("trunc", code)
        if BITS[code] == BITS[self.code]:
            return self.new(self.value, code)
        return self._cast("sext" if is_signed(self.code) else "zext", code)

    def _saturating(self, code: str) -> Num:
        name = "llvm.fptosi.sat" if is_signed(code) else "llvm.fptoui.sat"
        return self.call(name, result=code, overload=(code, self.code))

    def truncated(self) -> Num:
        """Float to the signed integer of its width, for values in range (one instruction)."""
        return self._cast("fptosi", "i32" if self.code == "f32" else "i64")

    def bits(self, signed: bool = True) -> Num:
        """The bit pattern of a float as an integer of the same width."""
        return self._cast("bitcast", ("i" if signed else "u") + str(BITS[self.code]))

    def as_float(self) -> Num:
        """The float whose bit pattern this integer is."""
        return self._cast("bitcast", "f" + str(BITS[self.code]))

    # ---- calls of LLVM intrinsics ---------------------------------------------------------------

    def call(
        self, name: str, *others: float | Num, result: str = "", overload: Sequence[str] = ()
    ) -> Num:
        """Call an LLVM intrinsic such as ``llvm.fabs`` on this value and ``others``."""
        result = result or self.code
        operands = [self, *(self.const(x) for x in others)]
        lanes = self.lanes
        suffix = [_suffix(code, lanes) for code in overload or (self.code,)]
        kind = ir.FunctionType(llvm_type(result, lanes), [x.value.type for x in operands])
        return self.new(
            _declared_call(self.builder, ".".join([name, *suffix]), kind, operands), result
        )

    def abs(self) -> Num:
        """Absolute value of a float."""
        return self.call("llvm.fabs")

    def sqrt(self) -> Num:
        """Square root, correctly rounded."""
        return self.call("llvm.sqrt")

    def rint(self) -> Num:
        """Nearest integer, ties to even."""
        return self.call("llvm.rint")

    def floor(self) -> Num:
        """Largest integer not above."""
        return self.call("llvm.floor")

    def muladd(self, factor: float | Num, addend: float | Num) -> Num:
        """``self * factor + addend``: one fused instruction where the machine has it."""
        return self.call("llvm.fmuladd", factor, addend)

    def fma(self, factor: float | Num, addend: float | Num) -> Num:
        """``self * factor + addend`` with a single rounding on every machine."""
        return self.call("llvm.fma", factor, addend)

    def copysign(self, other: Num) -> Num:
        """This magnitude with the sign of ``other``."""
        return self.call("llvm.copysign", other)

    # ---- operators ------------------------------------------------------------------------------

    def binary(self, other, for_floats: str, for_ints: str, swap: bool = False, flags=()) -> Num:
        """Append one of two instructions; ``flags`` are LLVM's licences for float arithmetic."""
        left, right = self, self.const(other)
        if swap:
            left, right = right, left
        floats = is_float(self.code)
        make = getattr(self.builder, for_floats if floats else for_ints)
        return self.new(make(left.value, right.value, flags=flags if floats else ()))

    def __add__(self, other):
        return self.binary(other, "fadd", "add")

    def __sub__(self, other):
        return self.binary(other, "fsub", "sub")

    def __mul__(self, other):
        return self.binary(other, "fmul", "mul")

    def __truediv__(self, other):
        return self.binary(other, "fdiv", "sdiv" if is_signed(self.code) else "udiv")

    def __radd__(self, other):
        return self.binary(other, "fadd", "add", swap=True)

    def __rsub__(self, other):
        return self.binary(other, "fsub", "sub", swap=True)

    def __rmul__(self, other):
        return self.binary(other, "fmul", "mul", swap=True)

    def __rtruediv__(self, other):
        return self.binary(other, "fdiv", "sdiv" if is_signed(self.code) else "udiv", swap=True)

    def __neg__(self):
        return self.new(self.builder.fneg(self.value)) if is_float(self.code) else 0 - self

    def _bitwise(self, other, instruction: str) -> Num:
        return self.new(getattr(self.builder, instruction)(self.value, self.const(other).value))

    def __and__(self, other):
        return self._bitwise(other, "and_")

    def __or__(self, other):
        return self._bitwise(other, "or_")

    def __xor__(self, other):
        return self._bitwise(other, "xor")

    def __invert__(self):
        return self._bitwise(-1, "xor")

    def __lshift__(self, other):
        return self._bitwise(other, "shl")

    def __rshift__(self, other):
        """Shift right: arithmetic for signed integers, logical for unsigned ones."""
        return self._bitwise(other, "ashr" if is_signed(self.code) else "lshr")

    def _compare(self, other, op: str) -> Num:
        other = self.const(other)
        if is_float(self.code):
            # `x != x` must hold for NaN, every other comparison with NaN is false.
            make = self.builder.fcmp_unordered if op == "!=" else self.builder.fcmp_ordered
        else:
            make = self.builder.icmp_signed if is_signed(self.code) else self.builder.icmp_unsigned
        return self.new(make(op, self.value, other.value), "bool")

    def __lt__(self, other):
        return self._compare(other, "<")

    def __le__(self, other):
        return self._compare(other, "<=")

    def __gt__(self, other):
        return self._compare(other, ">")

    def __ge__(self, other):
        return self._compare(other, ">=")

    def __eq__(self, other):
        return self._compare(other, "==")

    def __ne__(self, other):
        return self._compare(other, "!=")

    __hash__ = None  # type: ignore[assignment]   # == builds an instruction, so a Num cannot be a dict key

    def is_nan(self) -> Num:
        """Whether a float is NaN."""
        return self != self


# ---- free functions -----------------------------------------------------------------------------


def _suffix(code: str, lanes: int) -> str:
    """How LLVM spells a type inside an intrinsic's name."""
    scalar = code if is_float(code) else f"i{BITS[code]}"
    return f"v{lanes}{scalar}" if lanes else scalar


def _declared_call(builder: ir.IRBuilder, name: str, kind: ir.FunctionType, operands) -> ir.Value:
    """Declare ``name`` in the module under construction (once) and call it."""
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, kind, name)
    return builder.call(function, [x.value for x in operands])


def where(condition: Num, on_true: float | Num, on_false: float | Num) -> Num:
    """``on_true`` where ``condition`` holds, else ``on_false`` (both are computed: no branch)."""
    typed = on_true if isinstance(on_true, Num) else on_false
    assert isinstance(typed, Num), "where() needs a value of known dtype in one of its branches"
    choices = typed.const(on_true).value, typed.const(on_false).value
    return typed.new(condition.builder.select(condition.value, *choices))


def clamp(x: Num, low: float, high: float) -> Num:
    """``x`` limited to ``[low, high]``; NaN passes through."""
    x = where(x < low, low, x)
    return where(x > high, high, x)


def poly(x: Num, coefficients: Sequence[float]) -> Num:
    """The polynomial with ``coefficients`` (highest power first) at ``x``, by Horner's rule."""
    result = x.const(coefficients[0])
    for c in coefficients[1:]:
        result = result.muladd(x, c)
    return result


def by_precision(f32: Callable, f64: Callable) -> Callable[[Num], Num]:
    """One function from a float32 and a float64 implementation."""

    def function(x: Num, *rest: Num) -> Num:
        return (f32 if x.code == "f32" else f64)(x, *rest)

    return function
