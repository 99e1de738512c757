"""Who else changes what a function reads: a look at the code around it.

A name that is bound once is a constant, however global. So a read is reported only if some code is
seen that binds the name anew, or changes the thing, after the function was made.
"""

import ast
import types

from tinyjax.purity.code import is_a, is_user_module, is_watched, nested, peek, uses
from tinyjax.purity.lines import MUTATORS, definition, file_tree, names_in, own_nodes, parsed

_SETUP = ("__init__", "__new__", "__post_init__", "__setattr__", "__setstate__", "__enter__")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def who_binds_global(name, namespace, code, ran):
    """Who else binds a global variable: 'line 12 binds it anew', or None.

    code: the function that reads it. ran: the codes that ran, of which it is known what they did.
    """
    for function in functions_of(namespace):
        for inner in nested(function.__code__):
            if inner in ran:
                continue
            for use in uses(inner):
                if use.written and use.scope == "global" and use.names == (name,):
                    return f"{inner.co_name}() binds it anew in line {use.line}"
    for where, tree, begin in modules_of(code, namespace):
        node = bound_later(tree, name, begin)
        if node is not None:
            return f"{where}line {node.lineno} binds it anew"
    return None


def bound_later(scope, name, begin):
    """The statement of a scope that binds a name again after the function was made, or None."""
    places = {}  # the branches of an if, try or with are one place: only one of them runs
    for node, around in statements(scope):
        if name in bound(node):
            branch = next((n for n in around if isinstance(n, (ast.If, ast.Try))), node)
            places.setdefault(branch, []).append((node, around))
    given = isinstance(scope, _FUNCTIONS) and name in parameters_of(scope)
    last = [pairs[-1] for pairs in places.values()]
    for i, (node, around) in enumerate(last):
        loops = any(isinstance(n, (ast.For, ast.While)) for n in (*around, node))
        again = i > 0 or given or loops or isinstance(node, ast.AugAssign) or begin is None
        if again and is_later(node, around, begin, name):
            return node
    return None


def who_changes(path, namespace, code, ran):
    """Who changes what a global name (and attributes behind it) holds, or None."""
    known = [definition(c) for c in ran]
    for where, tree, begin in modules_of(code, namespace):
        for node, around in statements(tree):
            if path in changed(node) and is_later(node, around, begin, None):
                return f"{where}line {node.lineno} changes it"
        for function in ast.walk(tree):
            if isinstance(function, _FUNCTIONS) and function not in known:
                node = changed_in(function, path)
                if node is not None:
                    who = getattr(function, "name", "a lambda")
                    return f"{who}() changes it in line {node.lineno}"
    return None


def who_binds_cell(name, code, ran):
    """Who else binds a variable of an enclosing function, or changes what it holds; or None."""
    tree, me = file_tree(code.co_filename), definition(code)
    if tree is None or me is None:
        return None
    outer = [
        f for f in ast.walk(tree) if isinstance(f, _FUNCTIONS) and f is not me and me in ast.walk(f)
    ]
    owner = next((f for f in reversed(outer) if name in names_of(f)), None)
    if owner is None or isinstance(owner, ast.Lambda):
        return None
    node = bound_later(owner, name, (me.lineno, me.end_lineno))
    if node is not None:
        return f"line {node.lineno} binds it anew"
    for node, around in statements(owner):
        if name in changed(node) and is_later(node, around, (me.lineno, me.end_lineno), None):
            return f"line {node.lineno} changes it"
    known = [definition(c) for c in ran]
    for function in ast.walk(owner):
        other = isinstance(function, ast.FunctionDef) and function not in known
        if other and is_nonlocal(function, name):
            return f"{function.name}() binds it anew (nonlocal {name})"
    return None


def is_nonlocal(function, name):
    """Whether a function says `nonlocal name`."""
    return any(isinstance(n, ast.Nonlocal) and name in n.names for n in own_nodes(function))


def who_sets_attribute(thing, name, ran):
    """Which method of an object, beside those that set it up, assigns self.name; or None."""
    for cls in type(thing).__mro__:
        if not is_user_module(cls.__module__):
            continue
        for method in vars(cls).values():
            method = peek(method, "__func__", peek(method, "fun", method))
            if not is_a(method, types.FunctionType) or method.__name__ in _SETUP:
                continue
            if method.__code__ in ran:
                continue
            for use in uses(method.__code__):
                if use.written and use.names[:2] == ("self", name):
                    return f"{cls.__name__}.{method.__name__}() sets it in line {use.line}"
            node = definition(method.__code__)
            for inner in own_nodes(node) if node else ():
                if isinstance(inner, ast.stmt) and f"self.{name}" in changed(inner):
                    return f"{cls.__name__}.{method.__name__}() changes it in line {inner.lineno}"
    return None


