"""Cases: arithmetic, comparisons, order, rounding, logic, bits, complex parts, selection."""

import ml_dtypes
import numpy as np

from cards import Case

F, BF, HALF, C = np.float32, ml_dtypes.bfloat16, np.float16, np.complex64
LEFT = np.array([[0.3, -1.7, 2.4], [-0.6, 1.2, -2.9]], F)
RIGHT = np.array([[1.1, 0.7, -1.3], [-2.2, 0.8, 2.6]], F)
ROW, COLUMN = RIGHT[:1], LEFT[:, :1]
SCALAR = np.array(-1.6, F)
NOTHING = np.zeros((0, 3), F)
COMPLEX, OTHER = (LEFT + 1j * RIGHT).astype(C), (RIGHT[::-1] - 1j * LEFT).astype(C)
TRUTH = np.array([False, False, True, True])
OF_TRUTH = np.array([False, True, False, True])

# Every pair of these: what arithmetic says about zeros, infinities and NaN.
ODD = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan], F)
ODD_LEFT, ODD_RIGHT = np.repeat(ODD, len(ODD)), np.tile(ODD, len(ODD))

INTEGERS = {
    "int8": (np.int8, [-128, -128, -128, 127, 127, 7, -7, 7, -7, 0, 5, 100, -128, 0]),
    "int32": (
        np.int32,
        [-(2**31), -(2**31), 2**31 - 1, 2**31 - 1, 12, 7, -7, 7, -7, 0, 5, 9, 4, 0],
    ),
    "uint8": (np.uint8, [0, 255, 255, 128, 127, 7, 249, 7, 249, 0, 5, 100, 128, 200]),
    "uint32": (np.uint32, [0, 2**32 - 1, 2**32 - 1, 2**31, 12, 7, 249, 7, 9, 0, 5, 9, 4, 70000]),
}
DIVISORS = {
    "i": [-1, 0, 2, 127, -1, 2, 2, -2, -2, 0, 0, 3, -128, 5],
    "u": [255, 0, 2, 127, 200, 2, 2, 254, 250, 0, 0, 3, 128, 255],
}


def case(prim, name, fun, *args, diff=(), **options):
    """A case of this file."""
    return Case(f"{prim} {name}", prim, fun, args, diff, **options)


def of(name):
    """The function of that name, from the namespace it is given."""
    return lambda lax, *xs: getattr(lax, name)(*xs)


def with_sign(name):
    """The function, and the reciprocals of its results: they tell 0.0 from -0.0."""

    def fun(lax, *xs):
        out = getattr(lax, name)(*xs)
        return out, lax.div(lax.full_like(out, 1), out)

    return fun


def both_halves(name):
    """The function at float16 and at bfloat16."""

    def fun(lax, *xs):
        n = len(xs) // 2
        return getattr(lax, name)(*xs[:n]), getattr(lax, name)(*xs[n:])

    return fun


def integers(prim, name, kinds=tuple(INTEGERS)):
    """The function at integers of every kind, at its limits and divided by zero."""
    for label in kinds:
        dtype, values = INTEGERS[label]
        left = np.array(values, dtype)
        right = np.array(DIVISORS[left.dtype.kind], np.int64).astype(dtype)
        yield case(prim, label, of(name), left, right)


def shapes(prim, name, diff=(0, 1), x=LEFT, y=RIGHT):
    """A function of two arrays: equal shapes, stretched axes, scalars, numbers, nothing."""
    f = of(name)
    yield case(prim, "matrices", f, x, y, diff=diff)
    yield case(prim, "vectors", f, x[0], y[1], diff=diff)
    yield case(prim, "stretched", f, y[:1], x[:, :1], diff=diff)
    yield case(prim, "scalar and matrix", f, np.array(x[0, 1]), y, diff=diff)
    yield case(prim, "matrix and number", f, x, y[0, 1].item(), diff=diff and (0,))
    yield case(prim, "scalars", f, np.array(x[0, 0]), np.array(y[0, 1]), diff=diff)
    yield case(prim, "numbers", f, x[0, 0].item(), y[0, 1].item(), diff=diff)
    yield case(prim, "nothing", f, x[:0], y[:0], diff=diff)
    if diff:
        yield case(prim, "second alone", f, x, y, diff=(1,))


