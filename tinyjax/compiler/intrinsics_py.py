"""The words of the kernel language in plain Python and NumPy, so that a kernel can be read, run
and stepped through.

    >>> import numpy as np
    >>> text = '''
    ... def soft(x, out):
    ...     for i in range(x.size):
    ...         out[i] = log1p(exp(x[i]))
    ... '''
    >>> soft = run_source_in_python("soft", text)
    >>> out = np.empty(2, np.float32)
    >>> soft(np.array([0.0, 2.0], np.float32), out)
    >>> out
    array([0.6931472, 2.1269279], dtype=float32)

Scalars are NumPy scalars, which keep their dtype in arithmetic as the compiled kernel does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tinyjax.compiler.signature import Param

# ---- casts --------------------------------------------------------------------------------------

_SCALARS: dict[str, type] = {
    "f32": np.float32, "f64": np.float64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
}  # fmt: skip


def _cast_to_float(kind: type) -> Callable:
    return lambda x: kind(x)


def _cast_to_int(kind: type) -> Callable:
    """Truncate, saturate, NaN to 0 from floats; wrap around from integers."""
    limits = np.iinfo(kind)

    def cast(x):
        if isinstance(x, (float, np.floating)):
            if math.isnan(x):
                return kind(0)
            return (
                kind(min(max(x, limits.min), limits.max))
                if math.isinf(x)
                else kind(min(max(int(x), limits.min), limits.max))
            )
        return np.array(int(x) & (2**limits.bits - 1), f"u{limits.bits // 8}").view(kind)[()]

    return cast


def _bitcast(kind: type) -> Callable:
    return lambda x: np.asarray(x).view(kind)[()]


# ---- integers -----------------------------------------------------------------------------------


def _width(x) -> int:
    return np.asarray(x).dtype.itemsize * 8


def div(x, y):
    """Division: IEEE for floats; integers truncate, x / 0 is -1."""
    if isinstance(x, np.floating):
        return x / y
    kind = type(x)
    if y == 0:
        return _cast_to_int(kind)(-1)
    quotient = abs(int(x)) // abs(int(y))
    return _cast_to_int(kind)(quotient if (x < 0) == (y < 0) else -quotient)


def rem(x, y):
    """Remainder with the sign of the dividend; x rem 0 is x for integers."""
    if isinstance(x, np.floating):
        return np.fmod(x, y)
    if y == 0:
        return x
    kind = type(x)
    remainder = abs(int(x)) % abs(int(y))
    return kind(-remainder if x < 0 else remainder)


def shift_left(x, amount):
    """``x << amount``; 0 beyond the width."""
    return _cast_to_int(type(x))(int(x) << int(amount)) if 0 <= amount < _width(x) else type(x)(0)


def shift_right_logical(x, amount):
    """Shift right, filling with zeros."""
    width = _width(x)
    unsigned = int(x) & (2**width - 1)
    return _cast_to_int(type(x))(unsigned >> int(amount)) if 0 <= amount < width else type(x)(0)


def shift_right_arithmetic(x, amount):
    """Shift right, filling with the top bit (also of unsigned numbers)."""
    width = _width(x)
    signed = (int(x) ^ (1 << (width - 1))) - (1 << (width - 1)) if x > 0 else int(x)
    by = int(amount) if 0 <= amount < width else width
    return _cast_to_int(type(x))(signed >> by)


def rotl(x, amount):
    """Rotate the bits of ``x`` left."""
    width = _width(x)
    bits, by = int(x) & (2**width - 1), int(amount) % width
    return _cast_to_int(type(x))((bits << by) | (bits >> (width - by)))


def popcount(x):
    """Number of bits that are set."""
    return type(x)((int(x) & (2 ** _width(x) - 1)).bit_count())


def clz(x):
    """Number of leading zero bits."""
    width = _width(x)
    return type(x)(width - (int(x) & (2**width - 1)).bit_length())


# ---- floats -------------------------------------------------------------------------------------


def where(condition, x, y):
    """``x`` if the condition holds, else ``y``."""
    return x if condition else y


def maximum(x, y):
    """The larger; NaN if either is NaN."""
    return np.maximum(x, y)


def minimum(x, y):
    """The smaller; NaN if either is NaN."""
    return np.minimum(x, y)


def sign(x):
    """-1, 0 or 1; keeps NaN and -0."""
    return type(x)(1) if x > 0 else type(x)(-1) if x < 0 else x


def logistic(x):
    """1 / (1 + exp(-x))."""
    one = type(x)(1)
    e = np.exp(-np.abs(x))
    return (e if x < 0 else one) / (e + one)


def round_half_away(x):
    """Nearest whole number, ties away from zero."""
    return np.copysign(np.trunc(np.abs(x)) + (np.abs(x) - np.trunc(np.abs(x)) >= 0.5), x).astype(
        type(x)
    )


def integer_pow(x, n):
    """``x ** n`` for an integer n."""
    result, square, rest = type(x)(1), x, abs(n)
    while rest:
        if rest & 1:
            result = result * square
        square, rest = square * square, rest >> 1
    return result if n >= 0 else type(x)(1) / result


def complex_of(re, im):
    """The complex number of two floats of one dtype."""
    return (np.complex64 if isinstance(re, np.float32) else np.complex128)(complex(re, im))


def bf16(x):
    """A float32 rounded to bfloat16's precision."""
    if np.isnan(x):
        return np.float32(x)
    bits = int(np.float32(x).view(np.uint32))
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16
    return np.uint32(rounded).view(np.float32)


