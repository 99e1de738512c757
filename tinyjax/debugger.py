"""A small debugger for debug.breakpoint: the frames around it, with their values at run time."""

import cmd
import inspect
import linecache
import pprint
import sys
import traceback

from tinyjax.array import is_arraylike
from tinyjax.source import is_own_code

# ---- frames --------------------------------------------------------------------------------------


class Frame:
    """A line of a function that was running when the program was traced."""

    def __init__(self, frame):
        code = frame.f_code
        self.filename, self.lineno, self.globals = code.co_filename, frame.f_lineno, frame.f_globals
        self.source = linecache.getlines(self.filename, frame.f_globals)
        self.locals = {}

    def context(self, before, after):
        """The lines around this one, which is marked."""
        first = max(self.lineno - before, 1)
        lines = self.source[first - 1 : self.lineno + after]
        marks = ["-> " if first + i == self.lineno else "   " for i in range(len(lines))]
        return [f"{mark} {line.rstrip()}" for mark, line in zip(marks, lines)]


def breakpoint_callback(frame, filter_frames, num_frames, options):
    """-> a function of the frames' values that runs the debugger, and these values."""
    frames, values = [], []
    while frame is not None and (num_frames is None or len(frames) < num_frames):
        if not (filter_frames and is_own_code(frame.f_code)):
            frames.append(Frame(frame))
            values.append(dict(frame.f_locals) if not is_module(frame) else {})
        frame = frame.f_back
    known = [{k: v for k, v in names.items() if not is_arraylike(v)} for names in values]
    arrays = [{k: v for k, v in names.items() if is_arraylike(v)} for names in values]

    def stop(arrays):
        for f, others, own in zip(frames, known, arrays):
            f.locals = {**others, **own}
        Debugger(frames, **options).run()

    return stop, arrays


def is_module(frame):
    """Whether the locals of a frame are the globals of a module, which need no values."""
    return inspect.getmodule(frame) is None or frame.f_code.co_name == "<module>"


# ---- commands ------------------------------------------------------------------------------------


class Debugger(cmd.Cmd):
    """Reads commands until `c` or `q`; anything else is an expression."""

    prompt, intro = "(jdb) ", "Entering jdb:"

    def __init__(self, frames, stdin=None, stdout=None):
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self.frames, self.at = frames, 0

    def say(self, text):
        """Print where the user wants it."""
        print(text, file=self.stdout)

    def show(self, expression, form):
        """Print the value of an expression, or what went wrong."""
        frame = self.frames[self.at]
        try:
            self.say(form(eval(expression, {}, {**frame.globals, **frame.locals})))
        except Exception:
            error = traceback.format_exception_only(*sys.exc_info()[:2])[-1].strip()
            self.say(f"*** {error}")

    def default(self, line):
        """The value of an expression."""
        self.show(line, repr)

    def do_p(self, arg):
        """p expression: print its value."""
        self.show(arg, repr)

    def do_pp(self, arg):
        """pp expression: print its value in a readable form."""
        self.show(arg, pprint.pformat)

    def around(self, lines=2):
        """Print where we are."""
        frame = self.frames[self.at]
        self.say(
            "\n".join([f"> {frame.filename}({frame.lineno})", *frame.context(lines, lines + 1)])
        )

    def do_list(self, arg):
        """l(ist): the lines around."""
        self.around(5)

    def do_up(self, arg):
        """u(p): go to the caller."""
        if self.at == len(self.frames) - 1:
            self.say("At topmost frame.")
        else:
            self.at += 1
        self.around()

    def do_down(self, arg):
        """d(own): go back to what it called."""
        if self.at == 0:
            self.say("At bottommost frame.")
        else:
            self.at -= 1
        self.around()

    def do_where(self, arg):
        """w(here), bt: all frames, the innermost last."""
        lines = ["Traceback:"]
        for frame in reversed(self.frames):
            lines.append(f'  File "{frame.filename}", line {frame.lineno}')
            source = frame.source[frame.lineno - 1 : frame.lineno] or ["<no source>"]
            lines.append(f"    {source[0].strip()}")
        self.say("\n".join(lines))

    def do_continue(self, arg):
        """c(ont(inue)): go on with the program."""
        return True

    def do_quit(self, arg):
        """q(uit), exit: end the program."""
        sys.exit(0)

    do_l, do_u, do_d = do_list, do_up, do_down
    do_c = do_cont = do_continue
    do_q = do_EOF = do_exit = do_quit
    do_w = do_bt = do_where

    def run(self):
        """Until the user has seen enough."""
        while True:
            try:
                return self.cmdloop()
            except KeyboardInterrupt:
                self.say("--KeyboardInterrupt--")