def halves(prim, name, diff=(0, 1), x=LEFT, y=RIGHT):
    """A function of two arrays at 16 bits."""
    yield case(prim, "float16", of(name), x.astype(HALF), y.astype(HALF), diff=diff)
    yield case(prim, "bfloat16", of(name), x.astype(BF), y.astype(BF), diff=diff)


def odd(prim, name):
    """A function of two arrays at zeros, infinities and NaN."""
    yield case(prim, "odd values", with_sign(name), ODD_LEFT, ODD_RIGHT)


def complexes(prim, name):
    """A function of two arrays at complex numbers."""
    yield case(prim, "complex", of(name), COMPLEX, OTHER, diff=(0, 1))


def one_operand(prim, accepts="f", slope=True):
    """A function of one array, at all shapes and dtypes it takes."""
    diff = (0,) if slope else ()
    f, both = of(prim), both_halves(prim)
    yield case(prim, "matrix", f, LEFT, diff=diff)
    yield case(prim, "scalar", f, SCALAR, diff=diff)
    yield case(prim, "number", f, 2.25, diff=diff)
    yield case(prim, "nothing", f, NOTHING, diff=diff)
    yield case(prim, "halves", both, LEFT.astype(HALF), RIGHT.astype(BF), diff=diff and (0, 1))
    for label, (dtype, values) in INTEGERS.items():
        if label[0] in accepts:
            yield case(prim, label, f, np.array(values, dtype))


# ---- arithmetic ---------------------------------------------------------------------------------

POWERS = (0, 1, 2, 3, -1, -3, 7)


def power(y):
    """A function that raises to an integer power."""
    return lambda lax, x: lax.integer_pow(x, y)


ARITHMETIC = [
    *[
        c
        for name in ("add", "sub", "mul", "div")
        for part in (shapes, halves, integers, odd, complexes)
        for c in part(name, name)
    ],
    *one_operand("neg", accepts="iuf"),
    case("neg", "odd values", with_sign("neg"), ODD),
    case("neg", "complex", of("neg"), COMPLEX, diff=(0,)),
    *[case("integer_pow", f"{y}", power(y), LEFT, diff=(0,)) for y in POWERS],
    *[case("integer_pow", f"{y} complex", power(y), COMPLEX, diff=(0,)) for y in (2, 3, -2)],
    *[case("integer_pow", f"{y} odd values", power(y), ODD) for y in (0, 3, -1, -2)],
    case("integer_pow", "slope at zero", power(2), ODD[:2], diff=(0,)),
    case("integer_pow", "scalar", power(3), SCALAR, diff=(0,)),
    case("integer_pow", "number", power(3), 2.0, diff=(0,)),
    case("integer_pow", "nothing", power(3), NOTHING, diff=(0,)),
    case("integer_pow", "float16", power(3), LEFT.astype(HALF), diff=(0,)),
    case("integer_pow", "bfloat16", power(-2), LEFT.astype(BF), diff=(0,)),
    case("integer_pow", "int8", power(3), np.array([-128, 127, 5, -6, 0], np.int8)),
    case("integer_pow", "uint32", power(4), np.array([2**31 + 1, 255, 0], np.uint32)),
    case("integer_pow", "int 0", power(0), np.array([0, 7], np.int32)),
    case("integer_pow", "reciprocal", of("reciprocal"), LEFT, diff=(0,)),
]

