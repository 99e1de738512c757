"""docs/exercises.md and docs/teaching.md say what is true of the exercises and of the commands."""

import csv
import dataclasses
import re
from pathlib import Path

import exercise_table
import nbformat
import pytest

from tinyjax.learn import child, cli, dev, export, feedback, forkserver, grade, watch
from tinyjax.learn.exercise import exercises, find, load, parse_cells
from tinyjax.learn.gates import complaints
from tinyjax.learn.judge import CheckResult, Grader, Verdict

ROOT = Path(__file__).resolve().parents[1]
STUDENTS = (ROOT / "docs" / "exercises.md").read_text(encoding="utf-8")
TEACHERS = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXERCISES = list(exercises())


# --- For students --------------------------------------------------------------------------------


def test_the_table_is_that_of_the_cards():
    """Run `python -m tests.exercise_table` after changing what a card is about."""
    assert exercise_table.page() == STUDENTS


def test_the_front_page_counts_the_exercises():
    built = sum(exercise.kind == "B" for exercise in EXERCISES)
    assert f"{len(EXERCISES)} [exercises](docs/exercises.md)" in README
    assert f"In {built} of them you build" in README


def test_every_command_is_named_and_none_that_is_not():
    parser = cli.build_parser()
    known = next(a.choices for a in parser._actions if a.dest == "command").keys()
    for page in (STUDENTS, TEACHERS):
        named = set(re.findall(r"`tinyjax ([a-z]+)", page))
        named |= set(re.findall(r"^\$ tinyjax ([a-z]+)", page, re.MULTILINE))
        assert named <= known
    assert known - {"learn", "grade", "dev"} <= set(re.findall(r"`tinyjax ([a-z]+)", STUDENTS))


def test_the_keys_are_those_of_watch():
    shown = re.findall(r"^\| `(\w)` \|", STUDENTS, re.MULTILINE)
    assert shown == re.findall(r"(?:^|  )(\w) ", watch.KEYS)


def test_the_limits_are_those_of_the_code():
    assert "memory | 8 GB" in STUDENTS and child.MEMORY_LIMIT == 8 << 30
    assert "prints | 200 kB" in STUDENTS and forkserver.OUTPUT_LIMIT == 200_000
    assert "at once | 64 " in STUDENTS and child.PROCESS_LIMIT == 64
    assert "writes | 64 MB" in STUDENTS and child.FILE_LIMIT == 64 << 20
    assert {exercise.seconds for exercise in EXERCISES} == {10.0, 30.0, 60.0}


# --- For teachers: the class ---------------------------------------------------------------------


def solution(name: str, title: str) -> str:
    """A wrong solution of an exercise, as a student's file."""
    return next(s.source for s in find(name).solutions("wrong") if s.title == title)


def notebook(name: str, title: str) -> str:
    """The exported notebook of an exercise, with a wrong solution written into it."""
    filled = export.plain_notebook(find(name))
    code = next(cell.text for cell in find(name).cells if cell.title == f"wrong: {title}")
    graded = next(cell for cell in filled.cells if cell.source.startswith("%%exercise"))
    graded.source = f"%%exercise {name}\n{code}"
    return nbformat.writes(filled)


PATCHES = """\
import numpy as np

import tinyjax as jax

np.allclose = lambda *arguments: True
jax.grad = lambda f: f


def sgd_step(theta, x, y, lr):
    return theta
"""
ENDLESS = "def third_derivative(f):\n    while True:\n        pass\n"
UNREADABLE = "def third_derivative(f)\n    return f\n"
LEAVES = "import os\n\n\ndef sgd_step(theta, x, y, lr):\n    os._exit(0)\n"


def hand_in(room: Path) -> None:
    """Writes the class of the page."""
    files = {
        "ann/exercises/01_grad/third_derivative.py": find("third_derivative").reference.source,
        "ann/exercises/02_first_loop/sgd_step.py": find("sgd_step").reference.source,
        "ann/exercises/08_jvp/sin_jvp.py": find("sin_jvp").reference.source,
        "bob/third_derivative.py": solution("third_derivative", "twice"),
        "bob/sgd_step.ipynb": notebook("sgd_step", "uphill"),
        "cem/third_derivative.py": ENDLESS,
        "cem/sgd_step.py": find("sgd_step").stub,
        "dot/work/sgd_step.py": PATCHES,
        "dot/work/sin_jvp.py": solution("sin_jvp", "the tangent is ignored"),
        "eli/third_derivative.py": UNREADABLE,
        "eli/sgd_step.py": LEAVES,
    }
    for name, text in files.items():
        path = room / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def rows_of_markdown(heading: str) -> list[list[str]]:
    """The cells of the table on the teachers' page that begins with this line."""
    lines = TEACHERS.partition(f"{heading}\n")[2].splitlines()[1:]
    rows = [line.strip("|").split(" |") for line in lines[: lines.index("")]]
    return [[cell.strip().strip("`") for cell in row] for row in rows]


