"""Elementwise operations at odd values of every dtype: infinities, NaN, -0, limits of integers."""

import jax
import ml_dtypes
import numpy as np
import pytest

import tinyjax

FLOATS = [np.dtype(d) for d in (np.float32, np.float16, ml_dtypes.bfloat16)]
INTEGERS = [np.dtype(d) for d in ("int8", "uint8", "int16", "uint16", "int32", "uint32")]
BOOL, COMPLEX = np.dtype(bool), np.dtype(np.complex64)
DTYPES = [BOOL, *INTEGERS, *FLOATS, COMPLEX]
UNARY = (
    *("neg", "sign", "abs", "floor", "ceil", "is_finite", "square", "real", "imag", "conj"),
    *("bitwise_not", "population_count", "clz"),
)
BINARY = (
    *("add", "sub", "mul", "div", "rem", "max", "min", "nextafter", "complex"),
    *("eq", "ne", "lt", "le", "gt", "ge", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("shift_left", "shift_right_logical", "shift_right_arithmetic"),
)
# XLA's choice between 0 and -0 depends on the shape here
UNSIGNED_ZEROS = ("max", "min", "nextafter")


def odd_values(dtype):
    """Numbers of a dtype at which operations tend to go wrong. Complex ones are finite."""
    if dtype == BOOL:
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        middle = (1, 2, 3, 7, 8, -1, -2, -7, info.max // 2 + 1)
        inside = [n for n in (0, info.max - 1, info.min + 1, *middle) if info.min <= n]
        return np.array([info.min, info.max, *inside], dtype)
    if dtype == COMPLEX:
        parts = np.array([0, 1, -2.5, 1e-3], np.float32)
        return (parts[:, None] + 1j * parts).ravel().astype(COMPLEX)
    numbers = [0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 3, -7, 1e-30, 1e30]
    with np.errstate(over="ignore"):
        return np.array([*numbers, 8388609, 6e4, np.inf, -np.inf, np.nan], np.float32).astype(dtype)


def attempt(world, name, *args):
    """A result as a NumPy array, or the class of the error."""
    try:
        return np.asarray(getattr(world.lax, name)(*args))
    except Exception as error:
        return type(error)


def assert_same(name, dtype, *args):
    """The oracle's values and signs of zeros, or its error."""
    ours, theirs = attempt(tinyjax, name, *args), attempt(jax, name, *args)
    if isinstance(theirs, type):
        assert ours is theirs
        return
    assert ours.dtype == theirs.dtype
    if ours.dtype == ml_dtypes.bfloat16:
        ours, theirs = ours.astype(np.float32), theirs.astype(np.float32)
    if dtype == COMPLEX:
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        return
    np.testing.assert_array_equal(ours, theirs)
    if ours.dtype.kind == "f" and name not in UNSIGNED_ZEROS:
        np.testing.assert_array_equal(np.signbit(ours)[ours == 0], np.signbit(theirs)[ours == 0])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name, dtype):
    assert_same(name, dtype, odd_values(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name, dtype):
    x = odd_values(dtype)
    if dtype == COMPLEX and name == "div":
        x = x[x != 0]
    first, second = np.meshgrid(x, x)
    assert_same(name, dtype, first, second)


@pytest.mark.parametrize("method", (0, 1))
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rounding(dtype, method):
    assert_same("round", dtype, odd_values(dtype), method)


@pytest.mark.parametrize("exponent", (-3, -1, 0, 1, 2, 3, 5))
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS[:1]], ids=str)
def test_integer_powers(dtype, exponent):
    assert_same("integer_pow", dtype, odd_values(dtype), exponent)
