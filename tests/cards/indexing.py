"""Cases: dynamic slices, gather and the scatters."""

import ml_dtypes
import numpy as np

from cards import Case

F, I32 = np.float32, np.int32
X = np.arange(12, dtype=F).reshape(3, 4) + 1
V = np.arange(5, dtype=F)
ONE, THREE = np.array(1, I32), np.array(3, I32)
DTYPES = (np.int8, np.uint16, np.int32, np.bool_, np.complex64, ml_dtypes.bfloat16, np.float16)
MODES = ("clip", "fill", "promise_in_bounds")


def sliced(lax, x, i, j):
    """A window whose place is computed."""
    return lax.dynamic_slice(x, (i, j), (2, 3))


def updated(lax, x, u, i, j):
    """A window replaced."""
    return lax.dynamic_update_slice(x, u, (i, j))


def nested(lax, x, i):
    """A slice of a slice: each start is moved to fit its own operand."""
    return lax.dynamic_slice(lax.dynamic_slice(x, (i,), (3,)), (i,), (2,))


def ds(name, fun, *args, diff=(0,), **options):
    """A dynamic_slice."""
    return Case(f"dynamic_slice {name}", "dynamic_slice", fun, args, diff, **options)


def dus(name, fun, *args, diff=(0, 1), **options):
    """A dynamic_update_slice."""
    return Case(f"dynamic_update_slice {name}", "dynamic_update_slice", fun, args, diff, **options)


SLICES = [
    ds("inside", sliced, X, ONE, ONE),
    ds("moved to fit", sliced, X, ONE, THREE),
    ds("negative", sliced, X, np.array(-9, I32), np.array(-1, I32)),
    ds("unsigned", sliced, X, np.array(1, np.uint8), np.array(200, np.uint8)),
    ds("fixed", lambda lax, x: lax.dynamic_slice(x, (1, -1), (2, 3)), X),
    ds("weak", lambda lax, x, i: lax.dynamic_slice(x, (i, 0), (2, 3)), X, 1),
    ds("of a scalar", lambda lax, x: lax.dynamic_slice(x, (), ()), np.array(1, F)),
    ds("empty", lambda lax, x, i: lax.dynamic_slice(x, (i, i), (0, 3)), X, ONE),
    ds("nested", nested, V, np.array(2, I32)),
    ds(
        "without negatives",
        lambda lax, x, i: lax.dynamic_slice(x, (i,), (2,), allow_negative_indices=False),
        V,
        np.array(4, I32),
    ),
    ds("in_dim", lambda lax, x, i: lax.dynamic_slice_in_dim(x, i, 2, 1), X, ONE),
    ds(
        "index_in_dim",  # a jit in the oracle
        lambda lax, x, i: lax.dynamic_index_in_dim(x, i, 1, False),
        X,
        ONE,
        printed=False,
    ),
    ds(
        "vector of starts",
        lambda lax, x, i: lax.dynamic_slice(x, i, (2, 3)),
        X,
        np.array([1, 3], I32),
        printed=False,
    ),
    *[ds(str(np.dtype(d)), sliced, X.astype(d), ONE, THREE, diff=()) for d in DTYPES],
    dus("inside", updated, X, X[:2, :3] + 50, ONE, ONE),
    dus("moved to fit", updated, X, X[:2, :3] + 50, ONE, THREE),
    dus("fixed", lambda lax, x, u: lax.dynamic_update_slice(x, u, (1, 3)), X, X[:2, :3] + 50),
    dus(
        "of a scalar",
        lambda lax, x, u: lax.dynamic_update_slice(x, u, ()),
        np.array(1, F),
        np.array(2, F),
    ),
    dus(
        "in_dim",
        lambda lax, x, u, i: lax.dynamic_update_slice_in_dim(x, u, i, 1),
        X,
        X[:, :2] + 50,
        np.array(-1, I32),
    ),
    dus(
        "index_in_dim",  # a jit in the oracle
        lambda lax, x, u, i: lax.dynamic_update_index_in_dim(x, u, i, 1),
        X,
        X[:, 0] + 50,
        np.array(-1, I32),
        printed=False,
    ),
    *[
        dus(str(np.dtype(d)), updated, X.astype(d), X[:2, :3].astype(d), ONE, THREE, diff=())
        for d in DTYPES
    ],
]

# ---- gather -------------------------------------------------------------------------------------

ROWS = ((1,), (0,), (0,))  # whole rows
WINDOWS = ((0, 2), (), (1, 0))  # 2 by 3 windows, their axes around the batch axis
ELEMENTS = ((), (0, 1), (0, 1))
BY_ROW = ((), (1,), (1,), (0,), (0,))  # one element of each row: a batching axis
WHOLE = ((0, 1), (), ())

INSIDE = np.array([[0], [2], [2]], I32)
OUTSIDE = np.array([[0], [3], [-1]], I32)
PLACES = np.array([[[0, 1], [1, 3]], [[2, 2], [2, 2]]], I32)
IN_ROWS = np.array([[[0], [1]], [[3], [3]], [[2], [2]]], I32)


def gather(name, numbers, sizes, x, indices, diff=(0,), **options):
    """A gather."""

    def fun(lax, x, indices):
        dims = lax.GatherDimensionNumbers(*numbers)
        return lax.gather(x, indices, dims, sizes, **options)

    return Case(f"gather {name}", "gather", fun, (x, indices), diff)


def take(lax, x, i, j):
    """index_take, whose remainder is a jit in the oracle."""
    return lax.index_take(x, (i, j), (0, 1))


