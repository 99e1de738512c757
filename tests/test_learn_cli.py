"""The commands as a student types them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tinyjax.learn import cli, lab
from tinyjax.learn.course import current, following, note_pass, state
from tinyjax.learn.exercise import exercises, find, root
from tinyjax.learn.progress import progress_file, read_progress
from tinyjax.learn.quiz import predict, questions

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A student's own copy of the exercises, as handed out, and an empty progress file."""
    shutil.copytree(ROOT / "exercises", tmp_path / "exercises")
    (tmp_path / "chapters").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TINYJAX_PROGRESS", str(tmp_path / "state" / "progress.json"))
    for name in ("sgd_step", "third_derivative"):
        exercise = find(name)
        exercise.path.write_text(exercise.stub)
    return tmp_path


def solve(name: str) -> None:
    """Writes our solution into the student's file."""
    find(name).path.write_text(find(name).reference.source)


def test_the_exercises_of_this_folder_are_found(desk):
    assert root() == desk
    assert find("exercises/02_first_loop/sgd_step.py").path.is_relative_to(desk)


def test_from_stub_to_pass(desk, capsys):
    assert cli.main(["check", "third_derivative"]) == 1
    assert "third_derivative: not started" in capsys.readouterr().out
    wrong = find("third_derivative").solutions("wrong")[1]
    find("third_derivative").path.write_text(wrong.source)
    assert cli.main(["check", "third_derivative"]) == 1
    said = capsys.readouterr().out
    for word in ("FAIL  a random polynomial", "expected", "got", wrong.misconception, "x = "):
        assert word in said
    solve("third_derivative")
    assert cli.main(["check", "third_derivative"]) == 0
    assert "third_derivative: passed (2 of 2 checks)" in capsys.readouterr().out


def test_check_without_a_name_takes_the_first_unsolved(desk, capsys):
    first, second = [exercise.name for exercise in exercises()][:2]
    solve(first)
    assert cli.main(["check"]) == 0
    assert cli.main(["check"]) == 1
    assert f"{second}: not started" in capsys.readouterr().out


