"""jit(f, check=True), and the flag check_purity: a check before the first trace; in each call after
it the function is traced anew, and the new program must be the one that jit has kept.

So whatever became part of the program is compared, however the function got it, and nothing else
is. What the function reads is looked at only if the programs differ, for the name of the culprit.
"""

import weakref
from dataclasses import replace

from tinyjax.core import Tracer
from tinyjax.errors import ImpureFunctionError
from tinyjax.purity.checking import examine, watched_trace
from tinyjax.purity.code import is_a
from tinyjax.purity.findings import of_changes, read_finding, reads, shown
from tinyjax.purity.report import Finding, PurityReport
from tinyjax.purity.rewrites import in_words
from tinyjax.purity.spots import MISSING, SequenceSpot, same
from tinyjax.purity.surroundings import Change
from tinyjax.purity.tracing import is_inside
from tinyjax.purity.watching import root_codes
from tinyjax.source import Source

_checked: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # JitFunction -> {key: Captured}
_seen: set = set()  # codes that ran under the check of a function that calls them


def check_jit(jitted, args, kwargs):
    """Check a jitted function before its first trace, and that later calls need no other program.

    Raises ImpureFunctionError.
    """
    if is_inside():  # part of a check that goes on
        return
    codes = root_codes(jitted.fun)
    if not codes:
        return
    fun, args, kwargs, key, _ = jitted.prepare(args, kwargs)
    checks = _checked.setdefault(jitted, {})
    if key not in checks:
        if not jitted.check and not checks and codes <= _seen:
            return
        report, watch = examine(fun, args, kwargs)
        if not report.ok:
            raise ImpureFunctionError(str(report))
        checks[key] = Captured(watch)
        _seen.update(watch.lines)
    kept = jitted.cache.get(key)
    if kept is not None:
        compare(jitted, kept, checks[key], watched_trace(fun, args, kwargs, ()))


def compare(jitted, kept, before, now):
    """Raise an ImpureFunctionError if a function's program is no longer the one that was kept."""
    findings = of_changes(now, {})
    if not findings and (now.program is None or not now.program.is_that_of(kept)):
        findings = [before.culprit() or unnamed(now)]
    if findings:
        raise ImpureFunctionError(str(PurityReport(jitted.name, findings))) from now.error


class Captured:
    """What a function could read when it was checked, to say what is another one now."""

    def __init__(self, watch):
        self.watch, around = watch, watch.surroundings
        self.pairs, self.held = list(zip(around.spots, around.contents)), watch.held
        self.uses = {}  # path -> (code, use)
        for code, use in reads(watch, every=True):
            for n in range(1, len(use.names) + 1):
                self.uses.setdefault(".".join(use.names[:n]), (code, use))

    def culprit(self):
        """A finding for what changed; None if nothing is seen to. What the code names goes first,
        then what is within a thing that it names."""
        found = []
        for spot, before in self.pairs:
            now = spot.content()
            if spot.root == "argument" or same(before, now):
                continue
            for path, old, new in Change(spot, before, now).members() or [
                (spot.path,) + (MISSING,) * 2
            ]:
                if isinstance(old, Tracer) or isinstance(new, Tracer):
                    continue
                if is_a(spot, SequenceSpot) and (old is MISSING or new is MISSING):
                    path, old, new = spot.path, MISSING, MISSING  # it has another length
                rank, path = min(self.rank(spot, name) for name in self.names(spot, path))
                found.append((rank + callable(old) / 2, path, old, new))
        if not found:
            return None
        rank, path, old, new = min(found, key=lambda x: x[0])
        code, use = self.uses.get(base(path)) or (None, None)
        for n in range(len(path.split(".")), 0, -1):
            name = ".".join(path.partition("[")[0].split(".")[:n])
            if name in self.uses:
                code, use = self.uses[name]
                break
        return captured(self.watch, path, old, new, code, use) if code else None

    def names(self, spot, path):
        """How a thing is called: on the way to it, and in functions that were called with it."""
        yield path
        for known in self.held.values():
            for name, thing in known.items():
                if thing is spot.thing and path.startswith(spot.path):
                    yield name + path[len(spot.path) :]

    def rank(self, spot, path):
        """(how far a path is from what the code names, path)."""
        plain = path.partition("[")[0]
        if plain in self.uses:
            return 0, path
        parts = plain.split(".")
        within = [n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in self.uses]
        return (1 + len(parts) - within[0] if within else 9), path


def base(path):
    """'a' for a.b[0]."""
    return path.partition("[")[0].partition(".")[0]


def captured(watch, path, old, new, code, use):
    """The finding for a value that is another one than when the function was traced."""
    unknown = old is MISSING or new is MISSING or shown(old) == shown(new)
    how = "" if unknown else f" ({shown(old)} -> {shown(new)})"
    who = f"it was changed after the function had been traced{how}"
    finding = read_finding(watch, "captured value", path, who, code, use)
    if callable(old) or is_a(old, (str, bytes)):
        words = in_words(f"Make `{path}` a static argument: jit(f, static_argnames=...).")
        finding = replace(finding, rewrite=words)
    return finding


def unnamed(watch):
    """The finding for another program, where it is not seen what has changed."""
    code = next(iter(watch.roots), None)
    name = code.co_name if code else "the function"
    return Finding(
        "captured value",
        name,
        f"{name} reads something that was changed after it had been traced\n"
        "Traced anew it makes another program; the compiled one keeps the old value.",
        in_words("Make what it reads an argument. (clear_cache() forgets the old program.)"),
        Source(code, 0) if code else None,
    )
