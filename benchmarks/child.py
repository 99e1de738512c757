"""One workload in one world: what a fresh process runs.

    python -m benchmarks.child '{"workload": "selu_1m", "world": "jax", ...}' FILE

FILE receives the measurements as JSON. Whatever the workload prints goes where it always goes.
"""

import gc
import importlib
import json
import statistics
import sys
import time

from benchmarks.memory import forget_peak, peak_memory, workers_memory
from benchmarks.registry import SHAPES
from benchmarks.workloads import load

BATCH = 2e-3  # seconds: calls are timed in batches that take about this long
BLOCK = 9  # batches: a block's time is the median over them
WARM = 0.1  # seconds of calls before the clock counts


def measure(workload, world, seconds, started):
    """Everything that is measured -> {"first": seconds, "run": seconds, "peak": bytes, ...}."""
    jax, jnp = importlib.import_module(world), importlib.import_module(f"{world}.numpy")
    fresh = workload.timed == "start"
    if not fresh:  # load the compiler: "first" is about a new function, not a new process
        jax.block_until_ready(jax.jit(lambda x: x * 2 + 1)(jnp.ones(3)))
    run = workload.make(jax, jnp, **workload.params)
    forget_peak()
    before = peak_memory()
    begin = time.perf_counter()
    result = jax.block_until_ready(run())
    first = time.perf_counter() - begin
    if fresh:
        first = time.time() - started
    out = {"first": first, "result": summary(jax, result), "output": output_bytes(jax, result)}
    wait = waiter(jax, result)
    del result  # from now on one result is held at a time
    if not fresh:
        compiled = kernels_compiled(world)
        out["run"] = CLOCKS[workload.timed](run, wait, seconds)
        out["recompiled"] = kernels_compiled(world) - compiled
    peak, workers = peak_memory(), workers_memory()
    growth = peak - before
    out |= {"growth": growth, "excess": growth - out["output"]}
    if workload.timed == "numpy":
        out["numpy"] = time_of_run(run.numpy, lambda out: out, seconds)
    return out | {"peak": peak + workers, "workers": workers}


def kernels_compiled(world):
    """How many kernels this process has compiled; of JAX we cannot tell, so 0."""
    if world != "tinyjax":
        return 0
    return importlib.import_module("tinyjax.runtime").kernel_counts().compiled


def waiter(jax, result):
    """The quickest function that waits for such a result."""
    if hasattr(result, "block_until_ready"):
        return lambda out: out.block_until_ready()
    return jax.block_until_ready


def summary(jax, result):
    """Shapes and mean sizes of a result's arrays, by which the two worlds are compared."""
    return [[list(x.shape), mean_size(x)] for x in leaves(jax, result) if x.size]


def leaves(jax, result):
    """The arrays of a result, as NumPy's."""
    import numpy as np

    return [np.asarray(x) for x in jax.tree_util.tree_leaves(result)]


def mean_size(array, piece=1 << 16):
    """The mean of the absolute values, taken in pieces: a large temporary would count as memory."""
    import numpy as np

    flat = array.reshape(-1)
    pieces = (flat[k : k + piece] for k in range(0, flat.size, piece))
    return float(sum(np.abs(p).sum(dtype=np.float64) for p in pieces) / flat.size)


def output_bytes(jax, result):
    """How much memory a result's arrays take."""
    return sum(x.nbytes for x in leaves(jax, result))


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


def time_until_return(run, wait, seconds):
    """Seconds until a call returns, whether or not its result is there: a median over calls that
    wait for one another, off the clock."""
    wait(run())
    end, times = time.perf_counter() + seconds, []
    while len(times) < BLOCK or time.perf_counter() < end:
        begin = time.perf_counter()
        out = run()
        times.append(time.perf_counter() - begin)
        wait(out)
    return statistics.median(times)


def time_of_new_shapes(run, wait, seconds):
    """Seconds of a call whose operands have a new shape: the median over the few that there are."""
    times = []
    for _ in range(SHAPES - 1):  # the first call has been made
        begin = time.perf_counter()
        wait(run())
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


CLOCKS = {
    "call": time_of_run,
    "memory": time_of_run,
    "numpy": time_of_run,
    "returns": time_until_return,
    "shapes": time_of_new_shapes,
}


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
