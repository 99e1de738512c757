"""`predict`: the reader of a chapter commits an answer before the reveal."""

import json
import re
from pathlib import Path
from typing import Any

from tinyjax.learn.progress import note_prediction, read_progress

NO_ANSWER = "No answer yet: put yours in place of the dots, run this cell, then the next."


def predict(question: str, answer: Any) -> None:
    """Records an answer, before the next cell of the chapter shows what happens.

    Leave the answer as `...` and nothing is recorded: the chapter goes on all the same. Change your
    mind and run it again: the first answer is kept beside the last.

    Args:
      question: the name of the question, such as `"02/w-moves"`.
      answer: any value; its `repr` is what is kept.

    >>> predict("02/first-move", ...)
    No answer yet: put yours in place of the dots, run this cell, then the next.
    """
    if answer is ...:
        print(NO_ANSWER)
        return
    first = note_prediction(question, answer)
    before = "" if first == repr(answer) else f" (your first was {first})"
    print(f"Your answer: {answer!r}{before}. Now run the next cell.")


# --- How many were made --------------------------------------------------------------------------

CALL = re.compile(r'^predict\(\s*"([^"]+)"', re.MULTILINE)


def questions(chapter: Path) -> list[str]:
    """The names of the questions that a notebook asks, in order."""
    cells = json.loads(chapter.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return [name for source in sources for name in CALL.findall(source)]


def predictions_made(chapters: Path) -> dict[str, tuple[int, int]]:
    """For each notebook of a folder, by its name: predictions made, and asked for."""
    answered = read_progress()["predictions"]
    counts = {}
    for path in sorted(chapters.glob("*.ipynb")):
        asked = questions(path)
        counts[path.stem] = (sum(name in answered for name in asked), len(asked))
    return counts
