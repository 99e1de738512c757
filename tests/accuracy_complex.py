"""How far functions of complex numbers are from the exact values: distances relative to the size of
the value, in units of the real format's last place (2**-24 or 2**-53)."""

import mpmath
import numpy as np
from accuracy import PRECISION

FUNCTIONS = {
    "exp": mpmath.exp, "expm1": lambda z: mpmath.exp(z) - 1, "log": mpmath.log,
    "log1p": lambda z: mpmath.log(1 + z), "sin": mpmath.sin, "cos": mpmath.cos,
    "tanh": mpmath.tanh, "sqrt": mpmath.sqrt, "abs": abs, "square": lambda z: z * z,
}  # fmt: skip
ARITHMETIC = {"mul": lambda z, w: z * w, "div": lambda z, w: z / w}
LIMIT = 8


def dtype_of(form):
    """The complex dtype of a real format."""
    return np.dtype(f"c{2 * form.dtype.itemsize}")


def points(form, n, rng):
    """Numbers in every direction from 0 and from 1, at distances from 2e-9 to 50."""
    distance = np.exp(rng.uniform(-20, 4, n))
    z = distance * np.exp(1j * rng.uniform(-np.pi, np.pi, n))
    return (z + np.arange(n) % 2).astype(dtype_of(form))


def errors(name, form, run, n):
    """The errors of a world's function at n points, and the points."""
    exact = FUNCTIONS.get(name) or ARITHMETIC[name]
    rng = np.random.default_rng(0)
    args = [points(form, n, rng) for _ in range(1 if name in FUNCTIONS else 2)]
    got = np.asarray(run(*args))
    with mpmath.workprec(PRECISION):
        rows = [[mpmath.mpc(complex(z)) for z in row] for row in zip(*args)]
        values = [exact(*row) for row in rows]
        found = [abs(mpmath.mpc(complex(g)) - v) / abs(v) for g, v in zip(got, values)]
    return np.array(found, float) * 2.0**form.digits, args


# ---- the table of docs/accuracy.md ---------------------------------------------------------------

PAGE = """### Complex numbers

The distance of a complex result from the exact one, relative to the size of that, in units of
2**-24 (complex64) and 2**-53 (complex128): the largest of {count:,} numbers, at distances from
2e-9 to 50 from 0 and from 1 in every direction. The tests allow kernels {limit}.

| function | complex64: kernel | eager | JAX | complex128: kernel | eager | JAX |
|---|--:|--:|--:|--:|--:|--:|
"""
COUNT = 2000


def table(worlds, forms):
    """The lines of the table; worlds: from the name of a function to the function."""
    lines = PAGE.format(count=COUNT, limit=LIMIT).splitlines()
    for name in (*FUNCTIONS, *ARITHMETIC):
        cells = []
        for form in forms:
            for world in worlds:
                error = errors(name, form, world(name), COUNT)[0].max()
                cells.append(f"{error:.1f}" if error < 1000 else f"{error:.1g}")
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return [*lines, ""]
