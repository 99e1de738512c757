"""Where an operation stands in the user's own code: for messages, and for the equations of jaxprs.

A frame of Python's stack is the user's if its file is neither of this package nor of NumPy nor of
Python itself. Equations remember such a place; programs that run again (`eval_jaxpr`, `transpose`)
keep one equation after the other in a local variable `eqn`, and the place of what they do is the
place of that equation. So a derivative knows the line that it is the derivative of.
"""

import itertools
import linecache
import os
import re
import sys
import warnings
from types import CodeType
from typing import NamedTuple

import numpy as np

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPY = os.path.dirname(np.__file__) + os.sep
_PYTHON = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_INSTALLED = re.compile(r"[\\/](site|dist)-packages[\\/]")  # what a user installs is not Python

# what this package writes and runs: how the names of these files begin
TEXT = "<string>"  # the file, for Python, of code that has none
GENERATED = ("<recording of ", "<reader of ", "<builder of ", "<driver of ", "<kernel ")
new_tuple = tuple.__new__  # a third of the time that a NamedTuple's own constructor takes
_is_user: dict[str, bool] = {}  # by the name of the file
_registries: dict[str, dict] = {}  # file -> what Python notes of the warnings that were shown
SHARED = object()
_special: dict = {}  # name of a function that replays (shares) programs -> its code, phase (SHARED)


class Source(NamedTuple):
    """A place in the user's code: its code object and an instruction in it.

    phase: "" or "backward", for what transposition has made.
    """

    code: CodeType
    instruction: int
    phase: str = ""

    def __reduce__(self):
        return type(None), ()  # a place is not sent to other processes: the code is here

    @property
    def file(self):
        """The file, or 'Cell In[3]' in a notebook."""
        return cell_name(self.code.co_filename) or self.code.co_filename

    @property
    def function(self):
        """The name of the function; '<module>' outside of all."""
        return self.code.co_name

    @property
    def position(self):
        """(line, column), counted from 1 and 0."""
        positions = itertools.islice(self.code.co_positions(), self.instruction // 2, None)
        line, _, column, _ = next(positions)
        return line or self.code.co_firstlineno, column or 0

    @property
    def line(self):
        """The number of the line."""
        return self.position[0]

    @property
    def text(self):
        """The line itself; empty if there is no file."""
        return linecache.getline(self.code.co_filename, self.line).strip()

    def __str__(self):
        return f"{self.file}:{self.line} ({self.function})"

    def exact(self):
        """'file:line:column (qualified name)', as JAX shows where a residual comes from."""
        line, column = self.position
        return f"{self.file}:{line}:{column} ({self.code.co_qualname})"


def cell_name(filename):
    """'Cell In[3]' for the file that IPython pretends a cell is; None for others."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    names = getattr(getattr(shell, "compile", None), "_filename_map", {})
    return f"Cell In[{names[filename]}]" if filename in names else None


# ---- looking up ----------------------------------------------------------------------------------


def is_own_code(code):
    """Whether code belongs to this package or to Python's machinery."""
    return code.co_filename.startswith((PACKAGE, "<frozen"))


def is_user_file(name):
    """Whether a file holds code of users: not of tinyjax, NumPy or Python."""
    if name == TEXT:  # `python -c`; otherwise see is_user_frame
        return sys.argv[:1] == ["-c"]
    if name.startswith((PACKAGE, *GENERATED, _NUMPY, "<frozen", "<__array_function__")):
        return False
    return bool(_INSTALLED.search(name)) or not name.startswith(_PYTHON)


def is_user_frame(frame):
    """Whether a frame runs code of users."""
    name = frame.f_code.co_filename
    return is_user_text(frame) if name == TEXT else is_user_file(name)


def is_user_text(frame):
    """Whether code without a file is the user's (exec, eval): libraries generate some, too, which
    runs among the names of their modules, or is called by them."""
    if frame.f_code.co_qualname.startswith("__create_fn__."):  # dataclasses
        return False
    module = frame.f_globals.get("__name__")
    if module is None:
        caller = frame.f_back
        return caller is None or not _INSTALLED.search(caller.f_code.co_filename)
    known = module.startswith(("namedtuple_", "tinyjax.", "numpy."))
    installed = _INSTALLED.search(str(frame.f_globals.get("__file__")))
    return not (known or installed or module.partition(".")[0] in sys.stdlib_module_names)


def here():
    """The Source that led to this call: the innermost line of the user, or that of the equation
    which is being run again; None if there is none."""
    return _find(sys._getframe(1), None)


def place():
    """here(), for an equation that is being recorded; None in a program that serves all callers."""
    return _find(sys._getframe(1), SHARED)


def _find(frame, stop):
    """The Source of a frame or of the nearest one above; None beyond a frame that has to stop."""
    phase = ""
    while frame is not None:
        code = frame.f_code
        user = _is_user.get(code.co_filename)
        if user:
            return new_tuple(Source, (code, frame.f_lasti, phase))
        if user is None and code.co_filename == TEXT:  # has many authors: not remembered
            if is_user_text(frame):
                return new_tuple(Source, (code, frame.f_lasti, phase))
        elif user is None:
            _is_user[code.co_filename] = is_user_file(code.co_filename)
            continue
        if code.co_name in _special and _special[code.co_name][0] is code:
            meaning = _special[code.co_name][1]
            if meaning is SHARED:
                if stop is SHARED:
                    return None
            else:
                eqn, phase = frame.f_locals.get("eqn"), phase or meaning
                if eqn is not None and eqn.source is not None:
                    return eqn.source._replace(phase=phase) if phase else eqn.source
        frame = frame.f_back
    return None


def replays(phase=""):
    """Decorator: the function runs equations again, each in a local variable `eqn`."""

    def mark(f):
        _special[f.__name__] = f.__code__, phase
        return f

    return mark


def shared(f):
    """Decorator: the function makes a program that serves all callers, as that of jnp.where does.
    Its equations have no line of their own: that of the equation which calls it counts."""
    _special[f.__name__] = f.__code__, SHARED
    return f


def warn(message, category=UserWarning):
    """A warning at the user's line: Python shows it once per line and text."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and not is_user_frame(frame):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_at(source, message, category=UserWarning):
    """A warning at a place that is known already."""
    name = source.code.co_filename
    warnings.warn_explicit(
        message, category, name, source.line, registry=_registries.setdefault(name, {})
    )
