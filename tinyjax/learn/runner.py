"""Runs a student's code in a process of its own, and always comes back with a verdict.

The process group is killed as one when the time is up or the output too long, so that neither an
endless loop nor a child left behind outlives the check.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import tinyjax
from tinyjax.learn.exercise import Exercise
from tinyjax.learn.values import encode

OUTPUT_LIMIT = 200_000  # bytes a student may print
REPORT_LIMIT = 64_000_000  # bytes a student's values may take


@dataclass
class Run:
    """What happened to a student's code.

    `ended` is `done`, `broken` (the file itself raised), `timeout`, `flood` or `crash`.
    """

    ended: str
    outcomes: list[list[dict[str, Any]]]  # for each check, one per input that was reached
    seconds: float
    printed: str = ""
    detail: dict[str, str] = field(default_factory=dict)  # of broken and crash
    running: int | None = None  # the check under way when it ended


class Drain(threading.Thread):
    """Reads a pipe to its end, but keeps no more than `limit` bytes and then says stop."""

    def __init__(self, pipe: IO[bytes], limit: int, stop: threading.Event):
        super().__init__(daemon=True)
        self.pipe, self.limit, self.stop = pipe, limit, stop
        self.data = bytearray()
        self.flooded = False
        self.start()

    def run(self) -> None:
        """Reads until the last writer closes the pipe."""
        while block := os.read(self.pipe.fileno(), 65536):
            if len(self.data) + len(block) > self.limit:
                self.flooded = True
                self.stop.set()
                return
            self.data += block

    def text(self) -> str:
        """What was read, as text."""
        return bytes(self.data).decode("utf-8", "replace")


def kill_group(process: subprocess.Popen) -> None:
    """Ends the process and everything it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def our_environment() -> dict[str, str]:
    """The environment of this process, with the tinyjax that runs here first on the path."""
    home = str(Path(tinyjax.__file__).resolve().parents[1])
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": home + (os.pathsep + path if path else "")}


def child_environment() -> dict[str, str]:
    """The environment of a student's process: it opens no windows and leaves nothing behind."""
    return {**our_environment(), "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg"}


def wait(process: subprocess.Popen, stop: threading.Event, seconds: float) -> bool:
    """Waits for the end of the process; False when the time ran out first."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if stop.wait(0.01):
            return True
        if time.monotonic() > deadline:
            return False
    return True


def run(exercise: Exercise, source: str, seed: int = 0, seconds: float | None = None) -> Run:
    """Runs every check of the exercise on the student's source, within the time limit."""
    seconds = exercise.seconds if seconds is None else seconds
    reader, writer = os.pipe()
    job = {
        "source": source,
        "path": str(exercise.path),
        "checks": exercise.checks_source,
        "inputs": [[encode(drawn) for drawn in draws] for draws in exercise.inputs(seed)],
        "seconds": seconds,
        "report": writer,
    }
    began = time.monotonic()
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="tinyjax-") as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "tinyjax.learn.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=child_environment(),
            pass_fds=[writer],
            start_new_session=True,
        )
        os.close(writer)
        assert process.stdin is not None and process.stdout is not None
        with os.fdopen(reader, "rb") as pipe:
            report = Drain(pipe, REPORT_LIMIT, stop)
            printed = Drain(process.stdout, OUTPUT_LIMIT, stop)
            send(process.stdin, job)
            in_time = wait(process, stop, seconds)
            kill_group(process)
            for drain in (report, printed):
                drain.join(timeout=5)
    flooded = report.flooded or printed.flooded
    took = time.monotonic() - began
    return summarise(report.text(), printed.text(), in_time, flooded, process.returncode, took)


def send(pipe: IO[bytes], job: dict[str, Any]) -> None:
    """Hands the job over; a process that died already will be seen by its exit code."""
    try:
        pipe.write(json.dumps(job).encode())
        pipe.close()
    except BrokenPipeError:
        pass


def read_events(report: str) -> list[dict[str, Any]]:
    """The events in a report; a line that was cut short or forged badly is left out."""
    events = []
    for line in report.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def summarise(
    report: str, printed: str, in_time: bool, flooded: bool, code: int, seconds: float
) -> Run:
    """What the events, the clock and the exit code say together."""
    result = Run("crash", [], seconds, printed[-4000:])
    for event in read_events(report):
        if "broken" in event:
            result.ended, result.detail = "broken", event["broken"]
        elif "started" in event:
            result.running = event["started"]
        elif "outcome" in event:
            while len(result.outcomes) <= event["check"]:
                result.outcomes.append([])
            result.outcomes[event["check"]].append(event["outcome"])
        elif event.get("done"):
            result.ended, result.running = "done", None
    if flooded:
        result.ended = "flood"
    elif not in_time:
        result.ended = "timeout"
    elif result.ended == "crash":
        result.detail = {"message": describe_exit(code)}
    return result


def describe_exit(code: int) -> str:
    """An exit code in words."""
    if code < 0:
        return f"the process was ended by signal {-code} ({signal.Signals(-code).name})"
    return f"the process left with exit code {code} before the checks were done"
