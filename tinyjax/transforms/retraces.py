"""Why a jitted function was traced again: which argument differs from which earlier call, and how.

A trace is kept under a key: the structure and the types of the arguments, static values, the named
axes around the call, flags. A call that misses has a key that no entry has. The nearest entry, the
one with the fewest differences, tells the reason. `config tinyjax_explain_retraces` logs it (to the
logger "tinyjax", as a warning, which Python shows unless told otherwise), and `f.cache_info()`
tells it afterwards.
"""

import inspect
import logging
import reprlib
import sys
from collections import deque, namedtuple
from typing import Any, NamedTuple

from tinyjax.array import is_arraylike
from tinyjax.config import TRACED
from tinyjax.core import Tracer
from tinyjax.source import Source, here, is_own_code
from tinyjax.transforms.flat import fun_name
from tinyjax.tree_util import equality_errors, keystr, tree_leaves

LOG = logging.getLogger("tinyjax")
KEPT = 256  # misses that a function remembers
SHOWN = 3  # differences that a message lists

# ---- what a cache remembers ---------------------------------------------------------------------


class Key(NamedTuple):
    """What a trace depends on."""

    in_tree: Any
    types: tuple  # (shape, dtype, weak_type) of each leaf
    static: tuple
    axes: tuple
    flags: tuple
    devices: int = 0  # pmap's


class Miss(NamedTuple):
    """A call that had to be traced."""

    number: int  # from 1 on
    key: Key
    names: list  # of the leaves
    place: Source | None
    traced: Any  # the entry of the cache; None if the trace could not be kept
    captured: str  # the traced values from outside that were the reason of that


class Traces(dict):
    """The traces of a function by their keys, and the misses that led to them."""

    def __init__(self):
        super().__init__()
        self.misses, self.log = 0, deque(maxlen=KEPT)

    def add(self, key, traced, entry, fun):
        """Note a miss, and keep its entry, unless the trace is good for its own call only."""
        outside = [x for x in traced.captured if isinstance(x, Tracer)]
        self.misses += 1
        kept = None if outside else traced
        names = list(traced.names)
        self.log.append(Miss(self.misses, key, names, here(), kept, culprits(fun, outside)))
        if not outside:
            self[key] = entry

    def clear(self):
        """Forget everything."""
        super().clear()
        self.misses = 0
        self.log.clear()


def culprits(fun, outside):
    """The traced values that a function found outside of its arguments, in words."""
    words = []
    for x in outside:
        found = [k for k, v in surroundings(fun).items() if any(x is y for y in tree_leaves(v))]
        kind = x.aval.str_short()
        words.append(f"{found[0]} ({kind})" if found else f"a value of type {kind}")
    return ", ".join(words[:SHOWN])


# ---- differences --------------------------------------------------------------------------------


class Difference(NamedTuple):
    """One thing that is not as it was, and what to write."""

    what: str
    fix: str


def differences(fun, names, key, old):
    """The differences of a call from an earlier one."""
    found = [*of_leaves(fun, names, key, old), *of_static(fun, key.static, old.key.static)]
    if key.axes != old.key.axes:
        fix = "the named axes around a call are part of its program; a trace for each is needed."
        found.append(Difference(f"named axes: {axes(old.key)} -> {axes(key)}", fix))
    for flag, was, now in zip(TRACED, old.key.flags, key.flags):
        if was != now:
            fix = f'jax.config.update("jax_{flag}", ...) once, before the first call.'
            found.append(Difference(f"flag {flag}: {was} -> {now}", fix))
    if key.devices != old.key.devices:
        fix = "choose num_devices once, before the first call."
        found.append(Difference(f"num_devices: {old.key.devices} -> {key.devices}", fix))
    return found


def axes(key):
    """The named axes of a key."""
    return ", ".join(f"{a.name!r} of size {a.size}" for a in key.axes) or "none"


def show(kind):
    """A type in words: float32[3] weak."""
    shape, dtype, weak = kind
    return f"{dtype.name}[{','.join(map(str, shape))}]{' weak' * weak}"


