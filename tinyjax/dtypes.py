"""Dtypes: what values have, what users may ask for, and what comes of mixing two.

Three things differ from NumPy. 64-bit dtypes are narrowed to 32 unless x64 is enabled. Python
numbers are *weakly typed*: they adapt to the array they meet. And bfloat16 takes part. This file
is about values; `dtype_kinds.py` lists the dtypes and `lattice.py` orders them. Import any of
their names from here.
"""

from __future__ import annotations

import itertools
import os
import sys
import warnings
from typing import Any

import numpy as np

from tinyjax.config import current_flags
from tinyjax.dtype_kinds import (  # noqa: F401 (some only pass through)
    KINDS,
    VALID,
    DType,
    ExtendedDType,
    KeyType,
    bfloat16,
    bool_,
    complex_,
    dtype_name,
    extended,
    finfo,
    float0,
    float_,
    iinfo,
    int_,
    isdtype,
    issubdtype,
    itemsize_bits,
    key_fry,
    key_storage,
    prng_key,
    short_name,
    supports_inf,
    to_complex_dtype,
    to_floating_dtype,
    to_inexact_dtype,
    to_numeric_dtype,
    uint,
)
from tinyjax.lattice import (  # noqa: F401
    BOOL,
    UNSIGNED,
    WEAK,
    TypePromotionError,
    is_weak,
    least_upper_bound,
)  # fmt: skip

# ---------------------------------------------------------------- 32 or 64 bits

_NARROW = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("complex64"),
}


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> DType:
    """Return `dtype` as np.dtype, narrowed from 64 to 32 bits unless x64 is enabled.

    >>> canonicalize_dtype(np.float64)
    dtype('float32')
    """
    if isinstance(dtype, ExtendedDType):
        if not allow_extended_dtype:
            raise ValueError(f"canonicalize_dtype called on the extended dtype {dtype}: pass "
                             "allow_extended_dtype=True if that can happen.")  # fmt: skip
        return dtype
    try:
        dtype = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"dtype {dtype!r} not understood") from error
    return dtype if current_flags().enable_x64 else _NARROW.get(dtype, dtype)


def default_int_dtype() -> np.dtype:
    """Return the dtype of Python ints."""
    return canonicalize_dtype(np.int64)


def default_uint_dtype() -> np.dtype:
    """Return the default unsigned dtype."""
    return canonicalize_dtype(np.uint64)


def default_float_dtype() -> np.dtype:
    """Return the dtype of Python floats."""
    return canonicalize_dtype(np.float64)


def default_complex_dtype() -> np.dtype:
    """Return the dtype of Python complex numbers."""
    return canonicalize_dtype(np.complex128)


def check_valid_dtype(dtype: DType) -> None:
    """Raise TypeError unless arrays can have this dtype."""
    if dtype not in VALID:
        raise TypeError(f"Dtype {dtype} is not a valid JAX array type. Only arrays of numeric "
                        "types are supported by JAX.")  # fmt: skip


def check_user_dtype_supported(dtype: Any, fun_name: str = "") -> DType:
    """Return the canonical form of a dtype that the user asked for.

    Args:
      dtype: a dtype, its name, a scalar class, or bool, int, float or complex.
      fun_name: the function it was passed to, for messages.

    Warns:
      UserWarning: a 64-bit dtype by name while x64 is off.

    Raises:
      TypeError: arrays cannot have this dtype.
      ValueError: None or an array; or 64 bits, when the flag explicit_x64_dtypes is 'error'.

    >>> check_user_dtype_supported(float)
    dtype('float32')
    """
    if dtype is None:
        raise ValueError("dtype must be specified.")
    if isinstance(dtype, ExtendedDType):
        return dtype
    if isinstance(dtype, type) and dtype in python_scalar_types:
        return canonicalize_dtype(dtype)
    if hasattr(dtype, "shape") and not isinstance(dtype, (type, np.dtype)):
        raise ValueError("An array was passed as a dtype argument; instead of dtype=arr use "
                         "dtype=arr.dtype.")  # fmt: skip
    found = np.dtype(dtype)
    if found not in VALID:
        where = f" in {fun_name}" if fun_name else ""
        raise TypeError(f"JAX only supports number and bool dtypes, got dtype {found}{where}.")
    return _narrow_explicit(found, fun_name)


