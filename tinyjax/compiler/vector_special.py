"""Error functions, powers and roots as branch-free polynomials (see ``vector_math``)."""

from __future__ import annotations

from fractions import Fraction

from tinyjax.compiler.vector_ir import Num, clamp, poly, where
from tinyjax.compiler.vector_math import (
    INF,
    NAN,
    _exp_reduce,
    _expm1_reduced,
    _log_finite,
    exp,
    log,
    log1p,
    scale,
    split_exponent,
)

# ---- error functions ----------------------------------------------------------------------------

# erf(x) = x * P(x**2) on |x| <= 1
ERF_F32 = (
    7.87587506e-5, -0.000801686429, 0.00518908742, -0.026854212, 0.112835947, -0.376126267,
    1.12837917,
)  # fmt: skip
ERF_F64 = (
    5.957176147748911404e-11, -1.137284885679167367e-9, 1.465977527404743581e-8,
    -1.635031270105469501e-7, 1.646100048412136803e-6, -0.00001492559526683118157,
    0.0001205533111164271092, -0.0008548326980833789905, 0.005223977624818014467,
    -0.02686617064507679325, 0.1128379167095487867, -0.3761263890318374806, 1.128379167095512574,
)  # fmt: skip
# exp(x**2) * erfc(x) * (1 + 2 * x) = P((x - k) / (x + k)), x >= 1/2; k = 2 (float64: 3)
ERFCX_F32 = (
    0.000237328742, -0.000322075674, -0.00148829815, 0.00122418848, 0.00873298912, -0.00802636292,
    -0.0542213429, 0.16405076, -0.166030338, -0.0927638165, 1.27697838,
)  # fmt: skip
ERFCX_F64 = (
    2.530478256290314168e-9, -6.79503532291180367e-9, -1.793294799062718719e-8,
    4.136799083928359482e-8, 1.078880701472725975e-7, -1.43240345892005974e-7,
    -6.21174171258741852e-7, 3.59001887085455662e-7, 3.47458461285238143e-6,
    -7.328307002418313471e-7, -0.00002010126378463004151, 4.949956945761098051e-6,
    0.0001250995042238072033, -0.0001051599029877108937, -0.0007798322945107705154,
    0.001888690372614629498, 0.00252939181821278174, -0.02377051491960951907,
    0.06830802734385681339, -0.1192736634152753968, 0.1296451587027639747,
    -0.04756229435345117418, -0.135621106124581201, 1.253008058269729653,
)  # fmt: skip
# erfc(x) = P(x - 2.5) on 1 <= x <= 4, to the accuracy that a float32 near 1 needs
ERFC_F32 = (
    -6.9617296e-7, 8.71300734e-6, -1.63092955e-5, -5.94389286e-5, 0.000266517317, -0.000291932589,
    -0.000554790738, 0.00282367147, -0.00611279184, 0.00861282644, -0.00835072417, 0.00544706033,
    -0.00217826969, 0.000406920997,
)  # fmt: skip


def _erfc_positive(a: Num) -> Num:
    """erfc for a >= 1/2."""
    f32 = a.code == "f32"
    k = 2.0 if f32 else 3.0
    a = clamp(a, 0.5, 10.5 if f32 else 28.0)
    scaled = poly((a - k) / (a + k), ERFCX_F32 if f32 else ERFCX_F64) / a.muladd(2.0, 1.0)
    square = a * a
    lost = a.fma(a, -square)  # exp(-a * a) = exp(-square) * (1 - lost)
    return exp(-square) * (scaled - scaled * lost)


def erf(x: Num) -> Num:
    """Error function."""
    a = x.abs()
    if x.code == "f32":
        small = x * poly(x * x, ERF_F32)
        rest = poly(clamp(a, 1.0, 4.0) - 2.5, ERFC_F32)
    else:
        small = x * poly(x * x, ERF_F64)
        rest = _erfc_positive(a)
    return where(a < 1.0, small, (1.0 - rest).copysign(x))


def erfc(x: Num) -> Num:
    """1 - erf(x), accurate for large x too."""
    a = x.abs()
    small = 1.0 - x * poly(x * x, ERF_F32 if x.code == "f32" else ERF_F64)
    large = _erfc_positive(a)
    return where(a < 0.5, small, where(x < 0.0, 2.0 - large, large))


