"""Cases: sort, sort_key_val, top_k."""

import ml_dtypes
import numpy as np

from cards import Case

F, BF = np.float32, ml_dtypes.bfloat16
RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 4)).astype(F)
TIES = RNG.integers(0, 3, (2, 3, 4)).astype(F)
KEYS = TIES.astype(np.int32)
ODD = np.array([0, -0.0, 1, np.nan, -np.nan, -np.inf, np.inf, np.nan, -1, 0, -0.0], F)
ORDER = np.arange(ODD.size, dtype=np.int32)


def case(prim, name, fun, *args, diff=(0,), **options):
    """A case of this file."""
    return Case(f"{prim} {name}", prim, fun, args, diff, **options)


def sorted_along(axis, **options):
    """Sort along an axis."""
    return lambda lax, *xs: lax.sort(xs if len(xs) > 1 else xs[0], dimension=axis, **options)


def greatest(k, axis=-1):
    """The k greatest."""
    return lambda lax, x: lax.top_k(x, k, axis=axis)


CASES = [
    *[case("sort", f"axis {axis}", sorted_along(axis), X) for axis in (0, 1, 2, -1)],
    *[case("sort", f"ties {axis}", sorted_along(axis), TIES, diff=()) for axis in (0, 2)],
    *[case("sort", f"two {axis}", sorted_along(axis), TIES, X, diff=(1,)) for axis in (0, 1)],
    case("sort", "two tangents", sorted_along(1), X, X[::-1], diff=(0, 1)),
    case("sort", "int keys", sorted_along(1), KEYS, X, diff=(1,)),
    case("sort", "two keys", sorted_along(1, num_keys=2), KEYS, X, TIES, diff=(1, 2)),
    case("sort", "unstable", sorted_along(1, is_stable=False), X),
    case("sort", "nothing", sorted_along(0), X[:0], diff=()),
    case("sort", "key_val", lambda lax, k, x: lax.sort_key_val(k, x, dimension=1), KEYS, X,
         diff=(1,)),
    *[case("sort", f"odd {np.dtype(d).name}", sorted_along(0), ODD.astype(d), ORDER, diff=())
      for d in (F, np.float16, BF, np.complex64)],
    *[case("sort", np.dtype(d).name, sorted_along(0), KEYS.astype(d), diff=())
      for d in (np.int8, np.uint8, bool, BF)],
    *[case("top_k", f"{k} along {axis}", greatest(k, axis), X)
      for k, axis in ((0, 2), (1, 1), (2, 0), (3, -1))],
    *[case("top_k", f"ties {k}", greatest(k), TIES, diff=()) for k in (1, 4)],
    *[case("top_k", f"odd {np.dtype(d).name}", greatest(9), ODD.astype(d), diff=())
      for d in (F, np.float16, BF)],
    *[case("top_k", np.dtype(d).name, greatest(2), KEYS.astype(d), diff=())
      for d in (np.int32, np.int8, np.uint8)],
]  # fmt: skip
