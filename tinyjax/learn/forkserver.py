"""A clean process with tinyjax loaded, which forks one for each student's file it is handed.

A fork costs milliseconds where a new Python costs a third of a second, and whatever the code does
to its copy of the package, the next one finds the package untouched. Jobs and results are JSON
lines on the standard descriptors; the end of the input ends the process and everything below it.

Whatever the student's code starts is found again: on Linux, processes that lose their parent
become children of this one (`prctl(2)`, PR_SET_CHILD_SUBREAPER).
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tinyjax.learn import child
from tinyjax.learn.seal import Sealed, load_names, take_seal

OUTPUT_LIMIT = 200_000  # bytes a student may print
REPORT_LIMIT = 64_000_000  # bytes a student's values may take


# --- Ending processes ----------------------------------------------------------------------------


def adopt_orphans() -> None:
    """Makes this process the parent of everything below it that loses its own."""
    if sys.platform == "linux":
        PR_SET_CHILD_SUBREAPER = 36
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def below() -> list[psutil.Process]:
    """All processes that were started, however indirectly, from this one."""
    return psutil.Process().children(recursive=True)


def end_all(patience: float = 5.0) -> None:
    """Kills everything below this process, also what is born meanwhile."""
    deadline = time.monotonic() + patience
    while (processes := below()) and time.monotonic() < deadline:
        for stop in (signal.SIGSTOP, signal.SIGKILL):  # first nobody forks any more
            for process in processes:
                try:
                    process.send_signal(stop)
                except psutil.Error:  # it has ended by itself
                    continue
        reap()


def reap() -> None:
    """Takes leave of the dead, so that they do not stay as zombies."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


# --- One job -------------------------------------------------------------------------------------


def start(
    job: dict[str, Any],
    secret: list[str],
    seal: list[Sealed],
    folder: str,
    report: int,
    printed: int,
) -> int:
    """Forks the student's process; its id. In the child this does not return."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        secret.clear()  # the student's process does not have it, not in any frame either
        os.setsid()
        os.chdir(folder)
        for descriptor in (1, 2):
            os.dup2(printed, descriptor)
        os.dup2(report, 3)
        os.closerange(4, 256)  # the grader's pipes are none of the student's business
        child.perform(job, 3, seal if job.get("sealed", True) else [])
        code = 0
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)  # threads that the student's code has left behind are not waited for


class Listener:
    """Reads what a process reports and prints, until it ends, or must be ended."""

    def __init__(self, pid: int, report: int, printed: int, control: int, seconds: float):
        self.pid, self.control, self.deadline = pid, control, time.monotonic() + seconds
        self.limits = {report: REPORT_LIMIT, printed: OUTPUT_LIMIT}
        self.data = {report: bytearray(), printed: bytearray()}
        self.selector = selectors.DefaultSelector()
        for descriptor in self.data:
            os.set_blocking(descriptor, False)
            self.selector.register(descriptor, selectors.EVENT_READ)
        self.selector.register(control, selectors.EVENT_READ)
        self.code: int | None = None

    def listen(self) -> str:
        """Why it ended: `exit`, `timeout`, `flood`, `processes` or `abandoned`."""
        look_at = 0.0
        while True:
            ready = self.selector.select(timeout=0.02)
            for key, _ in ready:
                if key.fd == self.control:  # the grader has gone, or wants no answer any more
                    return "abandoned"
                self.read(key.fd)
            if any(len(self.data[fd]) > limit for fd, limit in self.limits.items()):
                return "flood"
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                self.code = os.waitstatus_to_exitcode(status)
                return "exit"
            if time.monotonic() > self.deadline:
                return "timeout"
            if time.monotonic() > look_at:
                look_at = time.monotonic() + 0.1
                if len(below()) > child.PROCESS_LIMIT:
                    return "processes"

    def read(self, descriptor: int) -> None:
        """What is there now; a pipe that is closed is not looked at again."""
        try:
            block = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return
        if block:
            self.data[descriptor] += block
        else:
            self.selector.unregister(descriptor)

    def read_the_rest(self) -> None:
        """What lies in the pipes when everybody who could write has ended."""
        for descriptor, limit in self.limits.items():
            while len(self.data[descriptor]) <= limit:
                size = len(self.data[descriptor])
                if descriptor in self.selector.get_map():
                    self.read(descriptor)
                if len(self.data[descriptor]) == size:
                    break


@contextlib.contextmanager
def working_folder() -> Iterator[str]:
    """An empty folder, and no trace of it afterwards, however deep it has become."""
    folder = tempfile.mkdtemp(prefix="tinyjax-")
    try:
        yield folder
    finally:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        except RecursionError:
            subprocess.run(["rm", "-rf", folder], check=False)


def copy_kernels(there: Path, here: Path) -> str:
    """Copies compiled kernels, also while another process adds some; returns the copy's path."""
    for path in there.rglob("*"):
        if path.is_file():
            copy = here / path.relative_to(there)
            copy.parent.mkdir(parents=True, exist_ok=True)
            try:
                shutil.copyfile(path, copy)
            except FileNotFoundError:  # a draft, which has got its name meanwhile
                continue
    return str(here)


def serve(
    job: dict[str, Any], secret: list[str], control: int, seal: list[Sealed]
) -> dict[str, Any]:
    """Runs one job to its end, kills what it leaves, and says what happened."""
    report, report_end = os.pipe()
    printed, printed_end = os.pipe()
    began = time.monotonic()
    with working_folder() as folder:
        if job.get("warm"):  # kernels that are compiled already: a copy, to do with as it likes
            job["cache"] = copy_kernels(Path(job["warm"]), Path(folder, "cache"))
        pid = start(job, secret, seal, folder, report_end, printed_end)
        os.close(report_end)
        os.close(printed_end)
        listener = Listener(pid, report, printed, control, job["seconds"])
        ended = listener.listen()
        end_all()
        reap()
        listener.read_the_rest()
    listener.selector.close()
    texts = [bytes(listener.data[fd]).decode("utf-8", "replace") for fd in (report, printed)]
    os.close(report)
    os.close(printed)
    return {
        "ended": ended,
        "code": listener.code,
        "seconds": time.monotonic() - began,
        "report": texts[0],
        "printed": texts[1],
    }


# --- The process ---------------------------------------------------------------------------------


def main(*preload: str) -> None:
    """Serves jobs until the input ends; `preload` are modules to load before the first job."""
    control, replies = os.dup(0), os.dup(1)  # the standard ones will be the students'
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    os.umask(0o077)  # what students write, and copies of kernels, is nobody else's business
    adopt_orphans()
    for name in preload:
        importlib.import_module(name)
    gc.disable()  # nothing of what is made here is ever garbage
    load_names()
    seal = take_seal()
    gc.freeze()  # collections in the forks look at the student's objects only
    gc.enable()
    while job := read_job(control):
        secret = [job.pop("secret")]
        result = serve(job, secret, control, seal)
        if result["ended"] == "abandoned":
            return
        reply = memoryview(json.dumps({**result, "secret": secret[0]}).encode() + b"\n")
        while reply:
            reply = reply[os.write(replies, reply) :]
        del job, secret, result, reply  # the next student could find them in this frame


def read_job(descriptor: int) -> dict[str, Any] | None:
    """The next job, a line; None at the end. No job is sent before the last one is answered."""
    line = bytearray()
    while not line.endswith(b"\n"):
        block = os.read(descriptor, 1 << 16)
        if not block:
            return None
        line += block
    return json.loads(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
