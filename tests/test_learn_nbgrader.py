"""nbgrader itself hands out, validates and grades what `tinyjax export nbgrader` writes."""

import functools
import logging
import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import ClearSolutions
from nbgrader.validator import Validator
from traitlets.config import Config, PyFileConfigLoader

from tinyjax.learn import export
from tinyjax.learn.exercise import Exercise, exercises, find
from tinyjax.learn.judge import Grader, Verdict
from tinyjax.learn.notebook import as_file, same_code
from tinyjax.learn.runner import our_environment

pytestmark = pytest.mark.filterwarnings("ignore:Object of type:sqlalchemy.exc.SAWarning")
EXERCISES = list(exercises())
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)


# For each of a few exercises one of the wrong solutions on its card that is right in part.
PARTLY = {
    "third_derivative": "once",
    "sin_jvp": "the whole Jacobian",
    "pmean": "the sum of the gradients",
}
A_FEW = [find(name) for name in PARTLY]


# --- The notebooks of all exercises --------------------------------------------------------------


@functools.cache
def graded_notebook(name: str) -> nbformat.NotebookNode:
    """The teacher's version."""
    return export.graded_notebook(find(name))


def cell_of(notebook: nbformat.NotebookNode, grade_id: str) -> nbformat.NotebookNode:
    """The cell with that id."""
    return next(c for c in notebook.cells if c.metadata.nbgrader.grade_id == grade_id)


@each_exercise
def test_the_metadata_are_valid(exercise):
    notebook = graded_notebook(exercise.name)
    nbformat.validate(notebook)
    MetadataValidator().validate_nb(notebook)
    points = [c.metadata.nbgrader.get("points") for c in notebook.cells]
    assert points[4:] == [export.points(exercise)] * len(exercise.checks)
    locked = [c.metadata.nbgrader.locked for c in notebook.cells]
    assert locked == [True, True, True, False] + [True] * len(exercise.checks)


@each_exercise
def test_students_get_the_stub_and_no_solution(exercise):
    notebook = nbformat.from_dict(graded_notebook(exercise.name))
    released, _ = ClearSolutions().preprocess(notebook, {})
    source = cell_of(released, f"{exercise.name}-solution").source
    stub = exercise.titled("stub")[0].text
    assert same_code(source, stub) or same_code(source, f"{stub}\nraise NotImplementedError")


@each_exercise
def test_the_teachers_cell_is_the_reference(exercise):
    source = cell_of(graded_notebook(exercise.name), f"{exercise.name}-solution").source
    reference = exercise.titled("reference")[0].text
    assert export.without_docstrings(source).endswith(export.without_docstrings(reference)[13:])


def test_a_solution_goes_into_its_stub():
    stub = 'class A:\n    def f(self):\n        """Says."""\n        raise NotImplementedError\n'
    reference = "class A:\n    def f(self):\n        # why\n        x = 1\n        return x"
    filled = export.solution_cell(stub.rstrip(), reference)
    assert filled.splitlines()[2:4] == ['        """Says."""', "        ### BEGIN SOLUTION"]
    assert filled.splitlines()[-2:] == ["        return x", "        ### END SOLUTION"]


def test_a_solution_begins_where_the_stub_ends():
    stub = "def f(x):\n    y = x[0]\n    raise NotImplementedError"
    ours = ["    # why", "    @jit", "    def g():", "        pass"]
    reference = "\n".join(["def f(x):", '    """Says."""', "    y = x[0]", "", *ours])
    begin, end = "    ### BEGIN SOLUTION", "    ### END SOLUTION"
    filled = export.solution_cell(stub, reference).splitlines()
    assert filled == ["def f(x):", "    y = x[0]", begin, *ours, end]


def test_a_solution_with_a_helper_stands_after_the_stub():
    stub = "def f(x):\n    raise NotImplementedError"
    reference = "def g(x):\n    return x\n\n\ndef f(x):\n    return g(x)"
    filled = export.solution_cell(stub, reference)
    room, region = filled.removeprefix(f"{stub}\n\n\n").split("\n", 1)
    assert room == "# Room for helpers and the like; the line that raises can go."
    assert region == f"### BEGIN SOLUTION\n{reference}\n### END SOLUTION"


# --- A course of a few exercises -----------------------------------------------------------------


def partly_wrong(exercise: Exercise) -> str:
    """The wrong solution of this exercise."""
    wanted = f"wrong: {PARTLY[exercise.name]}"
    return next(cell.text for cell in exercise.cells if cell.title == wanted)