COMPARED = [
    c
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for c in (
        case(name, "odd values", of(name), ODD_LEFT, ODD_RIGHT),
        case(name, "stretched", of(name), ROW, COLUMN, diff=(0, 1), order2=False),
        case(name, "number", of(name), 2.0, LEFT),
        case(name, "bfloat16", of(name), ODD_LEFT.astype(BF), ODD_RIGHT.astype(BF)),
        case(name, "bool", of(name), TRUTH, OF_TRUTH),
        *integers(name, name, ("int8", "uint32")),
        case(name, "nothing", of(name), NOTHING, NOTHING),
    )
] + [
    case(name, "complex", of(name), COMPLEX, np.where(LEFT > 0, COMPLEX, OTHER))
    for name in ("eq", "ne")
]

# ---- order --------------------------------------------------------------------------------------

TIES = np.array([1.0, 2.0, -3.0], HALF)
PARTS = np.array([1 + 2j, 1 - 2j, 3 - 1j, -4 + 0j], C)
BETWEEN = np.array([-2.5, -1.5, -0.5, -0.2, 0.5, 1.5, 2.5, 0.49999997, 8388609.0, -3.7], F)
ROUNDED = np.concatenate([BETWEEN, ODD])


def rounding(method):
    """A function that rounds."""
    return lambda lax, x: lax.round(x, method)


ORDER = [
    *[
        c
        for name in ("max", "min")
        for c in (
            *shapes(name, name),
            *halves(name, name),
            *integers(name, name),
            case(name, "odd values", of(name), ODD_LEFT, ODD_RIGHT),
            case(name, "ties", of(name), TIES, TIES + np.array([0, 1, -1], HALF), diff=(0, 1)),
            case(name, "bool", of(name), TRUTH, OF_TRUTH),
            case(name, "complex", of(name), PARTS, PARTS[::-1].copy()),
        )
    ],
    *one_operand("abs", accepts="if"),
    case("abs", "slope at zero", of("abs"), ODD[:3].astype(HALF), diff=(0,)),
    case("abs", "odd values", with_sign("abs"), ODD),
    case("abs", "complex", of("abs"), COMPLEX, diff=(0,)),
    case("abs", "complex zero", of("abs"), np.array([0, 3 + 4j, np.inf, 1e30 + 1e30j], C)),
    *one_operand("sign", accepts="iuf"),
    case("sign", "odd values", with_sign("sign"), ODD),
    case("sign", "complex", of("sign"), COMPLEX, diff=(0,)),
    case("sign", "complex zero", of("sign"), np.array([0, 3 + 4j, -2, 1e30 + 1e30j], C)),
    *one_operand("floor"),
    case("floor", "odd values", with_sign("floor"), ROUNDED),
    *one_operand("ceil"),
    case("ceil", "odd values", with_sign("ceil"), ROUNDED),
    *one_operand("is_finite", slope=False),
    case("is_finite", "odd values", of("is_finite"), ODD),
    case("is_finite", "slope", of("is_finite"), LEFT, diff=(0,), order2=False),
    *[case("round", f"method {k}", rounding(k), ROUNDED) for k in (0, 1)],
    *[case("round", f"method {k} slope", rounding(k), LEFT, diff=(0,)) for k in (0, 1)],
    *[case("round", f"method {k} float16", rounding(k), BETWEEN[:8].astype(HALF)) for k in (0, 1)],
    *[case("round", f"method {k} bfloat16", rounding(k), ROUNDED.astype(BF)) for k in (0, 1)],
    case("round", "number", rounding(0), 2.5),
    case("round", "nothing", rounding(1), NOTHING),
    *shapes("nextafter", "nextafter", diff=()),
    *halves("nextafter", "nextafter", diff=()),
    case("nextafter", "odd values", of("nextafter"), ODD_LEFT[7:], ODD_RIGHT[7:]),
    *shapes("rem", "rem"),
    *halves("rem", "rem"),
    *integers("rem", "rem"),
    *odd("rem", "rem"),
]

# ---- logic and bits -----------------------------------------------------------------------------

