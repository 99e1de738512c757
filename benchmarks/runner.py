"""The processes: each measurement in a fresh one, the two worlds in turn."""

import contextlib
import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORLDS = ("tinyjax", "jax")
FIGURES = ("first", "run", "peak", "growth")  # in seconds and bytes; some workloads have more
# Results of the two worlds agree to this (mean sizes of arrays): far off, they measure two things.
SAME = 1e-2


class Failed(Exception):
    """A workload that gave no measurement; the text says why."""


@dataclass
class Outcome:
    """What came of one workload: {world: {figure: [one number per round]}}, or why nothing did."""

    workload: object
    rounds: dict = field(default_factory=lambda: {world: {} for world in WORLDS})
    results: dict = field(default_factory=dict)
    error: str = ""

    def median(self, world, figure):
        """The median over the rounds."""
        return statistics.median(self.rounds[world][figure])

    def ratio(self, figure):
        """tinyjax's median by jax's."""
        return self.median("tinyjax", figure) / self.median("jax", figure)


def measure(workload, rounds, settings, tick=lambda: None):
    """Run a workload `rounds` times in each world, in turn -> its Outcome. tick: after each run."""
    outcome = Outcome(workload)
    try:
        for _ in range(rounds):
            for world in WORLDS:
                measured = one_round(workload, world, settings)
                outcome.results[world] = measured.pop("result")
                for figure, number in measured.items():
                    outcome.rounds[world].setdefault(figure, []).append(number)
                tick()
        check_same(*[outcome.results[world] for world in WORLDS])
    except Failed as error:
        outcome.error = str(error)
    return outcome


def check_same(ours, theirs):
    """Raises Failed if the worlds computed different things."""
    same = len(ours) == len(theirs) and all(
        a[0] == b[0] and (math.isclose(a[1], b[1], rel_tol=SAME, abs_tol=1e-6) or a[1] != a[1])
        for a, b in zip(ours, theirs)
    )
    if not same:
        raise Failed(
            "The two worlds give different results ([shape, mean size] of each array):\n"
            f"tinyjax: {ours}\njax:     {theirs}"
        )


# ---- one process ---------------------------------------------------------------------------------


def one_round(workload, world, settings):
    """Figures of one fresh process with an empty cache; of two that share it if it is about the
    start of processes: the second is the `run`."""
    cache = tempfile.mkdtemp(prefix="tinyjax-benchmark-")
    try:
        measured = run_child(workload, world, settings, cache)
        if workload.timed == "start":
            measured["run"] = run_child(workload, world, settings, cache)["first"]
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    return measured


def run_child(workload, world, settings, cache):
    """Run benchmarks.child. Raises Failed with what it printed."""
    file = Path(cache) / "measured.json"
    task = {"workload": workload.name, "world": world, "seconds": settings.seconds}
    task["files"] = [os.path.abspath(path) for path in settings.file]
    command = [sys.executable, "-m", "benchmarks.child"]
    task["started"] = time.time()
    with subprocess.Popen(
        [*command, json.dumps(task), str(file)],
        cwd=ROOT,
        env=environment(os.environ, workload, cache),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=settings.timeout)
        except subprocess.TimeoutExpired:
            raise Failed(f"{world}: no result after {settings.timeout:g} s") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode or not file.exists():
        raise Failed(f"{world}: {how_it_ended(process.returncode)}\n{said.strip()}")
    return json.loads(file.read_text())


def how_it_ended(code):
    """The exit code of a process in words."""
    if code < 0:
        return f"the process was killed by {signal.Signals(-code).name}"
    return f"the process ended with exit code {code}"


def environment(outer, workload, cache):
    """The variables of a child: both worlds as they are by default, with the workload's devices."""
    env = dict(outer)
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # BLAS chooses by the machine
        env.pop(name, None)
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # JAX was compiled to bytecode when it was installed
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), outer.get("PYTHONPATH")]))
    env["JAX_PLATFORMS"] = "cpu"
    env["TINYJAX_NUM_DEVICES"] = str(workload.devices)
    flags = re.sub(r"--xla_force_host_platform_device_count=\d+", "", outer.get("XLA_FLAGS", ""))
    env["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={workload.devices}".strip()
    env["TINYJAX_CACHE_DIR"] = f"{cache}/tinyjax"
    if workload.timed == "start":  # jax has a cache on disk, too, if it is asked to
        env["JAX_COMPILATION_CACHE_DIR"] = f"{cache}/jax"
        env["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        env["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    return env
