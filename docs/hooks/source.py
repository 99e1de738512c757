"""A MkDocs hook: the files of BOOK become pages, in the order in which to read them.

A page is the file itself: module docstring and the docstrings of what stands at the left margin are
its prose, banner comments its headings, and between them is the code.
"""

import ast
import re
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from places import page_of, tab
from prose import escaped, fenced, prose

BOOK = {
    "The language": ["avals", "array", "core", "printer"],
    "The cards": [f"primitives/{n}" for n in ("rules", "arithmetic", "linear", "maths")],
    "The interpreters": [f"transforms/{n}" for n in ("stage", "ad", "batching", "programs")],
    "Programs in programs": [f"transforms/{n}" for n in ("call", "jit", "scan", "custom")],
    "The surface": ["tree_util", "numpy/promotion", "autodiff", "mapping"],
    "The compiler": [f"compiler/{n}" for n in ("executable", "passes", "fusion", "kernel")],
    "Devices": ["transforms/pmap", "parallel/threads"],
}
FILES = [name for names in BOOK.values() for name in names]
JOINED = ("code", "imports")  # such statements stand together
BANNER = re.compile(r"# -{2,} (.*?) -{2,}$")


class Part(NamedTuple):
    """Some lines of a file."""

    kind: str  # "banner", "imports", "definition" or "code"
    title: str  # of a banner, or the defined name
    docstring: str
    code: str  # without the docstring


# ---- the site ------------------------------------------------------------------------------------


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lists the files last under Read the source."""
    section = tab(config, "Read the source")
    for title, names in BOOK.items():
        pages = [{f"{name}.py": page_of(f"tinyjax/{name}.py")} for name in names]
        if {title: pages} not in section:
            section.append({title: pages})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page for every file."""
    package = Path(config.config_file_path).parent / "tinyjax"
    for name in FILES:
        text = (package / f"{name}.py").read_text(encoding="utf-8")
        address = page_of(f"tinyjax/{name}.py")
        files.append(File.generated(config, address, content=page(name, text)))
    return files


def page(name: str, text: str) -> str:
    """The Markdown of a file's page."""
    lines = ["---", f"title: {name}.py", "---", f"# tinyjax/{name}.py", ""]
    lines += [prose(ast.get_docstring(ast.parse(text)) or ""), "", imports(name, text), ""]
    level = "##"  # of a definition, unless it stands below a banner
    for part in split(text):
        if part.kind == "banner":
            level = "###"
            lines += [
                f"## {escaped(part.title[:1].upper() + part.title[1:])}",
                "",
                prose(part.docstring),
                "",
            ]
        if part.kind == "definition":
            lines += [f"{level} `{part.title}` {{ #{part.title} }}", "", prose(part.docstring), ""]
        if part.kind == "imports":
            lines += ['??? quote "Imports"', "", textwrap.indent(fenced(part.code), "    "), ""]
        elif part.code:
            lines += [fenced(part.code), ""]
    return "\n".join(lines)


def imports(name: str, text: str) -> str:
    """A line about the file: how long it is, and which pages of the book it builds on."""
    up = "../" * name.count("/")
    used = sorted(set(imported(text)) & set(FILES), key=FILES.index)
    links = ", ".join(f"[{other}.py]({up}{other}.md)" for other in used)
    length = f"{len(text.splitlines())} lines."
    return f"*{length} Builds on {links}.*" if links else f"*{length}*"


def imported(text: str) -> list[str]:
    """The files of ours that a file imports from, as `transforms/ad`."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tinyjax"):
            base = (node.module or "").removeprefix("tinyjax").strip(".").replace(".", "/")
            found += [base, *(f"{base}/{alias.name}".strip("/") for alias in node.names)]
    return found


# ---- parts of a file -----------------------------------------------------------------------------


def split(text: str) -> list[Part]:
    """A file's lines after the module docstring, in parts; all of them, in order."""
    lines, nodes = text.splitlines(), ast.parse(text).body
    starts: dict[int, ast.stmt | str] = {}  # line number -> what begins there
    done = 0
    for node in nodes:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1
        for k in range(done, first):
            if found := BANNER.match(lines[k]):
                starts[k] = found[1]
        while first > done and lines[first - 1].startswith("#") and first - 1 not in starts:
            first -= 1  # comments stay with what they are about
        starts[first], done = node, node.end_lineno or len(lines)
    if isinstance(nodes[0], ast.Expr) and ast.get_docstring(ast.parse(text)) is not None:
        del starts[min(starts)]
    runs = sorted(starts.items(), key=at)
    joined = {
        b for (_, before), (b, what) in pairwise(runs) if kind(what) == kind(before) in JOINED
    }
    runs = [run for run in runs if run[0] not in joined] + [(len(lines), "")]
    return [part(what, first, lines[first:last]) for (first, what), (last, _) in pairwise(runs)]


def at(item: tuple) -> int:
    """The line where something begins."""
    return item[0]


def kind(what: ast.stmt | str) -> str:
    """The kind of part that begins with a statement or a banner."""
    if isinstance(what, str):
        return "banner"
    if isinstance(what, ast.Import | ast.ImportFrom):
        return "imports"
    return "definition" if isinstance(what, ast.ClassDef | ast.FunctionDef) else "code"


def part(what: ast.stmt | str, first: int, lines: list[str]) -> Part:
    """One part: a banner, or a statement with the lines up to the next one."""
    if isinstance(what, str):
        return Part("banner", what, "\n".join(line[2:] for line in lines[1:]).strip(), "")
    if not isinstance(what, ast.ClassDef | ast.FunctionDef):
        return Part(kind(what), "", "", clean(lines))
    docstring = ast.get_docstring(what) or ""
    if docstring:
        begin, end = what.body[0].lineno - 1 - first, (what.body[0].end_lineno or 0) - first
        lines = lines[:begin] + (lines[end:] if len(what.body) > 1 else ["    ..."])
    return Part("definition", what.name, docstring, clean(lines))


def clean(lines: list[str]) -> str:
    """Lines as text, without blank ones around it, or after the head of a definition."""
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip("\n"))
    return re.sub(r"(:)\n\n+(?= )", r"\1\n", text, count=1)
