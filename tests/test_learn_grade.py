"""A class is graded: every submission gets a row, whatever it does, and nothing stays behind."""

import csv
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import psutil
import pytest

from tinyjax.learn import cli
from tinyjax.learn.exercise import Exercise, Solution, find
from tinyjax.learn.export import graded_notebook, plain_notebook
from tinyjax.learn.grade import Row, harmless, write_table

ROOT = Path(__file__).resolve().parents[1]
THIRD, STEP = find("third_derivative"), find("sgd_step")
RIGHT = THIRD.reference.source
WRONG = next(s for s in THIRD.solutions("wrong") if s.title == "twice")
pytestmark = pytest.mark.slow


def hand_in(folder: Path, student: str, name: str, content: str | bytes) -> Path:
    """Writes a student's file."""
    path = folder / student / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def grade(folder: Path, *more: str, name: str = "third_derivative") -> list[dict[str, str]]:
    """The rows of the table; the command must end with 0."""
    out = folder.parent / "out.csv"
    assert cli.main(["grade", str(folder), "-o", str(out), "--exercises", name, *more]) == 0
    return read(out)


def read(path: Path) -> list[dict[str, str]]:
    """A table."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def left_behind(mark: str) -> list[psutil.Process]:
    """The processes whose command line has the mark in it."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(mark in word for word in process.info["cmdline"] or []):
            found.append(process)
    return found


# --- Rows ----------------------------------------------------------------------------------------


def test_a_class(tmp_path, capsys):
    room = tmp_path / "class"
    hand_in(room, "ann", "third_derivative.py", RIGHT)
    hand_in(room, "bob", "exercises/01_grad/third_derivative.py", WRONG.source)
    hand_in(room, "cem", "notes.txt", "nothing")
    hand_in(room, "dot", "third_derivative.py", THIRD.stub)
    out = tmp_path / "out.csv"
    notes = tmp_path / "notes"
    code = cli.main(
        ["grade", str(room), "-o", str(out), "--seed", "3", "--jobs", "2", "--feedback", str(notes)]
    )
    assert code == 0
    ann, bob, cem, dot = read(out)
    assert (ann["student"], ann["exercise"], ann["status"]) == ("ann", "third_derivative", "pass")
    assert (float(ann["score"]), ann["failed_checks"], ann["seed"]) == (1.0, "", "3")
    assert ann["sha256"] == hashlib.sha256(RIGHT.encode()).hexdigest()
    assert 0 < float(ann["seconds"]) < 60
    assert bob["status"] == "fail" and float(bob["score"]) < 1
    assert "a random polynomial at a random point" in bob["failed_checks"]
    assert bob["misconceptions"] == WRONG.misconception
    assert (cem["status"], cem["sha256"], float(cem["score"])) == ("missing", "", 0.0)
    assert (dot["status"], dot["detail"], float(dot["score"])) == ("fail", "not started", 0.0)
    said = capsys.readouterr().out
    assert "third_derivative          1 of 4 passed   1 x You differentiated twice" in said
    assert "4 rows" in said and "--seed 3" in said
    assert WRONG.misconception in (notes / "bob" / "third_derivative.txt").read_text()


HOSTILE = {
    "endless loop": ("while True: pass", "timeout", "", ""),
    "loops inside": ("def third_derivative(f):\n    while True: pass", "timeout", "", ""),
    "a kill": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "crash", "SIGKILL", ""),
    "kills the server": (
        "import os, signal; os.kill(os.getppid(), signal.SIGKILL); os._exit(0)",
        "crash", "was ended by it", "",
    ),
    "leaves": ("import os; os._exit(0)", "crash", "exit code 0", ""),
    "flood": ("while True: print('x' * 10000)", "crash", "printed too much", ""),
    "fork bomb": ("import os\nwhile True: os.fork()", "crash", "too many processes", ""),
    "syntax": ("def third_derivative(f:", "fail", "broken: SyntaxError", ""),
    "not UTF-8": (b"\xff\xfe\xfa", "fail", "unreadable: UnicodeDecodeError", ""),
    "NUL": (b"x = 1\x00", "fail", "broken", ""),
    "huge": (b"#" * 2_000_000, "fail", "larger than 1,000,000 bytes", ""),
    "empty": ("", "fail", "", ""),
    "patch": (
        "import tinyjax as jax\njax.grad = lambda f: lambda x: 0.0\n" + RIGHT,
        "fail", "tampered: it replaces tinyjax.grad", "",
    ),
    "says it is right": (
        "import os\nos.write(3, b'{\"done\": true, \"status\": \"pass\"}\\n')\nos._exit(0)",
        "fail", "", "",
    ),
}  # fmt: skip


