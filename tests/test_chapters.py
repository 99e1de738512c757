"""Every chapter runs from a clean kernel, gives the outputs it shows, and runs on JAX itself."""

import re
from pathlib import Path

import nbformat
import pytest

from tinyjax.learn.chapters import change_imports, execute, on_jax, read_text

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
TEXTS = sorted((CHAPTERS / "text").glob("*.py"))
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf")

each_chapter = pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def own_world(tmp_path, monkeypatch):
    """A chapter that is run here sees this tinyjax, and nobody's progress hears of it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TINYJAX_PROGRESS", str(tmp_path / "progress.json"))


def stored(text: Path):
    """The notebook as committed."""
    return nbformat.read(CHAPTERS / f"{text.stem}.ipynb", as_version=4)


def code_cells(notebook):
    """The cells that are compared: code, and not marked as differing from run to run."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(cell) -> str:
    """All the text that a cell gives, pictures left out."""
    pieces = []
    for output in cell.outputs:
        if output.output_type == "stream":
            pieces.append(output.text)
        elif "image/png" not in output.data:
            pieces.append(output.data["text/plain"])
    return "\n".join(pieces)


def pictures(cell) -> int:
    """How many pictures a cell gives."""
    return sum("image/png" in output.get("data", {}) for output in cell.outputs)


def assert_same_text(got: str, expected: str) -> None:
    """The same words, and the same numbers up to the last digits, which change the spacing."""
    assert re.sub(r"\s", "", NUMBER.sub("#", got)) == re.sub(r"\s", "", NUMBER.sub("#", expected))
    for mine, theirs in zip(NUMBER.findall(got), NUMBER.findall(expected), strict=True):
        mine, theirs = float(mine.replace(",", "")), float(theirs.replace(",", ""))
        assert mine == pytest.approx(theirs, rel=1e-4, abs=2e-6), (got, expected)


def assert_same_outputs(got, expected) -> None:
    """Each cell gives the text and the pictures that are stored, timings aside."""
    for mine, theirs in zip(code_cells(got), code_cells(expected), strict=True):
        assert pictures(mine) == pictures(theirs), mine.source
        if "volatile" not in mine.metadata.get("tags", []):
            assert_same_text(printed(mine), printed(theirs))


def test_there_is_a_chapter():
    assert "02_first_loop" in [text.stem for text in TEXTS]
    assert {text.stem for text in TEXTS} == {path.stem for path in CHAPTERS.glob("*.ipynb")}


@each_chapter
def test_the_notebook_holds_the_text(text):
    """The notebook was built from the text that is reviewed: `make chapters` was run."""
    fields = ("cell_type", "source", "metadata", "id")
    built, committed = read_text(text), stored(text)
    assert [[cell[name] for name in fields] for cell in committed.cells] == [
        [cell[name] for name in fields] for cell in built.cells
    ]


@pytest.mark.slow
@each_chapter
def test_a_chapter_gives_its_stored_outputs(text):
    """Running it again, on tinyjax, shows what the reader sees."""
    assert_same_outputs(execute(read_text(text), CHAPTERS), stored(text))


@pytest.mark.slow
@each_chapter
def test_a_chapter_runs_on_jax(text):
    """With its import lines changed, in a kernel where tinyjax is out of reach."""
    notebook = on_jax(read_text(text))
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.source = "import sys\nsys.modules['tinyjax'] = None\n" + first.source
    expected = stored(text)
    expected.cells = [
        cell for cell in expected.cells if "tinyjax-only" not in cell.metadata.get("tags", [])
    ]
    assert_same_outputs(execute(notebook, CHAPTERS), expected)


@each_chapter
def test_few_cells_are_for_tinyjax_only(text):
    """At most a fifth; half in the chapters that show the inside."""
    cells = code_cells(stored(text))
    tags = [cell.metadata.get("tags", []) for cell in cells]
    share = sum("tinyjax-only" in names for names in tags) / len(cells)
    assert share <= (0.5 if text.stem[:2] in ("07", "08", "09", "10", "11") else 0.2)


@each_chapter
def test_every_picture_has_an_alternative_text(text):
    for cell in code_cells(stored(text)):
        if pictures(cell):
            assert len(cell.metadata.get("alt", "")) > 40, cell.source


@each_chapter
def test_the_stored_notebook_ran_in_order_and_names_no_place(text):
    cells = code_cells(stored(text))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    raw = (CHAPTERS / f"{text.stem}.ipynb").read_text()
    assert not re.search(r"/(home|root|tmp|Users)/", raw)


def test_change_imports():
    source = "import tinyjax as jax\nimport tinyjax.numpy as jnp\nfrom tinyjax import lax\n"
    assert change_imports(source) == ("import jax\nimport jax.numpy as jnp\nfrom jax import lax\n")


def test_the_comparison_sees_differences():
    """The judge of these tests is itself judged."""
    assert_same_text("Array([1.0000001], dtype=float32)", "Array([1.], dtype=float32)")
    for wrong in ("Array([1.01], dtype=float32)", "Array([1.], dtype=int32)", "1.", ""):
        with pytest.raises(AssertionError):
            assert_same_text(wrong, "Array([1.], dtype=float32)")


def test_hubble_table():
    """24 rows; the least-squares line through them is a published one."""
    import numpy as np

    path = CHAPTERS / "data" / "hubble_1929.csv"
    distance, velocity = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(1, 2), unpack=True)
    assert distance.shape == (24,)
    assert np.polyfit(distance, velocity, 1) == pytest.approx([454.16, -40.78], abs=0.005)
