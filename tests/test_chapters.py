"""Every chapter runs from a clean kernel, gives the outputs it shows, and runs on JAX itself.

`make chapters` builds the notebooks; chapters/README.md says how a chapter is written.
"""

import ast
import os
import re
import time
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tinyjax.learn.exercise import exercises
from tinyjax.learn.notebooks import (
    SECONDS,
    change_imports,
    execute,
    on_jax,
    read_text,
    tags,
)
from tinyjax.learn.quiz import questions

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "chapters"
TEXTS = sorted((CHAPTERS / "text").glob("*.py"))
INSIDE = ("07", "08", "09", "10", "11")  # the chapters that show how tinyjax does it
LOUD = {"warns", "progress"}  # tags of cells that may write to stderr
TAGS = {"reveal", "solution", "tinyjax-only", "volatile", "raises-exception", *LOUD}
NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"tinyjax check\s+([^\s`]+)`")  # wherever a chapter names an exercise
ITEM = re.compile(r"^- `(\*+)` `tinyjax check (\S+)`: \S", re.MULTILINE)  # in the list of them

each_chapter = pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def own_world(monkeypatch):
    """A chapter that is run here sees this tinyjax and no other machine; JAX has 8 devices."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "tests" / "offline")]))
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "8")


def stored(text: Path):
    """The notebook as committed."""
    return nbformat.read(CHAPTERS / f"{text.stem}.ipynb", as_version=4)


def code_cells(notebook):
    """The cells that are run."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


# --- Comparing outputs ---------------------------------------------------------------------------


def printed(cell, error_words: bool = True) -> str:
    """All the text that a cell gives; pictures and warnings left out."""
    pieces = []
    for output in cell.outputs:
        if output.output_type == "error":
            pieces.append("\n".join(output.traceback) if error_words else output.ename)
        elif output.output_type == "stream":
            if output.name == "stdout":
                pieces.append(output.text)
        elif "image/png" not in output.data:
            pieces.append(output.data["text/plain"])
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(pieces))  # JAX colours programs in notebooks


def complaints(cell) -> str:
    """What a cell writes to stderr: warnings."""
    return "".join(output.text for output in cell.outputs if output.get("name") == "stderr")


def pictures(cell) -> int:
    """How many pictures a cell gives."""
    return sum("image/png" in output.get("data", {}) for output in cell.outputs)


def assert_same_text(got: str, expected: str) -> None:
    """The same words, and the same numbers up to the last digits, which change the spacing."""
    assert re.sub(r"\s", "", NUMBER.sub("#", got)) == re.sub(r"\s", "", NUMBER.sub("#", expected))
    for mine, theirs in zip(NUMBER.findall(got), NUMBER.findall(expected), strict=True):
        mine, theirs = float(mine.replace(",", "")), float(theirs.replace(",", ""))
        assert mine == pytest.approx(theirs, rel=1e-4, abs=2e-6, nan_ok=True), (got, expected)


def assert_same_outputs(got, expected, error_words: bool = True) -> None:
    """Each cell gives the text and the pictures that are stored, timings aside."""
    for mine, theirs in zip(code_cells(got), code_cells(expected), strict=True):
        assert pictures(mine) == pictures(theirs), mine.source
        if not LOUD & set(tags(mine)):
            assert complaints(mine) == "", mine.source
        if "volatile" not in tags(mine):
            assert_same_text(printed(mine, error_words), printed(theirs, error_words))


# --- Running -------------------------------------------------------------------------------------


@pytest.mark.slow
@each_chapter
def test_a_chapter_gives_its_stored_outputs(text):
    """Running it again on tinyjax, alone and without a network, shows what the reader sees."""
    start = time.perf_counter()
    assert_same_outputs(execute(read_text(text), CHAPTERS), stored(text))
    assert time.perf_counter() - start < SECONDS


