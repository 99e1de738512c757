"""From what was seen to what is said: the findings of a check."""

import ast
import inspect
import random
import types
from dataclasses import replace

import numpy as np

from tinyjax.array import Array
from tinyjax.core import Tracer
from tinyjax.purity import draws, elsewhere, rewrites
from tinyjax.purity.code import is_a, is_user_class, text_of, uses
from tinyjax.purity.lines import MUTATORS, call_at, call_on, nodes_at
from tinyjax.purity.report import Finding
from tinyjax.purity.sets import loops_over_sets
from tinyjax.purity.spots import (
    MISSING,
    AttributeSpot,
    CellSpot,
    ClassSpot,
    ContextSpot,
    EnvironSpot,
    IteratorSpot,
    NamespaceSpot,
    RandomSpot,
    attributes,
)
from tinyjax.source import Source

_ONCE = "Under jit this happens once, when the function is traced, not in each call."
_LAZY = "No harm, if it is the same for all calls. Purer: make it before, outside of the function:"
_BEFORE = rewrites.in_words("Make it before the first call, and hand it in as an argument.")
_STALE = "A compiled program keeps the value that it saw when it was traced. Make it an argument:"


def shown(x):
    """A value in a few characters."""
    if isinstance(x, (np.ndarray, Array)):
        return f"{x.dtype.name}[{','.join(map(str, x.shape))}]" if x.ndim else str(x)
    text = text_of(x)
    return text if len(text) <= 30 and "\n" not in text else f"a {type(x).__name__}"


# ---- what changed --------------------------------------------------------------------------------


def place_of(watch, source):
    """What the rewrites need to know of a place."""
    code = source.code
    values = {**watch.namespaces.get(code, {}), **watch.lines.get(code, {}).get(source.line, {})}
    return rewrites.Place(code, source, values, code is watch.direct, code is watch.outermost)


def of_changes(watch, places):
    """Findings for what the function changed. places: key of a change -> the Sources that do."""
    found, paths = [], set()
    for change in watch.changes:
        guess = best_guess(watch, change.spot.path)
        sources = places.get(change.key) or ([guess] if guess else [])
        if not sources:
            continue
        place = place_of(watch, sources[0])
        if isinstance(change.spot, RandomSpot):
            found += [randomness(change.spot, place_of(watch, source)) for source in sources]
            continue
        members = change.members()
        leaks = [m for m in members if tracers_in(m[2])]
        path, before, after = the_one(members) or (change.spot.path, (), ())
        if any(path == p or path.startswith((f"{p}[", f"{p}.")) for p in paths):
            continue  # the new thing under a name that was reported
        if isinstance(change.spot, NamespaceSpot):
            members = [m for m in members if m[0] not in {f"globals()[{p!r}]" for p in paths}]
            if not members:
                continue
            path, before, after = members[0]
        paths.add(path if len(members) == 1 else change.spot.path)
        if leaks and change.spot.root != "argument":
            found.append(leak(change, leaks[0][0], leaks[0][2], place))
        elif isinstance(change.spot, IteratorSpot):
            found.append(advance(change.spot.path, place))
        elif not change.spot.container:
            found.append(rebinding(change.spot, before, after, place))
        else:
            found.append(mutation(change.spot, path, before, after, place))
    return alone(found)


def alone(found):
    """The findings; where one function has several changes, code for one of them alone would not be
    the whole of it: what it returns is said in words."""
    groups = [(f.source.code, f.kind == "random state") for f in found]
    for i, group in enumerate(groups):
        if groups.count(group) > 1 and found[i].rewrite[0] != "#":
            found[i] = replace(found[i], rewrite=rewrites.one_of_many(found[i].rewrite, group[1]))
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
    if is_a(x, Tracer):
        return [x]
    if depth and is_a(x, dict):
        x = list(x.values())
    if depth and is_a(x, (list, tuple, set)):
        return [t for part in x for t in tracers_in(part, depth - 1)]
    if depth and is_a(x, types.FunctionType):
        cells = [CellSpot(c, "closure", "").read() for c in x.__closure__ or ()]
        return [t for c in cells for t in tracers_in(c, depth - 1)]
    if depth and is_user_class(type(x)) and not is_a(x, (type, types.FunctionType)):
        return tracers_in(list(attributes(x).values()), depth - 1)
    return []


_WORDS = {
    "global": "the global variable",
    "closure": "the variable of the enclosing function",
    "argument": "its argument",
    "object": "its argument",
    "attribute": "the attribute",
    "default": "the default value of the parameter",
    "partial": "what functools.partial hands in,",
}


