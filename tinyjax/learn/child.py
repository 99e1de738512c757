"""Runs inside the student's process: executes the student's file and the checks on it.

The job arrives on standard input. What happens leaves as JSON lines on the descriptor that the job
names. Nothing here decides what is right: the parent compares the values.
"""

import json
import os
import sys
import traceback
from types import SimpleNamespace
from typing import Any

import tinyjax
import tinyjax.numpy as jnp
from tinyjax.learn.exercise import Check, load_checks, remember_source
from tinyjax.learn.values import decode, encode

if sys.platform != "win32":
    import resource

MEMORY_LIMIT = 8 << 30
FILE_LIMIT = 64 << 20


def limit_resources(seconds: float) -> None:
    """Bounds what this process may take, should the parent not be there to stop it."""
    if sys.platform == "win32":  # no limits there; the parent's clock still holds
        return
    limits = [
        (resource.RLIMIT_CPU, int(seconds) * 4 + 4),
        (resource.RLIMIT_AS, MEMORY_LIMIT),
        (resource.RLIMIT_FSIZE, FILE_LIMIT),
        (resource.RLIMIT_CORE, 0),
    ]
    for what, limit in limits:
        try:
            resource.setrlimit(what, (limit, resource.getrlimit(what)[1]))
        except (ValueError, OSError):  # a tighter limit already holds
            continue


def explain_error(error: BaseException, path: str) -> dict[str, str]:
    """The type, the message and the traceback of an error, frames of the library left out."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == path]
    lines = traceback.format_list(own) + traceback.format_exception_only(error)
    return {
        "error": type(error).__name__,
        "message": str(error)[:2000],
        "traceback": "".join(lines)[:4000],
    }


class Student(SimpleNamespace):
    """What the student's file defines."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"your file defines no {name!r}; did you rename it?")


def run_check(item: Check, student: SimpleNamespace, inputs: dict, path: str = "") -> dict:
    """One check on one input: the value it returns, or the error it ends in."""
    arrays = {
        name: jnp.asarray(value) if hasattr(value, "dtype") else value
        for name, value in inputs.items()
    }
    try:
        return {"value": encode(item.run(student, **arrays))}
    except (Exception, SystemExit) as error:
        return explain_error(error, path)


def main() -> None:
    """Reads the job, runs it, reports."""
    job = json.load(sys.stdin)
    limit_resources(job["seconds"])
    tinyjax.config.update("tinyjax_traceback", "full")  # explain_error leaves out more than that
    tinyjax.config.update("tinyjax_debug_key_reuse", True)  # a key that is used twice is a mistake
    with os.fdopen(job["report"], "w") as report:

        def tell(**event: Any) -> None:
            report.write(json.dumps(event) + "\n")
            report.flush()

        checks, _ = load_checks(job["checks"])
        names = {"__name__": "exercise", "__file__": job["path"]}
        remember_source(job["path"], job["source"])
        try:
            exec(compile(job["source"], job["path"], "exec"), names)
        except (Exception, SystemExit) as error:
            tell(broken=explain_error(error, job["path"]))
            return
        student = Student(**names)
        for number, draws in enumerate(job["inputs"]):
            for inputs in draws:
                tell(started=number)
                outcome = run_check(checks[number], student, decode(inputs), job["path"])
                tell(check=number, outcome=outcome)
        tell(done=True)


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # do not wait for threads that the student's code may have left behind