def test_json(desk, capsys):
    wrong = find("sgd_step").solutions("wrong")[0]
    find("sgd_step").path.write_text(wrong.source)
    assert cli.main(["check", "sgd_step", "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["exercise"], verdict["status"], verdict["schema"]) == ("sgd_step", "fail", 2)
    assert [check["status"] for check in verdict["checks"]] == ["fail", "fail"]
    assert verdict["checks"][0]["misconception"] == wrong.misconception


def test_check_all(desk, capsys):
    assert cli.main(["check", "--all", "--json"]) == 1
    verdicts = json.loads(capsys.readouterr().out)
    assert {"sgd_step", "third_derivative"} <= {verdict["exercise"] for verdict in verdicts}


def test_list(desk, capsys):
    solve("third_derivative")
    cli.main(["check", "third_derivative"])
    find("sgd_step").path.write_text("# begun")
    capsys.readouterr()
    assert cli.main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  passed       third_derivative       *    The third derivative" in lines
    assert "  started      sgd_step               *    One step of gradient descent" in lines


def test_list_for_programs(desk, capsys):
    assert cli.main(["list", "--json"]) == 0
    known = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert list(known) == [exercise.name for exercise in exercises()]
    entry = known["sgd_step"]
    assert (entry["topic"], entry["state"], entry["kind"]) == ("02_first_loop", "not started", "A")
    assert entry["difficulty"] == 1 and entry["minutes"] > 0
    assert Path(entry["file"]) == find("sgd_step").path


def test_a_pipe_that_is_closed_early(desk):
    """`tinyjax list | head -1` ends without a traceback."""
    done = subprocess.run(
        f"{sys.executable} -m tinyjax.learn list | head -1",
        shell=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout == "00_arrays\n" and done.stderr == ""


def test_goto_chooses_the_exercise_at_hand(desk, capsys):
    assert cli.main(["goto", "02_first_loop/sgd_step"]) == 0
    said = capsys.readouterr().out
    assert "One step of gradient descent (*, " in said and str(find("sgd_step").path) in said
    assert current().name == "sgd_step"
    assert cli.main(["check"]) == 1
    assert "sgd_step: not started" in capsys.readouterr().out
    solve("sgd_step")
    assert cli.main(["check"]) == 0
    after = following(find("sgd_step"))
    assert f"Next: tinyjax goto {after.name}." in capsys.readouterr().out
    assert current().name == after.name  # it is solved: on to the next
    assert cli.main(["goto", "sgd_step"]) == 0  # to look at it again
    assert current().name == "sgd_step"


def test_after_the_last_comes_the_first_unsolved(desk):
    known = list(exercises())
    assert following(known[-1]).name == known[0].name
    for exercise in known:
        note_pass(exercise, "")
    assert following(known[0]) is None and current().name == known[-1].name


def test_a_pass_counts_for_the_checks_it_has_passed(desk, capsys):
    """An exercise whose checks have changed is to be checked again."""
    solve("sgd_step")
    cli.main(["check", "sgd_step"])
    assert state(find("sgd_step")) == "passed"
    card = find("sgd_step").path.parent / "answers" / "sgd_step.py"
    card.write_text(card.read_text().replace("seconds = 30.0", "seconds = 31.0"))
    assert state(find("sgd_step")) == "check again"
    cli.main(["check", "sgd_step"])
    assert state(find("sgd_step")) == "passed"


def test_learn_says_what_comes_next(desk, capsys):
    shutil.copy(ROOT / "chapters" / "00_arrays.ipynb", desk / "chapters")
    first = [exercise for exercise in exercises() if exercise.topic == "00_arrays"]
    assert cli.main(["learn"]) == 0
    said = capsys.readouterr().out
    assert "Next: chapter 00_arrays, 0 of 7 predictions made" in said
    assert ", ".join(exercise.name for exercise in first) in said
    assert str(desk / "chapters" / "00_arrays.ipynb") in said
    note_pass(first[0], "")
    assert cli.main(["learn"]) == 0
    assert f"Its exercises: {first[1].name}, " in capsys.readouterr().out
    for question in questions(desk / "chapters" / "00_arrays.ipynb"):
        predict(question, 1)
    for exercise in first:
        note_pass(exercise, "")
    assert lab.next_chapter().name == "01_grad"
    for exercise in exercises():
        note_pass(exercise, "")
    assert lab.advice(lab.next_chapter()) == "You have done every chapter and every exercise."


def test_hints_come_one_by_one(desk, capsys):
    hints = find("sgd_step").hints
    for shown in (1, 2, 3, 3):
        assert cli.main(["hint", "sgd_step"]) == 0
        said = capsys.readouterr().out
        assert [hint in said for hint in hints] == [number < shown for number in range(3)]
    assert cli.main(["hint", "sgd_step", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"exercise": "sgd_step", "hints": hints, "of": 3}


def test_the_solution_waits_for_a_pass(desk, capsys):
    assert cli.main(["solution", "sgd_step"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and "--give-up" in captured.err
    assert cli.main(["solution", "sgd_step", "--give-up"]) == 0
    assert "theta - lr * jax.grad(loss)(theta, x, y)" in capsys.readouterr().out
    solve("sgd_step")
    cli.main(["check", "sgd_step"])
    assert cli.main(["solution", "sgd_step"]) == 0


def test_reset_keeps_what_was_written(desk, capsys):
    exercise = find("sgd_step")
    for version in ("mine 1", "mine 2"):
        exercise.path.write_text(version)
        assert cli.main(["reset", "sgd_step"]) == 0
        assert exercise.path.read_text() == exercise.stub
    kept = sorted(exercise.path.parent.glob("sgd_step.before_reset_*.py"))
    assert [path.read_text() for path in kept] == ["mine 1", "mine 2"]


def test_a_missing_file(desk, capsys):
    find("sgd_step").path.unlink()
    assert cli.main(["check", "sgd_step"]) == 1
    assert "tinyjax reset sgd_step brings the file back" in capsys.readouterr().out
    cli.main(["reset", "sgd_step"])
    assert find("sgd_step").path.exists()


def test_an_unknown_name_lists_the_known(desk):
    with pytest.raises(SystemExit, match="no exercise is called 'sgdstep': did you mean sgd_step"):
        cli.main(["check", "sgdstep"])


def test_the_file_itself_is_runnable(desk):
    """`python exercises/.../sgd_step.py` says what `tinyjax check` says."""
    done = subprocess.run(
        [sys.executable, "exercises/02_first_loop/sgd_step.py"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("sgd_step: not started")


def command(*arguments: str) -> subprocess.CompletedProcess:
    """The command in a process of its own, as in a shell: there its servers are forks of it."""
    return subprocess.run(
        [sys.executable, "-m", "tinyjax.learn", *arguments],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_check_in_a_shell(desk):
    wrong = find("third_derivative").solutions("wrong")[1]
    find("third_derivative").path.write_text(wrong.source)
    done = command("check", "third_derivative")
    assert done.returncode == 1 and done.stderr == ""
    assert f"probably  {wrong.misconception}" in done.stdout
    solve("third_derivative")
    done = command("check", "third_derivative")
    assert (done.returncode, done.stderr) == (0, "") and "passed" in done.stdout


def test_a_server_that_is_killed_leaves_nothing_in_a_shell_either(desk):
    mark = f"tinyjax-shell-{os.getpid()}"
    find("third_derivative").path.write_text(
        "import os, signal, subprocess, sys\n"
        f"code = 'import time; time.sleep(600) # {mark}'\n"
        "subprocess.Popen([sys.executable, '-c', code], start_new_session=True)\n"
        "os.kill(os.getppid(), signal.SIGKILL)\n"
    )
    done = command("check", "third_derivative")
    assert (done.returncode, done.stderr) == (1, "")
    assert "the process that runs your code was ended by it" in done.stdout
    assert not [p for p in psutil.process_iter(["cmdline"]) if mark in str(p.info["cmdline"])]


def test_a_file_of_notepad(desk):
    """A byte order mark and carriage returns are no mistake."""
    source = find("third_derivative").reference.source.replace("\n", "\r\n")
    find("third_derivative").path.write_bytes(b"\xef\xbb\xbf" + source.encode())
    assert cli.main(["check", "third_derivative"]) == 0


def test_a_terminal_that_knows_ascii_only(desk, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    find("third_derivative").path.write_text("raise ValueError('é日')", encoding="utf-8")
    done = command("check", "third_derivative")
    assert (done.returncode, done.stderr) == (1, "") and r"\xe9\u65e5" in done.stdout


def test_no_command_shows_the_help(capsys):
    assert cli.main([]) == 2
    assert "tinyjax watch" in capsys.readouterr().out


def test_an_interrupt_is_no_traceback(desk, monkeypatch, capsys):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "chapters", interrupt)
    assert cli.main(["list"]) == 130
    assert capsys.readouterr().err == "tinyjax: interrupted\n"


def test_predictions_are_recorded(desk, capsys):
    predict("02/first-move", ...)
    assert "No answer yet" in capsys.readouterr().out
    predict("02/first-move", "down")
    assert capsys.readouterr().out == "Your answer: 'down'. Now run the next cell.\n"
    predict("02/first-move", "up")
    assert "'up' (your first was 'down')" in capsys.readouterr().out
    recorded = read_progress()["predictions"]["02/first-move"]
    assert recorded == {"first": "'down'", "last": "'up'"}


def test_list_counts_the_predictions(desk, capsys):
    shutil.copy(ROOT / "chapters" / "02_first_loop.ipynb", desk / "chapters")
    predict("02/rings", "circles")
    predict("03/elsewhere", 1)
    capsys.readouterr()
    cli.main(["list"])
    lines = capsys.readouterr().out.splitlines()
    assert "01_grad" in lines
    assert "02_first_loop        1 of 4 predictions" in lines


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": 99}'])
def test_a_damaged_progress_file_is_kept_under_another_name(desk, content, capsys):
    folder = progress_file().parent
    folder.mkdir()
    for number in (1, 2):
        progress_file().write_text(content)
        predict("q", number)
        assert read_progress()["predictions"] == {"q": {"first": f"{number}", "last": f"{number}"}}
        kept = f"progress.json.{number}"
        assert f"starts anew. The file is kept as {kept}.\n" in capsys.readouterr().err
        assert (folder / kept).read_text() == content
    assert len(list(folder.iterdir())) == 3


def test_a_progress_file_without_entries_is_none_of_these(desk, capsys):
    progress_file().parent.mkdir()
    progress_file().write_text('{"schema": 1}')
    predict("q", 1)
    assert read_progress()["predictions"] == {"q": {"first": "1", "last": "1"}}
    assert capsys.readouterr().err == ""


def test_a_progress_file_that_cannot_be_written_stops_nobody(desk, monkeypatch, capsys):
    (desk / "file").write_text("")
    monkeypatch.setenv("TINYJAX_PROGRESS", str(desk / "file" / "progress.json"))
    predict("q", 1)
    assert "Your answer: 1." in capsys.readouterr().out


def test_without_a_terminal_the_lab_is_only_named(capsys):
    assert lab.start() == 0
    said = capsys.readouterr().out
    assert "-m jupyterlab" in said and str(ROOT / "chapters") in said
