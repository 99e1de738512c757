"""Helper threads: a large kernel or matrix product is cut in pieces, one for each core.

Kernels and NumPy's products release the GIL, so the pieces run at the same time. A hand-over takes
two locks, some 40 microseconds all in all.
"""

import os
import threading


def cores():
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


class Helper:
    """A thread that waits for tasks."""

    def __init__(self):
        self.task, self.error = None, None
        self.begin, self.end = threading.Lock(), threading.Lock()
        self.begin.acquire()
        self.end.acquire()
        threading.Thread(target=self.work, daemon=True, name="tinyjax helper").start()

    def work(self):
        """Run tasks for ever."""
        while True:
            self.begin.acquire()
            try:
                self.task()
            except BaseException as error:
                self.error = error
            self.task = None
            self.end.release()

    def start(self, task):
        """Let it run a task."""
        self.task, self.error = task, None
        self.begin.release()

    def wait(self):
        """Until it is done; raises what the task raised."""
        self.end.acquire()
        if self.error is not None:
            raise self.error


COUNT = min(cores(), 8)
_helpers: list[Helper] = []
_busy = threading.Lock()  # one program at a time has the helpers; others run alone meanwhile


def forget_helpers():
    """A forked child has none of its parent's threads."""
    global _busy
    _helpers.clear()
    _busy = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_helpers)


def run_all(tasks):
    """Run functions without arguments at the same time; returns when all have ended."""
    if len(tasks) == 1 or not _busy.acquire(blocking=False):
        for task in tasks:
            task()
        return
    try:
        while len(_helpers) < len(tasks) - 1:
            _helpers.append(Helper())
        started = []
        for helper, task in zip(_helpers, tasks[1:]):
            helper.start(task)
            started.append(helper)
        try:
            tasks[0]()
        finally:
            for helper in started:
                helper.wait()
    finally:
        _busy.release()


def pieces(n, quantum=1):
    """Cut range(n) into one range for each core, at multiples of the quantum: (first, last)."""
    step = -(-n // COUNT)
    step = max(1, -(-step // quantum) * quantum)
    return [(i, min(i + step, n)) for i in range(0, n, step)]
