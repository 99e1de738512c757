"""From what was seen to what is said: the findings of a check."""

import ast
import types

import numpy as np

from tinyjax.array import Array
from tinyjax.core import Tracer
from tinyjax.purity import elsewhere, rewrites
from tinyjax.purity.code import is_user_class, uses
from tinyjax.purity.lines import MUTATORS, call_on, statement
from tinyjax.purity.report import Finding
from tinyjax.purity.sets import loops_over_sets
from tinyjax.purity.spots import MISSING, AttributeSpot, CellSpot, ClassSpot, RandomSpot
from tinyjax.source import Source

_ONCE = "Under jit this happens once, when the function is traced, not in each call."
_STALE = "A compiled program keeps the value that it saw when it was traced. Make it an argument:"


def shown(x):
    """A value in a few characters."""
    if isinstance(x, (np.ndarray, Array)):
        return f"{x.dtype.name}[{','.join(map(str, x.shape))}]" if x.ndim else str(x)
    text = repr(x)
    return text if len(text) <= 30 and "\n" not in text else f"a {type(x).__name__}"


# ---- what changed --------------------------------------------------------------------------------


def of_changes(watch, places):
    """Findings for what the function changed. places: key of a change -> Source."""
    found, paths = [], set()
    for change in watch.changes:
        source = places.get(change.key) or best_guess(watch, change.spot.path)
        code = source.code if source else next(iter(watch.roots), None)
        if isinstance(change.spot, RandomSpot):
            found.append(randomness(change.spot.path, source))
            continue
        members = change.members()
        leaks = [m for m in members if tracers_in(m[2])]
        path, before, after = the_one(members) or (change.spot.path, (), ())
        if any(path == p or path.startswith((f"{p}[", f"{p}.")) for p in paths):
            continue  # the new thing under a name that was reported
        paths.add(path if len(members) == 1 else change.spot.path)
        if code is None:
            continue
        if leaks and change.spot.root != "argument":
            found.append(leak(change, *leaks[0][::2], source, code, code in watch.roots))
        elif not change.spot.container:
            found.append(rebinding(change.spot, before, after, source, code))
        else:
            found.append(mutation(change.spot, path, before, after, source, code))
    return found


def the_one(members):
    """What changed within a thing, if it is one part, which was there before and still is."""
    gone = [m for m in members if m[1] is MISSING or m[2] is MISSING]
    plain = members and "[" not in members[0][0][-2:]
    return (
        members[0] if len(members) == 1 and plain and not (gone and "]" in members[0][0]) else None
    )


def best_guess(watch, path):
    """The line that mentions a name, where it is not known which line changed the thing."""
    name = rewrites.base_name_of(path)
    for code, lines in watch.lines.items():
        for use in uses(code):
            if use.names[0] == name and use.line in lines:
                return use.at(code)
    code = next(iter(watch.roots), None)
    return Source(code, 0) if code else None


def tracers_in(x, depth=4):
    """The tracers in a value and in the containers that it is made of."""
    if isinstance(x, Tracer):
        return [x]
    if depth and isinstance(x, dict):
        x = list(x.values())
    if depth and isinstance(x, (list, tuple, set)):
        return [t for part in x for t in tracers_in(part, depth - 1)]
    if depth and isinstance(x, types.FunctionType):
        cells = [CellSpot(c, "closure", "").read() for c in x.__closure__ or ()]
        return [t for c in cells for t in tracers_in(c, depth - 1)]
    if depth and is_user_class(type(x)) and not isinstance(x, (type, types.FunctionType)):
        return tracers_in(list(getattr(x, "__dict__", {}).values()), depth - 1)
    return []


_WORDS = {
    "global": "the global variable",
    "closure": "the variable of the enclosing function",
    "argument": "its argument",
    "object": "its argument",
    "attribute": "the attribute",
    "default": "the default value of the parameter",
}


