"""Kernels through plain ``numba.njit`` and Numba's public extension interface.

The backend comes here when ``target.py`` does not fit the installed version of Numba.  Slower to
compile and to call, never cached, but the same source: the words are ordinary Numba intrinsics
over ordinary Numba arrays.
"""

from __future__ import annotations

import functools

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from tinyjax.compiler import signature as sig
from tinyjax.compiler.intrinsics import INTRINSICS, Intrinsic
from tinyjax.compiler.vector_ir import Num

_TYPES = {
    "bool": types.boolean, "intp": types.intp, "f32": types.float32, "f64": types.float64,
    "c64": types.complex64, "c128": types.complex128,
    **{f"i{bits}": getattr(types, f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": getattr(types, f"uint{bits}") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_CODES = {kind: code for code, kind in _TYPES.items() if code != "intp"}


def _code(kind: types.Type) -> str | None:
    return (
        "literal" if isinstance(kind, types.IntegerLiteral) else _CODES.get(types.unliteral(kind))
    )


def _implement(word: Intrinsic, operands: tuple[types.Type, ...]):
    """Signature and code generator of a word for these operand types."""
    codes = [_code(kind) for kind in operands]
    result = None if None in codes else word.result(*codes)
    if result is None:
        return None

    def generate(context, builder, signature, values):
        numbers = []
        for kind, value in zip(operands, values, strict=True):
            literal = kind.literal_value if isinstance(kind, types.IntegerLiteral) else None
            numbers.append(Num(builder, value, _CODES[types.unliteral(kind)], literal))
        return word.emit(*numbers).value

    return _TYPES[result](*operands), generate


def _as_numba(word: Intrinsic):
    """A Numba intrinsic for one word."""

    def one(typingctx, x):
        return _implement(word, (x,))

    def two(typingctx, x, y):
        return _implement(word, (x, y))

    def three(typingctx, x, y, z):
        return _implement(word, (x, y, z))

    return intrinsic(prefer_literal=True)((one, two, three)[word.arity - 1])


@functools.cache
def _names() -> dict[str, object]:
    """The globals of a kernel."""
    words = {name: _as_numba(word) for name, word in INTRINSICS.items()}
    return {**words, "inf": float("inf"), "nan": float("nan"), "pi": np.pi}


def compile_with_njit(name: str, source: str, signature: tuple[str, ...]):
    """Compile a kernel as ``backend.compile_kernel`` does."""
    params = sig.parse(signature)
    space = dict(_names())
    exec(compile(source, f"<kernel {name}>", "exec"), space)
    kinds = [types.Array(_TYPES[p.code], p.rank, "C") if p.rank else _TYPES[p.code] for p in params]
    compiled = numba.njit(types.void(*kinds), error_model="numpy", nogil=True)(space[name])

    def call(*args):
        compiled(*(_of_rank(a, p.rank) if p.rank else a for a, p in zip(args, params, strict=True)))

    return call


def _of_rank(array: np.ndarray, rank: int) -> np.ndarray:
    """View ``array`` with leading axes added or merged until it has ``rank`` axes."""
    if array.ndim == rank:
        return array
    shape = (1,) * (rank - array.ndim) + array.shape
    keep = rank - 1
    head = int(np.prod(shape[: len(shape) - keep]))
    return array.reshape((head, *shape[len(shape) - keep :]))