def test_hostile_submissions_get_their_rows(tmp_path, monkeypatch):
    """None of them keeps the others from their rows, and right ones among them pass."""
    monkeypatch.setattr(type(THIRD), "seconds", 6.0)
    room = tmp_path / "class"
    for name, (source, *_) in HOSTILE.items():
        hand_in(room, name, "third_derivative.py", source)
    for name in ("a right one", "z right one"):
        hand_in(room, name, "third_derivative.py", RIGHT)
    rows = {row["student"]: row for row in grade(room, "--jobs", "2")}
    assert len(rows) == len(HOSTILE) + 2
    for name, (_, status, words, _) in HOSTILE.items():
        assert (rows[name]["status"], words in rows[name]["detail"]) == (status, True), rows[name]
        assert float(rows[name]["score"]) == 0.0
    assert rows["a right one"]["status"] == rows["z right one"]["status"] == "pass"


DAEMON = """
import os, subprocess, sys
code = "import time; time.sleep(600) # {mark}"
subprocess.Popen([sys.executable, "-c", code])
subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", code])
    os._exit(0)
"""


def test_no_process_stays(tmp_path):
    """Children, sessions of their own and orphans all end with the submission."""
    mark = f"tinyjax-test-{os.getpid()}"
    room = tmp_path / "class"
    hand_in(room, "ann", "third_derivative.py", DAEMON.format(mark=mark) + RIGHT)
    (row,) = grade(room)
    assert row["status"] == "pass"
    assert left_behind(mark) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the environment is read from /proc")
def test_not_even_of_a_server_that_was_killed(tmp_path):
    mark = f"tinyjax-killed-{os.getpid()}"
    room = tmp_path / "class"
    source = DAEMON.format(mark=mark) + "import signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    hand_in(room, "ann", "third_derivative.py", source)
    hand_in(room, "bob", "third_derivative.py", RIGHT)
    ann, bob = grade(room, "--jobs", "1")
    assert (ann["status"], bob["status"]) == ("crash", "pass")
    assert left_behind(mark) == []


def test_a_submission_cannot_spoil_the_kernels_of_the_next(tmp_path):
    """Each works on a copy of the compiled kernels."""
    spoil = (
        "import os, pathlib, tinyjax\n"
        "for path in pathlib.Path(tinyjax.config.tinyjax_cache_dir).rglob('*'):\n"
        "    path.is_file() and path.write_bytes(b'spoilt')\n"
    )
    room = tmp_path / "class"
    hand_in(room, "ann", "sgd_step.py", spoil + STEP.reference.source)
    hand_in(room, "bob", "sgd_step.py", STEP.reference.source)
    ann, bob = grade(room, "--jobs", "1", name="sgd_step")
    assert ann["status"] == bob["status"] == "pass", (ann, bob)


def test_notes_are_written_whatever_there_is_to_say(tmp_path):
    """An unreadable file, and words that no file can hold."""
    room, notes = tmp_path / "class", tmp_path / "notes"
    hand_in(room, "ann", "third_derivative.ipynb", '{"cells": 3}')
    hand_in(room, "bob", "third_derivative.py", "raise ValueError('\\ud800')")
    hand_in(room, "cem", "third_derivative.py", "import os; os.kill(os.getpid(), 40)")
    hand_in(room, "dot", "third_derivative.py", RIGHT)
    rows = {row["student"]: row for row in grade(room, "--feedback", str(notes))}
    assert [rows[name]["status"] for name in rows] == ["fail", "fail", "crash", "pass"]
    assert "the file cannot be read" in (notes / "ann" / "third_derivative.txt").read_text()
    assert r"\ud800" in (notes / "bob" / "third_derivative.txt").read_text()
    assert "signal 40" in rows["cem"]["detail"]


def test_files_are_read_before_any_code_runs(tmp_path):
    """Who changes a classmate's file meanwhile changes nothing."""
    room = tmp_path / "class"
    hand_in(room, "ann", "third_derivative.py", "")
    bob = hand_in(room, "bob", "third_derivative.py", RIGHT)
    spoil = f"open({str(bob)!r}, 'w').write('1 / 0')\n"
    hand_in(room, "ann", "third_derivative.py", spoil + RIGHT)
    assert [row["status"] for row in grade(room, "--jobs", "1")] == ["pass", "pass"]
    assert bob.read_text() == "1 / 0"


def test_a_failure_of_the_grader_is_nobodys_failure(tmp_path, monkeypatch, capsys):
    broken = THIRD.reference.source.replace("jax.grad(", "jax.no_such(")
    monkeypatch.setattr(Exercise, "reference", Solution("reference", broken))
    room = tmp_path / "class"
    hand_in(room, "ann", "third_derivative.py", RIGHT)
    out = tmp_path / "out.csv"
    assert cli.main(["grade", str(room), "-o", str(out)]) == 1
    (row,) = read(out)
    assert row["status"] == "not graded" and "the grader itself failed" in row["detail"]
    assert "1 rows are not graded" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux")
