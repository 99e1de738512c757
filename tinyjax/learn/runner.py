"""Hands students' code to processes of their own, and always comes back with an account.

A `Worker` is our end of a fork server. Should a student's code manage to kill the server itself,
the worker notices, ends what is left and starts another one.
"""

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tinyjax
from tinyjax.learn import forkserver
from tinyjax.learn.exercise import Exercise
from tinyjax.learn.values import decode, encode

try:
    import psutil
except ModuleNotFoundError:
    raise SystemExit(
        "tinyjax: psutil is missing. Run `make learn`, or pip install 'tinyjax[learn]'"
    ) from None

GRACE = 15.0  # seconds beyond a job's own limit before the server itself is given up
MARK = "TINYJAX_WORKER"  # the variable by which a worker's processes are known


@dataclass
class Run:
    """What happened to a student's code.

    `ended` is `done`, `broken` (the file itself raised), `timeout`, `flood`, `processes`, `crash`.
    """

    ended: str
    outcomes: list[list[dict[str, Any]]]  # for each check, one per input that was reached
    seconds: float
    printed: str = ""
    detail: dict[str, str] = field(default_factory=dict)  # of broken and crash
    running: int | None = None  # the check under way when it ended
    replaced: list[str] = field(default_factory=list)  # names of the package, by the student's code
    borrowed: list[str] = field(default_factory=list)  # the student's, for pieces of the package


# --- The worker ----------------------------------------------------------------------------------


def our_environment() -> dict[str, str]:
    """The environment of this process, with the tinyjax that runs here first on the path."""
    home = str(Path(tinyjax.__file__).resolve().parents[1])
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": home + (os.pathsep + path if path else "")}


def child_environment() -> dict[str, str]:
    """The environment of a student's process: it opens no windows and leaves nothing behind."""
    return {
        **our_environment(),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "PYTHONSAFEPATH": "1",  # a learner's random.py in the current folder is not Python's
        "MPLBACKEND": "Agg",
        "OPENBLAS_NUM_THREADS": "1",  # a process that forks has one thread
    }


class Forked:
    """A server that is a fork of this process: it need not load the package again.

    It has what this module needs of `subprocess.Popen`. Only for a process in which nothing but
    the package has run, and in one thread.
    """

    def __init__(self) -> None:
        adopt()
        jobs, ours = os.pipe()
        ours_too, replies = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                os.environ.update(child_environment())
                os.dup2(jobs, 0)
                os.dup2(replies, 1)
                os.closerange(3, 256)
                forkserver.main()
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(jobs)
        os.close(replies)
        self.stdin, self.stdout = os.fdopen(ours, "wb"), os.fdopen(ours_too, "rb")
        self.process = psutil.Process(self.pid)

    def kill(self) -> None:
        """Ends the server, not what it has started."""
        self.process.kill()

    def wait(self, timeout: float) -> None:
        """Waits for its end; subprocess.TimeoutExpired when it does not come."""
        try:
            self.process.wait(timeout)
        except psutil.TimeoutExpired:
            raise subprocess.TimeoutExpired("a fork server", timeout) from None


SERVERS: set[int] = set()  # the ids of those that have not been given up
adopted = threading.Event()  # whether this process becomes the parent of what servers leave


def adopt() -> None:
    """Makes this process the parent of what a killed server leaves; one that runs nothing else."""
    forkserver.adopt_orphans()
    adopted.set()


def orphans() -> list[psutil.Process]:
    """What has come to this process from servers that have ended."""
    found = []
    for process in psutil.Process().children():
        try:
            if process.pid not in SERVERS and process.status() != psutil.STATUS_ZOMBIE:
                found += [process, *process.children(recursive=True)]
        except psutil.Error:  # it has ended by itself
            continue
    return found


class Worker:
    """A fork server and the pipes to it; starts at the first job, ends with `close`.

    Args:
      preload: modules that the server loads before it forks, for the sake of many jobs.
      forked: whether the server is a fork of this process (see `Forked`).
    """

    def __init__(self, *preload: str, forked: bool = False):
        self.preload, self.forked = preload, forked
        self.process: subprocess.Popen | Forked | None = None
        self.lock = threading.Lock()  # one job at a time
        self.over = False

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def start(self) -> "subprocess.Popen | Forked":
        """Starts the server if it does not run: it gets ready while the caller goes on."""
        if self.process is None and self.forked:
            self.process = Forked()
            SERVERS.add(self.process.pid)
        if self.process is None:
            self.mark = uuid.uuid4().hex
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tinyjax.learn.forkserver", *self.preload],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**child_environment(), MARK: self.mark},
                start_new_session=True,  # the terminal's Ctrl-C is for us; closing the pipe for it
            )
            SERVERS.add(self.process.pid)
        return self.process

    def close(self) -> None:
        """Ends the server and whatever runs below it, for good."""
        self.over = True
        self.end()

    def end(self) -> None:
        """Ends the server and whatever runs below it; the next job starts another one."""
        process, self.process = self.process, None
        if process is None:
            return
        SERVERS.discard(process.pid)
        assert process.stdin is not None
        try:
            process.stdin.close()
        except BrokenPipeError:  # it died with a job unread
            pass
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.sweep()

    def sweep(self) -> None:
        """Kills every process that carries our mark: those of a server that is lost."""
        for _ in range(20):  # until none is found: one may have been born meanwhile
            found = list(self.marked())
            for process in found:
                try:
                    process.kill()
                except psutil.Error:  # it has ended by itself
                    continue
            if not found:
                return
            psutil.wait_procs(found, timeout=1.0)

    def marked(self) -> Iterator[psutil.Process]:
        """The living processes of a server that is lost."""
        if adopted.is_set():
            yield from orphans()
        if self.forked:
            return
        for process in psutil.process_iter():
            try:
                ours = process.environ().get(MARK) == self.mark
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    yield process
            except psutil.Error:  # not ours to look at, or gone
                continue

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        """What the server says of a job; what we say in its place when it is lost."""
        began = time.monotonic()
        with self.lock:
            if self.over:
                raise RuntimeError("the worker has been closed")
            process = self.start()
            ended = "lost"
            secret = uuid.uuid4().hex  # a student's code may write into the server's pipe
            if send(process, {**job, "secret": secret}):
                try:
                    reply = json.loads(receive(process, began + job["seconds"] + GRACE) or "{}")
                    if reply.pop("secret", None) == secret:
                        return reply
                except (TimeoutError, ValueError) as error:
                    ended = "timeout" if isinstance(error, TimeoutError) else "lost"
            process.kill()
            SERVERS.discard(process.pid)
            self.sweep()
            self.end()
        seconds = time.monotonic() - began
        return {"ended": ended, "code": None, "seconds": seconds, "report": "", "printed": ""}


