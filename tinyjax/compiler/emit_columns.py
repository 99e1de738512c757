"""Reductions over leading or middle axes: every element is added to the one that it belongs to.

Sums of many rows are exact to about 1e-7, too: 64 rows are added up in single precision, and these
partial sums in double precision.
"""

import math

from tinyjax.compiler.index import read
from tinyjax.compiler.reduce import (
    STEP,
    Sum,
    in_double,
    is_reduction,
    start,
    sum_loops,
    written_out,
)
from tinyjax.compiler.words import code_of

ROWS, COLUMNS = 64, 1024  # a tile's partial sums stay in the cache
FEW = 128  # elements that may be added up in single precision, one after the other


class Columns:
    """The reductions of one nest: where their results and partial results are."""

    def __init__(self, em, nest):
        self.em, self.nest = em, nest
        self.sums = [eqn for eqn in nest.eqns if is_reduction(eqn)]
        self.outs = [eqn.outvars[0] for eqn in self.sums]
        self.kept = [d for d in range(len(nest.shape)) if d not in nest.axes]
        count = math.prod(nest.shape[d] for d in nest.axes)
        self.double = [in_double(eqn) and count > FEW for eqn in self.sums]
        self.places = [em.storage(v) for v in self.outs]
        self.totals = [
            self.scratch(v, "_acc", "f64") if double else place
            for v, double, place in zip(self.outs, self.double, self.places)
        ]

    def scratch(self, var, suffix, code):
        """An array like a result."""
        kernel = self.em.kernel
        return kernel.scratch(kernel.namer(var) + suffix, code, var.aval.shape)

    def element(self, place, at):
        """The text of an element."""
        em = self.em
        return "x" if em.probing is not None else f"{place.name}[{em.kernel.flat(place, at)}]"

    def add(self, targets, idx, double):
        """The innermost lines: stores on the way, then one step of each reduction."""
        em = self.em
        em.stores(self.nest.eqns, idx)
        at = [idx[d] for d in self.kept]
        for eqn, place, wide in zip(self.sums, targets, double):
            value = read(em, eqn.invars[0], idx)
            old = self.element(place, at)
            if code_of(eqn.outvars[0].aval.dtype)[0] == "f" and eqn.primitive.name == "reduce_sum":
                step = f"{old} + f64({value})" if wide else f"{old} + {value}"
            else:
                step = STEP[eqn.primitive.name].format(old, value)
            em.store(place, at, step + em.comment(eqn))


def emit_columns(em, nest):
    """The loops of such a nest."""
    c = Columns(em, nest)
    if tiny_tail(c):
        return
    leading = nest.axes == tuple(range(len(nest.axes)))
    if all(c.double) and leading and in_tiles(c):
        return
    plain(c)


def tiny_tail(c):
    """Numbers for accumulators, where only a tiny axis follows the reduced ones. False if not."""
    em, shape = c.em, c.nest.shape
    if any(eqn.primitive.name.startswith("arg") for eqn in c.sums):
        return False
    groups, idx = em.analyse(shape, lambda idx: c.add(c.places, idx, [False] * len(c.sums)))
    loops, steps = written_out(shape, groups, idx)
    inner = [g for g in loops if g[0] not in c.kept]
    outer = loops[: len(loops) - len(inner)]
    if len(steps) < 2 or groups[-1][0] not in c.kept or any(g[0] not in c.kept for g in outer):
        return False
    em.open_loops(shape, outer)
    sums = [Sum(em, eqn, [at]) for eqn in c.sums for at in steps]
    names = sum_loops(em, shape, inner, sums, lambda: [em.stores(c.nest.eqns, at) for at in steps])
    targets = [(place, at) for place in c.places for at in steps]
    for name, (place, at) in zip(names, targets):
        em.store(place, [at[d] for d in c.kept], name)
    em.close_loops(outer)
    return True


def plain(c):
    """Element by element, in the order of memory."""
    em, shape = c.em, c.outs[0].aval.shape
    first = ["f64(0.0)" if wide else start(eqn) for eqn, wide in zip(c.sums, c.double)]

    def begin(idx):
        for place, text in zip(c.totals, first):
            em.store(place, idx, text)

    def end(idx):
        for place, total, wide in zip(c.places, c.totals, c.double):
            if wide:
                em.store(place, idx, f"f32({c.element(total, idx)})")

    em.over(shape, begin)
    em.over(c.nest.shape, lambda idx: c.add(c.totals, idx, c.double))
    if any(c.double):
        em.over(shape, end)


def in_tiles(c):
    """Tile by tile, in single precision over a few rows each. False if the loops are not two."""
    em, kernel, shape = c.em, c.em.kernel, c.nest.shape
    parts = [c.scratch(v, "_part", "f32") for v in c.outs]
    single = [False] * len(parts)
    groups, idx = em.analyse(shape, lambda idx: c.add(parts, idx, single))
    if [g[0] in c.kept for g in groups] != [False, True]:
        return False
    (rows, columns), at = groups, [idx[d] for d in c.kept]
    i, j = em.letter[rows[-1]], em.letter[columns[-1]]
    count, width = (math.prod(shape[d] for d in group) for group in groups)
    n, m = em.size(count), em.size(width)
    tiled = width > COLUMNS
    across = f"for {j} in range({m}):"
    if tiled:
        across = f"for {j} in range(tile*{COLUMNS}, minimum(tile*{COLUMNS} + {COLUMNS}, {m})):"
        kernel.open(f"for tile in range(({m} + {COLUMNS - 1}) // {COLUMNS}):")

    def each_column(line):
        kernel.open(across, columns)
        for part, total, place in zip(parts, c.totals, c.places):
            line(part, total, place)
        kernel.close()

    def begin(part, total, place):
        em.store(part, at, "f32(0.0)")
        em.store(total, at, "f64(0.0)")

    def add_up(part, total, place):
        em.store(total, at, f"{c.element(total, at)} + f64({c.element(part, at)})")
        em.store(part, at, "f32(0.0)")

    each_column(begin)
    kernel.open(f"for block in range(({n} + {ROWS - 1}) // {ROWS}):")
    bounds = f"block*{ROWS}, minimum(block*{ROWS} + {ROWS}, {n})"
    kernel.open(f"for {i} in range({bounds}):", rows)
    kernel.open(across, columns)
    c.add(parts, idx, single)
    kernel.close()
    kernel.close()
    each_column(add_up)
    kernel.close()
    each_column(lambda part, total, place: em.store(place, at, f"f32({c.element(total, at)})"))
    if tiled:
        kernel.close()
    return True
