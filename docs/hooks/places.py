"""Where the site shows what: the pages of chapters, exercises and files, and links to them.

No hook itself: the hooks of chapters and exercises use it.
"""

import posixpath
import re
from pathlib import Path

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files

from tinyjax.learn.exercise import Exercise, exercises

# --- Pages ---------------------------------------------------------------------------------------


def tab(config: MkDocsConfig, title: str) -> list:
    """The pages under a tab of the site, to be added to. Raises PluginError if there is none."""
    for section in config.nav or []:
        if title in section:
            return section[title]
    raise PluginError(f"mkdocs.yml needs {title!r} in its nav: pages are listed below it")


def notebooks(config: MkDocsConfig) -> list[Path]:
    """The chapters, in order."""
    return sorted((Path(config.config_file_path).parent / "chapters").glob("*.ipynb"))


def chapter_title(notebook: Path) -> str:
    """The headline of a chapter, such as `01 The derivative is a function`."""
    headline = nbformat.read(notebook, as_version=4).cells[0].source.splitlines()[0]
    return headline.lstrip("# ").replace(" · ", " ")


def exercise_page(exercise: Exercise) -> str:
    """The page of an exercise: it lies as the student's file does."""
    return f"exercises/{exercise.topic}/{exercise.name}.md"


def page_of(path: str) -> str:
    """The page that shows a file of the repository, if the site has one."""
    folder, _, rest = path.partition("/")
    if folder == "docs":
        return rest
    if folder == "tinyjax":
        return f"source/{posixpath.splitext(rest)[0]}.md"
    return posixpath.splitext(path)[0] + ".md"


# --- Links ---------------------------------------------------------------------------------------

FENCED = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
LINKED = re.compile(
    r"\[(?P<words>[^\]]*)\]\((?P<target>[^)\s]+)\)"
    r"|`(?:tinyjax (?:check|watch) (?:\w+/)?(?P<exercise>\w+)|[^`\n]+)`"
    r"|\$\$[^$]+\$\$|\$[^$\n]+\$"  # formulas, whose brackets are no links
    r"|\b[Cc]hapter (?P<chapter>\d\d)\b"
)


class Links:
    """Makes links of the site of what prose says about files, chapters and exercises."""

    def __init__(self, files: Files, config: MkDocsConfig):
        self.chapters = {path.stem[:2]: f"chapters/{path.stem}.md" for path in notebooks(config)}
        self.exercises = {exercise.name: exercise_page(exercise) for exercise in exercises()}
        known = [file.src_uri for file in files.documentation_pages()]
        self.pages = {*known, *self.chapters.values(), *self.exercises.values()}

    def in_prose(self, prose: str, page: str) -> str:
        """The prose of a page with its links; what is fenced stays as it is."""
        pieces = FENCED.split(prose)
        pieces[::2] = [LINKED.sub(lambda found: self.link(found, page), p) for p in pieces[::2]]
        return "".join(pieces)

    def link(self, found: re.Match, page: str) -> str:
        """A link from the page; the words alone where the site has nothing to show."""
        words, address = found["words"] or found[0], found["target"] or ""
        if address.startswith(("https:", "http:")):
            return found[0]
        here = posixpath.dirname(page)
        path, _, anchor = address.partition("#")
        target = page_of(posixpath.normpath(posixpath.join(here, path))) if path else ""
        target = target or self.exercises.get(found["exercise"] or "", "")
        target = target or self.chapters.get(found["chapter"] or "", "")
        if anchor and not path:
            return f"[{words}](#{slug(anchor)})"
        if target not in self.pages or target == page:
            return words
        return f"[{words}]({posixpath.relpath(target, here)}{'#' * bool(anchor)}{slug(anchor)})"


def slug(anchor: str) -> str:
    """The site's anchor of a heading, out of Jupyter's: `Wide,-not-deep` is `wide-not-deep`."""
    return re.sub(r"[^\w-]", "", anchor).lower()
