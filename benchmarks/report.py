"""What is made of the measurements: the table and the JSON file."""

import importlib.metadata
import os
import platform
import sys
from pathlib import Path

from benchmarks.runner import WORLDS
from benchmarks.text import aligned, geometric_mean, in_words, share

RATIOS = {"run": "run", "first": "first", "peak": "memory"}  # figure -> its word in the table


# ---- the table -----------------------------------------------------------------------------------


def table(outcomes):
    """A line for each workload that was measured, then geometric mean and worst of each ratio."""
    done = [o for o in outcomes if not o.error]
    if not done:
        return "Nothing was measured."
    head = ["workload", "tinyjax", "jax", *RATIOS.values()]
    rows = [row(o) for o in done]
    last = [summary_row(word, pick, done) for word, pick in SUMMARIES.items()]
    lines = aligned([head, *rows, *last])
    rule = "-" * len(lines[0])
    return "\n".join([lines[0], rule, *lines[1 : 1 + len(rows)], rule, *lines[1 + len(rows) :]])


SUMMARIES = {"geometric mean": geometric_mean, "worst": max}


def row(outcome):
    """The cells of a workload."""
    times = [in_words(outcome.median(world, "run")) for world in WORLDS]
    return [outcome.workload.name, *times, *[share(outcome.ratio(f)) for f in RATIOS]]


def summary_row(word, pick, done):
    """The cells of a line below the rule."""
    return [word, "", "", *[share(pick([o.ratio(f) for o in done])) for f in RATIOS]]


EXPLANATION = """tinyjax, jax: time of a call. run, first, memory: tinyjax by jax, less is better,
of a call, of the first call (tracing and compiling), of the most memory that processes held."""


def failures(outcomes):
    """What went wrong, and in which workloads; an empty text if nothing did."""
    failed = {}
    for o in outcomes:
        if o.error:
            failed.setdefault(o.error, []).append(o.workload.name)
    return "\n\n".join(f"FAILED {', '.join(names)}: {error}" for error, names in failed.items())


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


def content(outcomes, settings):
    """Everything that was measured, made of what JSON knows."""
    done = [o for o in outcomes if not o.error]
    return {
        "machine": machine(),
        "settings": {"rounds": settings.rounds, "seconds": settings.seconds},
        "workloads": [entry(o) for o in outcomes],
        "summary": {
            word: {figure: pick([o.ratio(figure) for o in done]) for figure in RATIOS}
            for word, pick in SUMMARIES.items()
            if done
        },
    }


DESCRIPTION = ("name", "group", "module", "doc", "timed", "devices")


def entry(outcome):
    """One workload in the file. Times are in seconds, memory in bytes."""
    out = {key: getattr(outcome.workload, key) for key in DESCRIPTION}
    if outcome.error:
        return out | {"error": outcome.error}
    medians = {w: {f: outcome.median(w, f) for f in outcome.rounds[w]} for w in WORLDS}
    ratios = {figure: outcome.ratio(figure) for figure in RATIOS}
    return out | medians | {"ratio": ratios, "rounds": outcome.rounds}
