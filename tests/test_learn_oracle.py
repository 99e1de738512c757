"""What the exercises call right is right in JAX: their references run on it, check by check."""

import re
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tinyjax.learn.exercise import Exercise, exercises, load_checks
from tinyjax.learn.judge import Grader
from tinyjax.learn.values import decode, encode, same, show

SEED = 5
EXERCISES = [exercise for exercise in exercises() if exercise.kind == "A"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def grader():
    with Grader(SEED) as grader:
        yield grader


def on_jax(source: str) -> str:
    """The source with its import lines changed, all but those of the school."""
    return re.sub(r"\btinyjax\b(?!\.learn)", "jax", source)


def as_jax_arrays(value):
    """An input as a check gets it, on JAX."""
    if isinstance(value, dict):
        return {key: as_jax_arrays(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(as_jax_arrays(item) for item in value)
    return jnp.asarray(value) if isinstance(value, np.ndarray | np.generic) else value


def outcomes_on_jax(exercise: Exercise) -> list[list]:
    """What the reference returns for each check and input."""
    checks, _ = load_checks(on_jax(exercise.checks_source))
    names = {"__name__": "exercise"}
    exec(compile(on_jax(exercise.reference.source), f"<{exercise.name}>", "exec"), names)
    student = SimpleNamespace(**names)
    return [
        [decode(encode(item.run(student, **as_jax_arrays(drawn)))) for drawn in draws]
        for item, draws in zip(checks, exercise.inputs(SEED))
    ]


@pytest.mark.parametrize(
    "exercise", [e for e in EXERCISES if not e.tinyjax_only], ids=lambda e: e.name
)
def test_the_reference_agrees_with_jax(exercise, grader):
    ours = grader.expected(exercise).outcomes
    for item, got, expected in zip(exercise.checks, ours, outcomes_on_jax(exercise)):
        for mine, theirs in zip(got, expected):
            mine = decode(mine["value"])
            assert same(mine, theirs), f"{item.name}: {show(mine)}, on JAX {show(theirs)}"


def test_most_exercises_hold_on_jax():
    """What only tinyjax has is the exception."""
    apart = [exercise.name for exercise in EXERCISES if exercise.tinyjax_only]
    assert len(apart) <= len(EXERCISES) // 5, apart
    assert jax.device_count() >= 4
