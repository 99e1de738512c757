"""Opens the next chapter in JupyterLab; where there is no terminal, says how to."""

import importlib.util
import os
import subprocess
import sys

from tinyjax.learn.course import Chapter, chapters, has_passed
from tinyjax.learn.exercise import root


def next_chapter() -> Chapter | None:
    """The first chapter that is not done; None when all are."""
    return next((chapter for chapter in chapters() if not chapter.done), None)


def advice(chapter: Chapter | None) -> str:
    """What comes next, in words."""
    if chapter is None:
        return "You have done every chapter and every exercise."
    lines = [f"Next: chapter {chapter.name}"]
    if chapter.questions:
        lines[0] += f", {chapter.predictions} of {chapter.questions} predictions made"
    unsolved = [exercise.name for exercise in chapter.exercises if not has_passed(exercise)]
    if unsolved:
        lines.append(f"Its exercises: {', '.join(unsolved)} (tinyjax watch {unsolved[0]})")
    return "\n".join(lines)


def lab_command(chapter: Chapter | None) -> list[str]:
    """The command that opens a chapter, or the folder of all."""
    folder = root() / "chapters"
    notebook = folder / f"{chapter.name}.ipynb" if chapter else folder
    place = notebook if notebook.exists() else folder
    command = [sys.executable, "-m", "jupyterlab", str(place)]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")  # JupyterLab refuses the root user, such as in a container
    return command


def start() -> int:
    """Runs JupyterLab in the foreground; the exit code."""
    if importlib.util.find_spec("jupyterlab") is None:
        print("JupyterLab is not installed: run `make learn`, or pip install 'tinyjax[learn]'.")
        return 1
    chapter = next_chapter()
    print(advice(chapter), flush=True)
    command = lab_command(chapter)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        print("No terminal here, so JupyterLab was not started. To read the chapters, run:")
        print("  " + " ".join(command))
        return 0
    print("Opening the chapters in JupyterLab; Ctrl-C twice ends it.", flush=True)
    try:
        return subprocess.call(command)
    except KeyboardInterrupt:
        return 0
