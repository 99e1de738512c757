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
    # %% wrong: uphill              a wrong way; its first comment is the misconception behind it,
                                   and what it does not define is as in the reference

The settings are `seconds`, the time limit, `devices`, how many pmap finds, and `tinyjax_only`,
where a check uses what JAX does not have. An exercise of kind B builds a piece of tinyjax itself:
its checks define `install(student)`, which puts the student's piece in the place of the package's
own. The checks then use the package, and what is right is what the package does without it.
"""

import difflib
import linecache
import re
import sys
import traceback
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

# --- Cells of a percent-format file --------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """One cell: its kind (`code` or `markdown`), its title and its text without the header line.

    `line` is where the text begins in the file.
    """

    kind: str
    title: str
    text: str
    line: int = 1

    @property
    def prose(self) -> str:
        """The text of a Markdown cell without its comment signs."""
        return "\n".join(re.sub(r"^# ?", "", line) for line in self.text.splitlines())


def parse_cells(source: str) -> list[Cell]:
    """Splits percent-format Python into cells; what stands before the first header is left out."""
    source += "\n"
    headers = list(re.finditer(r"^# %%[ \t]*(.*)\n", source, flags=re.MULTILINE))
    ends = [header.start() for header in headers[1:]] + [len(source)]
    cells = []
    for header, end in zip(headers, ends):
        kind = "markdown" if header[1].startswith("[markdown]") else "code"
        title = header[1].removeprefix("[markdown]").strip()
        text = source[header.end() : end]
        start = header.end() + len(text) - len(text.lstrip("\n"))
        cells.append(Cell(kind, title, text.strip("\n"), source.count("\n", 0, start) + 1))
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


CHECKS = "<checks>"  # what tracebacks call the file of the checks


def load_checks(source: str, line: int = 1) -> tuple[list[Check], dict[str, Any]]:
    """Executes the checks cell; returns its checks in order, and everything it defines.

    `line` is where the source begins, for tracebacks.
    """
    names: dict[str, Any] = {"__name__": "checks"}
    exec(compile("\n" * (line - 1) + source, CHECKS, "exec"), names)
    return [value for value in names.values() if isinstance(value, Check)], names


class CardError(RuntimeError):
    """A card that cannot be used: the message says which cell and line, and what is wrong."""


def fault_of_checks(error: Exception) -> CardError:
    """An error that the checks cell itself has made, with its line in the card."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == CHECKS]
    if isinstance(error, SyntaxError) and error.filename == CHECKS:
        lines.append(error.lineno)
    line = f", line {lines[-1]}" if lines else ""
    words = error.msg if isinstance(error, SyntaxError) else error
    return CardError(f"the cell 'checks'{line}: {type(error).__name__}: {words}")


# --- Solutions -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solution:
    """A way to solve the exercise that the card knows, right or wrong."""

    title: str
    source: str
    misconception: str | None = None  # of a wrong one

    @classmethod
    def of_cell(cls, cell: Cell, before: list[str]) -> "Solution":
        """The solution in a cell, made runnable by the texts that come before it.

        The first comment of a wrong one says why it is wrong.
        """
        kind, _, title = cell.title.partition(": ")
        lines = cell.text.splitlines()
        comment = []
        while lines and lines[0].startswith("#"):
            comment.append(lines.pop(0).lstrip("# "))
        misconception = " ".join(comment) if kind == "wrong" else None
        return cls(title or kind, "\n\n\n".join([*before, cell.text]) + "\n", misconception)


