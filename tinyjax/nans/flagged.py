"""debug_nans and debug_infs: an error at the operation, with its place, operands and fix.

Eager operations are noted as they run, so that the error can tell where an infinity came from that
has become a NaN. A compiled program that returns a NaN runs again, equation by equation.
"""

import functools
import threading

from tinyjax.config import current_flags
from tinyjax.core import Primitive, run
from tinyjax.nans.describe import describe
from tinyjax.nans.guard import safely
from tinyjax.nans.history import History, holds
from tinyjax.nans.watch import NOTICE, Watch
from tinyjax.transforms.pmap import pmap_p


class Past(threading.local):
    """The last eager operations of a thread."""

    def __init__(self):
        self.forget()

    def forget(self):
        """Begin anew."""
        self.history = History(most_steps=2000, most_bytes=1 << 26)


past = Past()


def bad(outs, flags):
    """-> ("nan" or "inf", the first result that has what the flags look for), or None."""
    for word, wanted in (("nan", flags.debug_nans), ("inf", flags.debug_infs)):
        for x in outs if wanted else ():
            if holds(word, x):
                return word, x
    return None


def look_at(prim, outs, args=(), params=None):
    """Note an eager operation; raise FloatingPointError if its results are bad.

    prim: a primitive, or the name of a compiled program, whose operands are not told.
    """
    history = past.history
    if isinstance(prim, Primitive) and params is not None:
        history.note(prim, args, params, outs)
    found = bad(outs, current_flags())
    if found is None:
        return
    past.forget()
    word, x = found
    opened = pmap_p if isinstance(prim, str) and "axis_size" in (params or {}) else prim
    if params is not None and opened.high and not opened.effectful:
        history = opened_again(opened, args, params, word) or history
    raise error(word, prim, x, history, clear=params is not None)


@safely(lambda prim, args, params, word: None)
def opened_again(prim, args, params, word):
    """The history of an operation whose programs run equation by equation; None if it is clean."""
    watch = Watch()
    outs = watch.run(watch.process, prim, args, params)
    step = next((getattr(watch.history.of(o), word) for o in outs if holds(word, o)), None)
    if step is None:
        return None
    history = History()
    history.latest_step = step
    return history


def error(word, name, x, history, clear=True):
    """The FloatingPointError: JAX's words, then ours."""
    lines = [f"invalid value ({word}) encountered in {name}"]
    if clear:
        lines += place_and_cause(word, x, history)
    return FloatingPointError("\n".join(lines))


@safely(lambda word, x, history: ["(explain_nan(f)(...) looks for the operation that made it)"])
def place_and_cause(word, x, history):
    """The lines on where a bad value comes from."""
    step = getattr(history, "latest_step", None) or history.origin(word, x)
    return describe(step, word=word, first=False)


def run_again(jaxpr, args):
    """Run a compiled program equation by equation, with an error at the bad one."""
    print(NOTICE)
    flags = current_flags()
    watch = Watch()

    def complain(prim, outs, test=False):
        found = bad(outs, flags)
        if test or found is None:
            return found
        word, x = found
        raise error(word, prim, x, watch.history)

    watch.complain = complain
    watch.run(functools.partial(run, jaxpr), *args)
