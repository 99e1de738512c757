"""Stages: programs as lines, each with the user's line that it comes from."""

import itertools
from typing import NamedTuple

from tinyjax.core import Jaxpr, Var, all_eqns, inner_jaxprs
from tinyjax.printer import JaxprPrinter, Names, layout, letters, shared_jaxprs, unused_vars
from tinyjax.source import Source
from tinyjax.transforms.package_lines import sources

WIDTH = 62  # of the column of equations, unless one is longer


class Line(NamedTuple):
    """A line of text. source: where the equation that begins on it comes from."""

    text: str
    source: Source | None = None


class Stage(NamedTuple):
    """A step of the story.

    title: what is shown; prose: a sentence or two about it; lines: its text, each Line with the
    place in the user's code where it comes from; program: the jaxpr, or None for kernels;
    beside: on a wide page it stands beside the stage before, which it is to be compared with.
    """

    title: str
    prose: str
    lines: list
    program: Jaxpr | None = None
    beside: bool = False

    @property
    def text(self):
        """The lines as text."""
        return "\n".join(line.text for line in self.lines)


class StageNames(Names):
    """Names of variables that do not occur in another program, but for those given."""

    def __init__(self, jaxpr, given, taken):
        super().__init__(unused_vars(jaxpr), shared_jaxprs(jaxpr))
        self.update(given)
        taken = {*taken, *self.shared.values()}
        self.fresh = (name for name in map(letters, itertools.count()) if name not in taken)


def program_lines(jaxpr, given=(), taken=()):
    """-> the Lines of a program, and the names of its variables.

    given: names that variables have already; taken: names that others have.
    """
    names, notes = StageNames(jaxpr, dict(given), taken), {}
    doc = tuple(JaxprPrinter(names).top(jaxpr))
    text = layout(doc, WIDTH, notes=notes).split("\n")
    known = sources(jaxpr)
    lines = [Line(t, known.get(id(notes[k])) if k in notes else None) for k, t in enumerate(text)]
    return lines, names


def program_stage(title, prose, jaxpr, **naming):
    """The Stage that shows a program. naming: see program_lines."""
    return Stage(title, prose, program_lines(jaxpr, **naming)[0], jaxpr)


def residual_names(names, residuals, invars):
    """Names for the inputs of a program that stand for variables of another one."""
    pairs = {
        inner: names[outer] for outer, inner in zip(residuals, invars) if isinstance(outer, Var)
    }
    lent = set()
    return {v: n for v, n in pairs.items() if not (n in lent or lent.add(n))}


def count(jaxpr):
    """How many equations a program has, those inside of others included."""
    return sum(1 for eqn in all_eqns(jaxpr) if not any(True for _ in inner_jaxprs(eqn.params)))


def elided(lines, limit):
    """Lines without the middle ones, if there are more than the limit."""
    if limit is None or len(lines) <= limit + 1:
        return lines
    head = max(1, limit * 2 // 3)
    tail = max(1, limit - head)
    left_out = len(lines) - head - tail
    remark = Line(f"    ... {left_out} more lines (limit=None shows them) ...")
    return [*lines[:head], remark, *lines[-tail:]]
