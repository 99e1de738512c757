"""The command line: `tinyjax check`, `list`, `hint`, `solution`, `export` and the rest."""

import argparse
import hashlib
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tinyjax.learn import dev, feedback, grade, lab, watch
from tinyjax.learn.exercise import Exercise, exercises, find, root
from tinyjax.learn.judge import Grader, Verdict
from tinyjax.learn.progress import exercise_facts, note_exercise
from tinyjax.learn.quiz import predictions_made

# --- The commands: each returns the exit code ----------------------------------------------------


def check_command(args: argparse.Namespace) -> int:
    """Checks the named exercises, all of them, or the first that is not solved yet."""
    if args.all:
        chosen = list(exercises())
    else:
        chosen = [find(name) for name in args.name] or [current()]
    verdicts = []
    with Grader() as grader:
        for exercise in chosen:
            verdict = grader.check(exercise)
            verdicts.append(verdict)
            remember(exercise, verdict)
            if not args.json:
                print(feedback.render(verdict), flush=True)
    if args.json:
        described = [verdict.as_json() for verdict in verdicts]
        print(json.dumps(described if args.all or len(described) > 1 else described[0], indent=1))
    return 0 if all(verdict.passed for verdict in verdicts) else 1


def current() -> Exercise:
    """The first exercise that has not been passed, or the last one."""
    chosen = None
    for chosen in exercises():
        if not exercise_facts(chosen.name).get("passed"):
            break
    if chosen is None:
        raise SystemExit("tinyjax: there are no exercises here")
    return chosen


def remember(exercise: Exercise, verdict: Verdict) -> None:
    """Notes a pass in the progress file, with the hash of the solution that passed."""
    if verdict.passed:
        digest = hashlib.sha256(exercise.path.read_bytes()).hexdigest()
        note_exercise(exercise.name, passed=True, digest=digest)


def list_command(args: argparse.Namespace) -> int:
    """Shows every chapter with its exercises, and how far you are."""
    topics: dict[str, list[Exercise]] = {}
    for exercise in exercises():
        topics.setdefault(exercise.topic, []).append(exercise)
    counts = predictions_made(root() / "chapters")
    for topic in sorted(topics.keys() | counts.keys()):
        made, asked = counts.get(topic, (0, 0))
        print(f"{topic:<20} {made} of {asked} predictions" if asked else topic)
        for exercise in topics.get(topic, []):
            print(f"  {state(exercise):<12} {exercise.name:<22} {exercise.title}")
    return 0


def state(exercise: Exercise) -> str:
    """Passed, started, not started or missing: without running anything."""
    if exercise_facts(exercise.name).get("passed"):
        return "passed"
    if not exercise.path.exists():
        return "missing"
    source = exercise.path.read_text(encoding="utf-8")
    return "not started" if source.strip() == exercise.stub.strip() else "started"


def hint_command(args: argparse.Namespace) -> int:
    """Shows the hints so far and the next one."""
    exercise = find(args.name)
    shown = min(exercise_facts(exercise.name).get("hints", 0) + 1, len(exercise.hints))
    note_exercise(exercise.name, hints=shown)
    for number, hint in enumerate(exercise.hints[:shown], 1):
        print(f"Hint {number} of {len(exercise.hints)}\n{hint}\n")
    return 0


def solution_command(args: argparse.Namespace) -> int:
    """Shows our solution, once the student has one or gives up."""
    exercise = find(args.name)
    if not exercise_facts(exercise.name).get("passed") and not args.give_up:
        print(
            f"{exercise.name}: solve it first, or say tinyjax solution {exercise.name} --give-up",
            file=sys.stderr,
        )
        return 1
    print(exercise.titled("reference")[0].text)
    for cell in exercise.titled("right"):
        print(f"\n# Another way, {cell.title.removeprefix('right: ')}:\n{cell.text}")
    return 0


def reset_command(args: argparse.Namespace) -> int:
    """Brings the handed-out file back; what the student wrote stays beside it."""
    exercise = find(args.name)
    path = exercise.path
    if path.exists() and path.read_text(encoding="utf-8") != exercise.stub:
        number = 1
        while (backup := path.with_name(f"{path.stem}.before_reset_{number}.py")).exists():
            number += 1
        shutil.copy2(path, backup)
        print(f"Your version is kept in {backup}")
    path.write_text(exercise.stub, encoding="utf-8")
    note_exercise(exercise.name, passed=False, hints=0)
    print(f"{path} is as it was handed out.")
    return 0


def learn_command(args: argparse.Namespace) -> int:
    """Opens the chapters in JupyterLab, or says how to."""
    return lab.start()


def export_command(args: argparse.Namespace) -> int:
    """Writes the exercises as notebooks, or as a course for nbgrader."""
    try:
        from tinyjax.learn.export import export
    except ModuleNotFoundError as missing:
        raise SystemExit(
            f"tinyjax: {missing.name} is missing. Run `make learn`, or pip install 'tinyjax[learn]'"
        ) from None
    return export(args.kind, args.folder, args.name)


# --- Parsing -------------------------------------------------------------------------------------


def build_parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    parser = argparse.ArgumentParser(prog="tinyjax", description="Learn with tinyjax.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    def add(name: str, run, says: str, takes_name: bool = False) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=says, description=says)
        command.set_defaults(run=run)
        if takes_name:
            command.add_argument("name", help="the exercise, as `tinyjax list` names it")
        return command

    add("learn", learn_command, "open the chapters in JupyterLab")
    add("list", list_command, "show the exercises and your progress")
    checking = add("check", check_command, "check an exercise and explain what is wrong")
    checking.add_argument("name", nargs="*", help="exercises; the first unsolved one when left out")
    checking.add_argument("--all", action="store_true", help="check every exercise")
    checking.add_argument("--json", action="store_true", help="print the verdict as JSON")
    add("hint", hint_command, "show the next of three hints", takes_name=True)
    solving = add("solution", solution_command, "show our solution after a pass", takes_name=True)
    solving.add_argument("--give-up", action="store_true", help="show it before a pass")
    add("reset", reset_command, "bring the handed-out file back", takes_name=True)
    exporting = add("export", export_command, "write the exercises as notebooks")
    exporting.add_argument(
        "kind", choices=["notebooks", "nbgrader"], help="plain ones, or a course for nbgrader"
    )
    exporting.add_argument("folder", type=Path, help="where; what was changed is not overwritten")
    exporting.add_argument("name", nargs="*", help="exercises and topics; all when left out")
    watch.add_command(commands, main, current)
    grade.add_command(commands)
    dev.add_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `tinyjax` and `python -m tinyjax.learn`."""
    args = build_parser().parse_args(argv)
    return args.run(args)
