"""What every author promises of an exercise, tried out: `tinyjax dev check`, and the test suite."""

from collections.abc import Iterator

from tinyjax.learn.exercise import Exercise, Solution
from tinyjax.learn.judge import Grader, Verdict
from tinyjax.learn.outcomes import is_fingerprint

HINTS, RIGHT, WRONG = 3, 2, 4  # how many a card has at least; hints exactly
OTHER_SEEDS = (1, 2)


def complaints(exercise: Exercise, grader: Grader) -> Iterator[str]:
    """Everything that is wrong with a card, one sentence each; nothing for a good one.

    Args:
      exercise: whose card.
      grader: with the seed 0; solutions are tried on two more seeds, too.
    """
    incomplete = list(missing_parts(exercise))
    yield from incomplete
    if incomplete:
        return
    yield from untrustworthy_checks(exercise, grader)
    for kind in ("reference", "right"):
        for solution in exercise.solutions(kind):
            yield from unjust(solution, kind, grader.check(exercise, solution.source))
    verdicts = []
    for number, (wrong, done) in enumerate(grader.bank(exercise)):
        if number == 0:  # run again, it must do just the same
            verdicts.append(grader.check(exercise, wrong.source))
        else:
            verdicts.append(grader.judge(exercise, done))
        yield from unjust(wrong, "wrong", verdicts[-1])
    yield from dead_checks(exercise, verdicts)
    for source in (exercise.stub, "# my notes\n" + exercise.stub):
        if (status := grader.check(exercise, source).status) != "not started":
            yield f"the stub is called {status!r}: it must be 'not started'"
    for seed in OTHER_SEEDS:
        yield from lucky_inputs(exercise, seed, grader)


# --- What is there -------------------------------------------------------------------------------


def missing_parts(exercise: Exercise) -> Iterator[str]:
    """Parts that a card must have."""
    for title in ("about", "statement", "given", "stub", "checks", "reference"):
        if len(exercise.titled(title)) != 1:
            yield f"there must be one cell {title!r}, not {len(exercise.titled(title))}"
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
    names = [item.name for item in exercise.checks]
    if not names or len(set(names)) < len(names):
        yield "there must be checks, and each with a name of its own"


# --- What the checks are worth -------------------------------------------------------------------


def untrustworthy_checks(exercise: Exercise, grader: Grader) -> Iterator[str]:
    """Checks whose outcome anybody can guess: a bare True or None decides nothing."""
    for item, outcomes in zip(exercise.checks, grader.expected(exercise).outcomes):
        if not all(map(is_fingerprint, outcomes)):
            yield f"the check {item.name!r} must return values, not a bare True, False or None"


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
    failed = [result for result in verdict.checks if result.status != "ok"]
    seen = [f"{r.name}: {r.error or f'expected {r.expected}, got {r.got}'}" for r in failed]
    words = [*seen, verdict.detail or "", verdict.printed[-500:]]
    return "; ".join(word for word in words if word) or "every check holds"


def dead_checks(exercise: Exercise, wrong: list[Verdict]) -> Iterator[str]:
    """Checks that could go: whatever they catch, another one catches, too."""
    failed = [[r.name for r in verdict.checks if r.status != "ok"] for verdict in wrong]
    for item in exercise.checks:
        if [item.name] not in failed:
            yield f"no wrong solution needs the check {item.name!r}: all are caught without it"


def lucky_inputs(exercise: Exercise, seed: int, grader: Grader) -> Iterator[str]:
    """Solutions that are judged otherwise on the inputs of another seed."""
    other = grader.with_seed(seed)
    verdict = other.check(exercise, exercise.reference.source)
    if not verdict.passed:
        yield f"seed {seed}: the reference is called {verdict.status!r}: {evidence(verdict)}"
    for wrong, done in other.bank(exercise):
        verdict = other.judge(exercise, done)
        named = {result.misconception for result in verdict.checks} - {None}
        if verdict.status != "fail" or named != {wrong.misconception}:
            yield f"seed {seed}: {wrong.title} is called {verdict.status!r} and told {named}"