def send(process: subprocess.Popen | Forked, job: dict[str, Any]) -> bool:
    """Hands a job over; False when nobody takes it."""
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.flush()
    except (BrokenPipeError, ValueError):  # it has ended, or we have closed the pipe
        return False
    return True


def receive(process: subprocess.Popen | Forked, deadline: float) -> bytes:
    """The line that answers a job; nothing when the process ends before.

    Raises:
      TimeoutError: there is no answer in time.
    """
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    reply = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while not reply.endswith(b"\n"):
            if not selector.select(timeout=deadline - time.monotonic()):
                raise TimeoutError
            block = os.read(descriptor, 1 << 20)
            if not block:
                return b""
            reply += block
    return bytes(reply)


def run(
    worker: Worker,
    exercise: Exercise,
    source: str,
    inputs: list[list[dict[str, Any]]],
    seconds: float | None = None,
    **more: Any,
) -> Run:
    """Runs every check of the exercise on the source, within the time limit.

    Args:
      worker: where.
      exercise: its card gives the checks.
      source: the student's code.
      inputs: for each check, the inputs that it sees (`exercise.inputs(seed)`).
      seconds: the limit, where it is another one than the card's.
      more: `path`, what messages call the file; `install=False`, to leave the package as it is;
        `warm`, a folder of compiled kernels to start from; `cache`, one to fill.
    """
    job = {
        "source": source,
        "path": exercise.path.name,
        "checks": exercise.checks_source,
        "asked": re.findall(r"^(?:def|class) (\w+)", exercise.titled("stub")[0].text, re.MULTILINE),
        "inputs": [[encode(drawn) for drawn in draws] for draws in inputs],
        "seconds": exercise.seconds if seconds is None else seconds,
        "devices": exercise.devices,
        **more,
    }
    return summarise(worker.run(job), [len(draws) for draws in inputs])


# --- Reading the account -------------------------------------------------------------------------


def read_events(report: str) -> list[dict[str, Any]]:
    """The events in a report; a line that was cut short or forged badly is left out."""
    events = []
    for line in report.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def readable(outcome: Any) -> dict[str, Any]:
    """An outcome of which we know that it can be read: a student's code may have made it up."""
    try:
        if "error" in outcome:
            parts = ("error", "message", "traceback")
            clean: dict[str, Any] = {part: str(outcome[part]) for part in parts}
        else:
            decode(outcome["value"])
            clean = {"value": outcome["value"]}
        if "mutated" in outcome:
            clean["mutated"] = [str(name) for name in outcome["mutated"]]
        return clean
    except Exception as error:  # whatever a made-up value makes NumPy raise
        words = f"the returned value cannot be read ({type(error).__name__}: {error})"
        return {"error": "ValueError", "message": words, "traceback": words}


def summarise(result: dict[str, Any], asked: list[int]) -> Run:
    """What the events, the clock and the exit code say together.

    `asked` has the number of inputs of each check.
    """
    account = Run("crash", [[] for _ in asked], result["seconds"], result["printed"][-4000:])
    for event in read_events(result["report"]):
        note(account, event, asked)
    if result["ended"] not in ("exit", "lost"):
        account.ended = result["ended"]
    elif account.ended == "crash":
        account.detail = {"message": describe_exit(result["code"])}
    return account


def note(account: Run, event: dict[str, Any], asked: list[int]) -> None:
    """Adds one event to an account; what cannot be one of ours counts for nothing."""
    match event:
        case {"started": int(number)} if 0 <= number < len(asked):
            account.running = number
        case {"check": int(number), "outcome": outcome} if 0 <= number < len(asked):
            if len(account.outcomes[number]) < asked[number]:
                account.outcomes[number].append(readable(outcome))
        case {"broken": {"error": _} as error}:
            account.ended, account.detail = "broken", readable(error)
        case {"replaced": [*names]}:
            account.replaced = [str(name) for name in names]
        case {"borrowed": [*names]}:
            account.borrowed = [str(name) for name in names]
        case {"done": True} if account.ended != "broken":
            account.ended, account.running = "done", None


def describe_exit(code: int | None) -> str:
    """An exit code in words."""
    if code is None:
        return "the process that runs your code was ended by it"
    if code < 0:
        names = {number.value: f" ({number.name})" for number in signal.Signals}
        return f"the process was ended by signal {-code}{names.get(-code, '')}"
    return f"the process left with exit code {code} before the checks were done"
