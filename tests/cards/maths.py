"""Cases: exponentials, powers, trigonometry, special functions, the high half of a product."""

import ml_dtypes
import numpy as np

from cards import Case

F, BF, HALF, C = np.float32, ml_dtypes.bfloat16, np.float16, np.complex64
ODD = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan], F)
LARGE = np.array([88.0, 89.5, -86.0, -110.0, 1e4, -1e4, 3e38, -3e38], F)

# Where the functions are smooth and real.
LINE = np.array([[0.3, -1.7, 2.4], [-0.6, 1.2, -2.9]], F)
HALF_LINE = np.array([[0.3, 1.7, 2.4], [0.6, 1.2, 5.9]], F)
INTERVAL = np.array([[0.3, -0.7, 0.9], [-0.6, 0.05, -0.2]], F)
ABOVE_ONE = HALF_LINE + 1
PLANE = np.array([[0.3 + 0.2j, -1.7 + 0.4j], [0.6 - 1.3j, -0.8 - 2.1j]], C)
DOMAINS = {
    "exp": LINE,
    "exp2": LINE,
    "expm1": LINE,
    "log": HALF_LINE,
    "log1p": HALF_LINE - F(0.8),
    "logistic": LINE,
    "sqrt": HALF_LINE,
    "rsqrt": HALF_LINE,
    "cbrt": LINE,
    "square": LINE,
    "sin": LINE,
    "cos": LINE,
    "tan": LINE / 2,
    "asin": INTERVAL,
    "acos": INTERVAL,
    "atan": LINE,
    "sinh": LINE,
    "cosh": LINE,
    "tanh": LINE,
    "asinh": LINE,
    "acosh": ABOVE_ONE,
    "atanh": INTERVAL,
    "erf": LINE,
    "erfc": LINE,
    "erf_inv": INTERVAL,
    "lgamma": HALF_LINE,
    "digamma": HALF_LINE,
}
REAL_ONLY = ("cbrt", "erf", "erfc", "erf_inv", "lgamma", "digamma")


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


def one_operand(name, domain):
    """A function of one array, at all shapes and dtypes it takes."""
    f = of(name)
    yield case(name, "matrix", f, domain, diff=(0,))
    yield case(name, "scalar", f, np.array(domain[0, 2]), diff=(0,))
    yield case(name, "number", f, domain[1, 1].item(), diff=(0,))
    yield case(name, "nothing", f, domain[:0], diff=(0,))
    yield case(name, "float16", f, domain.astype(HALF), diff=(0,))
    yield case(name, "bfloat16", f, domain.astype(BF), diff=(0,))
    yield case(name, "large values", f, LARGE)
    if name == "lgamma":  # at 1 the oracle's is not quite 0
        yield case(name, "odd values", f, ODD)
    else:
        yield case(name, "odd values", with_sign(name), ODD)
    if name not in REAL_ONLY:
        yield case(name, "complex", f, PLANE, diff=(0,))


FUNCTIONS = [c for name, domain in DOMAINS.items() for c in one_operand(name, domain)]
SQUARES = [
    case("square", "int8", of("square"), np.array([-128, 127, 12, -7, 0], np.int8)),
    case("square", "uint32", of("square"), np.array([65536, 2**32 - 1, 3], np.uint32)),
]

# ---- powers and angles --------------------------------------------------------------------------

BASES = np.array([0.0, -0.0, 0.5, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan], F)
EXPONENTS = np.array([0.0, 1.0, -1.0, 0.5, 3.0, -2.0, np.inf, -np.inf, np.nan], F)
PAIRS = (np.repeat(BASES, len(EXPONENTS)), np.tile(EXPONENTS, len(BASES)))
WHOLE = np.array([[2, -1, 0], [3, -2, 1]], np.int32)
AXES = (np.repeat(ODD, len(ODD)), np.tile(ODD, len(ODD)))
ZEROS = np.zeros((2, 3), HALF)


def two_operands(name, x, y):
    """A function of two arrays."""
    f = of(name)
    yield case(name, "matrices", f, x, y, diff=(0, 1))
    yield case(name, "stretched", f, x[:1], y[:, :1], diff=(0, 1))
    yield case(name, "scalar and matrix", f, np.array(x[0, 0]), y, diff=(0, 1))
    yield case(name, "matrix and number", f, x, y[0, 1].item(), diff=(0,))
    yield case(name, "scalars", f, np.array(x[0, 0]), np.array(y[0, 0]), diff=(0, 1))
    yield case(name, "numbers", f, x[0, 0].item(), y[0, 0].item(), diff=(0, 1))
    yield case(name, "second alone", f, x, y, diff=(1,))
    yield case(name, "nothing", f, x[:0], y[:0], diff=(0, 1))
    yield case(name, "float16", f, x.astype(HALF), y.astype(HALF), diff=(0, 1))
    yield case(name, "bfloat16", f, x.astype(BF), y.astype(BF), diff=(0, 1))
    yield case(name, "complex", f, PLANE, PLANE[::-1].copy(), diff=(0, 1))


