"""Trigonometric functions as branch-free polynomials (see ``vector_math``)."""

from __future__ import annotations

from llvmlite import ir

from tinyjax.compiler.vector_ir import Num, poly, where
from tinyjax.compiler.vector_math import round_to_int

TWO_OVER_PI = 0.6366197723675814
HALF_PI_PARTS = (
    1.5707963267341256,
    6.077100506303966e-11,
    2.0222662487959506e-21,
)  # they sum to pi / 2

# sin(r) = r + r**3 * S(r**2), cos(r) = 1 - r**2 / 2 + r**4 * C(r**2) on |r| <= pi / 4
SIN_F32 = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS_F32 = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
SIN_F64 = (
    1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6,
    -1.98412698295895385996e-4, 8.33333333332211858878e-3, -1.66666666666666307295e-1,
)  # fmt: skip
COS_F64 = (
    -1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7,
    2.48015872888517045348e-5, -1.38888888888730564116e-3, 4.16666666666665929218e-2,
)  # fmt: skip


def _quadrant(x: Num) -> tuple[Num, Num]:
    """``x = q * pi / 2 + r`` with |r| <= pi / 4: returns r and q."""
    if x.code == "f32":
        wide = x.to("f64")
        n, q = round_to_int(wide * TWO_OVER_PI)
        r = n.muladd(-HALF_PI_PARTS[1], n.muladd(-HALF_PI_PARTS[0], wide))
        return r.to("f32"), q.to("i32")
    n, q = round_to_int(x * TWO_OVER_PI)
    for (
        part
    ) in HALF_PI_PARTS:  # the first two have 33 bits, so that n times them is exact up to n = 2**20
        x = n.muladd(-part, x)
    return x, q


def _sin_cos_reduced(r: Num) -> tuple[Num, Num]:
    """Sine and cosine of |r| <= pi / 4."""
    f32 = r.code == "f32"
    z = r * r
    s = (poly(z, SIN_F32 if f32 else SIN_F64) * z).muladd(r, r).copysign(r)  # for -0
    c = (poly(z, COS_F32 if f32 else COS_F64) * z).muladd(z, z.muladd(-0.5, 1.0))
    return s, c


def _sin_of_quadrant(r: Num, q: Num) -> Num:
    """sin(q * pi / 2 + r)."""
    s, c = _sin_cos_reduced(r)
    value = where((q & 1) != 0, c, s)
    sign = (q & 2) << (30 if r.code == "f32" else 62)
    return (value.bits() ^ sign).as_float()


def sin(x: Num) -> Num:
    """Sine."""
    r, q = _quadrant(x)
    return _sin_of_quadrant(r, q)


def cos(x: Num) -> Num:
    """Cosine."""
    r, q = _quadrant(x)
    return _sin_of_quadrant(r, q + 1)


def tan(x: Num) -> Num:
    """Tangent."""
    r, q = _quadrant(x)
    s, c = _sin_cos_reduced(r)
    odd = (q & 1) != 0
    return where(odd, -c, s) / where(odd, s, c)


# ---- huge angles --------------------------------------------------------------------------------


def _two_over_pi_bits(count: int) -> int:
    """floor(2 / pi * 2**count), by Machin's formula in whole numbers."""
    one = 1 << (count + 64)

    def arc_cotangent(k: int) -> int:
        total, power, n = 0, one // k, 1
        while power:
            total += power // n if n % 4 == 1 else -(power // n)
            power //= k * k
            n += 2
        return total

    pi = 4 * (4 * arc_cotangent(5) - arc_cotangent(239))
    return (one << (count + 1)) // pi