def _narrow_explicit(dtype: np.dtype, fun_name: str) -> np.dtype:
    """Narrow a dtype that somebody wrote out, and tell them."""
    flags = current_flags()
    if flags.enable_x64 or flags.explicit_x64_dtypes == "allow" or dtype not in _NARROW:
        return dtype
    narrow = _NARROW[dtype]
    where = f" requested in {fun_name}" if fun_name else ""
    message = f"Explicitly requested dtype {dtype}{where} is not available"
    if flags.explicit_x64_dtypes == "error":
        raise ValueError(f"{message}. To have 64-bit dtypes, set the jax_enable_x64 configuration "
                         f"option, or use {narrow}.")  # fmt: skip
    warnings.warn(
        f"{message}, and will be truncated to dtype {narrow}. To have 64-bit dtypes, set the "
        "jax_enable_x64 configuration option or the TINYJAX_ENABLE_X64 environment variable.",
        stacklevel=_user_stacklevel(),
    )
    return narrow


def _user_stacklevel() -> int:
    """Count the frames from our caller up to the first outside this package."""
    package = os.path.dirname(__file__) + os.sep
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    return level


# ---------------------------------------------------------------- Python scalars

python_scalar_types = {bool, int, float, complex}
python_scalar_dtypes = {
    bool: BOOL,
    int: np.dtype("int64"),
    float: np.dtype("float64"),
    complex: np.dtype("complex128"),
}
_SCALAR_KINDS = (
    (bool, "bool"),
    (int, "integral"),
    (float, "real floating"),
    (complex, "complex floating"),
)


def is_python_scalar(x: Any) -> bool:
    """Return whether `x` is a plain bool, int, float or complex."""
    return type(x) in python_scalar_types


def scalar_type_to_dtype(typ: type, value: Any = None) -> np.dtype:
    """Return the dtype of a Python scalar type; raise OverflowError if an int does not fit.

    >>> scalar_type_to_dtype(int, 2**31)
    Traceback (most recent call last):
    OverflowError: Python int 2147483648 too large to convert to int32
    """
    dtype = canonicalize_dtype(python_scalar_dtypes[typ])
    if typ is int and value is not None:
        half = 1 << (8 * dtype.itemsize - 1)
        if not -half <= value < half:
            raise OverflowError(f"Python int {value} too large to convert to {dtype}")
    return dtype


def coerce_to_array(x: Any, dtype: Any = None) -> np.ndarray:
    """Return a scalar or NumPy array as np.ndarray; Python scalars get our dtypes, not NumPy's.

    >>> coerce_to_array(1.5).dtype
    dtype('float32')
    """
    if dtype is None and type(x) in python_scalar_types:
        dtype = scalar_type_to_dtype(type(x), x)
    return np.asarray(x, dtype)


def scalar_type_of(x: Any) -> type:
    """Return bool, int, float or complex: the kind of number in `x`.

    >>> scalar_type_of(np.int8(3))
    <class 'int'>
    """
    found = dtype(x)
    for typ, kind in _SCALAR_KINDS:
        if found in KINDS[kind]:
            return typ
    raise TypeError(f"Invalid scalar value {x}")


def dtype(x: Any) -> DType:
    """Return the canonical dtype of a value, a dtype, its name, or a scalar class.

    Raises:
      TypeError: there is none, or arrays cannot have it.

    >>> dtype(3), dtype(np.ones(2))
    (dtype('int32'), dtype('float32'))
    """
    if x is None:
        raise ValueError("Invalid argument to dtype: None.")
    scalar_type = x if isinstance(x, type) else type(x)
    if scalar_type in python_scalar_types:
        return canonicalize_dtype(python_scalar_dtypes[scalar_type])
    if isinstance(x, (str, np.dtype)) or (isinstance(x, type) and issubclass(x, np.generic)):
        written = np.dtype(x)
        _check_has_dtype(x, written)
        return _narrow_explicit(written, "dtype")
    found = getattr(x, "dtype", None)
    if not isinstance(found, (np.dtype, ExtendedDType)):
        try:
            found = np.result_type(x)
        except TypeError as error:
            raise TypeError(f"Cannot determine dtype of {x}") from error
    _check_has_dtype(x, found)
    if hasattr(x, "weak_type"):  # an array of ours: once made, it keeps its 64 bits
        return found
    return canonicalize_dtype(found, allow_extended_dtype=True)


def _check_has_dtype(x: Any, found: DType) -> None:
    """Raise TypeError unless `found`, the dtype of `x`, is one of ours."""
    if not isinstance(found, ExtendedDType) and found not in VALID:
        raise TypeError(f"Value '{x}' with dtype {found} is not a valid JAX array type. Only "
                        "arrays of numeric types are supported by JAX.")  # fmt: skip


# ---------------------------------------------------------------- promotion


