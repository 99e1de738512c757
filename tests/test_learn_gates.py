"""What every author promises of an exercise: its own card is run through the grader."""

import subprocess
from pathlib import Path

import pytest

from tinyjax.learn.exercise import Exercise, cards, find, load
from tinyjax.learn.gates import complaints
from tinyjax.learn.judge import Grader

ROOT = Path(__file__).resolve().parents[1]
EXERCISES = cards()  # those with a fault, too
each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.name)


@pytest.fixture(scope="module")
def grader():
    with Grader() as grader:
        yield grader


@pytest.mark.slow
@each_exercise
def test_the_card_keeps_its_promises(exercise, grader):
    """Every solution of the card gets the verdict it should, on three seeds; no check is dead."""
    assert list(complaints(exercise, grader)) == []


@each_exercise
def test_the_committed_file_is_the_stub(exercise):
    """What a student gets from a clone is what the card says, whatever was solved here."""
    assert handed_out(exercise) == exercise.stub


def handed_out(exercise: Exercise) -> str:
    """The student's file as committed; outside a repository, as it lies here."""
    name = exercise.path.relative_to(ROOT).as_posix()
    committed = subprocess.run(
        ["git", "show", f"HEAD:{name}"], cwd=ROOT, capture_output=True, text=True
    )
    if committed.returncode == 0:
        return committed.stdout
    return exercise.path.read_text(encoding="utf-8")


def test_load_reads_the_card_beside_the_file():
    exercise = load(ROOT / "exercises" / "02_first_loop" / "sgd_step.py")
    assert (exercise.name, exercise.topic) == ("sgd_step", "02_first_loop")
    assert exercise.title == "One step of gradient descent"


def test_names_are_unique():
    names = [exercise.name for exercise in EXERCISES]
    assert len(set(names)) == len(names)


# --- What a naive test would let through ----------------------------------------------------------

# The gates above see that each of these fails and is told why. Here: that nobody takes it away.
NAIVE = {
    "finite differences posing as grad": ("third_derivative", "a difference quotient"),
    "... in 64 bits": ("third_derivative", "differences in 64 bits"),
    "... of each example": ("per_example_grad", "finite differences"),
    "hard-coded values": ("third_derivative", "the answer for the example"),
    "swapped argnums": ("argnums", "exchanged"),
    "a single where": ("safe_where", "one where"),
    "q.g = in place of +=": ("backward_pass", "= in place of +="),
    "depth first, not in reverse topological order": ("backward_pass", "depth first"),
    "a jvp that ignores its tangent": ("sin_jvp", "the tangent is ignored"),
    "... of two operands": ("mul_jvp", "the tangents are ignored"),
    "a broadcast that is not summed": ("unbroadcast", "not summed"),
    "a missing transpose": ("transpose_dot", "not transposed"),
    "untagged duals": ("tags", "any dual number is taken for one's own"),
    "a Python loop posing as vmap": ("matvec", "a loop"),
    "... as a batching rule": ("batch_dot", "a loop"),
    "a key that is ignored": ("split", "the key is ignored"),
    "a key that is used again": ("split_loop", "the old key stays"),
    "NumPy in place under jit": ("scan", "NumPy in place"),
    "jit made in a loop": ("no_retrace", "jit in the loop"),
    "leaves of a dict as they come": ("flatten", "not sorted"),
    "polyfit posing as a step": ("sgd_step", "the best line at once"),
    "psum without a mean": ("pmean", "the sum of the gradients"),
    "a signed rotation": ("threefry", "signed rotation"),
}


@pytest.mark.parametrize("words", NAIVE)
def test_the_bank_has_the_answers_that_pass_a_naive_test(words):
    name, title = NAIVE[words]
    assert title in [wrong.title for wrong in find(name).solutions("wrong")]


def test_there_are_enough_exercises():
    assert len(EXERCISES) >= 55
    assert len({exercise.topic for exercise in EXERCISES}) == 14
    assert sum(exercise.kind == "B" for exercise in EXERCISES) >= 16


# --- The gates themselves: each must be able to fail ----------------------------------------------

