"""The words a kernel may use besides loops, indexing and operators, and the operators' meaning.

Every word is one ``Intrinsic``: a typing rule over dtype codes and a function over ``Num`` that
emits LLVM IR.  A few families need explaining:

* casts: ``f32(x) f64(x) i8(x) ... u64(x) bool_(x)``; a float to integer cast truncates, saturates
  and sends NaN to 0. ``f16(x)`` and ``bf16(x)`` round a float32 to what a half can hold (halves
  live in float32 inside a kernel);
* ``acc(s, v)``, ``accmul``, ``accmax``, ``accmin``: one step of a reduction whose order the
  compiler may choose;
* ``maximum``, ``minimum`` propagate NaN; ``where(c, a, b)`` computes both branches;
* ``div``, ``rem`` on integers never trap: ``x / 0`` is -1 (all bits set), ``x rem 0`` is x, ``MIN
  / -1`` is MIN;
* ``shift_left``, ``shift_right_logical``, ``shift_right_arithmetic`` (and ``<<``, ``>>``):
  amounts of the width and more give 0 (or the sign).

Operators keep the common dtype of their operands (``i32 + i32`` is i32).  A float meets only
floats: a kernel says ``f32(n)`` where it mixes.  Integer literals adapt to the other operand;
float literals are float64, so ``f32(0.5)``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from tinyjax.compiler import complex_words, vector_library, vector_math, vector_special, vector_trig
from tinyjax.compiler.complex_words import PART, is_complex
from tinyjax.compiler.signature import (
    BITS,
    SIGNED_CODES,
    UNSIGNED_CODES,
    is_float,
    is_integer,
    is_signed,
)
from tinyjax.compiler.vector_ir import Num, llvm_type, where

# ---- the table ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Intrinsic:
    """One word of the kernel language."""

    name: str
    arity: int
    result: Callable[
        ..., str | None
    ]  # dtype codes of the operands -> code of the result, None if refused
    emit: Callable[..., Num]


INTRINSICS: dict[str, Intrinsic] = {}
OPERATORS: dict[str, Intrinsic] = {}  # by the name of the function in Python's module `operator`


def common(*codes: str | None) -> str | None:
    """The dtype of an operation between values of these dtypes; ``None`` if they do not mix."""
    result = codes[0]
    for code in codes[1:]:
        result = _common_pair(result, code)
    return result


def _common_pair(a: str | None, b: str | None) -> str | None:
    if a is None or b is None or a == b:
        return a if a == b else None
    if a == "literal" or b == "literal":
        return b if a == "literal" else a
    if a == "bool" or b == "bool":
        return b if a == "bool" else a
    if is_complex(a) or is_complex(b):
        if is_integer(a) or is_integer(b):
            return None
        return (
            "c128"
            if max(BITS[a] // (1 + is_complex(a)), BITS[b] // (1 + is_complex(b))) == 64
            else "c64"
        )
    if is_float(a) and is_float(b):
        return "f64"
    if not (is_integer(a) and is_integer(b)):
        return None
    if is_signed(a) == is_signed(b):
        return a if BITS[a] >= BITS[b] else b
    signed, unsigned = (a, b) if is_signed(a) else (b, a)
    return f"i{min(64, max(BITS[signed], 2 * BITS[unsigned]))}"


def _settle(code: str | None) -> str | None:
    """An operation on nothing but literals works in int64."""
    return "i64" if code == "literal" else code


def _for(kind: Callable[[str], bool]) -> Callable[..., str | None]:
    """Result rule: the common dtype of the operands, which must be of one ``kind``."""

    def rule(*codes: str) -> str | None:
        code = _settle(common(*codes))
        return code if code is not None and kind(code) else None

    return rule


def _number(code: str) -> bool:
    return is_float(code) or is_integer(code)


def _bitwise(code: str) -> bool:
    return is_integer(code) or code == "bool"


def _ordered(code: str) -> bool:
    return not is_complex(code)


def define(
    name: str, arity: int, kind: Callable[[str], bool], emit: Callable[..., Num], table=INTRINSICS
) -> None:
    """Add a word whose operands are brought to their common dtype, which is also the result's."""
    rule = _for(kind)

    def unified(*operands: Num) -> Num:
        code = rule(*(x.typing_code for x in operands))
        return emit(*(x.to(code) for x in operands))

    table[name] = Intrinsic(name, arity, rule, unified)


def define_predicate(name: str, arity: int, kind, emit, table=INTRINSICS) -> None:
    """As ``define``, with a bool result."""
    define(name, arity, kind, emit, table)
    rule = table[name].result
    table[name] = Intrinsic(name, arity, lambda *codes: rule(*codes) and "bool", table[name].emit)


