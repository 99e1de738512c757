"""Grades a class: `tinyjax grade DIR -o out.csv`.

Every submission gets a row, whatever it does. The table is written again and again as a whole, so
that a run that is interrupted keeps what it has.
"""

import argparse
import csv
import hashlib
import os
import queue
import secrets
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from tinyjax.learn import feedback
from tinyjax.learn.exercise import Exercise, exercises, find
from tinyjax.learn.judge import Grader, Verdict
from tinyjax.learn.runner import adopt
from tinyjax.learn.submissions import Submission, submissions

WRITE_EVERY = 1.0  # seconds
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what a spreadsheet may execute begins so
STATUSES = {
    "pass": "pass",
    "missing": "missing",
    "not graded": "not graded",
    "timeout": "timeout",
    "flood": "crash",
    "processes": "crash",
    "crash": "crash",
}  # of what is not named here: fail

# --- The table -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A line of the table.

    `status` is `pass`, `fail`, `timeout`, `crash` or `missing`, or `not graded` when it is the
    grader that has failed; `score` the share of the checks that hold, from 0 to 1; `sha256` that of
    the file as handed in.
    """

    student: str
    exercise: str
    score: float
    status: str
    failed_checks: str
    seconds: float
    sha256: str
    misconceptions: str
    detail: str
    seed: int


def row_of(submission: Submission, verdict: Verdict, digest: str) -> Row:
    """What the table says of a verdict."""
    failed = [result.name for result in verdict.checks if result.status != "ok"]
    named = [result.misconception for result in verdict.checks if result.misconception]
    words = [] if verdict.status in STATUSES else [verdict.status]
    if verdict.detail:
        words.append(verdict.detail.strip().splitlines()[-1])
    if verdict.status in ("flood", "processes"):
        words.insert(0, feedback.HEADLINES[verdict.status])
    return Row(
        submission.student,
        submission.exercise.name,
        round(verdict.score, 3),
        STATUSES.get(verdict.status, "fail"),
        "; ".join(failed),
        round(verdict.seconds, 2),
        digest,
        " ".join(dict.fromkeys(named)),
        ": ".join(word for word in words if word != "fail"),
        verdict.seed,
    )


def harmless(value: object) -> object:
    """A cell that a spreadsheet shows and does not execute."""
    if isinstance(value, str):
        shown = feedback.CONTROL.sub(lambda match: ascii(match[0])[1:-1], value)
        return "'" + shown if value.startswith(FORMULA) else shown
    return value


def write_table(path: Path, rows: list[Row]) -> None:
    """Replaces the table as a whole: whoever reads it meanwhile sees the old one."""
    names = [column.name for column in fields(Row)]
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}.", delete=False,
        encoding="utf-8", errors="backslashreplace", newline="",
    ) as draft:  # fmt: skip
        table = csv.writer(draft)
        table.writerow(names)
        for row in rows:
            table.writerow([harmless(getattr(row, name)) for name in names])
    try:
        os.chmod(draft.name, 0o644)
        os.replace(draft.name, path)
    except OSError:
        os.unlink(draft.name)
        raise


# --- One submission ------------------------------------------------------------------------------


def content(submission: Submission) -> bytes | OSError | None:
    """What has been handed in: nothing, or the bytes of a file, or why they cannot be read."""
    try:
        return None if submission.path is None else submission.read()
    except OSError as error:
        return error


def grade_one(
    grader: Grader, submission: Submission, data: bytes | OSError | None
) -> tuple[Row, Verdict]:
    """The row of a submission, and the whole verdict; errors of the grader get a row, too."""
    verdict = Verdict(submission.exercise.name, "missing", seed=grader.seed)
    digest = ""
    if data is not None:
        try:
            if isinstance(data, OSError):
                raise data
            digest = hashlib.sha256(data).hexdigest()
            verdict = grader.check(submission.exercise, submission.source(data))
        except (OSError, ValueError, KeyError, TypeError) as error:
            verdict.status, verdict.detail = "unreadable", f"{type(error).__name__}: {error}"
        except RuntimeError as error:  # a broken card: the others are graded all the same
            verdict.status, verdict.detail = "not graded", f"the grader itself failed: {error}"
    elif submission.near:
        verdict.detail = f"is it {submission.near!r}?"
    return row_of(submission, verdict, digest), verdict


# --- A class -------------------------------------------------------------------------------------


class Class:
    """All submissions on their way through the grader, in several threads at once.

    Args:
      todo: the submissions, in the order of the table.
      out: the file of the table.
      seed: of the random inputs.
      jobs: how many submissions run at the same time.
      notes: a folder for what each student may read, or None.
    """

    def __init__(
        self, todo: list[Submission], out: Path, seed: int, jobs: int, notes: Path | None = None
    ):
        self.todo, self.out, self.seed, self.notes = todo, out, seed, notes
        self.jobs = min(jobs, len(todo))
        self.contents = [content(submission) for submission in todo]  # before any code runs
        self.rows: dict[int, Row] = {}
        self.waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(todo)):
            self.waiting.put(number)
        self.finished: queue.SimpleQueue[int | BaseException] = queue.SimpleQueue()
        self.over = threading.Event()

    def run(self, tick: Callable[[Row], None]) -> bool:
        """Grades everything; False when Ctrl-C or a signal ended it early.

        `tick` is called with each new row.
        """
        with tempfile.TemporaryDirectory(prefix="tinyjax-kernels-") as kernels:
            first = Grader(self.seed, kernels=Path(kernels), preload=("numba",))
            graders = [first, *(first.beside() for _ in range(self.jobs - 1))]
            threads = [
                threading.Thread(target=self.work, args=(grader,), daemon=True)
                for grader in graders
            ]
            try:
                for thread in threads:
                    thread.start()
                self.collect(tick)
                return True
            except KeyboardInterrupt:
                return False
            finally:
                self.over.set()
                for grader in graders:  # whoever still runs is ended, and says nothing any more
                    grader.close()
                for thread in threads:
                    thread.join(timeout=10)
                if self.rows:
                    write_table(self.out, self.table())

    def work(self, grader: Grader) -> None:
        """What a thread does: one submission after the other."""
        try:
            while not self.over.is_set():
                number = self.waiting.get_nowait()
                row, verdict = grade_one(grader, self.todo[number], self.contents[number])
                if not self.over.is_set():
                    self.rows[number] = row
                    self.write_note(self.todo[number], verdict)
                    self.finished.put(number)
        except queue.Empty:
            return
        except BaseException as error:
            self.finished.put(error)

    def collect(self, tick: Callable[[Row], None]) -> None:
        """Waits for all rows, and writes the table about once a second."""
        written = time.monotonic()
        for _ in self.todo:
            number = self.finished.get()
            if isinstance(number, BaseException):
                raise number
            tick(self.rows[number])
            if time.monotonic() - written > WRITE_EVERY:
                write_table(self.out, self.table())
                written = time.monotonic()

    def table(self) -> list[Row]:
        """The rows so far, in the order of students and exercises."""
        return [self.rows[number] for number in sorted(self.rows)]

    def write_note(self, submission: Submission, verdict: Verdict) -> None:
        """Writes what `tinyjax check` would have told the student."""
        if self.notes is not None:
            folder = self.notes / submission.student
            folder.mkdir(parents=True, exist_ok=True)
            note = folder / f"{submission.exercise.name}.txt"
            text = feedback.evidence(verdict) + "\n"
            note.write_text(text, encoding="utf-8", errors="backslashreplace")


def interrupt_on_terminate() -> None:
    """Lets `kill` end a run as Ctrl-C does: with a table, and without processes left behind."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