def of_leaves(fun, names, key, old):
    """What differs between the arrays of two calls."""
    now, was = leaf_types(names, key), leaf_types(old.names, old.key)
    found = [
        Difference(f"{name}: {show(was[name])} -> {show(kind)}", leaf_fix(name, kind, was[name]))
        for name, kind in now.items()
        if name in was and kind != was[name]
    ]
    fix = "give arguments one structure: the same keys and lengths, an array instead of None."
    gone = [Difference(f"{n}: {show(was[n])} -> absent", fix) for n in was if n not in now]
    new = [Difference(f"{n}: absent -> {show(now[n])}", fix) for n in now if n not in was]
    found += gone + new
    if key.in_tree != old.key.in_tree and not gone and not new:
        found += list(of_structure(traced_parameters(fun, key), key.in_tree, old.key.in_tree))
    return found


def leaf_types(names, key):
    """Types by names."""
    if len(names) != len(key.types):
        names = [f"leaf {i}" for i in range(len(key.types))]
    return dict(zip(names, key.types))


def leaf_fix(name, now, was):
    """What keeps the type of an argument the same."""
    (shape, dtype, weak), (old_shape, old_dtype, old_weak) = now, was
    if shape == old_shape and dtype.name.isidentifier():
        wanted = (dtype if old_weak and not weak else old_dtype).name
        reason = " (a Python number has a weak type)" if weak or old_weak else ""
        return f"give {name} the same type in all calls{reason}: jnp.asarray({name}, jnp.{wanted})."
    if shape == old_shape:
        return f"make all {name} by the same function: jax.random.key or jax.random.PRNGKey."
    if shape[1:] == old_shape:
        return f"to map over the first axis of {name}: jax.vmap(f), which is traced once."
    return f"each shape is a program: pad {name} to one size (jnp.pad) and mask the rest."


def traced_parameters(fun, key):
    """The names of parameters that are not static."""
    fixed = {i for i, _ in key.static[0][0]} if key.static else ()
    return [name for i, name in enumerate(parameters(fun)) if i not in fixed]


def of_structure(params, now, was):
    """What differs between trees whose leaves have the same names."""
    (args, kwargs), (old_args, old_kwargs) = now.children(), was.children()
    if len(args.children()) != len(old_args.children()):
        fix = "give each argument the same way in all calls, by position or by keyword."
        for name in sorted({*keywords(kwargs)} ^ {*keywords(old_kwargs)}):
            ways = ["by position", "by keyword"]
            one, two = ways if name in keywords(kwargs) else ways[::-1]
            yield Difference(f"{name}: {one} -> {two}", fix)
        return
    for path, one, other, why in equality_errors(was, now):
        first = getattr(path[1], "idx", len(params)) if len(path) > 1 else len(params)
        place = params[first] + keystr(path[2:]) if first < len(params) else keystr(path)
        what = why if one == other else f"{plain(one)} -> {plain(other)}"
        yield Difference(f"{place}: {what}", "give arguments one structure, of the same classes.")


def keywords(kwargs):
    """The names of keyword arguments, from their treedef."""
    return kwargs.node_data()[1] if kwargs.num_leaves else []


def plain(text):
    """<class 'list'> -> list."""
    return text.replace("<class '", "").replace("'>", "")


# ---- static values ------------------------------------------------------------------------------


def static_values(fun, static):
    """Static arguments by name."""
    if not static:
        return {}
    (by_position, by_name), _ = static
    params = parameters(fun)
    named = {params[i] if i < len(params) else f"args[{i}]": v for i, v in by_position}
    return named | dict(by_name)


def parameters(fun):
    """The names of parameters that may be given by position."""
    try:
        params = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def of_static(fun, static, old_static):
    """What differs between the static arguments of two calls."""
    now, was = static_values(fun, static), static_values(fun, old_static)
    found = []
    for name in [*now, *[n for n in was if n not in now]]:
        if name not in now or name not in was:
            one, two = brief_in(was, name), brief_in(now, name)
            fix = "give it in all calls or in none."
            found.append(Difference(f"{name} (static): {one} -> {two}", fix))
        elif type(now[name]) is not type(was[name]) or not same(now[name], was[name]):
            texts = [brief(was[name]), brief(now[name])]
            if type(now[name]) is not type(was[name]):
                texts = [f"{t} ({type(v[name]).__name__})" for t, v in zip(texts, (was, now))]
            elif texts[0] == texts[1]:
                texts[1] = f"another {texts[1]}"
            fix = static_fix(name, now[name])
            found.append(Difference(f"{name} (static): {texts[0]} -> {texts[1]}", fix))
    if not found and not same(static, old_static):
        fix = "give each argument the same way in all calls, by position or by keyword."
        found.append(Difference("static arguments by position and by keyword", fix))
    return found