TWO = [
    *two_operands("pow", HALF_LINE, LINE),
    case("pow", "odd values", with_sign("pow"), *PAIRS),
    case("pow", "integer exponents", of("pow"), LINE, WHOLE, diff=(0,)),
    case("pow", "integer exponents at zero", of("pow"), ZEROS, WHOLE + 3, diff=(0,)),
    case("pow", "zero exponents at zero", of("pow"), ZEROS, WHOLE * 0, diff=(0,)),
    case("pow", "an integer exponent", of("pow"), LINE, np.array(3, np.int8), diff=(0,)),
    case("pow", "an integer", of("pow"), LINE, 3, diff=(0,)),
    case("pow", "zero as base", of("pow"), ZEROS, HALF_LINE.astype(HALF), diff=(1,)),
    case("pow", "float16 and integers", of("pow"), LINE.astype(HALF), WHOLE, diff=(0,)),
    *two_operands("atan2", LINE, LINE[::-1].copy()),
    case("atan2", "odd values", with_sign("atan2"), *AXES),
]

# ---- special functions --------------------------------------------------------------------------

EDGES = np.array([0.0, -0.0, 1.0, -1.0, 0.9999999, -0.99999, 1e-6, 1.5, np.nan], F)
POLES = np.array([-0.5, -1.5, -2.2, -3.0, -10.4, 1e-3, 100.25, 1e6, 3e30], F)
ORDERS = np.array([[1, 2, 3], [1, 2, 4]], F)
SERIES = tuple(
    np.array(x, F).ravel()
    for x in np.meshgrid([0, 1, 2, 3, 7, 2.5, -1], [-0.3, -2.5, -7.2, -3, 0, 0.01, 9, np.inf])
)
WIDE = np.array([-4.5, -3.9, -2.0, 1e-7, 0.5, 2.0, 3.9, 9.0, 11.0], F)

SPECIAL = [
    case("erf", "wide", of("erf"), WIDE),
    case("erfc", "wide", of("erfc"), WIDE),
    case("erf_inv", "edges", of("erf_inv"), EDGES),
    case("lgamma", "negative", of("lgamma"), POLES),
    case("lgamma", "negative slope", of("lgamma"), POLES[:3], diff=(0,), order2=False),
    case("digamma", "negative", of("digamma"), POLES),
    case("polygamma", "matrices", of("polygamma"), ORDERS, HALF_LINE, diff=(1,)),
    case("polygamma", "scalars", of("polygamma"), np.array(2, F), np.array(0.7, F), diff=(1,)),
    case("polygamma", "number", of("polygamma"), 1.0, HALF_LINE, diff=(1,)),
    case("polygamma", "nothing", of("polygamma"), ORDERS[:0], HALF_LINE[:0], diff=(1,)),
    case("polygamma", "odd values", of("polygamma"), *PAIRS[::-1]),
    case("polygamma", "negative", of("polygamma"), *SERIES),
    case("polygamma", "bfloat16", of("polygamma"), ORDERS.astype(BF), HALF_LINE.astype(BF)),
    case("zeta", "matrices", of("zeta"), ORDERS + 1, HALF_LINE),
    case("zeta", "scalars", of("zeta"), np.array(2.5, F), np.array(0.7, F)),
    case("zeta", "number", of("zeta"), 2.0, HALF_LINE),
    case("zeta", "stretched", of("zeta"), ORDERS[:1] + 1, HALF_LINE[:, :1]),
    case("zeta", "odd values", of("zeta"), *PAIRS[::-1]),
    case("zeta", "negative", of("zeta"), *SERIES),
    case("zeta", "float16", of("zeta"), (ORDERS + 1).astype(HALF), HALF_LINE.astype(HALF)),
]

# ---- the high half of a product -----------------------------------------------------------------

LIMITS = {
    np.int8: ([-128, 127, -1, 5, -128], [-128, 127, 1, 60, 127]),
    np.uint8: ([255, 128, 3, 0, 17], [255, 2, 5, 9, 16]),
    np.int32: ([-(2**31), 2**31 - 1, -1, 70000, 3], [-(2**31), 2**31 - 1, 1, 70000, -5]),
    np.uint32: ([2**32 - 1, 2**31, 3, 70000, 0], [2**32 - 1, 2, 5, 70000, 7]),
}
HIGH = [
    *[
        case("mulhi", np.dtype(d).name, of("mulhi"), np.array(x, d), np.array(y, d))
        for d, (x, y) in LIMITS.items()
    ],
    case("mulhi", "number", of("mulhi"), np.array([2**30, -(2**30)], np.int32), 5),
    case("mulhi", "nothing", of("mulhi"), np.zeros(0, np.uint8), np.zeros(0, np.uint8)),
]

CASES = [*FUNCTIONS, *SQUARES, *TWO, *SPECIAL, *HIGH]
