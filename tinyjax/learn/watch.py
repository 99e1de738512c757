"""`tinyjax watch`: checks an exercise on every save of its file, and takes keys without Enter.

The screen is drawn anew whenever what it says changes: the verdict, what a key has asked for, and
the keys. The check runs in a thread, so that keys and saves are noticed meanwhile.
"""

import argparse
import contextlib
import io
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tinyjax.learn import feedback
from tinyjax.learn.course import following, go_to, note_pass
from tinyjax.learn.exercise import Exercise, find
from tinyjax.learn.judge import Grader, Verdict

try:
    import termios
    import tty
except ImportError:  # Windows: there is no such terminal
    termios = None  # type: ignore[assignment]

KEYS = "h hint  n next  l list  s solution (after a pass)  r rerun  x reset  q quit"
COMMANDS = {"h": "hint", "l": "list", "s": "solution", "x": "reset"}  # keys that are commands
PAUSE = 0.2  # seconds between two looks at the file
CLEAR = "\x1b[2J\x1b[H"

# --- The terminal --------------------------------------------------------------------------------


@contextlib.contextmanager
def keys_without_enter(returned: Callable[[], None]) -> Iterator[int]:
    """In this block the terminal hands over each key at once; afterwards it is as it was.

    Args:
      returned: called when the program has been stopped (Ctrl-Z) and is in front again.

    Yields the descriptor that the keys come from.
    """
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    def resume(number: int, frame: Any) -> None:
        tty.setcbreak(descriptor)  # a shell has set the terminal up for itself meanwhile
        returned()

    handlers = {signal.SIGTERM: leave, signal.SIGHUP: leave, signal.SIGCONT: resume}
    old = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        tty.setcbreak(descriptor)
        yield descriptor
    finally:
        with contextlib.suppress(termios.error):  # the window has been closed
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        for number, handler in old.items():
            signal.signal(number, handler)


def read_keys(descriptor: int, seconds: float) -> str:
    """The keys pressed within so many seconds, perhaps none; `q` when the terminal is gone."""
    if not select.select([descriptor], [], [], seconds)[0]:
        return ""
    try:
        pressed = os.read(descriptor, 64)
    except OSError:
        pressed = b""
    if not pressed:
        return "q"
    if pressed.startswith(b"\x1b"):  # an arrow or a function key: several bytes, no letter
        return ""
    return pressed.decode("utf-8", "replace").lower().replace("\x04", "q")


# --- The file ------------------------------------------------------------------------------------


