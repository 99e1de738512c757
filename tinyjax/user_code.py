"""The user's source text at a place: which expression stands there, and what its names mean.

Python knows for each instruction the columns it was made from, so the tree of the file (`ast`) has
the very expression that failed. Without source text (`exec`, the plain prompt) there is no tree:
messages then do without the user's words.
"""

import ast
import functools
import itertools
import linecache
import sys
from contextvars import ContextVar

from tinyjax.source import here


class Place:
    """An expression of the user. node: its tree; parents: what is around it, the nearest first;
    source: where it stands; scope: the values of names (empty if its function is not running)."""

    def __init__(self, node, parents, source, scope):
        self.node, self.parents, self.source, self.scope = node, parents, source, scope

    def inside(self, *kinds):
        """The nearest node around the expression (or itself) of some kind, or None."""
        for node in (self.node, *self.parents):
            if isinstance(node, kinds):
                return node
            if isinstance(node, (ast.Lambda, ast.FunctionDef)):
                return None
        return None

    def value(self, node):
        """What a name, or a name of a module with dots, stands for; None if nobody knows."""
        if isinstance(node, ast.Name):
            return self.scope.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            return vars(owner).get(node.attr) if isinstance(owner, type(ast)) else None
        return None

    def alias(self, module, default):
        """What the user calls a module: 'jnp' for tinyjax.numpy."""
        for name, value in self.scope.items():
            if value is not None and value is sys.modules.get(module):
                return name
        return default

    @property
    def jnp(self):
        """The user's name of tinyjax.numpy."""
        return self.alias("tinyjax.numpy", "jnp")

    @property
    def jax(self):
        """The user's name of tinyjax."""
        return self.alias("tinyjax", "jax")

    @property
    def lax(self):
        """The user's name of tinyjax.lax."""
        known = self.alias("tinyjax", None)
        return self.alias("tinyjax.lax", f"{known}.lax" if known else "lax")


_blind = ContextVar("blind", default=False)


def careful(message):
    """Decorator of a function that words an error: if the user's text is too odd for it, the
    message is made without. What explains an error must not raise another."""

    @functools.wraps(message)
    def made(*args, **kwargs):
        try:
            return message(*args, **kwargs)
        except Exception:
            token = _blind.set(True)
            try:
                return message(*args, **kwargs)
            finally:
                _blind.reset(token)

    return made


def place():
    """The Place that led to this call, or None if its text is not known."""
    source = None if _blind.get() else here()
    if source is None or _is_hidden(source):
        return None
    tree = _tree("".join(linecache.getlines(source.code.co_filename)))
    found = tree and _find(tree, _span(source))
    return Place(*found, source, _scope(source)) if found else None


def quote(source):
    """Lines of a message: where it happened, the user's line, and what it is about underlined."""
    if source is None:
        return []
    head = f"The error occurred at {source}"
    raw = linecache.getline(source.code.co_filename, source.line).rstrip()
    text = raw.strip()
    if not text:
        return [head]
    line, end_line, start, end = _span(source)
    lead = len(raw.encode()) - len(raw.lstrip().encode())
    if None in (start, end) or start < lead:
        return [head + ":", "    " + text]
    line = raw.encode()
    stop = end if end_line == source.line else len(line)
    before, marked = line[lead:start].decode(), line[start:stop].decode()
    return [head + ":", "    " + text, "    " + " " * len(before) + "^" * len(marked)]


def show(node):
    """A piece of source text; on one line."""
    return ast.unparse(ast.fix_missing_locations(node))


def _span(source):
    """(line, last line, first column, end column); columns count bytes."""
    positions = source.code.co_positions()
    return next(itertools.islice(positions, source.instruction // 2, None))


@functools.lru_cache(maxsize=4)
def _tree(text):
    try:
        return ast.parse(text) if text else None
    except (SyntaxError, ValueError):  # the prompt's text, or a file that has changed since
        return None


def _find(tree, span):
    """The innermost node with exactly this span, and its parents."""
    line, end_line, start, end = span
    if None in span:
        return None
    best, todo = None, [(tree, ())]
    while todo:
        node, parents = todo.pop()
        if hasattr(node, "lineno"):
            first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
            if first > (line, start) or last < (end_line, end):
                continue
            if first == (line, start) and last == (end_line, end):
                best = node, parents
        inner = (node, *parents)
        todo += [(child, inner) for child in ast.iter_child_nodes(node)]
    return best


def _is_hidden(source):
    """Whether code without a file stands between the source and this call: exec's, say."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not source.code:
        name = frame.f_code.co_filename
        if name == "<string>" or name.startswith("<stdin"):
            return True
        frame = frame.f_back
    return False


def _scope(source):
    """The values of the names in a function that is running; {} if it is not."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not source.code:
        frame = frame.f_back
    if frame is None:
        return {}
    own = {*source.code.co_varnames, *source.code.co_cellvars}  # even before they have a value
    around = {k: v for k, v in frame.f_globals.items() if k not in own}
    return {**around, **frame.f_locals}