# ---- error functions ----------------------------------------------------------------------------


def _through_float64(function: Callable[[float], float]) -> Callable:
    """A function of ``math`` on NumPy scalars of any precision."""
    return lambda x: type(x)(function(float(x)))


def _erf_inv(p: float) -> float:
    """Inverse of erf by Newton's method on erf, or on erfc near 1."""
    if not -1.0 < p < 1.0:
        return math.copysign(math.inf, p) if abs(p) == 1.0 else math.nan
    q = 1.0 - abs(p)
    x = 0.0 if q > 0.5 else math.sqrt(-math.log(q))
    for _ in range(100):
        error = (math.erf(x) - abs(p)) if x < 0.5 else (q - math.erfc(x))
        step = error / (2.0 / math.sqrt(math.pi) * math.exp(-x * x))
        x -= step
        if abs(step) <= 1e-16 * abs(x):
            break
    return math.copysign(x, p)


# ---- the namespace ------------------------------------------------------------------------------

WORDS: dict[str, object] = {
    "inf": math.inf, "nan": math.nan, "pi": math.pi,
    # casts
    **{code: _cast_to_float(kind) for code, kind in _SCALARS.items() if code[0] == "f"},
    **{code: _cast_to_int(kind) for code, kind in _SCALARS.items() if code[0] != "f"},
    **{f"bitcast_{code}": _bitcast(kind) for code, kind in _SCALARS.items()},
    "bool_": np.bool_, "f16": lambda x: np.float32(np.float16(x)), "bf16": bf16,
    "c64": np.complex64, "c128": np.complex128, "complex_of": complex_of,
    # choosing and reducing
    "where": where, "maximum": maximum, "minimum": minimum, "accmax": maximum, "accmin": minimum,
    "acc": lambda s, v: s + v, "accmul": lambda s, v: s * v, "muladd": lambda x, y, z: x * y + z,
    # integers and bits
    "div": div, "rem": rem, "rotl": rotl, "popcount": popcount, "clz": clz,
    "shift_left": shift_left, "shift_right_logical": shift_right_logical,
    "shift_right_arithmetic": shift_right_arithmetic,
    # numbers
    "abs": np.abs, "sign": sign, "square": lambda x: x * x, "integer_pow": integer_pow,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round_half_even": np.rint, "round_half_away": round_half_away,
    "copysign": np.copysign, "nextafter": np.nextafter,
    "is_finite": np.isfinite, "is_nan": np.isnan,
    "real": np.real, "imag": np.imag, "conj": np.conj,
    # mathematics
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log1p": np.log1p,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "logistic": logistic,
    "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "erf": _through_float64(math.erf), "erfc": _through_float64(math.erfc),
    "erf_inv": _through_float64(_erf_inv),
    "sqrt": np.sqrt, "rsqrt": lambda x: type(x)(1) / np.sqrt(x), "cbrt": np.cbrt, "pow": np.power,
}  # fmt: skip


# ---- kernels ------------------------------------------------------------------------------------


class Halves:
    """An array of halves in a kernel: elements are read as float32, and rounded when written."""

    def __init__(self, array: np.ndarray):
        self.array, self.size, self.shape = array, array.size, array.shape

    def __getitem__(self, at):
        found = self.array[at]
        return Halves(found) if isinstance(found, np.ndarray) else np.float32(found)

    def __setitem__(self, at, value):
        self.array[at] = value


def of_rank(array, rank: int) -> np.ndarray:
    """View ``array`` with leading axes added or merged until it has ``rank`` axes.

    Raises TypeError if it is not a C-contiguous NumPy array.
    """
    if type(array) is not np.ndarray or not array.flags.c_contiguous:
        raise TypeError("a kernel's arrays must be NumPy arrays, aligned and C-contiguous")
    if array.ndim == rank:
        return array
    shape = (1,) * (rank - array.ndim) + array.shape
    last = shape[len(shape) - rank + 1 :]
    return array.reshape((math.prod(shape[: len(shape) - rank + 1]), *last))


def run_source_in_python(
    name: str, source: str, params: Sequence[Param] | None = None
) -> Callable[..., None]:
    """The function ``name`` of a kernel's source as plain Python.

    With the types of its parameters it takes arrays of any rank, as the compiled kernel does.
    """
    space = dict(WORDS)
    exec(compile(source, f"<kernel {name}>", "exec"), space)
    function = space[name]

    def kernel(*args):
        if params is not None:
            args = [_argument(a, p) for a, p in zip(args, params, strict=True)]
        with np.errstate(all="ignore"):
            function(*args)

    kernel.__name__ = name
    return kernel


def _argument(value, param: Param):
    """An argument as the Python function takes it."""
    if not param.rank:
        return value if param.code == "intp" else _SCALARS.get(param.code, np.bool_)(value)
    array = of_rank(value, param.rank)
    return Halves(array) if param.code in ("f16", "bf16") else array
