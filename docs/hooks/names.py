"""A MkDocs hook: `<!-- names of tinyjax.numpy -->` becomes a table of what that module offers."""

import importlib
import inspect
import re
from types import ModuleType

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

PLACE = re.compile(r"^<!-- names of (?P<module>[\w.]+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fills in the tables that a page asks for."""
    return PLACE.sub(lambda match: table(importlib.import_module(match["module"])), markdown)


def table(module: ModuleType) -> str:
    """Name, signature and the first sentence of every public function of a module."""
    rows = ["| name | what it gives |", "|---|---|"]
    for name, value in inspect.getmembers(module):
        says = (inspect.getdoc(value) or "").partition("\n")[0]
        is_own = getattr(value, "__module__", "").startswith("tinyjax")
        if callable(value) and is_own and says and not name.startswith("_"):
            rows.append(f"| `{name}{arguments(value)}` | {escape(says)} |")
    return "\n".join(rows)


def arguments(function: object) -> str:
    """The names of the arguments, without their defaults."""
    try:
        parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return "(" + ", ".join(marks.get(p.kind, "") + p.name for p in parameters) + ")"


def escape(text: str) -> str:
    """A sentence that neither ends the table's cell nor becomes a link."""
    return re.sub(r"([|\[\]<*_])", r"\\\1", text)
