"""The transformed functions that a function calls: jit(update) is mostly about a grad inside."""

import contextlib
import inspect
import sys

from tinyjax.core import Tracer
from tinyjax.errors import UnexpectedTracerError
from tinyjax.explaining.levels import levels_of, takes_function, traced
from tinyjax.explaining.stack import AT_ONCE
from tinyjax.source import is_user_frame
from tinyjax.tracebacks import boundary
from tinyjax.transforms.flat import layer_of
from tinyjax.tree_util import tree_leaves, tree_map

MOST = 4  # calls inside of one function whose stories are told
BOUNDARY = boundary(lambda: None).__code__  # the code that a call of a transformed function runs


IN_BOUNDARY = {inspect.unwrap(transform): transform for transform in AT_ONCE}


class Watch:
    """While it is active, notes the calls of transformed functions by the user's functions (not
    those inside of such a call). Python's hook for profilers tells it of calls."""

    def __init__(self):
        self.calls, self.running = [], None

    def __enter__(self):
        self.before = sys.getprofile()
        sys.setprofile(self.event)
        return self

    def __exit__(self, *exc):
        sys.setprofile(self.before)

    def event(self, frame, what, arg):
        """A function is called, or returns."""
        if what == "return" and frame is self.running:
            self.running = None
        if what != "call" or self.running is not None or frame.f_code is not BOUNDARY:
            return
        names = frame.f_locals
        fun = IN_BOUNDARY.get(names["fun"], names["fun"])
        known = layer_of(fun) or takes_function(fun)
        if known and is_user_frame(frame.f_back):
            self.running = frame
            self.calls.append((fun, names["args"], names["kwargs"]))


def calls_inside(level, use):
    """What use(levels) gives for each transformed function that a level's function calls.

    use is called while the function is traced: functions inside may close over its values. Values
    of a loop's body are gone by then; what closes over those is left out.
    """
    found = []

    def watched(*args, **kwargs):
        with Watch() as watch:
            out = level.fun(*args, **kwargs)
        calls = list({kind(*call): call for call in watch.calls}.values())
        for fun, args, kwargs in calls[:MOST]:
            with contextlib.suppress(UnexpectedTracerError):
                found.append(use(levels_of(fun, *tree_map(type_of, (args, kwargs)), ())))
        return out

    traced(watched, level)
    return found


def type_of(x):
    """The type of what is traced; a constant as it is."""
    return x.aval if isinstance(x, Tracer) else x


def kind(fun, args, kwargs):
    """What calls with one story have in common."""
    layer = layer_of(fun)
    name, inner, options = layer[:3] if layer else (AT_ONCE[fun], *args[:1], {})
    types = tuple([str(getattr(x, "aval", x)) for x in tree_leaves((args, kwargs))])
    return name, getattr(inner, "__code__", id(inner)), str(options), types
