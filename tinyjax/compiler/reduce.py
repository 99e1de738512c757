"""Reductions as loops: sums are exact to about 1e-7 however many elements they have.

A single-precision sum adds up blocks of 4096 elements in single precision, in whatever order is
fastest (`acc`), and the blocks in double precision.
"""

import math

from tinyjax.compiler.fusion import REDUCTIONS
from tinyjax.compiler.index import Ix, read
from tinyjax.compiler.words import code_of, literal
from tinyjax.core import Primitive

BLOCK = 4096


def is_reduction(eqn):
    """Whether an equation is a reduction."""
    return eqn.primitive.name in REDUCTIONS


# ---- kinds of reductions ------------------------------------------------------------------------

START = {"reduce_sum": 0, "reduce_prod": 1, "reduce_and": -1, "reduce_or": 0}
STEP = {
    "reduce_sum": "acc({0}, {1})",
    "reduce_prod": "accmul({0}, {1})",
    "reduce_max": "accmax({0}, {1})",
    "reduce_min": "accmin({0}, {1})",
    "reduce_and": "{0} & {1}",
    "reduce_or": "{0} | {1}",
}


PLAIN_STEP = {
    "reduce_sum": "{0} + {1}",
    "reduce_prod": "{0} * {1}",
    "reduce_max": "maximum({0}, {1})",
    "reduce_min": "minimum({0}, {1})",
}
NAMED = {name: Primitive(name) for name in PLAIN_STEP}  # cumulative operations are made of these


def smallest(code):
    """The least number of a dtype."""
    if code[0] == "f":
        return float("-inf")
    return -(1 << (int(code[1:]) - 1)) if code[0] == "i" else 0


def largest(code):
    """The greatest number of a dtype."""
    if code[0] == "f":
        return float("inf")
    bits = int(code[1:])
    return (1 << (bits - 1)) - 1 if code[0] == "i" else (1 << bits) - 1


def start(eqn):
    """The source text of the value before the first element."""
    name, code = eqn.primitive.name, code_of(eqn.invars[0].aval.dtype)
    if name in ("reduce_max", "argmax"):
        return literal(smallest(code), code)
    if name in ("reduce_min", "argmin"):
        return literal(largest(code), code)
    value = START[name]
    if code[0] == "u" and value < 0:
        value = largest(code)
    return literal(value, code)


def in_double(eqn):
    """Whether partial results are added up in double precision."""
    return eqn.primitive.name == "reduce_sum" and code_of(eqn.invars[0].aval.dtype) == "f32"


# ---- reductions over the innermost loops --------------------------------------------------------


class Sum:
    """One reduction under construction: its total, its part over one block, its place."""

    def __init__(self, em, eqn, steps):
        self.em, self.eqn, self.out, self.steps = em, eqn, eqn.outvars[0], steps
        self.name = em.kernel.fresh(em.kernel.namer(self.out) + "_acc")
        self.double = in_double(eqn)

    def begin(self, blocks):
        """Lines before all loops."""
        em = self.em
        self.blocks = blocks and self.double
        if self.blocks:
            self.total = em.kernel.fresh(em.kernel.namer(self.out) + "_total")
            em.kernel.line(f"{self.total} = f64(0.0)")
        else:
            self.begin_part()
        if self.eqn.primitive.name.startswith("arg"):
            self.at = em.kernel.fresh(em.kernel.namer(self.out) + "_at")
            em.kernel.line(f"{self.at} = {code_of(self.out.aval.dtype)}(0)")

    def begin_part(self):
        """Lines before the innermost loop."""
        self.em.kernel.line(f"{self.name} = {start(self.eqn)}")

    def step(self):
        """Lines in the innermost loop."""
        em, name = self.em, self.eqn.primitive.name
        for idx in self.steps:
            value = read(em, self.eqn.invars[0], idx)
            if name.startswith("arg"):
                self.step_arg(value, idx)
            else:
                em.kernel.line(f"{self.name} = {STEP[name].format(self.name, value)}")

    def step_arg(self, value, idx):
        """The first of the best elements; NaN is better than any number."""
        em = self.em
        test = em.kernel.fresh("better")
        code = code_of(self.out.aval.dtype)
        em.kernel.line(f"{test} = {better(self.eqn, value, self.name)}")
        em.kernel.line(f"{self.at} = where({test}, {code}({idx[-1].text}), {self.at})")
        em.kernel.line(f"{self.name} = where({test}, {value}, {self.name})")

    def end_part(self):
        """Lines after the innermost loop."""
        if self.blocks:
            self.em.kernel.line(f"{self.total} = {self.total} + f64({self.name})")

    def end(self):
        """Lines after all loops -> the name of the result."""
        em, name = self.em, em_name(self)
        local = em.kernel.local(name, (self.out, "result", self.steps[0][-1].text))
        em.kernel.line(f"{local} = {self.result()}{em.comment(self.eqn)}")
        return local

    def result(self):
        """The text of the result."""
        if self.eqn.primitive.name.startswith("arg"):
            return self.at
        return f"f32({self.total})" if self.blocks else self.name


def em_name(total):
    """The name of a reduction's result: of the variable, with the letters of its row."""
    em = total.em
    letters = "".join(
        dict.fromkeys(em.letter[d] for s in em.kernel.scopes[em.kernel.base + 1 :] for d in s.dims)
    )
    return em.kernel.namer(total.out) + (f"_{letters}" if letters else "")


