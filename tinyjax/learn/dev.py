"""For authors: `tinyjax dev new`, `dev write` and `dev check`."""

import argparse
import keyword
import re
import sys
from pathlib import Path

from tinyjax.learn.exercise import Exercise, cards, find, find_card, load, root
from tinyjax.learn.gates import complaints
from tinyjax.learn.judge import Grader

SKELETON = '''\
# The card of the exercise {name}. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 10

# %% [markdown] statement
# # {title}
#
# Write `{name}`: it takes a number `x` and returns twice that number. For `x = 2.0` that is 4.
#
# Run this file, or `tinyjax check {name}`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def {name}(x):
    """Twice x."""
    raise NotImplementedError


# %% [markdown] hint
# What is x plus x?

# %% [markdown] hint
# A number is doubled by adding it to itself, or by a multiplication.

# %% [markdown] hint
#     def {name}(x):
#         return ... * x

# %% checks
from tinyjax.learn import check


def draw(rng):
    """A number that is not its own double, square or half."""
    return {{"x": round(rng.uniform(3, 9), 2)}}


@check("a random number")
def random_number(student, x):
    return student.{name}(x)


# %% reference
def {name}(x):
    """Twice x."""
    return 2 * x


# %% right: a sum
def {name}(x):
    return x + x


# %% right: a class with __call__
class Double:
    def __call__(self, x):
        return jnp.add(x, x)


{name} = Double()


# %% wrong: the square
# You squared the number: twice x is 2 * x.
def {name}(x):
    return x**2


# %% wrong: the number itself
# You returned the number that came in: double it.
def {name}(x):
    return x


# %% wrong: half
# You halved the number: twice x is 2 * x.
def {name}(x):
    return x / 2


# %% wrong: the answer for the example
# You returned the answer for the example, 4: the function must work for every x.
def {name}(x):
    return 4.0
'''


def new(name: str) -> Path:
    """Writes card and student's file of a new exercise, `NN_topic/name`; returns the card's path.

    What is written is an exercise already, if a small one: it passes `tinyjax dev check`.
    """
    match = re.fullmatch(r"(\d\d_[a-z0-9_]+)/([a-z][a-z0-9_]*)", name)
    if not match:
        raise SystemExit(
            f"tinyjax: {name!r} does not name an exercise. Say NN_topic/name, such as "
            "06_vmap/outer_product: the chapter's folder, then a Python name in small letters."
        )
    topic, short = match.groups()
    if keyword.iskeyword(short):
        raise SystemExit(f"tinyjax: {short!r} is a keyword of Python; choose another name.")
    if short in {*sys.stdlib_module_names, "jax", "numpy", "tinyjax"}:
        raise SystemExit(
            f"tinyjax: {short!r} is a module, and a student's file {short}.py would be imported "
            "in its place; choose another name."
        )
    if short in {exercise.name for exercise in cards()}:
        raise SystemExit(f"tinyjax: there is an exercise {short!r} already; choose another name.")
    card = root() / "exercises" / topic / "answers" / f"{short}.py"
    card.parent.mkdir(parents=True, exist_ok=True)
    title = short.replace("_", " ").capitalize()
    card.write_text(SKELETON.format(name=short, title=title), encoding="utf-8")
    write(load(card.parent.parent / card.name))
    return card


def write(exercise: Exercise) -> None:
    """Writes the student's file out of the card."""
    exercise.path.write_text(exercise.stub, encoding="utf-8")


# --- Commands ------------------------------------------------------------------------------------


def new_command(args: argparse.Namespace) -> int:
    """Makes the skeleton of an exercise."""
    card = new(args.name)
    print(f"Edit {card},\nthen: tinyjax dev write {card.stem} && tinyjax dev check {card.stem}")
    return 0


def write_command(args: argparse.Namespace) -> int:
    """Writes the students' files out of the cards."""
    for name in args.name:
        write(find(name))
    return 0


def check_command(args: argparse.Namespace) -> int:
    """Tries out what the authors of exercises promise."""
    from tqdm import tqdm

    chosen = [find_card(name) for name in args.name] or cards()
    bad = 0
    with Grader() as grader:
        for exercise in tqdm(chosen, disable=None if len(chosen) > 1 else True):
            found = list(complaints(exercise, grader))
            bad += bool(found)
            tqdm.write(f"{exercise.topic}/{exercise.name}: {summary(exercise, grader, found)}")
            for sentence in found:
                tqdm.write(f"  {sentence}")
    return 1 if bad else 0


def summary(exercise: Exercise, grader: Grader, found: list[str]) -> str:
    """A line about a card."""
    if found:
        return f"{len(found)} complaint{'s' * (len(found) > 1)}"
    counts = ", ".join(f"{len(exercise.solutions(kind))} {kind}" for kind in ("right", "wrong"))
    seconds = grader.expected(exercise).seconds
    checks = f"{len(exercise.checks)} check{'s' * (len(exercise.checks) > 1)}"
    return f"good (kind {exercise.kind}, {counts}, {checks}, {seconds:.2f} s)"


def add_commands(commands: argparse._SubParsersAction) -> None:
    """Adds `dev` and its commands to a parser."""
    says = "for authors of exercises: new, write, check"
    parser = commands.add_parser("dev", help=says, description=says)
    inner = parser.add_subparsers(dest="dev_command", required=True, metavar="command")
    for run, name, count, help in (
        (new_command, "new", None, "make the skeleton of an exercise, NN_topic/name"),
        (write_command, "write", "+", "write students' files out of the cards"),
        (check_command, "check", "*", "try out cards: all of them when no name is given"),
    ):
        command = inner.add_parser(name, help=help, description=help)
        command.set_defaults(run=run)
        command.add_argument("name", nargs=count, help="the exercise")
