"""The exercises as Jupyter notebooks, and as a course that nbgrader hands out, collects and grades.

Of every exercise one notebook is made. A course has one assignment per topic. Nothing that a
student or a teacher has changed is overwritten: each notebook keeps the hash of what was written.
"""

import ast
import hashlib
import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tinyjax.learn.exercise import Exercise, exercises, find
from tinyjax.learn.notebook import first_line

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}

# --- Cells both have in common -------------------------------------------------------------------


def text_of(exercise: Exercise, title: str) -> str:
    """The code of the cell with that title."""
    return exercise.titled(title)[0].text


def statement(exercise: Exercise, last: str) -> str:
    """What to do; the last sentence, which speaks of the file, is one about the notebook."""
    task, _, _ = exercise.titled("statement")[0].prose.partition("Run this file")
    return f"{task.rstrip()}\n\n{last}"


def notebook_of(cells: list[NotebookNode]) -> NotebookNode:
    """A notebook that is the same at every export, and knows what was written into it."""
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number:02}"
    notebook = new_notebook(cells=cells, metadata=METADATA)
    notebook.metadata["tinyjax"] = {"exported": digest(notebook)}
    return notebook


# --- Plain notebooks -----------------------------------------------------------------------------


def plain_notebook(exercise: Exercise) -> NotebookNode:
    """Statement, given cell, the cell to write in, and three hints to unfold."""
    last = "Write in the last code cell and run it: it is graded each time."
    cells = [
        new_markdown_cell(statement(exercise, last)),
        new_code_cell("%load_ext tinyjax.learn"),
        new_code_cell(text_of(exercise, "given")),
        new_code_cell(f"%%exercise {exercise.name}\n{text_of(exercise, 'stub')}"),
    ]
    for number, hint in enumerate(exercise.hints, 1):
        folded = f"<details><summary>Hint {number}</summary>\n\n{hint}\n\n</details>"
        cells.append(new_markdown_cell(folded))
    return notebook_of(cells)


# --- The solution cell ---------------------------------------------------------------------------

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
ROOM = "# Room for helpers and the like; the line that raises can go."


def solution_cell(stub: str, reference: str) -> str:
    """The stub with the reference's bodies marked as solutions, which nbgrader cuts out again.

    A reference that is more than these bodies, such as one with a helper, stands after the stub.
    """
    theirs, ours = functions(ast.parse(stub)), functions(ast.parse(reference))
    lines = stub.splitlines()
    for name, function in sorted(theirs.items(), key=lambda item: -item[1].lineno):
        hole = function.body[-1]
        if isinstance(hole, ast.Raise) and name in ours:
            indent = " " * hole.col_offset
            body = what_fills(function.body[:-1], ours[name], reference.splitlines())
            lines[hole.lineno - 1 : hole.end_lineno] = [indent + BEGIN, *body, indent + END]
    filled = "\n".join(lines)
    if without_docstrings(filled) == without_docstrings(reference):
        return filled
    return f"{stub}\n\n\n{ROOM}\n{BEGIN}\n{reference}\n{END}"


def what_fills(before: list[ast.stmt], ours: ast.FunctionDef, lines: list[str]) -> list[str]:
    """The lines of a reference's body that come after its docstring and what the stub has too."""
    start = first_line(ours.body[0]) - 1
    for statement in ours.body:
        known = any(ast.dump(statement) == ast.dump(theirs) for theirs in before)
        if not known and not is_docstring(statement):
            break
        start = statement.end_lineno or start
    while not lines[start].strip():
        start += 1
    return lines[start : ours.end_lineno]


def is_docstring(statement: ast.stmt) -> bool:
    """Whether a statement is a bare string."""
    value = getattr(statement, "value", None)
    return isinstance(statement, ast.Expr) and isinstance(getattr(value, "value", None), str)


