"""Where the time of a compiled program goes: its driver is run with a clock around every call.

The driver is a Python function, and finds kernels and call-outs by their names among its globals.
So the same code with other globals, each of them the function between two looks at a clock, is the
same program, watched.
"""

import functools
import types
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from tinyjax.compiler.threads import planned

ENOUGH = 0.2  # seconds of runs
LEAST = 5  # runs
MAKERS = ("new_", "take_", "give_", "contiguous")  # how names of what makes arrays begin


@dataclass
class Row:
    """What is known of a kernel or call-out, per run: how often it was called, for how long, and
    how much memory its operands and results fill."""

    name: str
    calls: int = 0
    threads: int = 1
    bytes: int = 0
    times: list[float] = field(default_factory=list, repr=False)  # of each run

    @property
    def seconds(self):
        """The median over the runs."""
        return float(np.median(self.times))


@dataclass
class Profile:
    """The rows, in the order of the first calls, and the time of a whole run. Printing it shows a
    table, whose last rows are the memory for results and the Python code between the calls."""

    name: str
    rows: list[Row]
    memory: Row
    seconds: float

    @property
    def between(self):
        """Seconds that are not spent in kernels, call-outs or making arrays."""
        return max(0.0, self.seconds - sum(row.seconds for row in [*self.rows, self.memory]))

    def __str__(self):
        lines = [["", "calls", "threads", "time", "bytes", "GB/s", "share"]]
        for row in self.rows:
            speed = f"{row.bytes / row.seconds / 1e9:.1f}" if row.seconds else ""
            counts = [str(row.calls), str(row.threads)]
            lines.append([row.name, *counts, *self.time(row.seconds, f"{row.bytes:,}", speed)])
        lines.append(["(memory)", "", "", *self.time(self.memory.seconds)])
        lines.append(["(driver)", "", "", *self.time(self.between)])
        lines.append([self.name, "", "", *self.time(self.seconds)])
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join(
            "  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]).rstrip()
            for cells in lines
        )

    __repr__ = __str__

    def time(self, seconds, size="", speed=""):
        """The cells of a row from the time on."""
        share = 100 * seconds / self.seconds if self.seconds else 0.0
        unit, scale = ("ms", 1e3) if seconds >= 1e-3 else ("us", 1e6)
        return [f"{scale * seconds:.1f} {unit}", size, speed, f"{share:.0f} %"]


def size(operands):
    """Bytes of the arrays among operands, which may be tuples of them."""
    if isinstance(operands, np.ndarray):
        return operands.nbytes
    return sum(map(size, operands)) if isinstance(operands, (tuple, list)) else 0


# ---- measuring -----------------------------------------------------------------------------------


def profile(executable, args):
    """Run a program for a while -> its Profile. args: a list of Arrays.

    Raises RuntimeError for a program that could not be compiled.
    """
    outs = executable.here(args)
    if executable.failure is not None:
        raise RuntimeError(
            f"The program {executable.name!r} has no kernels to look at: it could not be compiled "
            f"and runs equation by equation ({executable.failure})."
        )
    del outs  # its memory serves the runs that are watched
    args = [x.block_until_ready() for x in args]
    watch = Watch(executable)
    watch.count(args)
    totals = [watch.time(args)]
    end = perf_counter() + ENOUGH
    while len(totals) < LEAST or perf_counter() < end:
        totals.append(watch.time(args))
    rows = list(watch.rows.values())
    return Profile(executable.driver.name, rows, watch.memory, float(np.median(totals)))


class Watch:
    """The driver of an executable with other globals: whatever it calls is counted, or timed."""

    def __init__(self, executable):
        self.code, self.space = executable.compiled.__code__, executable.compiled.__globals__
        self.rows, self.memory = {}, Row("(memory)")
        self.called = [name for name in self.code.co_names if self.is_called(name)]
        self.kernels = {kernel.name for kernel in executable.driver.kernels}

    def is_called(self, name):
        """Whether a global of the driver does work; the classes there cost next to nothing."""
        found = self.space.get(name)
        return callable(found) and not isinstance(found, type) and name != "in_parts"

    def row(self, name):
        """The row of a function, made when it is first called."""
        if name.startswith(MAKERS) and name not in self.kernels:
            return self.memory
        return self.rows.setdefault(name, Row(name))

    def count(self, args):
        """Run once, to learn what is called with how much memory."""

        def watched(name, function):
            def counting(*operands):
                out = function(*operands)
                row = self.row(name)
                row.calls += 1
                row.bytes += size(operands) + size(out)
                return out

            return counting

        self.run(watched, args)

    def time(self, args):
        """Run, and add the time of each function to its row -> seconds of all of it."""
        now = dict.fromkeys([*self.rows, self.memory.name], 0.0)

        def watched(name, function):
            name = self.row(name).name

            def timing(*operands):
                begin = perf_counter()
                out = function(*operands)
                now[name] += perf_counter() - begin
                return out

            return timing

        begin = perf_counter()
        self.run(watched, args)
        total = perf_counter() - begin
        for row in [*self.rows.values(), self.memory]:
            row.times.append(now[row.name])
        return total

    def run(self, watched, args):
        """Run the driver, each function replaced by watched(its name, the function)."""
        ours = {name: watched(name, self.space[name]) for name in self.called}
        names = {ours[name]: name for name in self.kernels & ours.keys()}

        def in_parts(kernel, *operands):
            """Threads share a kernel: all of them together are watched."""
            name = names[kernel]
            self.row(name).threads = planned()
            share = functools.partial(self.space["in_parts"], self.space[name])
            watched(name, share)(*operands)

        types.FunctionType(self.code, self.space | ours | {"in_parts": in_parts})(args)
