"""Helper threads: a large kernel or matrix product is cut in parts that any free core may take.

Kernels and NumPy's products release the GIL, so parts run at the same time. The caller works, too,
and does not wait for a helper that has not even begun: on a busy machine it just does all parts.
"""

import contextlib
import itertools
import os
import queue
import threading
from contextvars import ContextVar


def cores():
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


# Devices of pmap share the cores: their processes are told how many threads each may have.
COUNT = min(cores(), 8, int(os.environ.get("TINYJAX_THREADS", "8")))

_planned = ContextVar("threads", default=COUNT)
planned = _planned.get  # how many threads a program that is compiled now will have


@contextlib.contextmanager
def planning(count):
    """Compile programs for a process that has so many threads."""
    token = _planned.set(count)
    try:
        yield
    finally:
        _planned.reset(token)


class Job:
    """Tasks (functions without arguments) that several threads work on."""

    def __init__(self, tasks):
        self.tasks, self.error = tasks, None
        self.taken, self.ended = itertools.count(), itertools.count()  # next() is atomic
        self.last_ended = threading.Lock()
        self.last_ended.acquire()

    def work(self):
        """Take tasks until there are none left."""
        tasks = self.tasks
        for k in self.taken:
            if k >= len(tasks):
                return
            try:
                tasks[k]()
            except BaseException as error:
                self.error = error
            if next(self.ended) == len(tasks) - 1:
                self.last_ended.release()


_jobs: queue.SimpleQueue = queue.SimpleQueue()
_helpers: list[threading.Thread] = []


def help_forever(jobs):
    """What a helper thread does."""
    while True:
        jobs.get().work()


def forget_helpers():
    """A forked child has none of its parent's threads."""
    global _jobs
    _jobs = queue.SimpleQueue()
    _helpers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_helpers)


def run_all(tasks):
    """Run functions without arguments, at the same time if cores are free; errors are raised."""
    while len(_helpers) < min(len(tasks), COUNT) - 1:
        helper = threading.Thread(target=help_forever, args=(_jobs,), daemon=True)
        _helpers.append(helper)
        helper.start()
    job = Job(tasks)
    for _ in range(min(len(tasks), COUNT) - 1):
        _jobs.put(job)
    job.work()
    job.last_ended.acquire()
    job.tasks = ()  # a helper that comes late holds no arrays
    if job.error is not None:
        raise job.error


def pieces(n, quantum=1, each=4):
    """Cut range(n) into some parts for each core, at multiples of the quantum: (first, last)."""
    step = -(-n // (COUNT * each))
    step = max(1, -(-step // quantum) * quantum)
    return [(i, min(i + step, n)) for i in range(0, n, step)]
