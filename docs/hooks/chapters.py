"""A MkDocs hook: each executed notebook of chapters/ becomes a page, its figures become files.

nbconvert's Markdown exporter does the work; `chapter.md.j2` beside this file says how a cell looks.
"""

import posixpath
import re
from pathlib import Path

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter
from nbformat import NotebookNode

TEMPLATE = Path(__file__).with_name("chapter.md.j2")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)\s]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lists the chapters first under Learn."""
    entries = []
    for path in notebooks(config):
        headline = nbformat.read(path, as_version=4).cells[0].source.splitlines()[0]
        title = headline.lstrip("# ").replace(" · ", " ")
        entries.append({title: f"chapters/{path.stem}.md"})
    learn = next(section["Learn"] for section in config.nav or [] if "Learn" in section)
    known = {target for entry in learn for target in entry.values()}
    learn[:0] = [entry for entry in entries if not known & set(entry.values())]
    return config


def notebooks(config: MkDocsConfig) -> list[Path]:
    """The chapters, in order."""
    return sorted((Path(config.config_file_path).parent / "chapters").glob("*.ipynb"))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page and its figures for every notebook."""
    for path in notebooks(config):
        page, figures = render(nbformat.read(path, as_version=4), path.stem)
        files.append(File.generated(config, f"chapters/{path.stem}.md", content=page))
        for name, data in figures.items():
            files.append(File.generated(config, posixpath.join("chapters", name), content=data))
    return files


def render(notebook: NotebookNode, stem: str) -> tuple[str, dict[str, bytes]]:
    """The Markdown of a notebook, and its figures by file name."""
    for cell in notebook.cells:
        check_figures(cell, stem)
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(link_on_the_site, cell.source)
    notebook.cells = [cell for cell in notebook.cells if cell.source.strip()]
    exporter = MarkdownExporter(template_file=str(TEMPLATE))
    page, resources = exporter.from_notebook_node(
        notebook, {"unique_key": stem, "metadata": {"name": stem}}
    )
    return page, resources["outputs"]


def link_on_the_site(found: re.Match) -> str:
    """A link to a chapter leads to its page; of a file that has no page, the name stays."""
    words, target = found.groups()
    if target.endswith(".ipynb") and "/" not in target:
        return f"[{words}]({target.removesuffix('.ipynb')}.md)"
    return words


def check_figures(cell: NotebookNode, stem: str) -> None:
    """Each figure says what is to be seen: its cell does, or the figure. Else nothing is built."""
    for output in cell.get("outputs", []):
        if "image/png" not in output.get("data", {}):
            continue
        alt = cell.metadata.get("alt") or output.metadata.get("image/png", {}).get("alt")
        if not alt:
            raise PluginError(f"{stem}: the figure of this cell has no alt text:\n{cell.source}")
        output.metadata["alt"] = alt
