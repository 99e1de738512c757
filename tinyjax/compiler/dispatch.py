"""Asynchronous dispatch: a long program runs in a thread of its own while its caller goes on.

The caller gets Arrays that are not ready yet. They know their types; whoever looks at a value waits
for it. One thread takes one program after the other, so results come in the order of the calls;
programs that call back into Python have another thread. An error is raised where the result is
looked at.

Handing a program over costs about 50 microseconds, so only long programs are: those that took a
few milliseconds the last time. A program with effects (printing, callbacks that must happen) runs
where it is called, so that nothing happens late or never.
"""

import atexit
import os
import queue
import threading
from contextvars import copy_context
from time import perf_counter

from tinyjax.array import Array
from tinyjax.compiler.effort import calls_python, has_unknown, seconds
from tinyjax.compiler.keys import is_key
from tinyjax.config import current_flags
from tinyjax.core import effects
from tinyjax.tracebacks import shorten

LONG = 3e-3  # seconds: shorter programs run at once
MAYBE_LONG = 1e-4  # seconds: what is guessed to take less is never measured
IN_FLIGHT = 32  # programs that wait for their turn; the next caller waits, too

# ---- arrays that are not ready -------------------------------------------------------------------


VALUE = vars(Array)["npy"]  # the slot itself, which PendingArray hides


class PendingArray(Array):
    """An Array whose value is being computed; it turns into an ordinary one when that is done."""

    __slots__ = ()

    def __init__(self, aval, job):
        self.job = aval, job
        self.weak_type, self.literal = aval.weak_type, False

    aval = property(lambda self: self.job[0])
    shape = property(lambda self: self.job[0].shape)
    dtype = property(lambda self: self.job[0].dtype)
    ndim = property(lambda self: len(self.job[0].shape))
    size = property(lambda self: self.job[0].size)
    nbytes = property(lambda self: self.job[0].size * self.job[0].dtype.itemsize)
    itemsize = property(lambda self: self.job[0].dtype.itemsize)

    @property
    def npy(self):
        """The value; waits for it."""
        self.job[1].wait()
        return VALUE.__get__(self)

    def block_until_ready(self):
        """Wait for the value; an error of the program is raised here. Returns the array."""
        self.job[1].wait()
        return self

    def is_ready(self):
        """Whether the value has been computed."""
        return self.job[1].done.is_set()


class Job:
    """One call of a program: what to run, and the Arrays that wait for it."""

    def __init__(self, work, avals, lane):
        self.lane, self.work, self.results = lane, work, [PendingArray(a, self) for a in avals]
        self.context, self.process = copy_context(), os.getpid()  # flags are those of the caller
        self.done, self.error = threading.Event(), None

    def run(self):
        """Compute, and make the results ordinary Arrays."""
        try:
            if _closed:
                raise RuntimeError("Python ended before this program began.")
            for x, out in zip(self.results, self.context.run(self.work), strict=True):
                VALUE.__set__(x, out.npy)
                x.__class__ = Array
        except BaseException as error:
            shorten(error, noted=False)
            self.error = error, error.__traceback__
        self.work = self.results = self.context = None  # holds no operand any longer
        self.done.set()

    def wait(self):
        """Wait for the end; raises the program's error. Ctrl-C ends only the waiting."""
        if not self.done.is_set() and self.process != os.getpid():
            raise RuntimeError(
                "This array was being computed when the process forked, and is not known here: "
                "call block_until_ready() on it before you fork."
            )
        self.done.wait()
        if self.error is not None:
            error, trace = self.error
            raise error.with_traceback(trace)


# ---- threads -------------------------------------------------------------------------------------


class Lane:
    """A thread that runs one job after the other."""

    def __init__(self, name):
        self.name, self.lock = name, threading.Lock()
        self.forget()

    def forget(self):
        """Begin anew: a forked child has none of its parent's threads."""
        self.jobs, self.thread = queue.Queue(IN_FLIGHT), None

    def start(self):
        """Start the thread, if it does not run yet."""
        with self.lock:
            if self.thread is None:
                self.thread = threading.Thread(
                    target=work_forever, args=(self.jobs,), name=self.name, daemon=True
                )
                self.thread.start()

    def submit(self, work, avals):
        """Run work() after what was submitted before -> Arrays of its results."""
        if self.thread is None:
            self.start()
        job = Job(work, avals, self)
        results = job.results
        self.jobs.put(job)
        return results


def work_forever(jobs):
    """What the thread of a lane does."""
    while True:
        job = jobs.get()
        job.run()
        del job  # or its arrays would live until the next one comes
        jobs.task_done()


KERNELS = Lane("tinyjax-kernels")
CALLBACKS = Lane("tinyjax-callbacks")  # a Python function may wait for kernels, which go on
LANES = (KERNELS, CALLBACKS)
_closed = False


def in_lane():
    """Whether this thread is one of ours: it would wait for itself."""
    thread = threading.current_thread()
    return any(thread is lane.thread for lane in LANES)


def finish():
    """Wait until everything that was submitted has run."""
    if not in_lane():
        for lane in (CALLBACKS, KERNELS):  # what a callback calls runs in its own lane
            lane.jobs.join()


def close():
    """Python ends: nobody will see the results of programs that have not begun."""
    global _closed
    _closed = True
    finish()


def forget_threads():
    """In a forked child."""
    for lane in LANES:
        lane.lock = threading.Lock()
        lane.forget()


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=finish, after_in_child=forget_threads)


# ---- here or there -------------------------------------------------------------------------------


class Dispatcher:
    """Runs a program that may be long: here or in the thread, as it took the last time."""

    def __init__(self, run, jaxpr):
        self.run, self.avals = run, [v.aval for v in jaxpr.outvars]
        self.lane = CALLBACKS if calls_python(jaxpr) else KERNELS
        self.seconds = seconds(jaxpr) / 4  # before the first time: only if it is surely long

    def __call__(self, args):
        if self.seconds < LONG or not may_submit():
            return self.measured(args)
        for x in args:  # a lane that waited for the other one could stop both
            if type(x) is PendingArray and x.job[1].lane is not self.lane:
                x.block_until_ready()
        return self.lane.submit(lambda: self.measured(args), self.avals)

    def measured(self, args):
        """Run now."""
        for x in args:  # what it waits for is not its own time
            x.block_until_ready()
        start = perf_counter()
        outs = self.run(args)
        self.seconds = perf_counter() - start
        return outs


def may_submit():
    """Whether this thread may leave work to the other one."""
    return current_flags().cpu_enable_async_dispatch and not _closed and not in_lane()


def dispatching(run, jaxpr):
    """`run`, or what runs it in the thread if it takes long."""
    certain = seconds(jaxpr) < MAYBE_LONG and not has_unknown(jaxpr)
    if certain or effects(jaxpr) or any(is_key(v) for v in jaxpr.outvars):
        return run
    return Dispatcher(run, jaxpr)
