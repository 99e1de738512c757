"""Kernels through plain ``numba.njit`` and Numba's public extension interface.

The backend comes here when ``target.py`` does not fit the installed version of Numba.  Slower to
compile and to call, never cached, but the same source with the same meaning: operators become
words, as ``x + y`` -> ``add_(x, y)``, and words are Numba intrinsics that write our instructions.
What is left to Numba are loops, branches, variables and the addresses of elements.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from tinyjax.compiler import signature as sig
from tinyjax.compiler import vector_library
from tinyjax.compiler.intrinsics import INTRINSICS, OPERATORS, bf16_bits, f16_bits, f16_value
from tinyjax.compiler.intrinsics_py import of_rank
from tinyjax.compiler.vector_ir import Num
from tinyjax.compiler.word_table import Intrinsic

_TYPES = {
    "bool": types.boolean, "intp": types.intp, "f32": types.float32, "f64": types.float64,
    "f16": types.uint16, "bf16": types.uint16, "c64": types.complex64, "c128": types.complex128,
    **{f"i{bits}": getattr(types, f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": getattr(types, f"uint{bits}") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_CODES = {kind: code for code, kind in _TYPES.items() if code not in ("intp", "f16", "bf16")}

CONSTANTS = {"inf": math.inf, "nan": math.nan, "pi": math.pi}
SIGNS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and_",
    ast.BitOr: "or_", ast.BitXor: "xor",
    ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not_",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip

# ---- words --------------------------------------------------------------------------------------


def _read_half(value: Callable[[Num], Num]) -> Intrinsic:
    return Intrinsic(
        "read a half", 1, lambda c: "f32" if c == "u16" else None, lambda x: value(x.to("u32"))
    )


def _written_half(bits: Callable[[Num], Num]) -> Intrinsic:
    return Intrinsic("write a half", 1, lambda _: "u16", lambda x: bits(x.to("f32")).to("u16"))


HALVES = {
    "read_f16": _read_half(f16_value),
    "read_bf16": _read_half(lambda bits: (bits << 16).as_float()),
    "written_f16": _written_half(f16_bits),
    "written_bf16": _written_half(bf16_bits),
}


def _code(kind: types.Type) -> str | None:
    if isinstance(kind, types.IntegerLiteral):
        return "literal"
    return _CODES.get(types.unliteral(kind))


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
        number = word.emit(*numbers)
        vector_library.define_here(builder.module)
        return number.value

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
    words = {**INTRINSICS, **HALVES, **{f"{name}_": OPERATORS[name] for name in SIGNS.values()}}
    return {**CONSTANTS, **{name: _as_numba(word) for name, word in words.items()}}


# ---- the text -----------------------------------------------------------------------------------


class _InWords(ast.NodeTransformer):
    """Replaces operators, and the reading and writing of elements, by words."""

    def __init__(self, arrays: dict[str, sig.Param]):
        self.arrays = dict(arrays)  # the arrays' names, and what they are

    def call(self, name: str, *operands: ast.expr) -> ast.expr:
        return ast.Call(ast.Name(name, ast.Load()), list(operands), [])

    def operator(self, sign: ast.AST, *operands: ast.expr) -> ast.expr:
        return self.call(SIGNS[type(sign)] + "_", *operands)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self.operator(node.op, self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return node  # a number
        return self.operator(node.op, self.visit(node.operand))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        return self.operator(node.ops[0], self.visit(node.left), self.visit(node.comparators[0]))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        value = ast.BinOp(
            ast.parse(ast.unparse(node.target), mode="eval").body, node.op, node.value
        )
        return self.visit_Assign(ast.Assign([node.target], value))

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        part = self.part(node)
        found = ast.Subscript(node.value, self.visit(node.slice), node.ctx)
        half = part is not None and part.rank == 0 and part.code in ("f16", "bf16")
        return self.call(f"read_{part.code}", found) if half and part else found

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        [target], value = node.targets, self.visit(node.value)
        part = self.part(target)
        if part is not None and isinstance(target, ast.Subscript):
            half = part.code in ("f16", "bf16")
            cast = "bool_" if part.code == "bool" else part.code
            value = self.call(f"written_{part.code}" if half else cast, value)
            target = ast.Subscript(target.value, self.visit(target.slice), target.ctx)
        elif isinstance(target, ast.Name):
            alias = self.part(node.value)  # row = x[i]
            if alias is not None and alias.rank:
                self.arrays[target.id] = alias
        return ast.Assign([target], value)

    def part(self, node: ast.AST) -> sig.Param | None:
        """What `a[i]` is: a part of an array of less rank, or an element (rank 0)."""
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            return None
        array = self.arrays.get(node.value.id)
        if array is None or isinstance(node.slice, ast.Slice):
            return array
        axes = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
        return sig.Param(array.code, array.rank - axes)


def in_words(name: str, source: str, params: tuple[sig.Param, ...]) -> str:
    """A kernel's text for Numba."""
    tree = ast.parse(source)
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name == name:
            arrays = {a.arg: p for a, p in zip(function.args.args, params, strict=True) if p.rank}
            function.body = [_InWords(arrays).visit(statement) for statement in function.body]
    return ast.unparse(ast.fix_missing_locations(tree))


# ---- a kernel -----------------------------------------------------------------------------------


def compile_with_njit(name: str, source: str, signature: tuple[str, ...]):
    """Compile a kernel as ``backend.compile_kernel`` does."""
    params = sig.parse(signature)
    space = dict(_names())
    exec(compile(in_words(name, source, params), f"<kernel {name}>", "exec"), space)
    kinds = [types.Array(_TYPES[p.code], p.rank, "C") if p.rank else _TYPES[p.code] for p in params]
    compiled = numba.njit(error_model="numpy", nogil=True)(space[name])
    compiled.compile(types.void(*kinds))  # others follow when an argument is read-only

    def call(*args):
        compiled(*(_argument(a, p) for a, p in zip(args, params, strict=True)))

    return call


def _argument(value, param: sig.Param):
    """An argument as the compiled function takes it: arrays of its rank, halves as their bits."""
    if not param.rank:
        return value
    array = of_rank(value, param.rank)
    return array.view(np.uint16) if param.code in ("f16", "bf16") else array