COUNTS = {
    "i": [0, 1, 7, 8, 31, 32, 33, 127, -1, -128, 4, 2, 3, 1],
    "u": [0, 1, 7, 8, 31, 32, 33, 127, 255, 128, 4, 2, 3, 1],
}


def shifts(name):
    """A shift of integers of every kind, also by more places than there are."""
    for label, (dtype, values) in INTEGERS.items():
        x = np.array(values, dtype)
        n = np.array(COUNTS[x.dtype.kind], np.int64).astype(dtype)
        yield case(name, label, of(name), x, n)
        if label == "int32":
            yield case(name, "by a number", of(name), x, 3)
            yield case(name, "stretched", of(name), x.reshape(2, 7), n[:7].reshape(1, 7))


NAMED = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
INTS = np.array(INTEGERS["int32"][1], np.int32)
LOGIC = [
    *[
        c
        for prim, name in NAMED.items()
        for c in (
            *integers(prim, name, ("int8", "int32", "uint8")),
            case(prim, "bool", of(name), TRUTH, OF_TRUTH),
            case(prim, "bool stretched", of(name), TRUTH.reshape(1, 4), OF_TRUTH.reshape(4, 1)),
            case(prim, "number", of(name), INTS, 6),
            case(prim, "nothing", of(name), INTS[:0], INTS[:0]),
        )
    ],
    case("not", "bool", of("bitwise_not"), TRUTH),
    case("not", "int32", of("bitwise_not"), INTS),
    case("not", "uint8", of("bitwise_not"), np.array([0, 255, 7], np.uint8)),
    case("not", "scalar", of("bitwise_not"), np.array(True)),
    *[
        c
        for name in ("shift_left", "shift_right_logical", "shift_right_arithmetic")
        for c in shifts(name)
    ],
    *[
        case(name, label, of(name), np.array(values, dtype))
        for name in ("population_count", "clz")
        for label, (dtype, values) in INTEGERS.items()
    ],
    *[case(name, "number", of(name), 12) for name in ("population_count", "clz")],
    *[case(name, "nothing", of(name), INTS[:0]) for name in ("population_count", "clz")],
]

# ---- complex parts ------------------------------------------------------------------------------

FAR = np.array([np.inf + 1j, complex(1, np.nan), complex(-0.0, -np.inf), 0], C)
PARTED = [
    *[
        c
        for name in ("real", "imag", "conj")
        for c in (
            case(name, "matrix", of(name), COMPLEX, diff=(0,)),
            case(name, "scalar", of(name), np.array(1 - 2j, C), diff=(0,)),
            case(name, "number", of(name), 1 - 2j, diff=(0,)),
            case(name, "nothing", of(name), COMPLEX[:0], diff=(0,)),
            case(name, "odd values", of(name), FAR),
        )
    ],
    case("conj", "real operand", of("conj"), LEFT, diff=(0,)),
    case("complex", "matrices", of("complex"), LEFT, RIGHT, diff=(0, 1)),
    case("complex", "first alone", of("complex"), LEFT, RIGHT, diff=(0,)),
    case("complex", "second alone", of("complex"), LEFT, RIGHT, diff=(1,)),
    case("complex", "matrix and scalar", of("complex"), LEFT, SCALAR, diff=(0, 1)),
    case("complex", "scalars", of("complex"), SCALAR, SCALAR, diff=(0, 1)),
    case("complex", "numbers", of("complex"), 1.5, 2.5, diff=(0, 1)),
    case("complex", "nothing", of("complex"), NOTHING, NOTHING, diff=(0, 1)),
    case("complex", "odd values", of("complex"), ODD_LEFT, ODD_RIGHT),
]

# ---- selection ----------------------------------------------------------------------------------

# The oracle has no derivative of clamp by a scalar bound of an array, cannot batch the upper bound
# of a scalar alone, and cannot transpose a select_n of one case.

