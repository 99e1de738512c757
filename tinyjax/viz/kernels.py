"""fusion_diagram: which equations the compiler computes together, and what goes through memory."""

import numpy as np

from tinyjax.api import make_jaxpr
from tinyjax.compiler.executable import compile_jaxpr
from tinyjax.compiler.fusion import CallOut, Copy, Nest, is_elementwise
from tinyjax.core import Literal
from tinyjax.dtypes import KeyType
from tinyjax.viz.canvas import INK, SMALL, SOFT, WIDTH, Canvas, called, count, listed
from tinyjax.viz.graph import equation_text, short

MARGIN = 12
LEFT = 176  # the column of arrays in memory
ARROW = 34
LINE = 18
CHIP = 24
TITLE = 24

# ---- what the compiler has planned ---------------------------------------------------------------


class Line:
    """An equation. text: as it stands in the picture. where: "memory" for a result that is an
    array, "register" for one that never becomes one, "index" for what only moves elements."""

    def __init__(self, text, where):
        self.text, self.where = text, where


class Part:
    """Equations that are computed in one loop nest, or that NumPy computes."""

    def __init__(self, title, lines):
        self.title, self.lines = title, lines


class Group:
    """A kernel, or a call of NumPy. reads, writes: texts of arrays."""

    def __init__(self, title, kind, parts, reads, writes):
        self.title, self.kind, self.parts = title, kind, parts
        self.reads, self.writes = reads, writes


class DriverNames:
    """Variables -> the names that they have in the kernels' source."""

    def __init__(self, driver):
        self.driver = driver

    def __getitem__(self, var):
        return self.driver.namer(var)


class Plan:
    """What the driver of a program runs. groups: in order; fused, apart: bytes that go through
    memory, as planned and with one loop for each equation."""

    def __init__(self, driver):
        self.driver, self.names = driver, DriverNames(driver)
        self.owner = {}  # equation that moves elements -> item that reads through it
        self.find_owners()
        self.groups = []
        stages = {id(i): (k, s) for k in driver.kernels for s in k.stages for i in s.items}
        for first, segment in driver.segments:
            if type(segment) is CallOut:
                self.add("NumPy", "yellow", [first])
            else:
                self.add_kernel(first, segment, stages)
        self.fused = sum(group.traffic for group in self.groups)
        self.equations = sum(len(p.lines) for g in self.groups for p in g.parts)
        self.apart = Apart(driver).fused

    def said(self, name):
        """-> what the picture is of, and the two lines below it."""
        kernels = sum(group.kind == "green" for group in self.groups)
        calls = len(self.groups) - kernels
        text = f"{count(self.equations, 'equation')} in {count(kernels, 'kernel')}"
        text += f" and {count(calls, 'call')} of NumPy" if calls else ""
        text += f": {amount(self.fused)} through memory."
        apart = f"With one loop for each equation it would be {amount(self.apart)}."
        return f"What jit makes of {name}", text, apart

    def find_owners(self):
        """Give what only moves elements to the first item that reads it."""
        program, lazy = self.driver.program, self.driver.lazy
        moved = [e for e in program.eqns if any(v in lazy for v in e.outvars)]
        for eqn in reversed(moved):
            readers = [e for e in program.eqns if any(v in eqn.outvars for v in e.invars)]
            items = [self.owner.get(id(e), self.item(e)) for e in readers]
            found = [k for k in items if k is not None]
            self.owner[id(eqn)] = min(found, default=None)

    def item(self, eqn):
        """The item that computes an equation."""
        return self.driver.item_of.get(eqn.outvars[0]) if eqn.outvars else None

    def add_kernel(self, first, items, stages):
        """The groups of a kernel: what it computes between the matrix products of NumPy."""
        together: list[int] = []
        for k, item in enumerate(items, first):
            kernel, stage = stages.get(id(item), (None, None))
            if stage is not None and not stage.by_numpy:
                together.append(k)
                name = f"kernel {kernel.name}"
                continue
            if together:
                self.add(name, "green", together)
            self.add("NumPy", "yellow", [k])
            together = []
        if together:
            self.add(name, "green", together)

    def add(self, title, kind, numbers):
        """A group that computes the items of these numbers."""
        driver, parts = self.driver, [self.part(k) for k in numbers]
        made = [v for k in numbers for e in driver.items[k].eqns for v in e.outvars]
        reads = [v for v, by in driver.used_at.items() if by & set(numbers) and v not in made]
        writes = [v for v in made if self.leaves(v, numbers)]
        group = Group(
            title, kind, parts, list(map(self.typed, reads)), list(map(self.typed, writes))
        )
        group.traffic = sum(map(nbytes, [*reads, *writes]))
        self.groups.append(group)

    def leaves(self, v, numbers):
        """Whether a result is read by others than these items, or returned."""
        used = self.driver.used_at.get(v, set())
        return v in self.driver.whole or any(k not in numbers for k in used)

    def part(self, k):
        """One item."""
        item = self.driver.items[k]
        own = [id(e) for e in item.eqns]
        lines = []
        for eqn in self.driver.program.eqns:
            if id(eqn) in own:
                lines.append(Line(equation_text(eqn, self.names), self.where(eqn, k)))
            elif self.owner.get(id(eqn)) == k:
                where = "register" if is_elementwise(eqn) else "index"
                lines.append(Line(equation_text(eqn, self.names), where))
        return Part(title_of(item), lines)

    def where(self, eqn, k):
        """Where the results of an equation of item k are kept."""
        for v in eqn.outvars:
            if self.leaves(v, [k]) and (v.aval.shape or self.leaves(v, self.mates(k))):
                return "memory"
        return "register"

    def mates(self, k):
        """The items of the same kernel."""
        for first, segment in self.driver.segments:
            if type(segment) is not CallOut and first <= k < first + len(segment):
                return range(first, first + len(segment))
        return [k]

    def typed(self, v):
        """An array with its type."""
        return f"{self.names[v]}:{short(v)}"


