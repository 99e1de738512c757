"""Loops over sets: their order is not fixed, and it decides the order of the program."""

import ast
import dis

from tinyjax.purity.lines import file_tree

_ORDERED = ("list", "tuple", "enumerate", "zip", "iter", "map", "next", "join")  # keep the order
_ANY_ORDER = ("any", "all", "min", "max", "len", "set", "frozenset", "sorted")
_OPERATORS = (ast.BitAnd, ast.BitOr, ast.Sub, ast.BitXor)
_METHODS = ("union", "intersection", "difference", "symmetric_difference")


def loops_over_sets(code, lines):
    """Triples (line, text of the set, text of the loop) for the lines that ran.

    lines: line -> the local variables when it ran first, and under None the globals.
    """
    tree = file_tree(code.co_filename)
    if tree is None:
        yield from _without_text(code, lines)
        return
    free = {id(arg) for node in ast.walk(tree) for arg in without_order(node)}
    for node in ast.walk(tree):
        loop = isinstance(node, (ast.ListComp, ast.GeneratorExp))
        for iterated in _iterated(node) if not loop or id(node) not in free else ():
            line = iterated.lineno
            names = lines.get(line)
            if names is None or not code.co_firstlineno <= line:
                continue
            if is_set(iterated, {**lines[None], **names}):
                yield line, ast.unparse(iterated), ast.unparse(_sorted(node, iterated))


def without_order(node):
    """The arguments of any(...) and the like, whose result is the same in any order."""
    name = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
    return node.args if name in _ANY_ORDER else []


def _iterated(node):
    """The expressions whose order a node takes over."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return [node.iter]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Tuple, ast.List)):
        return [node.value]
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return [node.generators[0].iter]
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else None
        if name == "pop" and not node.args:
            return [node.func.value]
        name = node.func.id if isinstance(node.func, ast.Name) else name
        return node.args if name in _ORDERED else []
    return []


def _sorted(node, iterated):
    """The beginning of the same loop in a fixed order."""
    text = ast.parse(f"sorted({ast.unparse(iterated)})", mode="eval").body
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return ast.Name(f"for {ast.unparse(node.target)} in {ast.unparse(text)}:")
    if isinstance(node, ast.Assign):
        return ast.Name(f"{ast.unparse(node.targets[0])} = {ast.unparse(text)}")
    if isinstance(node, ast.Call) and ast.unparse(node).endswith(".pop()"):
        return ast.Name(f"{ast.unparse(text)}[0]")
    return text


def is_set(node, names):
    """Whether an expression is a set of more than one element, as far as can be seen."""
    if isinstance(node, ast.Set):
        return len(node.elts) > 1
    if isinstance(node, ast.SetComp):
        return True
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset"):
            return bool(node.args) and node.func.id not in names
        called = isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS
        return called and is_set(node.func.value, names)
    if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        return is_set(node.left, names)
    value = _value(node, names)
    return isinstance(value, (set, frozenset)) and len(value) > 1


def _value(node, names):
    """The value of a name with attributes, without running anything."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, names)
        return getattr(owner, "__dict__", {}).get(node.attr)
    return None


def _without_text(code, lines):
    """The same from instructions alone: a set's name or constant, then GET_ITER."""
    last, line = None, code.co_firstlineno
    for op in dis.get_instructions(code):
        line = (op.positions and op.positions.lineno) or line
        if op.opname == "GET_ITER" and last is not None and line in lines:
            names = {**lines[None], **lines[line]}
            value = last.argval if last.opname == "LOAD_CONST" else names.get(str(last.argval))
            if isinstance(value, (set, frozenset)) and len(value) > 1:
                text = "names" if last.opname == "LOAD_CONST" else last.argval
                yield line, text, f"for x in sorted({text}):"
        last = op if op.opname not in ("NOP", "CACHE") else last
