"""Decides what is right: the student's values against the reference's, on inputs drawn here.

The reference, and the wrong solutions that a failure is compared with, run in a fork server that
never sees a student's code. This process runs neither: it draws, compares, and says what it found.

A misconception is named only when it is established, by its fingerprint: on each of the random
inputs of a check, the student's code does exactly what one wrong solution of the card does.
"""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

from tinyjax.learn.exercise import CardError, Exercise, Solution
from tinyjax.learn.outcomes import agrees, coincides, is_fingerprint
from tinyjax.learn.runner import Run, Worker, run
from tinyjax.learn.values import decode, show

SCHEMA = 2  # of the JSON that `tinyjax check --json` prints

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
    mutated: list[str] = field(default_factory=list)  # inputs that the code changed in place
    misconception: str | None = None


@dataclass
class Verdict:
    """What `tinyjax check` says of one exercise.

    `status` is `pass`, `fail`, `not started`, `missing`, `broken` (the file raises when it is
    run), `timeout`, `flood` (too much output), `processes` (too many), `crash`, `tampered` (it
    replaces what the checks rely on), or `borrowed` (it hands in the package's own piece).
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

    @property
    def honest(self) -> bool:
        """Whether what the checks say is of the student's own work."""
        return self.status not in ("tampered", "borrowed")

    @property
    def score(self) -> float:
        """The share of the checks that hold, from 0 to 1; nothing for what was tampered with."""
        if not self.honest or not self.checks:
            return 0.0
        return sum(result.status == "ok" for result in self.checks) / len(self.checks)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "score": self.score}

    @classmethod
    def of_json(cls, said: dict[str, Any]) -> "Verdict":
        """The verdict that `as_json` described."""
        checks = [CheckResult(**result) for result in said["checks"]]
        facts = {key: value for key, value in said.items() if key != "score"}
        return cls(**{**facts, "checks": checks})


# --- The grader ----------------------------------------------------------------------------------

Bank = list[tuple[Solution, Run]]


