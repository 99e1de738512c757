"""Cases: convert, broadcast, reshape, squeeze, transpose, sum, and the sum of tangents."""

import ml_dtypes
import numpy as np

from cards import Case

F, BF = np.float32, ml_dtypes.bfloat16
X = np.arange(12, dtype=F).reshape(3, 4) / 3 - 2
V = np.arange(3, dtype=F)
THIN = np.arange(3, dtype=F).reshape(1, 3, 1)
SCALAR = np.array(3, F)
BYTES = np.array([[1, 200, 255], [7, 9, 128]], np.uint8)
TO = (np.int8, np.uint8, np.int32, np.uint32, np.bool_, np.float16, BF, F, np.complex64)
FROM = (np.int8, np.uint16, np.int32, np.bool_, np.float16, BF, F)
ODD = np.array([0, -0.0, 0.5, -0.5, 1.5, -2.7, 127, 128, -129, 300, -1e10, 1e10, np.nan, np.inf], F)


def case(prim, name, fun, *args, diff=(0,), **options):
    """A case of this file."""
    return Case(f"{prim} {name}", prim, fun, args, diff, **options)


def converted(dtype):
    """A function that converts."""
    return lambda lax, x: lax.convert_element_type(x, dtype)


def broadcasted(shape, dims):
    """A function that broadcasts."""
    return lambda lax, x: lax.broadcast_in_dim(x, shape, dims)


CONVERT = "convert_element_type"
CONVERSIONS = [
    *[
        case(CONVERT, f"{np.dtype(a)} to {np.dtype(b)}", converted(b), X.astype(a), diff=())
        for a in FROM
        for b in TO
        if a != b
    ],
    *[
        case(CONVERT, f"odd floats to {np.dtype(d)}", converted(d), ODD, diff=())
        for d in (np.int8, np.uint8, np.int32, np.uint32, np.bool_)
    ],
    case(CONVERT, "bfloat16 slope", converted(BF), X.astype(np.float16)),
    case(CONVERT, "complex slope", converted(np.complex64), X),
    case(CONVERT, "to Python's float", converted(float), X.astype(np.float16)),
    case(CONVERT, "from weak", converted(F), 2.0),
]

SHAPES = [
    case("broadcast_in_dim", "scalar", broadcasted((2, 3), ()), SCALAR),
    case("broadcast_in_dim", "vector", broadcasted((2, 3), (1,)), V),
    case("broadcast_in_dim", "stretched", broadcasted((2, 3, 4), (0, 1, 2)), THIN),
    case("broadcast_in_dim", "nothing", broadcasted((0, 3), (1,)), V),
    case("broadcast_in_dim", "number", broadcasted((2,), ()), 2.0),
    case("broadcast_in_dim", "new axes", lambda lax, x: lax.broadcast(x, (2, 3)), V),
    case("broadcast_in_dim", "expand_dims", lambda lax, x: lax.expand_dims(x, (0, 2)), V),
    case("broadcast_in_dim", "int", broadcasted((2, 2, 3), (0, 2)), BYTES, diff=()),
    case("reshape", "merge", lambda lax, x: lax.reshape(x, (12,)), X),
    case("reshape", "split", lambda lax, x: lax.reshape(x, (2, 2, 3)), X),
    case("reshape", "to scalar", lambda lax, x: lax.reshape(x, ()), V[:1]),
    case("reshape", "nothing", lambda lax, x: lax.reshape(x, (3, 0)), X[:0]),
    case("reshape", "bfloat16", lambda lax, x: lax.reshape(x, (4, 3)), X.astype(BF)),
    case("squeeze", "one axis", lambda lax, x: lax.squeeze(x, (0,)), THIN),
    case("squeeze", "two axes", lambda lax, x: lax.squeeze(x, (0, -1)), THIN),
    case("transpose", "matrix", lambda lax, x: lax.transpose(x, (1, 0)), X),
    case("transpose", "three axes", lambda lax, x: lax.transpose(x, (2, 0, 1)), X.reshape(2, 2, 3)),
    case("transpose", "int", lambda lax, x: lax.transpose(x, (1, 0)), BYTES, diff=()),
]

SUMS = [
    case("reduce_sum", "one axis", lambda lax, x: lax.reduce_sum(x, (1,)), X),
    case("reduce_sum", "all axes", lambda lax, x: lax.reduce_sum(x, (0, 1)), X),
    case("reduce_sum", "nothing", lambda lax, x: lax.reduce_sum(x, (0,)), X[:0]),
    case("reduce_sum", "bytes", lambda lax, x: lax.reduce_sum(x, (1,)), BYTES, diff=()),
    case("reduce_sum", "bfloat16", lambda lax, x: lax.reduce_sum(x, (1,)), X.astype(BF)),
    case(
        "reduce_sum",
        "long float16",
        lambda lax, x: lax.reduce_sum(x, (0,)),
        np.full(3000, 1, np.float16),
        diff=(),
    ),
    case("reduce_sum", "complex", lambda lax, x: lax.reduce_sum(x, (0,)), X + 1j * X[::-1]),
    case("add_any", "from a product", lambda lax, x: lax.mul(x, x), X),
]

CASES = [*CONVERSIONS, *SHAPES, *SUMS]
