"""Reductions of ten million float32 numbers, and how NaN and infinity go through reductions."""

import accuracy_reductions
import jax
import numpy as np
import pytest
from accuracy_reductions import AXES, LIMIT, REDUCTIONS, SHAPES

import tinyjax

BY_NAME = {r.name: r for r in REDUCTIONS}
CASES = sorted(  # by numbers, which are drawn once for all reductions
    ((kind, way, r.name) for r, kind, way in accuracy_reductions.cases())
)


@pytest.mark.parametrize("kind, way, name", CASES)
def test_ten_million_numbers(kind, way, name):
    """Near the double-precision value, and nearer than a loop in single precision."""
    reduction, axis = BY_NAME[name], AXES[way]
    x = accuracy_reductions.operand(reduction, kind, way)
    got = tinyjax.jit(lambda x: reduction.program(tinyjax.numpy, x, axis))(x)
    results = got, reduction.naive(x, axis)
    error, of_loop = accuracy_reductions.relative_errors(reduction, x, axis, *results)
    assert error <= LIMIT
    assert error < of_loop or of_loop < LIMIT / 10


# ---- infinities and NaN --------------------------------------------------------------------------

INF, NAN = np.inf, np.nan
ODD = {  # at which places of a long row there is something odd
    "nan": {5000: NAN}, "nan first": {0: NAN}, "nan last": {-1: NAN},
    "two nans": {9: NAN, 7000: NAN},
    "inf": {5000: INF}, "minus inf": {5000: -INF}, "both": {100: INF, 8000: -INF},
    "both near": {100: INF, 101: -INF}, "nan and inf": {20: INF, 6000: NAN},
    "all nan": {...: NAN}, "all inf": {...: INF}, "all minus": {...: -INF},
}  # fmt: skip
NAMES = ["sum", "mean", "prod", "max", "min", "argmax", "argmin", "sort", "argsort", "cumsum",
         "cumprod", "var", "nansum", "nanmax", "any", "all", "median"]  # fmt: skip


def with_odd_values(places, shape):
    """Numbers around 1 with odd ones in every second row or column."""
    x = np.random.default_rng(0).uniform(0.9, 1.1, shape).astype(np.float32)
    lines = x if len(shape) == 1 else x[::2]
    for place, value in places.items():
        lines[(..., place) if place is not ... else ...] = value
    return x


def oracle(name, program):
    """JAX, but NumPy for max and min: from 4096 elements on, JAX's may lose a NaN."""
    return program(np) if name in ("max", "min") else jax.jit(program(jax.numpy))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", ["all", "rows", "columns"])
def test_nan_and_infinity_go_through_as_in_the_oracle(name, layout):
    """Long enough for blocks, vector lanes and a rest; fused with what comes before and after."""
    length = 9001 if layout == "all" else 8301
    shape = (length,) if layout == "all" else (4, length)

    def program(jnp):
        axis = {"all": None, "rows": 1, "columns": 0}[layout]
        if layout == "all" and name in ("sort", "argsort"):
            axis = -1
        return lambda x: getattr(jnp, name)(x * 1, axis=axis)

    ours, theirs = tinyjax.jit(program(tinyjax.numpy)), oracle(name, program)
    for odd, places in ODD.items():
        x = with_odd_values(places, shape)
        x = np.ascontiguousarray(x.T) if layout == "columns" else x
        got, want = np.asarray(ours(x)), np.asarray(theirs(x))
        np.testing.assert_allclose(got, want, rtol=2e-4, err_msg=f"{name}, {odd}")


@pytest.mark.parametrize("n", [1, 2, 3, 15, 16, 17, 31, 33, 4095, 4096, 4097, 12289])
@pytest.mark.parametrize("name", ["sum", "max", "min", "argmax", "argmin", "prod", "cumsum"])
def test_a_nan_at_every_seam(name, n):
    """The first and last place of each vector register and block."""

    def run(jnp):
        return lambda x: getattr(jnp, name)(x)

    ours, theirs = tinyjax.jit(run(tinyjax.numpy)), oracle(name, run)
    for place in sorted({0, n // 2, n - 1, *(k for k in (15, 16, 31, 4095, 4096) if k < n)}):
        x = np.linspace(0.5, 1.5, n).astype(np.float32)
        x[place] = np.nan
        got, want = np.asarray(ours(x)), np.asarray(theirs(x))
        np.testing.assert_allclose(got, want, rtol=1e-5, err_msg=f"{name}, {n}, {place}")


FAR = 3_000_001  # elements, which both cores share
WAYS = {  # axis, shape
    "all": (None, (FAR,)), "row": (1, (2, FAR // 2)), "column": (0, (FAR // 2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "argmax", "argmin", "cumsum"])
def test_odd_values_in_the_share_of_either_core(name, way):
    """NumPy decides: a NaN anywhere, infinities that meet, equal extremes far apart."""
    axis, shape = WAYS[way]
    program = tinyjax.jit(lambda x: getattr(tinyjax.numpy, name)(x, axis=axis))
    calm = np.random.default_rng(0).uniform(0.9999, 1.0001, shape).astype(np.float32)
    for places in (
        *({k: NAN} for k in (0.01, 0.49, 0.51, 0.999)),
        {0.2: INF, 0.9: -INF},
        {0.3: NAN, 0.7: INF},
        {0.7: NAN, 0.8: NAN},
        {0.3: 2.0, 0.7: 2.0},
        {0.3: 0.5, 0.7: 0.5},
    ):
        x = calm.copy()
        for share, value in places.items():
            x.reshape(-1)[int(share * x.size)] = value
        wide = x if name.startswith("arg") else x.astype(np.float64)
        with np.errstate(all="ignore"):
            want = getattr(np, name)(wide, axis=axis)
        np.testing.assert_allclose(np.asarray(program(x)), want, rtol=1e-6, err_msg=str(places))


def test_the_shapes_have_ten_million_numbers():
    assert {np.prod(s) for s in SHAPES.values()} == {accuracy_reductions.COUNT}
