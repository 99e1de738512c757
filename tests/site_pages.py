"""The built site, as the tests of the site read it: its pages, what they link to and load.

The fixtures `site` and `pages` of conftest.py build it once for all of them.
"""

import fcntl
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlparse

ROOT = Path(__file__).resolve().parents[1]
LOADS = {"src", "srcset", "data", "poster"}  # attributes that a browser fetches at once
FETCHED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "manifest", "preconnect"}


class Page(HTMLParser):
    """What one HTML file links to, loads, and offers as anchors."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.images: list[dict] = []
        self.classes: set[str] = set()
        self.styles: list[str] = []
        self.inside = ""  # of a style or a script
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Sorts the attributes of one tag."""
        named = dict(attrs)
        self.inside = tag
        self.classes.update((named.get("class") or "").split())
        self.anchors.update(named[key] for key in ("id", "name") if named.get(key))
        self.loaded += [named[key] for key in LOADS if named.get(key)]
        self.styles.append(named.get("style") or "")
        if tag == "link" and FETCHED_LINKS & set((named.get("rel") or "").split()):
            self.loaded.append(named.get("href") or "")
        elif tag in ("a", "link") and named.get("href"):
            self.links.append(named["href"])
        elif tag == "img" or named.get("role") == "img":
            self.images.append(named)

    def handle_data(self, data):
        """Keeps what a style element says."""
        if self.inside == "style":
            self.styles.append(data)

    def handle_endtag(self, tag):
        """Leaves an element."""
        self.inside = ""


def build_once(shared: Path) -> Path:
    """The site, built as `make site` builds it, by the first process of pytest that comes here."""
    folder, stamp = shared / "site", shared / "site.built"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists():
            build(folder)
            stamp.touch()
    return folder


def build(folder: Path) -> None:
    """Runs mkdocs, strictly."""
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert built.returncode == 0, built.stdout + built.stderr


def target_of(page: str, link: str) -> tuple[str, str]:
    """The file below the root that a link on a page leads to, and its anchor."""
    address, anchor = urldefrag(urljoin(f"http://site/{page}", link))
    path = unquote(urlparse(address).path).lstrip("/")
    return path + "index.html" if path == "" or path.endswith("/") else path, unquote(anchor)


def is_elsewhere(address: str) -> bool:
    """Whether an address names a host."""
    return bool(urlparse(address).netloc)


def without_tags(html: str) -> str:
    """The text of a page; where its tags were, there is nothing."""
    return re.sub(r"<[^>]+>", "", html)
