"""The values that the names in the user's code had: what a fix is tried on.

While functions run under a Watch, their local variables are noted. In a compiled program there are
no such variables; but its equations know the expressions that they come from, so the operands of
the equation of `a / b` are the values of `a` and `b`.
"""

import ast
import collections
import functools
import sys

from tinyjax.array import Array
from tinyjax.core import Tracer
from tinyjax.nans.code import expression, operands, text
from tinyjax.source import Source, is_user_file
from tinyjax.transforms.ad import JVPTracer
from tinyjax.transforms.batching import BatchTracer
from tinyjax.tree_util import tree_leaves, tree_map

MOST = 40  # calls of functions whose variables are remembered
ROWS = 8  # examples of a batch that are looked at
is_users = functools.lru_cache(4096)(is_user_file)


class Scenes:
    """The variables of the last calls of the user's functions."""

    def __init__(self):
        self.calls = collections.OrderedDict()

    def note(self, source):
        """Remember the variables of the innermost function of the user.

        source: its place. Returns the place, corrected if the function has no file (then it is not
        told from what Python generates by the file alone), and what is remembered.
        """
        frame, typed = sys._getframe(1), None
        while frame is not None and not is_users(frame.f_code.co_filename):
            if typed is None and is_typed(frame.f_code):
                typed = frame
            frame = frame.f_back
        if frame is None:
            return source, None
        if typed is not None and source is not None and source.code is frame.f_code:
            frame, source = typed, Source(typed.f_code, typed.f_lasti, source.phase)
        key = frame.f_code, id(frame)
        scene = self.calls[key] = frame.f_code, dict(frame.f_locals), frame.f_globals
        self.calls.move_to_end(key)
        if len(self.calls) > MOST:
            self.calls.popitem(last=False)
        return source, scene

    def of(self, code):
        """The variables of the calls of a function, the last one first."""
        return [scene for scene in reversed(self.calls.values()) if scene[0] is code]


def is_typed(code):
    """Whether code is a string that a user has given to exec or eval: not what dataclasses make."""
    name = code.co_name
    return code.co_filename == "<string>" and not (name.startswith("__") and name.endswith("__"))


class Batched:
    """The values that a name has in all examples of a vmap."""

    def __init__(self, value, dim):
        self.value, self.dim = value, dim


def value_of(x):
    """What stands behind a tracer; None for a name without a value."""
    if isinstance(x, JVPTracer):
        return value_of(x.primal)
    if isinstance(x, BatchTracer):
        inner = value_of(x.val)
        return Batched(inner, x.dim) if isinstance(inner, Array) else None
    return None if isinstance(x, Tracer) else x


def rows(values):
    """Names with Batched values -> the names as the examples see them, one after the other."""
    plain = {n: tree_map(value_of, v) for n, v in values.items() if is_tree(v)}
    plain |= {n: v for n, v in values.items() if not is_tree(v)}
    batched = [v for v in tree_leaves(plain, is_leaf=is_batched) if is_batched(v)]
    if not batched:
        return [plain]
    size = min(ROWS, batched[0].value.shape[batched[0].dim])
    return [tree_map(functools.partial(row, i), plain, is_leaf=is_batched) for i in range(size)]


def row(i, x):
    """What one example sees of a value."""
    return x.value.take(i, x.dim) if is_batched(x) else x


def is_batched(x):
    """Whether a value is one of all examples."""
    return isinstance(x, Batched)


def is_tree(x):
    """Whether a variable holds arrays, or containers of them."""
    return isinstance(x, Tracer | dict | list | tuple)


def globals_of(code):
    """The global names that code of a file can use, found by the file."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == code.co_filename:
            return module.__dict__
    return getattr(sys.modules.get("__main__"), "__dict__", {})


def package():
    """What code calls `jax`."""
    return sys.modules[__name__.split(".")[0]]


def scenes_of(step, code):
    """-> the values of names, one dictionary after the other, that code of a function has seen."""
    history, found = step.history, []
    for scene in [step.scene, *history.scenes.of(code)]:
        if scene is not None and scene[0] is code:
            found += [{"jax": package(), **scene[2], **seen} for seen in rows(scene[1])]
    shared = {"jax": package(), "jnp": package().numpy, "lax": package().lax, **globals_of(code)}
    for bound in operands_of(history, code):
        found.append({**shared, **bound})
        sizes = {v.shape[:1] for v in bound.values() if v.shape}
        if len(sizes) == 1 and () not in sizes:  # perhaps a batch
            [[size]] = sizes
            for i in range(min(size, ROWS)):
                found.append({**shared, **{n: v[i] if v.shape else v for n, v in bound.items()}})
    return found


def operands_of(history, code):
    """-> names with values, as the operands of the operations of a function tell them."""
    found, bound, seen = [], {}, set()
    for step in list(history.steps.values()):
        source = step.source
        if source is None or source.code is not code or source.phase or step.prim is None:
            continue
        node = expression(source)
        for name, x in zip(names_of(node, len(step.args)), step.args):
            made = history.of(x)
            if name is None or made and made.source == source:
                continue
            if name in bound and bound[name] is not x and (name, source) in seen:
                found.append(bound)  # the same place again: another iteration
                bound, seen = dict(bound), set()
            if name not in bound or (name, source) not in seen:
                bound[name] = x
                seen.add((name, source))
    return [*found[:ROWS], bound]


def names_of(node, count):
    """The names that are the operands of an operation; None for what is no name."""
    found = operands(node) if node is not None else []
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        found = [node.left, *node.comparators]
    if isinstance(node, ast.Call):
        found = found[:1]
    elif count == 1:
        found = [n for n in found if not isinstance(n, ast.Constant)]
        found = found if len(found) == 1 else []
    elif len(found) != count:
        found = []
    return [text(n) if isinstance(n, ast.Name) else None for n in found]
