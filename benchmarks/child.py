"""One workload in one world: what a fresh process runs.

    python -m benchmarks.child '{"workload": "selu_1m", "world": "jax", ...}' FILE

FILE receives the measurements as JSON. Whatever the workload prints goes where it always goes.
"""

import gc
import importlib
import json
import sys
import time

from benchmarks.memory import forget_peak, peak_memory, workers_memory
from benchmarks.workloads import load

BATCH = 2e-3  # seconds: calls are timed in batches that take about this long
BLOCK = 9  # batches: a block's time is the median over them
WARM = 0.1  # seconds of calls before the clock counts


def measure(workload, world, seconds, started):
    """Everything that is measured -> {"first": seconds, "run": seconds, "peak": bytes, ...}."""
    jax, jnp = importlib.import_module(world), importlib.import_module(f"{world}.numpy")
    if not workload.fresh:  # load the compiler: "first" is about a new function, not a new process
        jax.block_until_ready(jax.jit(lambda x: x * 2 + 1)(jnp.ones(3)))
    run = workload.make(jax, jnp, **workload.params)
    forget_peak()
    before = peak_memory()
    begin = time.perf_counter()
    result = jax.block_until_ready(run())
    first = time.perf_counter() - begin
    if workload.fresh:
        first = time.time() - started
    out = {"first": first, "result": summary(jax, result)}
    if not workload.fresh:
        out["run"] = time_of_run(run, waiter(jax, result), seconds)
    peak, workers = peak_memory(), workers_memory()
    return out | {"peak": peak + workers, "growth": peak - before, "workers": workers}


def waiter(jax, result):
    """The quickest function that waits for such a result."""
    if hasattr(result, "block_until_ready"):
        return lambda out: out.block_until_ready()
    return jax.block_until_ready


def summary(jax, result):
    """Shapes and mean sizes of a result's arrays, by which the two worlds are compared."""
    import numpy as np

    arrays = [np.asarray(x) for x in jax.tree_util.tree_leaves(result)]
    return [[list(x.shape), float(np.abs(x).mean(dtype=np.float64))] for x in arrays if x.size]


# ---- the clock -----------------------------------------------------------------------------------


def time_of_run(run, wait, seconds):
    """Seconds that a call takes, its result awaited: the smallest of the medians of blocks.

    A block lasts some 20 ms, so a disturbance spoils a few blocks, and not the result.
    """
    calls = warm_up(run, wait)
    end = time.perf_counter() + seconds
    blocks = []
    gc.collect()
    while not blocks or time.perf_counter() < end:
        times = [time_of_batch(run, wait, calls) for _ in range(BLOCK)]
        blocks.append(sorted(times)[BLOCK // 2])
    return min(blocks)


def warm_up(run, wait):
    """Run for a while -> how many calls make a batch."""
    begin, calls = time.perf_counter(), 0
    while calls < 3 or time.perf_counter() < begin + WARM:
        wait(run())
        calls += 1
    return max(1, round(BATCH * calls / (time.perf_counter() - begin)))


def time_of_batch(run, wait, calls):
    """Seconds per call."""
    begin = time.perf_counter()
    for _ in range(calls):
        wait(run())
    return (time.perf_counter() - begin) / calls


if __name__ == "__main__":
    task = json.loads(sys.argv[1])
    task["workload"] = load(task.pop("files"))[task["workload"]]
    measured = measure(**task)
    with open(sys.argv[2], "w") as file:
        json.dump(measured, file)
