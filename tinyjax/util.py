"""Small tools that the interpreters share."""

import functools

import numpy as np

# ---- NumPy's warnings ---------------------------------------------------------------------------

#: silence() lets NumPy compute nan and inf without a word, as XLA does; restore(what it returned)
#: brings back the user's setting. As np.errstate, without an object that costs a microsecond.
try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    silence = functools.partial(_extobj_contextvar.set, _make_extobj(all="ignore"))
    restore = _extobj_contextvar.reset
except ImportError:  # NumPy's insides have changed
    silence = functools.partial(np.seterr, all="ignore")  # type: ignore
    restore = lambda before: np.seterr(**before)  # type: ignore # noqa: E731


# ---- lists --------------------------------------------------------------------------------------


def take(xs, mask):
    """The elements where the mask is true."""
    return [x for x, m in zip(xs, mask, strict=True) if m]


def drop(xs, mask):
    """The elements where the mask is false."""
    return [x for x, m in zip(xs, mask, strict=True) if not m]


def spread(xs, mask, fill):
    """xs at the true places of the mask, fill(i) elsewhere."""
    it = iter(xs)
    return [next(it) if m else fill(i) for i, m in enumerate(mask)]


def split_list(xs, *sizes):
    """Cut xs into pieces of the given sizes, and the rest."""
    pieces, xs = [], list(xs)
    for n in sizes:
        pieces.append(xs[:n])
        xs = xs[n:]
    return [*pieces, xs]


def unzip2(pairs):
    """Pairs -> two lists."""
    pairs = list(pairs)
    return [a for a, _ in pairs], [b for _, b in pairs]


def fixpoint(step, mask):
    """Grow a mask until step(mask) adds nothing to it."""
    while True:
        new = tuple(bool(a or b) for a, b in zip(mask, step(mask), strict=True))
        if new == mask:
            return mask
        mask = new
