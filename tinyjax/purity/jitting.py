"""jit(f, check=True), and the flag check_purity: a check before the first trace, and a look at what
was captured before each call after it."""

import weakref

from tinyjax.core import Tracer
from tinyjax.errors import ImpureFunctionError
from tinyjax.purity.checking import examine
from tinyjax.purity.findings import read_finding, reads, shown
from tinyjax.purity.report import PurityReport
from tinyjax.purity.spots import MISSING, same
from tinyjax.purity.surroundings import Change
from tinyjax.purity.tracing import is_inside
from tinyjax.purity.watching import root_codes

_checked: weakref.WeakKeyDictionary = (
    weakref.WeakKeyDictionary()
)  # JitFunction -> {static values: Captured}
_seen: set = set()  # codes that ran under the check of a function that calls them


class Captured:
    """What a function read when it was checked; it must be the same in each call."""

    def __init__(self, watch):
        self.uses = {}  # path -> (code, use)
        for code, use in reads(watch):
            for n in range(1, min(len(use.names), 3) + 1):
                self.uses.setdefault(".".join(use.names[:n]), (code, use))
        around = watch.surroundings
        pairs = zip(around.spots, around.contents)
        self.pairs = [(s, c) for s, c in pairs if self.is_read(s)]

    def is_read(self, spot):
        """Whether the function named a spot, or an attribute of it."""
        if spot.root == "argument":
            return False
        return not spot.container or self.use_of(spot.path) is not None

    def use_of(self, path):
        """The use of the name that a path begins with."""
        name = path.partition("[")[0]
        while name and name not in self.uses:
            name = name.rpartition(".")[0]
        return self.uses.get(name)

    def change(self):
        """A finding for something that is no longer as it was, or None."""
        for spot, before in self.pairs:
            now = spot.read()
            if same(before, now):
                continue
            for path, old, new in Change(spot, before, now).members() or [(spot.path, None, None)]:
                use = self.uses.get(path.partition("[")[0]) or self.use_of(spot.path)
                known = self.uses.get(path) or "[" in path or not spot.container
                if isinstance(old, Tracer) or isinstance(new, Tracer):
                    continue  # such a program was not kept
                if use is not None and known and not callable(old):
                    return captured(path, old, new, *use)
        return None


def captured(path, old, new, code, use):
    """The finding for a value that is another one than when the function was traced."""
    unknown = old is MISSING or new is MISSING or shown(old) == shown(new)
    how = "" if unknown else f" ({shown(old)} -> {shown(new)})"
    who = f"it was changed after the function had been traced{how}"
    return read_finding("captured value", path, who, code, use)


def check_jit(jitted, args, kwargs):
    """Check a jitted function before its first trace, and what it captured before later calls.

    Raises ImpureFunctionError.
    """
    if is_inside():  # part of a check that goes on
        return
    codes = root_codes(jitted.fun)
    if not codes:
        return
    fun, static, args, kwargs = jitted.split_static(args, kwargs)
    checks = _checked.setdefault(jitted, {})  # by static values: other ones make another program
    if static in checks:
        found = checks[static].change()
        if found is not None:
            raise ImpureFunctionError(str(PurityReport(jitted.name, [found])))
    elif jitted.check or not codes <= _seen:
        report, watch = examine(fun, args, kwargs)
        if not report.ok:
            raise ImpureFunctionError(str(report))
        checks[static] = Captured(watch)
        _seen.update(watch.lines)
