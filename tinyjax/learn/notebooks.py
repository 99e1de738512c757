"""What a chapter is: percent-format text, read, run in a clean kernel and tidied for the reader.

A chapter is written as percent-format Python in `chapters/text/`, which reads well in a review.
The notebook beside that folder is the same cells with the outputs that running them gave. Tags of a
cell say how it is treated; chapters/README.md lists them.
"""

import re
import shutil
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from tinyjax.learn.quiz import NO_ANSWER
from tinyjax.learn.runner import our_environment

SECONDS = 60  # a chapter that runs longer is too long


def tags(cell: NotebookNode) -> list[str]:
    """The tags of a cell."""
    return cell.metadata.get("tags", [])


# --- Text to notebook ----------------------------------------------------------------------------


def read_text(path: Path) -> NotebookNode:
    """The chapter as written, without outputs."""
    notebook = jupytext.read(path, fmt="py:percent")
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02}"  # the same at every build, so that a diff shows changes only
        cell.metadata.pop("lines_to_next_cell", None)  # how jupytext spaces the text
        if "reveal" in tags(cell):
            cell.metadata["jupyter"] = {"outputs_hidden": True}  # folded until the reader looks
        if "solution" in tags(cell):
            cell.metadata["jupyter"] = {"source_hidden": True}
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    return notebook


# --- Running -------------------------------------------------------------------------------------


def execute(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Runs a notebook in a kernel of its own, on a copy of the data in `folder`; adds the outputs.

    Nothing that a chapter writes stays, so no chapter can live on what another one left.
    """
    with tempfile.TemporaryDirectory() as desk:
        if (folder / "data").is_dir():
            shutil.copytree(folder / "data", Path(desk) / "data")
        client = NotebookClient(
            notebook,
            timeout=SECONDS,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=["--log-level=40"],  # a kernel for a minute need not speak of itself
            resources={"metadata": {"path": desk}},
        )
        progress = {"TINYJAX_PROGRESS": str(Path(desk) / "progress.json")}
        client.execute(env=our_environment() | progress)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            tidy(output, cell.execution_count)
    return notebook


def tidy(output: NotebookNode, number: int) -> None:
    """Takes out what differs from run to run: of an error its words stay, of a file its cell."""
    if output.output_type == "error":
        text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(output.traceback))
        message = text[text.rindex(f"\n{output.ename}: ") + 1 :]
        message = re.sub(r"\n\(The frames of tinyjax .*\)", "", message)
        output.traceback = [message]
    elif output.get("name") == "stderr":
        output.text = re.sub(
            r"\S*ipykernel_\d+/\d+\.py:(\d+)", rf"Cell In[{number}], line \1", output.text
        )


# --- With JAX in place of tinyjax ----------------------------------------------------------------

OWN_PREDICT = "from tinyjax.learn import predict"
STAND_IN = f"""def predict(question, answer):  # JAX keeps no answers
    print({NO_ANSWER!r})
"""


def on_jax(notebook: NotebookNode) -> NotebookNode:
    """The chapter with its import lines changed to JAX's, and what is tinyjax only left out."""
    changed = nbformat.from_dict(notebook)
    changed.cells = [cell for cell in changed.cells if "tinyjax-only" not in tags(cell)]
    for cell in changed.cells:
        if cell.cell_type == "code":
            cell.source = change_imports(cell.source)
    return changed


def change_imports(source: str) -> str:
    """`import tinyjax as jax` becomes `import jax`, `tinyjax.numpy` becomes `jax.numpy`."""
    source = source.replace(OWN_PREDICT, STAND_IN).replace("import tinyjax as jax", "import jax")
    return re.sub(r"^( *(?:import|from) )tinyjax\b", r"\1jax", source, flags=re.MULTILINE)
