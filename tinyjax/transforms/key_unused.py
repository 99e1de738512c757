"""Under debug_key_reuse: keys that jax.random.split made and the program never uses.

That is no error, but often the sign of one: the old key was used in the place of the new one.
"""

import ast

import numpy as np

from tinyjax.core import Literal, inner_jaxprs
from tinyjax.errors import KeyReuseWarning
from tinyjax.source import warn
from tinyjax.transforms.key_flow import MOVERS
from tinyjax.transforms.key_messages import called_name, unused_rows


def warn_of_unused(jaxpr):
    """Warn of the rows of split keys that nobody uses, in a program that was just traced."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "random_split" and not eqn.invars[0].aval.shape:
            report(eqn, unused(jaxpr, eqn.outvars[0]))
        if eqn.primitive.name != "jit":  # a jitted function has been looked at on its own
            for inner in inner_jaxprs(eqn.params):
                warn_of_unused(inner)


def unused(jaxpr, keys):
    """The numbers of the keys that no equation reads, and that are no output."""
    total = keys.aval.size
    where = {keys: np.arange(total).reshape(keys.aval.shape)}  # variable -> which keys it holds
    used = np.zeros(total, bool)
    for eqn in jaxpr.eqns:
        for atom in eqn.invars:
            if isinstance(atom, Literal) or atom not in where:
                continue
            ids, prim = where[atom], eqn.primitive
            if prim.name in MOVERS:
                where[eqn.outvars[0]] = np.asarray(prim.impl(ids, **eqn.params))
            elif prim.name == "random_unwrap":
                where[eqn.outvars[0]] = np.stack([ids, ids], -1)
            else:
                used[ids] = True
    for atom in jaxpr.outvars:
        if not isinstance(atom, Literal) and atom in where:
            used[where[atom]] = True
    return np.flatnonzero(~used)


def report(eqn, rows):
    """Warn of these rows of a split, if the user called it: samplers split keys, too."""
    if len(rows) and called_name(eqn.source) == "split" and not drops_on_purpose(eqn.source):
        warn(unused_rows(rows, eqn.outvars[0].aval.size, eqn.source), KeyReuseWarning)


def drops_on_purpose(source):
    """Whether the line calls one of the keys `_`."""
    try:
        tree = ast.parse(source.text)
    except SyntaxError:  # half of a statement
        return False
    return any(isinstance(n, ast.Name) and n.id == "_" for n in ast.walk(tree))