def appearance(path: Path) -> tuple[int, ...] | None:
    """What changes when a file is saved, also when another file takes its name; None: no file."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


class Checking(threading.Thread):
    """One check, under way or done. Nobody waits for it at the end of the program."""

    def __init__(self, grader: Grader, exercise: Exercise):
        super().__init__(daemon=True)
        self.grader, self.exercise = grader, exercise
        self.verdict: Verdict | None = None
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        """Reads the file, judges it, and notes a pass together with what has passed."""
        try:
            source = None
            with contextlib.suppress(OSError):
                source = self.exercise.path.read_text(encoding="utf-8", errors="replace")
            verdict = self.grader.check(self.exercise, source)
            if verdict.passed and source is not None:
                note_pass(self.exercise, source)
            self.verdict = verdict
        except Exception as error:  # for the main thread to raise
            self.error = error


# --- Watching ------------------------------------------------------------------------------------


class Watch:
    """The exercise at hand and what is known of it.

    Args:
      exercise: the first one.
      run_command: runs a command of `tinyjax`, such as `["hint", name]`, which prints.
      grader: judges.
    """

    def __init__(self, exercise: Exercise, run_command: Callable[[list[str]], int], grader: Grader):
        self.run_command, self.grader = run_command, grader
        self.drawn = ""
        self.checking: Checking | None = None
        self.turn_to(exercise)

    def turn_to(self, exercise: Exercise) -> None:
        """Makes this the exercise at hand."""
        self.exercise = exercise
        self.verdict: Verdict | None = None
        self.said, self.alone = "", False  # by a key; whether it is shown without the verdict
        self.check()

    def loop(self) -> int:
        """Until the student has had enough."""
        with keys_without_enter(self.forget_screen) as descriptor:
            while True:
                self.draw()
                for key in read_keys(descriptor, PAUSE):
                    if key == "q":
                        return 0
                    self.press(key)
                self.look()

    # Checking

    def check(self) -> None:
        """Starts a check of the file as it is now; after the one under way, if there is one."""
        self.seen = self.glimpsed = appearance(self.exercise.path)
        self.outdated = self.checking is not None
        if self.checking is None:
            self.checking = Checking(self.grader, self.exercise)

    def look(self) -> None:
        """Takes the verdict when it is there, and starts a check when the file has changed."""
        if self.checking is not None and not self.checking.is_alive():
            done, self.checking = self.checking, None
            if done.error is not None:
                raise done.error
            if self.outdated:
                self.check()
            else:
                self.verdict = done.verdict
        now = appearance(self.exercise.path)
        if now != self.seen and now == self.glimpsed:  # and the editor has done with it
            self.said, self.alone = "", False
            self.check()
        self.glimpsed = now

    # Keys

    def press(self, key: str) -> None:
        """Does what a key is for; other keys do nothing."""
        if key == "r":
            self.said, self.alone = "", False
            self.check()
        elif key == "n":
            self.go_on()
        elif key in COMMANDS:
            name = [] if key == "l" else [self.exercise.name]
            self.said, self.alone = self.output([COMMANDS[key], *name]), key in "ls"
            if key == "x":
                self.check()

    def output(self, arguments: list[str]) -> str:
        """What a command prints."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                self.run_command(arguments)
            except (SystemExit, OSError) as error:
                print(error)
        return printed.getvalue().strip("\n")

    def go_on(self) -> None:
        """Turns to the next unsolved exercise; after the last one comes the first."""
        if exercise := following(self.exercise):
            go_to(exercise)
            self.turn_to(exercise)
        else:
            self.said, self.alone = "There is no other exercise left to solve.", False

    # The screen

    def forget_screen(self) -> None:
        """Somebody else has written on the screen: it will be drawn again."""
        self.drawn = ""

    def draw(self) -> None:
        """Draws the screen if it says something else than before."""
        screen = self.screen()
        if screen != self.drawn:
            self.drawn = screen  # first: a return from Ctrl-Z may come while this is being written
            sys.stdout.write(CLEAR + screen)
            sys.stdout.flush()

    def screen(self) -> str:
        """Everything on the screen."""
        parts = [self.heading()]
        if self.verdict is not None and not self.alone:
            parts.append(feedback.evidence(self.verdict))
        parts += [self.said] if self.said else []
        parts.append("Checking ..." if self.checking is not None else self.next_step())
        return "\n\n".join([*parts, KEYS]) + "\n"

    def heading(self) -> str:
        """Which exercise this is, and where its file lies."""
        path = os.path.relpath(self.exercise.path)
        stars = "*" * self.exercise.about.get("difficulty", 0)
        minutes = self.exercise.about.get("minutes")
        box = f", about {minutes} minutes" if minutes else ""
        return f"{self.exercise.title} ({stars}{box})\n{path}"

    def next_step(self) -> str:
        """What to do now."""
        status = self.verdict.status if self.verdict is not None else ""
        if status == "pass":
            return "Passed. Press n for the next exercise."
        if status == "missing":
            return "Press x to bring the file back."
        return "Edit the file and save it: it is then checked again. Stuck? Press h."


# --- The command ---------------------------------------------------------------------------------


def watch(exercise: Exercise, run_command: Callable[[list[str]], int]) -> int:
    """Watches in this terminal; returns the exit code."""
    if termios is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        print(
            "tinyjax: watch needs a terminal, for its screen and its keys. "
            f"Run this after each save instead: tinyjax check {exercise.name}",
            file=sys.stderr,
        )
        return 1
    with Grader() as grader:
        watching = Watch(exercise, run_command, grader)
        try:
            code = watching.loop()
        except KeyboardInterrupt:
            code = 130
    if watching.checking is not None:  # the student has left it: nobody waits for the verdict
        sys.stdout.flush()
        os._exit(code)
    return code


def add_command(
    commands: argparse._SubParsersAction,
    run_command: Callable[[list[str]], int],
    current: Callable[[], Exercise],
) -> None:
    """Adds `watch` to a parser.

    Args:
      commands: of the parser.
      run_command: runs a command line.
      current: the exercise to take when none is named.
    """
    says = "check an exercise again whenever its file is saved"
    command = commands.add_parser("watch", help=says, description=f"{says}. Keys: {KEYS}")
    command.add_argument("name", nargs="?", help="the exercise; the one at hand when left out")
    command.set_defaults(
        run=lambda args: watch(find(args.name) if args.name else current(), run_command)
    )
