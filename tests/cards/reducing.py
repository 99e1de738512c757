"""Cases: reductions, the places of extremes, cumulative operations."""

import ml_dtypes
import numpy as np

from cards import Case

F, BF = np.float32, ml_dtypes.bfloat16
RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 4)).astype(F)
ZEROS = np.where(RNG.random((2, 3, 4)) < 0.3, 0, X).astype(F)
INTS = RNG.integers(-5, 9, (2, 3, 4)).astype(np.int32)
BYTES = INTS.astype(np.uint8)
REDUCTIONS = ("reduce_prod", "reduce_max", "reduce_min")
LOGICAL = ("reduce_and", "reduce_or", "reduce_xor")
CUMULATIVE = ("cumsum", "cumprod", "cummax", "cummin")


def case(prim, name, fun, *args, diff=(0,), **options):
    """A case of this file."""
    return Case(f"{prim} {name}", prim, fun, args, diff, **options)


def over(name, *axes):
    """A reduction over axes."""
    return lambda lax, x: getattr(lax, name)(x, axes)


def place(name, axis, dtype=np.int32):
    """The place of an extreme."""
    return lambda lax, x: getattr(lax, name)(x, axis, dtype)


def running(name, axis, reverse=False):
    """A cumulative operation."""
    return lambda lax, x: getattr(lax, name)(x, axis=axis, reverse=reverse)


REDUCED = [
    *[case(n, f"axes {axes}", over(n, *axes), X, tol=5e-5)
      for n in REDUCTIONS for axes in ((0,), (0, 1, 2))],
    *[case(n, f"axes {axes}", over(n, *axes), X, tol=5e-5, printed=n != "reduce_prod")
      for n in REDUCTIONS for axes in ((1,), (0, 2))],
    *[case(n, "no axes", over(n), X, diff=()) for n in REDUCTIONS],
    *[case(n, "number", over(n), 0.5, diff=()) for n in REDUCTIONS],
    *[case(n, "nothing", over(n, 0), X[:0], diff=()) for n in REDUCTIONS],
    *[case(n, x.dtype.name, over(n, 1), x, diff=())
      for n in REDUCTIONS for x in (INTS, BYTES, X.astype(BF))],
    *[case(n, "bool", over(n, 1), INTS > 0, diff=()) for n in ("reduce_max", "reduce_min")],
    *[case(n, "ties", over(n, 1), np.ones((2, 3), np.float16), order2=False,
           printed=False)  # we count ties of halves in float32
      for n in ("reduce_max", "reduce_min")],
    case("reduce_prod", "zeros", over("reduce_prod", 0, 1), ZEROS, printed=False),
    case("reduce_prod", "complex", over("reduce_prod", 0), X + 1j * X[::-1], tol=5e-5),
    *[case(n, f"{x.dtype.name} {axes}", over(n, *axes), x, diff=())
      for n in LOGICAL for axes, x in (((0,), INTS), ((1, 2), BYTES), ((1,), INTS > 0))],
    case("reduce_max", "by reduce", lambda lax, x: lax.reduce(x, -np.inf, lax.max, (0,)), X),
    case("reduce_prod", "by reduce", lambda lax, x: lax.reduce(x, F(1), lax.mul, (0,)), X),
]  # fmt: skip

PLACES = [
    *[case(n, f"axis {axis}", place(n, axis), X, diff=())
      for n in ("argmax", "argmin") for axis in (0, 1, 2)],
    *[case(n, x.dtype.name, place(n, 1), x, diff=())
      for n in ("argmax", "argmin") for x in (INTS, BYTES, X.astype(BF), INTS > 0)],
    *[case(n, "uint8 places", place(n, 2, np.uint8), X, diff=()) for n in ("argmax", "argmin")],
    *[case(n, "nan", place(n, 0), np.array([1, np.nan, 3, np.nan], F), diff=())
      for n in ("argmax", "argmin")],
]  # fmt: skip

RUNNING = [
    *[case(n, f"axis {axis} {'up' if not back else 'down'}", running(n, axis, back), X, tol=5e-5)
      for n in CUMULATIVE for axis, back in ((0, False), (1, True), (2, False))],
    *[case(n, "int32", running(n, 1), INTS, diff=()) for n in CUMULATIVE],
    *[case(n, "bfloat16", running(n, 1), X.astype(BF), diff=()) for n in CUMULATIVE],
    *[case(n, "nothing", running(n, 0), X[:0], diff=()) for n in CUMULATIVE],
    *[case(n, f"length {k}", running(n, 0), X.ravel()[:k], tol=5e-5)
      for n in CUMULATIVE for k in (1, 8)],
    case("cumprod", "zeros", running("cumprod", 1), ZEROS),
    case("cumprod", "complex", running("cumprod", 1), X + 1j * X[::-1], tol=5e-5),
    *[case("cumlogsumexp", f"axis {axis} {'up' if not back else 'down'}",
           running("cumlogsumexp", axis, back), X, printed=False, tol=5e-5)
      for axis, back in ((1, False), (2, False), (1, True))],
]  # fmt: skip

CASES = [*REDUCED, *PLACES, *RUNNING]
