"""The command line: everything that `tinyjax` understands."""

import argparse
import io
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tinyjax.learn import dev, feedback, grade, lab, watch
from tinyjax.learn.course import (
    Chapter,
    chapters,
    current,
    following,
    go_to,
    has_passed,
    note_pass,
    state,
)
from tinyjax.learn.exercise import CardError, exercises, find
from tinyjax.learn.judge import Grader
from tinyjax.learn.progress import exercise_facts, note_exercise

# --- The commands: each returns the exit code ----------------------------------------------------


def print_json(what: Any) -> None:
    """For programs."""
    print(json.dumps(what, indent=1))


def check_command(args: argparse.Namespace) -> int:
    """Checks the named exercises, all of them, or the one at hand."""
    chosen = list(exercises()) if args.all else [find(name) for name in args.name] or [current()]
    verdicts = []
    if args.seed < 0:
        raise SystemExit("tinyjax: --seed must not be negative")
    with Grader(args.seed, forked=args.alone, brief=True) as grader:
        for exercise in chosen:
            verdict = grader.check(exercise)
            verdicts.append(verdict)
            if verdict.passed:
                note_pass(exercise, exercise.path.read_text(encoding="utf-8", errors="replace"))
            if not args.json:
                comes_next = following(exercise)
                then = comes_next.name if comes_next else None
                print(feedback.render(verdict, then), flush=True)
    if args.json:
        described = [verdict.as_json() for verdict in verdicts]
        print_json(described if args.all or len(described) > 1 else described[0])
    return 0 if all(verdict.passed for verdict in verdicts) else 1


def list_command(args: argparse.Namespace) -> int:
    """Shows every chapter with its exercises, and how far you are."""
    if args.json:
        print_json([entry for chapter in chapters() for entry in described(chapter)])
        return 0
    for chapter in chapters():
        made = f"{chapter.predictions} of {chapter.questions} predictions"
        print(f"{chapter.name:<20} {made}" if chapter.questions else chapter.name)
        for exercise in chapter.exercises:
            stars = "*" * exercise.about.get("difficulty", 0)
            print(f"  {state(exercise):<12} {exercise.name:<22} {stars:<4} {exercise.title}")
    return 0


def described(chapter: Chapter) -> list[dict[str, Any]]:
    """The exercises of a chapter, for programs."""
    return [
        {
            "name": exercise.name,
            "topic": exercise.topic,
            "title": exercise.title,
            **exercise.about,
            "kind": exercise.kind,
            "state": state(exercise),
            "file": str(exercise.path),
        }
        for exercise in chapter.exercises
    ]


def goto_command(args: argparse.Namespace) -> int:
    """Makes an exercise the one that `check` and `watch` take when none is named."""
    exercise = find(args.name)
    go_to(exercise)
    minutes = exercise.about.get("minutes", 10)
    print(f"{exercise.title} ({'*' * exercise.about.get('difficulty', 1)}, {minutes} minutes)")
    print(f"Edit {exercise.path}, then tinyjax check; or let tinyjax watch check each save.")
    return 0


def hint_command(args: argparse.Namespace) -> int:
    """Shows the hints so far and the next one."""
    exercise = find(args.name) if args.name else current()
    shown = min(exercise_facts(exercise.name).get("hints", 0) + 1, len(exercise.hints))
    note_exercise(exercise.name, hints=shown)
    hints = exercise.hints[:shown]
    if args.json:
        print_json({"exercise": exercise.name, "hints": hints, "of": len(exercise.hints)})
        return 0
    for number, hint in enumerate(hints, 1):
        print(f"Hint {number} of {len(exercise.hints)} for {exercise.name}\n{hint}\n")
    if shown == len(exercise.hints):
        print(f"These are all. Ours: tinyjax solution {exercise.name} --give-up")
    return 0


def solution_command(args: argparse.Namespace) -> int:
    """Shows our solution, once the student has one or gives up."""
    exercise = find(args.name)
    if not has_passed(exercise) and not args.give_up:
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
    if path.exists() and path.read_text(encoding="utf-8", errors="replace") != exercise.stub:
        number = 1
        while (backup := path.with_name(f"{path.stem}.before_reset_{number}.py")).exists():
            number += 1
        shutil.copy2(path, backup)
        print(f"Your version is kept in {backup}")
    dev.write(exercise)
    note_exercise(exercise.name, passed=False, hints=0)
    print(f"{path} is as it was handed out.")
    return 0


def learn_command(args: argparse.Namespace) -> int:
    """Opens the next chapter in JupyterLab, or says how to."""
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

EXAMPLES = """\
to begin:
  tinyjax learn                  the chapters, in JupyterLab
  tinyjax watch                  the exercise at hand, checked whenever you save it
  tinyjax list                   what there is, and what you have done

Each command has a --help of its own.
"""


def build_parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    parser = argparse.ArgumentParser(
        prog="tinyjax",
        description="Chapters and exercises of tinyjax.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", metavar="command")

    def add(name: str, run: Any, says: str, named: bool = False) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=says, description=f"{says[0].upper()}{says[1:]}.")
        command.set_defaults(run=run)
        if named:
            command.add_argument("name", help="the exercise, as `tinyjax list` names it")
        return command

    json_help = "print JSON, for programs"
    add("learn", learn_command, "open the next chapter in JupyterLab, and say what comes next")
    checking = add("check", check_command, "check an exercise and explain what is wrong")
    checking.add_argument("name", nargs="*", help="exercises; the one at hand when left out")
    checking.add_argument("--all", action="store_true", help="check every exercise")
    checking.add_argument("--seed", type=int, default=0, help="of the random inputs (0)")
    checking.add_argument("--json", action="store_true", help=json_help)
    watch.add_command(commands, main, current)
    hinting = add("hint", hint_command, "show the next of three hints")
    hinting.add_argument("name", nargs="?", help="the exercise; the one at hand when left out")
    hinting.add_argument("--json", action="store_true", help=json_help)
    add("list", list_command, "show the exercises and your progress").add_argument(
        "--json", action="store_true", help=json_help
    )
    add("goto", goto_command, "choose the exercise at hand", named=True)
    solving = add("solution", solution_command, "show our solution after a pass", named=True)
    solving.add_argument("--give-up", action="store_true", help="show it before a pass")
    add("reset", reset_command, "bring the handed-out file back, and keep yours", named=True)
    exporting = add("export", export_command, "write the exercises as notebooks, or for nbgrader")
    exporting.add_argument("kind", choices=["notebooks", "nbgrader"], help="for whom")
    exporting.add_argument("folder", type=Path, help="where; what was changed is not overwritten")
    exporting.add_argument("name", nargs="*", help="exercises and topics; all when left out")
    grade.add_command(commands)
    dev.add_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `tinyjax` and `python -m tinyjax.learn`."""
    parser = build_parser()
    args = parser.parse_args(argv)
    args.alone = argv is None  # nothing else has run in this process
    if args.alone:
        for stream in (sys.stdout, sys.stderr):  # a terminal may know no more than ASCII
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
    if args.command is None:
        parser.print_help()
        return 2
    try:
        return args.run(args)
    except KeyboardInterrupt:
        print("tinyjax: interrupted", file=sys.stderr)
        return 130
    except CardError as error:  # its author's mistake, not the student's
        print(f"tinyjax: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `tinyjax list | head`: nobody reads the rest
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