def leak(change, path, value, source, code, outermost):
    """A traced value was stored where it lives on."""
    spot, aval = change.spot, tracers_in(value)[0].aval.str_short()
    where = {"global": "a global", "closure": "a variable of the enclosing function"}
    where = where.get(spot.root, f"an {spot.root}")
    if spot.container:
        kind = "an attribute" if isinstance(spot, (AttributeSpot, ClassSpot)) else "a container"
        where = f"{kind} that lives on" if spot.root != "default" else "a default value"
    message = (
        f"{code.co_name} leaks a traced value ({aval}): it stores it in `{path}`, {where}\n"
        "After tracing it has no value; using it is an UnexpectedTracerError. Return it instead:"
    )
    stmt = statement(source, rewrites.base_name_of(path))
    return Finding(
        "leaked tracer", path, message, rewrites.leak(code, stmt, path, outermost), source
    )


def rebinding(spot, before, after, source, code):
    """A global variable, or one of an enclosing function, was bound anew."""
    how = (
        f" ({shown(before)} -> {shown(after)})"
        if before is not MISSING and after is not MISSING
        else ""
    )
    message = (
        f"{code.co_name} assigns {_WORDS[spot.root]} `{spot.path}`{how}\n{_ONCE} Return it instead:"
    )
    rewrite = rewrites.returned_too(
        code, statement(source, spot.path.rpartition(".")[2]), spot.path
    )
    return Finding(f"{spot.root} write", spot.path, message, rewrite, source)


def mutation(spot, path, before, after, source, code):
    """A list, dict, array or object was changed in place."""
    given = spot.root in ("argument", "object")
    attribute = not given and "." in path.partition("[")[0]
    words = "the attribute" if attribute else _WORDS[spot.root]
    vague = (tuple, dict, Tracer, np.ndarray)
    how = f" ({shown(before)} -> {shown(after)})"
    if any(x is MISSING or isinstance(x, vague) for x in (before, after)):
        how = ""
    once = _ONCE if spot.root != "argument" else "Under jit the caller's object stays as it is."
    message = f"{code.co_name} changes {words} `{path}` in place{how}\n{once} Make a new one:"
    kind = "argument" if given else "attribute" if attribute else spot.root
    stmt = statement(source, rewrites.base_name_of(path))
    rewrite = rewrites.mutation(code, stmt, path, type(spot).__name__)
    return Finding(f"mutated {kind}", path, message, rewrite, source)


def randomness(path, source):
    """A generator has moved on."""
    message = (
        f"Random numbers from the hidden state of `{path}`\n"
        "Under jit they are drawn once, when the function is traced, not in each call. Use a key:"
    )
    return Finding("random state", path, message, rewrites.draw(source), source)


# ---- what was called -----------------------------------------------------------------------------

_CALLS = {
    "I/O": "`{0}` is input or output, while the function is traced\n" + _ONCE + " Instead:",
    "time": "`{0}` looks at the clock\n" + _ONCE + " Do it outside:",
    "entropy": "`{0}` gives other numbers each time\n" + _ONCE + " Use a key:",
}


def of_calls(watch):
    """Findings for calls that are not pure; one for each name and line."""
    found = {}
    for kind, name, source in watch.calls:
        key = name, source.code, source.line
        if key not in found:
            name, words = written(name, source), _CALLS[kind]
            words = "`{0}` waits\n" + _ONCE if name == "time.sleep" else words
            rewrite = rewrites.effect(kind, name, source)
            found[key] = Finding(kind, name, words.format(name), rewrite, source)
    opened = {f.source.code for f in found.values() if f.variable == "open"}
    return [
        f
        for f in found.values()
        if not f.variable.startswith("file.") or f.source.code not in opened
    ]


def written(name, source):
    """How a called function is written, where that says more."""
    if name.startswith("random.") and call_on(source, "default_rng") is not None:
        return "numpy.random.default_rng"  # without a seed
    call = call_on(source, name) if name.startswith("logging.") else None
    return name if call is None else ast.unparse(call.func)


def of_sets(watch):
    """Findings for loops over sets."""
    found = []
    for code, lines in watch.lines.items():
        names = {**lines, None: watch.namespaces[code]}
        for line, text, rewrite in dict.fromkeys(loops_over_sets(code, names)):
            message = (
                f"The order of a set decides: {text}\n"
                "Another run of Python may go through it in another order. Sort it:"
            )
            found.append(Finding("set order", text, message, rewrite, at_line(code, line)))
    return found


