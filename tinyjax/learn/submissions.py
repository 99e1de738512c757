"""Finds what a class has handed in: one folder for each student, whatever its inner order."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinyjax.learn.exercise import Exercise
from tinyjax.learn.notebook import as_file

LIMIT = 1_000_000  # bytes; a larger file is no solution
OURS = {"answers", "__pycache__", ".ipynb_checkpoints", ".git", ".venv"}  # folders of no student


@dataclass(frozen=True)
class Submission:
    """What a student has handed in for an exercise; without a `path`, nothing."""

    student: str
    exercise: Exercise
    path: Path | None = None

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

    Raises:
      SystemExit: there are none; the message says what is expected.
    """
    if not folder.is_dir():
        raise SystemExit(f"tinyjax: DIR {str(folder)!r} is no folder")
    folders = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    found = [path for path in folders if not path.name.startswith((".", "__"))]
    if not found:
        raise SystemExit(
            f"tinyjax: DIR {str(folder)!r} must hold one folder for each student, such as "
            f"{folder.name}/ann/third_derivative.py; it has no folder in it"
        )
    return found


def handed_in(student: Path) -> dict[str, Path]:
    """The student's files by the names of the exercises they may be for.

    Where there are two of a name, the one counts that lies as in `exercises/`, then the one that
    lies higher up, then a Python file before a notebook.
    """
    files: dict[str, Path] = {}
    for path in sorted(walk(student), key=lambda p: (not p.parent.name[:2].isdigit(), rank(p))):
        files.setdefault(path.stem, path)
    return files


def rank(path: Path) -> tuple[int, bool, Path]:
    """High up comes first, then Python before notebooks, then the alphabet."""
    return len(path.parts), path.suffix != ".py", path


def walk(folder: Path) -> Iterator[Path]:
    """The Python files and notebooks below a folder; links to folders are not followed."""
    for path in folder.iterdir():
        if path.is_dir():
            if path.name not in OURS and not path.is_symlink():
                yield from walk(path)
        elif path.suffix in (".py", ".ipynb"):
            yield path


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
    files = {student: handed_in(student) for student in students(folder)}
    if not named:
        wanted = [e for e in wanted if any(e.name in theirs for theirs in files.values())]
    if not wanted:
        raise SystemExit(
            f"tinyjax: no folder in {str(folder)!r} holds a file named like an exercise, such as "
            "third_derivative.py; tinyjax list names the exercises"
        )
    return [
        Submission(student.name, exercise, theirs.get(exercise.name))
        for student, theirs in files.items()
        for exercise in wanted
    ]
