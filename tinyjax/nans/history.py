"""The operations that have run, and where the NaNs and infinities in their results began."""

import functools
from typing import Any

import numpy as np

from tinyjax import dtypes
from tinyjax.nans.guard import safely
from tinyjax.nans.scenes import Scenes
from tinyjax.primitives.rules import Elementwise
from tinyjax.quiet import restore, silence
from tinyjax.runtime import objects_of
from tinyjax.source import here
from tinyjax.transforms.custom import custom_vjp

PRODUCTS = ("mul", "div", "dot_general")  # what a cotangent is multiplied by


def holds(word, x):
    """Whether an array has a NaN ("nan") or an infinity ("inf")."""
    return places(word, x) is not None


def places(word, x):
    """Where an array has NaNs or infinities, as a mask; None if it has none."""
    if not dtypes.issubdtype(x.dtype, np.inexact):
        return None
    before = silence()
    try:
        mask = getattr(np, f"is{word}")(x.npy)
    finally:
        restore(before)
    return mask if mask.any() else None


def first_index(mask):
    """The first place of a mask."""
    return tuple(int(i) for i in np.unravel_index(np.argmax(mask), np.shape(mask)))


class Step:
    """One operation that has run: operands, results, and where their bad values began.

    nan, inf: the steps that made the NaNs and infinities in the results; None without such values.
    masked: the backward `where` that made zeros here. loops: "iteration 3 of the scan" and so on.
    prim is None for a value from outside: an argument or a constant, which `name` tells.
    """

    def __init__(self, number, prim=None, args=(), params=None, outs=(), source=None, loops=()):
        self.number, self.prim, self.args, self.outs = number, prim, list(args), list(outs)
        self.params, self.source, self.loops = params or {}, source, tuple(loops)
        self.nan: Any = None
        self.inf: Any = None
        self.masked: Any = None
        self.dropped = False  # whether a select has left the NaN out
        self.untaken: Any = None  # a step that multiplied the NaN by a masked zero
        self.makers: list = []  # of a step that made a bad value: the steps of its operands
        self.infs: list = []  # of a step that made a NaN: where infinities among its operands began
        self.name = ""
        self.history: Any = None
        self.scene: Any = None  # the variables of the user's function, where it went wrong
        self.recipe: Any = None  # the fix, once it has been looked for

    @property
    def phase(self):
        """ "forward" or "backward"."""
        return (self.source.phase if self.source else "") or "forward"

    @functools.cached_property
    def is_rule(self):
        """Whether it stands in the backward rule of a custom_vjp function."""
        if self.phase == "backward":
            return False
        rules = [getattr(f.bwd, "__code__", None) for f in objects_of(custom_vjp)]
        return self.source is not None and any(self.source.code is code for code in rules)

    def index(self, word="nan"):
        """(result, place in it) of the first NaN or infinity."""
        for out in self.outs:
            mask = places(word, out)
            if mask is not None:
                return out, first_index(mask)
        return None, None


