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
float literals are float64, so ``f32(0.5)``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from llvmlite import ir

from tinyjax.compiler import complex_words, vector_library, vector_math, vector_special
from tinyjax.compiler.complex_words import PART
from tinyjax.compiler.operators import (
    div,
    mul,
    rem,
    shift_left,
    shift_right_arithmetic,
    shift_right_logical,
)
from tinyjax.compiler.signature import (
    BITS,
    SIGNED_CODES,
    UNSIGNED_CODES,
    is_complex,
    is_float,
    is_integer,
    is_signed,
)
from tinyjax.compiler.vector_ir import Num, llvm_type, where
from tinyjax.compiler.word_table import (
    INTRINSICS,
    OPERATORS,
    Intrinsic,
    common,
    define,
    define_predicate,
    number,
    ordered,
    settle,
)

__all__ = ["INTRINSICS", "OPERATORS", "Intrinsic", "bf16_bits", "f16_bits", "f16_value"]

# ---- casts --------------------------------------------------------------------------------------


def _define_cast(word: str, code: str) -> None:
    INTRINSICS[word] = Intrinsic(
        word, 1, lambda c: None if is_complex(c) else code, lambda x: x.to(code)
    )


for _code in ("f32", "f64", *SIGNED_CODES, *UNSIGNED_CODES):
    _define_cast(_code, _code)
_define_cast("bool_", "bool")


def _same_width(code: str, other: str) -> bool:
    """Whether the bits of a real number of one dtype may be read as the other's."""
    return BITS.get(code) == BITS[other] and not is_complex(code)


def _bitcast(code: str):
    def emit(x: Num) -> Num:
        return x.new(x.builder.bitcast(x.value, llvm_type(code, x.lanes)), code)

    return emit


for _code in ("f32", "f64", *SIGNED_CODES, *UNSIGNED_CODES):
    INTRINSICS[f"bitcast_{_code}"] = Intrinsic(
        f"bitcast_{_code}", 1,
        lambda code, to=_code: to if _same_width(code, to) else None,
        _bitcast(_code),
    )  # fmt: skip

# ---- choosing and reducing ----------------------------------------------------------------------

INTRINSICS["where"] = Intrinsic(
    "where", 3,
    lambda condition, x, y: settle(common(x, y)) if condition == "bool" else None,
    lambda condition, x, y: _emit_where(condition, x, y),
)  # fmt: skip


def _emit_where(condition: Num, x: Num, y: Num) -> Num:
    code = settle(common(x.typing_code, y.typing_code))
    assert code is not None  # or the typing rule would have refused the call
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


def _whichever_zero(x: Num) -> Num:
    """The result of a step where +0 and -0 are equal: telling them apart takes as long again."""
    if is_float(x.code):
        x.value.fastmath.add("nsz")
    return x


FREE_ORDER = (
    "reassoc",
    "nsz",
    "contract",
)  # LLVM may reorder and vectorise this addition, and only this one

define("maximum", 2, ordered, _maximum)
define("minimum", 2, ordered, _minimum)
define("acc", 2, number, lambda s, v: s.binary(v, "fadd", "add", flags=FREE_ORDER))
define("accmul", 2, number, lambda s, v: s.binary(v, "fmul", "mul", flags=FREE_ORDER))
define("accmax", 2, ordered, lambda s, v: _whichever_zero(_maximum(s, v)))
define("accmin", 2, ordered, lambda s, v: _whichever_zero(_minimum(s, v)))
define("muladd", 3, number, lambda x, y, z: x.muladd(y, z) if is_float(x.code) else x * y + z)

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
            result = square if result is None else mul(result, square)
        rest >>= 1
        if rest:
            square = mul(square, square)
    if result is None:
        return x.const(1)
    return result if exponent > 0 else div(x.const(1), result)


define("abs", 1, number, _absolute)
define("sign", 1, number, _sign)
define("square", 1, number, lambda x: mul(x, x))
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
define("div", 2, number, div)
define("rem", 2, number, rem)
define("shift_left", 2, is_integer, shift_left)
define("shift_right_logical", 2, is_integer, shift_right_logical)
define("shift_right_arithmetic", 2, is_integer, shift_right_arithmetic)
define("rotl", 2, is_integer, _rotate_left)
define("popcount", 1, is_integer, _bit_count("llvm.ctpop"))
define("clz", 1, is_integer, _bit_count("llvm.ctlz"))
INTRINSICS["integer_pow"] = Intrinsic(
    "integer_pow", 2, lambda x, n: x if number(x) and n == "literal" else None, _integer_pow
)

# ---- mathematics --------------------------------------------------------------------------------


INLINE = {"exp": vector_math.exp, "exp2": vector_math.exp2, "rsqrt": vector_special.rsqrt}
for _name, _emit in INLINE.items():  # short, or too frequent to pay for a call
    define(_name, 1, is_float, _emit)
for _name in vector_library.FUNCTIONS:
    _arity = vector_library.ARITY.get(_name, 1)
    define(_name, _arity, is_float, functools.partial(vector_library.call, _name))


# ---- halves and complex numbers -----------------------------------------------------------------


def f16_bits(x: Num) -> Num:
    """The float16 nearest to a float32 (ties to even), in the low bits of a u32."""
    bits = x.bits(signed=False)
    a, sign = bits & 0x7FFFFFFF, (bits >> 16) & 0x8000
    normal = (a + (0xC8000FFF + ((a >> 13) & 1))) >> 13  # rebias the exponent by 15 - 127, round
    subnormal = (x.abs() + 0.5).bits(signed=False) - 0x3F000000  # the addition rounds
    special = where(a > 0x7F800000, a.const(0x7E00), 0x7C00)
    return where(a >= 0x47800000, special, where(a < 0x38800000, subnormal, normal)) | sign


def f16_value(h: Num) -> Num:
    """The float32 equal to a float16 given in the low bits of a u32."""
    a = h & 0x7FFF
    finite = ((a << 13).as_float() * 2.0**112).bits(signed=False)
    return (where(a >= 0x7C00, (a << 13) | 0x7F800000, finite) | ((h & 0x8000) << 16)).as_float()


def bf16_bits(x: Num) -> Num:
    """The bfloat16 nearest to a float32 (ties to even), in the low bits of a u32."""
    bits = x.bits(signed=False)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return where(x.is_nan(), (bits >> 16) | 0x40, rounded)


def _round_bf16(x: Num) -> Num:
    """A float32 rounded to bfloat16's precision."""
    return (bf16_bits(x) << 16).as_float()


def _half(c: str) -> str | None:
    return None if is_complex(c) else "f32"


INTRINSICS["f16"] = Intrinsic("f16", 1, _half, lambda x: f16_value(f16_bits(x.to("f32"))))
INTRINSICS["bf16"] = Intrinsic("bf16", 1, _half, lambda x: _round_bf16(x.to("f32")))


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


for _meanings, _result in (
    (complex_words.TO_COMPLEX, lambda code: code),
    (complex_words.TO_FLOAT, lambda code: PART[code]),
    (complex_words.TO_BOOL, lambda code: "bool"),
):
    for _name, _emit in _meanings.items():
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
