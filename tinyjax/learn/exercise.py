"""What an exercise is: a student's file, and beside it a card with everything the grader knows.

A student edits `exercises/02_first_loop/sgd_step.py`. Its card, `answers/sgd_step.py` in the same
folder, is the single source of both: percent-format Python with these cells.

    # %% [markdown] about           `difficulty: 2` (1 to 4) and `minutes: 15`
    # %% [markdown] statement       what to do, for the student
    # %% given                      imports and definitions the student starts from
    # %% stub                       the function to write
    # %% [markdown] hint            three of them: a question, the concept, a skeleton
    # %% checks                     `draw(rng)`, functions marked with `@check`, settings
    # %% reference                  the solution we show
    # %% right: forward mode        another right way; it must pass
    # %% wrong: uphill              a wrong way; its first comment is the misconception behind it

The settings are `seconds`, the time limit, `devices`, how many pmap finds, and `tinyjax_only`,
where a check uses what JAX does not have. An exercise of kind B builds a piece of tinyjax itself:
its checks define `install(student)`, which puts the student's piece in the place of the package's
own. The checks then use the package, and what is right is what the package does without it.
"""

import difflib
import linecache
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

# --- Cells of a percent-format file --------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One cell: its kind (`code` or `markdown`), its title and its text without the header line."""

    kind: str
    title: str
    text: str

    @property
    def prose(self) -> str:
        """The text of a Markdown cell without its comment signs."""
        return "\n".join(re.sub(r"^# ?", "", line) for line in self.text.splitlines())


def parse_cells(source: str) -> list[Cell]:
    """Splits percent-format Python into cells; what stands before the first header is left out."""
    pieces = re.split(r"^# %%[ \t]*(.*)\n", source + "\n", flags=re.MULTILINE)
    cells = []
    for header, text in zip(pieces[1::2], pieces[2::2]):
        kind = "markdown" if header.startswith("[markdown]") else "code"
        title = header.removeprefix("[markdown]").strip()
        cells.append(Cell(kind, title, text.strip("\n")))
    return cells


# --- Checks --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """One thing that must hold: `run(student, **inputs)` must return what it returns for us."""

    name: str
    run: Callable[..., Any]
    draw: Callable[[np.random.Generator], dict[str, Any]] | None
    draws: int


DRAWS = 3  # how many random inputs a check sees


def check(
    name: str, draw: Callable | None = None, draws: int = DRAWS
) -> Callable[[Callable], Check]:
    """Marks a function of a card as a check: `run(student, **inputs)` returns values to compare.

    Args:
      name: what the student reads beside ok or FAIL.
      draw: makes the inputs out of a `numpy.random.Generator`; the card's own `draw` if left out.
      draws: how often; 1 where nothing is random.
    """
    return lambda run: Check(name, run, draw, draws)


def load_checks(source: str) -> tuple[list[Check], dict[str, Any]]:
    """Executes the checks cell; returns its checks in order, and everything it defines."""
    names: dict[str, Any] = {"__name__": "checks"}
    exec(compile(source, "<checks>", "exec"), names)
    return [value for value in names.values() if isinstance(value, Check)], names


# --- Solutions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solution:
    """A way to solve the exercise that the card knows, right or wrong."""

    title: str
    source: str
    misconception: str | None = None  # of a wrong one

    @classmethod
    def of_cell(cls, cell: Cell, given: str) -> "Solution":
        """The solution in a cell, made runnable; the first comment of a wrong one says why."""
        kind, _, title = cell.title.partition(": ")
        lines = cell.text.splitlines()
        comment = []
        while lines and lines[0].startswith("#"):
            comment.append(lines.pop(0).lstrip("# "))
        misconception = " ".join(comment) if kind == "wrong" else None
        return cls(title or kind, f"{given}\n\n\n{cell.text}\n", misconception)