def same(a, b):
    """Whether two static values are equal; not if nobody can tell."""
    try:
        return bool(a == b)
    except Exception:
        return False


def brief_in(values, name):
    """A value in words, or that there is none."""
    return brief(values[name]) if name in values else "absent"


def brief(value):
    """A value in a few words."""
    if is_arraylike(value) and hasattr(value, "shape"):
        return show((value.shape, value.dtype, False))
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    if " object at 0x" in repr(value):
        return f"{type(value).__name__} object"
    return reprlib.repr(value)


def static_fix(name, value):
    """What to do about a static value that is new."""
    kind = type(value)
    if not same(value, value):
        return f"{name} is not equal to itself, so it is never found: do not make it static."
    if inspect.isfunction(value):
        return f"a function is equal to itself only: make {name} once, outside of the loop."
    if kind.__eq__ is object.__eq__:
        return (
            f"{kind.__name__} is compared by identity: reuse one object, or give it __eq__ and "
            "__hash__ (@dataclass(frozen=True))."
        )
    return f"each static value is a program: let {name} be traced (no static_argnames) if it can."


# ---- functions made anew ------------------------------------------------------------------------

_first: dict = {}  # the code of a function -> the first traces of functions that have it


class First(NamedTuple):
    """The first trace of a function object: nothing that keeps its closure alive."""

    key: Key
    around: dict  # what it captured, in words
    place: Source | None
    times: int


def layers(fun):
    """A function, the one that it wraps, and so on; and the objects of partial among them."""
    found = []
    while fun is not None and len(found) < 50:
        found.append(fun)
        fun = getattr(fun, "__wrapped__", None) or getattr(fun, "func", None)
    return found


def code_of(fun):
    """The code of a function, a method or a callable object; None for what is not Python."""
    fun = getattr(fun, "__func__", fun)
    return getattr(fun, "__code__", None) or getattr(type(fun).__call__, "__code__", None)


def surroundings(fun):
    """The values that a function finds outside of its arguments, by name, layer by layer."""
    found = {}
    chain = layers(fun)
    for layer in chain:
        code = getattr(layer, "__code__", None)
        if code is not None:
            for name, cell in zip(code.co_freevars, layer.__closure__ or ()):
                try:
                    value = cell.cell_contents
                except ValueError:  # not assigned yet
                    continue
                if not any(value is x for x in chain):
                    found.setdefault(name, value)
            for name in code.co_names if layer is chain[-1] else ():
                if name in layer.__globals__:
                    found.setdefault(name, layer.__globals__[name])
        if hasattr(layer, "func"):  # functools.partial
            found |= {f"argument {i} of partial": x for i, x in enumerate(layer.args)}
            found |= {f"{k} of partial": x for k, x in layer.keywords.items()}
    return found


def made_anew(fun, key):
    """The message of a function object that is new, though its code is not; None if it is."""
    chain = layers(fun)
    codes = [code_of(layer) for layer in chain]
    root = codes[-1]
    if root is None:
        return None
    ident = [(c.co_filename, c.co_linetable, c) for c in codes if c]  # file, columns, text
    if is_own_code(root):
        ident.append(id(chain[-1]))  # jnp.sin and jnp.cos have the same code, and live on
    ident = tuple(ident)
    around = {k: brief(v) for k, v in surroundings(fun).items() if not inspect.ismodule(v)}
    seen = _first.setdefault(ident, deque(maxlen=8))
    earlier = next((x for x in reversed(seen) if same(x.key, key)), None)
    seen.append(First(key, around, here(), earlier.times + 1 if earlier else 1))
    if earlier is None:
        return None
    changed = [k for k in around if earlier.around.get(k, around[k]) != around[k]]
    found = [
        Difference(f"{k} from outside: {earlier.around[k]} -> {around[k]}", "") for k in changed
    ]
    fix = "jit once, outside of the loop or function that calls it: f = jax.jit(...)"
    fix += f", and pass {', '.join(changed[:SHOWN])} as an argument." if changed else "."
    lines = [
        f"{fun_name(fun)} ({root.co_filename}:{root.co_firstlineno}) is traced again, called at "
        f"{here()}: it is a new function object, of the same code as {earlier.times} before.",
        *listed(found),
        f"fix: {fix}",
    ]
    return "\n".join(lines)


