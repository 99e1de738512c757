"""What is made of the measurements: the table and the JSON file."""

import importlib.metadata
import json
import math
import os
import platform
import sys
from pathlib import Path

from benchmarks.runner import FIGURES, WORLDS

RATIOS = {"run": "run", "first": "first", "peak": "memory"}  # figure -> its word in the table


def geometric_mean(numbers):
    """The n-th root of the product of n positive numbers."""
    return math.exp(math.fsum(map(math.log, numbers)) / len(numbers))


def in_words(seconds):
    """A time with its unit.

    >>> in_words(0.0000123), in_words(0.5), in_words(12)
    ('12.3 us', '500 ms', '12 s')
    """
    for unit, size in (("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def share(ratio):
    """A ratio as the table shows it.

    >>> share(0.4567), share(0.00123), share(12.3)
    ('0.46x', '0.001x', '12.30x')
    """
    return f"{ratio:.2f}x" if ratio >= 0.095 else f"{ratio:.3f}x"


# ---- the table -----------------------------------------------------------------------------------


def table(outcomes):
    """A line for each workload that was measured, then geometric mean and worst of each ratio."""
    done = [o for o in outcomes if not o.error]
    if not done:
        return "Nothing was measured."
    head = ["workload", "tinyjax", "jax", *RATIOS.values()]
    rows = [row(o) for o in done]
    last = [summary_row(word, pick, done) for word, pick in SUMMARIES.items()]
    widths = [max(map(len, column)) for column in zip(head, *rows, *last)]
    rule = "-" * (sum(widths) + 2 * len(widths) - 2)
    lines = [line(cells, widths) for cells in (head, *rows, *last)]
    return "\n".join([lines[0], rule, *lines[1 : 1 + len(rows)], rule, *lines[1 + len(rows) :]])


SUMMARIES = {"geometric mean": geometric_mean, "worst": max}


def row(outcome):
    """The cells of a workload."""
    times = [in_words(outcome.median(world, "run")) for world in WORLDS]
    return [outcome.workload.name, *times, *[share(outcome.ratio(f)) for f in RATIOS]]


def summary_row(word, pick, done):
    """The cells of a line below the rule."""
    return [word, "", "", *[share(pick([o.ratio(f) for o in done])) for f in RATIOS]]


def line(cells, widths):
    """Cells side by side, numbers to the right."""
    first, *others = [
        cell.ljust(width) if k == 0 else cell.rjust(width)
        for k, (cell, width) in enumerate(zip(cells, widths))
    ]
    return "  ".join([first, *others]).rstrip()


EXPLANATION = """tinyjax, jax: time of a call. run, first, memory: tinyjax by jax, less is better,
of a call, of the first call (tracing and compiling), of the most memory that processes held."""


def failures(outcomes):
    """What went wrong, workload by workload; an empty text if nothing did."""
    failed = [o for o in outcomes if o.error]
    return "\n\n".join(f"FAILED {o.workload.name}: {o.error}" for o in failed)


# ---- the file ------------------------------------------------------------------------------------


def machine():
    """Where it ran."""
    names = ("jax", "jaxlib", "numpy", "numba")
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "versions": {name: importlib.metadata.version(name) for name in names},
    }


def processor():
    """The model of the processor."""
    if sys.platform == "linux":
        for text in Path("/proc/cpuinfo").read_text().splitlines():
            if text.startswith("model name"):
                return text.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def as_json(outcomes, settings):
    """Everything that was measured, as one text."""
    done = [o for o in outcomes if not o.error]
    content = {
        "machine": machine(),
        "settings": {"rounds": settings.rounds, "seconds": settings.seconds},
        "workloads": [entry(o) for o in outcomes],
        "summary": {
            word: {figure: pick([o.ratio(figure) for o in done]) for figure in RATIOS}
            for word, pick in SUMMARIES.items()
            if done
        },
    }
    return json.dumps(content, indent=1) + "\n"


def entry(outcome):
    """One workload in the file. Times are in seconds, memory in bytes."""
    out = {"name": outcome.workload.name, "doc": outcome.workload.doc}
    if outcome.error:
        return out | {"error": outcome.error}
    medians = {w: {f: outcome.median(w, f) for f in FIGURES} for w in WORLDS}
    ratios = {figure: outcome.ratio(figure) for figure in RATIOS}
    return out | medians | {"ratio": ratios, "rounds": outcome.rounds}
