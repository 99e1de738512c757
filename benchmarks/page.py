"""Write the figures of a run into the page on performance.

    $ make bench                                     # on a machine with nothing else to do
    $ python -m benchmarks.page                      # from benchmarks/results/latest.json
    $ python -m benchmarks.page FILE --page PAGE

What stands between the two marks on the page is replaced, and the two charts that it shows (for
light and for dark screens) are drawn into the folder `assets` beside it.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks import chart, goals
from benchmarks.reasons import REASONS
from benchmarks.runner import ROOT, WORLDS
from benchmarks.text import in_words, share

BEGIN = "<!-- figures: python -m benchmarks.page writes what follows -->"
END = "<!-- end of figures -->"
INKS = {"light": "#222222", "dark": "#dddddd"}
COUNTED = (
    "The means of the goals count calls on one device. The chart shows every workload, and "
    "its mean counts them all."
)
SLOW, SLOW_FIRST = 1.1, 3.0  # ratios from which on a workload is told to lose


def main(arguments=None):
    """Run the command -> its exit code: 0, or 2 if a file is not as it should be."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.page", description=__doc__.partition("\n")[0]
    )
    results = ROOT / "benchmarks" / "results" / "latest.json"
    parser.add_argument("results", nargs="?", type=Path, default=results)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "performance.md")
    settings = parser.parse_args(arguments)
    try:
        content = json.loads(settings.results.read_text())
        text = replaced(settings.page.read_text(), figures(content))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    settings.page.write_text(text)
    folder = settings.page.parent / "assets"
    folder.mkdir(exist_ok=True)
    for mode, ink in INKS.items():
        chart.draw(content["workloads"], folder / f"benchmarks-{mode}.svg", ink)
    print(f"{settings.page}: {len(content['workloads'])} workloads")
    return 0


def replaced(page, text):
    """The page with other text between the marks. Raises ValueError if they are not there."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"The page needs the lines\n{BEGIN}\n{END}")
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def figures(content):
    """Everything between the marks. Raises ValueError if nothing was measured."""
    done = [w for w in content["workloads"] if "error" not in w]
    if not done:
        raise ValueError("Nothing was measured in that run.")
    parts = [where(content), goal_table(done), picture(done), losses(done), full_table(done)]
    return "\n\n".join(parts)


# ---- the parts -----------------------------------------------------------------------------------


def where(content):
    """The machine and the versions."""
    machine, settings = content["machine"], content["settings"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    return (
        f"Measured on {machine['processor']} with {machine['cores']} cores, {machine['system']}, "
        f"Python {machine['python']}, {versions}: medians of {settings['rounds']} processes for "
        "each workload and side, which took turns. Both sides use the cores as they do by default."
    )


def goal_table(workloads):
    """The goals and what was found."""
    rows = [
        [v.goal.words, v.goal.show(v.goal.limit), v.goal.show(v.found), goals.in_a_word(v)]
        for v in goals.judge(workloads)
    ]
    return markdown(["goal", "at most", "found", ""], rows)


def picture(workloads):
    """The charts: the theme shows the one that fits the screen."""
    words = chart.in_words(workloads)
    images = "\n".join(f"![{words}](assets/benchmarks-{mode}.svg#only-{mode})" for mode in INKS)
    return f"{COUNTED}\n\n{images}"


def losses(workloads):
    """Which workloads are slower than on JAX: below each reason those that it explains."""
    slow = [w for w in workloads if w["ratio"]["run"] > SLOW]
    late = [w for w in workloads if w["timed"] == "call" and w["ratio"]["first"] > SLOW_FIRST]
    parts = ["## Where tinyjax still loses"]
    if not slow and not late:
        return "\n\n".join([*parts, "In no workload of this run."])
    explained: dict[str, list[str]] = {}
    for found, figure, what in ((slow, "run", "a call"), (late, "first", "the first call")):
        for w in sorted(found, key=lambda w: -w["ratio"][figure]):
            line = f"- {what} of `{w['name']}` ({w['doc']}): {compared(w, figure)}"
            explained.setdefault(reason(w), []).append(line)
    for why, lines in explained.items():
        parts += [why or "Not looked into yet:", "\n".join(lines)]
    return "\n\n".join(parts)


def compared(w, figure):
    """A ratio and what it is made of."""
    times = [in_words(w[world][figure]) for world in WORLDS]
    return f"{share(w['ratio'][figure])}, {times[0]} where JAX takes {times[1]}"


def reason(w):
    """Why a workload is slow, if that is known."""
    return REASONS.get(w["name"]) or REASONS.get(w["group"]) or ""


def full_table(workloads):
    """All workloads by the file they stand in."""
    lines = ["## All workloads", ""]
    lines += ["run, first, memory: tinyjax's by JAX's ([how to read it](benchmarks.md)).", ""]
    rows = []
    for w in workloads:
        times = [in_words(w[world]["run"]) for world in WORLDS]
        ratios = [share(w["ratio"][figure]) for figure in ("run", "first", "peak")]
        rows.append([f"`{w['name']}`", w["doc"], *times, *ratios])
    head = ["workload", "what it is", "tinyjax", "JAX", "run", "first", "memory"]
    return "\n".join(lines) + "\n" + markdown(head, rows)


def markdown(head, rows):
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(c.replace('|', '&#124;') for c in line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
