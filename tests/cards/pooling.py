"""Cases of sums, maxima and minima of windows; the cards of selection appear in derivatives."""

import jax
import numpy as np

import tinyjax
from cards import Case

RNG = np.random.default_rng(11)


def x(*shape):
    """Random numbers, all different."""
    n = int(np.prod(shape))
    return (RNG.permutation(n) / n - 0.4).reshape(shape).astype(np.float32)


def window(name, kind, operand, *args, **settings):
    """reduce_window in three ways."""
    start = {"add": 0.0, "max": -np.inf, "min": np.inf}[kind]
    prim = {"add": "reduce_window_sum"}.get(kind, f"reduce_window_{kind}")
    return Case(
        f"{prim} {name}",
        prim,
        lambda lax, a: lax.reduce_window(a, start, getattr(lax, kind), *args, **settings),
        (operand,),
        (0,),
    )


X, Y = x(4, 5), x(4, 5)
SETTINGS = {
    "valid": (X, (2, 2), (1, 2), "VALID"),
    "same": (X, (2, 3), (1, 2), "SAME"),
    "overlapping": (x(7), (3,), (1,), "SAME_LOWER"),
    "padded": (X, (2, 2), (2, 2), ((1, 2), (0, 1))),
    "cropped": (X, (2, 2), (1, 1), ((-1, 0), (0, -1))),
    "too large": (x(2), (3,), (1,), "VALID"),
    "no axes": (np.float32(2.5) * np.ones((), np.float32), (), (), ()),
}


def tangent_of(kind, **settings):
    """The tangent of a maximum or minimum: select_and_gather_add."""

    def fun(lax, t, a):
        world = WORLDS[lax.__name__.split(".")[0]]
        start = {"max": -np.inf, "min": np.inf}[kind]
        f = lambda a: lax.reduce_window(a, start, getattr(lax, kind), **settings)
        return world.jvp(f, (a,), (t,))[1]

    return fun


def cotangent_of(kind, **settings):
    """The cotangent of a maximum or minimum: select_and_scatter_add."""

    def fun(lax, t, a):
        if t.dtype != a.dtype:
            raise TypeError("both or none are double")
        world = WORLDS[lax.__name__.split(".")[0]]
        start = {"max": -np.inf, "min": np.inf}[kind]
        f = lambda a: lax.reduce_window(a, start, getattr(lax, kind), **settings)
        return world.vjp(f, a)[1](t)[0]

    return fun


WORLDS = {"jax": jax, "tinyjax": tinyjax}
SMALL = {"window_dimensions": (2, 2), "window_strides": (1, 2)}
CASES = [
    # the oracle crashes when it takes maxima of cropped arrays apart, or of no windows
    *(window(name, kind, *args) for kind in ("add", "max", "min")
      for name, args in SETTINGS.items()
      if kind == "add" or name not in ("cropped", "too large", "no axes")),
    window("dilated windows", "add", X, (2, 2), (1, 1), "VALID", window_dilation=(2, 3)),
    window("dilated operand", "add", X, (2, 3), (1, 2), ((0, 0), (1, 1)), base_dilation=(2, 3)),
    window("dilated operand", "max", X, (2, 3), (1, 2), ((0, 0), (0, 0)), base_dilation=(1, 2)),
    Case("reduce_window_sum of ints", "reduce_window_sum",
         lambda lax, a: lax.reduce_window(a, 0, lax.add, (2,), (1,), "SAME"),
         (np.array([3, -1, 100, 7], np.int8),)),
    Case("reduce_window_max of ints", "reduce_window_max",
         lambda lax, a: lax.reduce_window(a, np.int32(-(2**31)), lax.max, (2,), (1,), "SAME"),
         (np.array([3, -1, 100, 7], np.int32),)),
    Case("reduce_window_min of halves", "reduce_window_min",
         lambda lax, a: lax.reduce_window(a, np.float16(np.inf), lax.min, (2,), (1,), "SAME"),
         (np.array([3, -1, 100, 7], np.float16),), (0,)),
    *(Case(f"select_and_gather_add {k}", "select_and_gather_add", tangent_of(k, **SMALL),
           (Y, X), (0,), printed=False) for k in ("max", "min")),
    Case("select_and_gather_add padded", "select_and_gather_add",
         tangent_of("max", **SMALL, padding="SAME", window_dilation=(2, 1)),
         (Y, X), printed=False),
    *(Case(f"select_and_scatter_add {k}", "select_and_scatter_add",
           cotangent_of(k, **SMALL), (x(3, 2), X), (0,), printed=False)
      for k in ("max", "min")),
    Case("select_and_scatter_add padded", "select_and_scatter_add",
         cotangent_of("max", **SMALL, padding="SAME"), (x(4, 3), X), (0,), printed=False),
]  # fmt: skip
