"""Which keys a program consumes: an analysis of jaxprs, by which key reuse is found.

A key is consumed by drawing numbers from it and by splitting it. For each equation, an Effect says
which operands it consumes, which results are new keys, and which are an operand under another name.
(key_rules.py has the effects.) The effect of a program follows from those of its equations; if one
of them consumes what another one has consumed, that is a KeyReuseError.

An array of keys is consumed row by row. So every variable is a View: of a Root, which keeps count
of its keys, with the number of the key in the root for each key of the variable.
Old-style keys, arrays of words, are views too: their roots count words.
"""

from typing import NamedTuple

import numpy as np

from tinyjax.core import Literal, Var, memo
from tinyjax.dtypes import key_fry
from tinyjax.transforms.key_messages import reused

MANY = 1 << 16  # words of an array that is too large to be one of old-style keys

# ---- keys and their parts -----------------------------------------------------------------------


class Use(NamedTuple):
    """A key was consumed: by what, and in which line."""

    what: str
    source: object


class Effect(NamedTuple):
    """What an equation does to keys.

    sinks: (operand, mask, use) for what it consumes: the number of the operand or a captured Array;
    which of its keys, None for all; the Use, None for the equation itself.
    fresh: the numbers of the results that are new keys.
    forwards: (operand, result): the result holds the operand's keys.
    """

    sinks: tuple = ()
    fresh: tuple = ()
    forwards: tuple = ()


class Root:
    """Keys that come from one place, and what has consumed them."""

    def __init__(self, size, uses=()):
        self.size, self.uses = size, list(uses)  # uses: (mask, Use)

    def consumed_by(self, mask):
        """The first Use of a key of the mask, or None."""
        return next((use for used, use in self.uses if (used & mask).any()), None)


class View:
    """Keys of a root. ids: their numbers, an array of the keys' shape; None if nobody knows."""

    def __init__(self, root, ids=None):
        self.root, self.ids = root, ids

    def mask(self, local=None):
        """A mask over the root: of all keys in the view, or of those of a local mask."""
        out = np.zeros(self.root.size, bool)
        if self.ids is None:
            out[:] = True
        else:
            out[self.ids if local is None else self.ids[local]] = True
        return out

    def use(self, local=None):
        """The first Use of these keys, or None."""
        return self.root.consumed_by(self.mask(local))

    def consume(self, local, use):
        """Note a Use."""
        self.root.uses.append((self.mask(local), use))

    @property
    def whole(self):
        """Whether the view is the root as it is."""
        return self.ids is not None and np.array_equal(self.ids.ravel(), np.arange(self.root.size))


def new_view(shape, use=None):
    """A view of new keys, consumed already if there is a use."""
    size = int(np.prod(shape))
    uses = [(np.ones(size, bool), use)] if use else []
    return View(Root(size, uses), np.arange(size).reshape(shape))


def is_typed(x):
    """Whether a variable or value is an array of keys."""
    return getattr(x, "dtype", None) == key_fry


def is_words(aval):
    """Whether it could be old-style keys."""
    return aval.dtype == np.uint32 and aval.size <= MANY


# ---- operations that move keys about ------------------------------------------------------------

MOVERS = {"reshape", "squeeze", "broadcast_in_dim", "transpose", "rev", "copy", "copy_p"}
MOVERS |= {"stop_gradient", "slice"}  # slice: of words; rows of typed keys are consumed by it


def moved(prim, params, ids):
    """Where the numbers of keys end up; None if nobody knows."""
    if ids is None or prim.name not in MOVERS:
        return None
    return np.asarray(prim.impl(ids, **params))


def wrapped(view):
    """Keys made of words: each is known by its first one."""
    return View(view.root, None if view.ids is None else view.ids[..., 0])


# ---- programs -----------------------------------------------------------------------------------


