"""`make chapters`: what is run, what is stored, what is said of a chapter that fails."""

from pathlib import Path

import nbformat
import pytest

from tinyjax.learn import chapters
from tinyjax.learn.notebooks import execute, read_text, tags

ROOT = Path(__file__).resolve().parents[1]

GOOD = """# %% [markdown]
# # 00 · Good

# %% tags=["reveal"]
print(open("data/numbers.txt").read())

# %% tags=["solution", "warns"]
import warnings
warnings.warn("look out")

# %% tags=["raises-exception"]
error = ValueError("two\\nlines")
error.add_note("a note")
raise error
"""


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A folder with one chapter, in the place of the repository."""
    (tmp_path / "exercises").mkdir()
    (tmp_path / "chapters" / "text").mkdir(parents=True)
    (tmp_path / "chapters" / "data").mkdir()
    (tmp_path / "chapters" / "data" / "numbers.txt").write_text("1 2 3")
    (tmp_path / "chapters" / "text" / "00_good.py").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path / "chapters"


def test_cells_and_outputs_are_folded_as_their_tags_say(shelf):
    cells = read_text(shelf / "text" / "00_good.py").cells
    folded = [cell.metadata.get("jupyter") for cell in cells]
    assert folded == [None, {"outputs_hidden": True}, {"source_hidden": True}, None]
    assert tags(cells[2]) == ["solution", "warns"] and tags(cells[0]) == []


@pytest.mark.slow
def test_what_is_stored_is_the_same_everywhere(shelf):
    """Errors are stored as their words and notes, warnings with the cell's number for a file."""
    cells = execute(read_text(shelf / "text" / "00_good.py"), shelf).cells
    assert cells[1].outputs[0].text == "1 2 3\n"
    assert cells[2].outputs[0].text.startswith("Cell In[2], line 2: UserWarning: look out")
    assert cells[3].outputs[0].traceback == ["ValueError: two\nlines\na note"]


@pytest.mark.slow
def test_a_chapter_is_run_again_only_if_something_changed(shelf, capsys, monkeypatch):
    monkeypatch.setattr(chapters, "package_digest", lambda: "1")  # somebody may be editing tinyjax
    assert chapters.main(["--jobs", "1"]) == 0
    assert (shelf / "00_good.ipynb").exists()
    assert chapters.main(["--changed"]) == 0
    assert "Every chapter was run as it is." in capsys.readouterr().out
    (shelf / "data" / "numbers.txt").write_text("4 5 6")
    assert chapters.main(["--changed", "00"]) == 0
    assert "4 5 6" in nbformat.read(shelf / "00_good.ipynb", 4).cells[1].outputs[0].text
    monkeypatch.setattr(chapters, "package_digest", lambda: "2")
    assert chapters.main(["--changed"]) == 0
    assert "Every chapter" not in capsys.readouterr().out


def test_the_digest_of_the_package_is_that_of_its_sources():
    assert chapters.package_digest() != chapters.digest([])


@pytest.mark.slow
def test_a_chapter_that_fails_is_named_and_not_stored(shelf, capsys):
    (shelf / "text" / "01_bad.py").write_text("# %%\n1 / 0\n")
    assert chapters.main([]) == 1
    said = capsys.readouterr().err
    assert "01_bad: " in said and "1 / 0" in said and "ZeroDivisionError" in said
    assert not (shelf / "01_bad.ipynb").exists() and (shelf / "00_good.ipynb").exists()


def test_an_unknown_name(shelf):
    with pytest.raises(SystemExit, match="no chapter begins with '7'.*00_good"):
        chapters.main(["7"])