@pytest.mark.slow
@each_chapter
def test_a_chapter_runs_on_jax(text):
    """With its import lines changed, in a kernel where tinyjax is out of reach.

    Errors are compared by their class: what tinyjax says beyond JAX's own words is its own.
    """
    notebook = on_jax(read_text(text))
    code_cells(notebook)[0].source = (
        "import sys\nsys.modules['tinyjax'] = None\n" + code_cells(notebook)[0].source
    )
    expected = stored(text)
    expected.cells = [cell for cell in expected.cells if "tinyjax-only" not in tags(cell)]
    assert_same_outputs(execute(notebook, CHAPTERS), expected, error_words=False)


@pytest.mark.slow
def test_a_chapter_cannot_reach_other_machines(tmp_path):
    """The guard that the runs above rely on works."""
    for line in (
        "socket.create_connection(('192.0.2.1', 80), timeout=1)",
        "socket.getaddrinfo('example.org', 80)",
    ):
        cell = new_code_cell(f"import socket\n{line}", metadata={"tags": ["raises-exception"]})
        notebook = execute(new_notebook(cells=[cell]), tmp_path)
        assert printed(notebook.cells[0]).startswith("PermissionError: a chapter ")


# --- Stored notebooks ----------------------------------------------------------------------------


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


@each_chapter
def test_the_stored_notebook_ran_in_order_and_names_no_place(text):
    cells = code_cells(stored(text))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    raw = (CHAPTERS / f"{text.stem}.ipynb").read_text()
    assert not re.search(r"/(home|root|tmp|Users)/", raw)


@each_chapter
def test_errors_and_warnings_are_meant(text):
    """A cell raises an error or warns if and only if its tag says so, and briefly."""
    for cell in code_cells(stored(text)):
        errors = [output for output in cell.outputs if output.output_type == "error"]
        assert len(errors) == ("raises-exception" in tags(cell)), cell.source
        if "progress" not in tags(cell):
            assert bool(complaints(cell)) == ("warns" in tags(cell)), cell.source
        for error in errors:
            assert printed(cell).count("\n") <= 12, cell.source
            assert error.ename in error.traceback[-1]


@each_chapter
def test_every_picture_has_an_alternative_text(text):
    for cell in code_cells(stored(text)):
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                own = output.metadata.get("image/png", {}).get("alt", "")  # tinyjax.viz's
                assert len(cell.metadata.get("alt") or own) > 40, cell.source


# --- The text ------------------------------------------------------------------------------------


@each_chapter
def test_the_tags_are_known(text):
    for cell in read_text(text).cells:
        assert set(tags(cell)) <= TAGS, cell.source


@each_chapter
def test_few_cells_are_for_tinyjax_only(text):
    """At most a fifth; half in the chapters that show the inside."""
    cells = code_cells(stored(text))
    share = sum("tinyjax-only" in tags(cell) for cell in cells) / len(cells)
    assert share <= (0.5 if text.stem[:2] in INSIDE else 0.2)


def asked(cell) -> list[str]:
    """The names of the questions in a cell."""
    calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
    predictions = [call for call in calls if getattr(call.func, "id", None) == "predict"]
    for call in predictions:
        assert getattr(call.args[1], "value", None) is ..., "the answer is left to the reader"
    return [call.args[0].value for call in predictions]


@each_chapter
def test_at_least_three_predictions_each_with_its_reveal(text):
    cells = [cell for cell in read_text(text).cells if cell.cell_type == "code"]
    predicting = [number for number, cell in enumerate(cells) if asked(cell)]
    assert len(predicting) >= 3
    for number in predicting:
        assert "reveal" in tags(cells[number + 1]), cells[number].source
    names = [name for cell in cells for name in asked(cell)]
    assert all(re.fullmatch(rf"{text.stem[:2]}/[a-z0-9-]+", name) for name in names), names
    assert questions(CHAPTERS / f"{text.stem}.ipynb") == names, "what `tinyjax list` counts"


def test_no_two_questions_have_one_name():
    names = [name for text in TEXTS for name in questions(CHAPTERS / f"{text.stem}.ipynb")]
    assert [name for name, times in Counter(names).items() if times > 1] == []


