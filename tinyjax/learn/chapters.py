"""Makes a chapter out of its text: `python -m tinyjax.learn.chapters chapters/text/*.py`.

A chapter is written as percent-format Python in `chapters/text/`, which reads well in a review.
The notebook beside that folder is the same cells with the outputs that running them gave.
"""

import sys
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

SECONDS = 60  # a chapter that runs longer is too long

# --- Text to notebook ----------------------------------------------------------------------------


def read_text(path: Path) -> NotebookNode:
    """The chapter as written, without outputs."""
    notebook = jupytext.read(path, fmt="py:percent")
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02}"  # the same at every build, so that a diff shows changes only
        cell.metadata.pop("lines_to_next_cell", None)  # how jupytext spaces the text
        if "reveal" in cell.metadata.get("tags", []):
            cell.metadata["jupyter"] = {"outputs_hidden": True}  # folded until the reader looks
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    return notebook


def execute(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Runs a notebook in a kernel of its own, started in `folder`; the same, with outputs."""
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    notebook.metadata.pop("widgets", None)
    return notebook


# --- With JAX in place of tinyjax ----------------------------------------------------------------


def on_jax(notebook: NotebookNode) -> NotebookNode:
    """The chapter with its import lines changed to JAX's, and what is tinyjax only left out."""
    changed = nbformat.from_dict(notebook)
    changed.cells = [
        cell for cell in notebook.cells if "tinyjax-only" not in cell.metadata.get("tags", [])
    ]
    for cell in changed.cells:
        if cell.cell_type == "code":
            cell.source = change_imports(cell.source)
    return changed


def change_imports(source: str) -> str:
    """`import tinyjax as jax` becomes `import jax`, `tinyjax.numpy` becomes `jax.numpy`."""
    source = source.replace("import tinyjax as jax", "import jax")
    return source.replace("import tinyjax.", "import jax.").replace(
        "from tinyjax import", "from jax import"
    )


# --- The command ---------------------------------------------------------------------------------


def build(text: Path) -> Path:
    """Runs one chapter and writes its notebook; returns where."""
    folder = text.resolve().parents[1]
    notebook = execute(read_text(text), folder)
    target = folder / f"{text.stem}.ipynb"
    nbformat.write(notebook, target)
    return target


def main() -> None:
    """Builds the chapters named on the command line."""
    for name in sys.argv[1:]:
        print(f"running {name} ...", flush=True)
        print(f"  wrote {build(Path(name))}")


if __name__ == "__main__":
    main()
