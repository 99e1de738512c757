"""A fix is shown only after it has been tried: on the values that made the NaN.

The user's expression and what is proposed instead are both run, and so are their gradients. The
old one must go wrong as it did, the new one must be finite, and where the old one was finite both
must agree. In 64 bits the old one is often finite where it overflowed in 32: then these values
count as well, so that a fix cannot be finite and wrong.
"""

import ast
import contextlib
import functools
import io

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.autodiff import grad
from tinyjax.config import debug_infs, debug_nans, enable_x64
from tinyjax.core import EVAL, active
from tinyjax.nans.code import expression, function_of, replaced, statement, text
from tinyjax.nans.scenes import scenes_of
from tinyjax.quiet import restore, silence
from tinyjax.tree_util import tree_leaves, tree_map

# calls that change something, or draw the next of something: an expression with one is not run
CHANGES = [
    "append", "extend", "insert", "pop", "popleft", "popitem", "update", "add", "discard",
    "remove", "clear", "setdefault", "next", "send", "write", "print", "input", "open",
    "normal", "uniform", "random", "randint", "choice",
]  # fmt: skip
MOST = 16  # sets of values that a fix is tried on
SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def whole(node):
    """The largest expression around a node that has the same names."""
    while True:
        above = getattr(node, "parent", None)
        while isinstance(above, ast.keyword | ast.Starred):
            above = above.parent
        if not isinstance(above, ast.expr) or isinstance(above, SCOPES):
            return node
        node = above


def as_block(node, end):
    """-> the assignments from the statement of a node up to that of another, and the largest
    expression around the latter; or no assignments and that of the node itself."""
    if end is not None and function_of(end) is function_of(node):
        first, last = statement(node), statement(end)
        for body in [getattr(first.parent, "body", [])]:
            if first in body and last in body and body.index(first) < body.index(last):
                between = body[body.index(first) : body.index(last)]
                if all(isinstance(s, ast.Assign) for s in between):
                    return between, whole(end)
    return [], whole(node)


def programs(lines, node, end, before=(), everywhere=False):
    """-> the user's code and the new code, as texts whose last line is an expression.

    lines: what to write instead of the node. before: statements that the lines hold already.
    everywhere: whether all expressions like the node are replaced.
    """
    if before:
        old = [*map(text, before), text(node)]
        return [(old, lines)]
    new = lines[-1]
    found = []
    for block, result in [as_block(node, end), ([], node)]:
        old = [*map(text, block), text(result)]
        inside = [text(replaced(s, node, new, everywhere)) for s in [*block, result]]
        pair = old, [*lines[:-1], *inside]
        if pair not in found:
            found.append(pair)
    return found


class Outcome:
    """What a piece of code gives: its values as floats of NumPy, and whether all of it, with the
    derivatives up to an order, is finite.

    values is None if the code cannot run. change is done to the floats among the names first.
    """

    def __init__(self, code, names, order=1, change=lambda value: value):
        self.values, self.finite = None, False
        with contextlib.suppress(Exception):
            code = compile_lines(code)
            used = {n.id for n in ast.walk(code) if isinstance(n, ast.Name)}
            chosen = {n: change(v) for n, v in names.items() if n in used and is_float(v)}
            values = floats(run(code, names, chosen))
            slope = lambda chosen: total(run(code, names, chosen))  # noqa: E731
            slopes = []
            for _ in range(order):
                slopes += floats(grad(slope)(chosen))
                slope = functools.partial(sum_of_slopes, slope)
            self.finite = all(np.isfinite(v).all() for v in values + slopes)
            self.values = values

    def agrees(self, other, limit=np.inf):
        """Whether the values are those of another outcome where these are finite."""
        if len(self.values) != len(other.values):
            return False
        for x, y in zip(self.values, other.values):
            if x.shape != y.shape:
                return False
            known = np.isfinite(x) & (np.abs(x) < limit)
            if not np.allclose(x[known], y[known], 2e-3, 2e-3):
                return False
        return True


def sum_of_slopes(f, chosen):
    """The sum of the elements of a gradient."""
    return total(grad(f)(chosen))


def compile_lines(lines):
    """Lines as a syntax tree."""
    return ast.parse("\n".join(lines))


def run(tree, names, chosen):
    """The value of the last expression of a program."""
    space = {**names, **chosen}
    *first, last = tree.body
    exec(compile(ast.Module(first, []), "<a fix on trial>", "exec"), space)
    return eval(compile(ast.Expression(last.value), "<a fix on trial>", "eval"), space)


def floats(tree):
    """The results with a derivative, as arrays of NumPy."""
    return [np.asarray(lift(x).npy, np.float64) for x in tree_leaves(tree) if is_real(x)]


def total(tree):
    """The sum of all results."""
    return sum(lift(x).sum() for x in tree_leaves(tree) if is_real(x))


def is_real(x):
    """Whether a value is a real number or an array of them."""
    dtype = getattr(x, "dtype", None)
    return isinstance(x, float) if dtype is None else dtypes.issubdtype(dtype, np.floating)


def is_float(tree):
    """Whether all that a variable holds can be differentiated by."""
    if not isinstance(tree, dict | list | tuple) and not hasattr(tree, "npy"):
        return isinstance(tree, np.ndarray | np.generic) and is_real(tree)
    leaves = tree_leaves(tree)
    return bool(leaves) and all(map(is_real, leaves))


def wide(x):
    """Floats in 64 bits."""
    return tree_map(lambda v: np.asarray(lift(v).npy, np.float64), x)


def passes(step, lines, node, end, before=()):
    """Whether a fix has been run on the values that went wrong, and helps; None if it could not be
    run, or nothing went wrong with the values that are known."""
    if step.history is None or changes_things(node):
        return False
    code = code_of(step, node)
    if code is None:
        return False
    quiet = silence()
    try:
        with debug_nans(False), debug_infs(False), active(EVAL), contextlib.redirect_stdout(io.StringIO()):  # fmt: skip # noqa: E501
            scenes = scenes_of(step, code)
            for order in (1, 2):  # of the derivative that goes wrong
                verdict = verdict_on(lines, node, end, before, scenes, order)
                if verdict is not None:
                    break
            return verdict
    finally:
        restore(quiet)


def verdict_on(lines, node, end, before, scenes, order):
    """As passes: put the lines in the place of the node, or else of all that are written as it."""
    verdict = None
    for everywhere in (False, True):
        for old, new in programs(lines, node, end, before, everywhere):
            verdict = tried(old, new, scenes, order)
            if verdict is not None:
                break
        if verdict is not False:
            return verdict
    return verdict


def tried(old, new, scenes, order):
    """True or False for the first scene in which the old code goes wrong; None if it never does."""
    for names in scenes[:MOST]:
        before = Outcome(old, names, order)
        if before.values is None or before.finite:
            continue
        after = Outcome(new, names, order)
        if after.values is None or not after.finite or not before.agrees(after):
            return False
        with enable_x64(True):
            exact = Outcome(old, names, change=wide)
        return exact.values is None or exact.agrees(after, np.finfo(np.float32).max)
    return None


def changes_things(node):
    """Whether an expression has a call that should not be repeated."""
    calls = [n.func for n in ast.walk(whole(node)) if isinstance(n, ast.Call)]
    return any(getattr(f, "attr", getattr(f, "id", "")) in CHANGES for f in calls)


def code_of(step, node):
    """The code object of the function that a node stands in."""
    for made in [step, *step.infs, step.untaken, *step.history.steps.values()]:
        source = made and made.source
        if source is not None:
            there = expression(source)
            if there is not None and function_of(there) is function_of(node):
                return source.code
    return None
