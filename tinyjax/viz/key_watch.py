"""Who made which key of what, and who drew from it: written down while a function runs.

This is one more interpreter of primitives. It hands every operation on to the trace that computes,
programs under jit equation by equation, and takes notes of those that work on keys. Keys are
values, so a key is known by its two words, wherever it is kept meanwhile.
"""

import itertools
import os
import sys
from contextlib import ExitStack

import numpy as np

from tinyjax import random
from tinyjax.array import lift
from tinyjax.compiler.passes import called
from tinyjax.config import debug_key_reuse, disable_jit, warn_key_reuse
from tinyjax.core import EVAL, Trace, active, current_trace, run
from tinyjax.primitives.random_bits import (
    random_bits_p,
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
)
from tinyjax.primitives.random_gamma import random_gamma_p
from tinyjax.transforms.ad import transpose

RANDOM = os.path.dirname(random.__file__) + os.sep
PACKAGE = os.path.dirname(os.path.dirname(random.__file__)) + os.sep
DRAWS = (random_bits_p, random_gamma_p)
NOTED = (*DRAWS, random_clone_p, random_fold_in_p, random_seed_p, random_split_p)
MAKERS = ("split", "fold_in", "key", "PRNGKey", "clone")


class Use:
    """Something that was done with a key.

    what: "split", "fold_in", or the function that drew. detail: of what shape, or which number.
    children: the keys that it made (words). consumes: whether the key must not be used after it.
    """

    def __init__(self, what, detail, children=(), consumes=True):
        self.what, self.detail, self.children = what, detail, list(children)
        self.consumes = consumes

    def __repr__(self):
        return f"{self.what} {self.detail}".strip()


class KeyNote:
    """A key: its two words, how it was made, what was done with it."""

    def __init__(self, words, made):
        self.words, self.made, self.uses, self.allowed = words, made, [], 1

    @property
    def reused(self):
        """Whether it was consumed more often than it may be."""
        return sum(use.consumes for use in self.uses) > self.allowed

    def __repr__(self):
        return f"{self.made}: {self.uses}{' reused' * self.reused}"


class KeyWatch(Trace):
    """The trace. keys: words -> KeyNote, in the order in which they were seen."""

    def __init__(self):
        self.parent = EVAL
        self.keys, self.roots, self.calls, self.programs = {}, [], {}, []
        self.numbers = itertools.count()

    def process(self, prim, args, params):
        inner, _ = called(Equation(prim, args, params))
        if inner is not None and prim.name == "jit":
            self.programs.append((params["name"], next(self.numbers)))
            try:
                return run(inner, *args)
            finally:
                self.programs.pop()
        if prim.high:
            with active(self):
                return prim.impl(*map(EVAL.check, map(lift, args)), **params)
        out = EVAL.process(prim, args, params)
        if prim in NOTED:
            self.note(prim, args, params, out)
        return out

    def note(self, prim, args, params, out):
        """Write down an operation on keys."""
        if prim is random_seed_p:
            for seed, words in zip(np.ravel(args[0].npy), words_of(out)):
                self.root(words, f"key({int(seed)})")
            return
        if is_backward():
            return
        name, frame = self.caller()
        if name not in (None, *MAKERS):  # a function that draws: what it does inside is its own
            if frame in self.calls:
                return
            self.calls[frame] = True
        parents = words_of(args[0])
        if prim is random_clone_p:
            for words in parents:
                self.root(words, "a key").allowed += 1
        elif name not in (None, *MAKERS) or prim in DRAWS:
            shape = shape_text(frame, params if prim in DRAWS else {})
            for words in parents:
                self.root(words, "a key").uses.append(Use(name or "bits", shape))
        else:
            self.note_maker(prim, args, params, out, parents)

    def note_maker(self, prim, args, params, out, parents):
        """Write down which keys were made of which."""
        made = words_of(out)
        each = max(len(made) // max(len(parents), 1), 1)
        data = np.ravel(args[1].npy) if prim is random_fold_in_p else ()
        for k, words in enumerate(parents * (len(made) // each // max(len(parents), 1) or 1)):
            children = made[k * each : (k + 1) * each]
            if prim is random_split_p:
                use = Use("split", each, children)
                texts = [f"split[{i}]" for i in range(each)]
            else:
                number = int(data[k % len(data)])
                use, texts = Use("fold_in", number, children, False), [f"fold_in {number}"]
            self.root(words, "a key").uses.append(use)
            for child, text in zip(children, texts):
                self.keys.setdefault(child, KeyNote(child, text))

    def root(self, words, made):
        """The note of a key; one that was not seen before is a root."""
        if words not in self.keys:
            self.keys[words] = KeyNote(words, made)
            self.roots.append(self.keys[words])
        return self.keys[words]

    def caller(self):
        """-> the public function of `random` that the user called, and what tells its calls apart:
        a frame of Python's stack or, in a program, the number of its equation."""
        name = found = None
        frame = sys._getframe(2)
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(RANDOM) and frame.f_code.co_name != "wrapper":
                name, found = frame.f_code.co_name, frame
            elif not file.startswith(PACKAGE) and os.sep in file:
                break
            frame = frame.f_back
        if found is not None:
            return name, found
        for name, number in self.programs:  # those of `random` are named after its functions
            if name.startswith("_"):
                return name.lstrip("_"), number
        return None, None


def is_backward():
    """Whether a derivative is on its way back: what `checkpoint` computes again there draws the
    numbers of the forward pass once more, which is no reuse."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code is not transpose.__code__:
        frame = frame.f_back
    return frame is not None


class Equation:
    """An operation, as `called` looks at it."""

    def __init__(self, primitive, invars, params):
        self.primitive, self.invars, self.params = primitive, invars, params


def words_of(keys):
    """The words of each key of an array, as pairs of numbers."""
    return [tuple(map(int, pair)) for pair in keys.npy["key"].reshape(-1, 2)]


def shape_text(frame, params):
    """The shape of what a call draws."""
    asked = getattr(frame, "f_locals", {}).get("shape")
    shape = asked if isinstance(asked, (tuple, list, int)) else params.get("shape", "")
    return f"({shape},)" if isinstance(shape, int) else str(shape and tuple(shape))


class watch_keys:
    """A block in which all uses of keys are written down, for `key_tree`.

    >>> import tinyjax as jax
    >>> from tinyjax import viz
    >>> with viz.watch_keys() as watched:
    ...     key = jax.random.key(0)
    ...     x = jax.random.normal(key, (3,))
    >>> list(watched.keys.values())
    [key(0): [normal (3,)]]
    """

    def __enter__(self):
        if current_trace() is not EVAL:
            raise TypeError("watch_keys follows real keys: use it outside of jit, grad and vmap")
        self.watch = KeyWatch()
        self.scopes = ExitStack()
        self.scopes.enter_context(disable_jit())  # functions and loops run as they are written
        self.scopes.enter_context(warn_key_reuse(False))  # the picture will show it
        self.scopes.enter_context(debug_key_reuse(False))
        self.scopes.enter_context(active(self.watch))
        return self.watch

    def __exit__(self, *exception):
        self.scopes.close()
        self.watch.calls.clear()  # frames
