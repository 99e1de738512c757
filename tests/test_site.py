"""The site builds strictly, its links lead somewhere, and a page asks nothing of other hosts."""

import gzip
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlparse

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow

LOADS = {"src", "srcset", "data", "poster"}  # attributes that a browser fetches at once


class Page(HTMLParser):
    """What one HTML file links to, loads, and offers as anchors."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.images: list[dict] = []
        self.classes: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Sorts the attributes of one tag."""
        named = dict(attrs)
        self.classes.update((named.get("class") or "").split())
        self.anchors.update(named[key] for key in ("id", "name") if named.get(key))
        self.loaded += [named[key] for key in LOADS if named.get(key)]
        if tag == "link":
            self.loaded.append(named.get("href") or "")
        elif tag == "a" and named.get("href"):
            self.links.append(named["href"])
        elif tag == "img":
            self.images.append(named)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built as `make site` builds it."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Page]:
    """Every page by its address below the root."""
    return {path.relative_to(site).as_posix(): Page(path) for path in site.rglob("*.html")}


def target_of(page: str, link: str) -> tuple[str, str]:
    """The file below the root that a link on a page leads to, and its anchor."""
    address, anchor = urldefrag(urljoin(f"http://site/{page}", link))
    path = unquote(urlparse(address).path).lstrip("/")
    return path + "index.html" if path == "" or path.endswith("/") else path, anchor


def is_elsewhere(address: str) -> bool:
    """Whether an address names a host."""
    return bool(urlparse(address).netloc)


def test_no_link_is_broken(site, pages):
    broken = []
    for page, content in pages.items():
        if page == "404.html":  # its links are absolute on purpose: it is shown at any depth
            continue
        for link in content.links + content.loaded:
            if is_elsewhere(link) or link.startswith(("mailto:", "data:")):
                continue
            path, anchor = target_of(page, link)
            known = pages[path].anchors if path in pages else {anchor}
            if not (site / path).is_file() or (anchor and unquote(anchor) not in known):
                broken.append((page, link))
    assert broken == []


def test_nothing_is_fetched_from_another_host(site, pages):
    for page, content in pages.items():
        assert [link for link in content.loaded if is_elsewhere(link)] == [], page
        assert "mermaid" not in content.classes, "Material fetches mermaid from another host"
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", text), sheet


def test_the_chapter_is_a_page_with_figures(site, pages):
    page = pages["chapters/02_first_loop/index.html"]
    figures = [image for image in page.images if image["src"].endswith(".png")]
    assert len(figures) == 4
    assert "output" in page.classes, "outputs are marked as such"
    text = (site / "chapters/02_first_loop/index.html").read_text(encoding="utf-8")
    assert text.count("What happens") == 3, "three reveals are folded"
    assert "w: 3.00, b: -1.00" in re.sub("<[^>]+>", "", text)


def test_every_image_has_an_alternative_text(pages):
    for page, content in pages.items():
        for image in content.images:
            assert image.get("alt"), (page, image)


def test_the_reference_lists_the_transformations(pages):
    for name in ("grad", "jit", "vmap", "make_jaxpr", "value_and_grad", "jacfwd", "vjp"):
        assert f"tinyjax.{name}" in pages["api/index.html"].anchors


@pytest.mark.parametrize(
    "page, names",
    [("numpy", ["sin", "mean", "where"]), ("lax", ["cond", "scan"]), ("random", ["split"])],
)
def test_the_modules_are_listed(site, page, names):
    text = (site / page / "index.html").read_text(encoding="utf-8")
    for name in names:
        assert f"<code>{name}(" in text


def test_pages_are_light(site, pages):
    """At most 40 KB compressed, figures aside; the reference, one long list, is let off."""
    for page in pages.keys() - {"api/index.html"}:
        assert len(gzip.compress((site / page).read_bytes())) < 40_000, page


def test_the_home_page_has_three_doors(pages):
    targets = {target_of("index.html", link)[0] for link in pages["index.html"].links}
    assert targets >= {
        "chapters/02_first_loop/index.html",
        "exercises/index.html",
        "architecture/index.html",
        "api/index.html",
    }