def remember_source(name: str, source: str) -> None:
    """Lets messages quote the lines of code that is in no file of this name."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


# --- The exercise --------------------------------------------------------------------------------


PARTS = ("about", "statement", "given", "stub", "checks", "reference")  # one cell of each


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
        return self.titled("statement")[0].prose.partition("\n")[0].lstrip("# ")

    @cached_property
    def about(self) -> dict[str, int]:
        """`difficulty`, from 1 to 4, and `minutes`, the time box for a newcomer."""
        facts = {}
        for cell in self.titled("about"):
            for number, line in enumerate(cell.prose.splitlines(), cell.line):
                key, colon, value = map(str.strip, line.partition(":"))
                if colon and not value.isdecimal():
                    raise CardError(
                        f"the cell 'about', line {number}: "
                        f"{key} must be a whole number, not {value!r}"
                    )
                if colon:
                    facts[key] = int(value)
        return facts

    @cached_property
    def fault(self) -> str | None:
        """Why nobody can work with this card, where that is so, found without running anything."""
        for title in PARTS:
            if len(self.titled(title)) != 1:
                return f"there must be one cell {title!r}, not {len(self.titled(title))}"
        if any("\ufffd" in cell.text for cell in self.cells):
            return "it must be in UTF-8"
        if not self.title:
            return "the cell 'statement' must begin with a headline"
        try:
            return None if self.about else "the cell 'about' is empty"
        except CardError as error:
            return str(error)

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
        cell = self.titled("checks")[0]
        try:
            return load_checks(cell.text, cell.line)
        except Exception as error:  # of an author's code, so whatever there is
            raise fault_of_checks(error) from error

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
        return "B" if re.search(r"^def install\(", self.checks_source, re.MULTILINE) else "A"

    def solutions(self, kind: str) -> list[Solution]:
        """The card's solutions of a kind: `reference`, `right` or `wrong`."""
        before = [cell.text for cell in self.titled("given")]
        if kind == "wrong":  # its cell says what it does otherwise
            before += [cell.text for cell in self.titled("reference")]
        return [Solution.of_cell(cell, before) for cell in self.titled(kind)]

    @property
    def reference(self) -> Solution:
        """The solution that defines what is right."""
        return self.solutions("reference")[0]

    def inputs(self, seed: int = 0) -> list[list[dict[str, Any]]]:
        """For each check, the random inputs that it sees.

        Raises:
          CardError: the checks cell has a mistake.
        """
        drawn = []
        for number, item in enumerate(self.checks):
            draw = item.draw or self._checks[1].get("draw")
            if draw is None:
                raise CardError(f"the cell 'checks' must define draw(rng) for {item.name!r}")
            key = [zlib.crc32(self.name.encode()), number, seed]
            rng = np.random.default_rng(key)
            try:
                drawn.append([draw(rng) for _ in range(item.draws)])
            except Exception as error:
                raise fault_of_checks(error) from error
            if not all(isinstance(inputs, dict) for inputs in drawn[-1]):
                raise CardError(f"the cell 'checks': what is drawn for {item.name!r} is no dict")
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
    return Exercise(path, parse_cells(card.read_text(encoding="utf-8", errors="replace")))


def cards() -> list[Exercise]:
    """What there is a card of, in the order of the chapters: also where the card has a fault."""
    paths = (root() / "exercises").glob("[0-9]*/answers/*.py")
    found = [load(card.parent.parent / card.name) for card in paths]
    return sorted(found, key=lambda e: (e.topic, e.name))


def exercises() -> Iterator[Exercise]:
    """Every exercise, in the order of the chapters; in a chapter the easy and short ones first.

    One whose card has a fault is left out, and a message says so.
    """
    sound = []
    for exercise in cards():
        if exercise.fault:
            warn(f"the card of {exercise.topic}/{exercise.name} is left out: {exercise.fault}")
        else:
            sound.append(exercise)
    yield from sorted(sound, key=place_in_course)


def place_in_course(exercise: Exercise) -> tuple[str, int, int, str]:
    """By chapter, then by difficulty, then by time."""
    about = exercise.about
    return exercise.topic, about.get("difficulty", 0), about.get("minutes", 0), exercise.name


@cache  # each message once
def warn(message: str) -> None:
    """Says something on stderr, and goes on."""
    print(f"tinyjax: {message}", file=sys.stderr)


def find_card(name: str) -> Exercise:
    """The exercise of that name, even if its card has a fault; a path to its file will do."""
    known = {exercise.name: exercise for exercise in cards()}
    short = Path(name).stem
    if short not in known:
        near = difflib.get_close_matches(short, known, n=3, cutoff=0.5)
        advice = f"did you mean {' or '.join(near)}?" if near else "`tinyjax list` shows them all"
        raise SystemExit(f"tinyjax: no exercise is called {name!r}: {advice}")
    return known[short]


def find(name: str) -> Exercise:
    """The exercise of that name; a path to its file will do."""
    exercise = find_card(name)
    if exercise.fault:
        raise SystemExit(f"tinyjax: the card of {exercise.name} has a fault: {exercise.fault}")
    return exercise
