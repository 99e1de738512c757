"""Cases: dot_general."""

import ml_dtypes
import numpy as np

from cards import Case

F, BF = np.float32, ml_dtypes.bfloat16
MATMUL = (((1,), (0,)), ((), ()))


def numbers(*shape, dtype=F):
    """Numbers without pattern."""
    flat = np.arange(1, 1 + int(np.prod(shape)))
    return np.round(np.sin(flat * 1.7) * 3, 3).reshape(shape).astype(dtype)


def whole(*shape, dtype):
    """Whole numbers without pattern, large enough for narrow integers to wrap."""
    return np.round(numbers(*shape, dtype=np.float64) * 40).astype(np.int32).astype(dtype)


def product(dims, **options):
    """A function that multiplies."""
    return lambda lax, x, y: lax.dot_general(x, y, dims, **options)


def case(name, dims, x, y, diff=(0, 1), **options):
    """A dot_general."""
    extra = {k: options.pop(k) for k in ("order2", "tol") if k in options}
    return Case(f"dot {name}", "dot_general", product(dims, **options), (x, y), diff, **extra)


def plain(name, x, y):
    """A lax.dot."""
    return Case(f"dot {name}", "dot_general", lambda lax, x, y: lax.dot(x, y), (x, y), (0, 1))


A, B = numbers(2, 3), numbers(3, 4)
CASES = [
    plain("matrix matrix", A, B),
    plain("matrix vector", A, numbers(3)),
    plain("vector matrix", numbers(3), B),
    plain("vector vector", numbers(3), numbers(3)),
    Case("dot itself", "dot_general", lambda lax, x: lax.dot(x, x), (numbers(3, 3),), (0,)),
    Case(
        "batch_matmul",
        "dot_general",
        lambda lax, x, y: lax.batch_matmul(x, y),
        (numbers(2, 3, 4), numbers(2, 4, 1)),
        (0, 1),
    ),
    case("outer", (((), ()), ((), ())), numbers(2), numbers(3)),
    case("scalar", (((), ()), ((), ())), np.array(2, F), numbers(3)),
    case("batch", (((2,), (1,)), ((0,), (0,))), numbers(2, 3, 4), numbers(2, 4, 5)),
    case("two axes", (((0, 2), (2, 1)), ((1,), (0,))), numbers(2, 3, 4), numbers(3, 4, 2)),
    case("two batches", (((0,), (3,)), ((2, 1), (0, 2))), numbers(2, 3, 4), numbers(4, 5, 3, 2)),
    case("all batches", (((), ()), ((0, 1), (0, 1))), A, A),
    case("nothing inside", MATMUL, numbers(2, 0), numbers(0, 2)),
    case("nothing outside", MATMUL, numbers(0, 3), B),
    case("numbers", (((), ()), ((), ())), 2.0, 3.0),
    case("whole numbers", (((), ()), ((), ())), 2, 3, ()),
    case("precision", MATMUL, A, B, precision="highest"),
    case("two precisions", MATMUL, A, B, precision=("high", "default")),
    case("preset", MATMUL, A, B, precision="F32_F32_F32"),
    case("bfloat16", MATMUL, A.astype(BF), B.astype(BF)),
    case("float16", MATMUL, A.astype(np.float16), B.astype(np.float16)),
    case("long bfloat16", MATMUL, np.full((2, 300), 3, BF), np.full((300, 2), 1.5, BF), ()),
    case("complex", MATMUL, A + 1j * A[::-1], B.astype(np.complex64)),
    case("bfloat16 to float32", MATMUL, A.astype(BF), B.astype(BF), preferred_element_type=F),
    case("float32 to bfloat16", MATMUL, A, B, (), preferred_element_type=BF, tol=1e-2),
    case("mixed floats", MATMUL, A, B.astype(BF), (0,)),
    case("float and int", MATMUL, A, whole(3, 4, dtype=np.int32), (0,)),
    case("mixed ints", MATMUL, whole(2, 3, dtype=np.int8), whole(3, 4, dtype=np.int32), ()),
    *[
        case(str(np.dtype(d)), MATMUL, whole(2, 3, dtype=d), whole(3, 4, dtype=d), ())
        for d in (np.int8, np.uint8, np.int32, np.uint32, np.bool_)
    ],
    *[
        case(
            f"int8 to {np.dtype(d)}",
            MATMUL,
            whole(2, 30, dtype=np.int8),
            whole(30, 2, dtype=np.int8),
            (),
            preferred_element_type=d,
        )
        for d in (np.int32, F)
    ],
]
