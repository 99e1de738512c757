"""Exercises inside notebooks: the magic `%%exercise`, and the graded cells of an nbgrader course.

What is graded is the text of the student's cells, in a fresh process. So it does not matter what
has become of the notebook's own kernel: a piece of the core put in by hand changes no verdict, and
the kernel stays as it is when the student's code hangs or ends its process.
"""

import ast
import contextlib
import functools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from typing import Any

from tinyjax.learn import feedback
from tinyjax.learn.course import note_pass
from tinyjax.learn.exercise import Exercise, find
from tinyjax.learn.judge import Grader, Verdict
from tinyjax.learn.runner import our_environment

# --- Grading in a process of its own -------------------------------------------------------------


class GraderProcess:
    """Judges one source after the other in a process that starts at the first.

    What it writes to stderr goes to a file: nbgrader takes anything on stderr for a failure.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen | None = None

    def start(self) -> subprocess.Popen:
        """Starts it if it does not run."""
        if self.process is None or self.process.poll() is not None:
            self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tinyjax.learn.notebook"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                env=our_environment(),
                start_new_session=True,  # interrupting the kernel is handled here
            )
        return self.process

    def judge(self, name: str, source: str, seed: int) -> Verdict:
        """The verdict; a RuntimeError holds what the process wrote when it ends instead."""
        process = self.start()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps([name, source, seed]).encode() + b"\n")
            process.stdin.flush()
            reply = process.stdout.readline()
        except BaseException:  # an interrupt: what it does now is of no use to anybody
            self.close()
            raise
        if not reply:
            process.wait()
            self.errors.seek(0)
            raise RuntimeError("the grader ended:\n" + self.errors.read().decode()[-2000:])
        return Verdict.of_json(json.loads(reply))

    def close(self) -> None:
        """Ends it, and with it the student's process: that one watches who it works for."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()


grader = GraderProcess()


@functools.lru_cache(maxsize=32)
def grade_source(name: str, source: str, seed: int = 0) -> Verdict:
    """The verdict on a source; asked again for the same, as graded cells do, it is remembered."""
    return grader.judge(name, source, seed)


def main() -> None:
    """What that process does: a name, a source and a seed come in, the verdict goes out."""
    with contextlib.ExitStack() as stack:
        graders: dict[int, Grader] = {}
        for line in sys.stdin.buffer:
            name, source, seed = json.loads(line)
            if seed not in graders:
                graders[seed] = stack.enter_context(Grader(seed))
            verdict = graders[seed].check(find(name), source)
            print(json.dumps(verdict.as_json()), flush=True)


def given(exercise: Exercise) -> str:
    """What stands in front of a student's cells: the imports and definitions of the exercise."""
    return exercise.titled("given")[0].text


def as_file(exercise: Exercise, code: str) -> str:
    """The student's file that these cells amount to; cells that add nothing are the bare stub."""
    stub = exercise.titled("stub")[0].text
    if not code.strip() or same_code(code, stub):
        return exercise.stub
    return f"{given(exercise)}\n\n\n{code}\n"


def grade_cells(exercise: Exercise, code: str, seed: int = 0) -> Verdict:
    """The verdict on the code of a student's cells; nothing is run when it is the bare stub."""
    source = as_file(exercise, code)
    if source == exercise.stub:
        return Verdict(exercise.name, "not started", seed=seed)
    return grade_source(exercise.name, source, seed)


def same_code(code: str, stub: str) -> bool:
    """Whether two sources differ in comments and layout only."""
    try:  # nbgrader writes its own `raise NotImplementedError()` in place of a solution
        code = code.replace("NotImplementedError()", "NotImplementedError")
        return ast.dump(ast.parse(code)) == ast.dump(ast.parse(stub))
    except SyntaxError:
        return False


# --- The magic -----------------------------------------------------------------------------------


def find_exercise(name: str) -> Exercise:
    """The exercise of that name; a ValueError names those that are spelled like it."""
    try:
        return find(name)
    except SystemExit as error:  # that must not end a kernel
        raise ValueError(str(error).removeprefix("tinyjax: ")) from None


def exercise_magic(shell: Any, line: str, cell: str) -> None:
    """Grades a cell that starts with `%%exercise NAME`; then defines its names as any cell does."""
    from IPython.core.error import UsageError

    words = line.split()
    if len(words) != 1:
        raise UsageError("write the name of one exercise: %%exercise NAME")
    try:
        exercise = find_exercise(words[0])
    except ValueError as error:
        raise UsageError(f"%%exercise: {error}") from None
    if not cell.strip():
        raise UsageError(
            f"%%exercise {exercise.name}: the cell is empty; write your code below its first line"
        )
    code = shell.transform_cell(cell)
    verdict = grade_cells(exercise, plain_python(code))
    print(feedback.evidence(verdict))
    print("\n" + next_step(verdict))
    if verdict.passed:
        note_pass(exercise, cell)
    if verdict.status in ("pass", "fail", "not started"):  # it would hang or raise here as well
        shell.run_cell(given(exercise), store_history=False, silent=True)
        shell.run_cell(cell, store_history=False)