class Flow:
    """Goes through a program and keeps count of its keys."""

    def __init__(self, jaxpr):
        self.jaxpr, self.views, self.captured = jaxpr, {}, {}
        for var, array in zip(jaxpr.constvars, jaxpr.consts):
            if is_typed(var.aval) or is_words(var.aval):
                self.views[var] = self.of_array(array)
        self.inputs = [self.view(v) for v in jaxpr.invars if self.may_be_keys(v.aval)]

    def may_be_keys(self, aval):
        """Whether it is worth looking at."""
        return is_typed(aval) or is_words(aval)

    def of_array(self, array):
        """The view of a captured Array."""
        known = self.captured.get(id(array))
        if known is None:
            known = self.captured[id(array)] = array, new_view(array.shape)
        return known[1]

    def view(self, var):
        """The view of a variable."""
        if var not in self.views:
            self.views[var] = new_view(var.aval.shape)
        return self.views[var]

    def operand(self, eqn, where):
        """The view of an operand that an effect names; None if it is a number."""
        if not isinstance(where, int):
            return self.of_array(where)
        atom = eqn.invars[where]
        return None if isinstance(atom, Literal) else self.view(atom)

    def equation(self, eqn, effect):
        """Apply the effect of an equation."""
        prim, later = eqn.primitive, []
        for where, mask, use in effect.sinks:
            view = self.operand(eqn, where)
            if view is None:
                continue
            use = use or Use(prim.name, eqn.source)
            first = view.use(mask)
            if first:
                number = where if isinstance(where, int) else len(eqn.invars)
                lead = f"In {prim}, argument {number} is already consumed."
                raise reused(lead, first.source, use.source)
            if prim.name == "select_n":  # one of them, so they may be the same
                later.append((view, mask, use))
            else:
                view.consume(mask, use)
        for view, mask, use in later:
            view.consume(mask, use)
        sources = {out: i for i, out in effect.forwards}
        for k, var in enumerate(eqn.outvars):
            if not self.may_be_keys(var.aval):
                continue
            origin = eqn.invars[sources[k]] if k in sources else None
            if isinstance(origin, Var) and self.may_be_keys(origin.aval):
                self.views[var] = self.forwarded(eqn, self.view(origin), var)
            elif is_typed(var.aval) and k not in effect.fresh:
                use = Use(f"made by {prim.name}", eqn.source)
                self.views[var] = new_view(var.aval.shape, use)

    def forwarded(self, eqn, view, var):
        """The view of a result that holds an operand's keys."""
        if eqn.primitive.name == "random_wrap":
            return wrapped(view)
        ids = moved(eqn.primitive, eqn.params, view.ids)
        if ids is None and view.ids is not None and view.ids.shape == var.aval.shape:
            ids = view.ids if view.whole else None
        return View(view.root, ids)

    def effect(self):
        """The effect of the whole program."""
        sinks, roots = [], {}
        for i, var in enumerate(self.jaxpr.invars):
            if self.may_be_keys(var.aval):
                root = self.views[var].root
                roots[id(root)] = i
                sinks += [(i, m.reshape(var.aval.shape), use) for m, use in root.uses]
        for array, view in self.captured.values():
            sinks += [(array, m.reshape(array.shape), use) for m, use in view.root.uses]
        fresh, forwards = [], []
        for k, var in enumerate(self.jaxpr.outvars):
            if isinstance(var, Literal) or var not in self.views and not is_typed(var.aval):
                continue
            view = self.view(var)
            if id(view.root) in roots and (is_typed(var.aval) or view.whole):
                forwards.append((roots[id(view.root)], k))
            elif not view.use():
                fresh.append(k)
        return Effect(tuple(sinks), tuple(fresh), tuple(forwards))


def flow_through(rules):
    """-> effect_of(jaxpr), with the rules for equations: (primitive, avals, params) -> Effect."""

    @memo
    def effect_of(jaxpr):
        """The effect of a program. Raises KeyReuseError for a key that is used twice."""
        flow = Flow(jaxpr)
        for eqn in jaxpr.eqns:
            flow.equation(eqn, rules(eqn.primitive, [v.aval for v in eqn.invars], eqn.params))
        return flow.effect()

    return effect_of
