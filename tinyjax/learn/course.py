"""Where a student is: what is done, and what comes next."""

import hashlib
from dataclasses import dataclass

from tinyjax.learn.exercise import Exercise, exercises, root
from tinyjax.learn.progress import exercise_facts, note_current, note_exercise, read_progress
from tinyjax.learn.quiz import predictions_made


def digest_of(text: str) -> str:
    """A hash of a text, as the progress file keeps them."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def note_pass(exercise: Exercise, source: str) -> None:
    """Notes that this source has passed the exercise as its checks are now."""
    note_exercise(
        exercise.name,
        passed=True,
        digest=digest_of(source),
        checks=digest_of(exercise.checks_source),
    )
    if read_progress().get("current") == exercise.name and (then := following(exercise)):
        go_to(then)


def has_passed(exercise: Exercise) -> bool:
    """Whether the exercise is solved; a pass counts as long as the checks are the same."""
    facts = exercise_facts(exercise.name)
    return bool(facts.get("passed")) and facts.get("checks") == digest_of(exercise.checks_source)


def state(exercise: Exercise) -> str:
    """Where an exercise stands, without running anything.

    One of `passed`, `check again` (its checks have changed since), `started`, `not started` and
    `missing`.
    """
    if has_passed(exercise):
        return "passed"
    if not exercise.path.exists():
        return "missing"
    source = exercise.path.read_text(encoding="utf-8", errors="replace")
    if source.strip() == exercise.stub.strip():
        return "not started"
    return "check again" if exercise_facts(exercise.name).get("passed") else "started"


def current() -> Exercise:
    """The exercise at hand: the one gone to, until it passes; without any, the first unsolved.

    Raises:
      SystemExit: there are no exercises.
    """
    known = list(exercises())
    if not known:
        raise SystemExit("tinyjax: there are no exercises here")
    chosen = read_progress().get("current")
    unsolved = next((exercise for exercise in known if not has_passed(exercise)), known[-1])
    return next((exercise for exercise in known if exercise.name == chosen), unsolved)


def following(exercise: Exercise) -> Exercise | None:
    """The next exercise that is not solved: after the last one comes the first; None: all are."""
    known = list(exercises())
    here = [other.name for other in known].index(exercise.name)
    later = known[here + 1 :] + known[:here]
    return next((other for other in later if not has_passed(other)), None)


def go_to(exercise: Exercise) -> None:
    """Makes this the exercise at hand."""
    note_current(exercise.name)


# --- Chapters ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chapter:
    """How far a chapter is done."""

    name: str
    predictions: int  # made
    questions: int  # asked
    exercises: list[Exercise]

    @property
    def done(self) -> bool:
        """Whether every question has an answer and every exercise is solved."""
        return self.predictions == self.questions and all(map(has_passed, self.exercises))


def chapters() -> list[Chapter]:
    """All chapters, in order, those without a notebook or without exercises, too."""
    topics: dict[str, list[Exercise]] = {}
    for exercise in exercises():
        topics.setdefault(exercise.topic, []).append(exercise)
    counts = predictions_made(root() / "chapters")
    return [
        Chapter(name, *counts.get(name, (0, 0)), topics.get(name, []))
        for name in sorted(topics.keys() | counts.keys())
    ]
