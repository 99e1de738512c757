"""The meaning of Python's operators in kernels; integer division and shifts as XLA defines them."""

from __future__ import annotations

from tinyjax.compiler.signature import BITS, is_float, is_integer, is_signed
from tinyjax.compiler.vector_ir import Num, where
from tinyjax.compiler.word_table import (
    OPERATORS,
    bitwise,
    define,
    define_predicate,
    number,
    ordered,
)

# ---- integer arithmetic ----------------------------------------------------------------------


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


# ---- the operators ----------------------------------------------------------------------

# A product and a sum may become one fused multiply-add, as the oracle's compiler makes them.
FUSIBLE = ("contract",)


def add(x: Num, y: Num) -> Num:
    """x + y."""
    return x.binary(y, "fadd", "add", flags=FUSIBLE)


def sub(x: Num, y: Num) -> Num:
    """x - y."""
    return x.binary(y, "fsub", "sub", flags=FUSIBLE)


def mul(x: Num, y: Num) -> Num:
    """x * y."""
    return x.binary(y, "fmul", "mul", flags=FUSIBLE)


define("add", 2, number, add, OPERATORS)
define("sub", 2, number, sub, OPERATORS)
define("mul", 2, number, mul, OPERATORS)
define("truediv", 2, is_float, div, OPERATORS)
define("floordiv", 2, is_integer, _floor_div, OPERATORS)
define("mod", 2, is_integer, _modulo, OPERATORS)
define("lshift", 2, is_integer, shift_left, OPERATORS)
define("rshift", 2, is_integer, _shift_right, OPERATORS)
define("and_", 2, bitwise, lambda x, y: x & y, OPERATORS)
define("or_", 2, bitwise, lambda x, y: x | y, OPERATORS)
define("xor", 2, bitwise, lambda x, y: x ^ y, OPERATORS)
define("invert", 1, bitwise, lambda x: ~x, OPERATORS)
define("neg", 1, number, lambda x: -x, OPERATORS)
define("pos", 1, number, lambda x: x, OPERATORS)
define_predicate("lt", 2, ordered, lambda x, y: x < y, OPERATORS)
define_predicate("le", 2, ordered, lambda x, y: x <= y, OPERATORS)
define_predicate("gt", 2, ordered, lambda x, y: x > y, OPERATORS)
define_predicate("ge", 2, ordered, lambda x, y: x >= y, OPERATORS)
define_predicate("eq", 2, ordered, lambda x, y: x == y, OPERATORS)
define_predicate("ne", 2, ordered, lambda x, y: x != y, OPERATORS)
define_predicate("not_", 1, ordered, lambda x: x == 0, OPERATORS)
for _name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift"]:
    OPERATORS[f"i{_name}"] = OPERATORS[_name]  # the in-place forms
for _name in ["and", "or", "xor"]:
    OPERATORS[f"i{_name}"] = OPERATORS.get(_name) or OPERATORS[f"{_name}_"]
