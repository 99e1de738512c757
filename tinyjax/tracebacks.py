"""Tracebacks show the user's own lines: the frames of this package are taken out.

Where an error leaves this package, at the boundary, its traceback is rewritten:

    try: ...
    except Exception as error:
        shorten(error)
        raise

This costs nothing while nothing is raised, and a bare `raise` adds no entry of its own. Frames of
the user that lie between ours (a function that vmap calls) stay. What goes with ours are frames of
NumPy and Python that we called; those that the user called stay, too.

Small functions such as jnp.power have no boundary, since another frame around them would cost too
much of their time. For them those who print errors do the same (`install`): Python's and IPython's
hooks for errors that nobody caught, and the module traceback.

`config tinyjax_traceback` "full" (TINYJAX_TRACEBACK=full) leaves tracebacks alone.
"""

import functools
import sys
import threading
import traceback

from tinyjax.config import current_flags
from tinyjax.errors import ConcretizationTypeError
from tinyjax.source import GENERATED, PACKAGE, TEXT, is_user_file, is_user_text

NOTE = "(The frames of tinyjax are left out: TINYJAX_TRACEBACK=full shows them.)"

SEQUENCE = "setting an array element with a sequence."  # NumPy's words

OURS, NEUTRAL, USERS = range(3)
_owners: dict[str, int] = {}  # by the name of the file

# ---- whose frames --------------------------------------------------------------------------------


def owner(frame):
    """Whose code a frame runs: ours, that of NumPy or Python, or the user's."""
    filename = frame.f_code.co_filename
    if filename == TEXT:
        return USERS if is_user_text(frame) else NEUTRAL
    known = _owners.get(filename)
    if known is None:
        known = USERS if is_user_file(filename) else NEUTRAL
        if filename.startswith((PACKAGE, *GENERATED)):
            known = OURS
        _owners[filename] = known
    return known


def visible(tb):
    """A traceback without our frames and what they called -> its first entry, or None.

    The chain itself is changed, so whoever holds it sees the same.
    """
    first = last = None
    inside = False  # of a call of ours
    while tb is not None:
        whose, following = owner(tb.tb_frame), tb.tb_next
        inside = whose == OURS or (inside and whose == NEUTRAL)
        if not inside:
            if last is None:
                first = tb
            elif last.tb_next is not tb:
                last.tb_next = tb
            last = tb
        tb = following
    if last is not None:
        last.tb_next = None
    return first


def has_ours(tb):
    """Whether there is anything to take out."""
    while tb is not None:
        if owner(tb.tb_frame) == OURS:
            return True
        tb = tb.tb_next
    return False


# ---- errors --------------------------------------------------------------------------------------


def shorten(error, noted=True):
    """Take our frames out of an error, and out of those that led to it or that it holds.

    noted: whether the error is to say so.
    """
    if current_flags().traceback == "full":
        return
    if noted and has_ours(error.__traceback__) and NOTE not in getattr(error, "__notes__", ()):
        error.add_note(NOTE)
    if wraps_ours(error):
        error.args = (f"{error} {error.__cause__}",)
        error.__suppress_context__, error.__cause__ = True, None
    for e in related(error):
        e.__traceback__ = visible(e.__traceback__)
        if is_internal(e.__context__) and e.__cause__ is None:
            e.__suppress_context__ = True


def wraps_ours(error):
    """Whether NumPy says, of a[0] = x, only that x is no number: our error, its cause, says why."""
    sequence = type(error) is ValueError and str(error) == SEQUENCE
    return sequence and isinstance(error.__cause__, ConcretizationTypeError)


def related(error):
    """An error, those that led to it, and the members of groups."""
    waiting, seen = [error], set()
    while waiting:
        e = waiting.pop()
        if e is not None and id(e) not in seen:
            yield e
            seen.add(id(e))
            waiting += [e.__cause__, e.__context__, *getattr(e, "exceptions", ())]


def is_internal(error):
    """Whether an error was raised and caught by this package alone: it tells a user nothing."""
    if error is None:
        return False
    tb = error.__traceback__
    internal = tb is not None
    while tb is not None:
        internal = internal and owner(tb.tb_frame) != USERS
        tb = tb.tb_next
    return internal and has_ours(error.__traceback__)


def boundary(fun):
    """Decorate a public function that takes long enough: what it raises is shortened."""

    @functools.wraps(fun)
    def at_boundary(*args, **kwargs):
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    return at_boundary


# ---- hooks ---------------------------------------------------------------------------------------


def shown(error):
    """Shorten an error that is about to be printed, if this package has to do with it."""
    if isinstance(error, Exception) and any(has_ours(e.__traceback__) for e in related(error)):
        shorten(error)


def on_uncaught(before, kind, error, tb):
    """sys.excepthook."""
    whole = error is not None and error.__traceback__ is tb
    shown(error)
    before(kind, error, error.__traceback__ if whole else tb)


def on_uncaught_in_thread(before, args):
    """threading.excepthook."""
    error = args.exc_value
    shown(error)
    tb = args.exc_traceback if error is None else error.__traceback__
    before(threading.ExceptHookArgs((args.exc_type, error, tb, args.thread)))


def on_error_in_cell(before, *args, **kwargs):
    """showtraceback of IPython's shell."""
    shown(sys.exc_info()[1])
    return before(*args, **kwargs)


def on_format(self, before, kind, error, *args, **kwargs):
    """What traceback.print_exc, traceback.format_exception and logging begin with."""
    shown(error)
    before(self, kind, error, *args, **kwargs)


def install():
    """Have Python, its threads, the module traceback and IPython shorten what they print."""
    formats = traceback.TracebackException
    formats.__init__ = functools.partialmethod(on_format, formats.__init__)
    sys.excepthook = functools.partial(on_uncaught, sys.excepthook)
    threading.excepthook = functools.partial(on_uncaught_in_thread, threading.excepthook)
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        shell.showtraceback = functools.partial(on_error_in_cell, shell.showtraceback)