@functools.cache
def verdicts() -> dict[str, Verdict]:
    """What the grader says of these wrong solutions."""
    found = {}
    with Grader() as grader:
        for exercise in A_FEW:
            source = as_file(exercise, partly_wrong(exercise))
            found[exercise.name] = grader.check(exercise, source)
    return found


def submit(course: Path, student: str, exercise: Exercise, source: str | None) -> None:
    """Hands in the released notebook, with this code in its solution cell."""
    name = f"{exercise.topic}/{exercise.name}.ipynb"
    notebook = nbformat.read(course / "release" / name, as_version=4)
    if source is not None:
        cell_of(notebook, f"{exercise.name}-solution").source = source
    path = course / "submitted" / student / name
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course after a round: exported, released, handed in by three students and graded."""
    folder = tmp_path_factory.mktemp("course")
    export.write_files(folder, export.course_files(A_FEW))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TINYJAX_SEED", "0")  # so that what the configuration sets is undone
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)  # for alembic
        patch.setenv("PYTHONPATH", our_environment()["PYTHONPATH"])
        patch.chdir(folder)
        config = Config(PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config())
        config.CourseDirectory.root = str(folder)
        api = NbGraderAPI(CourseDirectory(config=config), config=config)
        api.log.setLevel(logging.ERROR)
        for topic in sorted({exercise.topic for exercise in A_FEW}):
            result = api.generate_assignment(topic)
            assert result["success"], result
        for exercise in A_FEW:
            submit(folder, "right", exercise, exercise.titled("reference")[0].text)
            submit(folder, "idle", exercise, None)
            submit(folder, "partly", exercise, partly_wrong(exercise))
            for student in ("right", "idle", "partly"):
                result = api.autograde(exercise.topic, student)
                assert result["success"], result
        with api.gradebook as gradebook:
            yield gradebook, folder


def test_the_few_are_of_every_kind():
    """A plain exercise, one that builds a piece of the core, one that needs devices."""
    assert [exercise.kind for exercise in A_FEW] == ["A", "B", "A"]
    assert [bool(exercise.devices) for exercise in A_FEW] == [False, False, True]


def scores(gradebook: Gradebook, exercise: Exercise, student: str) -> list[float]:
    """What each check earned."""
    found = gradebook.find_submission_notebook(exercise.name, exercise.topic, student)
    assert not found.needs_manual_grade
    by_name = sorted(found.grades, key=lambda grade: grade.name)
    return [grade.score for grade in by_name]


each_of_a_few = pytest.mark.parametrize("exercise", A_FEW, ids=lambda e: e.name)


@pytest.mark.slow
@each_of_a_few
def test_the_reference_gets_full_points(course, exercise):
    full = [export.points(exercise)] * len(exercise.checks)
    assert scores(course[0], exercise, "right") == full


@pytest.mark.slow
@each_of_a_few
def test_the_stub_gets_none(course, exercise):
    assert scores(course[0], exercise, "idle") == [0] * len(exercise.checks)


@pytest.mark.slow
@each_of_a_few
def test_a_wrong_solution_gets_the_points_of_what_holds(course, exercise):
    verdict = verdicts()[exercise.name]
    earned = [export.points(exercise) * (check.status == "ok") for check in verdict.checks]
    assert scores(course[0], exercise, "partly") == earned
    assert 0 < sum(earned) < export.points(exercise) * len(exercise.checks)


@pytest.mark.slow
@each_of_a_few
def test_students_read_the_misconception(course, exercise):
    path = course[1] / "autograded" / "partly" / exercise.topic / f"{exercise.name}.ipynb"
    said = [out for cell in nbformat.read(path, 4).cells for out in cell.get("outputs", [])]
    errors = "\n".join(out.evalue for out in said if out.output_type == "error")
    verdict = verdicts()[exercise.name]
    sentences = {check.misconception for check in verdict.checks} - {None}
    assert len(sentences) == 1 and sentences.pop() in errors
    assert not any(output.get("name") == "stderr" for output in said)


@pytest.mark.slow
def test_nbgraders_own_validation(course):
    """The teacher's version passes `nbgrader validate`, the released one says what is missing."""
    name = "01_grad/third_derivative.ipynb"
    assert Validator().validate(str(course[1] / "source" / name)) == {}
    failed = Validator().validate(str(course[1] / "release" / name))["failed"]
    assert len(failed) == len(find("third_derivative").checks)
    assert all("third_derivative: not started" in cell["raw_error"] for cell in failed)
