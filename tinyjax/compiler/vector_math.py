"""Exponentials, logarithms, powers and hyperbolic functions as branch-free polynomials (see
``vector_ir``).

libm calls keep LLVM from vectorising a loop; these do not.  Each function is written once for
float32 and float64 and for scalars and SIMD vectors.  Only ordinary IEEE operations and explicit
fused multiply-adds are used (no fast-math), so NaNs, infinities, signed zeros and subnormal
numbers come out as the mathematics says.
"""

from __future__ import annotations

import math

from tinyjax.compiler.vector_ir import Num, by_precision, clamp, poly, where
from tinyjax.primitives.rounding import TANH_BOUND, TANH_LINEAR, TANH_P, TANH_Q

INF = float("inf")
NAN = float("nan")
LOG2_E = 1.4426950408889634
LN_2 = 0.6931471805599453

# ---- exp family ---------------------------------------------------------------------------------

# exp(r) = 1 + r + r**2 * P(r) on |r| <= ln(2) / 2
EXP_F32 = (
    1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
    5.0000001201e-1,
)  # fmt: skip
EXP_F64 = (
    2.08860621107283687536341e-09, 2.51112930892876518610661e-08, 2.75573911234900471893338e-07,
    2.75572362911928827629423e-06, 2.4801587159235472998791e-05, 0.000198412698960509205564975,
    0.00138888888889774492207962, 0.00833333333331652721664984, 0.0416666666666665047591422,
    0.166666666666666851703837, 0.5,
)  # fmt: skip


def round_to_int(x: Num) -> tuple[Num, Num]:
    """``x`` rounded to an integer, as a float and as a signed integer; |x| < 2**22 (2**51).

    Adding 1.5 * 2**23 (2**52) leaves the integer in the low bits; unlike a conversion it is
    harmless for NaN."""
    magic = 1.5 * 2.0 ** (23 if x.code == "f32" else 52)
    shifted = x + magic
    return shifted - magic, shifted.bits() - shifted.const(magic).bits()


def two_to_the(i: Num) -> Num:
    """2**i for a signed integer in the range of normal exponents."""
    if i.code == "i32":
        return ((i + 127) << 23).as_float()
    return ((i + 1023) << 52).as_float()


def scale(y: Num, i: Num) -> Num:
    """``y * 2**i``, in two steps so that subnormal results and 2**128 (2**1024) are reached."""
    half = i >> 1
    return y * two_to_the(half) * two_to_the(i - half)


def _exp_reduce(x: Num) -> tuple[Num, Num]:
    """``x = i * ln(2) + r`` with |r| <= ln(2) / 2: returns r and i."""
    n, i = round_to_int(x * LOG2_E)
    if x.code == "f32":
        return n.muladd(2.12194440e-4, n.muladd(-0.693359375, x)), i
    return n.muladd(-1.90821492927058770002e-10, n.muladd(-6.93147180369123816490e-01, x)), i


def _expm1_reduced(r: Num) -> Num:
    """exp(r) - 1 for |r| <= ln(2) / 2."""
    return (poly(r, EXP_F32 if r.code == "f32" else EXP_F64) * r).muladd(r, r)


def _exp_range(x: Num) -> Num:
    """Limit ``x`` to where exp is neither surely 0 nor surely infinite."""
    return clamp(x, -104.0, 89.0) if x.code == "f32" else clamp(x, -746.0, 710.0)


def exp(x: Num) -> Num:
    """e**x."""
    r, i = _exp_reduce(_exp_range(x))
    return scale(_expm1_reduced(r) + 1.0, i)


def exp2(x: Num) -> Num:
    """2**x, exact for whole numbers."""
    x = clamp(x, -150.0, 129.0) if x.code == "f32" else clamp(x, -1075.0, 1025.0)
    n, i = round_to_int(x)
    return scale(_expm1_reduced((x - n) * LN_2) + 1.0, i)


def expm1(x: Num) -> Num:
    """e**x - 1 without cancellation near 0."""
    f32 = x.code == "f32"
    limited = clamp(x, -40.0, 89.0 if f32 else 710.0)
    r, i = _exp_reduce(limited)
    p = _expm1_reduced(r)
    top = 126 if f32 else 1022
    power = two_to_the(where(i > top, top, i))
    small = p.muladd(power, power - 1.0)
    result = where(i > top, scale(p + 1.0, i), small)
    return where(x == 0.0, x, result)  # keeps the sign of -0


# ---- logarithms ---------------------------------------------------------------------------------

# log(1 + f) = f - f**2 / 2 + f**3 * P(f)
LOG_F32 = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
# log(1 + f) = f - f**2 / 2 + s * (f**2 / 2 + s**2 * P(s**2)), s = f / (2 + f)
LOG_F64 = (
    1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
    2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
    6.666666666666735130e-01,
)  # fmt: skip


def split_exponent(x: Num) -> tuple[Num, Num]:
    """m and e, both floats, with x = m * 2**e and sqrt(1/2) <= m < sqrt(2); x finite, positive."""
    if x.code == "f32":
        tiny, lift, shift, sqrt_half, one, bias = x < 2.0**-126, 25, 23, 0x3F3504F3, 0x3F800000, 127
    else:
        tiny, lift, shift, bias = x < 2.0**-1022, 54, 52, 1023
        sqrt_half, one = 0x3FE6A09E667F3BCD, 0x3FF0000000000000
    b = where(tiny, x * 2.0**lift, x).bits() + (one - sqrt_half)
    e = (b >> shift) - where(tiny, b.const(bias + lift), bias)
    m = ((b & ((1 << shift) - 1)) + sqrt_half).as_float()
    return m, e.to(x.code)


