"""What single pages of the site must show. (test_site_crawl.py asks the same of all pages.)"""

import html
import re

import nbformat
import pytest
from site_pages import ROOT, target_of, without_tags

pytestmark = pytest.mark.slow


def test_the_chapter_is_a_page_with_figures(site, pages):
    page = pages["chapters/02_first_loop.html"]
    figures = [image for image in page.images if image["src"].endswith(".png")]
    assert len(figures) == 4
    assert "output" in page.classes, "outputs are marked as such"
    text = (site / "chapters/02_first_loop.html").read_text(encoding="utf-8")
    assert text.count("Your answer?") == 3, "three reveals are folded"
    assert "w: 3.00, b: -1.00" in without_tags(text)


@pytest.mark.parametrize("chapter", ["01_grad", "02_first_loop", "09_vjp"])
def test_formulas_arrive_as_they_are_written(site, chapter):
    notebook = nbformat.read(ROOT / "chapters" / f"{chapter}.ipynb", as_version=4)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    page = html.unescape((site / "chapters" / f"{chapter}.html").read_text(encoding="utf-8"))
    written = re.findall(r"\$\$(.+?)\$\$", prose)
    assert written == re.findall(r'class="arithmatex"[^>]*>\\\[(.+?)\\\]', page)
    assert written


def test_the_reference_lists_the_transformations(pages):
    for name in ("grad", "jit", "vmap", "make_jaxpr", "value_and_grad", "jacfwd", "vjp"):
        assert f"tinyjax.{name}" in pages["api.html"].anchors


@pytest.mark.parametrize(
    "page, names",
    [("numpy", ["sin", "mean", "where"]), ("lax", ["cond", "scan"]), ("random", ["split"])],
)
def test_the_modules_are_listed(site, page, names):
    text = (site / f"{page}.html").read_text(encoding="utf-8")
    for name in names:
        assert f"<code>{name}(" in text


def test_the_home_page_has_three_doors(pages):
    targets = {target_of("index.html", link)[0] for link in pages["index.html"].links}
    assert targets >= {
        "chapters/02_first_loop.html",
        "exercises.html",
        "architecture.html",
        "api.html",
    }


def test_the_home_page_draws_the_program_that_it_prints(site, pages):
    [image] = [image for image in pages["index.html"].images if image["src"].endswith(".svg")]
    assert (site / image["src"]).is_file()
    printed = without_tags((site / "index.html").read_text(encoding="utf-8"))
    equations = printed.count(":f32[] = ")
    assert image["alt"].startswith(f"A graph of {equations} equations: sin, cos, mul")
