"""Finds what a class has handed in: one folder for each student, whatever its inner order."""

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinyjax.learn.exercise import Exercise, cards, warn
from tinyjax.learn.notebook import as_file

LIMIT = 1_000_000  # bytes; a larger file is no solution
DEPTH = 12  # levels of folders; deeper files do not count
OURS = {"answers", "__pycache__", ".ipynb_checkpoints", ".git", ".venv"}  # folders of no student


@dataclass(frozen=True)
class Submission:
    """What a student has handed in for an exercise; without a `path`, nothing.

    `near` is then the name of a file that may be meant for it, or empty.
    """

    student: str
    exercise: Exercise
    path: Path | None = None
    near: str = ""

    def read(self) -> bytes:
        """The bytes of the file.

        Raises:
          OSError: it cannot be read, is too large, or is no regular file.
        """
        assert self.path is not None
        if self.path.is_symlink() or not self.path.is_file():
            raise OSError("it is no regular file")
        if self.path.stat().st_size > LIMIT:
            raise OSError(f"it is larger than {LIMIT:,} bytes")
        return self.path.read_bytes()

    def source(self, data: bytes) -> str:
        """The Python code of the file; of a notebook, that of the cells which are the student's.

        Raises:
          ValueError: the file is not in UTF-8, or no notebook, or without such a cell.
        """
        assert self.path is not None
        text = data.decode("utf-8-sig")
        return text if self.path.suffix == ".py" else source_of_notebook(text, self.exercise)


def source_of_notebook(text: str, exercise: Exercise) -> str:
    """The student's file that a notebook of `tinyjax export` amounts to, of either kind."""
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    sources = {id(cell): "".join(cell["source"]) for cell in cells}
    magic = f"%%exercise {exercise.name}"
    found = []
    for cell in cells:
        first, _, body = sources[id(cell)].lstrip().partition("\n")
        if first.split() == magic.split():
            found = [body]  # the last one counts
    if not found and any("nbgrader" in cell["metadata"] for cell in cells):
        found = [sources[id(cell)] for cell in cells if is_students(cell)]
    if not found:
        raise ValueError(f"the notebook has no cell that begins with {magic}")
    lines = "\n\n\n".join(found).splitlines()
    return as_file(exercise, "\n".join(x for x in lines if not x.startswith(("%", "!"))))


def is_students(cell: dict[str, Any]) -> bool:
    """Whether a cell of an nbgrader notebook is the student's to write: its own, or a new one."""
    said = cell["metadata"].get("nbgrader", {})
    return bool(said.get("solution", not said.get("locked", False)))


# --- A class -------------------------------------------------------------------------------------


def students(folder: Path) -> list[Path]:
    """The students' folders, in the order of their names.

    A link is left out, and a message says so.

    Raises:
      SystemExit: there are none; the message says what is expected.
    """
    if not folder.is_dir():
        raise SystemExit(f"tinyjax: DIR {str(folder)!r} is no folder")
    folders = []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.is_symlink():
            warn(f"{path} is left out: it is a link, not a folder")
        elif path.is_dir():
            folders.append(path)
    found = [path for path in folders if not path.name.startswith((".", "__"))]
    if not found:
        raise SystemExit(
            f"tinyjax: DIR {str(folder)!r} must hold one folder for each student, such as "
            f"{folder.name}/ann/third_derivative.py; it has no folder in it"
        )
    return found


SUFFIXES = (".py", ".ipynb")


def handed_in(files: list[Path]) -> dict[str, Path]:
    """A student's files by the names of the exercises they may be for.

    Where there are two of a name, the one counts that lies as in `exercises/`, then the one that
    lies higher up, then a Python file before a notebook.
    """
    found: dict[str, Path] = {}
    for path in sorted(files, key=lambda p: (not p.parent.name[:2].isdigit(), rank(p))):
        if path.suffix in SUFFIXES:
            found.setdefault(path.stem, path)
    return found


def near_misses(files: list[Path], names: list[str]) -> dict[str, str]:
    """For the names of exercises, files that are called almost so, such as `Sgd-Step (1).py`."""
    plain = {letters(name): name for name in names}
    found: dict[str, str] = {}
    for path in sorted(files, key=rank):
        if path.stem in names and path.suffix in SUFFIXES:
            continue
        stem = letters(path.stem)
        within = sorted((name for name in plain if name in stem), key=len)
        for name in within[-1:] or difflib.get_close_matches(stem, plain, n=1, cutoff=0.8):
            found.setdefault(plain[name], path.name)
    return found


def letters(stem: str) -> str:
    """A name without what is easily mistaken: capitals, spaces and punctuation."""
    return re.sub(r"[\W_]", "", stem.lower())


def rank(path: Path) -> tuple[int, bool, Path]:
    """High up comes first, then Python before notebooks, then the alphabet."""
    return len(path.parts), path.suffix != ".py", path


def walk(folder: Path) -> Iterator[Path]:
    """The Python files and notebooks below a folder; links to folders are not followed."""
    level = [folder]
    for _ in range(DEPTH):
        below = []
        for path in (path for parent in level for path in parent.iterdir()):
            if path.is_dir():
                if path.name not in OURS and not path.is_symlink():
                    below.append(path)
            elif path.suffix.lower() in SUFFIXES:
                yield path
        level = below


def submissions(folder: Path, wanted: list[Exercise], named: bool) -> list[Submission]:
    """One for each student and exercise, in that order.

    Args:
      folder: the class.
      wanted: the exercises to look for.
      named: whether the teacher asked for just these; otherwise an exercise counts only when
        somebody has handed it in.

    Raises:
      SystemExit: nobody has handed in anything.
    """
    wanted = list({exercise.name: exercise for exercise in wanted}.values())
    files = {student: list(walk(student)) for student in students(folder)}
    ours = {student: handed_in(theirs) for student, theirs in files.items()}
    if not named:
        wanted = [e for e in wanted if any(e.name in theirs for theirs in ours.values())]
    if not wanted:
        raise SystemExit(
            f"tinyjax: no folder in {str(folder)!r} holds a file named like an exercise, such as "
            "third_derivative.py; tinyjax list names the exercises"
        )
    names = [exercise.name for exercise in cards()]
    near = {student: near_misses(theirs, names) for student, theirs in files.items()}
    return [
        Submission(student.name, e, path, "" if path else near[student].get(e.name, ""))
        for student in files
        for e in wanted
        for path in [ours[student].get(e.name)]
    ]
