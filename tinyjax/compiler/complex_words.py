"""Complex numbers in kernels: what the operators and some words mean for dtypes c64 and c128.

A complex value is an LLVM struct of two floats.  Words that are not here have no complex meaning,
and a kernel that uses them does not compile; the code generator hands such operations to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from tinyjax.compiler import vector_library, vector_math
from tinyjax.compiler.signature import is_complex
from tinyjax.compiler.vector_ir import Num, llvm_type, where

PART = {"c64": "f32", "c128": "f64"}
WHOLE = {part: whole for whole, part in PART.items()}

# ---- parts --------------------------------------------------------------------------------------


def join(re: Num, im: Num) -> Num:
    """The complex number of two floats of one dtype."""
    part = llvm_type(re.code)
    value = ir.Constant(ir.LiteralStructType([part, part]), ir.Undefined)
    value = re.builder.insert_value(value, re.value, 0)
    return re.new(re.builder.insert_value(value, im.value, 1), WHOLE[re.code])


def split(x: Num) -> tuple[Num, Num]:
    """Real and imaginary part."""
    part = PART[x.code]
    return tuple(x.new(x.builder.extract_value(x.value, k), part) for k in (0, 1))  # type: ignore[return-value]


def to_complex(x: Num, code: str) -> Num:
    """``x``, real or complex, as a complex number of dtype ``code``."""
    if is_complex(x.code):
        re, im = split(x)
        return x if x.code == code else join(re.to(PART[code]), im.to(PART[code]))
    re = x.to(PART[code])
    return join(re, re.const(0.0))


# ---- arithmetic ---------------------------------------------------------------------------------


def add(x: Num, y: Num) -> Num:
    (a, b), (c, d) = split(x), split(y)
    return join(a + c, b + d)


def sub(x: Num, y: Num) -> Num:
    (a, b), (c, d) = split(x), split(y)
    return join(a - c, b - d)


def mul(x: Num, y: Num) -> Num:
    (a, b), (c, d) = split(x), split(y)
    return join(a * c - b * d, a * d + b * c)


def div(x: Num, y: Num) -> Num:
    """Smith's division: scale by the larger part of the divisor, lest something overflow."""
    (a, b), (c, d) = split(x), split(y)
    flat = c.abs() >= d.abs()
    large, small = where(flat, c, d), where(flat, d, c)
    ratio = where(small == 0.0, 0.0, small / large)
    scale = small.muladd(ratio, large)
    p, q = where(flat, a, b), where(flat, b, a)
    re = (p + q * ratio) / scale
    im = (q - p * ratio) / scale
    return join(re, where(flat, im, -im))


def neg(x: Num) -> Num:
    re, im = split(x)
    return join(-re, -im)


def conj(x: Num) -> Num:
    re, im = split(x)
    return join(re, -im)


def square(x: Num) -> Num:
    """The real part as a product, which does not overflow to the difference of infinities."""
    re, im = split(x)
    return join((re - im) * (re + im), re * im * 2.0)


def muladd(x: Num, y: Num, z: Num) -> Num:
    return add(mul(x, y), z)


def eq(x: Num, y: Num) -> Num:
    (a, b), (c, d) = split(x), split(y)
    return (a == c) & (b == d)


def ne(x: Num, y: Num) -> Num:
    (a, b), (c, d) = split(x), split(y)
    return (a != c) | (b != d)


def is_finite(x: Num) -> Num:
    re, im = split(x)
    return (re.abs() < float("inf")) & (im.abs() < float("inf"))


def choose(condition: Num, x: Num, y: Num) -> Num:
    (a, b), (c, d) = split(x), split(y)
    return join(where(condition, a, c), where(condition, b, d))


# ---- functions ----------------------------------------------------------------------------------


def _by_size(x: Num) -> tuple[Num, Num]:
    """The absolute values of the parts, the larger one first."""
    a, b = (part.abs() for part in split(x))
    swap = b > a
    return where(swap, b, a), where(swap, a, b)


def modulus(x: Num) -> Num:
    """|x| without overflow on the way; infinite if either part is."""
    large, small = _by_size(x)
    a, b = (part.abs() for part in split(x))
    ratio = where(large == 0.0, 0.0, small / large)
    result = large * ratio.muladd(ratio, 1.0).sqrt()
    return where(
        (a == float("inf")) | (b == float("inf")), float("inf"), where(b.is_nan(), b, result)
    )


def exp(x: Num) -> Num:
    re, im = split(x)
    size = vector_math.exp(re)
    turn = vector_library.call("sin", im)
    return join(size * vector_library.call("cos", im), where(im == 0.0, im, size * turn))


def log(x: Num) -> Num:
    """Where |x| is near 1, rounding it would cost digits: there |x|**2 - 1 is computed instead."""
    re, im = split(x)
    large, small = _by_size(x)
    beyond_one = small.muladd(small, (large - 1.0) * (large + 1.0))
    near = (large > 0.5) & (large < 2.0)
    size = where(
        near,
        vector_library.call("log1p", beyond_one) * 0.5,
        vector_math.log(modulus(x)),
    )
    return join(size, vector_library.call("atan2", im, re))


def _zero_kept(x: Num, y: Num) -> Num:
    """x * y; zero with the product's sign where x is zero, even if y is infinite or NaN."""
    return where(x == 0.0, x * x.const(1.0).copysign(y), x * y)


def sin(x: Num) -> Num:
    """On the axes, a part that is zero stays zero where the other one overflows."""
    re, im = split(x)
    s, c = vector_library.call("sin", re), vector_library.call("cos", re)
    return join(_zero_kept(s, vector_math.cosh(im)), c * vector_math.sinh(im))


def cos(x: Num) -> Num:
    """As sin."""
    re, im = split(x)
    s, c = vector_library.call("sin", re), vector_library.call("cos", re)
    return join(c * vector_math.cosh(im), -_zero_kept(s, vector_math.sinh(im)))


def sqrt(x: Num) -> Num:
    """The root with a non-negative real part."""
    re, im = split(x)
    t = ((re.abs() + modulus(x)) * 0.5).sqrt()
    other = where(t == 0.0, 0.0, im.abs() / (t * 2.0))
    right = re >= 0.0
    return join(where(right, t, other), where(right, other, t).copysign(im))


# ---- the tables ---------------------------------------------------------------------------------

# Words and operators on complex operands of one dtype: complex result, float result, bool result.
TO_COMPLEX: dict[str, Callable[..., Num]] = {
    "add": add, "sub": sub, "mul": mul, "truediv": div, "div": div, "neg": neg, "pos": lambda x: x,
    "acc": add, "accmul": mul, "muladd": muladd, "square": square,
    "conj": conj, "exp": exp, "log": log, "sin": sin, "cos": cos, "sqrt": sqrt,
}  # fmt: skip
TO_FLOAT: dict[str, Callable[..., Num]] = {
    "abs": modulus,
    "real": lambda x: split(x)[0],
    "imag": lambda x: split(x)[1],
}
TO_BOOL: dict[str, Callable[..., Num]] = {"eq": eq, "ne": ne, "is_finite": is_finite}