def at_line(code, line):
    """The Source of a line of a code object."""
    for i, position in enumerate(code.co_positions()):
        if position[0] == line:
            return Source(code, 2 * i)
    return Source(code, 0)


# ---- what is read and changes elsewhere ----------------------------------------------------------


def reads(watch):
    """Pairs (code, use) for the names that were read on the lines that ran, once each."""
    seen = set()
    for code, lines in watch.lines.items():
        for use in uses(code):
            key = code, use.scope, use.names
            method = (
                use.names[-1] in MUTATORS and len(use.names) > 1
            )  # called: seen; else: handed on
            if use.line in lines and not use.written and not method and key not in seen:
                seen.add(key)
                yield code, use


def is_data(x):
    """Whether a value is one that a program computes with, or state; no code, no module."""
    if isinstance(x, dict) and x:
        return not all(callable(v) or isinstance(v, str) for v in x.values())
    if isinstance(x, (list, tuple)) and x:
        return not all(callable(v) for v in x)
    return not isinstance(x, types.ModuleType) and not callable(x)


def of_reads(watch):
    """Findings for what others change."""
    found = []
    for code, use in reads(watch):
        if use.scope == "global":
            finding = global_read(watch, code, use)
        elif use.scope == "cell" and use.names[0] in watch.surroundings.cells.get(code, ()):
            finding = cell_read(watch, code, use)
        else:
            finding = attribute_read(watch, code, use, watch.held.get(code, {}).get(use.names[0]))
        if finding is not None:
            found.append(finding)
    return found


def vars_of(x):
    """The attributes of an object or class."""
    return getattr(x, "__dict__", {})


def global_read(watch, code, use):
    """A global that somebody binds anew or changes."""
    namespace, name, ran = watch.namespaces[code], use.names[0], watch.lines
    value = namespace.get(name, MISSING)
    if value is MISSING or (not is_data(value) and not is_user_class(type(value))):
        return None
    who = elsewhere.who_binds_global(name, namespace, code, watch.lines)
    path = ".".join(use.names[:2])
    if len(use.names) > 1 and not is_data(vars_of(value).get(use.names[1], 0)):
        return None  # code that an object or class holds
    if who is None and not isinstance(value, (bool, int, float, complex, str, Array)):
        attribute = len(use.names) > 1 and is_user_class(type(value))
        who = elsewhere.who_changes(path if attribute else name, namespace, code, ran)
        if who is None:
            return attribute_read(watch, code, use, value)
        name = path if attribute else name
    return read_finding("global read", name, who, code, use) if who else None


def cell_read(watch, code, use):
    """A variable of an enclosing function that somebody binds anew or changes."""
    name = use.names[0]
    try:
        value = watch.surroundings.cells[code][name].cell_contents
    except ValueError:
        return None
    if not is_data(value) and not is_user_class(type(value)):
        return None
    who = elsewhere.who_binds_cell(name, code, watch.lines)
    if who is None:
        return attribute_read(watch, code, use, value)
    return read_finding("closure read", name, who, code, use)


def attribute_read(watch, code, use, thing):
    """An attribute of an object that another method assigns."""
    if len(use.names) < 2 or thing is None or not is_user_class(type(thing)):
        return None
    name = use.names[1]
    value = getattr(thing, "__dict__", {}).get(name, MISSING)
    if value is MISSING or tracers_in(value) or (callable(value) and not is_data(value)):
        return None
    who = elsewhere.who_sets_attribute(thing, name, watch.lines)
    path = ".".join(use.names[:2])
    return read_finding("attribute read", path, who, code, use) if who else None


def read_finding(kind, name, who, code, use):
    """The finding for a read of what changes."""
    message = f"{code.co_name} reads `{name}`, and {who}\n{_STALE}"
    return Finding(kind, name, message, rewrites.as_argument(code, name), use.at(code))
