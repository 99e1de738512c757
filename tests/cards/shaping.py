"""Cases: slices, pads, joins, arrays out of nothing, and what hands on a value or its bits."""

import ml_dtypes
import numpy as np

from cards import Case

F = np.float32
X = np.arange(12, dtype=F).reshape(3, 4) - 4
V = np.arange(5, dtype=F)
I = np.arange(5, dtype=np.int32)
SCALAR = np.array(3, F)
BF = ml_dtypes.bfloat16
ODD = np.array(
    [
        0,
        -0.0,
        1,
        1.0009766,
        65504,
        65520,
        7e4,
        -1e30,
        np.inf,
        -np.inf,
        np.nan,
        6e-5,
        1e-40,
        3.14159,
    ],
    F,
)

PADDINGS = {
    "both sides": ((1, 2, 0), (0, 0, 0)),
    "interior": ((1, 1, 2), (0, 1, 1)),
    "negative": ((-1, 0, 0), (0, -2, 0)),
    "negative and interior": ((-2, 3, 1), (1, -3, 2)),
    "everything cut off": ((-3, 3, 0), (0, 0, 0)),
    "more than everything": ((-5, 9, 1), (2, 2, 0)),
}


def padding(config):
    """A function that pads."""
    return lambda lax, x, value: lax.pad(x, value, config)


SLICES = [
    Case("slice", "slice", lambda lax, x: lax.slice(x, (1, 0), (3, 2)), (X,), (0,)),
    Case("slice steps", "slice", lambda lax, x: lax.slice(x, (0, 1), (3, 4), (2, 2)), (X,), (0,)),
    Case("slice nothing", "slice", lambda lax, x: lax.slice(x, (1, 0), (1, 2), (2, 1)), (X,), (0,)),
    Case("slice of a scalar", "slice", lambda lax, x: lax.slice(x, (), ()), (SCALAR,), (0,)),
    Case("slice bool", "slice", lambda lax, x: lax.slice(x, (1,), (3,)), (I > 2,)),
    Case("slice_in_dim", "slice", lambda lax, x: lax.slice_in_dim(x, 1, -1, 2, 1), (X,), (0,)),
    Case("index_in_dim", "slice", lambda lax, x: lax.index_in_dim(x, -1, 1, False), (X,), (0,)),
]

# The oracle cannot transpose a pad whose operand is constant, so the value alone is not asked for.
# The value's cotangent is a difference of sums, whose rounding depends on their order.
PADS = [
    *[
        Case(f"pad {k}", "pad", padding(c), (X, np.array(2, F)), (0, 1), tol=1e-3)
        for k, c in PADDINGS.items()
    ],
    Case("pad number", "pad", lambda lax, x: lax.pad(x, 2, [(1, 1, 3)]), (I,)),
    Case("pad nothing", "pad", padding([(1, 1, 3)]), (np.zeros(0, F), np.array(2, F)), (0, 1)),
    Case("pad bool", "pad", lambda lax, x: lax.pad(x, True, [(1, 1, 3)]), (I > 2,)),
    Case(
        "pad bfloat16", "pad", padding(PADDINGS["interior"]), (X.astype(BF), np.array(2, BF)), (0,)
    ),
    Case("pad weak", "pad", lambda lax, x: lax.pad(x, 1.0, ()), (2.0,), (0,)),
]

JOINS = [
    Case(
        "concatenate",
        "concatenate",
        lambda lax, x, y: lax.concatenate([x, y], 1),
        (X, X[:, :2]),
        (0, 1),
    ),
    Case(
        "concatenate three",
        "concatenate",
        lambda lax, x, y: lax.concatenate([x, y, x], 0),
        (X, X[:0]),
        (0, 1),
    ),
    Case(
        "concatenate one of two",
        "concatenate",
        lambda lax, x, y: lax.concatenate([x, y], 0),
        (X, X),
        (1,),
    ),
    Case(
        "concatenate bfloat16",
        "concatenate",
        lambda lax, x, y: lax.concatenate([x, y], 0),
        (X.astype(BF), X.astype(BF)),
        (0, 1),
    ),
    Case("concatenate int", "concatenate", lambda lax, x, y: lax.concatenate([x, y], 0), (I, I)),
    Case("split", "split", lambda lax, x: lax.split(x, (1, 0, 3), 1), (X,), (0,)),
    Case(
        "split, one part used", "split", lambda lax, x: lax.split(x, (1, 2, 1), -1)[1], (X,), (0,)
    ),
    Case("stack", "stack", lambda lax, x, y: lax.stack([x, y], 1), (X, X + 1), (0, 1)),
    Case("stack three", "stack", lambda lax, x, y: lax.stack([x, y, x], -1), (X, X + 1), (0, 1)),
    Case("stack scalars", "stack", lambda lax, x, y: lax.stack([x, y]), (SCALAR, SCALAR), (0, 1)),
    Case("stack numbers", "stack", lambda lax, x, y: lax.stack([x, y]), (1.0, 2.0), (0, 1)),
    Case("unstack", "unstack", lambda lax, x: lax.unstack(x, 1), (X,), (0,)),
    Case("unstack, one part used", "unstack", lambda lax, x: lax.unstack(x)[1], (X,), (0,)),
    Case("rev", "rev", lambda lax, x: lax.rev(x, (1, 0)), (X,), (0,)),
    Case("rev no axis", "rev", lambda lax, x: lax.rev(x, ()), (X,), (0,)),
    Case("rev int", "rev", lambda lax, x: lax.rev(x, (0,)), (I,)),
    Case("tile", "tile", lambda lax, x: lax.tile(x, (2, 3)), (X,), (0,)),
    Case("tile nothing", "tile", lambda lax, x: lax.tile(x, (0, 3)), (X,), (0,)),
]

