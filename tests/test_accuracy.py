"""Elementwise functions: errors within the limits that docs/accuracy.md states, special values."""

import re

import accuracy
import accuracy_complex
import accuracy_special
import accuracy_table
import jax
import mpmath
import numpy as np
import pytest
from accuracy import BF16, F16, F32, F64, FUNCTIONS

import tinyjax

KERNEL, EAGER, ORACLE = (accuracy_table.WORLDS[k] for k in ("kernel", "eager", "JAX"))
LOOSE = accuracy_table.LOOSE
BOTH = pytest.mark.parametrize("form", [F32, F64], ids=["f32", "f64"])


@pytest.fixture(autouse=True)
def _in_double_precision():
    with tinyjax.enable_x64(True), jax.enable_x64(True), np.errstate(all="ignore"):
        yield


# ---- how errors are measured ---------------------------------------------------------------------


@BOTH
def test_what_an_ulp_is(form):
    one = form.dtype.type(1)
    above, below = np.nextafter(one, form.dtype.type(2)), np.nextafter(one, form.dtype.type(0))
    largest, low = accuracy.largest(form), form.dtype.type(2.0**form.lowest)
    inf, nan = form.dtype.type(np.inf), form.dtype.type(np.nan)
    for got, exact, ulps in [
        *[(one, 1.0, 0), (above, 1.0, 1), (below, 1.0, 0.5), (-one, 1.0, 2.0**form.digits)],
        *[(low, 0.0, 1), (-low, 0.0, 1), (low, 3 * float(low), 2), (nan, np.nan, 0)],
        *[(nan, 1.0, np.inf), (one, np.nan, np.inf), (inf, np.inf, 0), (largest, np.inf, 1)],
        *[(inf, float(largest), 1), (-inf, np.inf, 2.0 ** (form.digits + 1))],
    ]:
        array = np.array([got], form.dtype)
        assert accuracy.errors_in_ulps(array, np.array([exact], form.wide), form) == [ulps]
        assert accuracy.error_in_ulps(array[0], mpmath.mpf(float(exact)), form) == ulps


@BOTH
def test_a_wrong_digit_is_found(form):
    """The largest error of numbers that are right but for one."""
    x = np.linspace(1, 2, 1000).astype(form.dtype)
    exact = accuracy.exact_values(FUNCTIONS["exp"], (x,), form)
    got = exact.astype(form.dtype)
    got[77] = np.nextafter(np.nextafter(got[77], np.inf), np.inf)
    worst = accuracy.worst(FUNCTIONS["exp"], form, (x,), got, exact)
    assert 1.5 <= worst.error <= 2.5 and worst.at == (x[77],)


# ---- errors --------------------------------------------------------------------------------------


def largest_error(function, form, world, count):
    """The error of a world at some of the points of docs/accuracy.md."""
    args = accuracy.points(function, form, count, np.random.default_rng(1))
    exact = accuracy.exact_values(function, args, form)
    kept = None if function.subnormal else accuracy.normal(args, exact, form)
    return accuracy.worst(function, form, args, np.asarray(world(function)(*args)), exact, kept)


@BOTH
@pytest.mark.parametrize("name", FUNCTIONS)
def test_kernels_stay_within_the_limits(name, form):
    function = FUNCTIONS[name]
    fast = accuracy.reference(function, form) is not None
    worst = largest_error(function, form, KERNEL, 20_000 if fast else 600)
    assert worst.error <= function.limit(form), f"{name} is off by {worst}"


