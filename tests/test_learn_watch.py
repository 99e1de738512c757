"""`tinyjax watch` as a student uses it: in a terminal, with an editor beside it."""

import io
import os
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from tinyjax.learn.course import following
from tinyjax.learn.exercise import find
from tinyjax.learn.judge import Verdict
from tinyjax.learn.progress import exercise_facts
from tinyjax.learn.watch import CLEAR, KEYS, Watch

ROOT = Path(__file__).resolve().parents[1]
DEADLINE = 60.0  # for what takes a second on a machine with nothing else to do
# A program that takes the terminal named by its argument for its own, and then watches.
LAUNCH = """
import os, sys
terminal = os.open(sys.argv[1], os.O_RDWR)
for descriptor in (0, 1, 2):
    os.dup2(terminal, descriptor)
os.execv(sys.executable, [sys.executable, "-m", "tinyjax.learn", "watch", *sys.argv[2:]])
"""


class Terminal:
    """A terminal in which `tinyjax watch` runs."""

    def __init__(self, *arguments):
        self.ours, self.theirs = os.openpty()
        self.before = termios.tcgetattr(self.theirs)
        self.written = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, os.ttyname(self.theirs), *arguments],
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        os.close(self.theirs)

    @property
    def screen(self):
        """What is on the screen."""
        return self.written.replace("\r\n", "\n").rpartition(CLEAR)[2]

    def read(self, seconds=0.1):
        """Takes in what has been written."""
        if select.select([self.ours], [], [], seconds)[0]:
            self.written += os.read(self.ours, 1 << 16).decode()

    def shows(self, *texts):
        """Waits until all of this is on the screen, and the keys; returns the screen."""
        end = time.monotonic() + DEADLINE
        while not all(text in self.screen for text in (*texts, KEYS)):
            assert time.monotonic() < end, f"{texts} did not appear on:\n{self.screen}"
            assert self.process.poll() is None, f"it ended:\n{self.written}"
            self.read()
        return self.screen

    def press(self, keys):
        """Presses keys."""
        os.write(self.ours, keys.encode())

    def ends(self):
        """Waits for the end; the exit code."""
        end = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it did not end:\n{self.screen}"
            self.read()
        self.read()
        return self.process.returncode

    def by_lines(self):
        """Whether the terminal waits for Enter and shows what is typed, as terminals do."""
        flags = termios.tcgetattr(self.theirs)[3]
        return bool(flags & termios.ICANON) and bool(flags & termios.ECHO)

    def is_as_before(self):
        """Whether all settings are those from before."""
        return termios.tcgetattr(self.theirs) == self.before


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """Two topics of exercises as handed out, and an empty progress file."""
    for topic in ("01_grad", "02_first_loop"):
        for card in (ROOT / "exercises" / topic / "answers").glob("*.py"):
            folder = tmp_path / "exercises" / topic
            (folder / "answers").mkdir(parents=True, exist_ok=True)
            shutil.copy2(card, folder / "answers")
    (tmp_path / "chapters").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TINYJAX_PROGRESS", str(tmp_path / "state" / "progress.json"))
    for name in ("third_derivative", "sgd_step"):
        save(name, find(name).stub)
    return tmp_path


def save(name, source):
    """Saves as simple editors do."""
    find(name).path.write_text(source)


def save_by_rename(name, source):
    """Saves as careful editors do: another file takes the name."""
    path = find(name).path
    draft = path.with_suffix(".tmp")
    draft.write_text(source)
    os.replace(draft, path)


def test_a_verdict_on_every_save(desk):
    exercise = find("third_derivative")
    once, twice = exercise.solutions("wrong")[:2]
    with Terminal("third_derivative") as terminal:
        screen = terminal.shows("third_derivative: not started", "save it")
        assert screen.startswith("The third derivative (*")
        assert "exercises/01_grad/third_derivative.py" in screen
        save("third_derivative", twice.source)
        terminal.shows("not there yet", "FAIL", twice.misconception)
        save_by_rename("third_derivative", exercise.reference.source)
        screen = terminal.shows("third_derivative: passed", "Press n for the next exercise.")
        assert "FAIL" not in screen
        assert exercise_facts("third_derivative")["passed"]
        exercise.path.unlink()
        terminal.shows("there is no file", "Press x to bring the file back.")
        save("third_derivative", once.source)
        terminal.shows(once.misconception)
        terminal.press("q")
        assert terminal.ends() == 0
        assert terminal.is_as_before()


def test_hints_list_and_solution(desk):
    exercise = find("third_derivative")
    with Terminal("third_derivative") as terminal:
        terminal.shows("not started", "save it")
        terminal.press("h")
        terminal.shows(f"Hint 1 of 3 for {exercise.name}", exercise.hints[0], "not started")
        terminal.press("H")
        terminal.shows("Hint 2 of 3")
        terminal.press("s")
        terminal.shows("solve it first")
        terminal.press("l")
        screen = terminal.shows("02_first_loop", "not started  sgd_step")
        assert "Hint" not in screen
        terminal.press("r")
        terminal.shows("third_derivative: not started", "save it")
        save("third_derivative", exercise.solutions("right")[0].source)
        terminal.shows("passed")
        terminal.press("s")
        terminal.shows("jax.grad(jax.grad(jax.grad(f)))", "Another way, a loop")