# erf_inv(x) = x * P(w - 2.5), or x * P(sqrt(w) - 3) from w = 5; w = -log(1 - x**2)
ERFINV_F32_CENTRE = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
ERFINV_F32_TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip
# The same in three pieces: in w - 3.125, sqrt(w) - 3.25 from w = 6.25, sqrt(w) - 5 from w = 16
ERFINV_F64_CENTRE = (
    -3.593202892702069534e-22, 3.194015548136271088e-21, 1.999259988861534882e-20,
    -3.473479388853803497e-19, 6.075050702072413882e-19, 1.551078700990252452e-17,
    -1.221563719240417234e-16, -3.940188122304320137e-17, 6.521333511502238465e-15,
    -4.002003108755849514e-14, -8.071925938990040675e-14, 2.630526831259518306e-12,
    -1.29788053699325656e-11, -5.414303283919504414e-11, 1.05122337705042902e-9,
    -4.112660437163218196e-9, -2.90703912756413195e-8, 4.23478816822245958e-7,
    -1.365469175878565712e-6, -0.00001388252339395748219, 0.0001867342080198118674,
    -0.000740702534154643122, -0.00603367087142685108, 0.2401581824255883424,
    1.653654562683102712,
)  # fmt: skip
ERFINV_F64_MIDDLE = (
    7.680200479077052743e-9, -1.530539796415254821e-8, -2.091453334773125966e-8,
    1.315866368319296596e-7, -2.45498189633398225e-7, -2.76171622381624125e-8,
    1.481597787402253865e-6, -3.985705945648173327e-6, 2.932578455385349968e-6,
    0.00001246502822421745526, -0.00004732068066544696843, 0.00006828711739251955724,
    0.00002403151286575835626, -0.0003550378137852451774, 0.0009532893415794137207,
    -0.001688275535448855537, 0.002491442097956960391, -0.003751208508224734034,
    0.005370914553555033033, 1.005258967694165383, 3.083885610492220676,
)  # fmt: skip
ERFINV_F64_TAIL = (
    5.767787767112354138e-12, -2.050020931521976351e-11, 1.523001697457605873e-11,
    7.000301397926547481e-11, -3.816885889574005706e-10, 1.315300907518773491e-9,
    -3.533250624756521217e-9, 7.821994906152886608e-9, -1.521417226765335031e-8,
    2.901840653361347785e-8, -6.757256426337206567e-8, 2.290528727049699818e-7,
    -9.930255297986861245e-7, 4.526052520405247641e-6, -0.00001968177119199143837,
    0.00007599527809692453308, -0.0002150301197994017337, -0.000138719318380139563,
    1.010300464864544866, 4.849906401408584342,
)  # fmt: skip


def erf_inv(x: Num) -> Num:
    """Inverse of erf; infinite at -1 and 1, NaN beyond."""
    if x.code == "f32":
        w = -log1p(-x * x)
        centre = poly(w - 2.5, ERFINV_F32_CENTRE)
        p = where(w < 5.0, centre, poly(w.sqrt() - 3.0, ERFINV_F32_TAIL))
    else:
        u = 1.0 - x * x
        lost = (-x).fma(x, 1.0 - u) / u  # what u misses of 1 - x**2, relative to u
        w = -(_log_finite(u) + lost)
        root = w.sqrt()
        p = where(w < 16.0, poly(root - 3.25, ERFINV_F64_MIDDLE), poly(root - 5.0, ERFINV_F64_TAIL))
        p = where(w < 6.25, poly(w - 3.125, ERFINV_F64_CENTRE), p)
    a = x.abs()
    return where(a == 1.0, x * INF, where(a > 1.0, NAN, x * p))


# ---- roots --------------------------------------------------------------------------------------


def rsqrt(x: Num) -> Num:
    """1 / sqrt(x)."""
    return 1.0 / x.sqrt()


