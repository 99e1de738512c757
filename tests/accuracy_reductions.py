"""How far reductions of ten million float32 numbers are from their values in double precision.

Errors are relative: of sums, means, dot products and cumulative sums to the same of the absolute
values (which no order of additions can change much), else to the result.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np
from tqdm import tqdm

import tinyjax

COUNT = 10_000_000
LINE = 1_000_000  # the length of rows and columns
SHAPES = {"full": (COUNT,), "columns": (LINE, COUNT // LINE), "rows": (COUNT // LINE, LINE)}
AXES = {"full": None, "columns": 0, "rows": 1}  # the axis that is reduced
LIMIT = 1e-6

# ---- numbers -------------------------------------------------------------------------------------


def positive(rng, shape):
    """Uniform between 0 and 1: a running float32 sum soon loses the digits of its terms."""
    return rng.random(shape, np.float32)


def normal(rng, shape):
    """Both signs, a sum of about the root of their number."""
    return rng.standard_normal(shape, np.float32)


def alike(rng, shape):
    """Nearly equal ones: their rounding errors do not cancel."""
    return rng.random(shape, np.float32) * np.float32(0.01) + np.float32(1000.0)


def alternating(rng, shape):
    """Large numbers that cancel along every axis."""
    x = alike(rng, shape)
    odd = sum(np.ogrid[tuple(map(slice, shape))]) % 2
    return np.where(odd, -x, x)


NUMBERS = {f.__name__: f for f in (positive, normal, alike, alternating)}

# ---- reductions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reduction:
    """A reduction in jnp, its value in double precision, what errors are relative to, and the
    loop of a beginner (float32 throughout, one element after another)."""

    name: str
    program: Callable  # of jnp, x, axis
    exact: Callable  # of x in double precision, axis
    scale: Callable  # the same
    naive: Callable  # of float32 x, axis
    numbers: tuple = ("positive", "normal")
    prepare: Callable = lambda x: x
    ways: tuple = tuple(SHAPES)


def running(x, axis):
    """A sum in float32, one element after another."""
    if axis is None:
        return np.cumsum(x, dtype=np.float32)[-1]
    return np.take(np.cumsum(x, axis, dtype=np.float32), -1, axis)


def length(x, axis):
    """How many elements one result has."""
    return x.size if axis is None else x.shape[axis]


def centred_squares(x, axis):
    """Squares of distances from the running mean."""
    mean = running(x, axis) / np.float32(length(x, axis))
    return np.square(x - (mean if axis is None else np.expand_dims(mean, axis)))


def total(x, axis):
    """Sum in the precision of x."""
    return np.sum(x, axis)


def log_of_total(x, axis):
    """log(sum(exp(x)))."""
    return np.log(np.sum(np.exp(x), axis))


def logsumexp(jnp, x, axis):
    """As `jax.nn.logsumexp`."""
    return (tinyjax if jnp is tinyjax.numpy else jax).nn.logsumexp(x, axis)


def of_all(x, axis):
    """The cumulative sums of everything, or along an axis."""
    return np.cumsum(x, axis)


REDUCTIONS = [
    Reduction("sum", lambda jnp, x, axis: jnp.sum(x, axis), total,
              lambda x, axis: total(np.abs(x), axis), running, numbers=tuple(NUMBERS)),
    Reduction("mean", lambda jnp, x, axis: jnp.mean(x, axis), np.mean,
              lambda x, axis: np.mean(np.abs(x), axis),
              lambda x, axis: running(x, axis) / np.float32(length(x, axis))),
    Reduction("var", lambda jnp, x, axis: jnp.var(x, axis), np.var, np.var,
              lambda x, axis: running(centred_squares(x, axis), axis)
              / np.float32(length(x, axis))),
    Reduction("sum of products", lambda jnp, x, axis: jnp.sum(x * x[::-1], axis),
              lambda x, axis: total(x * x[::-1], axis),
              lambda x, axis: total(np.abs(x * x[::-1]), axis),
              lambda x, axis: running(x * x[::-1], axis), numbers=tuple(NUMBERS)),
    Reduction("dot", lambda jnp, x, axis: jnp.dot(x, x[::-1]), lambda x, axis: np.dot(x, x[::-1]),
              lambda x, axis: np.dot(np.abs(x), np.abs(x[::-1])),
              lambda x, axis: running(x * x[::-1], axis), ways=("full",),
              numbers=tuple(NUMBERS)),
    Reduction("cumsum", lambda jnp, x, axis: jnp.cumsum(x, axis), of_all,
              lambda x, axis: of_all(np.abs(x), axis),
              lambda x, axis: np.cumsum(x, axis, dtype=np.float32)),
    Reduction("logsumexp", logsumexp, log_of_total,
              lambda x, axis: np.maximum(np.abs(log_of_total(x, axis)), 1.0),
              lambda x, axis: np.log(running(np.exp(x), axis))),
    Reduction("prod", lambda jnp, x, axis: jnp.prod(x, axis), np.prod, np.prod,
              lambda x, axis: np.take(np.cumprod(x, axis), -1, axis), numbers=("normal",),
              prepare=lambda x: np.exp(x * np.float32(1e-4))),
]  # fmt: skip


def relative_errors(reduction, x, axis, *results):
    """The largest errors of some results."""
    wide = x.astype(np.float64)
    scale, exact = np.abs(reduction.scale(wide, axis)), reduction.exact(wide, axis)
    return [float(np.max(np.abs(np.asarray(r, np.float64) - exact) / scale)) for r in results]


def cases():
    """What to measure: (reduction, numbers, way)."""
    return [(r, kind, way) for r in REDUCTIONS for kind in r.numbers for way in r.ways]


@functools.lru_cache(1)
def drawn(kind, way):
    """Ten million numbers."""
    return NUMBERS[kind](np.random.default_rng(0), SHAPES[way])


def operand(reduction, kind, way):
    """Ten million numbers for a reduction."""
    return reduction.prepare(drawn(kind, way))


# ---- the table of docs/accuracy.md ---------------------------------------------------------------

PAGE = """## Reductions

The largest relative error of reductions of ten million float32 numbers: of all of them, of columns
and of rows of a million. It is relative to the same sum of absolute values, else to the result.
"Positive" numbers are uniform between 0 and 1, "normal" ones have both signs, "alike" ones are
between 1000 and 1000.01, "alternating" ones have these sizes and a sign that changes from each to
the next. "Loop" is a float32 loop that takes one element after another. A
compiled kernel, which eager mode takes, too, for so many, adds up blocks in single precision and
the blocks in double precision. The tests allow it {limit:g}.

| reduction | numbers | kernel | JAX | loop |
|---|---|--:|--:|--:|
"""


def measured(reduction, kind, way):
    """The errors of a kernel, of JAX and of the loop."""
    x, axis = operand(reduction, kind, way), AXES[way]
    results = (
        tinyjax.jit(lambda x: reduction.program(tinyjax.numpy, x, axis))(x),
        jax.jit(lambda x: reduction.program(jax.numpy, x, axis))(x),
        reduction.naive(x, axis),
    )
    return relative_errors(reduction, x, axis, *results)


def table():
    """The lines of the table."""
    lines = PAGE.format(limit=LIMIT).splitlines()
    rows = [(r, kind) for r in REDUCTIONS for kind in r.numbers]
    for reduction, kind in tqdm(rows, desc="reductions", disable=None):
        errors = np.max([measured(reduction, kind, way) for way in reduction.ways], axis=0)
        cells = " | ".join(f"{e:.1e}" if e else "0" for e in errors)
        lines.append(f"| {reduction.name} | {kind} | {cells} |")
    return lines
