"""What all tests share: workers that do not grow."""

import itertools
import os
import subprocess
import sys

import jax
import pytest

import tinyjax

tinyjax.config.update("tinyjax_traceback", "full")  # who tests wants to see it all
jax.config.update("jax_num_cpu_devices", 8)  # as many as tinyjax has: the oracle of pmap
collect_ignore = [
    "transcripts",  # cells, which test_transcripts.py runs in both worlds
    "offline",  # changes the process that imports it; test_chapters.py gives it to kernels
]
EVERY = 1500  # tests; by then the caches of compiled programs hold a gigabyte or more
_count = itertools.count(1)


def pytest_runtest_teardown():
    """Both worlds keep every program that they compiled; the tests of a worker are thousands."""
    if next(_count) % EVERY == 0:
        jax.clear_caches()
        tinyjax.clear_caches()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """A test marked `apart` runs in a process of its own: a Ctrl-C that it sends could otherwise
    hit pytest, and end all."""
    if pyfuncitem.get_closest_marker("apart") is None or "TINYJAX_APART" in os.environ:
        return None
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, pyfuncitem.nodeid],
        cwd=pyfuncitem.config.rootpath,
        env={**os.environ, "TINYJAX_APART": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode:
        pytest.fail(f"{done.stdout}\n{done.stderr}", pytrace=False)
    return True