# --- The command ---------------------------------------------------------------------------------


def grade_command(args: argparse.Namespace) -> int:
    """Grades a class into a table; 130 when it was interrupted, as a shell reports Ctrl-C."""
    from tqdm import tqdm

    out = Path(args.output)
    if out.is_dir() or not out.resolve().parent.is_dir():
        raise SystemExit(f"tinyjax: -o {args.output!r} must be a file in a folder that exists")
    if args.jobs < 1 or args.seed < 0:
        raise SystemExit("tinyjax: --jobs must be at least 1, and --seed must not be negative")
    wanted = [find(name) for name in args.exercises] or list(exercises())
    todo = submissions(Path(args.folder), wanted, named=bool(args.exercises))
    notes = Path(args.feedback) if args.feedback else None
    room = Class(todo, out.resolve(), args.seed, args.jobs, notes)
    interrupt_on_terminate()
    if args.alone:
        adopt()  # what students' code may leave when it kills its server
    try:
        with tempfile.TemporaryFile(dir=out.resolve().parent):  # better now than after an hour
            pass
        if notes is not None:
            notes.mkdir(parents=True, exist_ok=True)
        with tqdm(total=len(todo), unit="file", disable=None) as bar:
            complete = room.run(lambda row: bar.update())
    except OSError as error:
        raise SystemExit(f"tinyjax: the results cannot be written: {error}") from None
    rows = room.table()
    for line in summary(rows, wanted):
        print(line)
    done = "" if complete else f" of {len(todo)}"
    print(f"{len(rows)}{done} rows in {args.output}; random inputs of --seed {args.seed}")
    if not complete:
        print("Interrupted. A new run starts from the beginning and replaces the table.")
    failed = [row for row in rows if row.status == "not graded"]
    if failed:
        print(f"{len(failed)} rows are not graded: {failed[0].detail}", file=sys.stderr)
    return 130 if not complete else 1 if failed else 0


def add_command(commands: argparse._SubParsersAction) -> None:
    """Adds `grade` to a parser."""
    says = "grade a class: one row per student and exercise"
    parser = commands.add_parser(
        "grade",
        help=says,
        description=f"{says[0].upper()}{says[1:]}. DIR holds one folder for each student; in it, "
        "files are found by the names of the exercises (NAME.py, or NAME.ipynb).",
    )
    parser.set_defaults(run=grade_command)
    parser.add_argument("folder", metavar="DIR", help="the folder of the class")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the table (CSV)")
    cores = os.cpu_count() or 1
    parser.add_argument("--jobs", type=int, default=cores, help=f"submissions at once ({cores})")
    seed = secrets.randbelow(2**31)
    parser.add_argument("--seed", type=int, default=seed, help="of the random inputs; else drawn")
    parser.add_argument("--exercises", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument("--feedback", metavar="DIR2", help="write what each student may read here")


# --- The summary ---------------------------------------------------------------------------------


def summary(rows: list[Row], exercises: list[Exercise]) -> list[str]:
    """A line for each exercise: how many have passed, and the mistake that most have made."""
    lines = []
    for exercise in exercises:
        mine = [row for row in rows if row.exercise == exercise.name]
        if not mine:
            continue
        passed = sum(row.status == "pass" for row in mine)
        mistakes = Counter(row.misconceptions for row in mine if row.misconceptions)
        line = f"{exercise.name:<22} {passed:>4} of {len(mine)} passed"
        for sentence, count in mistakes.most_common(1):
            line += f"   {count} x {sentence}"
        lines.append(line)
    return lines