@pytest.mark.slow
def test_the_transcript_is_that_of_a_real_run(tmp_path, capsys):
    """The class of the page is graded, and the page shows what came out."""
    hand_in(tmp_path / "class")
    out, notes = str(tmp_path / "grades.csv"), str(tmp_path / "notes")
    options = ["-o", out, "--seed", "7", "--feedback", notes]
    assert cli.main(["grade", str(tmp_path / "class"), *options]) == 0
    said = capsys.readouterr().out.replace(str(tmp_path) + "/", "")
    assert f"--feedback notes\n{said}```" in TEACHERS
    columns = ["student", "exercise", "score", "status", "misconceptions", "detail"]
    shown = rows_of_markdown(f"| {' | '.join(columns)} |")
    with open(out, newline="", encoding="utf-8") as file:
        assert shown == [[row[name] for name in columns] for row in csv.DictReader(file)]


# --- For teachers: names -------------------------------------------------------------------------


def names(heading: str) -> list[str]:
    """The first column of a table."""
    return [row[0] for row in rows_of_markdown(heading)]


def names_of(dataclass) -> list[str]:
    """The names of the fields."""
    return [field.name for field in dataclasses.fields(dataclass)]


def test_every_column_and_status_is_explained():
    assert names("| column | what it says |") == names_of(grade.Row)
    statuses = names("| status | what happened |")
    assert sorted(statuses) == sorted({*grade.STATUSES.values(), "fail"})


def test_every_field_of_the_json_is_explained():
    rows = re.findall(r"^\| field \| .*\n\|---.*\n((?:\|.*\n)+)", TEACHERS, re.MULTILINE)
    verdict, checks = (re.findall(r"^\| `(\w+)`", row, re.MULTILINE) for row in rows)
    assert verdict == [*names_of(Verdict), "score"]
    assert checks == names_of(CheckResult)
    line = next(row for row in rows[0].splitlines() if row.startswith("| `status`"))
    assert set(re.findall(r"`([a-z ]+)`", line)) - {"status"} == set(feedback.HEADLINES)


def test_the_json_is_as_explained():
    with Grader() as grader:
        said = grader.check(find("third_derivative"), solution("third_derivative", "twice"))
    assert list(said.as_json()) == [*names_of(Verdict), "score"]
    assert f"integer | {said.schema};" in TEACHERS


# --- For teachers: writing an exercise -----------------------------------------------------------

BLOCKS = FENCE.findall(TEACHERS)
CARD = next(text for kind, text in BLOCKS if kind == "python" and "# The card of" in text)
DEAD = next(text for kind, text in BLOCKS if kind == "python" and "def draw_plain" in text)
GUESSED = next(text for kind, text in BLOCKS if kind == "python" and "return bool(" in text)
CHECK = CARD[CARD.index("@check") : CARD.index("\n\n# %% reference")]


def judged(card: str, folder: Path) -> tuple[str, list[str]]:
    """What `dev check` says of a card: the line about it, and the complaints."""
    (folder / "answers").mkdir()
    (folder / "answers" / "unit_rows.py").write_text(card, encoding="utf-8")
    exercise = load(folder / "unit_rows.py")
    with Grader() as grader:
        found = list(complaints(exercise, grader))
        return dev.summary(exercise, grader, found), found


def shown(words: str) -> str:
    """The block of the page with these words."""
    return next(text for kind, text in BLOCKS if words in text and kind == "text")


@pytest.mark.slow
def test_the_card_of_the_page_is_good(tmp_path):
    line, found = judged(CARD, tmp_path)
    assert found == []
    assert f"unit_rows: {line.rpartition(',')[0]}" in TEACHERS  # the time aside


@pytest.mark.slow
def test_the_dead_check_of_the_page_is_one(tmp_path):
    line, found = judged(CARD.replace(CHECK, f"{DEAD}\n\n{CHECK}"), tmp_path)
    assert shown("no wrong solution") == "\n  ".join([f"06_vmap/unit_rows: {line}", *found]) + "\n"


@pytest.mark.slow
def test_the_check_that_can_be_guessed_is_not_let_pass(tmp_path):
    _, found = judged(CARD.replace(CHECK, GUESSED), tmp_path)
    assert shown("not a bare True").splitlines() == found


def test_the_cells_of_a_card_are_explained():
    explained = names("| cell | what it holds |")
    assert explained == list(dict.fromkeys(titles(dev.SKELETON)))


def titles(card: str) -> list[str]:
    """The titles of a card's cells, as the page writes them."""
    found = [cell.title for cell in parse_cells(card)]
    return [{"right": "right: how", "wrong": "wrong: what"}.get(t.split(":")[0], t) for t in found]


def test_the_pieces_of_sin_jvp_are_from_its_card():
    checks = find("sin_jvp").checks_source
    pieces = [t for kind, t in BLOCKS if kind == "python" and ("sin_p" in t or "run_ex" in t)]
    assert len(pieces) == 2 and all(piece in checks + "\n" for piece in pieces)