CARD = """
# %% [markdown] about
# difficulty: 1
# minutes: 5

# %% [markdown] statement
# # Twice
#
# Run this file, or `tinyjax check twice`, to see whether it is right.

# %% given
import tinyjax as jax


# %% stub
def twice(x):
    raise NotImplementedError


# %% [markdown] hint
# What is x plus x?

# %% [markdown] hint
# Add.

# %% [markdown] hint
# return ... * x

# %% checks
from tinyjax.learn import check


def draw(rng):
    return {"x": round(rng.uniform(3, 9), 2)}


@check("a number")
def number(student, x):
    return student.twice(x)


# %% reference
def twice(x):
    return 2 * x


# %% right: a sum
def twice(x):
    return x + x


# %% right: a shift
def twice(x):
    return x / 0.5


# %% wrong: square
# You squared.
def twice(x):
    return x * x


# %% wrong: half
# You halved.
def twice(x):
    return x / 2


# %% wrong: itself
# You returned x.
def twice(x):
    return x


# %% wrong: constant
# You returned 4.
def twice(x):
    return 4.0
"""


def card(tmp_path: Path, *changes: tuple[str, str]) -> Exercise:
    """The exercise above, with these replacements in its card."""
    text = CARD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "answers").mkdir(exist_ok=True)
    (tmp_path / "answers" / "twice.py").write_text(text)
    return load(tmp_path / "twice.py")


def afresh(grader: Grader) -> Grader:
    """The same processes, and nothing known: the cards here all have one name."""
    return grader.with_seed(0)


def test_a_good_card_has_no_complaints(tmp_path, grader):
    assert list(complaints(card(tmp_path), afresh(grader))) == []


SECOND_CHECK = """
@check("a negative number")
def negative(student, x):
    return student.twice(-x)


# %% reference"""

BAD_CARDS = {
    "no time box": ([("# minutes: 5\n", "")], "must give `minutes:`"),
    "no difficulty": ([("difficulty: 1", "difficulty: 9")], "from 1 to 4"),
    "two hints": ([("# %% [markdown] hint\n# Add.\n", "")], "3 hints, not 2"),
    "no question": ([("plus x?", "plus x.")], "first hint must be a question"),
    "no command": ([("tinyjax check twice", "me")], "say how to check"),
    "no stub": ([("raise NotImplementedError", "pass")], "must raise NotImplementedError"),
    "one right": ([("# %% right: a shift", "# %% note")], "2 right solutions, not 1"),
    "three wrong": ([("# %% wrong: half", "# %% note")], "4 wrong solutions, not 3"),
    "no misconception": ([("# You halved.\n", "")], "half: its first comment must say"),
    "a wrong right": ([("x / 0.5", "x / 0.4")], "a shift: right, but called 'fail'"),
    "a right wrong": ([("x * x", "x + x")], "square: wrong, but called 'pass'"),
    "two of a kind": ([("x / 2", "x * x")], "told nothing, not its own"),
    "a dead check": ([("\n# %% reference", SECOND_CHECK)], "needs the check 'a number'"),
    "a reference that draws": (
        [("    return 2 * x\n", "    import random\n\n    return 2 * x + random.random()\n")],
        "reference: right, but called 'fail'",
    ),
    "a lucky seed": ([("return 4.0", "return 2 * x if x > 5.88 else 4.0")], "seed 1: "),
}


@pytest.mark.parametrize("name", BAD_CARDS)
def test_a_bad_card_is_told(name, tmp_path, grader):
    changes, words = BAD_CARDS[name]
    found = list(complaints(card(tmp_path, *changes), afresh(grader)))
    assert any(words in sentence for sentence in found), found


def line_of(words: str, text: str = CARD) -> int:
    """The line of the card on which these words are, or begin."""
    return text[: text.index(words)].count("\n") + 1


RETURNS = "    return student.twice(x)"
DRAWS = '    return {"x": round(rng.uniform(3, 9), 2)}'
REFERENCE = "    return 2 * x\n"
BODY = line_of(REFERENCE)
LOOP = "    while True:\n        pass\n"
SHORT = ("from tinyjax.learn import check\n", "from tinyjax.learn import check\nseconds = 2\n")

