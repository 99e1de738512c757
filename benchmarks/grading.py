"""How long students and teachers wait: `python -m benchmarks.grading`.

Goals: `tinyjax check` takes at most 1 s in 95 of 100 cases (5 s where kernels are compiled anew),
from the start of Python to the verdict, right answers and wrong ones; a class of 30 students with
40 exercises each is graded within 10 minutes on two cores.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tqdm import tqdm

from tinyjax.learn.exercise import Exercise, exercises

ROOT = Path(__file__).resolve().parents[1]


def answers(exercise: Exercise) -> list[str]:
    """What is handed in: a right answer, two wrong ones, and one that nobody has foreseen."""
    wrong = [solution.source for solution in exercise.solutions("wrong")]
    return [exercise.reference.source, wrong[0], wrong[-1], exercise.reference.source + "\n1 / 0\n"]


def desk(folder: Path, known: list[Exercise], number: int) -> None:
    """A student's copy of the exercises, with one answer to each in it."""
    (folder / "chapters").mkdir(parents=True)
    for exercise in known:
        source = answers(exercise)[number]
        answers_folder = folder / "exercises" / exercise.topic / "answers"
        answers_folder.mkdir(parents=True, exist_ok=True)
        card = exercise.path.parent / "answers" / exercise.path.name
        (answers_folder / card.name).write_bytes(card.read_bytes())
        (answers_folder.parent / card.name).write_text(source, encoding="utf-8")


def run(folder: Path, cache: Path, *arguments: str) -> float:
    """The seconds that a command takes."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "TINYJAX_PROGRESS": str(folder / "progress.json"),
        "TINYJAX_CACHE_DIR": str(cache),
    }
    environment.pop("OPENBLAS_CORETYPE", None)
    began = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "tinyjax.learn", *arguments],
        cwd=folder, env=environment, capture_output=True, check=False,
    )  # fmt: skip
    return time.monotonic() - began


# --- check ---------------------------------------------------------------------------------------


def time_checks(known: list[Exercise], place: Path) -> None:
    """Prints the times of `check`, with compiled kernels on disk and with none."""
    rounds = len(answers(known[0]))
    cold, warm = {}, {}
    for number in tqdm(range(rounds), desc="check"):
        folder = place / f"student-{number}"
        desk(folder, known, number)
        for exercise in tqdm(known, leave=False):
            cache = place / "kernels" / f"{exercise.name}-{number}"
            cache.mkdir(parents=True)
            cold[exercise.name, number] = run(folder, cache, "check", exercise.name)
            warm[exercise.name, number] = run(folder, cache, "check", exercise.name)
    for title, times in (("kernels on disk", warm), ("no kernels", cold)):
        print_times(title, times)


def print_times(title: str, times: dict[tuple[str, int], float]) -> None:
    """The distribution, and who takes longest."""
    ordered = sorted(times.values())
    p95 = ordered[int(0.95 * (len(ordered) - 1))]
    worst = sorted(times, key=lambda case: -times[case])[:5]
    slow = ", ".join(f"{name} {times[name, number]:.2f} s" for name, number in worst)
    print(f"check, {title}: median {statistics.median(ordered):.2f} s, p95 {p95:.2f} s; {slow}")


# --- grade ---------------------------------------------------------------------------------------


def time_class(known: list[Exercise], place: Path, students: int, each: int) -> None:
    """Prints the time of a class whose students hand in right and wrong answers at random."""
    chooser = random.Random(0)
    chosen = chooser.sample(known, min(each, len(known)))
    room = place / "class"
    for number in range(students):
        for exercise in chosen:
            path = room / f"student-{number:02}" / f"{exercise.name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            kinds = ("reference", "right", "wrong")
            solutions = [s for kind in kinds for s in exercise.solutions(kind)]
            path.write_text(chooser.choice(solutions).source, encoding="utf-8")
    cache = place / "kernels-of-the-teacher"
    cache.mkdir()
    names = [exercise.name for exercise in chosen]
    out = str(place / "out.csv")
    seconds = run(ROOT, cache, "grade", str(room), "-o", out, "--exercises", *names)
    rows = len(Path(out).read_text(encoding="utf-8").splitlines()) - 1
    print(f"grade, {students} students x {len(chosen)} exercises: {seconds:.0f} s for {rows} rows")


def main() -> None:
    """Measures what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grading", description=__doc__)
    parser.add_argument("what", nargs="*", choices=["check", "grade"], default=["check", "grade"])
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--each", type=int, default=40, help="exercises of a student")
    arguments = parser.parse_args()
    known = list(exercises())
    with tempfile.TemporaryDirectory() as folder:
        if "check" in arguments.what:
            time_checks(known, Path(folder))
        if "grade" in arguments.what:
            time_class(known, Path(folder), arguments.students, arguments.each)


if __name__ == "__main__":
    main()
