"""The mathematics of kernels against mpmath: errors in ulps, special values, huge arguments."""

import math

import mpmath
import numpy as np
import pytest

from tinyjax.compiler.backend import compile_kernel

FORMATS = {"f32": (np.float32, 24, -149), "f64": (np.float64, 53, -1074)}  # dtype, bits, lowest bit
PRECISION = 160  # bits that mpmath works with

# name: (reference, largest error allowed for f32, f64, ranges to draw from)
FUNCTIONS = {
    "exp": (mpmath.exp, 1, 1, [(-104, 89)], [(-746, 710)]),
    "exp2": (lambda x: mpmath.mpf(2) ** x, 1, 1, [(-150, 128)], [(-1075, 1024)]),
    "expm1": (mpmath.expm1, 2, 2, [(-20, 89), (-1, 1)], [(-40, 710), (-1, 1)]),
    "log": (mpmath.log, 1, 1, [(0.5, 2)], [(0.5, 2)]),
    "log2": (lambda x: mpmath.log(x, 2), 2, 2, [(0.5, 2)], [(0.5, 2)]),
    "log1p": (mpmath.log1p, 2, 2, [(-1, 1)], [(-1, 1)]),
    "sinh": (mpmath.sinh, 2, 2, [(-89.4, 89.4), (-2, 2)], [(-710.4, 710.4), (-2, 2)]),
    "cosh": (mpmath.cosh, 2, 2, [(-89.4, 89.4), (-2, 2)], [(-710.4, 710.4), (-2, 2)]),
    "tanh": (mpmath.tanh, 5, 3, [(-10, 10), (-1, 1)], [(-20, 20), (-1, 1)]),  # f32: as XLA
    "asinh": (mpmath.asinh, 2, 2, [(-5, 5)], [(-5, 5)]),
    "acosh": (mpmath.acosh, 2, 2, [(1, 2), (1, 1e6)], [(1, 2), (1, 1e6)]),
    "atanh": (mpmath.atanh, 2, 2, [(-1, 1)], [(-1, 1)]),
    "logistic": (lambda x: 1 / (1 + mpmath.exp(-x)), 3, 2, [(-104, 20)], [(-746, 40)]),
    "sin": (mpmath.sin, 2, 2, [(-10, 10), (-1e5, 1e5)], [(-10, 10), (-1e6, 1e6)]),
    "cos": (mpmath.cos, 2, 2, [(-10, 10), (-1e5, 1e5)], [(-10, 10), (-1e6, 1e6)]),
    "tan": (mpmath.tan, 3, 3, [(-10, 10), (-1e5, 1e5)], [(-10, 10), (-1e6, 1e6)]),
    "asin": (mpmath.asin, 3, 3, [(-1, 1)], [(-1, 1)]),
    "acos": (mpmath.acos, 2, 2, [(-1, 1)], [(-1, 1)]),
    "atan": (mpmath.atan, 2, 2, [(-5, 5)], [(-5, 5)]),
    "erf": (mpmath.erf, 3, 2, [(-4, 4)], [(-6, 6)]),
    "erfc": (mpmath.erfc, 3, 4, [(-4, 10)], [(-6, 26.5)]),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), 2, 2, [(0, 4)], [(0, 4)]),
    "cbrt": (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), 1.5, 1.5, [(-8, 8)], [(-8, 8)]),
}
POSITIVE = {"log", "log2", "rsqrt"}
WITHIN_ONE = {"asin", "acos", "atanh"}
SATURATING = {"exp", "exp2", "expm1", "sinh", "cosh", "tanh", "logistic", "erf", "erfc"}


def compiled(name, code, arity=1):
    """A kernel that applies one word to arrays of one dtype."""
    parameters = ", ".join("xy"[:arity])
    operands = ", ".join(f"{p}[i]" for p in "xy"[:arity])
    source = (
        f"def apply({parameters}, out):\n"
        "    for i in range(out.size):\n"
        f"        out[i] = {name}({operands})\n"
    )
    kernel = compile_kernel("apply", source, (f"{code}[1]",) * (arity + 1))

    def function(*arrays):
        arrays = [np.ascontiguousarray(a, FORMATS[code][0]) for a in arrays]
        out = np.empty_like(arrays[0])
        kernel(*arrays, out)
        return out

    return function


