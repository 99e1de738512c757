"""Cases: collectives along the axis of a vmap, where they become ordinary operations.

What they do on devices, and all their options: tests/test_collectives.py.
"""

import numpy as np

from cards import Case

F = np.float32
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 3, 6)).astype(F)
INTS = RNG.integers(-5, 9, (3, 3, 6)).astype(np.int32)
TURN = [(0, 1), (1, 2), (2, 0)]


def along(name, *args, axis=0, **options):
    """A collective along one axis of its operand."""

    def fun(world, x):
        f = lambda v: getattr(world.lax, name)(v, "i", *args, **options)
        return world.vmap(f, axis, axis_name="i")(x)

    return fun


def case(prim, name, fun, x=X, diff=(0,), **options):
    """A case of this file. prim: what the collective becomes."""
    return Case(f"{name} along a batch", prim, fun, (x,), diff, ns="world", **options)


CASES = [
    case("psum", "psum", along("psum"), tol=5e-5),
    case("psum", "psum over axis 1", along("psum", axis=1), tol=5e-5),
    case("psum", "psum of integers", along("psum"), INTS, ()),
    case("psum", "psum of booleans", along("psum"), INTS > 2, ()),
    case("psum", "pmean", along("pmean"), tol=5e-5),
    *[case(f, f"{f} {n}", along(f, axis=a), x, ())
      for f in ("pmax", "pmin") for n, a, x in (("", 0, X), ("1", 1, X), ("of integers", 2, INTS))],
    case("broadcast_in_dim", "all_gather", along("all_gather")),
    case("reshape", "all_gather tiled", along("all_gather", axis=2, tiled=True)),
    case("reduce_sum", "psum_scatter", along("psum_scatter"), tol=5e-5),
    case("reshape", "psum_scatter tiled",
         along("psum_scatter", scatter_dimension=1, tiled=True), tol=5e-5),
    case("transpose", "all_to_all", along("all_to_all", 0, 1)),
    case("transpose", "all_to_all tiled", along("all_to_all", 1, 0, tiled=True)),
    case("gather", "ppermute", along("ppermute", TURN)),
    case("iota", "axis_index", lambda world, x: world.vmap(
        lambda v: v * world.lax.axis_index("i"), axis_name="i")(x)),
]  # fmt: skip
