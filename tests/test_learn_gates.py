"""What every author promises of an exercise: its own card is run through the grader."""

import functools
import subprocess
from pathlib import Path

import pytest

from tinyjax.learn.exercise import Exercise, exercises, find, load
from tinyjax.learn.judge import Verdict, check_exercise

ROOT = Path(__file__).resolve().parents[1]
EXERCISES = list(exercises())
SOLUTIONS = [
    pytest.param(exercise, kind, solution, id=f"{exercise.name}-{kind}-{solution.title}")
    for exercise in EXERCISES
    for kind in ("reference", "right", "wrong")
    for solution in exercise.solutions(kind)
]
pytestmark = pytest.mark.slow
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)


@functools.cache
def verdict_on(name: str, source: str) -> Verdict:
    """The verdict on a solution of the card; more than one test asks for it."""
    return check_exercise(find(name), source)


def test_there_are_exercises():
    assert {"sgd_step", "third_derivative"} <= {exercise.name for exercise in EXERCISES}


@pytest.mark.parametrize("exercise, kind, solution", SOLUTIONS)
def test_each_solution_gets_its_verdict(exercise, kind, solution):
    """Right ones pass; each wrong one fails and is told its own misconception and no other."""
    verdict = verdict_on(exercise.name, solution.source)
    named = {check.misconception for check in verdict.checks} - {None}
    if kind == "wrong":
        assert (verdict.status, named) == ("fail", {solution.misconception})
    else:
        assert (verdict.status, named) == ("pass", set()), verdict.detail


@pytest.mark.parametrize("seed", [1, 2])
@each_exercise
def test_other_inputs_tell_the_same(exercise, seed):
    """The verdicts do not hang on lucky inputs."""
    assert check_exercise(exercise, exercise.reference.source, seed).status == "pass"
    wrong = exercise.solutions("wrong")[0]
    verdict = check_exercise(exercise, wrong.source, seed)
    assert wrong.misconception in [check.misconception for check in verdict.checks]


@each_exercise
def test_the_stub_is_not_started(exercise):
    assert check_exercise(exercise, exercise.stub).status == "not started"


@each_exercise
def test_a_moved_stub_is_not_started_either(exercise):
    """A comment added to the stub is no solution yet."""
    verdict = check_exercise(exercise, "# my notes\n" + exercise.stub)
    assert verdict.status == "not started"


@each_exercise
def test_no_check_is_dead(exercise):
    """Each check catches a wrong solution that all the others let through."""
    for number, item in enumerate(exercise.checks):
        assert any(
            only_fails(number, verdict_on(exercise.name, wrong.source))
            for wrong in exercise.solutions("wrong")
        ), f"{exercise.name}: nothing needs the check {item.name!r}"


def only_fails(number: int, verdict: Verdict) -> bool:
    """Whether this check, and no other, found something wrong."""
    return [check.status != "ok" for check in verdict.checks] == [
        position == number for position in range(len(verdict.checks))
    ]


@each_exercise
def test_a_card_is_complete(exercise):
    assert len(exercise.hints) == 3
    assert exercise.hints[0].rstrip().endswith("?"), "the first hint is a question"
    assert exercise.solutions("right")
    assert all(wrong.misconception for wrong in exercise.solutions("wrong"))


@each_exercise
def test_the_committed_file_is_the_stub(exercise):
    """What a student gets from a clone is what the card says, whatever was solved here."""
    assert handed_out(exercise) == exercise.stub


def handed_out(exercise: Exercise) -> str:
    """The student's file as committed; outside a repository, as it lies here."""
    name = exercise.path.relative_to(ROOT).as_posix()
    committed = subprocess.run(
        ["git", "show", f"HEAD:{name}"], cwd=ROOT, capture_output=True, text=True
    )
    if committed.returncode == 0:
        return committed.stdout
    return exercise.path.read_text(encoding="utf-8")


def test_load_reads_the_card_beside_the_file():
    exercise = load(ROOT / "exercises" / "02_first_loop" / "sgd_step.py")
    assert (exercise.name, exercise.topic) == ("sgd_step", "02_first_loop")
    assert exercise.title == "One step of gradient descent"
