"""Reductions over leading or middle axes: every element is added to the one that it belongs to.

Sums of many rows are exact to about 1e-7, too: 128 rows are added up in single precision, and these
partial sums in double precision.
"""

import math

from tinyjax.compiler.index import Ix, read
from tinyjax.compiler.kernel import Place
from tinyjax.compiler.reduce import (
    STEP,
    Sum,
    in_double,
    is_reduction,
    start,
    sum_loops,
    written_out,
)
from tinyjax.compiler.words import code_of, inside

ROWS, COLUMNS = 128, 4096  # a tile's partial sums stay in the cache


class Columns:
    """The reductions of one nest: where their results are; the axes that are left."""

    def __init__(self, em, nest):
        self.em, self.nest, self.shape = em, nest, nest.shape
        self.sums = [eqn for eqn in nest.eqns if is_reduction(eqn)]
        self.outs = [eqn.outvars[0] for eqn in self.sums]
        self.kept = [d for d in range(len(nest.shape)) if d not in nest.axes]
        self.behind = [d for d in self.kept if d > nest.axes[-1]]
        self.double = list(map(in_double, self.sums))
        self.first = list(map(start, self.sums))
        self.places = [em.storage(v) for v in self.outs]

    def scratch(self, suffix, codes, shape, shared=False):
        """An array for each reduction."""
        kernel = self.em.kernel
        names = [kernel.namer(v) + suffix for v in self.outs]
        return [kernel.scratch(n, code, shape, shared) for n, code in zip(names, codes)]

    def element(self, place, at):
        """The text of an element."""
        em = self.em
        return "x" if em.probing is not None else f"{place.name}[{em.kernel.flat(place, at)}]"

    def results(self, idx):
        """Where the results are: (array, index) pairs."""
        return [(place, [idx[d] for d in self.kept]) for place in self.places]

    def add(self, targets, idx):
        """The innermost lines: stores on the way, then one step of each reduction."""
        em = self.em
        em.stores(self.nest.eqns, idx)
        for eqn, (place, at) in zip(self.sums, targets):
            value = read(em, eqn.invars[0], idx)
            self.step(eqn, place, at, value, em.comment(eqn))

    def step(self, eqn, place, at, value, comment=""):
        """One step of a reduction. The steps of one sum are far apart: their order may stay."""
        old, name = self.element(place, at), eqn.primitive.name
        if place.code == "f64" and in_double(eqn):
            value = f"f64({value})"
        plain = code_of(eqn.outvars[0].aval.dtype)[0] == "f" and name == "reduce_sum"
        text = f"{old} + {value}" if plain else STEP[name].format(old, value)
        self.em.store(place, at, text + comment)


def emit_columns(em, nest):
    """The loops of such a nest."""
    c = Columns(em, nest)
    if not (tiny_tail(c) or in_tiles(c)):
        plain(c)


def tiny_tail(c):
    """Numbers for accumulators, where only a tiny axis follows the reduced ones. False if not."""
    em, shape = c.em, c.shape
    if any(eqn.primitive.name.startswith("arg") for eqn in c.sums):
        return False
    groups, idx = em.analyse(shape, lambda idx: c.add(c.results(idx), idx))
    loops, steps = written_out(shape, groups, idx)
    inner = [g for g in loops if g[0] not in c.kept]
    outer = loops[: len(loops) - len(inner)]
    if len(steps) < 2 or groups[-1][0] not in c.kept or any(g[0] not in c.kept for g in outer):
        return False
    if not outer:
        em.kernel.stages[-1].divisible = False
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
    em.kernel.stages[-1].divisible = False
    totals = list(c.places)
    if any(c.double):
        wide = c.scratch("_acc", ["f64"] * len(totals), shape)
        totals = [w if double else t for w, t, double in zip(wide, totals, c.double)]

    def begin(idx):
        for place, text, double in zip(totals, c.first, c.double):
            em.store(place, idx, "f64(0.0)" if double else text)

    def end(idx):
        for place, total, double in zip(c.places, totals, c.double):
            if double:
                em.store(place, idx, f"f32({c.element(total, idx)})")

    em.over(shape, begin)
    em.over(c.shape, lambda idx: c.add([(t, [idx[d] for d in c.kept]) for t in totals], idx))
    if any(c.double):
        em.over(shape, end)


# ---- tiles --------------------------------------------------------------------------------------


