"""Functions of Python that are not pure: input and output, clocks, entropy of the system."""

import _thread
import _warnings
import datetime
import io
import os
import sys
import time
from typing import NamedTuple

from tinyjax.source import Source

_TIME = """time time_ns perf_counter perf_counter_ns monotonic monotonic_ns process_time
    process_time_ns thread_time localtime gmtime ctime strftime asctime"""
_OS = """system popen remove unlink rename mkdir makedirs rmdir listdir scandir open write read
    replace"""
C_FUNCTIONS = {
    **{getattr(time, name): ("time", f"time.{name}") for name in _TIME.split()},
    **{getattr(os, n): ("I/O", f"os.{n}") for n in _OS.split() if hasattr(os, n)},
    time.sleep: ("time", "time.sleep"),
    os.urandom: ("entropy", "os.urandom"),
    os.getrandom if hasattr(os, "getrandom") else os.urandom: ("entropy", "os.urandom"),
    id: ("entropy", "id"),
    _warnings.warn: ("I/O", "warnings.warn"),
    _thread.start_new_thread: ("thread", "threading.Thread.start"),
    print: ("I/O", "print"),
    input: ("I/O", "input"),
    open: ("I/O", "open"),
}
_FILE_METHODS = {"write", "read", "readline", "readlines", "writelines", "flush"}
# module: (kind, names of its functions; empty for all)
PYTHON_FUNCTIONS = {
    "threading": ("thread", "start"),
    "concurrent.futures.thread": ("thread", "submit"),
    "pprint": ("I/O", "pprint pp"),
    "warnings": ("I/O", "warn"),
    "logging": ("I/O", "debug info warning error exception critical log"),
    "secrets": ("entropy", ""),
    "uuid": ("entropy", "uuid1 uuid4"),
    "subprocess": ("I/O", ""),
    "shutil": ("I/O", ""),
    "tempfile": ("I/O", ""),
    "urllib.request": ("I/O", ""),
    "os": ("I/O", "popen makedirs removedirs walk fdopen"),
    "pathlib": ("I/O", "open read_text read_bytes write_text write_bytes mkdir touch unlink"),
    "pathlib._local": (
        "I/O",
        "open read_text read_bytes write_text write_bytes mkdir touch unlink",
    ),
    "numpy.lib._npyio_impl": ("I/O", "load save savez savez_compressed loadtxt savetxt genfromtxt"),
    "IPython.core.display_functions": ("I/O", "display"),
    "ipykernel.kernelbase": ("I/O", "raw_input"),
    "ipykernel.iostream": ("I/O", "write"),
    "random": ("entropy", ""),  # of random.SystemRandom; others show in the generator's state
}


class Call(NamedTuple):
    """A call, by a line of the user, of something that is not pure."""

    kind: str
    name: str
    source: Source


def c_call(function):
    """(kind, name) if a function written in C is not pure, or None."""
    owner = getattr(function, "__self__", None)
    try:
        known = C_FUNCTIONS.get(function)
    except TypeError:  # a method of something without a hash
        known = None
    if known:
        return known
    name = getattr(function, "__name__", "")
    is_date = isinstance(owner, type) and issubclass(owner, datetime.date)
    if is_date and name in ("now", "today", "utcnow"):
        return "time", f"{owner.__name__}.{name}"
    if name in _FILE_METHODS and isinstance(owner, io.IOBase):
        if owner in (sys.stdout, sys.stderr, sys.stdin):
            which = {id(sys.stdout): "stdout", id(sys.stderr): "stderr"}.get(id(owner), "stdin")
            return "I/O", f"sys.{which}.{name}"
        if not isinstance(owner, (io.StringIO, io.BytesIO)):  # which are lists of a kind
            return "I/O", f"file.{name}"
    return None


def python_call(frame):
    """(kind, name) if a function of Python's library is not pure, or None."""
    module = frame.f_globals.get("__name__", "")
    kind, names = PYTHON_FUNCTIONS.get(module, (None, ""))
    code = frame.f_code
    if frame.f_locals.get("self") is os.environ and code.co_name in ("__getitem__", "get"):
        return "I/O", "os.environ"
    if module == "os" and code.co_name == "getenv":
        return "I/O", "os.environ"
    if kind is None or (names and code.co_name not in names.split()) or code.co_name[0] in "_<":
        return None
    if module == "random" and type(frame.f_locals.get("self")).__name__ != "SystemRandom":
        return None
    if kind == "thread":
        return kind, "threading.Thread.start" if module == "threading" else "Executor.submit"
    return kind, f"{module.partition('.')[0]}.{code.co_name}"
