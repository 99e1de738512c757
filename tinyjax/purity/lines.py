"""The syntax tree of the user's code, where its text is known."""

import ast
import functools
import inspect
import itertools
import linecache

# Methods that change the list, dict, set or array that they belong to.
MUTATORS = {"append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault"}
MUTATORS |= {"popitem", "add", "discard", "sort", "reverse", "fill", "appendleft", "popleft"}
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def file_tree(filename):
    """The syntax tree of a file or of a notebook's cell; None without text, or with magic in it."""
    return parsed("".join(linecache.getlines(filename)))


@functools.lru_cache(64)
def parsed(text):
    """The syntax tree of a text; None for none, or for one that is not Python."""
    try:
        return ast.parse(text) if text else None
    except SyntaxError:
        return None


_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Delete)


def statement(source, name):
    """The statement on the line of a Source that is about a variable; None if there is no text.

    None, too, if there are several.
    """
    simple = [n for n in nodes_at(source) if isinstance(n, _SIMPLE) and name in names_in(n)]
    return simple[0] if len(simple) == 1 else None


def statement_of(source, node):
    """The simple statement or return, on the line of a Source, that an expression is part of."""
    if source.code.co_name == "<lambda>":
        function = definition(source.code)
        return ast.Return(function.body) if function and node in ast.walk(function.body) else None
    kinds = (*_SIMPLE, ast.Return)
    found = [n for n in nodes_at(source) if isinstance(n, kinds) and node in ast.walk(n)]
    return max(found, key=lambda n: (n.lineno, n.col_offset), default=None)


def parents_of(source):
    """What is around each node on the line of a Source."""
    pairs = [(n, child) for n in nodes_at(source) for child in ast.iter_child_nodes(n)]
    return {child: parent for parent, child in pairs}


def stored(node):
    """The names that an expression, statement or function binds."""
    found = ast.walk(node) if node is not None else ()
    return {n.id for n in found if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def names_in(node):
    """All names in an expression or statement."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def base_name(node):
    """The variable at the beginning of x[0].a['b']."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def call_on(source, name):
    """The call of something that is written `name`, or ends so, on the line of a Source."""
    last = name.rpartition(".")[2]
    calls = [n for n in nodes_at(source) if isinstance(n, ast.Call)]
    found = [c for c in calls if ast.unparse(c.func).rpartition(".")[2] == last]
    return found[0] if len(found) == 1 else None


def call_at(source):
    """The call whose instruction a Source is; None if it is another instruction, or no text."""
    where = next(itertools.islice(source.code.co_positions(), source.instruction // 2, None), None)
    for node in nodes_at(source) if where else ():
        place = (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
        if isinstance(node, ast.Call) and place == where:
            return node
    return None


def nodes_at(source):
    """All nodes of the syntax tree that touch the line of a Source."""
    tree = file_tree(source.code.co_filename) if source else None
    nodes = [n for n in ast.walk(tree) if hasattr(n, "lineno")] if tree else []
    return [n for n in nodes if n.lineno <= source.line <= n.end_lineno]


def definition(code):
    """The def or lambda that a code object was made from; None if there is no text."""
    tree, found = file_tree(code.co_filename), []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, _DEFS):
            first = min([d.lineno for d in getattr(node, "decorator_list", [])] + [node.lineno])
            named = getattr(node, "name", "<lambda>") == code.co_name
            if named and code.co_firstlineno in (first, node.lineno):
                found.append(node)
    if len(found) > 1:  # several lambdas on a line
        columns = [(p[0], p[2]) for p in code.co_positions() if p[2] is not None]
        counts = [inside(n.body, columns) if isinstance(n, ast.Lambda) else 0 for n in found]
        if counts.count(max(counts)) > 1:
            return None
        return found[counts.index(max(counts))]
    return found[0] if found else None


def inside(node, columns):
    """How many of the places (line, column) of a code object's instructions a node spans."""
    first, last = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return sum(first <= place < last for place in columns)


def parameters(code):
    """The names of a function's parameters."""
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def parameter_list(code):
    """The parameters as they are written: ['x', '*args', '**kwargs']."""
    names, first = list(parameters(code)), code.co_argcount + code.co_kwonlyargcount
    for flag, stars in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
        if code.co_flags & flag:
            names.append(stars + code.co_varnames[first])
            first += 1
    return names


def header(code, extra=()):
    """The first line of a function with more parameters: 'def f(x, scale):'."""
    name = "f" if code.co_name == "<lambda>" else code.co_name
    return f"def {name}({', '.join(with_more(parameter_list(code), extra))}):"


def called(code, extra=()):
    """A call of a function with more arguments: 'f(x, scale)'."""
    name = "f" if code.co_name == "<lambda>" else code.co_name
    return f"{name}({', '.join(with_more(parameter_list(code), extra))})"


def with_more(names, extra):
    """Parameters with more of them, before the starred ones."""
    stars = [n for n in names if n.startswith("*")]
    return [*[n for n in names if n not in stars], *extra, *stars]


def returned(code):
    """What a function returns, as text; '...' if that is not one expression."""
    node = definition(code)
    if isinstance(node, ast.Lambda):
        calls = [n.func for n in ast.walk(node.body) if isinstance(n, ast.Call)]
        changes = any(getattr(method, "attr", None) in MUTATORS for method in calls)
        return "..." if changes else ast.unparse(node.body)
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
