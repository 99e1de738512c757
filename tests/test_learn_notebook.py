"""Exercises in notebooks: the magics, the cells that are graded, and the exported notebooks."""

import subprocess
import sys

import nbformat
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient

from tinyjax.learn import cli, export, notebook
from tinyjax.learn.exercise import exercises, find
from tinyjax.learn.judge import CheckResult, Verdict
from tinyjax.learn.progress import exercise_facts
from tinyjax.learn.runner import our_environment

RIGHT = "def sgd_step(theta, x, y, lr):\n    return theta - lr * jax.grad(loss)(theta, x, y)\n"
UPHILL = RIGHT.replace("theta - lr", "theta + lr")
STEP, INSIDE_JIT = "one step from a random theta", "the same step inside jit"


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """A shell as behind a notebook, with the extension loaded and no progress yet."""
    monkeypatch.setenv("TINYJAX_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(notebook, "recorder", None)
    made = InteractiveShell()
    made.history_manager.enabled = False
    monkeypatch.setattr(made, "showtraceback", lambda *_, **__: None)  # tests read the result
    with np.printoptions():  # a cell may set its own (%precision)
        made.run_cell("%load_ext tinyjax.learn", store_history=True)
        yield made


def run(shell: InteractiveShell, source: str, cell_id: str | None = None):
    """Runs a cell; its result, after errors of the shell itself."""
    result = shell.run_cell(source, store_history=True, cell_id=cell_id)
    assert result.error_before_exec is None
    return result


def error_of(shell: InteractiveShell, source: str) -> str:
    """What a cell says when it does not run to its end."""
    error = run(shell, source).error_in_exec
    assert error is not None
    return f"{type(error).__name__}: {error}"


# --- %%exercise ----------------------------------------------------------------------------------


def test_a_right_cell_passes_and_defines_its_names(shell, capsys):
    assert run(shell, f"%%exercise sgd_step\n{RIGHT}").success
    said = capsys.readouterr().out
    assert "sgd_step: passed (2 of 2 checks)" in said
    assert "To compare with ours: %tinyjax solution sgd_step" in said
    assert exercise_facts("sgd_step")["passed"]
    moved = run(shell, "sgd_step(jnp.array([1.0, 0.0]), jnp.ones(2), jnp.ones(2), 0.5)").result
    assert moved.tolist() == [1.0, 0.0]


def test_a_wrong_cell_is_told_why(shell, capsys):
    run(shell, f"%%exercise sgd_step\n{UPHILL}")
    said = capsys.readouterr().out
    assert "sgd_step: not there yet (0 of 2 checks)" in said
    assert "probably  You went uphill" in said
    assert "Stuck? %tinyjax hint sgd_step" in said
    assert "sgd_step" in shell.user_ns
    assert not exercise_facts("sgd_step").get("passed")


def test_a_cell_shows_its_own_output_too(shell, capsys):
    run(shell, f"%%exercise sgd_step\n%precision 3\n{RIGHT}\nprint('seen', theta := 3)")
    said = capsys.readouterr().out
    assert "passed" in said and said.rstrip().endswith("seen 3")


def test_the_stub_is_not_started(shell, capsys):
    stub = find("sgd_step").titled("stub")[0].text
    run(shell, f"%%exercise sgd_step\n{stub}")
    said = capsys.readouterr().out
    assert "sgd_step: not started" in said
    assert "in place of NotImplementedError, and run the cell again" in said


@pytest.mark.parametrize(
    "code, says",
    [
        ("def sgd_step(:", "SyntaxError"),
        ("import os\nos._exit(3)", "your code ended the Python process"),
        ("raise ValueError('no')", "ValueError: no"),
    ],
)
def test_what_ends_a_process_does_not_end_the_kernel(shell, capsys, code, says):
    run(shell, f"%%exercise sgd_step\n{code}")
    assert says in capsys.readouterr().out
    assert "sgd_step" not in shell.user_ns


@pytest.mark.parametrize(
    "cell, says",
    [
        ("%%exercise sgd_stp\nx = 1", "no exercise is called 'sgd_stp': did you mean sgd_step"),
        ("%%exercise qqqqq\nx = 1", "no exercise is called 'qqqqq': `tinyjax list` shows them all"),
        ("%%exercise sgd_step\n  \n", "sgd_step: the cell is empty; write your code below"),
        ("%%exercise\nx = 1", "write the name of one exercise: %%exercise NAME"),
    ],
)
def test_mistakes_in_the_magic_are_explained(shell, cell, says):
    said = error_of(shell, cell)
    assert says in said and said.startswith("UsageError")


def test_a_changed_kernel_changes_no_verdict(shell, capsys):
    """What someone builds into the core by hand stays in the kernel."""
    run(shell, "import tinyjax\ntrue_grad = tinyjax.grad\ntinyjax.grad = lambda f: lambda *a: 0.0")
    try:
        run(shell, f"%%exercise sgd_step\n{RIGHT}")
    finally:
        run(shell, "tinyjax.grad = true_grad")
    assert "sgd_step: passed" in capsys.readouterr().out


def test_the_commands_are_there(shell, capsys):
    run(shell, "%tinyjax hint sgd_step")
    assert "Hint 1 of 3" in capsys.readouterr().out
    run(shell, "%tinyjax hint nothing")
    assert "no exercise is called 'nothing'" in capsys.readouterr().out


# --- The cells that `graded` looks at ------------------------------------------------------------


@pytest.fixture
def graded(shell):
    """The shell, past the setup cell of an nbgrader notebook."""
    run(shell, "from tinyjax.learn.notebook import graded")
    run(shell, find("sgd_step").titled("given")[0].text)
    return shell


def test_a_check_that_holds_returns_nothing(graded, capsys):
    run(graded, RIGHT)
    result = run(graded, f"graded('sgd_step', '{STEP}')")
    assert result.success and result.result is None
    assert capsys.readouterr() == (f"ok: {STEP}\n", "")


def test_a_check_that_does_not_says_why(graded):
    run(graded, UPHILL)
    said = error_of(graded, f"graded('sgd_step', '{STEP}')")
    for word in (f"FAIL  {STEP}", "expected", "probably  You went uphill"):
        assert word in said
    assert INSIDE_JIT not in said


def test_each_check_is_graded_by_itself(graded):
    """With float() the step is right, but not inside jit."""
    python_floats = RIGHT.replace("lr * jax", "float(lr) * jax")
    run(graded, python_floats)
    assert run(graded, f"graded('sgd_step', '{STEP}')").success
    assert f"FAIL  {INSIDE_JIT}" in error_of(graded, f"graded('sgd_step', '{INSIDE_JIT}')")


def test_the_last_run_of_a_cell_counts(graded):
    run(graded, RIGHT, cell_id="a")
    run(graded, UPHILL, cell_id="b")
    assert "uphill" in error_of(graded, f"graded('sgd_step', '{STEP}')")
    run(graded, "# gone", cell_id="b")
    assert run(graded, f"graded('sgd_step', '{STEP}')").success


def test_loading_again_loses_nothing(graded):
    run(graded, RIGHT)
    run(graded, "%reload_ext tinyjax.learn")
    assert run(graded, f"graded('sgd_step', '{STEP}')").success


def test_helpers_in_cells_of_their_own_count(graded):
    run(graded, "def slope(*args):\n    return jax.grad(loss)(*args)")
    run(graded, RIGHT.replace("jax.grad(loss)", "slope"))
    assert run(graded, f"graded('sgd_step', '{STEP}')").success


def test_of_a_cell_that_fails_the_part_before_counts(graded):
    run(graded, f"%precision 3\n{RIGHT}\nprint(1)\nsgd_step(1)\nsgd_step = None")
    assert run(graded, f"graded('sgd_step', '{STEP}')").success
    run(graded, f"{UPHILL}\n1 / 0")
    said = error_of(graded, f"graded('sgd_step', '{STEP}')")
    assert "uphill" in said
    assert "only what stands before it is graded" in said and "ZeroDivisionError" in said


@pytest.mark.parametrize(
    "status, words",
    [
        ("tampered", "your file changes tinyjax or NumPy"),
        ("borrowed", "your file uses the very piece of tinyjax that you are to write"),
    ],
)
def test_what_is_not_the_students_work_earns_nothing(graded, monkeypatch, status, words):
    verdict = Verdict("sgd_step", status, [CheckResult(STEP, "ok")], "it replaces jax.grad")
    monkeypatch.setattr(notebook, "grade_cells", lambda *_: verdict)
    said = error_of(graded, f"graded('sgd_step', '{STEP}')")
    assert words in said and "it replaces jax.grad" in said


def test_cells_that_add_nothing_are_not_started(graded):
    assert "not started" in error_of(graded, f"graded('sgd_step', '{STEP}')")
    run(graded, "def sgd_step(theta, x, y, lr):\n    'Mine.'\n    raise NotImplementedError()")
    assert "not started" in error_of(graded, f"graded('sgd_step', '{STEP}')")


def test_an_unknown_check_is_a_failure(graded):
    run(graded, RIGHT)
    assert "has no check 'no such'" in error_of(graded, "graded('sgd_step', 'no such')")


def test_the_seed_is_the_teachers(graded, monkeypatch):
    """Values copied from the feedback of seed 0 are worth nothing on other inputs."""
    copied = "def sgd_step(theta, x, y, lr):\n    return jnp.array([0.615388, -0.62494])"
    inputs = []
    run(graded, copied)
    for seed in ("0", "7"):
        monkeypatch.setenv("TINYJAX_SEED", seed)
        inputs.append(error_of(graded, f"graded('sgd_step', '{STEP}')"))
    assert inputs[0] != inputs[1]


def test_without_exercises_it_says_so(graded, monkeypatch):
    """As where tinyjax was installed without a clone of its repository."""

    def nowhere(name):
        raise SystemExit("tinyjax: no exercises found.")

    monkeypatch.setattr(notebook, "find", nowhere)
    said = "ValueError: no exercises found."
    assert error_of(graded, f"graded('sgd_step', '{STEP}')") == said
    assert "no exercises found" in error_of(graded, "%%exercise sgd_step\nx = 1")


def test_without_the_extension_it_says_what_to_do(shell, monkeypatch):
    monkeypatch.setattr(notebook, "recorder", None)
    with pytest.raises(RuntimeError, match="%load_ext tinyjax.learn"):
        notebook.graded("sgd_step", STEP)


# --- Exported notebooks --------------------------------------------------------------------------


def test_every_exercise_becomes_a_notebook(tmp_path):
    chosen = list(exercises())
    assert export.write_files(tmp_path / "new", export.plain_files(chosen)) == len(chosen)
    for exercise in chosen:
        path = tmp_path / "new" / exercise.topic / f"{exercise.name}.ipynb"
        made = nbformat.read(path, as_version=4)
        nbformat.validate(made)
        said = "\n".join(cell.source for cell in made.cells)
        assert f"# {exercise.title}" in said and "Run this file" not in said
        assert all(hint in said for hint in exercise.hints)
        assert exercise.titled("reference")[0].text not in said


def test_a_plain_notebook_runs_from_stub_to_pass(tmp_path):
    made = export.plain_notebook(find("sgd_step"))
    writing = next(cell for cell in made.cells if cell.source.startswith("%%exercise"))
    solved = nbformat.v4.new_code_cell(f"%%exercise sgd_step\n{RIGHT}")
    made.cells += [solved, nbformat.v4.new_code_cell("%tinyjax list")]
    client = NotebookClient(made, timeout=60, resources={"metadata": {"path": str(tmp_path)}})
    progress = {"TINYJAX_PROGRESS": str(tmp_path / "progress.json")}
    client.execute(env=our_environment() | progress)
    assert "sgd_step: not started" in writing.outputs[0].text
    assert "sgd_step: passed" in solved.outputs[0].text
    assert all(
        out.get("name") != "stderr" for cell in made.cells for out in cell.get("outputs", [])
    )


def test_what_was_changed_is_not_overwritten(tmp_path):
    chosen = [find("sgd_step"), find("third_derivative")]
    export.write_files(tmp_path, export.plain_files(chosen))
    path = tmp_path / chosen[0].topic / "sgd_step.ipynb"
    export.write_files(tmp_path, export.plain_files(chosen))  # nothing was changed: it may
    solved = nbformat.read(path, as_version=4)
    solved.cells[3].source += "# my work"
    nbformat.write(solved, path)
    before = path.read_text()
    with pytest.raises(SystemExit, match="sgd_step.ipynb was not written by this command, or was"):
        export.write_files(tmp_path, export.plain_files(chosen))
    assert path.read_text() == before


def test_other_peoples_files_are_not_overwritten(tmp_path):
    chosen = [find("sgd_step")]
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\n")
    with pytest.raises(SystemExit, match=f"Name another folder than {tmp_path}"):
        export.write_files(tmp_path, export.course_files(chosen))
    assert not (tmp_path / "source").exists()
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SystemExit, match="Nothing was written"):
        export.write_files(tmp_path / "file", export.plain_files(chosen))


def test_the_command_exports(tmp_path, capsys):
    assert cli.main(["export", "notebooks", str(tmp_path / "mine"), "01_grad", "sgd_step"]) == 0
    made = list((tmp_path / "mine").rglob("*.ipynb"))
    assert tmp_path / "mine" / "02_first_loop" / "sgd_step.ipynb" in made
    assert capsys.readouterr().out == f"Notebooks written to {tmp_path / 'mine'}: {len(made)}.\n"
    assert cli.main(["export", "nbgrader", str(tmp_path / "class"), "sgd_step"]) == 0
    assert "nbgrader generate_assignment 02_first_loop" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="did you mean sgd_step"):
        cli.main(["export", "notebooks", str(tmp_path / "mine"), "sgd_stp"])


def test_the_command_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tinyjax.learn.export", None)
    with pytest.raises(SystemExit, match="pip install 'tinyjax"):
        cli.main(["export", "notebooks", str(tmp_path)])


def test_a_student_needs_no_ipython():
    """Only notebooks import it."""
    code = "import sys, tinyjax.learn.cli; sys.exit('IPython' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env=our_environment())
    assert done.returncode == 0
