"""A crawl of the built site: links, what a browser fetches, figures, weight, and no solutions."""

import gzip
import html
import json
import re
from urllib.parse import urlparse

import nbformat
import pytest
from site_pages import ROOT, is_elsewhere, target_of, without_tags

from tinyjax.learn.exercise import exercises, find

pytestmark = pytest.mark.slow

LIGHT = 40_000  # bytes of a page, compressed, without its figures

# --- Links --------------------------------------------------------------------------------------


def test_no_link_is_broken(site, pages):
    broken = []
    for page, content in pages.items():
        for link in content.links + content.loaded:
            if is_elsewhere(link) or link.startswith(("mailto:", "data:")):
                continue
            path, anchor = target_of(page, link)
            known = pages[path].anchors if path in pages else {anchor}
            if not (site / path).is_file() or (anchor and anchor not in known):
                broken.append((page, link))
    assert broken == []


def test_every_page_can_be_reached(pages):
    """By links alone, from the home page."""
    reached, waiting = set(), ["index.html"]
    while waiting:
        page = waiting.pop()
        if page in pages and page not in reached:
            reached.add(page)
            waiting += [target_of(page, link)[0] for link in inner_links(pages[page])]
    assert pages.keys() - reached <= {"404.html"}


def inner_links(content):
    """The links of a page that stay on the site."""
    return [link for link in content.links if not is_elsewhere(link) and ":" not in link]


# --- Nothing is fetched from elsewhere -----------------------------------------------------------

# Material's script knows these addresses. It fetches from them only for what a page must not have:
# diagrams in a block of class mermaid, the stars of a repository that mkdocs.yml names.
FETCHED_FOR = {"unpkg.com": "mermaid", "api.github.com": "md-source"}
NAMED = {"www.w3.org"}  # addresses that are names of formats: SVG, MathML
FETCH = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//""")


def test_pages_load_nothing_from_other_hosts(pages):
    for page, content in pages.items():
        assert [link for link in content.loaded if is_elsewhere(link)] == [], page
        assert not FETCH.search("\n".join(content.styles)), page
        assert not content.classes & set(FETCHED_FOR.values()), page


def test_style_sheets_load_nothing_from_other_hosts(site):
    for sheet in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        assert not FETCH.search(sheet.read_text(encoding="utf-8")), sheet


def test_scripts_know_no_other_hosts(site):
    for script in site.rglob("*.js"):
        quoted = re.findall(r"""["'`](https?://[\w.-]+)""", script.read_text(encoding="utf-8"))
        hosts = {urlparse(url).netloc for url in quoted}
        assert hosts <= FETCHED_FOR.keys() | NAMED, script


# --- Figures and weight --------------------------------------------------------------------------


def test_every_image_has_an_alternative_text(pages):
    for page, content in pages.items():
        for image in content.images:
            assert image.get("alt") or image.get("aria-label"), (page, image)


def test_pages_are_light(site, pages):
    weights = {page: len(gzip.compress((site / page).read_bytes(), 9)) for page in pages}
    assert {page: size for page, size in weights.items() if size > LIGHT} == {}


# --- No solutions --------------------------------------------------------------------------------


def test_no_solution_is_on_the_site(site, pages):
    """Three lines in a row of any solution, right or wrong, that are not public anyway."""
    secret = secrets()
    assert secret
    leaks = []
    for place, text in shown_texts(site, pages):
        for three in threes(text):
            if three in secret:
                leaks.append((place, secret[three], three))
    assert leaks == []


def test_a_solution_would_be_noticed():
    """Every exercise has lines that are nowhere else."""
    secret = secrets()
    assert set(secret.values()) == {exercise.name for exercise in exercises()}
    assert all(three in secret for three in threes(find("sgd_step").reference.source)[-1:])


def shown_texts(site, pages):
    """The text of every page, and of the search index."""
    for page in pages:
        yield page, html.unescape(without_tags((site / page).read_text(encoding="utf-8")))
    for entry in index(site)["docs"]:
        yield f"search: {entry['location']}", html.unescape(without_tags(entry["text"]))


def secrets() -> dict[tuple, str]:
    """Three lines in a row of a solution, and the exercise; not those that anyone may read."""
    found = {}
    for exercise in exercises():
        for kind in ("reference", "right", "wrong"):
            for solution in exercise.solutions(kind):
                found.update(dict.fromkeys(threes(solution.source), exercise.name))
    public = set(public_threes())
    return {three: name for three, name in found.items() if three not in public}


def public_threes():
    """What the package, the chapters, and the exercises as they are handed out hold."""
    for path in ROOT.glob("tinyjax/**/*.py"):
        yield from threes(path.read_text(encoding="utf-8"))
    for exercise in exercises():
        statement = exercise.titled("statement")[0].prose
        for text in [statement, exercise.stub, *exercise.hints]:
            yield from threes(text)
    for path in ROOT.glob("chapters/*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            yield from threes(cell.source)


def threes(text: str) -> list[tuple]:
    """Every three lines in a row, without spaces, comments and what is only punctuation."""
    lines = [re.sub(r"\s+|#.*", "", line) for line in text.splitlines()]
    lines = [line for line in lines if re.search(r"\w", line)]
    return list(zip(lines, lines[1:], lines[2:], strict=False))


# --- Search --------------------------------------------------------------------------------------

TERM = re.compile(r"^## (.+)\n\nChinese (.+) · Japanese (.+)\n", re.MULTILINE)


def index(site) -> dict:
    """What the search searches in."""
    return json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))


def test_the_search_reads_no_formulas(site):
    """What it shows of a section is words; the text behind a formula is there."""
    texts = {entry["location"]: entry["text"] for entry in index(site)["docs"]}
    assert [place for place, text in texts.items() if r"\frac" in text] == []
    assert "digits cancel" in texts["chapters/01_grad.html#from-f-to-f"]


def test_the_search_finds_the_words_of_the_glossary(site):
    """Each word, in each language, is a term of the index: in the section of its own."""
    found = index(site)
    separator = re.compile(found["config"]["separator"])
    assert not {"stemmer", "trimmer"} & set(found["config"]["pipeline"]), "they spoil such words"
    terms = {
        entry["title"]: set(separator.split(without_tags(entry["text"])))
        for entry in found["docs"]
        if entry["location"].startswith("glossary")
    }
    glossary = TERM.findall((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    assert len(glossary) > 50
    for title, *translations in glossary:
        words = re.findall(r"\*\*(.+?)\*\*", " ".join(translations))
        assert len(words) >= 2
        for word in words:
            assert set(word.split()) <= terms[title], (title, word)