def any_floats(rng, code, n):
    """Finite numbers with random bits: every exponent, subnormal numbers included."""
    kind, bits = FORMATS[code][0], np.uint32 if code == "f32" else np.uint64
    x = rng.integers(0, np.iinfo(bits).max, n, dtype=bits, endpoint=True).view(kind)
    return x[np.isfinite(x)]


def ulps(code, got, exact):
    """Distance of a float from an exact mpmath value in units of its last place."""
    kind, bits, lowest = FORMATS[code]
    if mpmath.isnan(exact):
        return 0.0 if np.isnan(got) else math.inf
    largest = mpmath.mpf(float(np.finfo(kind).max)) * (1 + mpmath.mpf(2) ** -(bits + 1))
    if abs(exact) > largest:
        near = np.isinf(got) or abs(got) == np.finfo(kind).max
        return 0.0 if near and (got > 0) == (exact > 0) else math.inf
    if not np.isfinite(got):
        return math.inf
    exponent = max(int(mpmath.frexp(exact)[1]) - bits, lowest) if exact else lowest
    return float(abs(mpmath.mpf(float(got)) - exact) / mpmath.mpf(2) ** exponent)


def exact_value(name, reference, x):
    """The mathematical value, NaN outside the domain; arguments that surely saturate are cut."""
    x = mpmath.mpf(float(x))
    outside = (name in POSITIVE and x < 0) or (name in WITHIN_ONE and abs(x) > 1)
    if outside or (name == "log1p" and x < -1) or (name == "acosh" and x < 1):
        return mpmath.nan
    if name in SATURATING:
        limit = 40 if name in ("erf", "erfc") else 1500
        x = min(max(x, mpmath.mpf(-limit)), mpmath.mpf(limit))
    return reference(x)


