"""The table of all exercises on docs/exercises.md, out of their cards.

    $ python -m tests.exercise_table

writes it between the two marks on the page.
"""

import itertools
import json
import pathlib

from tinyjax.learn.exercise import Exercise, exercises

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "exercises.md"
BEGIN = "<!-- `python -m tests.exercise_table` writes what follows -->"
END = "<!-- the end of what it writes -->"
COLUMNS = "| exercise | task | stars | minutes | kind |\n|---|---|---|---|---|\n"


def row(exercise: Exercise) -> str:
    """The line of an exercise: nothing that would give its solution away."""
    stars = "★" * exercise.about["difficulty"]
    minutes = exercise.about["minutes"]
    return f"| `{exercise.name}` | {exercise.title} | {stars} | {minutes} | {exercise.kind} |\n"


def heading(topic: str) -> str:
    """The title of a chapter, which leads to it."""
    notebook = json.loads((ROOT / "chapters" / f"{topic}.ipynb").read_text(encoding="utf-8"))
    title = "".join(notebook["cells"][0]["source"]).splitlines()[0].removeprefix("# ")
    return f"\n### [{title}](chapters/{topic}.md)\n\n"


def table() -> str:
    """All exercises, chapter by chapter, in the order of `tinyjax list`."""
    known = list(exercises())
    minutes = sum(exercise.about["minutes"] for exercise in known)
    pieces = itertools.groupby(known, key=lambda exercise: exercise.topic)
    built = sum(exercise.kind == "B" for exercise in known)
    parts = [
        f"There are {len(known)} exercises, {built} of them of kind B; "
        f"their time boxes add up to {round(minutes / 60)} hours.\n"
    ]
    for topic, members in pieces:
        parts.append(heading(topic) + COLUMNS + "".join(map(row, members)))
    return "".join(parts)


def page() -> str:
    """The page with the table of today."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
