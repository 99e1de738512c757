"""The pages of the exercises, how chapters and they lead to each other, and folded predictions."""

import html
import json
import re
import sys

import pytest
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from site_pages import ROOT, target_of, without_tags

from tinyjax.learn.exercise import exercises
from tinyjax.learn.quiz import NO_ANSWER, questions

sys.path.append(str(ROOT / "docs" / "hooks"))

from places import Links, tab  # noqa: E402

import chapters  # noqa: E402 - the hooks are no package
import exercises as hook  # noqa: E402

ALL = list(exercises())
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))

# --- What is made of a card, without a build ------------------------------------------------------


class NoLinks:
    """In the place of `Links`: prose stays as it is."""

    def in_prose(self, prose, page):
        """The prose."""
        return prose


def test_indented_blocks_are_fenced():
    prose = "For example\n\n    f(1)   # 2\n\n    f(2)\n\nand\n\n    { lambda ; a:f32[]. let\n"
    assert hook.fence_code(prose) == (
        "For example\n\n```python\nf(1)   # 2\n\nf(2)\n```\n\nand\n\n"
        "```text\n{ lambda ; a:f32[]. let\n```"
    )


def test_what_follows_the_dash_of_a_list_is_no_block():
    prose = "- one\n  more\n- two"
    assert hook.fence_code(prose) == prose


@pytest.mark.parametrize("exercise", ALL, ids=lambda exercise: exercise.name)
def test_a_page_holds_what_is_handed_out(exercise):
    page = hook.render(exercise, "a chapter", NoLinks())
    stars = "★" * exercise.about["difficulty"]
    assert page.startswith(f"# {exercise.title}\n\n`{exercise.name}` · {stars} · ")
    for title in ("given", "stub"):
        assert exercise.titled(title)[0].text in page
    for check in exercise.checks:
        assert f"\n- {check.name}\n" in page
    assert page.count("\n??? question ") == 3
    assert ("You build a piece of tinyjax" in page) == (exercise.kind == "B")


@pytest.mark.parametrize("exercise", ALL, ids=lambda exercise: exercise.name)
def test_no_line_of_a_solution_is_on_its_page(exercise):
    """Except for lines that the student is handed."""
    public = (exercise.stub, exercise.titled("statement")[0].prose, *exercise.hints)
    handed = {line.strip() for text in public for line in lines(text)}
    page = {line.strip() for line in lines(hook.render(exercise, "a chapter", NoLinks()))}
    for cell in exercise.cells:
        if cell.title.startswith(("reference", "right", "wrong", "checks")):
            secret = {line.strip() for line in lines(cell.text)} - handed
            assert not secret & page, cell.title


def test_a_prediction_folds_the_reveal_and_its_reason():
    def printed(text):
        return new_output("stream", name="stdout", text=text)

    asking = 'x = 1\nprint(x)\npredict("00/one", ...)  # 1 or 2'
    cells = [
        new_markdown_cell("# 00 · Title\n\nText."),
        new_code_cell(asking, outputs=[printed(f"1\n{NO_ANSWER}\n")]),
        new_code_cell("print(x + x)", outputs=[printed("2\n")]),
        new_markdown_cell("Two, of course.\nIndeed.\n\nNow for *more*."),
    ]
    notebook = new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})
    page, figures = chapters.render(notebook, "00_title", NoLinks())
    assert figures == {}
    assert page.startswith("# 00 · Title\n\n*This is the notebook `chapters/00_title.ipynb`")
    assert "predict(" not in page and NO_ANSWER not in page
    assert "```python\nx = 1\nprint(x)\n```\n\n``` { .text .output }\n1\n```" in page
    before, fold = page.split('\n??? question "Your answer? (1 or 2)"\n')
    folded, after = fold.split("\nNow for *more*.")
    assert "Two" not in before and after.strip() == ""
    assert [line for line in folded.splitlines() if line.strip()] == [
        "    ```python",
        "    print(x + x)",
        "    ```",
        "    ``` { .text .output }",
        "    2",
        "    ```",
        "    Two, of course.",
        "    Indeed.",
    ]


def test_a_cell_may_show_a_value_and_ask():
    shown = new_output("execute_result", data={"text/plain": "41"}, execution_count=1)
    asking = new_code_cell('predict("00/one", ...)  # 1 or 2\n41', outputs=[shown])
    cells = [new_markdown_cell("# 00 · Title"), asking, new_code_cell("print(2)")]
    notebook = new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})
    page, _ = chapters.render(notebook, "00_title", NoLinks())
    assert "``` { .text .output }\n41\n```" in page and "predict(" not in page


def test_a_tab_that_is_not_there_is_named():
    config = MkDocsConfig()
    config.nav = [{"Learn": []}, {"Solve": ["a.md"]}]
    assert tab(config, "Solve") == ["a.md"]
    with pytest.raises(PluginError, match="mkdocs.yml needs 'Reference' in its nav"):
        tab(config, "Reference")


@pytest.mark.parametrize(
    "source, left",
    [
        (
            "**Predict.** Which?\n\nPut your answer in place of the dots,\nin quotes. (Click.)",
            "**Predict.** Which?",
        ),
        (
            "Fill the gap. (Until you do, the cell prints\n`Ellipsis`.)\n\nMore.",
            "Fill the gap.\n\nMore.",
        ),
        ("# Your space.", ""),
        ("Put 1 in place of 2.", "Put 1 in place of 2."),
    ],
)
def test_what_is_said_to_the_reader_of_a_notebook_is_left_out(source, left):
    cell = new_markdown_cell(source)
    chapters.leave_out(cell)
    assert cell.source == left


