"""debug_key_reuse: with this flag on, a random key may be consumed once.

Eager operations are looked at one by one: what has happened to a key is kept beside it, in a table
of living objects. Programs are looked at as a whole, when they are made (key_flow.py).

Typed keys are known by the Array that holds them. Old-style keys, arrays of words, are known by
their place in memory: `keys[0]` is the same memory each time, and arrays are immutable.
"""

import weakref

import numpy as np

from tinyjax.array import Array
from tinyjax.config import FlagScope, current_flags
from tinyjax.core import EvalTrace
from tinyjax.printer import install
from tinyjax.source import here
from tinyjax.transforms.key_flow import Root, Use, View, is_typed, moved, new_view, wrapped
from tinyjax.transforms.key_messages import called_name, reused
from tinyjax.transforms.key_rules import effect_of, rules
from tinyjax.transforms.key_unused import warn_of_unused

JITTED = {"random_bits", "random_gamma", "jit", "pmap"}  # parts of jitted functions, for JAX

# ---- what is known of the keys that exist -------------------------------------------------------

_known: dict = {}  # id(Array of keys, or memory of words) -> a weak reference to it, its View


def remember(owner, view):
    """Keep the view as long as its owner lives."""
    number = id(owner)
    _known[number] = weakref.ref(owner, lambda _: _known.pop(number, None)), view
    return view


def known(owner):
    """The View of an object, or None."""
    ref, view = _known.get(id(owner), (None, None))
    return view if ref is not None and ref() is owner else None


def view_of(key):
    """The View of typed keys; what was not seen before is not consumed."""
    return known(key) or remember(key, new_view(key.shape))


def view_of_words(words):
    """The View of old-style keys: of the memory that they lie in."""
    npy = np.asarray(words.npy)
    memory = npy
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    start = (npy.ctypes.data - memory.ctypes.data) // 4
    offsets = np.zeros(npy.shape, np.int64) + start
    for axis, stride in enumerate(npy.strides):
        steps = np.arange(npy.shape[axis]) * (stride // 4)
        offsets += steps.reshape([-1 if i == axis else 1 for i in range(npy.ndim)])
    whole = known(memory) or remember(memory, View(Root(memory.nbytes // 4)))
    return View(whole.root, offsets)


# ---- looking at eager operations ----------------------------------------------------------------


def watch(prim, args, params, outs):
    """Look at an eager operation that has been computed."""
    if not any(map(is_typed, (*args, *outs))):
        return
    if prim.name == "random_wrap":
        remember(outs[0], wrapped(view_of_words(args[0])))
        return
    effect = rules(prim, [x.aval for x in args], params)
    settle(effect, args, outs, name_of(prim), lambda ids: moved(prim, params, ids))


def name_of(prim):
    """What JAX calls an operation in its messages: it has jitted functions around samplers, and a
    key is also split inside of these."""
    inside = prim.name == "random_split" and called_name(here()) not in ("split", None)
    return "jit-compiled function" if inside or prim.name in JITTED else prim.name


def settle(effect, args, outs, what, move=lambda ids: None):
    """Check and note what an operation does to keys.

    what: its name in the message. move: what it does to an array in the place of the keys.
    """
    use = Use(what, here())
    sinks = []
    for where, mask, _ in effect.sinks:
        index = where if isinstance(where, int) else len(args)
        key = args[where] if isinstance(where, int) else where
        if isinstance(key, Array):
            view = view_of(key) if is_typed(key) else view_of_words(key)
            first = view.use(mask)
            if first:
                lead = f"Previously-consumed key passed to {what} at index {index}"
                raise reused(lead + ".", first.source, use.source)
            sinks.append((view, mask))
    for view, mask in sinks:
        view.consume(mask, use)
    sources = {out: i for i, out in effect.forwards}
    for k, out in enumerate(outs):
        if not is_typed(out):
            continue
        if k in sources:
            if out is not args[sources[k]]:
                remember(out, copied(view_of(args[sources[k]]), out.shape, move))
        elif k not in effect.fresh:
            remember(out, new_view(out.shape, Use(f"made by {what}", use.source)))


def copied(view, shape, move):
    """A view of a copy of keys: what consumed them has consumed the copy, too."""
    out = new_view(shape)
    for used, use in view.root.uses:
        local = used.reshape(-1) if view.ids is None else used[view.ids]
        mask = move(local)
        if mask is None:
            mask = local if local.shape == shape else np.full(shape, local.any())
        if mask.any():
            out.consume(mask, use)
    return out


def unwatched():
    """Inside, operations are not looked at: they are parts of one that is."""
    return FlagScope("debug_key_reuse", False)


def watched_high(self, prim, args, params):
    """An eager primitive that holds programs counts as a whole."""
    with unwatched():
        outs = self.process_high(prim, args, params)
    settle(rules(prim, [x.aval for x in args], params), args, outs, name_of(prim))
    return outs


def call(jaxpr, args, run, executable):
    """run(executable, args), as a jitted function that is called: the program of the jaxpr."""
    if not current_flags().debug_key_reuse:
        return run(executable, args)
    effect = effect_of(jaxpr)
    with unwatched():
        outs = run(executable, args)
    settle(effect, args, outs, "jit-compiled function")
    return outs


def check_program(jaxpr):
    """Look at a program that was just traced: KeyReuseError if it uses a key twice, a warning if
    it makes keys that nobody uses."""
    effect_of(jaxpr)
    warn_of_unused(jaxpr)


install(EvalTrace, watch=staticmethod(watch), watched_high=watched_high)
