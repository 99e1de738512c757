"""What a student has done so far, in one JSON file that is written as a whole or not at all."""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

SCHEMA = 1


def progress_file() -> Path:
    """Where the progress is kept: `TINYJAX_PROGRESS`, or the user's state folder."""
    named = os.environ.get("TINYJAX_PROGRESS")
    if named:
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "tinyjax" / "progress.json"


def read_progress() -> dict[str, Any]:
    """The progress so far; a file that holds none, or that of another version, is set aside."""
    try:
        progress = json.loads(progress_file().read_text(encoding="utf-8"))
    except OSError:  # there is no file yet, or nobody may read it
        progress = {"schema": SCHEMA}
    except ValueError:
        progress = None
    if not isinstance(progress, dict) or progress.get("schema") != SCHEMA:
        set_aside(progress_file())
        progress = {"schema": SCHEMA}
    for part in ("exercises", "predictions"):
        if not isinstance(progress.get(part), dict):
            progress[part] = {}
    return progress


def set_aside(path: Path) -> None:
    """Gives a file another name, and says so; where that cannot be done, it stays."""
    number = 1
    while (kept := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    try:
        path.rename(kept)
    except OSError:
        return
    print(
        f"tinyjax: your progress could not be read from {path}, and starts anew. "
        f"The file is kept as {kept.name}.",
        file=sys.stderr,
    )


def write_progress(progress: dict[str, Any]) -> bool:
    """Replaces the file at once; False where it cannot be written, which stops no student."""
    path = progress_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as draft:
            json.dump(progress, draft, indent=1)
        os.replace(draft.name, path)
    except OSError:
        return False
    return True


def note_current(name: str) -> None:
    """Notes which exercise the student has gone to."""
    progress = read_progress()
    progress["current"] = name
    write_progress(progress)


def note_exercise(name: str, **facts: Any) -> None:
    """Adds facts about one exercise.

    `passed`, the `digest` of the file that has passed, that of the `checks` it has passed, `hints`.
    """
    progress = read_progress()
    progress["exercises"].setdefault(name, {}).update(facts)
    write_progress(progress)


def exercise_facts(name: str) -> dict[str, Any]:
    """What is known of one exercise."""
    return read_progress()["exercises"].get(name, {})


def note_prediction(question: str, answer: Any) -> str:
    """Records the answer to a question of a chapter beside the first one given; returns that."""
    progress = read_progress()
    entry = progress["predictions"].setdefault(question, {"first": repr(answer)})
    entry["last"] = repr(answer)
    write_progress(progress)
    return entry["first"]
