"""Why a jitted function was traced again: which argument differs from which earlier call, and how.

A trace is kept under a key: the structure and the types of the arguments, static values, the named
axes around the call, flags. A call that misses has a key that no entry has. The nearest entry, the
one with the fewest differences, tells the reason. `config tinyjax_explain_retraces` logs it (to the
logger "tinyjax", as a warning, which Python shows unless told otherwise), and `f.cache_info()`
tells it afterwards.
"""

import logging
import sys
from collections import deque, namedtuple
from typing import Any, NamedTuple

from tinyjax.core import Tracer
from tinyjax.source import Source, here, is_own_code
from tinyjax.transforms.differences import (
    SHOWN,
    brief,
    differences,
    distance,
    leaf_types,
    listed,
    none_leaves,
    show,
    static_values,
)
from tinyjax.transforms.flat import fun_name
from tinyjax.transforms.remade import code_of, culprits, defined_at, layers, made_anew

LOG = logging.getLogger("tinyjax")
KEPT = 256  # misses that a function remembers

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
        [(differences(fun, names, key, old, earlier), old) for old in reversed(earlier)],
        key=lambda pair: distance(pair[0]) or 99 * (pair[1].traced is not None),
    )
    code = code_of(layers(fun)[-1])
    defined = f" ({defined_at(code)})" if code else ""
    header = f"{fun_name(fun)}{defined} is traced again, called at {place}"
    if not found and near.traced is None:
        return (
            f"{header}: the last trace could not be kept, since it captured {near.captured}, "
            "traced outside of it.\nfix: pass that as an argument."
        )
    fixes = list(dict.fromkeys([f"fix: {d.fix}" for d in found if d.fix]))
    lines = [f"{header}. Entry {near.number}, from {near.place}, is nearest:", *listed(found)]
    return "\n".join([*lines, *fixes[:SHOWN]])


def log_miss(jitted, cache, names, key):
    """Log why a call of a jitted function is traced, unless it is the first one."""
    fun = jitted.fun
    if is_own_code(code_of(layers(fun)[-1]) or log_miss.__code__) and called_from_within():
        return  # a part of this package that is jitted: not the user's business
    why = explain(cache, fun, names, key) if cache.log else made_anew(jitted, key)
    if why:
        LOG.warning(why)


def called_from_within():
    """Whether this package made the call that missed."""
    frame, machinery = sys._getframe(1), ("retraces.py", "jit.py", "pmapping.py", "tracebacks.py")
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
    words += [f"{name}: None" for name in none_leaves(fun, miss.key)]
    static = static_values(fun, miss.key.static)
    return ", ".join(words + [f"{name}={brief(value)}" for name, value in static.items()])