def promote_types(a: Any, b: Any) -> np.dtype:
    """Return the dtype that mixing two dtypes gives; int, float and complex count as weak.

    >>> promote_types("int32", "float16"), promote_types("uint8", int)
    (dtype('float16'), dtype('uint8'))
    """
    nodes = [t if any(t is weak for weak in WEAK) else np.dtype(t) for t in (a, b)]
    flags = current_flags()
    strict = flags.numpy_dtype_promotion == "strict"
    return np.dtype(least_upper_bound(strict, flags.enable_x64, *nodes))


#: Results of lattice_result_type by flags, dtypes and weak types.
_memo: dict[tuple, tuple[DType, bool]] = {}


def lattice_result_type(*args: Any) -> tuple[DType, bool]:
    """Return the dtype and weak type that mixing the arguments gives.

    Args:
      *args: arrays, tracers, avals (anything with `dtype` and `weak_type`), NumPy arrays, Python
        scalars, or dtypes.

    Raises:
      TypePromotionError: they do not mix (in strict mode).

    >>> lattice_result_type(np.int8(1), 2.0)
    (dtype('float32'), True)
    """
    flags = current_flags()
    x64, promotion = flags.enable_x64, flags.numpy_dtype_promotion
    try:  # two arrays are worth a shortcut
        a, b = args
        key = (x64, promotion, a.dtype, a.weak_type, b.dtype, b.weak_type)
    except (ValueError, AttributeError):
        pairs = map(_dtype_and_weak_type, args)
        key = (x64, promotion, *itertools.chain.from_iterable(pairs))
    return _memo.get(key) or _mix(key)


def _mix(key: tuple) -> tuple[DType, bool]:
    """Compute and remember the result for one key of _memo."""
    x64, promotion, *operands = key
    dtypes, weak = operands[::2], operands[1::2]
    standard = promotion == "standard"
    weak_result = all(weak)
    if len(dtypes) == 1 or (len(set(dtypes)) == 1 and not weak_result):
        # PRNG keys, which the lattice does not know, take this path too.
        found = _memo[key] = dtypes[0], weak_result
        return found
    if weak_result and standard:
        # A weak value may be narrow (a weak int8, by a cast), so here its dtype counts.
        result = least_upper_bound(not standard, x64, *dict.fromkeys(dtypes))
    else:
        nodes = dict.fromkeys(_weak_node(d) if w else d for d, w in zip(dtypes, weak))
        result = least_upper_bound(not standard, x64, *nodes)
        weak_result = is_weak(result)
    found = dtype(result), weak_result and result != BOOL
    if is_weak(result) or found[0] == result:  # else the user is warned of narrowing, every time
        _memo[key] = found
    return found


def _dtype_and_weak_type(x: Any) -> tuple[DType, bool]:
    """Return one operand's dtype, and whether it adapts to the others."""
    if type(x) in python_scalar_types:
        return canonicalize_dtype(python_scalar_dtypes[type(x)]), type(x) is not bool
    weak = getattr(x, "weak_type", None)
    if weak is not None:
        return x.dtype, bool(weak)
    return dtype(x), any(x is t for t in WEAK)


def _weak_node(dtype: np.dtype) -> type:
    """Return the weak type of a dtype's kind."""
    return next(t for t, kind in _SCALAR_KINDS if dtype in KINDS[kind])


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """Return the dtype that mixing the arguments gives; see lattice_result_type.

    Weak results get the default width of their kind, and None stands for the default float.

    Args:
      return_weak_type_flag: return a pair (dtype, weak_type) instead.

    >>> result_type(np.int8(1), 2.0), result_type(1, 2)
    (dtype('float32'), dtype('int32'))
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    found, weak = lattice_result_type(*(default_float_dtype() if x is None else x for x in args))
    if weak:
        found = _default_of_kind(found)
    return (found, weak) if return_weak_type_flag else found


def _default_of_kind(dtype: np.dtype) -> np.dtype:
    """Return the default dtype of the same kind."""
    if dtype in UNSIGNED:
        return default_uint_dtype()
    return canonicalize_dtype(_weak_node(dtype))


def safe_to_cast(x: Any, to: Any) -> bool:
    """Return whether mixing `x` into an array with the dtype of `to` leaves that dtype unchanged.

    >>> safe_to_cast("int16", "float32"), safe_to_cast("float32", "int16")
    (True, False)
    """
    target = dtype(to)
    return dtype(x) == target or result_type(x, target) == target


def jax_dtype(obj: Any, *, align: bool = False, copy: bool = False) -> DType:
    """Return np.dtype(obj), with our defaults for None, int, float and complex."""
    if isinstance(obj, ExtendedDType):
        return obj
    if obj is None:
        return default_float_dtype()
    if isinstance(obj, type) and obj in python_scalar_types:
        return canonicalize_dtype(obj)
    return np.dtype(obj, align=align, copy=copy)
