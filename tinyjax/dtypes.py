"""Dtypes: what values have, what users may ask for, and what comes of mixing two.

Three things differ from NumPy. 64-bit dtypes are narrowed to 32 unless x64 is enabled. Python
numbers are *weakly typed*: they adapt to the array they meet. And there are three more dtypes:
bfloat16 for learning machines, float0 for the tangents of integers, and key<fry> for PRNG keys.
`lattice.py` orders the dtypes; this file is about values.
"""

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
from ml_dtypes import bfloat16, finfo, iinfo  # noqa: F401 (iinfo passes through)

from tinyjax import lattice
from tinyjax.config import current_flags
from tinyjax.lattice import BOOL, WEAK, TypePromotionError, is_weak, least_upper_bound  # noqa: F401
from tinyjax.source import warn

# ---- extended dtypes ----------------------------------------------------------------------------


class extended(np.generic):
    """Scalar class above all dtypes that NumPy does not have; for issubdtype only."""


class prng_key(extended):
    """Scalar class of PRNG key dtypes; for issubdtype only."""


#: How NumPy stores a key: as one element of two words, so that it can move keys but not add them.
key_storage = np.dtype([("key", np.uint32, (2,))])


class ExtendedDType:
    """Base class of dtypes that stand for something other than numbers."""


@dataclass(frozen=True, repr=False)
class KeyType(ExtendedDType):
    """The dtype of typed PRNG keys: each element stands for `key_shape` words of uint32.

    >>> KeyType()
    key<fry>
    """

    tag: str = "fry"
    key_shape: tuple[int, ...] = (2,)
    type = prng_key
    kind = "k"
    dtype = key_storage  # what NumPy takes this dtype for
    name = property(lambda self: f"key<{self.tag}>")
    itemsize = property(lambda self: 4 * math.prod(self.key_shape))

    def __repr__(self):
        return self.name


key_fry = KeyType()

# ---- the dtypes there are -----------------------------------------------------------------------

bool_, int_, uint, float_, complex_ = np.bool_, np.int64, np.uint64, np.float64, np.complex128

#: Tangents of integers and booleans: there is nothing to say about them, in no bytes.
float0 = np.dtype([("float0", np.void, 0)])

KINDS: dict[str, set[np.dtype]] = {
    "bool": {BOOL},
    "signed integer": {*lattice.SIGNED},
    "unsigned integer": {*lattice.UNSIGNED},
    "integral": {*lattice.SIGNED, *lattice.UNSIGNED},
    "real floating": {*lattice.FLOATS},
    "complex floating": {*lattice.COMPLEX},
}
KINDS["numeric"] = set().union(*KINDS.values()) - {BOOL}
VALID = {float0, BOOL, *KINDS["numeric"]}
ABOVE: dict[type, tuple] = {bfloat16: (np.floating, np.inexact, np.number, np.generic)}


