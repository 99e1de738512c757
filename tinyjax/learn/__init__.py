"""The school: graded exercises, predictions in the chapters, and the command line `tinyjax`.

`predict` is what the chapters call; `check` and `run_examples` are what the cards of the exercises
call. The rest is read in this order: exercise (what an exercise is), child, forkserver and runner
(how a student's code is run), judge (what is right), feedback (what the student reads), cli (the
commands).
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
