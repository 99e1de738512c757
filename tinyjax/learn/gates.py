"""What every author promises of an exercise, tried out: `tinyjax dev check`, and the test suite."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tinyjax.learn.exercise import CHECKS, PARTS, CardError, Exercise, Solution
from tinyjax.learn.judge import Grader, Verdict
from tinyjax.learn.outcomes import is_fingerprint
from tinyjax.learn.runner import run

HINTS, RIGHT, WRONG = 3, 2, 4  # how many a card has at least; hints exactly
OTHER_SEEDS = (1, 2)
TRIVIAL = ("[]", "None", "0.0")  # bodies that solve nothing, beside the first argument


def complaints(exercise: Exercise, grader: Grader) -> Iterator[str]:
    """What is wrong with a card, one sentence each; nothing for a good one.

    What is looked at later may go wrong only for what was found before: the first kind of mistake
    ends it.

    Args:
      exercise: whose card.
      grader: with the seed 0; solutions are tried on two more seeds, too.
    """
    for look in (
        missing_parts,
        unusable,
        untrustworthy_checks,
        misjudged,
        dead_checks,
        started_stub,
        lucky_inputs,
        too_easy,
    ):
        found = list(look(exercise, grader))
        yield from found
        if found:
            return


# --- What is there -------------------------------------------------------------------------------


def missing_parts(exercise: Exercise, grader: Grader) -> Iterator[str]:
    """Parts that a card must have."""
    for cell in exercise.cells:
        if cell.title not in (*PARTS, "hint") and not re.match("(right|wrong): .", cell.title):
            known = ", ".join([*PARTS, "hint", "right: ...", "wrong: ..."])
            yield f"line {cell.line - 1}: a cell {cell.title!r} is not known; there are: {known}"
    if exercise.fault:
        yield exercise.fault
        return
    if exercise.about.get("difficulty") not in (1, 2, 3, 4):
        yield "the cell 'about' must give `difficulty:`, from 1 to 4"
    if exercise.about.get("minutes", 0) < 1:
        yield "the cell 'about' must give `minutes:`, the time box"
    if len(exercise.hints) != HINTS:
        yield f"there must be {HINTS} hints, not {len(exercise.hints)}"
    elif not exercise.hints[0].rstrip().endswith("?"):
        yield "the first hint must be a question"
    if f"tinyjax check {exercise.name}" not in exercise.titled("statement")[0].prose:
        yield f"the statement must say how to check: `tinyjax check {exercise.name}`"
    if "NotImplementedError" not in exercise.titled("stub")[0].text:
        yield "the stub must raise NotImplementedError"
    for kind, least in (("right", RIGHT), ("wrong", WRONG)):
        solutions = exercise.solutions(kind)
        if len(solutions) < least:
            yield f"there must be at least {least} {kind} solutions, not {len(solutions)}"
        titles = [solution.title for solution in solutions]
        yield from (f"two solutions are called {t!r}" for t in set(titles) if titles.count(t) > 1)
    for wrong in exercise.solutions("wrong"):
        if not wrong.misconception:
            yield f"{wrong.title}: its first comment must say what the misconception is"


# --- What cannot be run ---------------------------------------------------------------------------


def unusable(exercise: Exercise, grader: Grader) -> Iterator[str]:
    """Checks that cannot be loaded, inputs that cannot be drawn, a reference that ends badly."""
    try:
        names = [item.name for item in exercise.checks]
        if not names or len(set(names)) < len(names):
            yield "there must be checks, and each with a name of its own"
            return
        grader.inputs(exercise)
    except CardError as error:
        yield str(error)
        return
    try:
        grader.expected(exercise)
    except RuntimeError as error:
        yield failed_reference(exercise, grader) or str(error)


def failed_reference(exercise: Exercise, grader: Grader) -> str:
    """How the reference ends, run once more with the lines of the card."""
    given, checks, cell = (exercise.titled(t)[0] for t in ("given", "checks", "reference"))
    source = "\n" * (given.line - 1) + given.text + "\n"
    source += "\n" * (cell.line - 1 - source.count("\n")) + cell.text + "\n"
    moved = replace(checks, text="\n" * (checks.line - 1) + checks.text)
    cells = [moved if other is checks else other for other in exercise.cells]
    # under this name, a traceback keeps the frames of the checks, too
    traced = Exercise(Path(CHECKS), cells)
    done = run(grader.ours, traced, source, grader.inputs(exercise), install=False)
    if done.ended not in ("done", "broken"):
        where = (
            "its cell" if done.running is None else f"the check {called(exercise, done.running)}"
        )
        return f"the reference ends in {where} with {done.ended!r}"
    for number, outcomes in enumerate(done.outcomes):
        for outcome in outcomes:
            if "error" in outcome:
                return f"{place(exercise, outcome)} in the check {called(exercise, number)}"
    return place(exercise, done.detail) if done.detail else ""


def called(exercise: Exercise, number: int) -> str:
    """The name of a check, quoted."""
    return repr(exercise.checks[number].name)


def place(exercise: Exercise, outcome: dict[str, str]) -> str:
    """The cell and the line of the card where an error was raised, and the error."""
    message = re.sub(rf" \({CHECKS}, line \d+\)$", "", outcome["message"].partition("\n")[0])
    error = f"{outcome['error']}: {message}"
    lines = re.findall(rf'File "{CHECKS}", line (\d+)', outcome["traceback"])
    if not lines:
        return f"the reference: {error}"
    cell = [cell for cell in exercise.cells if cell.line <= int(lines[-1])][-1]
    return f"the cell {cell.title!r}, line {lines[-1]}: {error}"


# --- What the checks are worth -------------------------------------------------------------------


def untrustworthy_checks(exercise: Exercise, grader: Grader) -> Iterator[str]:
    """Checks whose outcome anybody can guess, or cannot be compared."""
    for item, outcomes in zip(exercise.checks, grader.expected(exercise).outcomes):
        if not all(map(is_fingerprint, outcomes)):
            yield f"the check {item.name!r} must return values, not a bare True, False or None"
        # JSON would escape these quotes in a string: it is the mark of `encode`
        elif any('{"object":' in json.dumps(outcome["value"]) for outcome in outcomes):
            yield f"the check {item.name!r} must return numbers, arrays or strings, not an object"


def misjudged(exercise: Exercise, grader: Grader) -> Iterator[str]:
    """Solutions of the card that do not get the verdict they should."""
    for kind in ("reference", "right"):
        for solution in exercise.solutions(kind):
            yield from unjust(solution, kind, grader.check(exercise, solution.source))
    for number, (wrong, done) in enumerate(grader.bank(exercise)):
        if number == 0:  # run again, it must do just the same
            verdict = grader.check(exercise, wrong.source)
        else:
            verdict = grader.judge(exercise, done)
        yield from unjust(wrong, "wrong", verdict)


def unjust(solution: Solution, kind: str, verdict: Verdict) -> Iterator[str]:
    """Right solutions pass; each wrong one fails, and only its own misconception is named."""
    named = {result.misconception for result in verdict.checks} - {None}
    if kind != "wrong":
        if not verdict.passed or named:
            yield f"{solution.title}: right, but called {verdict.status!r}: {evidence(verdict)}"
    elif verdict.status != "fail":
        yield f"{solution.title}: wrong, but called {verdict.status!r}: {evidence(verdict)}"
    elif named != {solution.misconception}:
        yield f"{solution.title}: told {named or 'nothing'}, not its own misconception"


def evidence(verdict: Verdict) -> str:
    """What an author wants to see of a verdict."""
    seen = []
    for result in verdict.checks:
        if result.status == "fail":
            said = result.error or f"expected {result.expected}, got {result.got}"
            seen.append(f"{result.name}: {said}")
        elif result.status == "not reached" and verdict.status != "broken":
            seen.append(f"it did not get through the check {result.name!r}")
            break
    words = [*seen, verdict.detail or "", verdict.printed[-500:]]
    return "; ".join(word for word in words if word) or "every check holds"


def dead_checks(exercise: Exercise, grader: Grader) -> Iterator[str]:
    """Checks that could go: whatever they catch, another one catches, too."""
    wrong = [grader.judge(exercise, done) for _, done in grader.bank(exercise)]
    failed = [[r.name for r in verdict.checks if r.status != "ok"] for verdict in wrong]
    for item in exercise.checks:
        if [item.name] not in failed:
            yield f"no wrong solution needs the check {item.name!r}: all are caught without it"


def started_stub(exercise: Exercise, grader: Grader) -> Iterator[str]:
    """The stub, with and without a comment, is not started."""
    for source in (exercise.stub, "# my notes\n" + exercise.stub):
        if (status := grader.check(exercise, source).status) != "not started":
            yield f"the stub is called {status!r}: it must be 'not started'"
            return


def lucky_inputs(exercise: Exercise, grader: Grader) -> Iterator[str]:
    """Solutions that are judged otherwise on the inputs of other seeds."""
    for seed in OTHER_SEEDS:
        other = grader.with_seed(seed)
        verdict = other.check(exercise, exercise.reference.source)
        if not verdict.passed:
            yield f"seed {seed}: the reference is called {verdict.status!r}: {evidence(verdict)}"
        for wrong, done in other.bank(exercise):
            verdict = other.judge(exercise, done)
            named = {result.misconception for result in verdict.checks} - {None}
            if verdict.status != "fail" or named != {wrong.misconception}:
                yield f"seed {seed}: {wrong.title} is called {verdict.status!r} and told {named}"


def too_easy(exercise: Exercise, grader: Grader) -> Iterator[str]:
    """Bodies that solve nothing, and earn points."""
    given, stub = (exercise.titled(title)[0].text for title in ("given", "stub"))
    for body in (None, *TRIVIAL):
        tree = ast.parse(stub)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                first = node.args.args[0].arg if node.args.args else "None"
                node.body = ast.parse(f"return {body or first}").body
        verdict = grader.check(exercise, f"{given}\n{ast.unparse(tree)}\n")
        for result in verdict.checks:
            if result.status == "ok":
                what = body or "their first argument"
                yield f"functions that return {what} pass the check {result.name!r}"