@pytest.mark.parametrize("code", ["f32", "f64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_in_ulps(name, code):
    reference, *limits, for_f32, for_f64 = FUNCTIONS[name]
    ranges = for_f32 if code == "f32" else for_f64
    rng = np.random.default_rng(sum(map(ord, name)))
    drawn = [rng.uniform(low, high, 150) for low, high in ranges]
    tiny = rng.standard_normal(100) * np.exp(rng.uniform(-30, 0, 100))
    x = np.concatenate([any_floats(rng, code, 150), *drawn, tiny]).astype(FORMATS[code][0])
    x = x[x != 0]
    if name in ("log", "log2", "log1p", "acosh", "atanh"):  # near the zero or pole
        x = np.concatenate([x, (1 + tiny).astype(x.dtype), (1 - np.abs(tiny)).astype(x.dtype)])
        x = x[(x != 0) & ((name != "atanh") | (np.abs(x) != 1)) & ((name != "log1p") | (x != -1))]
    with mpmath.workprec(PRECISION):
        errors = [
            ulps(code, y, exact_value(name, reference, v))
            for v, y in zip(x, compiled(name, code)(x))
        ]
    worst = int(np.argmax(errors))
    limit = limits[0] if code == "f32" else limits[1]
    assert errors[worst] <= limit, f"{name}({x[worst]!r}) is off by {errors[worst]:.2f} ulp"


@pytest.mark.parametrize("code", ["f32", "f64"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles(name, code):
    """Every exponent up to the largest, and numbers next to multiples of pi / 2."""
    kind = FORMATS[code][0]
    top = np.finfo(kind).maxexp
    powers = np.ldexp(np.array([1.0, 1.37, -1.9]), np.arange(15, top, 3)[:, None]).ravel()
    multiples = np.random.default_rng(0).integers(1, 10**7, 200) * (np.pi / 2)
    x = np.concatenate([powers, multiples, [np.finfo(kind).max, 5e22, 1e22]]).astype(kind)
    x = x[np.isfinite(x)]
    got = compiled(name, code)(x)
    with mpmath.workprec(1400):
        errors = [
            ulps(code, y, getattr(mpmath, name)(mpmath.mpf(float(v)))) for v, y in zip(x, got)
        ]
    assert max(errors) <= 3, x[int(np.argmax(errors))]


NAN, INF = math.nan, math.inf
SPECIAL = {  # name: values at nan, inf, -inf, 0, -0
    "exp": [NAN, INF, 0.0, 1.0, 1.0],
    "exp2": [NAN, INF, 0.0, 1.0, 1.0],
    "expm1": [NAN, INF, -1.0, 0.0, -0.0],
    "log": [NAN, INF, NAN, -INF, -INF],
    "log2": [NAN, INF, NAN, -INF, -INF],
    "log1p": [NAN, INF, NAN, 0.0, -0.0],
    "sinh": [NAN, INF, -INF, 0.0, -0.0],
    "cosh": [NAN, INF, INF, 1.0, 1.0],
    "tanh": [NAN, 1.0, -1.0, 0.0, -0.0],
    "asinh": [NAN, INF, -INF, 0.0, -0.0],
    "acosh": [NAN, INF, NAN, NAN, NAN],
    "atanh": [NAN, NAN, NAN, 0.0, -0.0],
    "logistic": [NAN, 1.0, 0.0, 0.5, 0.5],
    "sin": [NAN, NAN, NAN, 0.0, -0.0],
    "cos": [NAN, NAN, NAN, 1.0, 1.0],
    "tan": [NAN, NAN, NAN, 0.0, -0.0],
    "asin": [NAN, NAN, NAN, 0.0, -0.0],
    "acos": [NAN, NAN, NAN, math.pi / 2, math.pi / 2],
    "atan": [NAN, math.pi / 2, -math.pi / 2, 0.0, -0.0],
    "erf": [NAN, 1.0, -1.0, 0.0, -0.0],
    "erfc": [NAN, 0.0, 2.0, 1.0, 1.0],
    "erf_inv": [NAN, NAN, NAN, 0.0, -0.0],
    "sqrt": [NAN, INF, NAN, 0.0, -0.0],
    "rsqrt": [NAN, 0.0, NAN, INF, -INF],
    "cbrt": [NAN, INF, -INF, 0.0, -0.0],
    "sign": [NAN, 1.0, -1.0, 0.0, -0.0],
    "floor": [NAN, INF, -INF, 0.0, -0.0],
    "round_half_away": [NAN, INF, -INF, 0.0, -0.0],
}


@pytest.mark.parametrize("code", ["f32", "f64"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name, code):
    x = np.array([NAN, INF, -INF, 0.0, -0.0] * 7)  # long enough for the vector version
    got = compiled(name, code)(x)
    want = np.array(SPECIAL[name] * 7, got.dtype)
    np.testing.assert_array_max_ulp(got[~np.isnan(want)], want[~np.isnan(want)], 1)
    assert np.isnan(got[np.isnan(want)]).all()
    number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))


@pytest.mark.parametrize("code", ["f32", "f64"])
def test_powers_of_two_are_exact(code):
    kind, _, lowest = FORMATS[code]
    k = np.arange(lowest, np.finfo(kind).maxexp)
    with np.errstate(all="ignore"):
        powers = np.ldexp(kind(1), k).astype(kind)
    np.testing.assert_array_equal(compiled("log2", code)(powers), k.astype(kind))
    np.testing.assert_array_equal(compiled("exp2", code)(k), powers)


@pytest.mark.parametrize("code", ["f32", "f64"])
def test_subnormal_numbers_are_kept(code):
    smallest = np.array([np.finfo(FORMATS[code][0]).smallest_subnormal] * 20)
    for name in ("expm1", "log1p", "sinh", "tanh", "asinh", "atanh", "sin", "tan", "asin", "atan"):
        np.testing.assert_array_equal(compiled(name, code)(smallest), smallest, err_msg=name)
    largest = -103.0 if code == "f32" else -744.0
    assert (compiled("exp", code)(np.full(20, largest)) > 0).all()


@pytest.mark.parametrize("code", ["f32", "f64"])
@pytest.mark.parametrize("lanes", [1, 3, 4, 7, 8, 15, 16, 33])
def test_vector_and_scalar_versions_agree(code, lanes):
    """Short rows run the scalar version, long ones the vector versions: the same bits."""
    x = np.random.default_rng(lanes).uniform(-0.9, 0.9, 64)
    for name in ("exp", "sin", "cos", "asin", "erfc", "cbrt"):
        whole = compiled(name, code)(x)
        parts = np.concatenate(
            [compiled(name, code)(x[i : i + lanes]) for i in range(0, 64, lanes)]
        )
        np.testing.assert_array_max_ulp(whole, parts, 1)


# ---- inverse of erf, pow, atan2 -----------------------------------------------------------------


def test_erf_inv_f64():
    p = np.concatenate([np.linspace(-1, 1, 401)[1:-1], 1 - np.logspace(-15, -1, 60)])
    got = compiled("erf_inv", "f64")(p)
    with mpmath.workprec(PRECISION):
        errors = [ulps("f64", y, mpmath.erfinv(mpmath.mpf(float(v)))) for v, y in zip(p, got)]
    assert max(errors) <= 3
    np.testing.assert_array_equal(compiled("erf_inv", "f64")([1.0, -1.0]), [INF, -INF])


def test_erf_inv_f32_gives_the_oracles_normals():
    import jax

    p = np.random.default_rng(0).uniform(-1, 1, 20000)
    p = np.concatenate([p, 1 - np.arange(1, 5000) * 2.0**-24]).astype(np.float32)
    want = np.asarray(jax.jit(jax.lax.erf_inv)(p))
    np.testing.assert_array_max_ulp(compiled("erf_inv", "f32")(p), want, 3)


CORNERS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1 / 3, 1e30, -7.0, INF, -INF, NAN]


def c_pow(x, y):
    """C's pow, which Python's raises for in some places."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INF if x < 0 and y % 2 == 1 else INF
    except ValueError:
        return (math.copysign(INF, x) if y % 2 == 1 else INF) if x == 0 else NAN


@pytest.mark.parametrize("code", ["f32", "f64"])
@pytest.mark.parametrize("name, reference", [("pow", c_pow), ("atan2", math.atan2)])
def test_two_argument_corners(name, reference, code):
    kind = FORMATS[code][0]
    x, y = (a.ravel() for a in np.meshgrid(np.array(CORNERS, kind), np.array(CORNERS, kind)))
    with np.errstate(all="ignore"):
        want = np.array([reference(float(a), float(b)) for a, b in zip(x, y)]).astype(kind)
    got = compiled(name, code, 2)(x, y)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    number = ~np.isnan(want)
    np.testing.assert_array_max_ulp(got[number], want[number], 2)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))


@pytest.mark.parametrize("code", ["f32", "f64"])
def test_pow_and_atan2_in_ulps(code):
    rng = np.random.default_rng(1)
    n = 300
    near_one = 1 + rng.standard_normal(n) * np.exp(rng.uniform(-20, -1, n))
    base = np.concatenate([np.exp(rng.uniform(-60, 60, n)), np.abs(near_one)])
    power = np.concatenate([rng.uniform(-1.4, 1.4, n), np.exp(rng.uniform(0, 14, n))])
    x, y = base.astype(FORMATS[code][0]), power.astype(FORMATS[code][0])
    with mpmath.workprec(PRECISION):
        for name, reference, limit in (("pow", mpmath.power, 1.5), ("atan2", mpmath.atan2, 2)):
            pairs = [(mpmath.mpf(float(a)), mpmath.mpf(float(b))) for a, b in zip(x, y)]
            got = compiled(name, code, 2)(x, y)
            errors = [
                ulps(code, g, reference(a, b))
                for g, (a, b) in zip(got, pairs)
                if abs(b * mpmath.log(a)) < 700
            ]
            assert max(errors) <= limit, name