# derivatives are not asked for where NaN is read
FILL = {"fill": {"fill_value": 7}}
CORNERS = {"promise_in_bounds": np.array([[0, 1], [1, 1]], I32)}
GATHERS = [
    *[
        case
        for mode in MODES
        for case in (
            gather(
                f"rows {mode}",
                ROWS,
                (1, 4),
                X,
                INSIDE if mode == "promise_in_bounds" else OUTSIDE,
                mode=mode,
                **FILL.get(mode, {}),
            ),
            gather(
                f"windows {mode}",
                WINDOWS,
                (2, 3),
                X,
                CORNERS.get(mode, np.array([[0, 1], [1, 1], [5, 5]], I32)),
                mode=mode,
                **FILL.get(mode, {}),
            ),
            gather(f"elements {mode}", ELEMENTS, (1, 1), X, PLACES, mode=mode),
            gather(f"in each row {mode}", BY_ROW, (1, 1), X, IN_ROWS, mode=mode),
        )
    ],
    gather("default fill value", ROWS, (1, 4), X, OUTSIDE, (), mode="fill"),
    gather(
        "promises",
        ROWS,
        (1, 4),
        X,
        INSIDE[:2],
        mode="fill",
        unique_indices=True,
        indices_are_sorted=True,
    ),
    gather("unsigned indices", ROWS, (1, 4), X, INSIDE.astype(np.uint32), mode="fill"),
    gather("small indices", ROWS, (1, 4), X, OUTSIDE.astype(np.int8), mode="clip"),
    gather("everything", WHOLE, (3, 4), X, np.zeros((2, 0), I32)),
    gather("no index", ROWS, (1, 4), X, np.zeros((0, 1), I32)),
    gather("empty window", ((0, 1), (), (0,)), (0, 4), X, np.zeros((3, 1), I32)),
    *[
        gather(str(np.dtype(d)), ROWS, (1, 4), X.astype(d), OUTSIDE, (), mode="fill")
        for d in DTYPES
    ],
    Case(
        "index_take",
        "gather",
        take,
        (X, np.array([1, -1, 5], I32), np.array([1, -1, 5], I32)),
        (0,),
        printed=False,
    ),
]

# ---- scatters -----------------------------------------------------------------------------------

U = np.array([[1, -2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 0.5]], F)


def scatter(kind, name, numbers, x, indices, updates, diff=(0, 2), **options):
    """A scatter of some kind."""

    def fun(lax, x, indices, updates):
        dims = lax.ScatterDimensionNumbers(*numbers)
        return getattr(lax, kind)(x, indices, updates, dims, **options)

    order2 = kind != "scatter_mul"  # of which the oracle knows no second derivative
    # rolled updates tie differently where finite differences step over a kink
    return Case(
        f"{kind} {name}",
        kind.replace("_", "-"),
        fun,
        (x, indices, updates),
        diff,
        order2=order2,
        tol=1e-4,
    )


def scatters(kind):
    """What every kind of scatter is asked. scatter_mul has derivatives only if nothing overlaps."""
    single = kind == "scatter_mul"
    indices = np.array([[2], [0], [1]], I32) if single else INSIDE
    outside = np.array([[2], [7], [0]], I32)
    n = 1 if single else 2
    corners = np.array([[0, 1], [1, 0]], I32)[:n]
    blocks = np.arange(1, 1 + 6 * n, dtype=F).reshape(2, n, 3) * 1.3
    unique = {"unique_indices": single}
    yield scatter(kind, "rows", ROWS, X, indices, U, **unique)
    yield scatter(kind, "drop", ROWS, X, outside, U, mode="drop", **unique)
    # the oracle's derivative of scatter_min and scatter_max does not see what was moved inside
    clipped = {"scatter_mul": np.array([[2], [-3]], I32)}.get(kind, outside)
    clipped = indices if kind in ("scatter_min", "scatter_max") else clipped
    yield scatter(kind, "clip", ROWS, X, clipped, U[: len(clipped)], mode="clip", **unique)
    yield scatter(kind, "promise", ROWS, X, indices, U, mode="promise_in_bounds", **unique)
    yield scatter(
        kind,
        "promises",
        ROWS,
        X,
        INSIDE[:2],
        U[:2],
        unique_indices=True,
        indices_are_sorted=True,
    )
    yield scatter(kind, "windows", WINDOWS, X, corners, blocks, **unique)
    by_row = np.array([[0], [3], [2]], I32)
    yield scatter(kind, "in each row", BY_ROW, X, by_row, U[:, 1], **unique)
    yield scatter(kind, "everything", ((1, 2), (), ()), X, np.zeros((n, 0), I32),
                  np.stack([U + 1, U * 2])[:n], **unique)  # fmt: skip
    yield scatter(kind, "nothing", ROWS, X, np.zeros((0, 1), I32), U[:0], (0,), **unique)
    for d in DTYPES:
        if kind in ("scatter_min", "scatter_max") and d is np.complex64:
            continue
        if kind in ("scatter_add", "scatter_sub", "scatter_mul") and d is np.bool_:
            continue
        x, u = X.astype(d), np.abs(U).astype(d)
        yield scatter(kind, str(np.dtype(d)), ROWS, x, INSIDE, u, ())


KINDS = ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max")


def applied(lax, x, indices):
    """A function applied at places, twice where they repeat."""
    dims = lax.ScatterDimensionNumbers(*ELEMENTS)
    return lax.scatter_apply(x, indices, lax.square, dims, update_shape=(3,))


CASES = [
    *SLICES,
    *GATHERS,
    *[case for kind in KINDS for case in scatters(kind)],
    Case("scatter_apply", "scatter", applied, (X, np.array([[0, 1], [2, 2], [2, 2]], I32))),
]