def leak(change, path, value, place):
    """A traced value was stored where it lives on."""
    spot, aval = change.spot, tracers_in(value)[0].aval.str_short()
    where = {"global": "a global", "closure": "a variable of the enclosing function"}
    where = where.get(spot.root, f"an {spot.root}")
    if spot.container:
        kind = "an attribute" if isinstance(spot, (AttributeSpot, ClassSpot)) else "a container"
        where = f"{kind} that lives on" if spot.root != "default" else "a default value"
    message = (
        f"{place.code.co_name} leaks a traced value ({aval}): it stores it in `{path}`, {where}\n"
        "After tracing it has no value; using it is an UnexpectedTracerError. Return it instead:"
    )
    rewrite = rewrites.leak(place, path, spot.root)
    return Finding("leaked tracer", path, message, rewrite, place.source)


def rebinding(spot, before, after, place):
    """A global variable, or one of an enclosing function, was bound anew."""
    how = (
        f" ({shown(before)} -> {shown(after)})"
        if before is not MISSING and after is not MISSING
        else ""
    )
    name = place.code.co_name
    message = f"{name} assigns {_WORDS[spot.root]} `{spot.path}`{how}\n{_ONCE} Return it instead:"
    rewrite = rewrites.changed(place, spot.path, spot.root)
    if is_lazy(place, spot.path):
        message = f"{name} makes `{spot.path}` when it is first needed\n{_LAZY}"
        rewrite = _BEFORE
    return Finding(f"{spot.root} write", spot.path, message, rewrite, place.source)


def mutation(spot, path, before, after, place):
    """A list, dict, array or object was changed in place."""
    given = spot.root in ("argument", "object")
    attribute = not given and "." in path.partition("[")[0]
    words = "the attribute" if attribute else _WORDS[spot.root]
    vague = (tuple, dict, Tracer, np.ndarray)
    how = f" ({shown(before)} -> {shown(after)})"
    if any(x is MISSING or is_a(x, vague) for x in (before, after)):
        how = ""
    once = _ONCE if spot.root != "argument" else "Under jit the caller's object stays as it is."
    name = place.code.co_name
    message = f"{name} changes {words} `{path}` in place{how}\n{once} Make a new one:"
    kind = "argument" if given else "attribute" if attribute else spot.root
    rewrite = rewrites.changed(place, path, spot.root)
    if not given and is_lazy(place, path):
        message = f"{name} keeps what it makes first in `{path}`, a cache\n{_LAZY}"
        rewrite = _BEFORE
    if is_a(spot, (EnvironSpot, ContextSpot, NamespaceSpot)):
        rewrite = rewrites.in_words("Do it outside of the function.")
    return Finding(f"mutated {kind}", path, message, rewrite, place.source)


def advance(path, place):
    """An iterator or generator gave its next value."""
    message = f"{place.code.co_name} takes the next value of `{path}`, which lives on\n{_ONCE}"
    words = "Take the value outside, and hand it in as an argument."
    rewrite = rewrites.in_words(words)
    return Finding("hidden state", path, message, rewrite, place.source)


def is_lazy(place, path):
    """Whether a thing is made where an `if` asks for it: if x is None, if key not in memo."""
    name = path.partition("[")[0]
    for node in nodes_at(place.source):
        tests = isinstance(node, ast.If) and ast.walk(node.test)
        for test in tests or ():
            asks = isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.NotIn))
            if asks and name in (ast.unparse(test.left), ast.unparse(test.comparators[0])):
                return True
    return False


def randomness(spot, place):
    """A generator has moved on."""
    message = (
        f"Random numbers from the hidden state of `{spot.path}`\n"
        "Under jit they are drawn once, when the function is traced, not in each call. Use a key:"
    )
    rewrite = draws.draw(place, is_a(spot.thing, random.Random))
    return Finding("random state", spot.path, message, rewrite, place.source)


# ---- what was called -----------------------------------------------------------------------------

_CALLS = {
    "thread": "`{0}` starts a thread: nobody knows when it runs, or what it changes\n" + _ONCE,
    "I/O": "`{0}` is input or output, while the function is traced\n" + _ONCE + " Instead:",
    "time": "`{0}` looks at the clock\n" + _ONCE + " Do it outside:",
    "entropy": "`{0}` gives other numbers each time\n" + _ONCE + " Use a key:",
}
_SPECIAL = {
    "time.sleep": "`{0}` waits\n" + _ONCE,
    "id": "`id` gives another number in each run of Python\n" + _ONCE,
    "set.pop": "`{0}` takes any element of a set, another one in the next run of Python\n" + _ONCE,
    "os.environ": "`{0}` is read: the environment of the process, which may change\n" + _ONCE,
}