def cbrt(x: Num) -> Num:
    """Cube root."""
    f32 = x.code == "f32"
    size = x.abs()
    # A cube of the same size neither underflows nor overflows on the way.
    small = size < 1.0
    lift = 24 if f32 else 54
    a = size * where(small, x.const(2.0**lift), 2.0**-3)
    # Dividing the exponent by 3 gives 5 bits; each step of Halley's iteration triples them.
    if f32:
        t = (a.bits() / 3 + 709958130).as_float()
    else:
        high = (a.bits() >> 32).to("i32") / 3 + 715094163
        t = (high.to("i64") << 32).as_float()
    for _ in range(2 if f32 else 3):
        cube = t * t * t
        t = t + t * ((a - cube) / (cube * 2.0 + a))
    t = t * where(small, x.const(2.0 ** -(lift // 3)), 2.0)
    return where((x == 0.0) | ~(size < INF), x, t.copysign(x))


# ---- pow ----------------------------------------------------------------------------------------

Pair = tuple[Num, Num]  # an unevaluated sum: a float and what it lost to rounding


def _fast_two_sum(a: Num, b: Num) -> Pair:
    """a + b exactly, |a| >= |b|."""
    total = a + b
    return total, b - (total - a)


def _two_product(a: Num, b: Num) -> Pair:
    """a * b exactly."""
    product = a * b
    return product, a.fma(b, -product)


def _times(x: Pair, y: Pair) -> Pair:
    """Product of two pairs."""
    high, low = _two_product(x[0], y[0])
    return _fast_two_sum(high, low + (x[0] * y[1] + x[1] * y[0]))


def _plus(c: Pair, x: Pair) -> Pair:
    """Sum of two pairs, |c| >= |x|."""
    high, low = _fast_two_sum(c[0], x[0])
    return _fast_two_sum(high, low + (c[1] + x[1]))


def _ratio_pair(x: Num, numerator: int, denominator: int) -> Pair:
    """A fraction as a pair of constants."""
    high = numerator / denominator
    low = float(Fraction(numerator, denominator) - Fraction(high))
    return x.const(high), x.const(low)


def _log_pair(x: Num) -> Pair:
    """log(x) as a pair that is right to about 2**-66, for positive finite float64 x."""
    m, e = split_exponent(x)
    f, d = m - 1.0, m + 1.0
    s = f / d
    # m + 1 may be rounded; (f - s * d) / d corrects the quotient for both roundings
    d_low = m - (d - 1.0)
    s_low = ((-s).fma(d, f) - s * d_low) / d
    s_pair = (s, s_low)
    z = _times(s_pair, s_pair)
    tail = poly(z[0], [2.0 / k for k in range(27, 5, -2)])
    series = _plus(_ratio_pair(x, 2, 5), _times(z, (tail, tail.const(0.0))))
    series = _plus(_ratio_pair(x, 2, 3), _times(z, series))
    series = _plus((x.const(2.0), x.const(0.0)), _times(z, series))
    log_m = _times(s_pair, series)
    ln2 = (
        e * 0.6931471803691238,
        e * 1.9082149292705877e-10,
    )  # the first has 20 trailing zero bits: exact
    high, low = _fast_two_sum(ln2[0], log_m[0])
    zero = e == 0.0
    high, low = where(zero, log_m[0], high), where(zero, 0.0, low)
    return _fast_two_sum(high, low + (log_m[1] + ln2[1]))


def _pow_positive(a: Num, y: Num) -> Num:
    """a**y for a >= 0."""
    if a.code == "f32":
        wide = log(a.to("f64")) * y.to("f64")
        return exp(clamp(wide, -700.0, 700.0)).to("f32")
    high, low = _log_pair(a)
    special = (a == 0.0) | ~(a < INF)
    product, rest = _two_product(high, y)
    rest = low.muladd(y, rest)
    product = where(special, where(a == 0.0, a.const(-INF), INF) * y, product)
    extreme = ~(product.abs() < 800.0)
    rest = where(extreme, 0.0, rest)
    r, i = _exp_reduce(clamp(product, -760.0, 720.0))
    r = r + rest
    return scale(_expm1_reduced(r) + 1.0, i)


def pow(x: Num, y: Num) -> Num:
    """x**y with C's conventions: 1 if y == 0 or x == 1; NaN for negative x, fractional y."""
    a = x.abs()
    whole = y.rint() == y
    odd = whole & ((y * 0.5).rint() != y * 0.5)
    result = _pow_positive(a, y)
    result = where((x.bits() < 0) & odd, -result, result)
    result = where((x < 0.0) & ~whole & (a < INF), NAN, result)
    result = where(x.is_nan() | y.is_nan(), x + y, result)
    return where((y == 0.0) | (x == 1.0) | ((x == -1.0) & (y.abs() == INF)), 1.0, result)
