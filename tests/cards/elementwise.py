"""Cases: arithmetic, order, comparison, bits, complex parts, selection."""

import ml_dtypes
import numpy as np

from cards import Case

F, BF = np.float32, ml_dtypes.bfloat16
X = np.array([[0.5, 0.3, -0.2], [0.1, -0.7, 0.9]], F)
Y = X[::-1].copy()
Z = (X + 1j * Y).astype(np.complex64)
I8 = np.array([[127, -128, 3], [-7, 0, 5]], np.int8)
J8 = np.array([[1, -1, 2], [2, 0, -3]], np.int8)
U8 = np.array([[255, 128, 3], [7, 0, 5]], np.uint8)
V8 = np.array([[1, 200, 2], [9, 3, 1]], np.uint8)
B = np.array([[True, False, True], [False, False, True]])
S = np.array(0.3, F)


def case(prim, name, fun, *args, diff=(0,), **options):
    """A case of this file."""
    return Case(f"{prim} {name}", prim, fun, args, diff, **options)


def apply(name):
    """The function of one argument with this name."""
    return lambda lax, x: getattr(lax, name)(x)


def both(name):
    """The function of two arguments with this name."""
    return lambda lax, x, y: getattr(lax, name)(x, y)


def power(n):
    """A function that raises to an integer power."""
    return lambda lax, x: lax.integer_pow(x, n)


UNARY = [
    *[case(n, "array", apply(n), X) for n in ("neg", "sign", "abs", "floor", "ceil")],
    *[case(n, "number", apply(n), -1.5) for n in ("neg", "sign", "abs", "floor", "ceil")],
    *[case(n, "int8", apply(n), I8, diff=()) for n in ("neg", "sign", "abs")],
    *[case(n, "complex", apply(n), Z) for n in ("neg", "sign", "abs", "real", "imag", "conj")],
    *[case(n, "bfloat16", apply(n), X.astype(BF), diff=()) for n in ("neg", "sign", "floor")],
    *[case("not", d.dtype.name, apply("bitwise_not"), d, diff=()) for d in (I8, U8, B)],
    *[case(n, d.dtype.name, apply(n), d, diff=()) for n in ("population_count", "clz")
      for d in (I8, U8, I8.astype(np.int32))],
    case("conj", "real", apply("conj"), X),
    case("is_finite", "array", apply("is_finite"), np.array([1, np.inf, np.nan], F), diff=()),
    case("round", "away", lambda lax, x: lax.round(x, 0), np.array([0.5, 1.5, -2.5, 2.4], F)),
    case("round", "even", lambda lax, x: lax.round(x, 1), np.array([0.5, 1.5, -2.5, 2.4], F)),
    *[case("integer_pow", str(n), power(n), X) for n in (-2, -1, 0, 1, 2, 3, 5)],
    case("integer_pow", "number", power(3), 0.5),
    case("integer_pow", "complex", power(3), Z, tol=5e-5),
    case("integer_pow", "int8", power(3), I8, diff=()),
]  # fmt: skip

ARITHMETIC = ("add", "sub", "mul", "div", "rem", "max", "min")
BINARY = [
    *[case(n, "arrays", both(n), X, Y, diff=(0, 1)) for n in (*ARITHMETIC, "complex")],
    *[case(n, "first only", both(n), X, Y) for n in ARITHMETIC],
    *[case(n, "second only", both(n), X, Y, diff=(1,)) for n in ARITHMETIC],
    *[case(n, "scalar", both(n), X, S, diff=(0, 1)) for n in ARITHMETIC],
    *[case(n, "number", lambda lax, x, n=n: getattr(lax, n)(x, 0.25), X) for n in ARITHMETIC],
    *[case(n, "numbers", both(n), 0.5, 1.5, diff=(0, 1)) for n in ARITHMETIC],
    *[case(n, "stretched", both(n), X[:1], Y, diff=(0, 1)) for n in ARITHMETIC],
    *[case(n, "int8", both(n), I8, J8, diff=()) for n in ARITHMETIC],
    *[case(n, "uint8", both(n), U8, V8, diff=()) for n in ARITHMETIC],
    *[case(n, "bfloat16", both(n), X.astype(BF), Y.astype(BF), diff=()) for n in ARITHMETIC],
    *[case(n, "complex", both(n), Z, Z[::-1], diff=(0, 1), tol=5e-5)
      for n in ("add", "sub", "mul", "div")],
    *[case(n, "nothing", both(n), X[:0], Y[:0], diff=(0, 1)) for n in ("add", "max")],
    *[case(n, "equal", both(n), X, X, diff=(0, 1), order2=False) for n in ("max", "min")],
    case("nextafter", "arrays", both("nextafter"), X, Y, diff=()),
    case("complex", "scalar", both("complex"), X, S, diff=(0, 1)),
    case("complex", "first only", both("complex"), X, Y),
]  # fmt: skip

COMPARISON = [
    case(n, x.dtype.name, both(n), x, y, diff=())
    for n in ("eq", "ne", "lt", "le", "gt", "ge")
    for x, y in ((X, np.where(B, X, Y)), (I8, J8), (B, ~B))
]

LOGIC = [
    *[case(p, x.dtype.name, both(f"bitwise_{p}"), x, y, diff=())
      for p in ("and", "or", "xor") for x, y in ((I8, J8), (U8, V8), (B, B[::-1]))],
    *[case(n, x.dtype.name, both(n), x, y, diff=())
      for n in ("shift_left", "shift_right_logical", "shift_right_arithmetic")
      for x, y in ((I8, J8), (U8, V8), (I8.astype(np.int32), np.abs(J8).astype(np.int32)))],
]  # fmt: skip

WHICH = np.array([[0, 1, 2], [2, 1, 0]], np.int32)
SELECTION = [
    case("select_n", "arrays", lambda lax, p, x, y: lax.select_n(p, x, y), B, X, Y, diff=(1, 2)),
    case("select_n", "one tangent", lambda lax, p, x, y: lax.select_n(p, x, y), B, X, Y, diff=(1,)),
    case("select_n", "scalar", lambda lax, p, x, y: lax.select_n(p, x, y), np.array(True), X, Y,
         diff=(1, 2)),
    case("select_n", "three", lambda lax, i, x, y: lax.select_n(i, x, y, x), WHICH, X, Y,
         diff=(1, 2)),
    case("select_n", "numbers", lambda lax, p: lax.select_n(p, 1.0, 2.0), np.array(True), diff=()),
    case("select_n", "select", lambda lax, p, x, y: lax.select(p, x, y), B, I8, J8, diff=()),
    case("clamp", "numbers", lambda lax, x: lax.clamp(-0.2, x, 0.4), X),
    case("clamp", "arrays", lambda lax, a, x, b: lax.clamp(a, x, b), X - 1, Y, X, diff=(0, 1, 2)),
    case("clamp", "scalars", lambda lax, a, x, b: lax.clamp(a, x, b), -S, Y, S, diff=(1,)),
    case("clamp", "int8", lambda lax, x: lax.clamp(np.int8(-3), x, np.int8(5)), I8, diff=()),
]  # fmt: skip

CASES = [*UNARY, *BINARY, *COMPARISON, *LOGIC, *SELECTION]
