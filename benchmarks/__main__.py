"""The command: `python -m benchmarks [names]`."""

import argparse
import json
import math
import sys
from pathlib import Path

from benchmarks import goals, report
from benchmarks.registry import UnknownName, choose
from benchmarks.runner import ROOT, WORLDS, measure
from benchmarks.workloads import load

RESULTS = ROOT / "benchmarks" / "results"


def positive(kind):
    """A parser of positive numbers, for argparse."""

    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not (value > 0 and math.isfinite(value)):
            raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
        return value

    return parse


def parser():
    """What the command accepts."""
    out = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Runs the same programs on tinyjax and on jax, in fresh processes in turn, and "
        "prints tinyjax's time and memory as shares of jax's.",
    )
    out.add_argument(
        "names", nargs="*", help="names, groups, files or patterns ('pmap*'); default: all"
    )
    out.add_argument("--list", action="store_true", help="say what there is, and stop")
    out.add_argument(
        "--rounds", type=positive(int), default=3, help="processes per world (%(default)s)"
    )
    out.add_argument(
        "--seconds", type=positive(float), default=0.3, help="of timed calls each (%(default)s)"
    )
    out.add_argument(
        "--timeout", type=positive(float), default=300, help="seconds for a process (%(default)s)"
    )
    out.add_argument(
        "--output",
        type=Path,
        default=RESULTS / "latest.json",
        help="file for the figures; the chart lies beside it, as .png (%(default)s)",
    )
    out.add_argument(
        "--file", type=Path, action="append", default=[], help="a file with workloads of your own"
    )
    return out


def run(chosen, settings):
    """Measure all -> outcomes; after Ctrl-C those that are complete."""
    from tqdm import tqdm

    outcomes = []
    total = len(chosen) * settings.rounds * len(WORLDS)
    with tqdm(total=total, unit="run", leave=False, disable=None) as bar:
        for place, workload in enumerate(chosen, 1):
            bar.set_description(workload.name)
            try:
                outcome = measure(workload, settings.rounds, settings, bar.update)
            except KeyboardInterrupt:
                bar.write("Interrupted: what follows is about the workloads that were complete.")
                break
            outcomes.append(outcome)
            if not sys.stderr.isatty():  # there the bar tells how far it is
                print(f"{place}/{len(chosen)} {workload.name}", file=sys.stderr, flush=True)
            bar.n = place * settings.rounds * len(WORLDS)  # a failure skips some
            bar.refresh()
    return outcomes


def main(arguments=None):
    """Run the command -> its exit code: 0, 1 if a workload failed, 2 if the arguments are wrong,
    130 after Ctrl-C."""
    command = parser()
    settings = command.parse_args(arguments)
    try:
        chosen = choose(settings.names, load(settings.file))
    except (UnknownName, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    if settings.list:
        for workload in chosen:
            print(f"{workload.name:24} {workload.doc}")
        return 0
    outcomes = run(chosen, settings)
    content = report.content(outcomes, settings)
    print(report.table(outcomes))
    print(f"\n{report.EXPLANATION}")
    if judged := goals.table(content["workloads"]):
        print(f"\n{judged}")
    save(outcomes, content, settings.output)
    if wrong := report.failures(outcomes):
        print(f"\n{wrong}", file=sys.stderr)
        return 1
    return 0 if len(outcomes) == len(chosen) else 130


def save(outcomes, content, path):
    """Write the JSON file and the chart."""
    from benchmarks.chart import draw

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"\nFigures: {path}")
    if any(not o.error for o in outcomes):
        draw(content["workloads"], path.with_suffix(".png"))
        print(f"Chart:   {path.with_suffix('.png')}")


if __name__ == "__main__":
    sys.exit(main())