@functools.cache
def short_name(dtype):
    """Return a dtype's name in jaxprs: f32, i32, u8, bool, bf16, c64, key<fry>, float0."""
    if dtype == float0:
        return "float0"
    name = dtype.name
    for long, short in (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        name = name.replace(long, short)
    return name


def dtype_name(dtype):
    """Return a dtype's full name: 'float32', 'key<fry>', 'float0'."""
    return "float0" if dtype == float0 else dtype.name


def itemsize_bits(dtype):
    """Return the number of bits of one element.

    >>> itemsize_bits("complex64")
    64
    """
    return 8 * np.dtype(dtype).itemsize


@functools.lru_cache(512)
def issubdtype(a, b):
    """Return whether dtype `a` is `b` or of the kind `b`, as np.issubdtype but with all our dtypes.

    >>> issubdtype(bfloat16, np.floating), issubdtype(key_fry, prng_key)
    (True, True)
    """
    if isinstance(b, ExtendedDType):
        return a == b
    a, b = _scalar_class(a), _scalar_class(b)
    if a in ABOVE:  # NumPy's hierarchy does not know where it belongs
        return b is a or b in ABOVE[a]
    return issubclass(a, b)


def _scalar_class(x):
    """Return the NumPy scalar class of a dtype, its name, a scalar class or a Python type."""
    if isinstance(x, type) and issubclass(x, np.generic):
        return x
    return x.type if isinstance(x, ExtendedDType) else np.dtype(x).type


def isdtype(dtype, kind):
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
    members = set()
    for k in kind if isinstance(kind, tuple) else (kind,):
        try:
            members |= KINDS.get(k) or {np.dtype(k)}
        except TypeError:
            error = ValueError if isinstance(k, str) else TypeError
            known = f"one of {list(KINDS)}, a dtype, or a tuple of such"
            raise error(f"Unrecognized kind={k!r}: expected {known}.") from None
    return np.dtype(dtype) in members


# ---- conversion to a kind -----------------------------------------------------------------------


def to_numeric_dtype(dtype):
    """Return int32 for bool, and any other dtype as it is."""
    return np.dtype("int32") if dtype == BOOL else np.dtype(dtype)


def to_inexact_dtype(dtype):
    """Return the float dtype for an integer or bool, and any other dtype as it is.

    >>> to_inexact_dtype("int8"), to_inexact_dtype("bfloat16")
    (dtype('float32'), dtype(bfloat16))
    """
    dtype = np.dtype(dtype)
    if dtype not in KINDS["integral"] and dtype != BOOL:
        return dtype
    return np.dtype("float64" if dtype.itemsize == 8 else "float32")


def to_floating_dtype(dtype):
    """Return the real float dtype: that of the parts, for a complex dtype."""
    return finfo(to_inexact_dtype(dtype)).dtype


def to_complex_dtype(dtype):
    """Return the complex dtype that holds the values of `dtype`."""
    wide = to_floating_dtype(dtype) == np.dtype("float64")
    return np.dtype("complex128" if wide else "complex64")


# ---- 32 or 64 bits ------------------------------------------------------------------------------

_NARROW = {np.dtype(f"{c}{2 * n}"): np.dtype(f"{c}{n}") for c, n in zip("iufc", (4, 4, 4, 8))}


def canonicalize_dtype(dtype, allow_extended_dtype=False):
    """Return `dtype` as np.dtype, narrowed from 64 to 32 bits unless x64 is enabled.

    >>> canonicalize_dtype(np.float64)
    dtype('float32')
    """
    if isinstance(dtype, ExtendedDType):
        if allow_extended_dtype:
            return dtype
        raise ValueError(f"canonicalize_dtype called on the extended dtype {dtype}.")
    try:
        dtype = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"dtype {dtype!r} not understood") from error
    return dtype if current_flags().enable_x64 else _NARROW.get(dtype, dtype)


#: The dtypes of Python's ints, floats and complex numbers.
default_int_dtype = functools.partial(canonicalize_dtype, np.int64)
default_uint_dtype = functools.partial(canonicalize_dtype, np.uint64)
default_float_dtype = functools.partial(canonicalize_dtype, np.float64)
default_complex_dtype = functools.partial(canonicalize_dtype, np.complex128)


def check_user_dtype_supported(dtype, fun_name=""):
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
        raise ValueError("An array was passed as a dtype: instead of dtype=arr use dtype=arr.dtype")
    found = np.dtype(dtype)
    if found not in VALID:
        where = f" in {fun_name}" if fun_name else ""
        raise TypeError(f"JAX only supports number and bool dtypes, got dtype {found}{where}.")
    return _narrow_explicit(found, fun_name)


def _narrow_explicit(dtype, fun_name):
    """Narrow a dtype that somebody wrote out, and tell them."""
    flags = current_flags()
    if flags.enable_x64 or flags.explicit_x64_dtypes == "allow" or dtype not in _NARROW:
        return dtype
    narrow = _NARROW[dtype]
    where = f" requested in {fun_name}" if fun_name else ""
    message = f"Explicitly requested dtype {dtype}{where} is not available"
    advice = "For 64-bit dtypes, set the option jax_enable_x64 or the variable TINYJAX_ENABLE_X64."
    if flags.explicit_x64_dtypes == "error":
        raise ValueError(f"{message}; use {narrow}. {advice}")
    message += f", and will be truncated to dtype {narrow}. {advice}"
    warn(message)
    return narrow


# ---- dtypes of values ---------------------------------------------------------------------------

python_scalar_types = {bool, int, float, complex}
_KIND_OF = {bool: "bool", int: "integral", float: "real floating", complex: "complex floating"}


def number_class(x):
    """bool, int, float or complex if x is a number of Python's or of a class made from it, or None.

    >>> number_class(3.0), number_class(np.float64(3.0))
    (<class 'float'>, None)
    """
    kinds = () if isinstance(x, np.generic) else (bool, int, float, complex)
    return next((kind for kind in kinds if isinstance(x, kind)), None)


def coerce_to_array(x, dtype=None):
    """Return a scalar or NumPy array as np.ndarray; Python scalars get our dtypes, not NumPy's.

    Raises OverflowError for an int that does not fit.

    >>> coerce_to_array(1.5).dtype
    dtype('float32')
    """
    if dtype is None and type(x) in python_scalar_types:
        dtype = canonicalize_dtype(type(x))
        if type(x) is int and not -1 <= x >> (8 * dtype.itemsize - 1) <= 0:  # all but the sign
            raise OverflowError(f"Python int {x} too large to convert to {dtype}")
    return np.asarray(x, dtype)