@each_chapter
def test_a_gap_is_followed_by_its_solution(text):
    """The faded copy: a cell with `...` to fill, then a folded cell that fills it."""
    cells = code_cells(read_text(text))
    solutions = [number for number, cell in enumerate(cells) if "solution" in tags(cell)]
    assert solutions
    for number in solutions:
        assert "..." in cells[number - 1].source, cells[number].source


@each_chapter
def test_links_lead_somewhere(text):
    """Files are where the links say; other addresses are complete and encrypted."""
    for cell in read_text(text).cells:
        if cell.cell_type != "markdown":
            continue
        for link in LINK.findall(cell.source):
            if not re.match(r"https://[\w.-]+\.\w+(/|$)", link):
                assert (CHAPTERS / link).exists(), link


@each_chapter
def test_the_exercises_of_the_topic_are_listed(text):
    """Each with its stars, easy ones first, and with how to begin; other names are known, too."""
    written = [cell.source for cell in read_text(text).cells if cell.cell_type == "markdown"]
    (part,) = [source for source in written if "## Build it yourself" in source]
    items = ITEM.findall(part)
    stars = {f"{one.topic}/{one.name}": "*" * one.about["difficulty"] for one in exercises()}
    topic = {name for name in stars if name.startswith(f"{text.stem}/")}
    assert sorted(name for _, name in items) == sorted(topic)
    assert [given for given, _ in items] == sorted(stars[name] for _, name in items)
    assert all(given == stars[name] for given, name in items)
    named = [name for source in written for name in COMMAND.findall(source)]
    assert set(named) <= set(stars)
    first = items[0][1].split("/")[1]
    for words in (f"`tinyjax watch {first}`", "`%load_ext tinyjax.learn`", f"`%%exercise {first}`"):
        assert part.count(words) == 1, words


@each_chapter
def test_the_first_cell_is_short(text):
    """Imports, and nothing that a newcomer must skip."""
    first = code_cells(read_text(text))[0].source
    assert "import tinyjax as jax" in first
    assert first.count("\n") < 12
    imports = (ast.Import, ast.ImportFrom)
    assert all(isinstance(line, imports) for line in ast.parse(first).body)


# --- The tools of these tests --------------------------------------------------------------------


def test_change_imports():
    source = (
        "import tinyjax as jax\nimport tinyjax.numpy as jnp\nfrom tinyjax import lax\n"
        "from tinyjax.nn import relu\nfrom tinyjax.learn import predict\n"
    )
    changed = change_imports(source)
    assert changed.startswith(
        "import jax\nimport jax.numpy as jnp\nfrom jax import lax\nfrom jax.nn import relu\n"
    )
    assert "def predict(question, answer):" in changed and "tinyjax" not in changed


def test_the_comparison_sees_differences():
    """The judge of these tests is itself judged."""
    assert_same_text("Array([1.0000001], dtype=float32)", "Array([1.], dtype=float32)")
    assert_same_text("Array([nan, 1.], dtype=float32)", "Array([nan, 1.], dtype=float32)")
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


def test_penguin_table():
    """Counts, means and deviations by species as published for the R package palmerpenguins."""
    import numpy as np

    path = CHAPTERS / "data" / "palmer_penguins.csv"
    table = np.loadtxt(path, delimiter=",", skiprows=1, dtype=str)
    assert table.shape == (342, 5)
    published = {  # how many; means, then deviations of the columns; mass to full grams
        "Adelie": (151, [38.8, 18.3, 190], [2.66, 1.22, 6.54], 3701),
        "Chinstrap": (68, [48.8, 18.4, 196], [3.34, 1.14, 7.13], 3733),
        "Gentoo": (123, [47.5, 15.0, 217], [3.08, 0.981, 6.48], 5076),
    }
    for species, (count, means, deviations, mass) in published.items():
        rows = table[table[:, 0] == species, 1:].astype(float)
        assert len(rows) == count
        assert rows[:, :3].mean(0) == pytest.approx(means, abs=0.2)
        assert rows[:, :3].std(0, ddof=1) == pytest.approx(deviations, abs=0.005)
        assert rows[:, 3].mean() == pytest.approx(mass, abs=0.5)