# ---- looking at trees ----------------------------------------------------------------------------


def functions_of(namespace):
    """The functions of the user that a module's globals hold, with the methods of its classes."""
    for x in list(namespace.values()):
        members = list(vars(x).values()) if is_a(x, type) else [x]
        for f in members:
            f = peek(f, "__func__", peek(f, "fun", f))
            mine = is_a(f, types.FunctionType) and f.__globals__ is namespace
            if mine and is_watched(f.__code__, namespace):
                yield f


def modules_of(code, namespace):
    """Triples (where, tree, lines of the reading function in it) of a file, or of all cells."""
    me = definition(code)
    tree = file_tree(code.co_filename)
    if tree is not None:
        first = code.co_firstlineno
        yield "", tree, (me.lineno, me.end_lineno) if me else (first, first)
    cells = namespace.get("In")
    if isinstance(cells, list) and "get_ipython" in namespace:
        for number, text in enumerate(cells):
            other = parsed(text)
            if other is not None and (tree is None or ast.dump(other) != ast.dump(tree)):
                yield f"Cell In[{number}], ", other, None


def statements(scope):
    """Pairs (statement, those around it) of a scope, without the functions and classes inside."""
    todo = [(node, ()) for node in reversed(scope.body)]
    while todo:
        node, around = todo.pop()
        if isinstance(node, ast.stmt):
            yield node, around
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            continue
        if isinstance(node, ast.stmt):
            around = (*around, node)
        todo += [(child, around) for child in reversed(list(ast.iter_child_nodes(node)))]


def is_later(node, around, begin, name):
    """Whether a statement runs after the function was made.

    begin: first and last line of the function; None if it is in another cell of a notebook, where
    only what makes a new value from the old one counts: a cell may have been run twice.
    """
    if begin is None:
        if name is None:
            return True
        value = getattr(node, "value", None)
        return isinstance(node, ast.AugAssign) or (value is not None and name in names_in(value))
    first, last = begin
    loops = [n for n in around if isinstance(n, (ast.For, ast.While))]
    if any(loop.lineno <= first <= loop.end_lineno for loop in loops):
        return False  # the loop makes the function anew each time, too
    return node.lineno > last


def targets(node):
    """What a statement assigns to."""
    found = [*getattr(node, "targets", [])] or [getattr(node, "target", None)]
    if isinstance(node, (ast.With, ast.AsyncWith)):
        found = [item.optional_vars for item in node.items]
    if isinstance(node, ast.AnnAssign) and node.value is None:
        found = []
    flat = []
    while found:
        x = found.pop()
        if isinstance(x, (ast.Tuple, ast.List)):
            found += x.elts
        elif isinstance(x, ast.Starred):
            found.append(x.value)
        elif x is not None:
            flat.append(x)
    return flat


def bound(node):
    """The names that a statement binds."""
    return [t.id for t in targets(node) if isinstance(t, ast.Name)]


def changed(node):
    """The names, with attributes ('model.w'), whose things a statement changes."""
    found = []
    for target in targets(node):
        if isinstance(target, ast.Attribute):
            found.append(ast.unparse(target))
        while isinstance(target, ast.Subscript):
            target = target.value
            found.append(ast.unparse(target))
    call = getattr(node, "value", None) if isinstance(node, (ast.Expr, ast.Assign)) else None
    method = getattr(call, "func", None)
    if isinstance(method, ast.Attribute) and method.attr in MUTATORS:
        found.append(ast.unparse(method.value))
    return found


def changed_in(function, path):
    """The statement of a function that changes a global thing; None if its name is a local."""
    if path.partition(".")[0] in names_of(function):
        return None
    found = [n for n in own_nodes(function) if isinstance(n, ast.stmt) and path in changed(n)]
    return found[0] if found else None


def names_of(function):
    """The names that are local to a function."""
    names, outside = parameters_of(function), set()
    for node in own_nodes(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (*_FUNCTIONS[:2], ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            outside |= set(node.names)
    return names - outside


def parameters_of(function):
    """The names of the parameters in a syntax tree."""
    a = function.args
    return {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if p}
