"""A verdict in words for the student: what failed, on which input, why, and what to do next."""

import re

from tinyjax.learn.judge import CheckResult, Verdict

HEADLINES = {
    "pass": "passed",
    "fail": "not there yet",
    "not started": "not started",
    "missing": "there is no file",
    "broken": "your file stops with an error when it is run",
    "timeout": "stopped: it took too long (is there an endless loop?)",
    "flood": "stopped: it printed too much (is there an endless loop?)",
    "processes": "stopped: it started too many processes",
    "crash": "your code ended the Python process",
    "tampered": "your file changes tinyjax or NumPy themselves, which the checks rely on",
    "borrowed": "your file uses the very piece of tinyjax that you are to write",
    "unreadable": "the file cannot be read",
    "not graded": "not graded",
}


def render(verdict: Verdict, following: str | None = None) -> str:
    """The whole message."""
    return f"{evidence(verdict)}\n\n{next_step(verdict, following)}"


def evidence(verdict: Verdict, only: CheckResult | None = None) -> str:
    """What was found: the headline and every check, or one check alone; without what to do."""
    done = sum(result.status == "ok" for result in verdict.checks)
    head = f"{verdict.exercise}: {HEADLINES[verdict.status]}"
    if verdict.checks:
        head += f" ({done} of {len(verdict.checks)} checks)"
    lines = [head]
    told: set[str | None] = set()
    for result in verdict.checks if only is None else [only]:
        lines += render_check(result, again=result.misconception in told)
        told.add(result.misconception)
    if verdict.detail:
        lines += ["", *indent(verdict.detail, 2)]
    if verdict.printed.strip() and not verdict.passed:
        lines += ["", "  Your code printed (the end of it):", *indent(verdict.printed[-1000:], 4)]
    return CONTROL.sub(lambda match: ascii(match[0])[1:-1], "\n".join(lines))


CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")  # what a terminal would obey


def render_check(result: CheckResult, again: bool = False) -> list[str]:
    """One check: a line when it holds, the evidence when it does not.

    `again` says that the misconception has been told already.
    """
    mark = {"ok": "ok  ", "fail": "FAIL"}.get(result.status, "-   ")
    lines = [f"  {mark}  {result.name}"]
    if result.status == "not reached":
        lines[0] += " (not reached)"
    rows = [
        ("input", result.input or None),
        ("expected", result.expected),
        ("got", result.got),
        ("error", result.error),
        ("changed", changed(result)),
        ("probably", result.misconception and ("as above" if again else result.misconception)),
    ]
    for title, text in rows:
        if text is not None:
            first, *rest = text.rstrip().splitlines() or [""]
            lines.append(f"        {title:<9} {first}")
            lines += indent("\n".join(rest), 18) if rest else []
    return lines


def changed(result: CheckResult) -> str | None:
    """What is said of inputs that the code changed in place."""
    if not result.mutated:
        return None
    names = " and ".join(f"`{name}`" for name in result.mutated)
    return f"your code changed the input {names} in place: leave it as it is, return a new one"


def indent(text: str, by: int) -> list[str]:
    """The lines of a text, moved to the right."""
    return [" " * by + line for line in text.rstrip().splitlines()]


def next_step(verdict: Verdict, following: str | None) -> str:
    """What to do now; `following` is the exercise to go on with, None when all are solved."""
    name = verdict.exercise
    if verdict.status == "pass":
        then = f"tinyjax goto {following}" if following else "you have solved them all"
        return f"Next: {then}. To compare with ours: tinyjax solution {name}"
    if verdict.status == "missing":
        return f"Next: tinyjax reset {name} brings the file back."
    if verdict.status == "not started":
        return f"Next: write your code in place of NotImplementedError, then tinyjax check {name}"
    return f"Next: change the file, then tinyjax check {name}. Stuck? tinyjax hint {name}"