# ---- operators ----------------------------------------------------------------------------------


def _floor_div(x: Num, y: Num) -> Num:
    """Python's ``//`` on integers."""
    q = div(x, y)
    inexact = (q * y != x) & ((x < 0) ^ (y < 0)) if is_signed(x.code) else None
    return q if inexact is None else where(inexact, q - 1, q)


def _modulo(x: Num, y: Num) -> Num:
    """Python's ``%`` on integers."""
    r = rem(x, y)
    return where((r != 0) & ((r < 0) ^ (y < 0)), r + y, r) if is_signed(x.code) else r


def div(x: Num, y: Num) -> Num:
    """Division: IEEE for floats; integers truncate and never trap."""
    if is_float(x.code):
        return x / y
    zero, safe = _safe_divisor(x, y)
    return where(zero, -1, x / safe)


def rem(x: Num, y: Num) -> Num:
    """Remainder with the sign of the dividend (C's fmod and %)."""
    if is_float(x.code):
        return x.new(x.builder.frem(x.value, y.value))
    zero, safe = _safe_divisor(x, y)
    remainder = x.builder.srem if is_signed(x.code) else x.builder.urem
    return where(zero, x, x.new(remainder(x.value, safe.value)))


def _safe_divisor(x: Num, y: Num) -> tuple[Num, Num]:
    """Whether ``y`` is 0, and ``y`` with the values replaced by 1 that would trap."""
    zero = y == 0
    trap = zero
    if is_signed(x.code):
        trap = zero | ((y == -1) & (x == -(1 << (BITS[x.code] - 1))))
    return zero, where(trap, 1, y)


def shift_left(x: Num, amount: Num) -> Num:
    """``x << amount``; 0 if the amount is not within the width."""
    return where(_in_width(amount), x << amount, 0)


def shift_right_logical(x: Num, amount: Num) -> Num:
    """Shift right, filling with zeros."""
    return where(_in_width(amount), x.new(x.builder.lshr(x.value, amount.value)), 0)


def shift_right_arithmetic(x: Num, amount: Num) -> Num:
    """Shift right, filling with the sign."""
    amount = where(_in_width(amount), amount, BITS[x.code] - 1)
    return x.new(x.builder.ashr(x.value, amount.value))


def _in_width(amount: Num) -> Num:
    unsigned = amount.new(amount.value, f"u{BITS[amount.code]}")
    return unsigned < BITS[amount.code]


def _shift_right(x: Num, amount: Num) -> Num:
    return (
        shift_right_arithmetic(x, amount) if is_signed(x.code) else shift_right_logical(x, amount)
    )


for _name, _emit in {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
}.items():
    define(_name, 2, _number, _emit, OPERATORS)
define("truediv", 2, is_float, div, OPERATORS)
define("floordiv", 2, is_integer, _floor_div, OPERATORS)
define("mod", 2, is_integer, _modulo, OPERATORS)
define("lshift", 2, is_integer, shift_left, OPERATORS)
define("rshift", 2, is_integer, _shift_right, OPERATORS)
define("and_", 2, _bitwise, lambda x, y: x & y, OPERATORS)
define("or_", 2, _bitwise, lambda x, y: x | y, OPERATORS)
define("xor", 2, _bitwise, lambda x, y: x ^ y, OPERATORS)
define("invert", 1, _bitwise, lambda x: ~x, OPERATORS)
define("neg", 1, _number, lambda x: -x, OPERATORS)
define("pos", 1, _number, lambda x: x, OPERATORS)
define_predicate("lt", 2, _ordered, lambda x, y: x < y, OPERATORS)
define_predicate("le", 2, _ordered, lambda x, y: x <= y, OPERATORS)
define_predicate("gt", 2, _ordered, lambda x, y: x > y, OPERATORS)
define_predicate("ge", 2, _ordered, lambda x, y: x >= y, OPERATORS)
define_predicate("eq", 2, _ordered, lambda x, y: x == y, OPERATORS)
define_predicate("ne", 2, _ordered, lambda x, y: x != y, OPERATORS)
define_predicate("not_", 1, _ordered, lambda x: x == 0, OPERATORS)
for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
):
    OPERATORS["i" + _name.rstrip("_")] = OPERATORS[_name]  # the in-place forms

# ---- casts --------------------------------------------------------------------------------------


def _define_cast(word: str, code: str) -> None:
    INTRINSICS[word] = Intrinsic(word, 1, lambda _: code, lambda x: x.to(code))


for _code in ("f32", "f64", *SIGNED_CODES, *UNSIGNED_CODES):
    _define_cast(_code, _code)
