"""A trace that computes, and watches where NaNs and infinities begin.

It stands where EvalTrace stands, at the bottom: operations have values, and those that hold
programs run them equation by equation, with the rules of the eager world. For every result it
notes which earlier step its NaNs and infinities come from; so a NaN at the end of a program leads
to the step that made it.
"""

from typing import Any

import numpy as np

from tinyjax.array import Array, lift
from tinyjax.config import debug_infs, debug_nans
from tinyjax.core import EVAL, EvalTrace, active, run
from tinyjax.nans.code import callee, expression
from tinyjax.nans.history import History
from tinyjax.source import here
from tinyjax.transforms.batching import Axis, move_to
from tinyjax.transforms.loops import Loop
from tinyjax.transforms.programs import batch_jaxpr
from tinyjax.transforms.while_loop import while_p
from tinyjax.util import split_list

NOTICE = (
    "Invalid nan value encountered in the output of a jax.jit function. Calling the "
    "de-optimized version."
)


class Watch(EvalTrace):
    """The bottom, with a History.

    complain: called with (operation, its results) after each operation that the eager world would
    have checked for debug_nans; it raises what it objects to. Programs of jit are checked as a
    whole first, and those of loops as a whole only, as in the eager world.
    """

    parent: Any = EVAL  # code that asks whether a program is being recorded looks down to EVAL

    def __init__(self, complain=None):
        self.history, self.complain = History(), complain

    def run(self, f, *args):
        """f with this trace in charge, without the flags that raise errors."""
        with debug_nans(False), debug_infs(False), active(self):
            return f(*args)

    def process(self, prim, args, params):
        args = [self.check(lift(a)) for a in args]
        if prim.high:
            outs = self.process_high(prim, args, params)
        else:
            outs = super().process(prim, args, params)
            self.history.note(prim, args, params, outs if prim.multi else [outs])
        if self.complain:
            self.complain(prim, outs if prim.multi else [outs])
        return outs

    def process_high(self, prim, args, params):
        complain = self.complain
        if prim.name == "jit" or prim.name in OPENERS or isinstance(prim, Loop):
            self.complain = None
        with active(self):
            outs = self.open(prim, args, params)
        self.complain = complain
        if complain and prim.name == "jit" and complain(prim, outs, test=True):
            print(NOTICE)
            with active(self):
                outs = self.open(prim, args, params)
        return [self.history.follow(o, args) for o in outs]

    def open(self, prim, args, params):
        """Run the programs that an operation holds."""
        if prim.name in OPENERS:
            return OPENERS[prim.name](self, args, params)
        if prim.name != "jit":
            return prim.impl(*args, **params)
        return run(params["jaxpr"], *args)


def open_scan(watch, args, params):
    """A scan, step by step."""
    jaxpr, length, history = params["jaxpr"], params["length"], watch.history
    consts, carry, xs = split_list(args, params["num_consts"], params["num_carry"])
    rows = [None] * length
    word = "fori_loop" if callee(expression(here())) == "fori_loop" else "scan"
    for i in range(length)[::-1] if params["reverse"] else range(length):
        history.loops.append(f"iteration {i} of the {word}")
        row = [history.follow(Array(x.npy[i], x.weak_type), [x]) for x in xs]
        outs = run(jaxpr, *consts, *carry, *row)
        carry, rows[i] = split_list(outs, params["num_carry"])
        history.loops.pop()
    ys = []
    for j, a in enumerate(jaxpr.out_avals[params["num_carry"] :]):
        parts = [row[j] for row in rows]
        y = np.stack([p.npy for p in parts]) if parts else np.zeros((0, *a.shape), a.dtype)
        ys.append(history.follow(Array(y, a.weak_type), parts))
    return [*carry, *ys]


def open_while(watch, args, params):
    """A while loop, step by step."""
    args, params = while_p.lower(args, **params)
    cond_consts, body_consts, carry = split_list(
        args, params["cond_nconsts"], params["body_nconsts"]
    )
    i = 0
    while run(params["cond_jaxpr"], *cond_consts, *carry)[0].npy:
        watch.history.loops.append(f"iteration {i} of the while loop")
        carry = run(params["body_jaxpr"], *body_consts, *carry)
        watch.history.loops.pop()
        i += 1
    return carry


def open_pmap(watch, args, params):
    """A pmap, run as the vmap that it is the twin of."""
    axis = Axis(params["axis_size"], params["axis_name"])
    jaxpr, dims = batch_jaxpr(params["jaxpr"], axis, tuple(params["in_axes"]))
    outs = run(jaxpr, *args)
    return [
        o if k is None and d is None else move_to(axis, o, d, k)
        for o, d, k in zip(outs, dims, params["out_axes"])
    ]


OPENERS = {"scan": open_scan, "while": open_while, "pmap": open_pmap}