ONE_MISTAKE = {
    "a verdict for a value": (
        [(RETURNS, RETURNS + " == 2 * x")],
        "the check 'a number' must return values, not a bare True, False or None",
    ),
    "a value that cannot travel": (
        [(RETURNS, "    return [student.twice(x), object()]")],
        "the check 'a number' must return numbers, arrays or strings, not an object",
    ),
    "the reference raises": (
        [(REFERENCE, '    raise ValueError("no\\nmore")\n')],
        f"the cell 'reference', line {BODY}: ValueError: no in the check 'a number'",
    ),
    "the reference raises when it is run": (
        [("# %% reference\n", "# %% reference\n1 / 0\n")],
        f"the cell 'reference', line {line_of('# %% reference') + 1}: "
        "ZeroDivisionError: division by zero",
    ),
    "the reference is no Python": (
        [(REFERENCE, "    return 2 *\n")],
        f"the cell 'reference', line {BODY}: SyntaxError: invalid syntax",
    ),
    "an endless loop in the reference": (
        [(REFERENCE, LOOP), SHORT],
        "the reference ends in the check 'a number' with 'timeout'",
    ),
    "an endless loop beside the reference": (
        [("# %% reference\n", "# %% reference\nwhile True:\n    pass\n"), SHORT],
        "the reference ends in its cell with 'timeout'",
    ),
    "a check that raises": (
        [(RETURNS, "    return student.twice(x).shapes")],
        f"the cell 'checks', line {line_of(RETURNS)}: "
        "AttributeError: 'float' object has no attribute 'shapes' in the check 'a number'",
    ),
    "a check that is no Python": (
        [(RETURNS, "    return student.twice(x")],
        f"the cell 'checks', line {line_of(RETURNS)}: SyntaxError: '(' was never closed",
    ),
    "checks that raise": (
        [(SHORT[0], SHORT[0] + "1 / 0\n")],
        f"the cell 'checks', line {line_of(SHORT[0]) + 1}: ZeroDivisionError: division by zero",
    ),
    "no draw": (
        [("def draw(", "def drew(")],
        "the cell 'checks' must define draw(rng) for 'a number'",
    ),
    "a draw that raises": (
        [(DRAWS, DRAWS.replace("rng.uniform", "rng.uniforms"))],
        f"the cell 'checks', line {line_of(DRAWS)}: AttributeError: "
        "'numpy.random._generator.Generator' object has no attribute 'uniforms'",
    ),
    "a draw of no dict": (
        [(DRAWS, "    return [3]")],
        "the cell 'checks': what is drawn for 'a number' is no dict",
    ),
    "words for a number": (
        [("difficulty: 1", "difficulty: easy")],
        f"the cell 'about', line {line_of('# difficulty')}: "
        "difficulty must be a whole number, not 'easy'",
    ),
    "no checks": (
        [("# %% checks", "# %% wrong: checks")],
        "there must be one cell 'checks', not 0",
    ),
    "an endless loop in a wrong one": (
        [("    return x / 2\n", LOOP), SHORT],
        "half: wrong, but called 'timeout': it did not get through the check 'a number'",
    ),
    "a check that asks nobody": (
        [("\n# %% reference", SECOND_CHECK.replace("student.twice(-x)", "[x]"))],
        "no wrong solution needs the check 'a negative number': all are caught without it",
    ),
}


@pytest.mark.parametrize("name", ONE_MISTAKE)
def test_one_mistake_is_one_complaint(name, tmp_path, grader):
    changes, sentence = ONE_MISTAKE[name]
    assert list(complaints(card(tmp_path, *changes), afresh(grader))) == [sentence]


@pytest.mark.parametrize("title", ["Wrong: half", "wrong half", "wrong:half", "referense"])
def test_a_cell_with_another_title_is_told(title, tmp_path, grader):
    changed = card(tmp_path, ("# %% wrong: half", f"# %% {title}"))
    assert next(complaints(changed, afresh(grader))) == (
        f"line {line_of('# %% wrong: half')}: a cell {title!r} is not known; there are: about, "
        "statement, given, stub, checks, reference, hint, right: ..., wrong: ..."
    )


EASY = [
    ("return student.twice(x)", "return [student.twice(x) * 0]"),
    ("x * x", "'x'"), ("x / 2", "x, x"), ("return x\n", 'return {"x": 1}\n'),
    ("4.0", 'jax.numpy.ones(2)'),
]  # fmt: skip


def test_bodies_that_solve_nothing_are_tried(tmp_path, grader):
    found = list(complaints(card(tmp_path, *EASY), afresh(grader)))
    assert found == [
        "functions that return their first argument pass the check 'a number'",
        "functions that return 0.0 pass the check 'a number'",
    ]