def is_seeded(watch, source):
    """Whether a line makes a RandomState or the like from a seed: the constructor asks the system
    for random bits first, and does not use them."""
    values = place_of(watch, source).values
    calls = [n for n in nodes_at(source) if isinstance(n, ast.Call)]
    for call in calls:
        made = rewrites.resolve(call.func, values)
        named = ast.unparse(call.func).rpartition(".")[2] == "RandomState"
        if (made is np.random.RandomState or named) and (call.args or call.keywords):
            first = (call.args or [call.keywords[0].value])[0]
            return not (isinstance(first, ast.Constant) and first.value is None)
    return not calls and "RandomState" in source.code.co_names


def of_calls(watch):
    """Findings for calls that are not pure; one for each name and line."""
    found = {}
    for kind, name, source in watch.calls:
        if name == "random.getrandbits" and is_seeded(watch, source):
            continue
        key = name, source.code, source.line
        if key not in found:
            words = _SPECIAL.get(name, _CALLS[kind])
            rewrite = (
                draws.draw(place_of(watch, source))
                if name == "random.getrandbits" and call_on(source, "default_rng")
                else draws.effect(kind, name, place_of(watch, source))
            )
            name = written(name, source)
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
    call = call_at(source) if name.startswith("logging.") else None
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


def of_bodies(watch):
    """A finding for a generator or coroutine: its body does not run when it is called."""
    codes = [c for c in watch.roots if c.co_flags & _NOT_RUN and not watch.lines.get(c)]
    found = []
    for code in codes:
        kind = "a generator" if code.co_flags & inspect.CO_GENERATOR else "an async"
        message = (
            f"{code.co_name} is {kind} function: its body has not run, so it was not checked\n"
            "A call makes an object that runs later; transformations need arrays."
        )
        words = rewrites.in_words("Return an array, or a list of arrays.")
        found.append(Finding("not run", code.co_name, message, words, Source(code, 0)))
    return found


_NOT_RUN = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def at_line(code, line):
    """The Source of a line of a code object."""
    for i, position in enumerate(code.co_positions()):
        if position[0] == line:
            return Source(code, 2 * i)
    return Source(code, 0)


# ---- what is read and changes elsewhere ----------------------------------------------------------


def reads(watch, every=False):
    """Pairs (code, use) for the names that were read on the lines that ran, once each.

    every: also those whose method is called that changes them, which is seen as a change.
    """
    seen = set()
    for code, lines in watch.lines.items():
        for use in uses(code):
            key = code, use.scope, use.names
            method = (
                use.names[-1] in MUTATORS and len(use.names) > 1
            )  # called: seen; else: handed on
            if (
                use.line in lines
                and not use.written
                and not (method and not every)
                and key not in seen
            ):
                seen.add(key)
                yield code, use


def is_data(x):
    """Whether a value is one that a program computes with, or state; no code, no module."""
    if is_a(x, dict) and x:
        return not all(callable(v) or is_a(v, str) for v in x.values())
    if is_a(x, (list, tuple)) and x:
        return not all(callable(v) for v in x)
    return not is_a(x, types.ModuleType) and not callable(x)


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


def global_read(watch, code, use):
    """A global that somebody binds anew or changes."""
    namespace, name, ran = watch.namespaces[code], use.names[0], watch.lines
    value = namespace.get(name, MISSING)
    if value is MISSING or (not is_data(value) and not is_user_class(type(value))):
        return None
    who = elsewhere.who_binds_global(name, namespace, code, watch.lines)
    path = ".".join(use.names[:2])
    if len(use.names) > 1 and not is_data(attributes(value).get(use.names[1], 0)):
        return None  # code that an object or class holds
    if who is None and not is_a(value, (bool, int, float, complex, str, Array)):
        attribute = len(use.names) > 1 and is_user_class(type(value))
        who = elsewhere.who_changes(path if attribute else name, namespace, code, ran)
        if who is None:
            return attribute_read(watch, code, use, value)
        name = path if attribute else name
    return read_finding(watch, "global read", name, who, code, use) if who else None


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
    return read_finding(watch, "closure read", name, who, code, use)


def attribute_read(watch, code, use, thing):
    """An attribute of an object that another method assigns."""
    if len(use.names) < 2 or thing is None or not is_user_class(type(thing)):
        return None
    name = use.names[1]
    value = attributes(thing).get(name, MISSING)
    if value is MISSING or tracers_in(value) or (callable(value) and not is_data(value)):
        return None
    who = elsewhere.who_sets_attribute(thing, name, watch.lines)
    path = ".".join(use.names[:2])
    return read_finding(watch, "attribute read", path, who, code, use) if who else None


def read_finding(watch, kind, name, who, code, use):
    """The finding for a read of what changes."""
    message = f"{code.co_name} reads `{name}`, and {who}\n{_STALE}"
    source = use.at(code)
    rewrite = rewrites.as_argument(place_of(watch, source), name)
    return Finding(kind, name, message, rewrite, source)