_define_cast("bool_", "bool")


def _bitcast(code: str):
    def emit(x: Num) -> Num:
        return x.new(x.builder.bitcast(x.value, llvm_type(code, x.lanes)), code)

    return emit


for _code in ("f32", "f64", *SIGNED_CODES, *UNSIGNED_CODES):
    INTRINSICS[f"bitcast_{_code}"] = Intrinsic(
        f"bitcast_{_code}", 1,
        lambda code, to=_code: to if BITS.get(code) == BITS[to] else None,
        _bitcast(_code),
    )  # fmt: skip

# ---- choosing and reducing ----------------------------------------------------------------------

INTRINSICS["where"] = Intrinsic(
    "where", 3,
    lambda condition, x, y: _settle(common(x, y)) if condition == "bool" else None,
    lambda condition, x, y: _emit_where(condition, x, y),
)  # fmt: skip


def _emit_where(condition: Num, x: Num, y: Num) -> Num:
    code = _settle(common(x.typing_code, y.typing_code))
    if is_complex(code):
        return complex_words.choose(
            condition, complex_words.to_complex(x, code), complex_words.to_complex(y, code)
        )
    return where(condition, x.to(code), y.to(code))


def _maximum(x: Num, y: Num) -> Num:
    """The larger; NaN if either is NaN; +0 is larger than -0."""
    return x.call("llvm.maximum", y) if is_float(x.code) else where(x > y, x, y)


def _minimum(x: Num, y: Num) -> Num:
    """The smaller; NaN if either is NaN; -0 is smaller than +0."""
    return x.call("llvm.minimum", y) if is_float(x.code) else where(x < y, x, y)


FREE_ORDER = (
    "reassoc",
    "nsz",
    "contract",
)  # LLVM may reorder and vectorise this addition, and only this one

define("maximum", 2, _ordered, _maximum)
define("minimum", 2, _ordered, _minimum)
define("acc", 2, _number, lambda s, v: s._binary(v, "fadd", "add", flags=FREE_ORDER))
define("accmul", 2, _number, lambda s, v: s._binary(v, "fmul", "mul", flags=FREE_ORDER))
define("accmax", 2, _ordered, _maximum)
define("accmin", 2, _ordered, _minimum)
define("muladd", 3, _number, lambda x, y, z: x.muladd(y, z) if is_float(x.code) else x * y + z)

# ---- numbers and bits ---------------------------------------------------------------------------


def _sign(x: Num) -> Num:
    """-1, 0 or 1; keeps NaN and the sign of zero."""
    if not is_signed(x.code) and not is_float(x.code):
        return where(x != 0, 1, x)
    return where(x > 0, 1, where(x < 0, -1, x))


def _absolute(x: Num) -> Num:
    if is_float(x.code):
        return x.abs()
    return where(x < 0, -x, x) if is_signed(x.code) else x


def _next_after(x: Num, y: Num) -> Num:
    """The float next to ``x`` in the direction of ``y``."""
    bits = x.bits()
    one = bits.const(1)
    up = (x < y) == (x > 0.0)  # away from zero: larger magnitude
    stepped = where(up, bits + one, bits - one).as_float()
    smallest = one.as_float().copysign(y)
    result = where(x == y, y, where(x == 0.0, smallest, stepped))
    return where(x.is_nan() | y.is_nan(), x + y, result)


def _rotate_left(x: Num, amount: Num) -> Num:
    return x.new(x.call("llvm.fshl", x, amount).value)


def _bit_count(name: str):
    def emit(x: Num) -> Num:
        if name == "llvm.ctpop":
            return x.call(name)
        is_zero_poison = ir.Constant(ir.IntType(1), 0)
        return x.call(name, Num(x.builder, is_zero_poison, "bool"))

    return emit


def _integer_pow(x: Num, n: Num) -> Num:
    """``x ** n`` for a literal n, by repeated squaring; negative n only for floats."""
    exponent = n.literal
    if exponent is None:
        raise TypeError(
            "integer_pow takes a literal integer exponent; use pow(x, y) for a variable one"
        )
    result, square, rest = None, x, abs(exponent)
    while rest:
        if rest & 1:
            result = square if result is None else result * square
        rest >>= 1
        if rest:
            square = square * square
    if result is None:
        return x.const(1)
    return result if exponent > 0 else div(x.const(1), result)


