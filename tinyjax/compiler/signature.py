"""Argument types of a kernel: ``'f32[2]'`` is a float32 array of rank 2, ``'intp'`` an int."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# ---- dtype codes --------------------------------------------------------------------------------

FLOAT_CODES = ("f16", "bf16", "f32", "f64")
SIGNED_CODES = ("i8", "i16", "i32", "i64")
UNSIGNED_CODES = ("u8", "u16", "u32", "u64")
COMPLEX_CODES = ("c64", "c128")
BITS = {
    "bool": 1, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "c64": 64, "c128": 128,
    **{code: int(code[1:]) for code in SIGNED_CODES + UNSIGNED_CODES},
}  # fmt: skip


def is_float(code: str) -> bool:
    """Whether values of this code are floating-point numbers inside a kernel."""
    return code in FLOAT_CODES


def is_complex(code: str) -> bool:
    """Whether ``code`` is a complex dtype."""
    return code in COMPLEX_CODES


def is_signed(code: str) -> bool:
    """Whether ``code`` is a signed integer."""
    return code in SIGNED_CODES


def is_integer(code: str) -> bool:
    """Whether ``code`` is a signed or unsigned integer (not bool)."""
    return code in SIGNED_CODES or code in UNSIGNED_CODES


# ---- signatures ---------------------------------------------------------------------------------

_PATTERN = re.compile(r"(\w+?)(?:\[([1-9])\])?$")


class Param(NamedTuple):
    """One parameter of a kernel: dtype code and rank (0: a scalar passed by value)."""

    code: str
    rank: int

    def __str__(self) -> str:
        return f"{self.code}[{self.rank}]" if self.rank else self.code

    @property
    def llvm(self) -> str:
        """LLVM type of a scalar parameter."""
        if self.code in ("f32", "f64"):
            return "float" if self.code == "f32" else "double"
        return f"i{ {'bool': 8, 'intp': 64}.get(self.code) or BITS[self.code] }"


def parse(signature: Sequence[str]) -> tuple[Param, ...]:
    """Parse the codes of a signature.

    >>> [str(p) for p in parse(("f32[2]", "intp"))]
    ['f32[2]', 'intp']
    """
    params = []
    for code in signature:
        match = _PATTERN.fullmatch(code)
        if not match or (match[1] not in BITS and match[1] != "intp"):
            raise ValueError(
                f"kernel signature: {code!r} is no argument type; "
                "write dtype[rank], as in 'f32[2]', or 'intp'"
            )
        rank = int(match[2] or 0)
        if rank == 0 and match[1] in ("f16", "bf16", "c64", "c128"):
            raise ValueError(
                f"kernel signature: {match[1]} scalars are passed as arrays of size 1: "
                f"'{match[1]}[1]'"
            )
        params.append(Param(match[1], rank))
    return tuple(params)
