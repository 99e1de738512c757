"""The syntax tree of the user's code, where its text is known."""

import ast
import functools
import linecache

_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def file_tree(filename):
    """The syntax tree of a file or of a notebook's cell; None without text, or with magic in it."""
    return _parsed("".join(linecache.getlines(filename)))


@functools.lru_cache(64)
def _parsed(text):
    try:
        return ast.parse(text) if text else None
    except SyntaxError:
        return None


def statement(source):
    """The smallest statement that stands on the line of a Source; None if there is no text."""
    found = [n for n in nodes_at(source) if isinstance(n, ast.stmt)]
    return max(found, key=lambda n: (n.lineno, -n.end_lineno), default=None)


def call_on(source, name):
    """The call of something that is written `name`, or ends so, on the line of a Source."""
    last = name.rpartition(".")[2]
    calls = [n for n in nodes_at(source) if isinstance(n, ast.Call)]
    return next((c for c in calls if ast.unparse(c.func).rpartition(".")[2] == last), None)


def nodes_at(source):
    """All nodes of the syntax tree that touch the line of a Source."""
    tree = file_tree(source.code.co_filename) if source else None
    nodes = [n for n in ast.walk(tree) if hasattr(n, "lineno")] if tree else []
    return [n for n in nodes if n.lineno <= source.line <= n.end_lineno]


def definition(code):
    """The def or lambda that a code object was made from; None if there is no text."""
    tree = file_tree(code.co_filename)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, _DEFS):
            first = min([d.lineno for d in getattr(node, "decorator_list", [])] + [node.lineno])
            named = getattr(node, "name", "<lambda>") == code.co_name
            if named and code.co_firstlineno in (first, node.lineno):
                return node
    return None


def parameters(code):
    """The names of a function's parameters."""
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def header(code, extra=(), without=()):
    """The first line of a function with more parameters: 'def f(x, scale):'."""
    names = ", ".join([*[p for p in parameters(code) if p not in without], *extra])
    if code.co_name == "<lambda>":
        node = definition(code)
        body = ast.unparse(node.body) if node else "..."
        return f"lambda {names}: {body}"
    return f"def {code.co_name}({names}):"


def called(code, extra=()):
    """A call of a function with more arguments: 'f(x, scale)'."""
    name = "f" if code.co_name == "<lambda>" else code.co_name
    names = list(parameters(code))
    if names[:1] == ["self"]:
        name, names = "model" if name == "__call__" else f"model.{name}", names[1:]
    return f"{name}({', '.join([*names, *extra])})"


def returned(code):
    """What a function returns, as text; '...' if that is not one expression."""
    node = definition(code)
    if isinstance(node, ast.Lambda):
        return ast.unparse(node.body)
    returns = [n for n in own_nodes(node) if isinstance(n, ast.Return) and n.value] if node else []
    text = ast.unparse(returns[0].value) if len(returns) == 1 else "..."
    return text if len(text) <= 60 else "..."


def own_nodes(function):
    """The nodes of a function, without those of the functions inside."""
    todo = list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop(0)
        yield node
        if not isinstance(node, (*_DEFS, ast.ClassDef)):
            todo += ast.iter_child_nodes(node)