@pytest.mark.parametrize("form", [F16, BF16], ids=["f16", "bf16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_halves_are_rounded_once(name, form):
    """All numbers of the format: as near as float32 and one rounding can give."""
    worst = largest_error(FUNCTIONS[name], form, KERNEL, 5000)
    assert worst.error <= 0.502, f"{name} is off by {worst}"


# ---- special values ------------------------------------------------------------------------------


def assert_special(got, want, form, limit, message):
    """Errors in ulp; infinities, zeros and their signs exactly."""
    number = ~np.isnan(want)
    np.testing.assert_array_equal(np.isnan(got), ~number, message)
    wanted = accuracy.cut(form, want)
    for exactly in (np.isinf, lambda x: x == 0):
        np.testing.assert_array_equal(exactly(got), exactly(wanted), message)
    np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(want)[number], message)
    errors = accuracy.errors_in_ulps(got, want, form)
    assert errors.max() <= limit, (message, errors)


@BOTH
@pytest.mark.parametrize("name", accuracy_special.AT_ENDS)
def test_special_values(name, form):
    """Zeros, infinities, NaN, smallest and largest numbers, poles, outside of the domain."""
    function = FUNCTIONS[name]
    x, want = accuracy_special.expectations(name, form)
    long = np.tile(x, 5)  # for the vector version; the rest takes the scalar one
    limit = max(function.limit(form), LOOSE)
    assert_special(np.asarray(KERNEL(function)(long)), np.tile(want, 5), form, limit, "kernel")
    assert_special(np.asarray(EAGER(function)(x)), want, form, limit, "eager")


@BOTH
@pytest.mark.parametrize("name", accuracy_special.AT_ENDS)
def test_the_oracle_has_these_values_but_for_subnormal_numbers(name, form):
    x, want = accuracy_special.expectations(name, form)
    size = np.abs(want)
    kept = (np.abs(x) >= form.tiny) | (x == 0) | np.isnan(x)
    kept &= ~(size > 0) | (size >= form.tiny)
    got = np.asarray(ORACLE(FUNCTIONS[name])(x))
    if name == "lgamma":  # JAX's lgamma(1) is 4.8e-7
        kept &= x != 1
    assert_special(got[kept], want[kept], form, 32, name)


@BOTH
@pytest.mark.parametrize("mode", ["kernel", "eager"])
@pytest.mark.parametrize("name", [*accuracy_special.IN_C, "div", "nextafter"])
def test_two_odd_operands(name, mode, form):
    """Every pair of zeros, infinities, NaN, whole numbers and halves, as in C."""
    x, y, want = accuracy_special.corners(name, form)
    function = getattr(tinyjax.lax, name)
    got = np.asarray((tinyjax.jit(function) if mode == "kernel" else function)(x, y))
    if mode == "eager" and name in ("max", "min"):  # NumPy takes either zero
        got, want = got + 0, want + 0
    assert_special(got, want.astype(form.wide), form, 2, name)


@BOTH
def test_rounding_of_halves_and_large_numbers(form):
    """Ties go to even or away from zero; numbers without fraction stay."""
    whole = 2.0 ** (form.digits - 1)
    x = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, whole - 0.5, whole, whole + 1, -whole - 1, 0.49999997]
    x = np.array(x, form.dtype)
    method = tinyjax.lax.RoundingMethod
    for ties, reference in (
        (method.TO_NEAREST_EVEN, np.rint),
        (method.AWAY_FROM_ZERO, lambda v: np.copysign(np.floor(np.abs(v) + form.wide(0.5)), v)),
    ):
        want = reference(x.astype(form.wide))
        for world in (tinyjax.jit, lambda f: f):
            got = np.asarray(world(lambda v, ties=ties: tinyjax.lax.round(v, ties))(x))
            np.testing.assert_array_equal(got, want.astype(form.dtype))
            np.testing.assert_array_equal(np.signbit(got), np.signbit(x))


@BOTH
def test_arithmetic_keeps_subnormal_numbers(form):
    """JAX takes them for 0 on CPUs."""
    low = form.dtype.type(2.0**form.lowest)
    x = np.full(37, low)
    program = tinyjax.jit(lambda x: (x + x, x * 3, 5 * x - x, x / 2, -x, x > 0, abs(-x)))
    two, three, four, zero, minus, positive, size = map(np.asarray, program(x))
    for got, times in ((two, 2), (three, 3), (four, 4), (zero, 0), (minus, -1), (size, 1)):
        np.testing.assert_array_equal(got, low * times)
    assert positive.all()


# ---- complex numbers -----------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("name", [*accuracy_complex.FUNCTIONS, *accuracy_complex.ARITHMETIC])
def test_complex_functions(name, form):
    """The distance from the exact value, relative to its size."""
    errors, args = accuracy_complex.errors(name, form, KERNEL(of(name)), 300)
    assert errors.max() <= accuracy_complex.LIMIT, [z[np.argmax(errors)] for z in args]


@pytest.mark.parametrize("name", ["exp", "sin", "cos", "tanh", "expm1", "log1p", "square"])
def test_complex_functions_on_the_axes_and_beyond_all_numbers(name):
    """A part that is 0 stays 0 where the other one overflows; as in JAX."""
    parts = [0.0, -0.0, 1.0, -2.0, 1e-30, -1e30, 1e30, 200.0]
    z = np.array([complex(a, b) for a in parts for b in parts], np.complex64)
    want = np.asarray(ORACLE(of(name))(z))
    got = np.asarray(KERNEL(of(name))(z))
    for a, b in ((got.real, want.real), (got.imag, want.imag)):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@BOTH
def test_branch_cuts(form):
    """The sign of a zero imaginary part says from which side the cut is met."""
    kind = f"c{2 * form.dtype.itemsize}"
    z = np.array([complex(-4, 0.0), complex(-4, -0.0), complex(4, -0.0)] * 6, kind)
    for name in ("log", "sqrt"):
        want = getattr(np, name)(z)
        for got in map(np.asarray, (KERNEL(of(name))(z), EAGER(of(name))(z))):
            np.testing.assert_allclose(got, want, rtol=1e-6)
            for part in ("real", "imag"):
                signs = [np.signbit(getattr(v, part)) for v in (got, want)]
                np.testing.assert_array_equal(*signs)


def of(name):
    """A function that a world applies."""
    return accuracy.Function(name, None)


# ---- the page ------------------------------------------------------------------------------------


def test_the_page_states_these_limits():
    """Run `make accuracy` after a change of functions or limits."""
    text = accuracy_table.PAGE.read_text()
    for form in (F32, F64):
        table = text.split(f"### {form.name}\n")[1].split("\n#")[0]
        rows = {m[1]: m[2] for m in re.finditer(r"^\| `(.+?)` \| (.+) \|$", table, re.M)}
        assert rows.keys() == FUNCTIONS.keys()
        for name, row in rows.items():
            limit, kernel, *_ = row.split(" | ")
            assert float(limit) == FUNCTIONS[name].limit(form), name
            assert float(kernel) <= float(limit), name
    for name in accuracy_special.AT_ENDS:
        assert f"\n| `{name}` |" in text.split("## Special values")[1], name