def functions(tree: ast.AST, prefix: str = "") -> dict[str, ast.FunctionDef]:
    """The functions of a module and the methods of its classes, by their qualified names."""
    found: dict[str, ast.FunctionDef] = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            found[prefix + node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= functions(node, f"{prefix}{node.name}.")
    return found


def without_docstrings(source: str) -> str:
    """What a source means, its docstrings and comments aside."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body = node.body[1:]
    return ast.dump(tree)


# --- The notebook of an nbgrader assignment ------------------------------------------------------


def points(exercise: Exercise) -> int:
    """What each check of an exercise counts: as many points as the exercise has stars."""
    return exercise.about["difficulty"]


def marked(cell: NotebookNode, grade_id: str, **said: bool | int) -> NotebookNode:
    """The cell with nbgrader's metadata (schema 3); locked unless it says otherwise."""
    kind = {"grade": False, "solution": False, "locked": True, "task": False, **said}
    cell.metadata["nbgrader"] = {"schema_version": 3, "grade_id": grade_id, **kind}
    return cell


def graded_notebook(exercise: Exercise) -> NotebookNode:
    """Teacher's version: statement, given cell, solution, and one graded cell for each check."""
    name = exercise.name
    solution = solution_cell(text_of(exercise, "stub"), text_of(exercise, "reference"))
    last = "The cells at the end grade what you wrote; **Validate** runs them all."
    setup = "%load_ext tinyjax.learn"
    grader = "from tinyjax.learn.notebook import graded"  # anew, should a cell have used the name
    cells = [
        marked(new_markdown_cell(statement(exercise, last)), f"{name}-statement"),
        marked(new_code_cell(setup), f"{name}-setup"),
        marked(new_code_cell(text_of(exercise, "given")), f"{name}-given"),
        marked(new_code_cell(solution), f"{name}-solution", solution=True, locked=False),
    ]
    for number, check in enumerate(exercise.checks, 1):
        said = json.dumps(check.name, ensure_ascii=False)
        cell = new_code_cell(f'{grader}\n\ngraded("{name}", {said})')
        grade = {"grade": True, "points": points(exercise)}
        cells.append(marked(cell, f"{name}-check-{number}", **grade))
    return notebook_of(cells)


# --- The course ----------------------------------------------------------------------------------

OURS = "# Written by `tinyjax export nbgrader`; change it as you like, an export keeps it."
CONFIG = f"""{OURS}
#
# In this folder:
#   nbgrader generate_assignment 01_grad      makes the students' version, in release/
#   nbgrader autograde 01_grad                grades what is in submitted/STUDENT/01_grad/
#   nbgrader generate_feedback 01_grad        writes what each student reads, in feedback/
#   nbgrader export                           all grades as a table
# nbgrader runs the cells of a submission under your account. Students and you need tinyjax
# installed from a clone, where the exercises are.

import os

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "tinyjax"
c.Execute.timeout = {{seconds}}  # a graded cell may compile kernels

# The seed of the random inputs when you grade; students see those of seed 0.
os.environ["TINYJAX_SEED"] = "{{seed}}"
"""


def plain_files(chosen: list[Exercise]) -> Iterator[tuple[str, str]]:
    """For each exercise the path of its notebook below the folder, and its text."""
    for exercise in chosen:
        yield f"{exercise.topic}/{exercise.name}.ipynb", nbformat.writes(plain_notebook(exercise))


def course_files(chosen: list[Exercise]) -> Iterator[tuple[str, str]]:
    """The configuration, then the notebooks: an assignment per topic."""
    seconds = int(max(exercise.seconds for exercise in chosen)) + 30
    yield "nbgrader_config.py", CONFIG.format(seconds=seconds, seed=secrets.randbelow(10**6) + 1)
    for exercise in chosen:
        path = f"source/{exercise.topic}/{exercise.name}.ipynb"
        yield path, nbformat.writes(graded_notebook(exercise))


# --- Writing -------------------------------------------------------------------------------------


def digest(notebook: NotebookNode) -> str:
    """A hash of what the cells say; outputs do not count, nor how a program spaces the file."""
    said = "\0".join(f"{cell.cell_type} {cell.source}" for cell in notebook.cells)
    return hashlib.sha256(said.encode()).hexdigest()


def is_untouched(path: Path) -> bool:
    """Whether a file is one of ours that nobody has changed."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        return text.startswith(OURS)
    try:
        notebook = nbformat.reads(text, as_version=4)
    except Exception:  # nbformat raises errors of many kinds for what is no notebook
        return False
    return notebook.metadata.get("tinyjax", {}).get("exported") == digest(notebook)


def write_files(folder: Path, files: Iterator[tuple[str, str]]) -> int:
    """Writes the files, all or none; the number of notebooks. A SystemExit says what is in the way.

    A configuration that is there stays as it is: the teacher may have changed it.
    """
    texts = {folder / path: text for path, text in files}
    in_the_way = [path for path in texts if path.exists() and not is_untouched(path)]
    if folder.exists() and not folder.is_dir():
        in_the_way = [folder]
    if in_the_way:
        more = f" (and {len(in_the_way) - 1} more)" if len(in_the_way) > 1 else ""
        raise SystemExit(
            f"tinyjax: {in_the_way[0]}{more} was not written by this command, or was changed "
            f"since, and is not overwritten. Nothing was written. Name another folder than "
            f"{folder}, or move these files away."
        )
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".ipynb" or not path.exists():
            path.write_text(text + "\n" if path.suffix == ".ipynb" else text, encoding="utf-8")
    return sum(path.suffix == ".ipynb" for path in texts)


# --- The command ---------------------------------------------------------------------------------


def choose(names: list[str]) -> list[Exercise]:
    """The exercises and the topics named; all of them when nothing is."""
    every = list(exercises())
    topics = {exercise.topic for exercise in every}
    last = [Path(name).name for name in names]  # exercises/01_grad/ will do, too
    wanted = {name if name in topics else find(name).name for name in last}
    return [e for e in every if not wanted or {e.name, e.topic} & wanted]


def export(kind: str, folder: Path, names: list[str]) -> int:
    """What `tinyjax export` does, of kind `nbgrader` or `notebooks`; the exit code."""
    chosen = choose(names)
    files = course_files(chosen) if kind == "nbgrader" else plain_files(chosen)
    print(f"Notebooks written to {folder}: {write_files(folder, files)}.")
    if kind == "nbgrader":
        print(f"Next: cd {folder} && nbgrader generate_assignment {chosen[0].topic}")
        print("nbgrader_config.py there lists the other commands.")
    return 0