def scalar_type_of(x):
    """Return bool, int, float or complex: the kind of number in `x`.

    >>> scalar_type_of(np.int8(3))
    <class 'int'>
    """
    found = _scalar_type(dtype(x))
    if found is None:
        raise TypeError(f"Invalid scalar value {x}")
    return found


def _scalar_type(dtype):
    """Return bool, int, float or complex for a dtype of that kind, None for others."""
    return next((t for t, kind in _KIND_OF.items() if dtype in KINDS[kind]), None)


def dtype(x):
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
        return canonicalize_dtype(scalar_type)
    if isinstance(x, (str, np.dtype)) or (isinstance(x, type) and issubclass(x, np.generic)):
        return check_user_dtype_supported(x, "dtype")
    found = getattr(x, "dtype", None)
    if not isinstance(found, (np.dtype, ExtendedDType)):
        try:
            found = np.result_type(x)
        except TypeError as error:
            raise TypeError(f"Cannot determine dtype of {x}") from error
    if isinstance(found, ExtendedDType):
        return found
    if found not in VALID:
        raise TypeError(f"Value '{x}' with dtype {found} is not a valid JAX array type.")
    # An array of ours, once made, keeps its 64 bits.
    return found if hasattr(x, "weak_type") else canonicalize_dtype(found)


# ---- promotion ----------------------------------------------------------------------------------


def promote_types(a, b):
    """Return the dtype that mixing two dtypes gives; int, float and complex count as weak.

    >>> promote_types("int32", "float16"), promote_types("uint8", int)
    (dtype('float16'), dtype('uint8'))
    """
    nodes = [t if any(t is weak for weak in WEAK) else np.dtype(t) for t in (a, b)]
    flags = current_flags()
    strict = flags.numpy_dtype_promotion == "strict"
    return np.dtype(least_upper_bound(strict, flags.enable_x64, *nodes))


_memo: dict[tuple, tuple] = {}  # results of lattice_result_type by flags, dtypes and weak types


def lattice_result_type(*args):
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
        key = (x64, promotion, *itertools.chain(*map(_dtype_and_weak_type, args)))
    return _memo.get(key) or _mix(key)


def _mix(key):
    """Compute and remember the result for one key of _memo."""
    x64, promotion, *operands = key
    dtypes, weak, strict = operands[::2], operands[1::2], promotion == "strict"
    weak_result = all(weak)
    if len(dtypes) == 1 or (len(set(dtypes)) == 1 and not weak_result):
        # PRNG keys, which the lattice does not know, take this path too.
        found = _memo[key] = dtypes[0], weak_result and dtypes[0] != BOOL
        return found
    nodes = [_scalar_type(d) if w and d != BOOL else d for d, w in zip(dtypes, weak)]
    if weak_result and not strict:
        nodes = dtypes  # a weak value may be narrow (a weak int8, by a cast): its dtype counts
    result = least_upper_bound(strict, x64, *dict.fromkeys(nodes))
    weak_result = weak_result if nodes is dtypes else is_weak(result)
    found = dtype(result), weak_result and result != BOOL
    if is_weak(result) or found[0] == result:  # else the user is warned of narrowing, every time
        _memo[key] = found
    return found


def _dtype_and_weak_type(x):
    """Return one operand's dtype, and whether it adapts to the others."""
    weak = getattr(x, "weak_type", None)
    if weak is not None:
        return x.dtype, bool(weak)
    kind = number_class(x) or type(x)
    adapts = kind in python_scalar_types and kind is not bool
    return dtype(kind if kind in python_scalar_types else x), adapts or any(x is t for t in WEAK)


def result_type(*args, return_weak_type_flag=False):
    """Return the dtype that mixing the arguments gives; see lattice_result_type.

    Weak results get the default width of their kind, and None stands for the default float.

    Args:
      return_weak_type_flag: return a pair (dtype, weak_type) instead.

    >>> result_type(np.int8(1), 2.0), result_type(1, 2)
    (dtype('float32'), dtype('int32'))
    """
    if not args:
        raise ValueError("at least one array or dtype is required")
    found, weak = lattice_result_type(*[default_float_dtype() if x is None else x for x in args])
    if weak:  # the default of the same kind
        wide = np.dtype("uint64") if found in KINDS["unsigned integer"] else _scalar_type(found)
        found = canonicalize_dtype(wide)
    return (found, weak) if return_weak_type_flag else found


def safe_to_cast(x, to):
    """Return whether mixing `x` into an array with the dtype of `to` leaves that dtype unchanged.

    >>> safe_to_cast("int16", "float32"), safe_to_cast("float32", "int16")
    (True, False)
    """
    target = dtype(to)
    return dtype(x) == target or result_type(x, target) == target
