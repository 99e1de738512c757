"""The school: chapters, predictions, graded exercises, and the command line `tinyjax`.

`predict` is what the chapters call; `check` and `run_examples` are what the cards of the exercises
call. The rest is read in this order.

- What an exercise is: exercise, gates (what authors promise), dev (`tinyjax dev`).
- How a student's code is run: values (on their way between processes), seal, child, forkserver,
  runner, examples.
- What is right, and what is said of it: outcomes, judge, feedback.
- For a student: progress, course (what comes next), quiz, watch, lab, notebook (`%%exercise`).
- For a teacher: submissions, grade, export (notebooks, nbgrader).
- How chapters are made: chapters, notebooks. What `make learn` shows: demo. The commands: cli.
"""

from typing import Any

from tinyjax.learn.examples import run_examples
from tinyjax.learn.exercise import check
from tinyjax.learn.quiz import predict

__all__ = ["check", "predict", "run_examples"]


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext tinyjax.learn` does in a notebook: makes the magic `%%exercise` known."""
    from tinyjax.learn.notebook import load  # here, since a student's process needs none of it

    load(shell)
