"""Dtypes of one byte or less: floats of 4 and 8 bits, integers of 1 to 4 bits.

They are for storage. Python numbers adapt to them (to the integers only whole ones do), integers
and booleans adapt to the floats; all else must be converted explicitly.
"""

import ml_dtypes
import numpy as np

from tinyjax import dtypes, lattice

FLOATS = [
    np.dtype(getattr(ml_dtypes, name))
    for name in (
        *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
        *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
        *("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"),
    )
]
SIGNED = [np.dtype(t) for t in (ml_dtypes.int1, ml_dtypes.int2, ml_dtypes.int4)]
UNSIGNED = [np.dtype(t) for t in (ml_dtypes.uint1, ml_dtypes.uint2, ml_dtypes.uint4)]
NARROW = {*FLOATS, *SIGNED, *UNSIGNED}


def register(narrow, kinds, weak, letter, above):
    """Let narrow dtypes be valid, of these kinds, and what numbers of type `weak` adapt to."""
    for dtype in narrow:
        LETTER[dtype] = letter
        dtypes.VALID.add(dtype)
        dtypes.ABOVE[dtype.type] = above
        for kind in (*kinds, "numeric"):
            dtypes.KINDS[kind].add(dtype)
        for bounds in (*lattice._STANDARD.values(), lattice._STRICT):
            for found in bounds.values():
                if weak in found and dtype not in found:
                    found.add(dtype)
            bounds[dtype] = {dtype}


LETTER = {np.dtype(dtypes.bfloat16): "f"}
SCALARS = (np.number, np.generic)
register(FLOATS, ["real floating"], float, "f", (np.floating, np.inexact, *SCALARS))
register(SIGNED, ["signed integer", "integral"], int, "i", (np.signedinteger, np.integer, *SCALARS))
register(
    UNSIGNED, ["unsigned integer", "integral"], int, "u", (np.unsignedinteger, np.integer, *SCALARS)
)


def kind(dtype):
    """NumPy's letter for the kind of a dtype, with bfloat16 and narrow dtypes among their kin."""
    return LETTER.get(dtype) or dtype.kind