def of_huge(name: str, x: Num) -> Num:
    """sin, cos or tan of a finite float64 of 2**20 and more, by Payne and Hanek (scalar only).

    x is m * 2**e with a whole number m.  Bits of 2/pi that contribute whole circles to m * 2**e *
    2/pi are skipped; the next 192 bits leave the fraction of the circle right to more than 120
    bits."""
    builder = x.builder
    i64, i128, i192, i256 = (ir.IntType(n) for n in (64, 128, 192, 256))
    bits = x.abs().bits()
    exponent = (bits >> 52) - 1075
    m = (bits & ((1 << 52) - 1)) | (1 << 52)

    # 192 bits of 2/pi from the one that 2**exponent turns into 2.  The 64 zeros in front serve
    # negative exponents.
    digits = _two_over_pi_bits(1216)
    words = [0] + [(digits >> (1216 - 64 * (k + 1))) & (2**64 - 1) for k in range(19)]
    unique = builder.module.get_unique_name("two_over_pi")
    table = ir.GlobalVariable(builder.module, ir.ArrayType(i64, len(words)), unique)
    table.global_constant, table.linkage = True, "internal"
    table.initializer = ir.Constant(table.value_type, words)
    first = exponent + 62
    window = ir.Constant(i256, 0)
    for k in range(4):
        place = builder.add((first >> 6).value, ir.Constant(i64, k))
        word = builder.load(builder.gep(table, [ir.Constant(i64, 0), place], inbounds=True))
        window = builder.or_(builder.shl(window, ir.Constant(i256, 64)), builder.zext(word, i256))
    window = builder.shl(window, builder.zext((first & 63).value, i256))
    window = builder.trunc(builder.lshr(window, ir.Constant(i256, 64)), i192)

    # The product modulo 4 quadrants: two bits of quadrant, then a fraction that is taken as signed.
    product = builder.mul(window, builder.zext(m.value, i192))
    quadrant = x.new(builder.trunc(builder.lshr(product, ir.Constant(i192, 190)), i64), "i64")
    fraction = builder.shl(product, ir.Constant(i192, 2))
    negative = builder.icmp_signed("<", fraction, ir.Constant(i192, 0))
    quadrant = quadrant + x.new(builder.zext(negative, i64), "i64")
    size = builder.select(negative, builder.neg(fraction), fraction)

    zeros = builder.ctlz(size, ir.Constant(ir.IntType(1), 0))
    normal = builder.shl(size, zeros)
    # times pi / 2, still in whole numbers: one rounding only, that of the angle
    high = builder.trunc(builder.lshr(normal, ir.Constant(i192, 128)), i128)
    angle = builder.lshr(builder.mul(high, ir.Constant(i128, HALF_PI_BITS)), ir.Constant(i128, 64))
    angle = x.new(builder.trunc(angle, i64), "u64").to("f64")
    r = angle * ((960 - x.new(builder.trunc(zeros, i64), "i64")) << 52).as_float()
    r = x.new(builder.select(negative, (-r).value, r.value))

    if name == "cos":
        return _sin_of_quadrant(r, quadrant + 1)
    if name == "sin":
        return _xor_sign(_sin_of_quadrant(r, quadrant), x)
    s, c = _sin_cos_reduced(r)
    odd = (quadrant & 1) != 0
    return _xor_sign(where(odd, -c, s) / where(odd, s, c), x)


def _xor_sign(y: Num, x: Num) -> Num:
    """``y``, negated where ``x`` is negative."""
    return where(x < 0.0, -y, y)


# ---- inverse functions --------------------------------------------------------------------------

