"""What the tests of the local engine share: an engine of their own, and looks at processes."""

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tinyjax.parallel import engine as engines
from tinyjax.parallel.local import LocalEngine

ROOT = Path(__file__).parent.parent


@contextlib.contextmanager
def local_engine(**options):
    """A local engine that pmap uses in this block."""
    new = LocalEngine(**options)
    old = engines.use(new)
    try:
        yield new
    finally:
        engines.use(old)
        new.close()


def run_script(text, *arguments, stdin=False, timeout=100, **environment):
    """Run a program from a file without a guard, or from stdin -> what it prints."""
    command = [sys.executable, "-", *arguments] if stdin else [sys.executable, *arguments]
    done = subprocess.run(
        command,
        input=text if stdin else None,
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def until(condition, seconds=30.0):
    """Wait for a condition; fails after so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


def alive(pid):
    """Whether a process runs (a zombie does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def family(pid):
    """The children of a process, and theirs."""
    found = []
    for line in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            for child in (line / "children").read_text().split():
                found += [int(child), *family(int(child))]
    return found


def descriptors(pid="self"):
    """How many files a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident(pid="self"):
    """Bytes of memory of a process that are not shared files."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) << 10
    raise AssertionError("no RssAnon")


def shared(pid="self"):
    """Bytes of shared memory that a process has mapped and touched."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssShmem"):
            return int(line.split()[1]) << 10
    raise AssertionError("no RssShmem")


def equal(a, b):
    """Assert that two arrays are the same, bit by bit."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype and a.shape == b.shape
    assert a.tobytes() == b.tobytes()


linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