def lines(text):
    """The lines that say anything."""
    return [line for line in text.splitlines() if re.search(r"\w", line)]


# --- Links ---------------------------------------------------------------------------------------


def links(*pages):
    """Links on a site of these pages, one chapter and one exercise."""
    made = Links.__new__(Links)
    made.chapters = {"04": "chapters/04_random.md"}
    made.exercises = {"split": "exercises/04_random/split.md"}
    made.pages = {*pages, *made.chapters.values(), *made.exercises.values()}
    return made


@pytest.mark.parametrize(
    "prose, linked",
    [
        ("[this](04_random.ipynb)", "[this](04_random.md)"),
        ("[this](04_random.ipynb#Wide,-not-deep)", "[this](04_random.md#wide-not-deep)"),
        ("[above](#The-value-as-well)", "[above](#the-value-as-well)"),
        ("[this](../docs/exercises.md)", "[this](../exercises.md)"),
        ("[this](../tinyjax/core.py)", "[this](../source/core.md)"),
        ("[this](../tinyjax/unknown.py)", "this"),
        ("[this](https://example.org/x)", "[this](https://example.org/x)"),
        ("As in Chapter 04, and", "As in [Chapter 04](04_random.md), and"),
        ("chapter 99", "chapter 99"),
        ("`tinyjax watch split`", "[`tinyjax watch split`](../exercises/04_random/split.md)"),
        (
            "`tinyjax check 04_random/split`: go",
            "[`tinyjax check 04_random/split`](../exercises/04_random/split.md): go",
        ),
        ("`tinyjax check nothing`", "`tinyjax check nothing`"),
        ("`f[0](x)` and `chapter 04`", "`f[0](x)` and `chapter 04`"),
        ("```python\n# chapter 04\n```\n", "```python\n# chapter 04\n```\n"),
    ],
)
def test_links_of_a_chapter(prose, linked):
    site = links("exercises.md", "source/core.md")
    assert site.in_prose(prose, "chapters/01_grad.md") == linked


def test_formulas_hold_no_links():
    prose = r"$f[i](x)$ and" + "\n\n" + r"$$\begin{matrix} a_1 \\ [c](d) \end{matrix}$$"
    assert links().in_prose(prose, "chapters/01_grad.md") == prose


def test_a_page_has_no_links_to_itself():
    assert links().in_prose("chapter 04", "chapters/04_random.md") == "chapter 04"
    here = "exercises/04_random/split.md"
    assert links().in_prose("`tinyjax check split`", here) == "`tinyjax check split`"


# --- The built site ------------------------------------------------------------------------------


def built(pages, source):
    """The name of the HTML page that a Markdown page has become."""
    stem = source.removesuffix(".md")
    return next(name for name in (f"{stem}.html", f"{stem}/index.html") if name in pages)


def text_of(site, page):
    """What a page shows."""
    return html.unescape(without_tags((site / page).read_text(encoding="utf-8")))


@pytest.mark.slow
def test_every_exercise_has_a_page_that_its_chapter_and_the_list_lead_to(site, pages):
    for exercise in ALL:
        page = built(pages, f"exercises/{exercise.topic}/{exercise.name}.md")
        chapter = built(pages, f"chapters/{exercise.topic}.md")
        for other in (chapter, built(pages, "exercises.md")):
            assert page in {target_of(other, link)[0] for link in pages[other].links}
        assert chapter in {target_of(page, link)[0] for link in pages[page].links}
        shown = text_of(site, page)
        for command in ("tinyjax watch", "tinyjax check", "%%exercise"):
            assert f"{command} {exercise.name}" in shown


@pytest.mark.slow
def test_the_search_finds_exercises_but_not_their_hints(site):
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    texts = {entry["location"]: html.unescape(without_tags(entry["text"])) for entry in index}
    found = [text for place, text in texts.items() if place.startswith("exercises/11_pmap/ragged")]
    assert any("tinyjax watch ragged" in text for text in found)
    for exercise in ALL:
        words = without_tags(html.unescape(exercise.hints[0])).replace("`", "").split()
        for text in texts.values():
            assert " ".join(words) not in " ".join(text.split()), exercise.name


@pytest.mark.slow
def test_the_pages_follow_each_other(site, pages):
    """Each names the one before and the one after, in the order of `tinyjax list`."""
    names = [built(pages, f"exercises/{e.topic}/{e.name}.md") for e in ALL]
    for page, following in zip(names, names[1:]):
        found = re.search(
            r'<a href="([^"]+)" class="[^"]*footer__link--next',
            (site / page).read_text(encoding="utf-8"),
        )
        assert found and target_of(page, found[1])[0] == following


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_predictions_are_folded(site, pages, chapter):
    source = (site / built(pages, f"chapters/{chapter.stem}.md")).read_text(encoding="utf-8")
    folds = re.findall(r"<summary>Your answer\? \((.*?)\)</summary>", source)
    asked = questions(chapter)
    assert len(folds) + sum(fold.count("; ") for fold in folds) >= len(asked) > 0
    assert "predict(" not in without_tags(source)
    assert "No answer yet" not in source
