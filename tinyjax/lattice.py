r"""The type promotion lattice: what dtype comes of mixing others.

              u8 - u16 - u32 - u64         bf16         f64
             /  \     \     \     \       /    \       /   \
    bool - i*    \     \     \     f* ----      f32 --      c128
             \    \     \     \   /    \  \    /       \   /
              i8 - i16 - i32 - i64      \  f16          c64
                                         c* -----------/

i*, f* and c* are the weak types of Python's int, float and complex. Each node leads to the nodes
right of it; the result of mixing is the first node that all operands lead to. Weak types stand
left of the arrays' types of their kind, so mixing with them changes the kind, never the width.
"""

import functools
from typing import Any

import ml_dtypes
import numpy as np

Node = Any  # a np.dtype; or int, float, complex for the weak types

BOOL = np.dtype(bool)
UNSIGNED: list[np.dtype] = [np.dtype(f"uint{n}") for n in (8, 16, 32, 64)]
SIGNED: list[np.dtype] = [np.dtype(f"int{n}") for n in (8, 16, 32, 64)]
FLOATS: list[np.dtype] = [
    np.dtype(t) for t in (ml_dtypes.bfloat16, "float16", "float32", "float64")
]
COMPLEX: list[np.dtype] = [np.dtype("complex64"), np.dtype("complex128")]
u8, u16, u32, u64 = UNSIGNED
i8, i16, i32, i64 = SIGNED
bf16, f16, f32, f64 = FLOATS
c64, c128 = COMPLEX
WEAK = (int, float, complex)


def is_weak(node: Node) -> bool:
    """Return whether a node is a weak type (not `in WEAK`: dtype('float64') == float)."""
    return isinstance(node, type)


class TypePromotionError(ValueError):
    """These dtypes do not mix."""


def _standard(x64: bool) -> dict[Node, list[Node]]:
    """Return each node's neighbours on the right, when dtypes mix freely."""
    return {
        BOOL: [int],
        int: [u8, i8],
        u8: [u16, i16],
        u16: [u32, i32],
        # Without x64 nothing 64 bits wide may come of narrower operands; only this step would.
        u32: [u64, i64 if x64 else i32],
        u64: [float],
        i8: [i16],
        i16: [i32],
        i32: [i64],
        i64: [float],
        float: [bf16, f16, complex],
        bf16: [f32],
        f16: [f32],
        f32: [f64, c64],
        f64: [c128],
        complex: [c64],
        c64: [c128],
        c128: [],
    }


def _strict() -> dict[Node, list[Node]]:
    """Return the neighbours when only weak types may adapt."""
    weak: dict[Node, list[Node]] = {
        int: [float, *UNSIGNED, *SIGNED],
        float: [complex, *FLOATS],
        complex: COMPLEX,
    }
    strong = [BOOL, *UNSIGNED, *SIGNED, *FLOATS, *COMPLEX]
    return {**weak, **{dtype: [] for dtype in strong}}


def _reachable(lattice: dict[Node, list[Node]]) -> dict[Node, set[Node]]:
    """Return, for each node, itself and everything right of it: its upper bounds."""
    bounds: dict[Node, set[Node]] = {}

    def visit(node: Node) -> set[Node]:
        if node not in bounds:
            bounds[node] = {node}.union(*map(visit, lattice[node]))
        return bounds[node]

    for node in lattice:
        visit(node)
    return bounds


_STANDARD = {x64: _reachable(_standard(x64)) for x64 in (False, True)}
_STRICT = _reachable(_strict())


@functools.lru_cache(1024)
def least_upper_bound(strict: bool, x64: bool, *nodes: Node) -> Node:
    """Return the least node that all `nodes` lead to.

    Raises:
      TypePromotionError: there is none (in strict mode).
      ValueError: a dtype that does not take part, such as float0.

    >>> least_upper_bound(False, False, np.dtype("int32"), float)
    <class 'float'>
    """
    bounds = _STRICT if strict else _STANDARD[x64]
    for node in nodes:
        if node not in bounds:
            raise ValueError(f"dtype={node} is not a valid dtype for JAX type promotion.")
    common = set.intersection(*(bounds[node] for node in nodes))
    for node in common:
        if common <= bounds[node]:
            return node
    names = ", ".join(f"weak {n.__name__}" if is_weak(n) else str(n) for n in nodes)
    raise TypePromotionError(
        f"Input dtypes ({names}) have no available implicit dtype promotion path when "
        "jax_numpy_dtype_promotion=strict. Cast the inputs to the dtype you want, for example "
        "with x.astype('float32'), or set jax_numpy_dtype_promotion=standard."
    )
