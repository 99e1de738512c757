"""What authors find: one bad card is told, and stands in nobody's way; names that are refused."""

import os
from pathlib import Path

import pytest

from tinyjax.learn import exercise
from tinyjax.learn.cli import main
from tinyjax.learn.dev import SKELETON
from tinyjax.learn.exercise import exercises, find, parse_cells
from tinyjax.learn.submissions import submissions, walk

BAD = {
    "easy": ("# difficulty: 1", "# difficulty: easy", "the cell 'about', line 4: difficulty must"),
    "empty": (SKELETON, "", "there must be one cell 'about', not 0"),
    "headless": ("# # {title}", "#", "the cell 'statement' must begin with a headline"),
    "latin": ("Twice x", "Twice \xe4", "it must be in UTF-8"),
}


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A course of two exercises, `good` and `better`, and of as many bad cards as `BAD` has."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "exercises").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TINYJAX_PROGRESS", str(tmp_path / "progress.json"))
    for name in ("good", "better"):
        assert main(["dev", "new", f"01_one/{name}"]) == 0
    for name, (old, new, _) in BAD.items():
        text = SKELETON.replace(old, new).format(name=name, title=name)
        (tmp_path / "exercises/01_one/answers" / f"{name}.py").write_bytes(text.encode("latin-1"))
    exercise.warn.cache_clear()
    return tmp_path


def test_the_other_exercises_are_there_and_bad_cards_are_named(here, capsys):
    assert main(["list"]) == 0
    out, err = capsys.readouterr()
    assert "good" in out and "better" in out and "easy" not in out
    for name, (_, _, words) in BAD.items():
        assert err.count(f"tinyjax: the card of 01_one/{name} is left out: {words}") == 1
    assert [e.name for e in exercises()] == ["better", "good"]
    assert capsys.readouterr().err == ""  # each is named once


def test_bad_cards_stand_in_nobodys_way(here, capsys):
    find("good").path.write_text(find("good").reference.source)
    assert main(["check", "good"]) == 0
    (here / "class" / "ann").mkdir(parents=True)
    (here / "class" / "ann" / "good.py").write_text(find("good").reference.source)
    assert [s.exercise.name for s in submissions(here / "class", list(exercises()), False)] == [
        "good"
    ]
    assert main(["dev", "check", "good"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("01_one/good: good (kind A")


@pytest.mark.parametrize("name", BAD)
def test_a_bad_card_is_a_complaint_of_dev_check(name, here, capsys):
    assert main(["dev", "check", name]) == 1
    said = capsys.readouterr().out.splitlines()[-2:]
    assert said[0] == f"01_one/{name}: 1 complaint"
    assert said[1].startswith(f"  {BAD[name][2]}")
    with pytest.raises(SystemExit, match=f"the card of {name} has a fault: {BAD[name][2]}"):
        find(name)


def test_cells_know_their_lines():
    source = "# %% [markdown] about\n# x\n\n# %% checks\n\n\nx = 1\n"
    assert [(cell.title, cell.line) for cell in parse_cells(source)] == [
        ("about", 2),
        ("checks", 7),
    ]


@pytest.mark.parametrize(
    "name, words",
    [
        ("class", "'class' is a keyword of Python"),
        ("random", "'random' is a module, and a student's file random.py would be imported"),
        ("numpy", "'numpy' is a module"),
        ("good", "there is an exercise 'good' already"),
        ("easy", "there is an exercise 'easy' already"),
    ],
)
def test_dev_new_refuses(name, words, here):
    before = sorted(here.rglob("*.py"))
    with pytest.raises(SystemExit, match=words):
        main(["dev", "new", f"01_one/{name}"])
    assert sorted(here.rglob("*.py")) == before


# --- What a class hands in ------------------------------------------------------------------------

STEP, SPLIT = find("sgd_step"), find("split")


def hand_in(room: Path, student: str, *names: str) -> None:
    for name in names:
        path = room / student / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


@pytest.mark.parametrize(
    "name",
    ["sgd_step (1).py", "SGD_STEP.PY", "Sgd-Step_ann.ipynb", "sgdstep.py", "week 2/sgd_stp.py"],
)
def test_a_file_of_almost_the_name_is_near(name, tmp_path):
    hand_in(tmp_path, "ann", name)
    hand_in(tmp_path, "bob", "sgd_step.py")
    ann, bob = submissions(tmp_path, [STEP], named=False)
    assert (ann.path, ann.near) == (None, Path(name).name)
    assert (bob.path, bob.near) == (tmp_path / "bob" / "sgd_step.py", "")


def test_files_of_other_exercises_are_not_near(tmp_path):
    hand_in(tmp_path, "ann", "split_loop.py", "Split Loop.py", "notes.py")
    assert [s.near for s in submissions(tmp_path, [STEP, SPLIT], named=True)] == ["", ""]


def test_an_exercise_that_is_named_twice_has_one_row(tmp_path):
    hand_in(tmp_path, "ann", "sgd_step.py")
    assert len(submissions(tmp_path, [STEP, SPLIT, STEP], named=True)) == 2


def test_a_folder_that_is_a_link_is_left_out(tmp_path, capsys):
    exercise.warn.cache_clear()
    hand_in(tmp_path, "room/ann", "sgd_step.py")
    hand_in(tmp_path, "elsewhere", "sgd_step.py")
    (tmp_path / "room" / "bob").symlink_to(tmp_path / "elsewhere")
    found = submissions(tmp_path / "room", [STEP], named=False)
    assert [submission.student for submission in found] == ["ann"]
    assert "bob is left out: it is a link, not a folder" in capsys.readouterr().err


def test_folders_far_down_do_not_count(tmp_path, monkeypatch):
    hand_in(tmp_path, "ann", "/".join("a" * 11) + "/in.py", "/".join("a" * 12) + "/out.py")
    monkeypatch.chdir(tmp_path / "ann" / "/".join("a" * 12))
    for _ in range(1200):  # a path of this length can only be walked to
        os.mkdir("a")
        os.chdir("a")
    assert [path.name for path in walk(tmp_path / "ann")] == ["in.py"]
    for _ in range(1200):
        os.chdir("..")
        os.rmdir("a")
