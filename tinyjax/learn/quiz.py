"""`predict`: the reader of a chapter commits an answer before the reveal."""

from typing import Any

from tinyjax.learn.progress import note_prediction


def predict(question: str, answer: Any) -> None:
    """Records an answer, before the next cell of the chapter shows what happens.

    Leave the answer as `...` and nothing is recorded: the chapter goes on all the same.

    >>> predict("02/first-move", ...)
    No answer yet: put yours in place of the dots, run this cell, then the next.
    """
    if answer is ...:
        print("No answer yet: put yours in place of the dots, run this cell, then the next.")
        return
    note_prediction(question, answer)
    print(f"Your answer: {answer!r}. Now run the next cell.")