CREATIONS = [
    Case(
        "broadcasted_iota",
        "iota",
        lambda lax, x: lax.add(x, lax.broadcasted_iota(F, (5,), 0)),
        (V,),
        (0,),
    ),
    *[
        Case(f"iota {np.dtype(d)}", "iota", lambda lax, x, d=d: (x, lax.iota(d, 300)), (V,))
        for d in (np.int8, np.uint32, np.float16, BF, np.complex64)
    ],
    Case("full_like", "broadcast_in_dim", lambda lax, x: lax.full_like(x, 3), (V,)),
    Case(
        "full_like other",
        "broadcast_in_dim",
        lambda lax, x: lax.full_like(x, 3.5, np.int32, (2,)),
        (X,),
    ),
    Case(
        "full_like traced",
        "broadcast_in_dim",
        lambda lax, x: lax.full_like(x, x, shape=(2,)),
        (SCALAR,),
        (0,),
    ),
    Case("empty", "empty", lambda lax, x: lax.mul(lax.empty((5,), F), x), (V,), printed=False),
    Case("collapse", "reshape", lambda lax, x: lax.collapse(x, 0, 2), (X,), (0,)),
    Case("collapse no axis", "reshape", lambda lax, x: lax.collapse(x, 1, 1), (X,), (0,)),
]

FORMATS = [(5, 10), (8, 7), (5, 2), (1, 0), (2, 1), (8, 23), (4, 3), (3, 23), (11, 52)]


def rounding(e, m):
    """A function that rounds to a format."""
    return lambda lax, x: lax.reduce_precision(x, e, m)


def bits_as(dtype):
    """A function that reads the bits as another dtype."""
    return lambda lax, x: lax.bitcast_convert_type(x, dtype)


IDENTITIES = [
    Case("copy", "copy", lambda lax, x: lax.copy_p.bind(x), (X,), (0,)),
    Case(
        "stop_gradient",
        "stop_gradient",
        lambda lax, x: lax.mul(lax.stop_gradient(x), x),
        (X,),
    ),
    Case(
        "stop_gradient tree",
        "stop_gradient",
        lambda lax, x: lax.stop_gradient({"a": x, "b": (I, V)}),
        (X,),
    ),
    Case(
        "optimization_barrier",
        "optimization_barrier",
        lambda lax, x: lax.optimization_barrier(x),
        (X,),
        (0,),
    ),
    Case(
        "optimization_barrier pair",
        "optimization_barrier",
        lambda lax, x, y: lax.optimization_barrier((x, y)),
        (V, V),
        (1,),
    ),
    Case(
        "optimization_barrier int",
        "optimization_barrier",
        lambda lax, x, y: lax.optimization_barrier((x, y)),
        (I, V),
    ),
    *[
        Case(
            f"reduce_precision {e} {m} {np.dtype(d)}",
            "reduce_precision",
            rounding(e, m),
            (ODD.clip(-6e4, 6e4).astype(d),),
        )
        for e, m in FORMATS
        for d in (F, np.float16, BF)
    ],
    Case(
        "bitcast same size",
        "bitcast_convert_type",
        bits_as(np.int32),
        (X,),
        diff=(0,),
        order2=False,
    ),
    Case("bitcast to bytes", "bitcast_convert_type", bits_as(np.uint8), (X,)),
    Case("bitcast to halves", "bitcast_convert_type", bits_as(BF), (X,)),
    Case("bitcast scalar", "bitcast_convert_type", bits_as(np.uint16), (SCALAR,)),
    Case(
        "bitcast from halves",
        "bitcast_convert_type",
        bits_as(F),
        (X.view(np.int16).reshape(3, 4, 2),),
        batch=False,
    ),
    Case("bitcast to itself", "bitcast_convert_type", bits_as(np.bool_), (X > 0,)),
]

CASES = [*SLICES, *PADS, *JOINS, *CREATIONS, *IDENTITIES]
