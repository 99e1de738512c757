"""Executables: what a jaxpr is compiled to.

An executable is a small Python function, its driver, which allocates arrays and calls kernels (and
NumPy, for what kernels cannot express). Driver and kernels are plain text until they are needed.
"""

import os

from tinyjax.array import Array
from tinyjax.compiler.dispatch import dispatching
from tinyjax.compiler.drive import Driver
from tinyjax.compiler.interpret import interpret
from tinyjax.config import current_flags
from tinyjax.core import memo
from tinyjax.source import warn


class Executable:
    """A compiled program: call it with a list of Arrays, get a list of Arrays.

    The first call compiles the kernels. If that fails the program runs equation by equation.
    A call of a long program may return before its results are there (dispatch.py); `here` is the
    same program run in the caller's thread, always.
    """

    def __init__(self, jaxpr, name):
        self.jaxpr, self.name = jaxpr, name
        self.driver, self.failure, self.compiled = None, None, None
        self.run = self.first_run

    def __call__(self, args):
        return self.run(args)

    def plan(self):
        """The driver: which kernels there are, what calls them."""
        if self.driver is None:
            self.driver = Driver(self.jaxpr, self.name, compile_jaxpr)
        return self.driver

    def first_run(self, args):
        """Compile, then run."""
        self.prepare()
        return self.run(args)

    def here(self, args):
        """Run, and return when the results are there."""
        if self.compiled is None:
            self.prepare()
        return self.compiled(args)

    def prepare(self):
        """Compile now, rather than at the first call."""
        try:
            run = self.plan().build()
        except Exception as error:
            self.failure = error
            warn(
                f"tinyjax: the program {self.name!r} could not be compiled and runs equation by "
                f"equation: {type(error).__name__}: {str(error)[:500]}",
                RuntimeWarning,
            )
            run = self.interpret
        dump(self)
        self.compiled, self.run = run, dispatching(run, self.jaxpr)

    def interpret(self, args):
        """Run equation by equation."""
        outs = interpret(self.jaxpr, [x.npy for x in args])
        weak = [v.aval.weak_type for v in self.jaxpr.outvars]
        return [Array(o, w) for o, w in zip(outs, weak)]

    def kernels(self):
        """The source text of its kernels and of the driver that calls them."""
        return self.plan().text()


@memo
def compile_jaxpr(jaxpr, name):
    """The executable of a program, made once."""
    return Executable(jaxpr, name)


def dump(executable):
    """Write the stages of compilation to the folder of the flag `dump`, if it is set."""
    folder = current_flags().dump
    if not folder:
        return
    try:
        os.makedirs(folder, exist_ok=True)
        number = sum(name.endswith(".jaxpr") for name in os.listdir(folder))
        path = os.path.join(folder, f"{number:04d}_{safe_name(executable.name)}")
        with open(path + ".jaxpr", "w", encoding="utf-8") as file:
            file.write(str(executable.jaxpr) + "\n")
        with open(path + ".py", "w", encoding="utf-8") as file:
            file.write(executable.kernels())
    except OSError as error:
        warn(
            f"tinyjax: nothing is written to the folder of the flag 'dump': {error}",
            RuntimeWarning,
        )


def safe_name(name):
    """A name that may be that of a function or file."""
    text = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return text if text and not text[0].isdigit() else f"f_{text}"
