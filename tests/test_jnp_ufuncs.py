"""Elementwise functions of jnp against the oracle: printed forms, values, dtypes, weak types."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jnp_check import B, C, F, G, H, I, K, M, S, T, U, check, check_error, check_or_refuse, name
from worlds import ORACLE, OURS, attempt, compare, compare_errors, same_error

UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "cbrt",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arctanh",
    "arccosh",
    "reciprocal",
    "log2",
    "log10",
    "deg2rad",
    "rad2deg",
    "negative",
    "positive",
    "sign",
    "abs",
    "fabs",
    "square",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "conjugate",
    "real",
    "imag",
    "angle",
    "isnan",
    "isfinite",
    "isinf",
    "isposinf",
    "isneginf",
    "iscomplex",
    "isreal",
    "logical_not",
    "signbit",
    "frexp",
    "modf",
    "sinc",
    "spacing",
    "round",
    "nan_to_num",
    "bitwise_not",
    "bitwise_count",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "power",
    "float_power",
    "arctan2",
    "logaddexp",
    "logaddexp2",
    "hypot",
    "heaviside",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "right_shift",
    "floor_divide",
    "remainder",
    "fmod",
    "divmod",
    "copysign",
    "nextafter",
    "ldexp",
    "gcd",
    "lcm",
    "isclose",
    "allclose",
    "array_equal",
]
FEW = ["add", "multiply", "divide", "maximum", "power", "equal", "logical_and", "floor_divide"]
UNARY_ARGS = [F, I, B, C, H]
PAIRS = [(F, G), (I, K), (F, 2), (M, M[0])]
MORE_PAIRS = [(2.5, F), (F, I), (B, B), (C, C), (M, F[0]), (H, 1.5), (I, 2.5), (U, I), (T, M),
              (1, 2.0), (True, 1)]  # fmt: skip


@pytest.mark.parametrize("function", UNARY)
@pytest.mark.parametrize("x", UNARY_ARGS, ids=name)
def test_unary(function, x):
    """One argument, of every dtype."""
    check_or_refuse(lambda jnp, x: getattr(jnp, function)(x), x)


@pytest.mark.parametrize("function", BINARY)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda p: f"{name(p[0])},{name(p[1])}")
def test_binary(function, pair):
    """Two arguments: equal dtypes, a Python number, broadcasting."""
    check_pair(function, *pair)


@pytest.mark.parametrize("function", FEW)
@pytest.mark.parametrize("pair", MORE_PAIRS, ids=lambda p: f"{name(p[0])},{name(p[1])}")
def test_promotion(function, pair):
    """Two arguments of different dtypes."""
    check_pair(function, *pair)


def check_pair(function, x, y):
    """Numbers stay numbers inside the function; arrays are its arguments."""
    arrays = [a for a in (x, y) if hasattr(a, "dtype")]

    def f(jnp, *given):
        it = iter(given)
        args = [next(it) if hasattr(a, "dtype") else a for a in (x, y)]
        return getattr(jnp, function)(*args)

    check_or_refuse(f, *arrays)


OPERATORS = {
    "neg": lambda jnp, x: -x,
    "abs": lambda jnp, x: abs(x),
    "square": lambda jnp, x: x**2,
    "root": lambda jnp, x: x**0.5,
    "exponential": lambda jnp, x: 2**x,
    "self_power": lambda jnp, x: x**x,
    "floordiv": lambda jnp, x: x // 2,
    "mod": lambda jnp, x: x % 2,
    "rdiv": lambda jnp, x: 1 / x,
    "divmod": lambda jnp, x: divmod(x, 2),
    "round": lambda jnp, x: round(x, 1),
    "round_to_int": lambda jnp, x: round(x),
    "matmul": lambda jnp, x: x @ x.T,
    "comparisons": lambda jnp, x: (x < 1) & (x >= 0) | ~(x == 0.5),
    "numpy_left": lambda jnp, x: M + x,
    "numpy_right": lambda jnp, x: x - M,
    "numpy_scalar": lambda jnp, x: x * S,
    "chain": lambda jnp, x: 2 * x + 1 - x / 3,
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_operator(operator):
    """Operators are the functions."""
    check(OPERATORS[operator], M)


def test_numpy_array_on_the_left_gives_an_array():
    """ndarray + Array is an Array."""
    import tinyjax.numpy as jnp

    assert isinstance(M + jnp.ones((3, 4)), jnp.ndarray)
    assert isinstance(M * jnp.ones((3, 4)), jnp.ndarray)


REFUSED = {
    "list": (lambda jnp, x: jnp.add(x, [1, 2, 3]), ("add requires ndarray", "position 1")),
    "list_operator": (lambda jnp, x: x + [1, 2, 3], ("unsupported operand", "'list'")),
    "string": (lambda jnp, x: jnp.sin("a"), ("sin requires ndarray",)),
    "shapes": (lambda jnp, x: jnp.add(x, jnp.ones(4)), ("(3,)", "(4,)")),
    "ranks": (lambda jnp, x: jnp.ones((2, 4)) + x, ("Incompatible shapes",)),
    "complex_order": (lambda jnp, x: jnp.clip(x, 1j), ("complex",)),
    "shift_float": (lambda jnp, x: x << 1, ("shift_left",)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors(case):
    """Bad arguments are refused, and named."""
    f, words = REFUSED[case]
    check_error(f, F, words=words)


DTYPES = ["bool", "int8", "uint8", "int16", "int32", "uint32", "float16", "float32", "complex64"]
SHAPES = [(), (3,), (1, 3), (2, 1), (2, 3), (0,)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_arguments(data):
    """Any dtypes and shapes: the same result, or the same refusal."""
    import numpy as np

    function = data.draw(st.sampled_from(FEW + ["subtract", "minimum", "less", "where"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    args = []
    for _ in range(3 if function == "where" else 2):
        dtype, shape = data.draw(st.sampled_from(DTYPES)), data.draw(st.sampled_from(SHAPES))
        args.append((rng.normal(size=shape) * 3).astype(dtype))
    check_or_refuse(lambda jnp, *a: getattr(jnp, function)(*a), *args)


def test_constructors():
    """Scalar types convert."""
    for kind, value in itertools.product(["float32", "int32", "uint8", "bool_"], [3, 2.0, True]):
        check(lambda jnp, kind=kind, value=value: getattr(jnp, kind)(value), printed=False)


# ---- ufunc objects ------------------------------------------------------------------------------

UFUNCS = "add subtract multiply maximum minimum logaddexp logaddexp2 logical_and logical_or"
UFUNCS += " logical_xor bitwise_and bitwise_or bitwise_xor"
METHODS = {
    "reduce": lambda jnp, u, a: u.reduce(a),
    "reduce_all": lambda jnp, u, a: u.reduce(a, axis=None),
    "reduce_last": lambda jnp, u, a: u.reduce(a, axis=1, keepdims=True),
    "reduce_where": lambda jnp, u, a: u.reduce(a, axis=1, where=a[0] > 4, initial=1),
    "accumulate": lambda jnp, u, a: u.accumulate(a, axis=1),
    "outer": lambda jnp, u, a: u.outer(a[0], a[1]),
    "at": lambda jnp, u, a: u.at(a, jnp.array([0, 0, 1]), a[2], inplace=False),
    "reduceat": lambda jnp, u, a: u.reduceat(a[0], jnp.array([0, 2])),
    "of_booleans": lambda jnp, u, a: u.at(a > 3, 0, jnp.array(True), inplace=False),
    "in_place": lambda jnp, u, a: u.at(a, 0, 1),
    "facts": lambda jnp, u, a: [repr(x) for x in (u, u.nin, u.nout, u.identity, u.__name__)],
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", UFUNCS.split())
def test_ufunc_objects(name, method):
    def run(world):
        a = world.numpy.asarray(np.arange(12).reshape(3, 4) * 7 % 11)
        a = a if name.startswith("bitwise") else a.astype("float32")
        return METHODS[method](world.numpy, getattr(world.numpy, name), a)

    ours, error = attempt(run, OURS)
    wanted, oracle_error = attempt(run, ORACLE)
    if isinstance(oracle_error, AssertionError):  # jax's logaddexp takes no initial value
        want = np.logaddexp.reduce(np.arange(12).reshape(3, 4) * 7 % 11, axis=1, initial=1,
                                   where=np.arange(4) * 7 % 11 > 4)  # fmt: skip
        np.testing.assert_allclose(ours, want, rtol=1e-6)
    elif oracle_error is not None:
        compare_errors(error, oracle_error, [])
    elif method == "facts":
        assert ours == wanted
    else:
        assert error is None, error
        compare(ours, wanted, rtol=1e-5)


def test_ufunc_of_one_argument_does_not_reduce():
    message = same_error(lambda j: j.numpy.negative.reduce(j.numpy.arange(3)), "binary ufuncs")
    assert "reduce" in message