def test_not_even_what_hides_its_environment_stays(tmp_path):
    mark = f"tinyjax-hidden-{os.getpid()}"
    room = tmp_path / "class"
    hand_in(
        room, "ann", "third_derivative.py",
        "import os, signal, sys, time\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        code = 'import time; time.sleep(600) # {mark}'\n"
        "        os.execve(sys.executable, [sys.executable, '-c', code], {})\n    os._exit(0)\n"
        "time.sleep(1)\nos.kill(os.getppid(), signal.SIGKILL)\n",
    )  # fmt: skip
    out = tmp_path / "out.csv"
    done = subprocess.run(
        [sys.executable, "-m", "tinyjax.learn", "grade", str(room), "-o", str(out)],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert [row["status"] for row in read(out)] == ["crash"]
    assert left_behind(mark) == []


# --- Inputs --------------------------------------------------------------------------------------


def test_the_seed_draws_the_inputs(tmp_path):
    """What is right for the inputs of one seed by luck is wrong for those of another."""
    inputs = THIRD.inputs(11)[0]
    polynomials = {repr(drawn["x"]): drawn for drawn in inputs}
    source = (
        "import tinyjax as jax\n"
        f"KNOWN = {sorted(polynomials)}\n"
        "def third_derivative(f):\n"
        "    right = jax.grad(jax.grad(jax.grad(f)))\n"
        "    return lambda x: right(x) if any(abs(float(k) - float(x)) < 1e-6 for k in KNOWN) "
        "else 0 * x\n"
    )
    room = tmp_path / "class"
    hand_in(room, "ann", "third_derivative.py", source)
    name = "a random polynomial at a random point"
    (lucky,) = grade(room, "--seed", "11")
    (other,) = grade(room, "--seed", "12")
    assert name not in lucky["failed_checks"] and name in other["failed_checks"]
    (again,) = grade(room, "--seed", "11")
    assert [again[key] for key in ("status", "score")] == [
        lucky[key] for key in ("status", "score")
    ]


def test_without_a_seed_one_is_drawn_and_told(tmp_path):
    room = tmp_path / "class"
    hand_in(room, "ann", "third_derivative.py", RIGHT)
    first, second = (grade(room)[0]["seed"] for _ in range(2))
    assert first != second


def test_a_notebook_counts(tmp_path):
    notebook = plain_notebook(THIRD)
    cell = next(c for c in notebook.cells if c.source.startswith("%%exercise"))
    cell.source = f"%%exercise third_derivative\n%timeit 1\n{RIGHT}"
    room = tmp_path / "class"
    hand_in(room, "ann", "third_derivative.ipynb", nbformat.writes(notebook))
    hand_in(room, "bob", "third_derivative.ipynb", "no notebook")
    hand_in(room, "cem", "third_derivative.ipynb", nbformat.writes(nbformat.v4.new_notebook()))
    ann, bob, cem = grade(room)
    assert ann["status"] == "pass", ann
    assert (bob["status"], cem["status"]) == ("fail", "fail")
    assert "no cell that begins with %%exercise third_derivative" in cem["detail"]


def test_a_notebook_of_nbgrader_counts(tmp_path):
    """Its graded cells do not: what a student makes of `graded` is nobody's concern here."""
    room = tmp_path / "submitted"
    for student, source in {
        "ann": RIGHT,
        "bob": WRONG.source,
        "cem": f"graded = print\n{WRONG.source}",
        "dot": "",
    }.items():
        notebook = graded_notebook(THIRD)
        for cell in notebook.cells:
            if cell.metadata.nbgrader.solution:
                cell.source = source
            if cell.metadata.nbgrader.grade:
                cell.source = "1 / 0"
        notebook.cells.append(nbformat.v4.new_code_cell("%time\nmine = 1"))
        place = "01_grad/third_derivative.ipynb"
        hand_in(room, student, place, nbformat.writes(notebook))
    rows = grade(room)
    assert [row["status"] for row in rows] == ["pass", "fail", "fail", "fail"]
    assert [row["misconceptions"] for row in rows[1:3]] == [WRONG.misconception] * 2


def test_files_of_other_kinds(tmp_path):
    room = tmp_path / "class"
    outside = hand_in(tmp_path / "elsewhere", "eve", "third_derivative.py", RIGHT)
    for name in ("link", "pipe", "folder"):
        (room / name).mkdir(parents=True)
    (room / "link" / "third_derivative.py").symlink_to(outside)
    os.mkfifo(room / "pipe" / "third_derivative.py")
    (room / "folder" / "third_derivative.py").mkdir()
    hand_in(room, "two", "old/third_derivative.py", WRONG.source)
    hand_in(room, "two", "01_grad/third_derivative.py", RIGHT)
    hand_in(room, "two", "01_grad/answers/third_derivative.py", "1 / 0")
    rows = {row["student"]: row for row in grade(room)}
    assert "no regular file" in rows["link"]["detail"]
    assert "no regular file" in rows["pipe"]["detail"]
    assert rows["folder"]["status"] == "missing"
    assert rows["two"]["status"] == "pass"


# --- The table -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@cmd", "\tx", "\rx", "\nx"])
def test_no_cell_is_a_formula(name, tmp_path):
    row = Row(name, "e", 1.0, "pass", name, 0.1, "", name, name, 1)
    write_table(tmp_path / "t.csv", [row])
    (read_back,) = read(tmp_path / "t.csv")
    shown = name.replace("\t", r"\t").replace("\r", r"\r")  # as text, not as they are
    for column in ("student", "failed_checks", "misconceptions", "detail"):
        assert read_back[column] == "'" + shown


def test_harmless_cells_stay():
    assert [harmless(value) for value in ("ann", "", "1-2", 0.5, -3)] == ["ann", "", "1-2", 0.5, -3]


def test_a_near_miss_is_named(tmp_path):
    room = tmp_path / "class"
    hand_in(room, "ann", "third_derivative (1).py", RIGHT)
    (row,) = grade(room)
    assert (row["status"], row["detail"]) == ("missing", "is it 'third_derivative (1).py'?")


def test_odd_names_of_students(tmp_path):
    room = tmp_path / "class"
    names = ['=HYPERLINK("http://x")', "李 雷", 'a "b", c', "O'Neil"]
    for name in names:
        hand_in(room, name.replace("/", "_"), "third_derivative.py", THIRD.stub)
    found = {row["student"] for row in grade(room)}
    assert found == {'\'=HYPERLINK("http:__x")', *names[1:]}


def test_the_old_table_stays_until_the_new_one_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    row = Row("ann", "e", 1.0, "pass", "", 0.1, "", "", "", 1)
    write_table(path, [row])
    before = path.read_text()
    monkeypatch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_table(path, [row, row])
    assert path.read_text() == before


# --- Interruptions -------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_keeps_what_it_has(number, tmp_path):
    mark = f"tinyjax-stop-{number}-{os.getpid()}"
    room = tmp_path / "class"
    for student in ("ann", "bob"):
        hand_in(room, student, "third_derivative.py", RIGHT)
    hang = DAEMON.format(mark=mark) + "import time\ntime.sleep(600)\n"
    hand_in(room, "cem", "third_derivative.py", hang.replace("600", "601"))
    out = tmp_path / "out.csv"
    command = [sys.executable, "-m", "tinyjax.learn", "grade", str(room), "-o", str(out)]
    process = subprocess.Popen(
        [*command, "--jobs", "1"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    deadline = time.monotonic() + 120
    while not left_behind(mark):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.1)
    process.send_signal(number)
    said, _ = process.communicate(timeout=60)
    if number == signal.SIGKILL:  # nobody could write a last table: there may be one or none
        assert process.returncode == -number
    else:
        assert process.returncode == 130
        assert "2 of 3 rows in" in said and "Interrupted." in said
        assert [row["student"] for row in read(out)] == ["ann", "bob"]
    deadline = time.monotonic() + 30
    while left_behind(mark):
        assert time.monotonic() < deadline, left_behind(mark)
        time.sleep(0.1)


# --- Errors --------------------------------------------------------------------------------------


def test_bad_arguments_are_named(tmp_path):
    room = tmp_path / "class"
    out = str(tmp_path / "out.csv")
    with pytest.raises(SystemExit, match="DIR '.*class' is no folder"):
        cli.main(["grade", str(room), "-o", out])
    room.mkdir()
    with pytest.raises(SystemExit, match="must hold one folder for each student"):
        cli.main(["grade", str(room), "-o", out])
    hand_in(room, "ann", "diary.py", "")
    with pytest.raises(SystemExit, match="no folder in .* holds a file named like an exercise"):
        cli.main(["grade", str(room), "-o", out])
    with pytest.raises(SystemExit, match="-o .* must be a file in a folder that exists"):
        cli.main(["grade", str(room), "-o", str(tmp_path)])
    hand_in(room, "ann", "third_derivative.py", RIGHT)
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match="the results cannot be written: .*file"):
        cli.main(["grade", str(room), "-o", out, "--feedback", str(tmp_path / "file")])
    with pytest.raises(SystemExit, match="--jobs must be at least 1"):
        cli.main(["grade", str(room), "-o", out, "--jobs", "0"])
    with pytest.raises(SystemExit, match="no exercise is called 'third'"):
        cli.main(["grade", str(room), "-o", out, "--exercises", "third"])