class Apart(Plan):
    """The same program without jit: one operation of NumPy after the other, views aside."""

    def __init__(self, driver):
        self.driver, self.names, self.groups = driver, DriverNames(driver), []
        eqns = driver.program.eqns
        self.views = {
            v: e for e in eqns for v in e.outvars if v in driver.lazy and not is_elementwise(e)
        }
        worked = [e for e in eqns if not any(v in self.views for v in e.outvars)]
        for eqn in worked:
            lines, reads = [Line(equation_text(eqn, self.names), "memory")], []
            self.look_through(eqn, lines, reads)
            part = Part("called as it is", lines)
            arrays = [list(map(self.typed, vs)) for vs in (reads, eqn.outvars)]
            group = Group("NumPy", "yellow", [part], *arrays)
            group.traffic = sum(map(nbytes, [*reads, *eqn.outvars]))
            self.groups.append(group)
        self.fused = self.apart = sum(group.traffic for group in self.groups)
        self.equations = len(worked)

    def look_through(self, eqn, lines, reads):
        """Collect the views that an equation reads through, and the arrays that it reads."""
        for v in dict.fromkeys(v for v in eqn.invars if not isinstance(v, Literal)):
            if v in self.views:
                lines.insert(0, Line(equation_text(self.views[v], self.names), "index"))
                self.look_through(self.views[v], lines, reads)
            elif v not in reads:
                reads.append(v)

    def said(self, name):
        text = f"{count(self.equations, 'call')} of NumPy: {amount(self.fused)} through memory."
        return f"{name} without jit", text, "Each operation reads and writes whole arrays."


def title_of(item):
    """What an item is."""
    if isinstance(item, Nest):
        dims = ",".join(str(int(n)) for n in item.shape)
        return f"one loop over [{dims}]" if item.shape else "numbers, without a loop"
    if isinstance(item, Copy):
        return "written piece by piece"
    if isinstance(item, CallOut):
        return "called as it is"
    name = item.eqn.primitive.name
    return {"dot_general": "matrix product"}.get(name, name)


def nbytes(v):
    """The bytes of an array."""
    width = 8 if isinstance(v.aval.dtype, KeyType) else np.dtype(v.aval.dtype).itemsize
    return int(v.aval.size) * width


def amount(size):
    """Bytes in words.

    >>> amount(12), amount(48_000), amount(3_000_000)
    ('12 bytes', '48 kB', '3 MB')
    """
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1e3:.3g} kB" if size < 1e6 else f"{size / 1e6:.3g} MB"


# ---- the picture ---------------------------------------------------------------------------------