# ---- messages -----------------------------------------------------------------------------------


def explain(cache, fun, names, key, place=None, before=None):
    """Why a call with this key misses the cache; None for the first call of all.

    before: look only at misses with lower numbers.
    """
    place = place or here()
    earlier = [m for m in cache.log if before is None or m.number < before]
    if not earlier:
        return None
    found, near = min(
        [(differences(fun, names, key, old), old) for old in reversed(earlier)],
        key=lambda pair: len(pair[0]) or 99 * (pair[1].traced is not None),
    )
    code = code_of(layers(fun)[-1])
    defined = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    header = f"{fun_name(fun)}{defined} is traced again, called at {place}"
    if not found and near.traced is None:
        return (
            f"{header}: the last trace could not be kept, since it captured {near.captured}, "
            "traced outside of it.\nfix: pass that as an argument."
        )
    fixes = list(dict.fromkeys([f"fix: {d.fix}" for d in found if d.fix]))
    lines = [f"{header}. Entry {near.number}, from {near.place}, is nearest:", *listed(found)]
    return "\n".join([*lines, *fixes[:SHOWN]])


def listed(found):
    """The differences as lines."""
    lines = [f"  {d.what}" for d in found[:SHOWN]]
    more = len(found) - SHOWN
    return [*lines, f"  and {more} more"] if more > 0 else lines


def log_miss(cache, fun, names, key):
    """Log why a call is traced, unless it is the first one."""
    if is_own_code(code_of(layers(fun)[-1]) or log_miss.__code__) and called_from_within():
        return  # a part of this package that is jitted: not the user's business
    why = explain(cache, fun, names, key) if cache.log else made_anew(fun, key)
    if why:
        LOG.warning(why)


def called_from_within():
    """Whether this package made the call that missed."""
    frame, machinery = sys._getframe(1), ("retraces.py", "jit.py", "pmapping.py")
    while frame.f_back is not None and frame.f_code.co_filename.endswith(machinery):
        frame = frame.f_back
    return is_own_code(frame.f_code)


# ---- cache_info ---------------------------------------------------------------------------------


class Entry(NamedTuple):
    """One trace of a jitted function."""

    number: int
    hits: int
    place: Source | None  # where it was traced
    arguments: str


class CacheInfo(namedtuple("CacheInfo", "hits misses maxsize currsize")):
    """hits, misses, maxsize and currsize, as functools.lru_cache has them, and more:

    entries: an Entry for each trace. reasons: why each call after the first was traced.
    Printed, it is a table.
    """

    entries: list
    reasons: list

    def __str__(self):
        lines = [f"hits={self.hits}, misses={self.misses}, entries={self.currsize}"]
        for e in self.entries:
            lines.append(f"  {e.number}: ({e.arguments}) {e.hits} hits, traced at {e.place}")
        return "\n".join([*lines, *self.reasons])


def info(cache, fun):
    """The CacheInfo of the traces of a function."""
    kept = [m for m in cache.log if m.traced is not None]
    hits = sum([traced.hits for traced in cache.values()])
    out = CacheInfo(hits, cache.misses, None, len(cache))
    out.entries = [Entry(m.number, m.traced.hits, m.place, arguments(fun, m)) for m in kept]
    whys = [explain(cache, fun, m.names, m.key, m.place, m.number) for m in cache.log]
    out.reasons = [why for why in whys if why]
    return out


def arguments(fun, miss):
    """The arguments of a call in words."""
    words = [f"{name}: {show(kind)}" for name, kind in leaf_types(miss.names, miss.key).items()]
    static = static_values(fun, miss.key.static)
    return ", ".join(words + [f"{name}={brief(value)}" for name, value in static.items()])