TINY = 4  # an innermost axis of at most this size is written out, not looped over


def written_out(shape, groups, idx):
    """Without a tiny innermost loop: the other groups, and the indices for each of its steps."""
    extent = math.prod(shape[d] for d in groups[-1]) if groups else 0
    if not 0 < extent <= TINY:
        return groups, [idx]
    steps = []
    for k in range(extent):
        steps.append(list(idx))
        steps[-1][groups[-1][-1]] = Ix(str(k))
    return groups[:-1], steps


def emit_sums(em, shape, groups, idx, eqns, on_the_way, busy=True):
    """Loops over the groups of axes around some reductions -> the names of their results.

    on_the_way(idx): writes what else happens in the innermost loop; busy: whether that is anything.
    """
    if not groups:
        on_the_way(idx)
        return [trivial(em, eqn, idx) for eqn in eqns]
    long = len(groups) == 1 and math.prod(shape[d] for d in groups[0]) > TINY
    searched = [eqn for eqn in eqns if eqn.primitive.name.startswith("arg")] if long else []
    plain = [eqn for eqn in eqns if eqn not in searched]
    results = {}
    if plain or not searched or busy:
        loops, steps = written_out(shape, groups, idx)
        sums = [Sum(em, eqn, steps) for eqn in plain]
        names = sum_loops(em, shape, loops, sums, lambda: [on_the_way(at) for at in steps])
        results = dict(zip(plain, names))
    for eqn in searched:
        results[eqn] = search(em, shape, groups[0], idx, eqn)
    return [results[eqn] for eqn in eqns]


SEARCHED = 1024  # elements that argmax looks at before it searches among them


def search(em, shape, group, idx, eqn):
    """argmax, argmin: where a block has a better element, look for it -> the result's name."""
    kernel, out = em.kernel, eqn.outvars[0]
    word = "accmax" if eqn.primitive.name == "argmax" else "accmin"
    names = [kernel.namer(out) + suffix for suffix in ("_best", "_block", "")]
    best, top, at = (kernel.fresh(n) for n in names)
    code, letter = code_of(out.aval.dtype), em.letter[group[-1]]
    n = em.size(math.prod(shape[d] for d in group))
    bounds = f"block*{SEARCHED}, minimum(block*{SEARCHED} + {SEARCHED}, {n})"
    header = f"for {letter} in range({bounds}):"

    kernel.line(f"{best} = {start(eqn)}")
    kernel.line(f"{at} = {code}(0)")
    kernel.open(f"for block in range(({n} + {SEARCHED - 1}) // {SEARCHED}):")
    kernel.line(f"{top} = {start(eqn)}")
    kernel.open(header, group)
    kernel.line(f"{top} = {word}({top}, {read(em, eqn.invars[0], idx)})")
    kernel.close()
    kernel.open(f"if {better(eqn, top, best)}:")
    kernel.line(f"{best} = {top}")
    kernel.line(f"{at} = {code}({n})")
    kernel.open(header, group)
    search_step(em, eqn, idx, letter, n, top, at)
    for _ in range(3):
        kernel.close()
    return at


def better(eqn, value, best):
    """The test whether a value is better than the best one; NaN is better than any number."""
    test = f"{value} {'>' if eqn.primitive.name == 'argmax' else '<'} {best}"
    if code_of(eqn.invars[0].aval.dtype)[0] != "f":
        return test
    return f"({test}) | (({value} != {value}) & ({best} == {best}))"


def search_step(em, eqn, idx, letter, n, best, at):
    """A line of a loop that looks for the first place `at` of the best element."""
    value, code = read(em, eqn.invars[0], idx), code_of(eqn.outvars[0].aval.dtype)
    test = f"{value} == {best}"
    if code_of(eqn.invars[0].aval.dtype)[0] == "f":
        test = f"({test}) | (({value} != {value}) & ({best} != {best}))"
    first = f"accmin({at}, where({test}, {code}({letter}), {code}({n})))"
    em.kernel.line(f"{at} = {first}{em.comment(eqn)}")


def sum_loops(em, shape, groups, sums, on_the_way):
    """The loops around sums under construction -> the names of their results."""
    extent = math.prod(shape[d] for d in groups[-1]) if groups else 1
    in_blocks = bool(groups) and any(s.double for s in sums)
    for s in sums:
        s.begin(in_blocks or len(groups) > 1)
    em.open_loops(shape, groups[:-1])
    if in_blocks:
        n = em.size(extent)
        em.kernel.open(f"for block in range(({n} + {BLOCK - 1}) // {BLOCK}):")
    for s in sums:
        if s.blocks:
            s.begin_part()
    if in_blocks:
        letter = em.letter[groups[-1][-1]]
        bounds = f"block*{BLOCK}, minimum(block*{BLOCK} + {BLOCK}, {n})"
        em.kernel.open(f"for {letter} in range({bounds}):", groups[-1])
    else:
        em.open_loops(shape, groups[-1:])
    on_the_way()
    for s in sums:
        s.step()
    em.close_loops(groups[-1:])
    for s in sums:
        s.end_part()
    if in_blocks:
        em.kernel.close()
    em.close_loops(groups[:-1])
    return [s.end() for s in sums]


def trivial(em, eqn, idx):
    """The reduction of a single element."""
    value = read(em, eqn.invars[0], idx)
    if eqn.primitive.name.startswith("arg"):
        return literal(0, code_of(eqn.outvars[0].aval.dtype))
    return value