define("abs", 1, _number, _absolute)
define("sign", 1, _number, _sign)
define("square", 1, _number, lambda x: x * x)
define("sqrt", 1, is_float, lambda x: x.sqrt())
define("floor", 1, is_float, lambda x: x.floor())
define("ceil", 1, is_float, lambda x: x.call("llvm.ceil"))
define("trunc", 1, is_float, lambda x: x.call("llvm.trunc"))
define("round_half_even", 1, is_float, lambda x: x.rint())
define("round_half_away", 1, is_float, lambda x: x.call("llvm.round"))
define("copysign", 2, is_float, lambda x, y: x.copysign(y))
define("nextafter", 2, is_float, _next_after)
define_predicate("is_finite", 1, is_float, lambda x: x.abs() < float("inf"))
define_predicate("is_nan", 1, is_float, lambda x: x.is_nan())
define("div", 2, _number, div)
define("rem", 2, _number, rem)
define("shift_left", 2, is_integer, shift_left)
define("shift_right_logical", 2, is_integer, shift_right_logical)
define("shift_right_arithmetic", 2, is_integer, shift_right_arithmetic)
define("rotl", 2, is_integer, _rotate_left)
define("popcount", 1, is_integer, _bit_count("llvm.ctpop"))
define("clz", 1, is_integer, _bit_count("llvm.ctlz"))
INTRINSICS["integer_pow"] = Intrinsic(
    "integer_pow", 2, lambda x, n: x if _number(x) and n == "literal" else None, _integer_pow
)

# ---- mathematics --------------------------------------------------------------------------------


INLINE = {
    vector_math: (
        "exp", "exp2", "expm1", "log", "log2", "log1p",
        "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "logistic",
    ),
    vector_trig: ("atan",),
    vector_special: ("erf", "rsqrt"),
}  # fmt: skip
for _module, _words in INLINE.items():
    for _name in _words:
        define(_name, 1, is_float, getattr(_module, _name))
for _name, (_, _arity) in vector_library.FUNCTIONS.items():
    define(_name, _arity, is_float, functools.partial(vector_library.call, _name))

# ---- halves and complex numbers -----------------------------------------------------------------


def _round_f16(x: Num) -> Num:
    """A float32 rounded to float16's precision and range."""
    builder, half = x.builder, ir.HalfType()
    return x.new(builder.fpext(builder.fptrunc(x.value, half), ir.FloatType()))


def bf16_bits(x: Num) -> Num:
    """The bfloat16 nearest to a float32 (ties to even), in the low bits of a u32."""
    bits = x.bits(signed=False)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return where(x.is_nan(), (bits >> 16) | 0x40, rounded)


def _round_bf16(x: Num) -> Num:
    """A float32 rounded to bfloat16's precision."""
    return (bf16_bits(x) << 16).as_float()


INTRINSICS["f16"] = Intrinsic("f16", 1, lambda _: "f32", lambda x: _round_f16(x.to("f32")))
INTRINSICS["bf16"] = Intrinsic("bf16", 1, lambda _: "f32", lambda x: _round_bf16(x.to("f32")))


def _with_complex(
    table: dict[str, Intrinsic], name: str, emit: Callable[..., Num], result: Callable[[str], str]
) -> None:
    """Extend a word (or make one) by its meaning for complex operands."""
    real = table.get(name)
    arity = real.arity if real else 1

    def rule(*codes: str) -> str | None:
        code = common(*codes)
        if code is not None and is_complex(code):
            return result(code)
        return real.result(*codes) if real else None

    def either(*operands: Num) -> Num:
        code = common(*(x.typing_code for x in operands))
        if code is not None and is_complex(code):
            return emit(*(complex_words.to_complex(x, code) for x in operands))
        assert real is not None
        return real.emit(*operands)

    table[name] = Intrinsic(name, arity, rule, either)


for _words, _result in (
    (complex_words.TO_COMPLEX, lambda code: code),
    (complex_words.TO_FLOAT, lambda code: PART[code]),
    (complex_words.TO_BOOL, lambda code: "bool"),
):
    for _name, _emit in _words.items():
        if _name in OPERATORS:
            _with_complex(OPERATORS, _name, _emit, _result)
        if _name in INTRINSICS or _name not in OPERATORS:
            _with_complex(INTRINSICS, _name, _emit, _result)
for _name in ("add", "sub", "mul", "truediv"):
    OPERATORS["i" + _name] = OPERATORS[_name]
for _code, _part in PART.items():
    INTRINSICS[_code] = Intrinsic(  # c64(x) converts
        _code, 1, lambda _, to=_code: to, lambda x, to=_code: complex_words.to_complex(x, to)
    )
INTRINSICS["complex_of"] = Intrinsic(
    "complex_of",
    2,
    lambda re, im: complex_words.WHOLE.get(re) if re == im else None,
    complex_words.join,
)