def remember_source(name: str, source: str) -> None:
    """Lets messages quote the lines of code that is in no file of this name."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


# --- The exercise --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exercise:
    """One exercise, read from its card."""

    path: Path  # the student's file
    cells: list[Cell] = field(repr=False)

    @property
    def name(self) -> str:
        """The name that the command line takes."""
        return self.path.stem

    @property
    def topic(self) -> str:
        """The chapter it belongs to: the name of its folder."""
        return self.path.parent.name

    @property
    def title(self) -> str:
        """The headline of the statement."""
        return self.titled("statement")[0].prose.splitlines()[0].lstrip("# ")

    @cached_property
    def about(self) -> dict[str, int]:
        """`difficulty`, from 1 to 4, and `minutes`, the time box for a newcomer."""
        lines = [line for cell in self.titled("about") for line in cell.prose.splitlines()]
        pairs = [line.partition(":") for line in lines if ":" in line]
        return {key.strip(): int(value) for key, _, value in pairs}

    def titled(self, title: str) -> list[Cell]:
        """The cells whose title starts with these words."""
        return [cell for cell in self.cells if cell.title.startswith(title)]

    @property
    def stub(self) -> str:
        """The student's file as it was handed out."""
        statement, given, stub = (self.titled(t)[0].text for t in ("statement", "given", "stub"))
        return (
            f"# %% [markdown]\n{statement}\n\n# %%\n{given}\n\n\n{stub}\n\n\n# %%\n"
            'if __name__ == "__main__":\n'
            "    from tinyjax.learn.cli import main\n\n"
            f'    raise SystemExit(main(["check", "{self.name}"]))\n'
        )

    @property
    def hints(self) -> list[str]:
        """A question, the concept, a skeleton."""
        return [cell.prose for cell in self.titled("hint")]

    @property
    def checks_source(self) -> str:
        """The source of the checks: the student's process runs it too."""
        return self.titled("checks")[0].text

    @cached_property
    def _checks(self) -> tuple[list[Check], dict[str, Any]]:
        return load_checks(self.checks_source)

    @property
    def checks(self) -> list[Check]:
        """What must hold, in the order in which it is reported."""
        return self._checks[0]

    @property
    def seconds(self) -> float:
        """The time limit; more than the usual 10 where kernels are compiled."""
        return self._checks[1].get("seconds", 10.0)

    @property
    def devices(self) -> int | None:
        """How many devices pmap finds, where the card says so."""
        return self._checks[1].get("devices")

    @property
    def tinyjax_only(self) -> bool:
        """Whether a check uses what JAX does not have."""
        return self._checks[1].get("tinyjax_only", False)

    @property
    def kind(self) -> str:
        """`B` when the student's piece is installed in the package, else `A`."""
        return "B" if "install" in self._checks[1] else "A"

    def solutions(self, kind: str) -> list[Solution]:
        """The card's solutions of a kind: `reference`, `right` or `wrong`."""
        given = self.titled("given")[0].text
        return [Solution.of_cell(cell, given) for cell in self.titled(kind)]

    @property
    def reference(self) -> Solution:
        """The solution that defines what is right."""
        return self.solutions("reference")[0]

    def inputs(self, seed: int = 0) -> list[list[dict[str, Any]]]:
        """For each check, the random inputs that it sees."""
        drawn = []
        for number, item in enumerate(self.checks):
            draw = item.draw or self._checks[1]["draw"]
            key = [zlib.crc32(self.name.encode()), number, seed]
            rng = np.random.default_rng(key)
            drawn.append([draw(rng) for _ in range(item.draws)])
        return drawn


# --- Finding exercises ---------------------------------------------------------------------------


def root() -> Path:
    """The folder that holds `exercises/` and `chapters/`: here, above, or where tinyjax lies."""
    here = Path.cwd()
    for folder in [here, *here.parents, Path(__file__).resolve().parents[2]]:
        if (folder / "exercises").is_dir() and (folder / "chapters").is_dir():
            return folder
    raise SystemExit(
        "tinyjax: no exercises found. Run this inside a clone of the tinyjax repository, "
        "where the folders exercises/ and chapters/ are."
    )


def load(path: Path) -> Exercise:
    """The exercise whose student's file is at `path`."""
    card = path.parent / "answers" / path.name
    return Exercise(path, parse_cells(card.read_text(encoding="utf-8")))


def exercises() -> Iterator[Exercise]:
    """Every exercise, in the order of the chapters; in a chapter the easy ones come first."""
    cards = (root() / "exercises").glob("[0-9]*/answers/*.py")
    found = [load(card.parent.parent / card.name) for card in cards]
    yield from sorted(found, key=lambda e: (e.topic, e.about.get("difficulty", 0), e.name))


def find(name: str) -> Exercise:
    """The exercise of that name; a path to its file will do."""
    known = {exercise.name: exercise for exercise in exercises()}
    short = Path(name).stem
    if short not in known:
        near = difflib.get_close_matches(short, known, n=3, cutoff=0.5)
        advice = f"did you mean {' or '.join(near)}?" if near else "`tinyjax list` shows them all"
        raise SystemExit(f"tinyjax: no exercise is called {name!r}: {advice}")
    return known[short]