WHICH = np.array([[0, 2, 1], [1, 0, 2]], np.int32)
LOW, HIGH = np.full((2, 3), -1.5, F), RIGHT + 2
BOUNDS = (np.array(-1.0, F), np.array(1.5, F))
SMALL = np.array([-128, 3, 127], np.int8)


def picked(lax, which, *cases):
    """select_n."""
    return lax.select_n(which, *cases)


SELECTED = [
    case("select_n", "bool", picked, LEFT > 0, LEFT, RIGHT, diff=(1, 2)),
    case("select_n", "scalar bool", picked, np.array(True), LEFT, RIGHT, diff=(1, 2)),
    case("select_n", "one of two", picked, LEFT > 0, LEFT, RIGHT, diff=(2,)),
    case("select_n", "three", picked, WHICH, LEFT, RIGHT, RIGHT * LEFT, diff=(1, 2, 3)),
    case("select_n", "scalar int", picked, WHICH[0, 2], LEFT[0], RIGHT[0], LEFT[1], diff=(1, 3)),
    case("select_n", "beyond", picked, np.array([-5, 9, 1], np.int32), *LEFT, ROW[0]),
    case("select_n", "one", picked, LEFT > 0, LEFT),
    case("select_n", "scalars", picked, np.array(False), SCALAR, -SCALAR, diff=(1, 2)),
    case("select_n", "numbers", picked, True, 1.0, 2.0, diff=(1, 2)),
    case("select_n", "nothing", picked, NOTHING > 0, NOTHING, NOTHING, diff=(1, 2)),
    case("select_n", "bfloat16", picked, LEFT > 0, LEFT.astype(BF), RIGHT.astype(BF), diff=(1, 2)),
    case("select_n", "complex", picked, LEFT > 0, COMPLEX, OTHER, diff=(1, 2)),
    case("select_n", "int8", picked, WHICH > 0, WHICH.astype(np.int8), -WHICH.astype(np.int8)),
    case("select_n", "select", of("select"), TRUTH, TRUTH, OF_TRUTH),
    case("clamp", "matrices", of("clamp"), LOW, LEFT, HIGH, diff=(0, 1, 2)),
    case("clamp", "scalar bounds", of("clamp"), BOUNDS[0], LEFT, BOUNDS[1], diff=(1,)),
    case("clamp", "numbers as bounds", of("clamp"), -1.0, LEFT, 2.0, diff=(1,)),
    case("clamp", "one scalar bound", of("clamp"), LOW, LEFT, BOUNDS[1], diff=(0, 1)),
    case("clamp", "bounds the wrong way", of("clamp"), BOUNDS[1], LEFT, BOUNDS[0]),
    case(
        "clamp", "scalars", of("clamp"), BOUNDS[0], SCALAR, BOUNDS[1], diff=(0, 1, 2), printed=False
    ),
    case("clamp", "numbers", of("clamp"), 0.0, 1.5, 1.0),
    case("clamp", "odd values", of("clamp"), BOUNDS[0], ODD, BOUNDS[1]),
    case("clamp", "odd bounds", of("clamp"), ODD_LEFT, np.tile(F(0.5), 49), ODD_RIGHT),
    case("clamp", "nothing", of("clamp"), NOTHING, NOTHING, NOTHING, diff=(0, 1, 2)),
    case("clamp", "float16", of("clamp"), *(x.astype(HALF) for x in (LOW, LEFT, HIGH)), diff=(1,)),
    case("clamp", "bfloat16", of("clamp"), *(x.astype(BF) for x in (LOW, LEFT, HIGH)), diff=(1,)),
    case("clamp", "int8", of("clamp"), np.int8(-5), SMALL, np.int8(9)),
    case("clamp", "bool", of("clamp"), TRUTH, OF_TRUTH, ~TRUTH),
]

CASES = [*ARITHMETIC, *COMPARED, *ORDER, *LOGIC, *PARTED, *SELECTED]
