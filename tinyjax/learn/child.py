"""What a student's process does: it executes the student's file and runs the checks on it.

What happens leaves as JSON lines, the events, through a pipe. Nothing here decides what is right:
the grader compares the values.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import tinyjax
import tinyjax.numpy as jnp
from tinyjax.learn.exercise import Check, load_checks, remember_source
from tinyjax.learn.outcomes import coincides
from tinyjax.learn.seal import Sealed, borrowed_pieces, broken_seals, seal_of, take_seal
from tinyjax.learn.values import decode, encode

if sys.platform != "win32":
    import resource

MEMORY_LIMIT = 8 << 30
FILE_LIMIT = 64 << 20
PROCESS_LIMIT = 64  # of the student's; devices of pmap are processes, too
FLAGS = ("jax_disable_jit", "tinyjax_debug_key_reuse")  # that checks rely on


# --- The process ---------------------------------------------------------------------------------


def limit_resources(seconds: float, devices: int | None) -> None:
    """Bounds what this process may take, should nobody be there to stop it."""
    large = 1 if devices is None else 64  # shared memory of devices: large, and mostly not in use
    limits = [
        (resource.RLIMIT_CPU, int(seconds) * 4 + 4),
        (resource.RLIMIT_DATA, MEMORY_LIMIT),
        (resource.RLIMIT_AS, MEMORY_LIMIT * large),
        (resource.RLIMIT_FSIZE, FILE_LIMIT * large),
        (resource.RLIMIT_CORE, 0),
    ]
    for what, limit in limits:
        try:
            resource.setrlimit(what, (limit, resource.getrlimit(what)[1]))
        except (ValueError, OSError):  # a tighter limit already holds
            continue


def set_up(job: dict[str, Any]) -> None:
    """The flags under which a student's code runs."""
    tinyjax.config.update("tinyjax_traceback", "full")  # explain_error leaves out more than that
    tinyjax.config.update("tinyjax_debug_key_reuse", True)  # a key that is used twice is a mistake
    if job.get("devices"):
        tinyjax.config.update("tinyjax_num_devices", job["devices"])
    if job.get("cache"):
        tinyjax.config.update("tinyjax_cache_dir", job["cache"])


# --- One check -----------------------------------------------------------------------------------


class Student(SimpleNamespace):
    """What the student's file defines."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"your file defines no {name!r}; did you rename it?")


def explain_error(error: BaseException, path: str) -> dict[str, str]:
    """The type, the message and the traceback of an error, frames of the library left out."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == path]
    try:
        message, last = str(error), traceback.format_exception_only(error)
    except BaseException:  # of the student's own class, whose text raises in its turn
        message, last = "", [f"{type(error).__name__}: its text cannot be shown\n"]
    return {
        "error": type(error).__name__,
        "message": message[:2000],
        "traceback": "".join(traceback.format_list(own) + last)[:4000],
    }


def as_given(value: Any) -> Any:
    """An input as the check gets it: arrays are tinyjax's, in fresh lists, tuples and dicts."""
    if isinstance(value, dict):
        return {key: as_given(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(as_given(item) for item in value)
    return jnp.asarray(value) if hasattr(value, "dtype") else value


def run_check(item: Check, student: SimpleNamespace, inputs: dict, path: str = "") -> dict:
    """One check on one input: the value it returns, or the error it ends in.

    `mutated` names the inputs that are not what they were before.
    """
    given = as_given(inputs)
    try:
        outcome: dict[str, Any] = {"value": encode(item.run(student, **given))}
        json.dumps(outcome)  # it is too deep, or too long a number, here and not on its way
    except BaseException as error:
        outcome = explain_error(error, path)
    changed = [name for name in given if encode(given[name]) != encode(as_given(inputs[name]))]
    if changed:
        outcome["mutated"] = changed
    return outcome


# --- All of them ---------------------------------------------------------------------------------


def perform(job: dict[str, Any], report: int, seal: list[Sealed]) -> None:
    """Executes the student's file, installs a piece of kind B, runs the checks, reports.

    Args:
      job: `source`, `path`, `checks`, `asked`, `inputs`, `seconds`; perhaps `devices`, `cache`,
        `install`, which is false where the package must stay as it is, and `until`: for some checks
        outcomes of another solution; only these are run, each until an outcome differs.
      report: the descriptor that events are written to.
      seal: what must be as it was when the file has been executed; empty for a solution of the
        card, which is trusted: to look at the whole package takes longer than most checks.
    """
    limit_resources(job["seconds"], job.get("devices"))
    set_up(job)
    with os.fdopen(report, "w") as stream:

        def tell(**event: Any) -> None:
            stream.write(json.dumps(event) + "\n")
            stream.flush()

        tell(done=run_all(job, seal, tell))


def run_all(job: dict[str, Any], seal: list[Sealed], tell: Callable[..., None]) -> bool:
    """Every check on each of its inputs; False when the file could not be executed."""
    checks, card = load_checks(job["checks"])
    names = {"__name__": "exercise", "__file__": job["path"]}
    replaced: list[str] = []
    flags = {flag: getattr(tinyjax.config, flag) for flag in FLAGS}
    remember_source(job["path"], job["source"])
    try:
        exec(compile(job["source"], job["path"], "exec"), names)
        student = Student(**names)
        if "install" in card and job.get("install", True):
            replaced = broken_seals(seal)
            card["install"](student)
            if borrowed := borrowed_pieces(seal, names, job["asked"]):
                tell(borrowed=borrowed)
            seal = take_seal() if seal else []
            tinyjax.clear_caches()  # of what the file may have run with the package's own piece
    except BaseException as error:
        tell(broken=explain_error(error, job["path"]))
        return False
    seal = seal + seal_of(card, "the checks")
    until = job.get("until")
    for number, draws in enumerate(job["inputs"]):
        for place, inputs in enumerate(draws if until is None or str(number) in until else []):
            tell(started=number)
            outcome = run_check(checks[number], student, decode(inputs), job["path"])
            tell(check=number, outcome=outcome)
            if until and not coincides(until[str(number)][place], outcome):
                break
            replaced += [flag for flag in FLAGS if getattr(tinyjax.config, flag) != flags[flag]]
    if replaced := replaced + broken_seals(seal):
        tell(replaced=list(dict.fromkeys(replaced)))
    return True
