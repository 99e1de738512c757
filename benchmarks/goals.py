"""The goals of speed, and whether figures meet them.

Figures are those of the JSON file that the command writes. A goal is a bound on one number (a
geometric mean) or on a number of each of several workloads.
"""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.text import aligned, geometric_mean, in_bytes, in_words, share


@dataclass(frozen=True)
class Goal:
    """Numbers that are to be at most `limit`.

    figures: workloads -> {whose number it is: the number}.
    """

    words: str
    limit: float
    show: Callable
    figures: Callable


@dataclass(frozen=True)
class Verdict:
    """A goal and what was found. missed: (whose number, how it reads), the worst first."""

    goal: Goal
    found: float
    missed: tuple

    @property
    def met(self):
        """Whether nothing is above the limit."""
        return not self.missed


def judge(workloads):
    """The verdicts on the goals about which something was measured."""
    done = [w for w in workloads if "error" not in w]
    verdicts = []
    for goal in GOALS:
        figures = goal.figures(done)
        if figures:
            above = [(n, x) for n, x in figures.items() if not x <= goal.limit]
            above.sort(key=lambda pair: -pair[1])
            missed = tuple((name, goal.show(number)) for name, number in above)
            verdicts.append(Verdict(goal, max(figures.values()), missed))
    return verdicts


# ---- which workloads, which numbers --------------------------------------------------------------


def suite(workloads):
    """Calls on one device, their results awaited: what we mean by all workloads."""
    return [w for w in workloads if w["timed"] == "call" and w["devices"] == 1]


def compiled(workloads):
    """Those of the suite that are jitted."""
    return [w for w in suite(workloads) if w["module"] != "eager"]


def timed(how):
    """A choice: workloads of which another time is taken than a call's."""
    return lambda workloads: [w for w in workloads if w["timed"] == how]


def groups(*names):
    """A choice: workloads of these groups."""
    return lambda workloads: [w for w in workloads if w["group"] in names]


def ratio(figure):
    """A number: tinyjax's by JAX's."""
    return lambda w: w["ratio"][figure]


def ours(figure):
    """A number: tinyjax's."""
    return lambda w: w["tinyjax"][figure]


def above_numpy(w):
    """A number: how much longer a call takes than NumPy's."""
    return w["tinyjax"]["run"] - w["tinyjax"]["numpy"]


def each(choice, number):
    """Figures: a number of each workload."""
    return lambda workloads: {w["name"]: number(w) for w in choice(workloads)}


def mean(choice, number):
    """Figures: one, the geometric mean."""

    def figures(workloads):
        numbers = [number(w) for w in choice(workloads)]
        return {f"the mean of {len(numbers)} workloads": geometric_mean(numbers)} if numbers else {}

    return figures


DISPATCH = groups("jit_call", "jit_call_tree")
EAGER = groups("eager_add", "eager_op")
BESIDES = 4 << 20  # bytes: stacks, tables of memory; one temporary would be ten times that

GOALS = [
    Goal("time of a call, geometric mean", 0.45, share, mean(suite, ratio("run"))),
    Goal("time of a call, each workload", 1.1, share, each(suite, ratio("run"))),
    Goal("call of a jitted function", 0.3, share, each(DISPATCH, ratio("run"))),
    Goal("the same, one array", 1.5e-6, in_words, each(groups("jit_call"), ours("run"))),
    Goal("eager operation", 0.25, share, each(EAGER, ratio("run"))),
    Goal("the same, above NumPy's time", 3e-6, in_words, each(groups("eager_op"), above_numpy)),
    Goal("long call returns", 1.1, share, each(timed("returns"), ratio("run"))),
    Goal("first call, geometric mean", 1.3, share, mean(compiled, ratio("first"))),
    Goal("first call, each workload", 3.0, share, each(compiled, ratio("first"))),
    Goal("first call of 1000 equations", 5.0, in_words, each(
        groups("thousand_equations"), ours("first"))),
    Goal("new shape of a known function", 0.2, share, each(timed("shapes"), ratio("run"))),
    Goal("kernels compiled for it", 0, str, each(timed("shapes"), ours("recompiled"))),
    Goal("fresh process, warm disk cache", 0.5, share, each(timed("start"), ratio("run"))),
    Goal("memory of a fused chain beyond its operands and result", BESIDES, in_bytes, each(
        groups("memory_of_chain"), ours("excess"))),
]  # fmt: skip


# ---- the table -----------------------------------------------------------------------------------

SHOWN = 4  # workloads that are named beside a goal that they miss


def table(workloads):
    """A line for each goal about which something was measured; an empty text if there is none."""
    verdicts = judge(workloads)
    if not verdicts:
        return ""
    rows = [[v.goal.words, v.goal.show(v.goal.limit), v.goal.show(v.found)] for v in verdicts]
    lines = aligned([["goal", "at most", "found"], *rows])
    said = ["", *map(in_a_word, verdicts)]
    full = [f"{line}  {word}".rstrip() for line, word in zip(lines, said)]
    return "\n".join([full[0], "-" * len(lines[0]), *full[1:]])


def in_a_word(verdict):
    """`met`, or who misses it."""
    if verdict.met:
        return "met"
    if len(verdict.missed) == 1:
        ((name, _),) = verdict.missed
        return f"missed by {name}"
    named = ", ".join(f"{name} {number}" for name, number in verdict.missed[:SHOWN])
    more = len(verdict.missed) - SHOWN
    return f"missed by {named}" + (f" and {more} more" if more > 0 else "")