def in_tiles(c):
    """Tile by tile, a few rows at a time. False if the loops do not fit."""
    em, shape = c.em, c.shape
    if not any(c.double) and c.nest.axes[0] > 0:
        return False

    def body(idx):
        c.add(c.results(idx), idx)
        for place in stand_ins:
            em.store(place, [idx[d] for d in c.behind], "x")

    stand_ins = [Place("", "", [shape[d] for d in c.behind])]
    groups, idx = em.analyse(shape, body)
    if [g[0] in c.kept for g in groups[-2:]] != [False, True]:
        return False
    if any(g[0] not in c.kept for g in groups[:-2]):
        return False
    tiles = Tiles(c, *groups[-2:], idx)
    if em.kernel.stages[-1].divisible and len(groups) == 2:
        tiles.shared()
        return True
    em.open_loops(shape, groups[:-2])
    tiles.in_turn()
    em.close_loops(groups[:-2])
    return True


class Tiles:
    """Sums of rows, in tiles of some rows and columns. low: the first column of a tile."""

    def __init__(self, c, rows, columns, idx):
        self.c, self.em, self.kernel = c, c.em, c.em.kernel
        self.rows, self.columns, self.idx = rows, columns, list(idx)
        self.i, self.j = (self.em.letter[group[-1]] for group in (rows, columns))
        self.count, self.width = (math.prod(c.shape[d] for d in g) for g in (rows, columns))
        self.n, self.m = self.em.size(self.count), self.em.size(self.width)
        self.blocks = f"({self.n} + {ROWS - 1}) // {ROWS}"
        self.tiles = f"({self.m} + {COLUMNS - 1}) // {COLUMNS}"
        self.inside = [idx[columns[-1]]]  # the column within a tile
        self.idx[columns[-1]] = Ix(f"(low + {self.j})", None, (columns[-1],))
        self.results = c.results(self.idx)
        self.parts = self.tile("_part", [inside(code_of(v.aval.dtype)) for v in c.outs])

    def tile(self, suffix, codes):
        """Arrays as wide as a tile, and where in them the present column is."""
        return [(x, self.inside) for x in self.c.scratch(suffix, codes, [COLUMNS])]

    def each_column(self, body):
        """A loop over the columns of a tile."""
        self.kernel.open(f"for {self.j} in range(width):", self.columns)
        body()
        self.kernel.close()

    def add_rows(self):
        """The sums of a block of rows."""
        self.each_column(lambda: self.store_all(self.parts, self.c.first))
        bounds = f"block*{ROWS}, minimum(block*{ROWS} + {ROWS}, {self.n})"
        self.kernel.open(f"for {self.i} in range({bounds}):", self.rows)
        self.each_column(lambda: self.c.add(self.parts, self.idx))
        self.kernel.close()

    def store_all(self, targets, texts):
        """Write to each of some arrays."""
        for (place, at), text in zip(targets, texts):
            self.em.store(place, at, text)

    def add_up(self, parts):
        """Lines that add partial results of blocks to what there is: sums in double precision."""
        kernel, c = self.kernel, self.c
        wide = self.tile("_acc", ["f64"] * len(c.sums)) if any(c.double) else self.results
        pairs = zip(wide, self.results, c.double)
        totals = [total if double else result for total, result, double in pairs]

        def clear():
            self.store_all(self.results, c.first)
            texts = [f"f64({text})" for text, double in zip(c.first, c.double) if double]
            self.store_all([t for t, double in zip(totals, c.double) if double], texts)

        def combine():
            for eqn, part, total, result in zip(c.sums, parts, totals, self.results):
                c.step(eqn, *total, c.element(*part))
                if total is not result:
                    self.em.store(*result, f"f32({c.element(*total)})")

        kernel.open(f"for tile in range({self.tiles}):")
        self.begin_tile("tile")
        self.each_column(clear)
        kernel.open(f"for block in range({self.blocks}):")
        if parts is self.parts:
            self.add_rows()
        self.each_column(combine)
        kernel.close()
        kernel.close()

    def begin_tile(self, number):
        """Lines that say where a tile is."""
        self.kernel.line(f"low = {number}*{COLUMNS}")
        self.kernel.line(f"width = minimum({self.m} - low, {COLUMNS})")

    def in_turn(self):
        """One tile after the other."""
        self.add_up(self.parts)

    def shared(self):
        """Threads share the tiles and write what each adds up to; then that is added up."""
        kernel, c = self.kernel, self.c
        blocks, tiles = -(-self.count // ROWS), -(-self.width // COLUMNS)
        shape = (blocks + 1, *(c.shape[d] for d in c.behind))  # a single one would have no index
        codes = [place.code for place, _ in self.parts]
        at = [Ix("block"), *(self.idx[d] for d in c.behind)]
        sums = [(x, at) for x in c.scratch("_sums", codes, shape, shared=True)]
        kernel.open(f"for share in range({kernel.bounds(int(blocks) * int(tiles))}):")
        kernel.line(f"block = share // ({self.tiles})")
        self.begin_tile(f"(share - block*({self.tiles}))")
        self.add_rows()
        self.each_column(lambda: self.store_all(sums, [c.element(*part) for part in self.parts]))
        kernel.close()
        kernel.split()
        self.add_up(sums)