def fusion_diagram(f, *args, fused=True):
    """Draw what jit makes of a function: kernels, equations that share a loop, arrays in memory.

    A result that stays in a register is not written to memory, and one that is only an index is
    not computed at all.

    Args:
      f: a function, jitted or not.
      args: its arguments; they decide the shapes.
      fused: False draws what runs without jit, to compare: each equation alone, from memory to
        memory.

    Returns a Picture; `facts["groups"]` are tuples (title, lists of equations, reads, writes), one
    for each kernel and each call of NumPy, and `facts["bytes"]` how much is read and written, as
    compiled and with a loop of its own for each equation.

    Raises TypeError for what is not a function.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax import viz
    >>> picture = viz.fusion_diagram(lambda x: jnp.sum(jnp.sin(x) * 2), jnp.ones(1000))
    >>> for title, loops, reads, writes in picture.facts["groups"]:
    ...     print(title, loops, reads, writes)
    kernel f_0 [['b = sin a', 'c = mul b 2.0', 'd = reduce_sum c']] ['a:f32[1000]'] ['d:f32[]']
    """
    if not callable(f):
        raise TypeError(f"fusion_diagram takes a function, got f={f!r}")
    jaxpr = make_jaxpr(f)(*args)
    driver = compile_jaxpr(jaxpr, called(f)).plan()
    plan = Plan(driver) if fused else Apart(driver)
    canvas = Canvas(WIDTH)
    canvas.text(MARGIN, 18, "arrays in memory", bold=True)
    canvas.text(MARGIN + LEFT + ARROW, 18, "what runs", bold=True)
    y = 36.0
    for group in plan.groups:
        y = draw_group(canvas, group, y) + 16
    what, text, apart = plan.said(called(f))
    canvas.text(MARGIN, y + 4, text)
    canvas.text(MARGIN, y + 22, apart)
    lines = [line for g in plan.groups for p in g.parts for line in p.lines]
    facts = [
        (g.title, [[line.text for line in p.lines] for p in g.parts], g.reads, g.writes)
        for g in plan.groups
    ]
    return canvas.finish(
        y + 40,
        words(plan, f"{what}: {text} {apart}"),
        groups=facts,
        registers=[line.text for line in lines if line.where == "register"],
        bytes=(plan.fused, plan.apart),
    )


def words(plan, text):
    """The picture in words, after a beginning."""
    for group in plan.groups[:6]:
        size = sum(len(part.lines) for part in group.parts)
        text += f" {group.title} holds {count(size, 'equation')}"
        loops = len(group.parts)
        text += f" in {loops} parts" if loops > 1 else ""
        text += f", reads {listed(group.reads) or 'nothing'} and writes {listed(group.writes)}."
    return text


def draw_group(canvas, group, y):
    """A kernel or call, with the arrays beside it -> the lowest point."""
    x, width = MARGIN + LEFT + ARROW, WIDTH - 2 * MARGIN - LEFT - ARROW
    inner = sum(TITLE + LINE * len(part.lines) + 6 for part in group.parts) + 8 * len(group.parts)
    chips = len(group.reads) + len(group.writes)
    height = max(TITLE + inner + 4, chips * (CHIP + 6) + 12)
    canvas.frame(x, y, width, height, group.kind, round=6)
    canvas.text(x + 10, y + 14, group.title, INK, bold=True, room=width - 20)
    top = y + TITLE
    for part in group.parts:
        high = TITLE + LINE * len(part.lines) + 6
        canvas.frame(x + 8, top, width - 16, high, "grey")
        canvas.text(x + 16, top + 13, part.title, SOFT, SMALL, room=width - 32)
        for k, line in enumerate(part.lines):
            draw_line(canvas, line, x + 16, top + TITLE + LINE * (k + 0.4), width - 32)
        top += high + 8
    at = y + 8.0
    for text in group.reads:
        canvas.box(MARGIN, at, LEFT, CHIP, "blue", text)
        canvas.line([(MARGIN + LEFT, at + CHIP / 2), (x - 5, at + CHIP / 2)])
        canvas.head(x - 1, at + CHIP / 2, "right")
        at += CHIP + 6
    at = max(at, y + height - 4 - len(group.writes) * (CHIP + 6) + 2)
    for text in group.writes:
        canvas.box(MARGIN, at, LEFT, CHIP, "orange", text)
        canvas.line([(MARGIN + LEFT + 5, at + CHIP / 2), (x, at + CHIP / 2)])
        canvas.head(MARGIN + LEFT + 1, at + CHIP / 2, "left")
        at += CHIP + 6
    return y + height


NOTES = {"memory": "→ memory", "register": "register", "index": "only an index"}


def draw_line(canvas, line, x, y, width):
    """An equation of a loop, and where its result goes."""
    note, bold = NOTES[line.where], line.where == "memory"
    color = "#a34a0c" if bold else SOFT
    taken = canvas.measure(note, SMALL, bold=bold)
    canvas.text(x, y, line.text, INK, mono=True, room=width - taken - 12)
    canvas.text(x + width, y, note, color, SMALL, "right", bold=bold)
