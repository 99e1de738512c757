"""The two commands, the lock file, and what the front pages claim."""

import doctest
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tinyjax.learn.exercise import find
from tinyjax.learn.feedback import render
from tinyjax.learn.judge import check_exercise

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text().splitlines()


def normal(requirement: str) -> str:
    """The name in a requirement, as package indexes compare names."""
    return re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace("_", "-")


# --- The lock file -------------------------------------------------------------------------------


def test_the_lock_pins_everything_we_name():
    pinned = {normal(line) for line in LOCK}
    extras = PROJECT["optional-dependencies"]
    asked = PROJECT["dependencies"] + [name for extra in extras.values() for name in extra]
    assert {normal(name) for name in asked} - {"tinyjax"} <= pinned


def test_the_lock_holds_pins_only():
    """No address, no path, no open range: it means the same on every machine."""
    for line in LOCK:
        assert re.fullmatch(r"[a-z0-9.-]+==[a-z0-9.]+( ; .+)?", line), line
        assert "/" not in line and "file:" not in line


def test_the_oracle_is_pinned():
    assert "jax==0.10.2" in LOCK
    assert "jax==0.10.2" in PROJECT["optional-dependencies"]["test"]


# --- The commands --------------------------------------------------------------------------------


@pytest.fixture
def bare(tmp_path):
    """A folder with what `make` reads, and nothing installed."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Runs make there; variables that an outer make has set do not count."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return subprocess.run(
        ["make", *arguments], cwd=folder, capture_output=True, text=True, env=clean
    )


@pytest.mark.parametrize("command", ["learn", "test"])
def test_an_old_python_is_refused_in_words(bare, command):
    old = bare / "old-python"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.10.4" && exit 0\nexit 1\n')
    old.chmod(0o755)
    done = make(bare, command, f"PYTHON={old}")
    assert done.returncode != 0
    assert f"tinyjax needs Python 3.11 or newer, but '{old}' is: Python 3.10.4" in done.stdout
    assert f"make {command} PYTHON=python3.12" in done.stdout
    assert not (bare / ".venv").exists()


def test_a_second_run_installs_nothing(bare):
    (bare / ".venv").mkdir()
    for stamp in (".learn", ".test"):
        (bare / ".venv" / stamp).write_text(f"{bare}\n")
    for command in ("learn", "test"):
        done = make(bare, "-n", command)
        assert done.returncode == 0, done.stderr
        assert "pip install" not in done.stdout


def test_a_changed_lock_file_or_a_moved_checkout_installs_again(bare):
    stamp = bare / ".venv" / ".learn"
    stamp.parent.mkdir()
    stamp.write_text(f"{bare}\n")
    later = stamp.stat().st_mtime + 10
    os.utime(bare / "requirements.lock", (later, later))
    assert "pip install" in make(bare, "-n", "learn").stdout
    stamp.write_text("/somewhere/else\n")
    os.utime(stamp, (later + 10, later + 10))
    assert "pip install" in make(bare, "-n", "learn").stdout


def test_ci_runs_make_test():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "make test" in script.read_text()


def test_help_names_the_commands():
    said = make(ROOT, "help").stdout
    for name in ("make learn", "make test", "make check", "make site", "make lock"):
        assert name in said


def test_the_package_is_typed_and_has_its_command():
    assert (ROOT / "tinyjax" / "py.typed").exists()
    assert PROJECT["scripts"] == {"tinyjax": "tinyjax.learn.cli:main"}
    assert PROJECT["requires-python"] == ">=3.11"


# --- What the pages claim ------------------------------------------------------------------------

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_examples_give_what_they_show(path):
    """Each page's `pycon` blocks run from top to bottom in one session."""
    names: dict = {}
    for language, text in FENCE.findall(path.read_text()):
        if language == "pycon":
            test = doctest.DocTestParser().get_doctest(text, names, path.name, str(path), 0)
            report: list[str] = []
            result = doctest.DocTestRunner().run(test, out=report.append, clear_globs=False)
            names = test.globs
            assert result.failed == 0, "".join(report)


def test_readme_and_home_page_show_an_example():
    for path in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        assert "```pycon" in path.read_text()


def test_the_feedback_on_the_exercise_page_is_real():
    """The page shows what `tinyjax check` says, word for word and digit for digit."""
    text = (ROOT / "docs" / "exercises.md").read_text()
    shown = next(body for language, body in FENCE.findall(text) if language == "text")
    exercise = find("sgd_step")
    uphill = next(wrong for wrong in exercise.solutions("wrong") if wrong.title == "uphill")
    assert render(check_exercise(exercise, uphill.source)).startswith(shown.rstrip())


def test_links_between_the_front_pages_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target
