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
import itertools

import ml_dtypes
import numpy as np

BOOL = np.dtype(bool)
UNSIGNED = [np.dtype(f"uint{n}") for n in (8, 16, 32, 64)]
SIGNED = [np.dtype(f"int{n}") for n in (8, 16, 32, 64)]
FLOATS: list[np.dtype] = [np.dtype(t) for t in (ml_dtypes.bfloat16, "f2", "f4", "f8")]
COMPLEX: list[np.dtype] = [np.dtype("complex64"), np.dtype("complex128")]
(u8, u16, u32, u64), (i8, i16, i32, i64) = UNSIGNED, SIGNED
(bf16, f16, f32, f64), (c64, c128) = FLOATS, COMPLEX
WEAK = (int, float, complex)


def is_weak(node):
    """Return whether a node is a weak type (not `in WEAK`: dtype('float64') == float)."""
    return isinstance(node, type)


class TypePromotionError(ValueError):
    """These dtypes do not mix."""


def _standard(x64):
    """Return the paths through the lattice from left to right, when dtypes mix freely."""
    return [
        (BOOL, int, u8, u16, u32, u64, float, bf16, f32, f64, c128),
        (int, i8, i16, i32, i64, float, f16, f32, c64, c128),
        (float, complex, c64),
        (u8, i16),
        (u16, i32),
        # Without x64 nothing 64 bits wide may come of narrower operands; only this step would.
        (u32, i64 if x64 else i32),
    ]


def _strict():
    """Return the paths when only weak types may adapt."""
    weak_and_strong = [*itertools.product([int], UNSIGNED + SIGNED)]
    weak_and_strong += [*itertools.product([float], FLOATS), *itertools.product([complex], COMPLEX)]
    return [(BOOL,), WEAK, *weak_and_strong]


def _upper_bounds(paths):
    """Return, for each node, itself and everything right of it."""
    bounds = {node: {node} for path in paths for node in path}
    for _ in bounds:  # as often as the longest way has steps
        for left, right in itertools.chain(*map(itertools.pairwise, paths)):
            bounds[left] |= bounds[right]
    return bounds


_STANDARD = {x64: _upper_bounds(_standard(x64)) for x64 in (False, True)}
_STRICT = _upper_bounds(_strict())


@functools.lru_cache(1024)
def least_upper_bound(strict, x64, *nodes):
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
    common = set.intersection(*[bounds[node] for node in nodes])
    for node in common:
        if common <= bounds[node]:
            return node
    names = ", ".join([f"weak {n.__name__}" if is_weak(n) else str(n) for n in nodes])
    raise TypePromotionError(
        f"Input dtypes ({names}) have no available implicit dtype promotion path when "
        "jax_numpy_dtype_promotion=strict. Cast the inputs to the dtype you want, for example "
        "with x.astype('float32'), or set jax_numpy_dtype_promotion=standard."
    )
