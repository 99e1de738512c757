"""The table of the kernel language's words and operators, and the typing rules they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tinyjax.compiler.signature import BITS, is_complex, is_float, is_integer, is_signed
from tinyjax.compiler.vector_ir import Num

# ---- the table ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Intrinsic:
    """One word of the kernel language."""

    name: str
    arity: int
    result: Callable[..., str | None]  # dtype codes of operands -> of the result, None: refused
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
        widest = max(BITS[x] // (2 if is_complex(x) else 1) for x in (a, b))
        return "c128" if widest == 64 else "c64"
    if is_float(a) and is_float(b):
        return "f64"
    if not (is_integer(a) and is_integer(b)):
        return None
    if is_signed(a) == is_signed(b):
        return a if BITS[a] >= BITS[b] else b
    signed, unsigned = (a, b) if is_signed(a) else (b, a)
    return f"i{min(64, max(BITS[signed], 2 * BITS[unsigned]))}"


def settle(code: str | None) -> str | None:
    """An operation on nothing but literals works in int64."""
    return "i64" if code == "literal" else code


def common_if(kind: Callable[[str], bool]) -> Callable[..., str | None]:
    """Result rule: the common dtype of the operands, which must be of one ``kind``."""

    def rule(*codes: str) -> str | None:
        code = settle(common(*codes))
        return code if code is not None and kind(code) else None

    return rule


def number(code: str) -> bool:
    return is_float(code) or is_integer(code)


def bitwise(code: str) -> bool:
    return is_integer(code) or code == "bool"


def ordered(code: str) -> bool:
    return not is_complex(code)


def define(
    name: str, arity: int, kind: Callable[[str], bool], emit: Callable[..., Num], table=INTRINSICS
) -> None:
    """Add a word whose operands are brought to their common dtype, which is also the result's."""
    rule = common_if(kind)

    def unified(*operands: Num) -> Num:
        code = rule(*(x.typing_code for x in operands))
        assert code is not None  # or the typing rule would have refused the call
        return emit(*(x.to(code) for x in operands))

    table[name] = Intrinsic(name, arity, rule, unified)


def define_predicate(name: str, arity: int, kind, emit, table=INTRINSICS) -> None:
    """As ``define``, with a bool result."""
    define(name, arity, kind, emit, table)
    rule = table[name].result
    table[name] = Intrinsic(name, arity, lambda *codes: rule(*codes) and "bool", table[name].emit)