class Grader:
    """Judges solutions of any exercise, on the inputs that belong to one seed.

    What the reference and the wrong solutions do is worked out once for each exercise.

    Args:
      seed: of the random inputs.
      kernels: a folder, to grade a class: there the kernels of the card's solutions are kept, and
        each student's code starts with a copy of them. Without it, code finds and leaves kernels
        where its user's other programs do.
      preload: modules that students' processes find loaded.
      brief: whether each exercise is judged once: then of the wrong solutions no more is run than
        it takes to see that they do something else than the student's code.
      forked: whether the processes are forks of this one, which saves a student half of the
        waiting; for a process in which no other thread and no other code has run.

    >>> from tinyjax.learn.exercise import find
    >>> exercise = find("third_derivative")
    >>> with Grader(seed=7) as grader:
    ...     grader.check(exercise, exercise.reference.source).status
    'pass'
    """

    def __init__(
        self,
        seed: int = 0,
        kernels: Path | None = None,
        preload: tuple[str, ...] = (),
        forked: bool = False,
        brief: bool = False,
    ):
        self.brief = brief
        self.seed, self.kernels, self.preload = seed, kernels, preload
        self.ours = Worker(*preload, forked=forked)  # for the card's own solutions
        self.theirs = Worker(*preload, forked=forked)
        self.known: dict[tuple[str, str], Any] = {}
        self.locks: dict[tuple[str, str], threading.Lock] = {}

    def beside(self) -> "Grader":
        """Another grader that knows what this one knows, for students' code in another thread."""
        other = copy.copy(self)
        other.theirs = Worker(*self.preload)
        return other

    def with_seed(self, seed: int) -> "Grader":
        """The same processes, other inputs."""
        other = copy.copy(self)
        other.seed, other.known, other.locks = seed, {}, {}
        return other

    def __enter__(self) -> "Grader":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes."""
        self.ours.close()
        self.theirs.close()

    # What the card's own solutions do

    def kernels_of(self, exercise: Exercise) -> str | None:
        """The folder of the kernels that the card's solutions compile, where there is one."""
        if self.kernels is None:
            return None
        folder = self.kernels / exercise.name
        folder.mkdir(mode=0o700, exist_ok=True)
        return str(folder)

    def inputs(self, exercise: Exercise) -> list[list[dict[str, Any]]]:
        """For each check, the inputs that it sees."""
        return exercise.inputs(self.seed)

    def once(self, what: str, exercise: Exercise, find_out: Any) -> Any:
        """Something about an exercise that is found out at most once, however many ask."""
        key = (what, exercise.name)
        with self.locks.setdefault(key, threading.Lock()):
            if key not in self.known:
                self.known[key] = find_out()
            return self.known[key]

    def expected(self, exercise: Exercise) -> Run:
        """What the reference does."""

        def find_out() -> Run:
            source, inputs = exercise.reference.source, self.inputs(exercise)
            kernels = self.kernels_of(exercise)
            done = run(
                self.ours, exercise, source, inputs, install=False, sealed=False, cache=kernels
            )
            errors = [o for outcomes in done.outcomes for o in outcomes if "error" in o]
            if done.ended != "done" or errors:
                raise CardError(
                    f"the reference of {exercise.name} ended with {done.ended}: "
                    f"{errors or done.detail or done.printed}"
                )
            return done

        return self.once("expected", exercise, find_out)

    def bank(self, exercise: Exercise) -> Bank:
        """What each of the wrong solutions does."""
        wrong = exercise.solutions("wrong")
        return self.once("bank", exercise, lambda: self.run_all(exercise, wrong))

    def suspects(self, exercise: Exercise, failed: dict[int, list[dict]]) -> Bank:
        """The wrong solutions that do what the student's code does on a whole check."""
        until = {
            str(number): outcomes
            for number, outcomes in failed.items()
            if len(outcomes) == exercise.checks[number].draws  # else nothing is established
        }
        if not until:
            return []
        same = [
            wrong
            for wrong, done in self.run_all(exercise, exercise.solutions("wrong"), until=until)
            if any(self.whole(exercise, done, number, failed[number]) for number in failed)
        ]
        return self.run_all(exercise, same)

    def run_all(self, exercise: Exercise, solutions: list[Solution], **more: Any) -> Bank:
        """Runs solutions of the card on both servers at once, which are free now, and clean."""
        inputs, kernels = self.inputs(exercise), self.kernels_of(exercise)
        with ThreadPoolExecutor(2) as pool:
            runs = pool.map(
                lambda worker, wrong: run(
                    worker, exercise, wrong.source, inputs, sealed=False, cache=kernels, **more
                ),
                cycle([self.ours, self.theirs]),
                solutions,
            )
            return list(zip(solutions, runs))

    def whole(self, exercise: Exercise, done: Run, number: int, outcomes: list[dict]) -> bool:
        """Whether a run came out just so on every input of a check."""
        theirs = done.outcomes[number]
        complete = len(outcomes) == len(theirs) == exercise.checks[number].draws
        return complete and all(map(coincides, outcomes, theirs))

    # Verdicts

    def check(self, exercise: Exercise, source: str | None = None) -> Verdict:
        """Runs and judges the student's file, or the source given in its place."""
        path = exercise.path.name  # what messages call a source that lies elsewhere
        if source is None:
            if not exercise.path.exists():
                return Verdict(exercise.name, "missing", seed=self.seed)
            path = str(exercise.path)
            source = exercise.path.read_text(encoding="utf-8-sig", errors="replace")
        if source.strip() == exercise.stub.strip():
            return Verdict(exercise.name, "not started", seed=self.seed)
        if self.kernels is not None:  # the reference compiles what most right answers need
            self.expected(exercise)
        for worker in (self.ours, self.theirs):  # they get ready side by side
            worker.start()
        with ThreadPoolExecutor(1) as pool:
            expected = pool.submit(self.expected, exercise)
            warm = self.kernels_of(exercise)
            inputs = self.inputs(exercise)
            done = run(self.theirs, exercise, source, inputs, path=path, warm=warm)
            expected.result()
        return self.judge(exercise, done)

    def judge(self, exercise: Exercise, done: Run) -> Verdict:
        """What to say of a run."""
        verdict = Verdict(exercise.name, done.ended, seconds=round(done.seconds, 3), seed=self.seed)
        verdict.printed = done.printed
        verdict.detail = done.detail.get("traceback") or done.detail.get("message")
        if not started(done):
            verdict.status = "not started"
            return verdict
        inputs = self.inputs(exercise)
        failed, held = {}, []
        for number, item in enumerate(exercise.checks):
            expected = self.expected(exercise).outcomes[number]
            result = compare(item.name, inputs[number], done.outcomes[number], expected)
            verdict.checks.append(result)
            if result.status == "fail":
                failed[number] = done.outcomes[number]
            elif result.status == "ok":
                held.append(number)
        if failed:
            for number, sentence in self.diagnose(exercise, failed, held).items():
                verdict.checks[number].misconception = sentence
        if done.ended == "done":
            ok = all(result.status == "ok" for result in verdict.checks)
            verdict.status = "pass" if ok else "fail"
        if done.replaced:
            verdict.status = "tampered"
            verdict.detail = "it replaces " + ", ".join(done.replaced)
        if done.borrowed:
            verdict.status = "borrowed"
            verdict.detail = ", ".join(done.borrowed) + ": that is tinyjax's own; write yours"
        return verdict

    def diagnose(
        self, exercise: Exercise, failed: dict[int, list[dict]], held: list[int]
    ) -> dict[int, str]:
        """For each failed check the misconception behind it, where exactly one is established."""
        bank = self.suspects(exercise, failed) if self.brief else self.bank(exercise)
        rights = self.expected(exercise).outcomes
        matches: dict[int, list[Solution]] = {number: [] for number in failed}
        for wrong, done in bank:
            for number, outcomes in failed.items():
                if self.whole(exercise, done, number, outcomes):
                    matches[number].append(wrong)
        telling = [n for n, outcomes in failed.items() if all(map(is_fingerprint, outcomes))]
        explain_all = [wrong for wrong, _ in bank if all(wrong in matches[n] for n in telling)]
        hold_too = [
            wrong
            for wrong, done in bank
            if all(all(map(agrees, done.outcomes[n], rights[n])) for n in held)
        ]
        contradicted = [  # fails where the student's code fails, but in another way
            wrong
            for wrong, done in bank
            if any(
                wrong not in matches[n] and not all(map(agrees, done.outcomes[n], rights[n]))
                for n in telling
            )
        ]
        found = {}
        for number, candidates in matches.items():
            if any("error" in outcome for outcome in failed[number]):
                # Many mistakes end in one error: it tells only together with all that failed.
                candidates = [c for c in candidates if c in explain_all]
            candidates = [c for c in candidates if c not in contradicted]
            if len(candidates) > 1:  # prefer what explains every failure, and nothing that holds
                candidates = [c for c in candidates if c in explain_all] or candidates
            if len(candidates) > 1:
                candidates = [c for c in candidates if c in hold_too]
            sentences = {candidate.misconception for candidate in candidates}
            if len(sentences) == 1:
                found[number] = sentences.pop() or ""
        return found


def started(done: Run) -> bool:
    """Whether the student has written anything yet: more than comments beside the stub."""
    raised = {o.get("error") for outcomes in done.outcomes for o in outcomes}
    return raised != {"NotImplementedError"}


def compare(name: str, inputs: list[dict], outcomes: list[dict], rights: list[dict]) -> CheckResult:
    """The result of one check: ok when it held on every input, else the first that speaks."""
    result = CheckResult(name)
    for drawn, got, right in zip(inputs, outcomes, rights):
        if not agrees(got, right):
            result.status = "fail"
            result.input = "\n".join(f"{key} = {show(value)}" for key, value in drawn.items())
            result.expected = show(decode(right["value"]))
            result.mutated = got.get("mutated", [])
            if "error" in got:
                result.error = got["traceback"]
            else:
                result.got = show(decode(got["value"]))
            return result
    if len(outcomes) == len(inputs):
        result.status = "ok"
    return result


def check_exercise(exercise: Exercise, source: str | None = None, seed: int = 0) -> Verdict:
    """Runs and judges one solution: the student's file, or the source given in its place."""
    with Grader(seed) as grader:
        return grader.check(exercise, source)
