"""The dtypes there are: their names, and the kinds they belong to.

NumPy's, less the exotic ones, and three more: bfloat16 for learning machines, float0 for the
tangents of integers, and key<fry> for PRNG keys.
"""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from tinyjax.lattice import BOOL, COMPLEX, FLOATS, SIGNED, UNSIGNED

# ---------------------------------------------------------------- extended dtypes


class extended(np.generic):
    """Scalar class above all dtypes that NumPy does not have; for issubdtype only."""


class prng_key(extended):
    """Scalar class of PRNG key dtypes; for issubdtype only."""


class ExtendedDType:
    """Base class of dtypes that stand for something other than numbers."""

    type: type[np.generic]
    name: str
    itemsize: int


#: How NumPy stores a key: as one element of two words, so that it can move keys but not add them.
key_storage = np.dtype([("key", np.uint32, (2,))])


class KeyType(ExtendedDType):
    """The dtype of typed PRNG keys: each element stands for `key_shape` words of uint32.

    >>> KeyType()
    key<fry>
    """

    type = prng_key
    kind = "k"
    dtype = key_storage  # what NumPy takes this dtype for

    def __init__(self, tag: str = "fry", key_shape: tuple[int, ...] = (2,)):
        self.tag, self.key_shape = tag, key_shape
        self.name = f"key<{tag}>"
        self.itemsize = 4 * int(np.prod(key_shape))

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyType):
            return False
        return (self.tag, self.key_shape) == (other.tag, other.key_shape)

    def __hash__(self) -> int:
        return hash((KeyType, self.tag, self.key_shape))


key_fry = KeyType()

# ---------------------------------------------------------------- the dtypes there are

bfloat16 = ml_dtypes.bfloat16
bool_, int_, uint, float_, complex_ = np.bool_, np.int64, np.uint64, np.float64, np.complex128

#: Tangents of integers and booleans: there is nothing to say about them, in no bytes.
float0 = np.dtype([("float0", np.void, 0)])

iinfo = ml_dtypes.iinfo
finfo = ml_dtypes.finfo

DType = Any  # a np.dtype or an ExtendedDType

NUMERIC = [*UNSIGNED, *SIGNED, *FLOATS, *COMPLEX]
VALID = {float0, BOOL, *NUMERIC}
KINDS: dict[str, set[np.dtype]] = {
    "bool": {BOOL},
    "signed integer": set(SIGNED),
    "unsigned integer": set(UNSIGNED),
    "integral": {*SIGNED, *UNSIGNED},
    "real floating": set(FLOATS),
    "complex floating": set(COMPLEX),
    "numeric": set(NUMERIC),
}


@functools.cache
def short_name(dtype: DType) -> str:
    """Return a dtype's name in jaxprs: f32, i32, u8, bool, bf16, c64, key<fry>, float0."""
    if dtype == float0:
        return "float0"
    name = dtype.name
    for long, short in (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        name = name.replace(long, short)
    return name


def dtype_name(dtype: DType) -> str:
    """Return a dtype's full name: 'float32', 'key<fry>', 'float0'."""
    return "float0" if dtype == float0 else dtype.name


def itemsize_bits(dtype: Any) -> int:
    """Return the number of bits of one element.

    >>> itemsize_bits("complex64")
    64
    """
    return 8 * np.dtype(dtype).itemsize


# ---------------------------------------------------------------- questions about dtypes


def issubdtype(a: Any, b: Any) -> bool:
    """Return whether dtype `a` is `b` or of the kind `b`, as np.issubdtype but with all our dtypes.

    >>> issubdtype(bfloat16, np.floating), issubdtype(key_fry, prng_key)
    (True, True)
    """
    hashable = (type, np.dtype, ExtendedDType)
    return _issubdtype(
        a if isinstance(a, hashable) else np.dtype(a),
        b if isinstance(b, hashable) else np.dtype(b),
    )


@functools.lru_cache(512)
def _issubdtype(a: Any, b: Any) -> bool:
    """Answer issubdtype for hashable arguments."""
    if isinstance(b, ExtendedDType):
        return a == b
    a, b = _scalar_class(a), _scalar_class(b)
    if a is bfloat16:  # NumPy's hierarchy does not know where it belongs
        return b in (bfloat16, np.floating, np.inexact, np.number, np.generic)
    return issubclass(a, b)


def _scalar_class(x: Any) -> type:
    """Return the NumPy scalar class of a dtype, scalar class or Python type."""
    if isinstance(x, ExtendedDType) or (isinstance(x, type) and issubclass(x, np.generic)):
        return x.type if isinstance(x, ExtendedDType) else x
    return np.dtype(x).type


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a kind.

    Args:
      dtype: anything np.dtype understands.
      kind: a dtype; or 'bool', 'signed integer', 'unsigned integer', 'integral',
        'real floating', 'complex floating' or 'numeric'; or a tuple of such.

    Raises:
      ValueError: a string that is neither a kind nor a dtype.
      TypeError: something else that is no dtype.

    >>> isdtype("bfloat16", ("integral", "real floating"))
    True
    """
    members: set[np.dtype] = set()
    for k in kind if isinstance(kind, tuple) else (kind,):
        members |= _kind_members(k)
    return np.dtype(dtype) in members


def _kind_members(kind: Any) -> set[np.dtype]:
    """Return the dtypes of one kind."""
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind]
    try:
        return {np.dtype(kind)}
    except TypeError as error:
        if isinstance(kind, str):
            raise ValueError(
                f"Unrecognized {kind=}: expected one of {list(KINDS)}, or a dtype."
            ) from error
        raise TypeError(f"Expected kind to be a dtype, string, or tuple; got {kind=}") from error


def supports_inf(dtype: Any) -> bool:
    """Return whether a dtype has an infinity."""
    return issubdtype(dtype, np.inexact)


# ---------------------------------------------------------------- conversion to a kind


def to_numeric_dtype(dtype: Any) -> np.dtype:
    """Return int32 for bool, and any other dtype as it is."""
    dtype = np.dtype(dtype)
    return np.dtype("int32") if dtype == BOOL else dtype


def to_inexact_dtype(dtype: Any) -> np.dtype:
    """Return the float dtype for an integer or bool, and any other dtype as it is.

    >>> to_inexact_dtype("int8"), to_inexact_dtype("bfloat16")
    (dtype('float32'), dtype(bfloat16))
    """
    dtype = np.dtype(dtype)
    if dtype not in KINDS["integral"] and dtype != BOOL:
        return dtype
    return np.dtype("float64" if dtype.itemsize == 8 else "float32")


def to_floating_dtype(dtype: Any) -> np.dtype:
    """Return the real float dtype: that of the parts, for a complex dtype."""
    return finfo(to_inexact_dtype(dtype)).dtype


def to_complex_dtype(dtype: Any) -> np.dtype:
    """Return the complex dtype that holds the values of `dtype`."""
    wide = to_inexact_dtype(dtype) in (np.dtype("float64"), np.dtype("complex128"))
    return np.dtype("complex128" if wide else "complex64")