def _log_mantissa(f: Num) -> tuple[Num, Num]:
    """log(1 + f) = f - rest for sqrt(1/2) - 1 <= f < sqrt(2) - 1: returns f and rest."""
    z = f * f
    if f.code == "f32":
        return f, z.muladd(0.5, -(poly(f, LOG_F32) * f * z))
    s = f / (f + 2.0)
    s2 = s * s
    half = z * 0.5
    return f, half - s * (half + poly(s2, LOG_F64) * s2)


def _log_special(x: Num, result: Num) -> Num:
    """Put the values of a logarithm at 0, infinity, negative numbers and NaN into ``result``."""
    result = where(x == INF, INF, result)
    result = where(x == 0.0, -INF, result)
    return where(x < 0.0, NAN, where(x.is_nan(), x, result))


def _log_finite(x: Num) -> Num:
    """Natural logarithm of a positive finite number."""
    m, e = split_exponent(x)
    f, rest = _log_mantissa(m - 1.0)
    if x.code == "f32":
        return e.muladd(0.693359375, f - e.muladd(2.12194440e-4, rest))
    return e.muladd(6.93147180369123816490e-01, f - e.muladd(-1.90821492927058770002e-10, rest))


def log(x: Num) -> Num:
    """Natural logarithm."""
    return _log_special(x, _log_finite(x))


def log2(x: Num) -> Num:
    """Base-2 logarithm; log2(2**k) is exactly k."""
    m, e = split_exponent(x)
    f, rest = _log_mantissa(m - 1.0)
    return _log_special(x, (f - rest).muladd(LOG2_E, e))


def log1p(x: Num) -> Num:
    """log(1 + x) without cancellation near 0."""
    u = x + 1.0
    lost = (x - (u - 1.0)) / u  # what rounding 1 + x lost, relative to u
    result = _log_finite(u) + lost
    tiny = 2.0**-25 if x.code == "f32" else 2.0**-54
    return where(x.abs() < tiny, x, _log_special(u, result))


# ---- hyperbolic functions -----------------------------------------------------------------------

# sinh(x) = x + x**3 * P(x**2) on |x| <= 1
SINH_F32 = (
    2.80628026e-6, 0.00019838102, 0.00833333968, 0.166666666,
)  # fmt: skip
SINH_F64 = (
    7.746178593018827489e-13, 1.605767962380163775e-10, 2.505211769590782357e-8,
    2.7557319191381817e-6, 0.0001984126984132419792, 0.008333333333333299355,
    0.166666666666666667,
)  # fmt: skip


def _half_exp(a: Num) -> Num:
    """exp(a) / 2 for a >= 0, finite as long as the result is."""
    r, i = _exp_reduce(clamp(a, 0.0, 90.0 if a.code == "f32" else 711.0))
    return scale(_expm1_reduced(r) + 1.0, i - 1)


def sinh(x: Num) -> Num:
    """Hyperbolic sine."""
    a = x.abs()
    half = _half_exp(a)
    z = x * x
    small = (poly(z, SINH_F32 if x.code == "f32" else SINH_F64) * z).muladd(x, x)
    return where(a < 1.0, small, (half - 0.25 / half).copysign(x))


def cosh(x: Num) -> Num:
    """Hyperbolic cosine."""
    half = _half_exp(x.abs())
    return half + 0.25 / half


def _tanh_f32(x: Num) -> Num:
    """Hyperbolic tangent by XLA's rational function, to the bit."""
    inside = clamp(x, -TANH_BOUND, TANH_BOUND)
    z = inside * inside
    return where(x.abs() < TANH_LINEAR, x, inside * poly(z, TANH_P) / poly(z, TANH_Q))


def _tanh_f64(x: Num) -> Num:
    """Hyperbolic tangent, from t = exp(-2 * |x|) - 1."""
    a = x.abs() * -2.0
    r, i = _exp_reduce(where(a < -40.0, -40.0, a))  # beyond, the result rounds to 1
    power = two_to_the(i)
    t = _expm1_reduced(r).muladd(power, power - 1.0)
    return (t / (t + 2.0)).copysign(x)


tanh = by_precision(_tanh_f32, _tanh_f64)


def logistic(x: Num) -> Num:
    """1 / (1 + exp(-x)), as XLA; exp(x) = exp(-shift) / exp(-shift - x) where exp(-x) overflows."""
    far, shift = (-80.0, 20.0) if x.code == "f32" else (-700.0, 50.0)
    beyond = x < far
    power = exp(-(x + where(beyond, x.const(shift), 0.0)))
    return where(beyond, x.const(math.exp(-shift)), 1.0) / where(beyond, power, power + 1.0)


def _log1p_or_double(u: Num, large: Num) -> Num:
    """log(1 + u), or log(2 * u) where ``large`` holds (u so large that 1 + u == u)."""
    return log1p(u) + where(large, u.const(LN_2), 0.0)


def asinh(x: Num) -> Num:
    """Inverse hyperbolic sine."""
    a = x.abs()
    large = a > (2.0**26 if x.code == "f32" else 2.0**54)
    square = a * a
    u = a + square / ((square + 1.0).sqrt() + 1.0)
    return _log1p_or_double(where(large, a, u), large).copysign(x)


def acosh(x: Num) -> Num:
    """Inverse hyperbolic cosine; NaN below 1."""
    large = x > (2.0**26 if x.code == "f32" else 2.0**54)
    t = x - 1.0
    u = t + (t * (t + 2.0)).sqrt()
    return where(x < 1.0, NAN, _log1p_or_double(where(large, x, u), large))


def atanh(x: Num) -> Num:
    """Inverse hyperbolic tangent; infinite at 1, NaN beyond."""
    a = x.abs()
    return (log1p(a * 2.0 / (1.0 - a)) * 0.5).copysign(x)