# asin(s) = s + s * z * P(z), z = s**2, on |s| <= 1/2
ASIN_F32 = (
    0.0336908472, 0.0171492384, 0.0311006627, 0.0445994015, 0.0750009454, 0.166666663,
)  # fmt: skip
ASIN_F64 = (
    0.02875785136742156471, -0.01485188707124720322, 0.01740087944269402244,
    0.0054575067186403583, 0.01032281435018577929, 0.0114791774151849059, 0.0139712129735529333,
    0.01735239272086997294, 0.02237217294214988787, 0.03038194413853124729,
    0.04464285714635542978, 0.07499999999998432933, 0.1666666666666666783,
)  # fmt: skip
# atan(s) = s + s * z * P(z), z = s**2, on |s| <= tan(pi / 8)
ATAN_F32 = (
    -0.0645192821, 0.107437315, -0.142639556, 0.199995405, -0.333333318,
)  # fmt: skip
ATAN_F64 = (
    -0.01917688711906225899, 0.0392316582955871913, -0.05085449737940259861,
    0.05858148912802209882, -0.06664511447381948, 0.07692183190826086564, -0.0909090457812390189,
    0.1111111101525636173, -0.1428571428466654292, 0.1999999999999552068, -0.3333333333333333016,
)  # fmt: skip

PI = 3.141592653589793
HALF_PI = 1.5707963267948966
HALF_PI_BITS = 0xC90FDAA22168C235  # pi / 2 * 2**63
PI_LOW = 1.2246467991473532e-16  # pi minus its float64
HALF_PI_LOW_F32 = -4.371139000186241e-08  # pi / 2 minus its float32
TAN_PI_8 = 0.4142135623730950
TAN_3_PI_8 = 2.414213562373095


def _pi_low(x: Num) -> float:
    """What pi loses when it is rounded to the precision of ``x``."""
    return 2.0 * HALF_PI_LOW_F32 if x.code == "f32" else PI_LOW


def atan(x: Num) -> Num:
    """Inverse tangent."""
    a = x.abs()
    far, middle = a > TAN_3_PI_8, a > TAN_PI_8
    numerator = where(far, -1.0, where(middle, a - 1.0, a))
    denominator = where(far, a, where(middle, a + 1.0, 1.0))
    quarters = where(far, 2.0, where(middle, a.const(1.0), 0.0))  # in units of pi / 4
    s = numerator / denominator
    z = s * s
    rest = (poly(z, ATAN_F32 if x.code == "f32" else ATAN_F64) * z).muladd(
        s, quarters * (_pi_low(x) / 4.0)
    )
    return (quarters * (PI / 4.0) + (s + rest)).copysign(x)


def atan2(y: Num, x: Num) -> Num:
    """The angle of the point (x, y), with the conventions of C for zeros and infinities."""
    a, b = x.abs(), y.abs()
    steep = b > a
    low, high = where(steep, a, b), where(steep, b, a)
    ratio = where(high == 0.0, 0.0, where(low == float("inf"), 1.0, low / high))
    angle = atan(ratio)
    angle = where(steep, PI / 2.0 - (angle - _pi_low(x) / 2.0), angle)
    angle = where(x.bits() < 0, PI - (angle - _pi_low(x)), angle)
    return where(x.is_nan() | y.is_nan(), x + y, angle.copysign(y))


def _asin_parts(a: Num) -> tuple[Num, Num, Num]:
    """Whether a > 1/2, and s + rest = asin(a), or asin(sqrt((1 - a) / 2)) if so; 0 <= a <= 1."""
    large = a > 0.5
    z = where(large, (1.0 - a) * 0.5, a * a)
    s = where(large, z.sqrt(), a)
    return large, s, poly(z, ASIN_F32 if a.code == "f32" else ASIN_F64) * z * s


def asin(x: Num) -> Num:
    """Inverse sine; NaN beyond 1."""
    large, s, rest = _asin_parts(x.abs())
    result = where(large, PI / 2.0 - ((s + rest) * 2.0 - _pi_low(x) / 2.0), s + rest)
    return result.copysign(x)


def acos(x: Num) -> Num:
    """Inverse cosine; NaN beyond 1."""
    large, s, rest = _asin_parts(x.abs())
    near_one = (s + rest) * 2.0
    near_minus_one = PI - (near_one - _pi_low(x))
    signed = (s + rest).copysign(x)
    middle = PI / 2.0 - (signed - _pi_low(x) / 2.0)
    return where(large, where(x < 0.0, near_minus_one, near_one), middle)
