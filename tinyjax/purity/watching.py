"""A watch over one run: which of the user's lines run, whom they call, and when the state around
them changes."""

import functools
import sys
import types

from tinyjax.purity.calls import Call, c_call, python_call
from tinyjax.purity.code import is_a, is_library, is_watched, peek
from tinyjax.purity.spots import CellSpot, same
from tinyjax.purity.surroundings import WRAPPED, Change, Surroundings
from tinyjax.source import Source
from tinyjax.transforms.jit import JitFunction
from tinyjax.tree_util import tree_leaves

CALLED = (types.FunctionType, types.MethodType, functools.partial)


class Watch:
    """Looks at one run of a function, from the first line of the user's to the last.

    changing: the keys of changes that an earlier run has seen; the lines are looked for where the
    same changes happen now.
    """

    def __init__(self, f, changing=()):
        self.surroundings = Surroundings()
        self.surroundings.add(f, "closure", "self")
        self.roots, self.direct = root_codes(f), direct_code(f)
        self.outermost = outermost_code(f)
        self.changing = {key[:3] for key in changing}
        self.followed, self.found = {}, {}  # number -> content; key -> the lines that change it
        self.lines = {}  # code -> line that ran -> the local variables when it did so first
        self.namespaces, self.calls = {}, []
        self.held = {}  # code -> parameter -> object that was there before, such as self
        self.given = {}  # root code -> parameter -> what it was called with
        self.place = None  # the line of the user that runs now
        self._watched, self._looked = {}, 0
        self.follow()

    def is_watched(self, frame):
        """Whether a frame is the user's."""
        code = frame.f_code
        known = self._watched.get(id(code))  # the hash of a code object looks at all that is in it
        if known is None:
            mine, caller = is_watched(code, frame.f_globals), frame.f_back
            if mine and code.co_filename == "<string>" and caller is not None:
                mine = not is_library(caller.f_code.co_filename)  # what a library generates
            known = self._watched[id(code)] = mine, code
        return known[0]

    def __enter__(self):
        self.before = sys.gettrace(), sys.getprofile()
        sys.setprofile(self.profile)
        sys.settrace(self.trace)
        return self

    def __exit__(self, *exception):
        sys.settrace(None)
        sys.setprofile(None)
        self.look()
        sys.setprofile(self.before[1])
        sys.settrace(self.before[0])

    # ---- what Python calls -----------------------------------------------------------------------

    def profile(self, frame, event, arg):
        """A function in C is called."""
        if event == "c_call" and self.is_watched(frame):
            found = c_call(arg)
            if arg is globals:
                self.surroundings.add_namespace(frame.f_globals)
            if found:
                self.calls.append(Call(*found, Source(frame.f_code, frame.f_lasti)))

    def trace(self, frame, event, arg):
        """A function in Python is called."""
        caller = frame.f_back
        if self.is_watched(frame):
            self.enter(frame)
            self.look()
            self.place = Source(frame.f_code, frame.f_lasti)
            return self.step
        if caller is not None and self.is_watched(caller):
            found = python_call(frame)
            if found:
                self.calls.append(Call(*found, Source(caller.f_code, caller.f_lasti)))
        return None

    def step(self, frame, event, arg):
        """A line of the user is about to run, or a function of theirs returns."""
        code = frame.f_code
        self.look()
        if event == "line":
            self.place = Source(code, frame.f_lasti)
            lines = self.lines.setdefault(code, {})
            if frame.f_lineno not in lines:
                lines[frame.f_lineno] = dict(frame.f_locals)
        if event == "return" and frame.f_back is not None and self.is_watched(frame.f_back):
            self.place = Source(frame.f_back.f_code, frame.f_back.f_lasti)
        return self.step

    def enter(self, frame):
        """A function of the user begins: what it can reach has not been changed by it yet."""
        code = frame.f_code
        self.namespaces.setdefault(code, frame.f_globals)
        self.surroundings.add_globals(code, frame.f_globals)
        given = dict(frame.f_locals)
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + 2]
        known = {
            n: given[n] for n in names if n in given and id(given[n]) in self.surroundings.seen
        }
        self.held.setdefault(code, known)
        if code in self.roots and code not in self.given:
            self.given[code] = {n: given[n] for n in names if n in given}
            for name, x in self.given[code].items():
                own = [*map(id, tree_leaves(x))] == [id(x)]  # no pytree: the caller's own object
                self.surroundings.add(x, "object" if own else "argument", name)
        self.follow()

    # ---- changes ---------------------------------------------------------------------------------

    def follow(self):
        """Look from now on at those of the new spots that have changed in an earlier run."""
        spots = self.surroundings.spots
        for i in range(self._looked, len(spots) if self.changing else 0):
            key = (spots[i].root, spots[i].path, type(spots[i]))
            if key in self.changing:
                self.followed[i] = self.surroundings.contents[i]
        self._looked = len(spots)

    def look(self):
        """Note which followed spots the last line changed."""
        around = self.surroundings
        for i, last in self.followed.items():
            now = around.spots[i].content()
            if not same(last, now):
                self.followed[i] = now
                for change in Change(around.spots[i], last, now).by_attribute():
                    places = self.found.setdefault(change.key, [])
                    if self.place not in places:
                        places.append(self.place)


def root_codes(f):
    """The code objects of the function that was asked about, within all that wraps it."""
    found, todo, seen = set(), [f], {}
    while todo:
        x = todo.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        code = peek(x, "__code__") if is_a(x, CALLED) else None
        if code is not None and is_watched(code, x.__globals__):
            found.add(code)
            todo += wrapped(x, ("__wrapped__",))
        elif code is not None:
            cells = [CellSpot(c, "closure", "").read() for c in x.__closure__ or ()]
            todo += [c for c in cells if callable(c)]
        if code is None and callable(x) and not is_a(x, type):
            todo.append(type(x).__call__)
        if code not in found and (is_a(x, CALLED) or is_ours(x)):
            todo += wrapped(x, WRAPPED)
    return found


def direct_code(f):
    """The code object of the very function that the caller calls, perhaps with jit around it;
    None for methods, partials and what other transformations made."""
    while is_a(f, JitFunction):
        f = f.fun
    if not is_a(f, types.FunctionType) or "__wrapped__" in vars(f):
        return None
    if f.__defaults__ or f.__kwdefaults__:  # a call may leave arguments out
        return None
    name = f.__code__.co_qualname.rpartition("<locals>.")[2]
    return f.__code__ if name == f.__code__.co_name else None


def outermost_code(f):
    """The code object of a function or method, perhaps with jit around it; None for others."""
    while is_a(f, JitFunction):
        f = f.fun
    if not is_a(f, (types.FunctionType, types.MethodType, functools.partial)) and not is_ours(f):
        f = type(f).__call__
    f = peek(f, "__func__", f)
    plain = is_a(f, types.FunctionType) and "__wrapped__" not in vars(f)
    return f.__code__ if plain else None


def wrapped(x, names):
    """The functions that stand behind one."""
    return [part for part in [peek(x, n) for n in names] if callable(part)]


def is_ours(x):
    """Whether an object is what one of our transformations made."""
    return str(type(x).__module__).startswith("tinyjax.")