def next_step(verdict: Verdict) -> str:
    """What to do now, for someone in a notebook."""
    name = verdict.exercise
    if verdict.passed:
        return f"To compare with ours: %tinyjax solution {name}"
    if verdict.status == "not started":
        return "Next: write your code in place of NotImplementedError, and run the cell again."
    return f"Next: change the cell and run it again. Stuck? %tinyjax hint {name}"


def tinyjax_magic(line: str) -> None:
    """`%tinyjax hint NAME` and the other commands: a kernel's PATH may lead to no `tinyjax`."""
    command = [sys.executable, "-m", "tinyjax.learn", *shlex.split(line)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=our_environment()
    )
    print(done.stdout + done.stderr)


# --- The cells of a kernel -----------------------------------------------------------------------

# The cells that grade, which are not the student's.
GRADING = re.compile(r"^(graded\(|from tinyjax\.learn\.notebook )", re.MULTILINE)


class Cells:
    """The student's cells that ran in this kernel, each as it ran last, in that order."""

    def __init__(self, shell: Any):
        self.shell = shell
        self.sources: dict[Any, str] = {}
        self.errors: dict[Any, str] = {}  # how a cell ended that did not reach its end

    def record(self, result: Any) -> None:
        """Called by IPython after each cell: keeps what it defined, as plain Python."""
        info = result.info
        text = info.raw_cell
        if not info.store_history or text.startswith("%%") or GRADING.search(text):
            return
        key = info.cell_id or result.execution_count  # only some front ends name their cells
        self.sources.pop(key, None)
        self.errors.pop(key, None)
        error = result.error_before_exec or result.error_in_exec
        if result.error_before_exec is None:  # else it is no Python at all
            line = self.line_of(result.error_in_exec)
            self.sources[key] = plain_python(info.transformed_cell or text, before=line)
        if error is not None:
            self.errors[key] = f"{type(error).__name__}: {error}"

    def line_of(self, error: BaseException | None) -> int | None:
        """The line of a cell on which an error came up."""
        frames = traceback.walk_tb(error.__traceback__ if error else None)
        lines = [line for frame, line in frames if frame.f_globals is self.shell.user_global_ns]
        return lines[0] if lines else None

    def source(self, exercise: Exercise) -> str:
        """The student's code: the cells, less the one that was given."""
        sources = [source.strip("\n") for source in self.sources.values()]
        return "\n\n\n".join(s for s in sources if s.strip() not in ("", given(exercise).strip()))

    def note(self) -> str:
        """What to know about the verdict when a cell stopped with an error."""
        stopped = "; ".join(self.errors.values())
        says = "Of a cell that ends in an error, only what stands before it is graded"
        return f"\n\n{says}: {stopped}" if stopped else ""


def plain_python(code: str, before: int | None = None) -> str:
    """The code of a cell without magics, and without what stands at or below the line `before`."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # the grader will say so
        return code
    lines = code.splitlines()
    for statement in tree.body:
        first, last = first_line(statement), statement.end_lineno or statement.lineno
        if "get_ipython()" in ast.unparse(statement) or (before is not None and last >= before):
            lines[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(lines)


def first_line(statement: ast.stmt) -> int:
    """Where a statement begins, its decorators included."""
    return min(node.lineno for node in [statement, *getattr(statement, "decorator_list", [])])


# --- The graded cells ----------------------------------------------------------------------------

recorder: Cells | None = None  # of the one kernel that this process may be


class CheckFailed(AssertionError):
    """A check does not hold."""

    def add_note(self, note: str) -> None:
        """That frames of tinyjax are left out is of no use to a student here."""


def graded(name: str, check: str) -> None:
    """Raises an AssertionError when a check of an exercise does not hold for the cells run so far.

    It returns None and writes nothing to stderr: nbgrader takes a number for partial credit, and
    anything on stderr for a failure. The random inputs are those of the seed in the environment
    variable TINYJAX_SEED, which an exported course sets for the teacher; of seed 0 without it.
    """
    __tracebackhide__ = True
    if recorder is None:
        raise RuntimeError("run the first cell of this notebook: it has %load_ext tinyjax.learn")
    exercise = find_exercise(name)
    if check not in [known.name for known in exercise.checks]:
        raise CheckFailed(
            f"{name} has no check {check!r}: was this notebook made by an older tinyjax?"
        )
    seed = int(os.environ.get("TINYJAX_SEED", "0"))
    verdict = grade_cells(exercise, recorder.source(exercise), seed)
    result = next((found for found in verdict.checks if found.name == check), None)
    if result is None or result.status != "ok" or not verdict.honest:
        raise CheckFailed(feedback.evidence(verdict, result) + recorder.note())
    print(f"ok: {check}")


# --- Loading -------------------------------------------------------------------------------------


def load(shell: Any) -> None:
    """Makes the magics known to a shell, and keeps what its cells define for `graded`."""
    global recorder
    if recorder is not None and recorder.shell is shell:  # %reload_ext
        return
    recorder = Cells(shell)
    shell.events.register("post_run_cell", recorder.record)
    magic = functools.partial(exercise_magic, shell)
    shell.register_magic_function(magic, "cell", "exercise")
    shell.register_magic_function(tinyjax_magic, "line", "tinyjax")


if __name__ == "__main__":
    main()
