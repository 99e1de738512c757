"""A MkDocs hook: each executed notebook of chapters/ becomes a page, its figures become files.

nbconvert's Markdown exporter does the work; `chapter.md.j2` beside this file says how a cell looks.
"""

import itertools
import posixpath
import re
from pathlib import Path

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files
from nbconvert import MarkdownExporter
from nbformat import NotebookNode
from places import Links, chapter_title, notebooks, tab

from tinyjax.learn.quiz import NO_ANSWER

ABOUT = """
*This is the notebook `chapters/{stem}.ipynb` as it ran; `make learn` opens it for you to run. Where
it asks you to predict something, decide before you open the fold.*
"""
TEMPLATE = Path(__file__).with_name("chapter.md.j2")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lists the chapters first under Learn."""
    entries = [{chapter_title(path): f"chapters/{path.stem}.md"} for path in notebooks(config)]
    learn = tab(config, "Learn")
    learn[:] = entries + [entry for entry in learn if entry not in entries]
    return config


@event_priority(-50)  # when the pages of all others are known
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page and its figures for every notebook."""
    links = Links(files, config)
    for path in notebooks(config):
        page, figures = render(nbformat.read(path, as_version=4), path.stem, links)
        files.append(File.generated(config, f"chapters/{path.stem}.md", content=page))
        for name, data in figures.items():
            files.append(File.generated(config, posixpath.join("chapters", name), content=data))
    return files


def render(notebook: NotebookNode, stem: str, links: Links) -> tuple[str, dict[str, bytes]]:
    """The Markdown of a notebook, and its figures by file name."""
    for cell in notebook.cells:
        leave_out(cell)
        check_figures(cell, stem)
        if cell.cell_type == "markdown":
            cell.source = links.in_prose(cell.source, f"chapters/{stem}.md")
    headline, _, beginning = notebook.cells[0].source.partition("\n")
    notebook.cells[0].source = f"{headline}\n{ABOUT.format(stem=stem)}{beginning}"
    ask(notebook.cells)
    fold_reasons(notebook.cells)
    notebook.cells = [cell for cell in notebook.cells if cell.source.strip()]
    exporter = MarkdownExporter(template_file=str(TEMPLATE))
    page, resources = exporter.from_notebook_node(
        notebook, {"unique_key": stem, "metadata": {"name": stem}}
    )
    return page, resources["outputs"]


# --- What only makes sense in a notebook ---------------------------------------------------------

# Where to type, what a gap prints, an empty cell.
ONLY_THERE = re.compile(
    r"""\n\n(?:Put|Write)\ your\ answers?\ in\ place\ of\ the\ dots\b(?:.|\n(?!\n))*
    |\nPut\ your\ three\ numbers\ in\ place\ of\ the\ dots\b(?:.|\n(?!\n))*
    |\s\(Until\ you\ [^()]*\)
    |\A\#\ Your\ space\.\Z""",
    re.VERBOSE,
)


def leave_out(cell: NotebookNode) -> None:
    """A page has no cells to type in, and a gap that nobody filled prints nothing."""
    cell.source = ONLY_THERE.sub("", cell.source)
    if "outputs" in cell:
        cell.outputs = [
            output for output in cell.outputs if "Ellipsis" not in output.get("text", "")
        ]


# --- Predictions ---------------------------------------------------------------------------------

PREDICT = re.compile(r"^predict\(.*\)  # (?P<choices>.*)$", re.MULTILINE)


def ask(cells: list[NotebookNode]) -> None:
    """A page asks in its own way: the choices of `predict` are the title of the folded reveal."""
    code = [cell for cell in cells if cell.cell_type == "code"]
    for cell, reveal in itertools.pairwise(code):
        choices = PREDICT.findall(cell.source)
        if choices:
            reveal.metadata["question"] = "; ".join(choices)
            cell.source = PREDICT.sub("", cell.source).strip()
            for output in cell.outputs:
                if "text" in output:  # a figure has none
                    output.text = output.text.replace(NO_ANSWER + "\n", "")
            cell.outputs = [output for output in cell.outputs if output.get("text", "shown")]


def fold_reasons(cells: list[NotebookNode]) -> None:
    """The paragraph after a reveal says why and would give the answer away: it is folded, too."""
    for reveal, text in itertools.pairwise(cells):
        if "question" in reveal.metadata and text.cell_type == "markdown":
            reason, _, rest = text.source.partition("\n\n")
            if not reason.startswith("#") and not reason.endswith(":"):
                reveal.metadata["reason"], text.source = reason, rest


# --- Figures -------------------------------------------------------------------------------------


def check_figures(cell: NotebookNode, stem: str) -> None:
    """Each figure says what is to be seen: its cell does, or the figure. Else nothing is built."""
    for output in cell.get("outputs", []):
        if "image/png" not in output.get("data", {}):
            continue
        alt = cell.metadata.get("alt") or output.metadata.get("image/png", {}).get("alt")
        if not alt:
            raise PluginError(f"{stem}: the figure of this cell has no alt text:\n{cell.source}")
        output.metadata["alt"] = alt
