"""The warning of two draws from one key: on by default (flag warn_key_reuse).

Only what the user draws counts. A sampler may draw several times from the key that it was given (it
splits it), and calls other samplers; so a draw counts where the user's code calls, not where this
package does. The key remembers its draws, each with the trace in which it happened: a program that
is traced again, or another branch of a cond, draws anew, and that is no reuse.
"""

import functools
import os
import sys
import warnings
import weakref

from tinyjax.config import current_flags
from tinyjax.core import EVAL, current_trace
from tinyjax.errors import KeyReuseWarning
from tinyjax.source import TEXT, Source, here, is_user_frame, warn
from tinyjax.transforms.key_messages import drawn_twice

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
SAMPLERS, OTHERS, USERS = "samplers", "library", "user"

_kinds: dict = {}  # file -> whose it is
NEVER = (None,)
_told: dict = {}  # two places -> the filters of warnings under which they were told, the places
_eager = weakref.ref(EVAL)


def draws(sampler):
    """Decorate a public sampler: a second draw from one key warns.

    The key is the first argument, or the keyword `key`.
    """

    @functools.wraps(sampler)
    def wrapper(*args, **kwargs):
        out = sampler(*args, **kwargs)  # a call that fails is no draw
        flags = current_flags()
        if flags.warn_key_reuse and not flags.debug_key_reuse:  # which raises
            frame = sys._getframe(1)
            code = frame.f_code
            kind = _kinds.get(code.co_filename) or kind_of(frame)
            if kind is USERS:
                note(args[0] if args else kwargs.get("key"), code, frame.f_lasti)
            elif kind is OTHERS:
                note_elsewhere(args[0] if args else kwargs.get("key"))
        return out

    return wrapper


def kind_of(frame):
    """Whose code a frame runs."""
    filename = frame.f_code.co_filename
    kind = USERS if is_user_frame(frame) else OTHERS
    kind = SAMPLERS if filename.startswith(HERE) else kind
    if filename != TEXT:  # which has many authors
        _kinds[filename] = kind
    return kind


def note_elsewhere(key):
    """A draw that a function of the library makes, for a line of the user."""
    source = here()
    if source is not None:
        note(key, source.code, source.instruction)


def note(key, code, instruction):
    """A draw from a key at a place of the user: warn if there was one before."""
    trace = current_trace()
    place = code, instruction
    before = getattr(key, "draws", ())
    for ref, first in before:
        if ref() is trace and (first != place or first[0] is code):
            tell(first, place)
            return
    if before:  # also: the same code compiled once more, a cell of a notebook that runs again
        before = [draw for draw in before if draw[0]() not in (None, trace)]
    ref = _eager if trace is EVAL else weakref.ref(trace)
    try:
        key.draws = (*before, (ref, place))
    except AttributeError:
        pass  # an array of NumPy


def tell(first, again):
    """Warn of two draws, once for each pair of places."""
    pair = id(first[0]), first[1], id(again[0]), again[1]  # the hash of a code object takes long
    if _told.get(pair, NEVER)[0] is not warnings.filters:
        _told[pair] = warnings.filters, first, again  # another list inside of catch_warnings
        warn(drawn_twice(Source(*first), Source(*again)), KeyReuseWarning)
