"""Decides what is right: the student's values against the reference's, on inputs drawn here.

A misconception is named only when it is established, by its fingerprint: on each of the random
inputs of a check, the student's code does exactly what one wrong solution of the card does.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

from tinyjax.learn.child import Student, run_check
from tinyjax.learn.exercise import DRAWS, Check, Exercise, Solution
from tinyjax.learn.runner import Run, run
from tinyjax.learn.values import decode, same, show

SCHEMA = 1  # of the JSON that `tinyjax check --json` prints

# --- What we say ---------------------------------------------------------------------------------


@dataclass
class CheckResult:
    """One check: `ok`, `fail`, or `not reached` when the code ended before it."""

    name: str
    status: str = "not reached"
    input: str | None = None
    expected: str | None = None
    got: str | None = None
    error: str | None = None
    misconception: str | None = None


@dataclass
class Verdict:
    """What `tinyjax check` says of one exercise.

    `status` is `pass`, `fail`, `not started`, `missing`, `broken` (the file raises when it is run),
    `timeout`, `flood` (too much output) or `crash`.
    """

    exercise: str
    status: str
    checks: list[CheckResult] = field(default_factory=list)
    detail: str | None = None
    printed: str = ""
    seconds: float = 0.0
    seed: int = 0
    schema: int = SCHEMA

    @property
    def passed(self) -> bool:
        """Whether the exercise is solved."""
        return self.status == "pass"

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


# --- Comparing outcomes --------------------------------------------------------------------------


def agrees(got: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether a check came out as it does for the reference."""
    if "error" in got or "error" in expected:
        return False
    return same(decode(got["value"]), decode(expected["value"]))


def is_fingerprint(outcome: dict[str, Any]) -> bool:
    """Whether an outcome says enough to tell who made it: a bare True or None does not."""
    return "error" in outcome or not isinstance(outcome["value"], bool | None)


def coincides(got: dict[str, Any], wrong: dict[str, Any]) -> bool:
    """Whether the student's outcome is a wrong solution's: same value, or same error and words."""
    if "error" in got and "error" in wrong:
        return got["error"] == wrong["error"] and first_sentence(got) == first_sentence(wrong)
    return is_fingerprint(got) and agrees(got, wrong)


def first_sentence(outcome: dict[str, Any]) -> str:
    """What an error says before it quotes the student, whose names are not the wrong solution's."""
    return outcome["message"].partition("\n")[0].partition(". ")[0]


def outcomes_of(solution: Solution, item: Check, draws: list[dict]) -> list[dict[str, Any]]:
    """What one of the card's own solutions does on the inputs of a check."""
    namespace = Student(**vars(solution.namespace()))
    return [run_check(item, namespace, inputs) for inputs in draws]


def diagnose(exercise: Exercise, failed: dict[int, list[dict]], inputs: list) -> dict[int, str]:
    """For each failed check the misconception behind it, where exactly one is established."""
    matches: dict[int, list[Solution]] = {number: [] for number in failed}
    for wrong in exercise.solutions("wrong"):
        for number, outcomes in failed.items():
            theirs = outcomes_of(wrong, exercise.checks[number], inputs[number])
            if len(outcomes) == DRAWS and all(map(coincides, outcomes, theirs)):
                matches[number].append(wrong)
    found = {}
    for number, candidates in matches.items():
        if len(candidates) > 1:  # prefer the one that explains every failure
            candidates = [c for c in candidates if all(c in other for other in matches.values())]
        sentences = {candidate.misconception for candidate in candidates}
        if len(sentences) == 1:
            found[number] = sentences.pop() or ""
    return found


# --- The verdict ---------------------------------------------------------------------------------


def started(exercise: Exercise, source: str, done: Run) -> bool:
    """Whether the student has written anything yet."""
    raised = {o.get("error") for outcomes in done.outcomes for o in outcomes}
    return source.strip() != exercise.stub.strip() and raised != {"NotImplementedError"}


def judge(exercise: Exercise, source: str, done: Run, seed: int = 0) -> Verdict:
    """What to say of a run."""
    verdict = Verdict(exercise.name, done.ended, seconds=round(done.seconds, 3), seed=seed)
    verdict.printed = done.printed
    verdict.detail = done.detail.get("traceback") or done.detail.get("message")
    if not started(exercise, source, done):
        verdict.status = "not started"
        return verdict
    inputs = exercise.inputs(seed)
    failed = {}
    for number, item in enumerate(exercise.checks):
        result = CheckResult(item.name)
        verdict.checks.append(result)
        outcomes = done.outcomes[number] if number < len(done.outcomes) else []
        references = outcomes_of(exercise.reference, item, inputs[number])
        for drawn, got, expected in zip(inputs[number], outcomes, references):
            if not agrees(got, expected):
                fill(result, drawn, got, expected)
                failed[number] = outcomes
                break
        else:
            if len(outcomes) == DRAWS:
                result.status = "ok"
    if failed:
        for number, sentence in diagnose(exercise, failed, inputs).items():
            verdict.checks[number].misconception = sentence
    if done.ended == "done":
        ok = all(result.status == "ok" for result in verdict.checks)
        verdict.status = "pass" if ok else "fail"
    return verdict


def fill(result: CheckResult, drawn: dict, got: dict, expected: dict) -> None:
    """Writes down the first input on which a check failed."""
    result.status = "fail"
    result.input = "\n".join(f"{name} = {show(value)}" for name, value in drawn.items())
    result.expected = show(decode(expected["value"]))
    if "error" in got:
        result.error = got["traceback"]
    else:
        result.got = show(decode(got["value"]))


def check_exercise(exercise: Exercise, source: str | None = None, seed: int = 0) -> Verdict:
    """Runs and judges the student's file, or the source given in its place."""
    if source is None:
        if not exercise.path.exists():
            return Verdict(exercise.name, "missing")
        source = exercise.path.read_text(encoding="utf-8")
    return judge(exercise, source, run(exercise, source, seed), seed)
