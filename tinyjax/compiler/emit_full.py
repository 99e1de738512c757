"""Reductions over all axes: blocks of elements, whose partial results are then put together.

Threads may share the blocks. Which elements make a block does not depend on how many threads there
are, so neither does the result.
"""

import math

from tinyjax.compiler import reduce
from tinyjax.compiler.index import read
from tinyjax.compiler.words import code_of


def emit_full(em, nest):
    """The loops of such a nest."""

    def body(idx):
        em.stores(nest.eqns, idx)
        for eqn in nest.eqns:
            if reduce.is_reduction(eqn):
                read(em, eqn.invars[0], idx)

    groups, idx = em.analyse(nest.shape, body)
    sums = [eqn for eqn in nest.eqns if reduce.is_reduction(eqn)]
    stage = em.kernel.stages[-1]
    extent = math.prod(nest.shape[d] for group in groups for d in group)
    if stage.divisible and len(groups) == 1 and extent > reduce.TINY:
        names = Blocks(em, nest, groups[0], idx, sums).write()
    else:
        stage.divisible = False
        stores = lambda at: em.stores(nest.eqns, at)
        busy = bool(em.element_eqns(nest.eqns))
        names = reduce.emit_sums(em, nest.shape, groups, idx, sums, stores, busy)
    for eqn, name in zip(sums, names):
        em.scalar(eqn.outvars[0], name)


class Blocks:
    """A loop over blocks of elements, and one over their partial results."""

    def __init__(self, em, nest, group, idx, sums):
        self.em, self.kernel, self.nest = em, em.kernel, nest
        self.group, self.idx, self.sums = group, idx, sums
        extent = math.prod(nest.shape[d] for d in group)
        self.n, self.letter = em.size(extent), em.letter[group[-1]]
        self.steps = int(-(-extent // reduce.BLOCK))
        self.count = f"({self.n} + {reduce.BLOCK - 1}) // {reduce.BLOCK}"

    def name(self, eqn, suffix):
        """A name that begins like that of a result."""
        return self.kernel.fresh(self.kernel.namer(eqn.outvars[0]) + suffix)

    def each_element(self, block):
        """The header of a loop over a block."""
        size = reduce.BLOCK
        bounds = f"{block}*{size}, minimum({block}*{size} + {size}, {self.n})"
        self.kernel.open(f"for {self.letter} in range({bounds}):", self.group)

    def write(self):
        """All lines -> the names of the results."""
        kernel, em = self.kernel, self.em
        parts = []
        for eqn in self.sums:
            code = code_of(eqn.invars[0].aval.dtype)
            name = kernel.namer(eqn.outvars[0]) + "_part"
            parts.append(kernel.scratch(name, code, (self.steps,), shared=True).name)
        kernel.open(f"for block in range({kernel.bounds(self.steps)}):")
        names = [self.name(eqn, "_acc") for eqn in self.sums]
        for eqn, name in zip(self.sums, names):
            kernel.line(f"{name} = {reduce.start(eqn)}")
        self.each_element("block")
        em.stores(self.nest.eqns, self.idx)
        for eqn, name in zip(self.sums, names):
            value = read(em, eqn.invars[0], self.idx)
            kernel.line(f"{name} = {step(eqn).format(name, value)}")
        kernel.close()
        for part, name in zip(parts, names):
            kernel.line(f"{part}[block] = {name}")
        kernel.close()
        kernel.split()
        return self.together(parts)

    def together(self, parts):
        """Put partial results together -> the names of the results."""
        kernel, em, ends = self.kernel, self.em, []
        for eqn in self.sums:
            ends.append(self.begin(eqn))
        kernel.open(f"for block in range({self.count}):")
        for eqn, part, (name, _) in zip(self.sums, parts, ends):
            if eqn.primitive.name.startswith("arg"):
                self.better(eqn, f"{part}[block]", *ends[self.sums.index(eqn)])
            else:
                value = f"f64({part}[block])" if reduce.in_double(eqn) else f"{part}[block]"
                kernel.line(f"{name} = {step(eqn).format(name, value)}")
        kernel.close()
        results = []
        for eqn, (name, found) in zip(self.sums, ends):
            if found:
                results.append(self.place(eqn, name, found))
                continue
            results.append(self.name(eqn, ""))
            text = f"f32({name})" if reduce.in_double(eqn) else name
            kernel.line(f"{results[-1]} = {text}{em.comment(eqn)}")
        return results

    def begin(self, eqn):
        """The result before the first block -> its name, and that of the block where it is."""
        if eqn.primitive.name.startswith("arg"):
            best, found = self.name(eqn, "_best"), self.name(eqn, "_block")
            self.kernel.line(f"{best} = {reduce.start(eqn)}")
            self.kernel.line(f"{found} = i64(0)")
            return best, found
        total = self.name(eqn, "_total")
        start = "f64(0.0)" if reduce.in_double(eqn) else reduce.start(eqn)
        self.kernel.line(f"{total} = {start}")
        return total, None

    def better(self, eqn, value, best, found):
        """The first block that holds the best element."""
        kernel = self.kernel
        kernel.open(f"if {reduce.better(eqn, value, best)}:")
        kernel.line(f"{best} = {value}")
        kernel.line(f"{found} = block")
        kernel.close()

    def place(self, eqn, best, found):
        """Search this block -> the name of the first place of the best element."""
        at = self.name(eqn, "")
        self.kernel.line(f"{at} = {code_of(eqn.outvars[0].aval.dtype)}({self.n})")
        self.each_element(found)
        reduce.search_step(self.em, eqn, self.idx, self.letter, self.n, best, at)
        self.kernel.close()
        return at


def step(eqn):
    """One step of a reduction; argmax first looks for the maximum."""
    name = eqn.primitive.name
    return reduce.STEP[{"argmax": "reduce_max", "argmin": "reduce_min"}.get(name, name)]
