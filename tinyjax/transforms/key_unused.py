"""Under debug_key_reuse: keys that jax.random.split made and the program never uses.

That is no error, but often the sign of one: the old key was used in the place of the new one.
"""

import ast

import numpy as np

from tinyjax.core import Literal, inner_jaxprs
from tinyjax.errors import KeyReuseWarning
from tinyjax.source import warn_at
from tinyjax.transforms.key_flow import MOVERS
from tinyjax.transforms.key_messages import called_name, name_of_key, unused_rows


def warn_of_unused(jaxpr):
    """Warn of the rows of split keys that nobody uses, in a program that was just traced."""
    left = {}  # place of a split -> an equation made there, the rows that none of them uses
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "random_split" and not eqn.invars[0].aval.shape:
            rows = unused(jaxpr, eqn.outvars[0])
            if eqn.source in left:  # a loop: the rows of its last step are often left over
                rows = np.intersect1d(rows, left[eqn.source][1])
            left[eqn.source] = eqn, rows
        if eqn.primitive.name != "jit":  # a jitted function has been looked at on its own
            for inner in inner_jaxprs(eqn.params):
                warn_of_unused(inner)
    for eqn, rows in left.values():
        report(eqn, rows)


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
    if not len(rows) or called_name(eqn.source) != "split":
        return
    expected = dropped(eqn.source)
    rows = [row for row in rows if row not in expected]
    if rows:
        text = unused_rows(rows, eqn.outvars[0].aval.size, eqn.source)
        warn_at(eqn.source, text, KeyReuseWarning)


def dropped(source):
    """The numbers of the rows that may be left over: all, if one is called `_`; and the one that
    takes the name of the old key, as in `key, sub = split(key)`: it is for what may follow."""
    try:
        tree = ast.parse(source.text)
    except SyntaxError:  # half of a statement
        return ()
    key = name_of_key(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Tuple, ast.List)):
            names = [getattr(e, "id", None) for e in node.targets[0].elts]
            if "_" in names:
                return range(len(names))
            if key in names and isinstance(node.value, ast.Call):
                return (names.index(key),)
    return ()