def test_reset_and_next(desk):
    save("third_derivative", find("third_derivative").reference.source)
    with Terminal("third_derivative") as terminal:
        terminal.shows("third_derivative: passed")
        terminal.press("x")
        terminal.shows("Your version is kept in", "third_derivative: not started")
        assert find("third_derivative").path.read_text() == find("third_derivative").stub
        assert find("third_derivative").path.with_suffix(".before_reset_1.py").exists()
        after = following(find("third_derivative"))
        terminal.press("n")
        terminal.shows(f"{after.name}: there is no file")
        save(after.name, after.solutions("wrong")[0].source)
        terminal.shows(after.solutions("wrong")[0].misconception)


def test_without_a_name_it_takes_the_first_unsolved_and_n_leaves_out_the_solved(desk):
    for folder in ("01_grad", "02_first_loop"):
        for card in Path("exercises", folder, "answers").glob("*.py"):
            if card.stem not in ("third_derivative", "sgd_step"):
                card.unlink()
    save("third_derivative", find("third_derivative").reference.source)
    with Terminal() as terminal:
        terminal.shows("third_derivative: passed")
        terminal.press("n")
        terminal.shows("sgd_step: not started")
        terminal.press("n")
        terminal.shows("There is no other exercise left to solve.")
        terminal.press("q")
        assert terminal.ends() == 0
    with Terminal() as terminal:
        terminal.shows("sgd_step: not started")


def test_keys_that_mean_nothing_do_nothing(desk):
    with Terminal("third_derivative") as terminal:
        screen = terminal.shows("not started", "save it")
        terminal.press("z7 \n\x1b[A\x1b[B")  # arrows, too
        terminal.press("é")
        time.sleep(1)
        terminal.read()
        assert terminal.screen == screen
        terminal.press("\x04")  # Ctrl-D ends, as elsewhere
        assert terminal.ends() == 0


def test_keys_work_while_a_check_goes_on_for_ever(desk):
    with Terminal("third_derivative") as terminal:
        terminal.shows("not started", "save it")
        save("third_derivative", "while True:\n    pass\n")
        terminal.shows("Checking ...")
        terminal.press("h")
        terminal.shows("Hint 1 of 3", "Checking ...")
        children = psutil.Process(terminal.process.pid).children(recursive=True)
        assert children
        terminal.press("q")
        assert terminal.ends() == 0
        assert terminal.is_as_before()
    _, alive = psutil.wait_procs(children, timeout=DEADLINE)
    assert not alive


def test_a_save_during_a_check_is_checked_after_it(desk):
    with Terminal("third_derivative") as terminal:
        terminal.shows("not started", "save it")
        save("third_derivative", "import time\ntime.sleep(2)\nraise ValueError('the first')\n")
        terminal.shows("Checking ...")
        save("third_derivative", find("third_derivative").reference.source)
        terminal.shows("third_derivative: passed")
        assert "the first" not in terminal.written


# --- The terminal --------------------------------------------------------------------------------


def test_the_terminal_is_restored_after_control_c(desk):
    with Terminal("third_derivative") as terminal:
        terminal.shows("not started", "save it")
        assert not terminal.by_lines()
        terminal.press("\x03")
        assert terminal.ends() == 130
        assert terminal.is_as_before() and terminal.by_lines()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_is_restored_after_a_signal(desk, number):
    with Terminal("third_derivative") as terminal:
        terminal.shows("not started", "save it")
        terminal.process.send_signal(number)
        assert terminal.ends() == 128 + number
        assert terminal.is_as_before()


def test_the_terminal_is_restored_when_watch_itself_fails(desk):
    with Terminal("third_derivative") as terminal:
        terminal.shows("not started", "save it")
        shutil.rmtree("exercises/01_grad/answers")  # the exercise at hand is gone
        terminal.press("n")
        assert terminal.ends() == 1
        assert "Traceback" in terminal.written or "Error" in terminal.written
        assert terminal.is_as_before()


def test_keys_work_again_after_a_stop(desk):
    """Ctrl-Z, and `fg` from a shell that has set up the terminal for itself."""
    with Terminal("third_derivative") as terminal:
        terminal.shows("not started", "save it")
        terminal.process.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        termios.tcsetattr(terminal.theirs, termios.TCSANOW, terminal.before)
        terminal.written = ""
        terminal.process.send_signal(signal.SIGCONT)
        terminal.shows("not started")
        assert not terminal.by_lines()
        terminal.press("q")
        assert terminal.ends() == 0
        assert terminal.is_as_before()


def test_without_a_terminal_it_says_what_to_do_instead(desk):
    done = subprocess.run(
        [sys.executable, "-m", "tinyjax.learn", "watch", "sgd_step"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1
    assert "watch needs a terminal" in done.stderr and "tinyjax check sgd_step" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_return_from_a_stop_while_the_screen_is_written_is_not_lost(monkeypatch):
    grader = SimpleNamespace(check=lambda exercise, source: Verdict(exercise.name, "fail", []))
    watching = Watch(find("third_derivative"), lambda arguments: 0, grader)

    class Stopped(io.StringIO):
        """The program is stopped, and goes on, right after it has written its screen."""

        def flush(self):
            watching.forget_screen()

    monkeypatch.setattr("sys.stdout", Stopped())
    watching.draw()
    monkeypatch.setattr("sys.stdout", again := io.StringIO())
    watching.draw()
    assert KEYS in again.getvalue()