class History:
    """The steps that have run, by the arrays that they made; the last ones, that is."""

    def __init__(self, most_steps=20_000, most_bytes=1 << 28):
        self.most_steps, self.most_bytes = most_steps, most_bytes
        self.steps, self.bytes, self.count, self.loops = {}, 0, 0, []
        self.scenes, self.again = Scenes(), None

    def of(self, x):
        """The step that made an array, or None."""
        step = self.steps.get(id(x))
        return step if step is not None and any(o is x for o in step.outs) else None

    def keep(self, step):
        """Remember a step; forget the oldest ones if there are too many."""
        for out in step.outs:
            self.steps[id(out)] = step
            self.bytes += out.npy.nbytes
        while len(self.steps) > self.most_steps or self.bytes > self.most_bytes:
            key = next(iter(self.steps))
            self.bytes -= sum(o.npy.nbytes for o in self.steps.pop(key).outs if id(o) == key)
        return step

    def outside(self, x, name):
        """The step of a value that no operation has made."""
        step = Step(self.count, outs=[x], source=here())
        step.name, step.nan, step.inf, step.history = name, step, step, self
        return self.keep(step)

    def origin(self, word, x):
        """The step in which the NaN or infinity of an array began."""
        step = self.of(x) or self.outside(x, "")
        return getattr(step, word) or step

    @safely(lambda *operation: None)
    def note(self, prim, args, params, outs):
        """Remember an operation, and find where its bad values began."""
        self.count += 1
        step = Step(self.count, prim, args, params, outs, None, self.loops)
        bad = [word for word in ("nan", "inf") if any(holds(word, o) for o in outs)]
        step.history = self
        step.source, scene = self.scenes.note(here())
        if bad:
            step.scene = scene
        if prim.name == "select_n" and step.phase == "backward":
            step.masked = step
        for a in args:
            made = self.of(a)
            step.masked = step.masked or (made and made.masked)
        for word in bad:
            began = [self.origin(word, a) for a in own_operands(step, word) if holds(word, a)]
            setattr(step, word, min(began, key=lambda s: s.number) if began else step)
        if step in (step.nan, step.inf):
            step.makers = [self.of(a) for a in args]
        if step.nan is step:
            step.infs = [self.origin("inf", a) for a in args if holds("inf", a)]
        if prim.name == "select_n" and step.nan is None:
            for made in map(self.of, args[1:]):
                if made and made.nan:
                    made.nan.dropped = True
        if step.nan and not step.nan.untaken:
            self.look_for_masked_zero(step)
        return self.keep(step)

    def look_for_masked_zero(self, step):
        """A NaN that was multiplied by the zero cotangent of a branch that was not taken."""
        if step.prim.name not in PRODUCTS:
            return
        for a in step.args:
            made = self.of(a)
            if made and made.masked:
                value = operand_at(step, a)
                if np.any((a.npy if value is None else value) == 0):
                    step.nan.untaken = made.masked

    def first_in_line(self, step):
        """A NaN that the same line made earlier and that was not dropped, or else the step itself:
        the value of an expression rather than its derivative."""
        place = line_of(step)
        for other in self.steps.values():
            if other.nan is other and other.prim and not other.dropped and line_of(other) == place:
                return other if place and other.number < step.number else step
        return step

    @safely(lambda self, x, sources: x)
    def follow(self, x, sources):
        """x was taken out of, or put together from, other arrays: what is bad in it is theirs."""
        if self.of(x):
            return x
        step = Step(self.count, outs=[x])
        known = [self.of(s) for s in sources]
        for word in ("nan", "inf"):
            if holds(word, x):
                bad = [s for s, array in zip(known, sources) if s and holds(word, array)]
                began = [getattr(s, word) for s in bad if getattr(s, word)]
                setattr(step, word, began[0] if began else self.latest(word))
        step.masked = next((s.masked for s in known if s and s.masked), None)
        self.keep(step)
        return x

    def run_again(self):
        """Run the function once more without compiled programs, for the values of its variables;
        False if that is not possible, or has been done."""
        again, self.again = self.again, None
        if again is None:
            return False
        self.scenes.calls.update(again().calls)
        return True

    def latest(self, word):
        """The last known beginning of a NaN or infinity."""
        for step in reversed(list(self.steps.values())):
            if getattr(step, word):
                return getattr(step, word)
        return None


def line_of(step):
    """File and line of a step; None if unknown."""
    return step.source and (step.source.code.co_filename, step.source.line)


def own_operands(step, word):
    """The operands from which a bad result may come: of select_n only those that are chosen."""
    if step.prim.name != "select_n":
        return step.args
    out, where = step.index(word)
    which = step.args[0].npy
    return [step.args[1 + int(which[where] if which.shape else which)]]


def operand_at(step, x):
    """The element of an operand that belongs to the first bad place of an elementwise result; None
    if there is none."""
    out, where = step.index("nan")
    if out is None:
        out, where = step.index("inf")
    if not x.shape:
        return x.npy[()]
    if not is_elementwise(step.prim) or out is None or x.ndim != out.ndim:
        return None
    if any(n not in (1, size) for n, size in zip(x.shape, out.shape)):
        return None
    return x.npy[tuple([0 if n == 1 else i for n, i in zip(x.shape, where)])]


def is_elementwise(prim):
    """Whether each element of the result depends on one element of each operand."""
    also = ("select_n", "add_any", "convert_element_type", "copy")
    return isinstance(prim, Elementwise) or prim.name in also
