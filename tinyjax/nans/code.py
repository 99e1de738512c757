"""The user's own text behind an operation: which expression it is, and how to write it safely.

A Source knows the exact columns of the expression that Python was evaluating. So `sqrt` at some
line becomes the node `jnp.sqrt(x)` of the file's syntax tree, whose names a fix can use.
"""

import ast
import copy
import functools
import linecache
import re

# What a call's operand must stay away from: function -> (which argument, a safe value for it).
SAFE = {
    **dict.fromkeys(["sqrt", "rsqrt", "cbrt", "reciprocal", "norm", "std"], (0, "1.0")),
    **dict.fromkeys(["log", "log2", "log10", "gammaln", "digamma", "logit"], (0, "1.0")),
    **dict.fromkeys(["power", "pow", "float_power"], (0, "1.0")),
    **dict.fromkeys(["divide", "true_divide", "div", "arctan2", "atan2"], (1, "1.0")),
    **dict.fromkeys(["remainder", "mod", "fmod", "floor_divide"], (1, "1.0")),
    **dict.fromkeys(["arcsin", "arccos", "arctanh", "asin", "acos", "atanh"], (0, "0.0")),
    **dict.fromkeys(["exp", "expm1", "exp2", "sinh", "cosh", "log1p", "erf_inv"], (0, "0.0")),
    **dict.fromkeys(["arccosh", "acosh"], (0, "2.0")),
}
OPERATORS = {ast.Div: (1, "1.0"), ast.Mod: (1, "1.0"), ast.FloorDiv: (1, "1.0")}
OPERATORS |= {ast.Pow: (0, "1.0")}


@functools.lru_cache(64)
def parsed(text):
    """The nodes of a text, by their place; empty if it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    nodes = {}
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            child.parent = node
        if hasattr(node, "end_col_offset"):
            place = node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
            nodes.setdefault(place, node)
            if isinstance(node, ast.expr):
                nodes[place] = node  # an expression rather than the statement that it fills
    return nodes


def expression(source):
    """The expression that was evaluated at a Source; None if there is no text."""
    if source is None:
        return None
    text = "".join(linecache.getlines(source.code.co_filename))
    place = places_of(source.code)[source.instruction // 2]
    node = parsed(text).get(place)
    return node if isinstance(node, ast.Call | ast.BinOp | ast.AugAssign | ast.Compare) else None


@functools.lru_cache(256)
def places_of(code):
    """Line, last line, column and last column of each instruction."""
    return [(a, b, c, d) for a, b, c, d in code.co_positions()]


def callee(node):
    """What an expression calls: "sqrt" for jnp.sqrt(x), "/" for x / y; "" if that is unclear."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "attr", getattr(node.func, "id", ""))
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return {ast.Div: "/", ast.Pow: "**", ast.Mult: "*", ast.Sub: "-", ast.Mod: "%"}.get(
            type(node.op), ""
        )
    return ""


def operands(node):
    """The nodes of an expression's operands, in order; of a method, the object first."""
    if isinstance(node, ast.Call):
        return [node.func.value, *node.args] if is_method(node) else node.args
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return [node.target, node.value] if isinstance(node, ast.AugAssign) else []


MODULES = [
    "jax", "jnp", "np", "numpy", "lax", "nn", "linalg", "scipy", "special", "random",
    "tinyjax", "onp", "fft",
]  # fmt: skip


def is_method(node):
    """Whether a call is one of a method, as x.std(), and not of a module's function."""
    func = node.func
    if not isinstance(func, ast.Attribute):
        return False
    first = func.value
    while isinstance(first, ast.Attribute):
        first = first.value
    return not (isinstance(first, ast.Name) and first.id in {*MODULES, *imported(first)})


def imported(node):
    """The names that the file of a node imports."""
    while getattr(node, "parent", None) is not None:
        node = node.parent
    found = [n for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name.split(".")[0] for n in found for alias in n.names}


def dangerous(node):
    """-> the operand of an expression that must be kept safe, and a safe value; or None."""
    if isinstance(node, ast.BinOp | ast.AugAssign):
        where, value = OPERATORS.get(type(node.op), (None, ""))
    else:
        where, value = SAFE.get(callee(node), (None, ""))
    found = operands(node)
    if where is None or where >= len(found) or isinstance(found[where], ast.Starred):
        return None
    return found[where], value


def text(node):
    """A node as code on one line."""
    return re.sub(r"(?<=\d)e-0(?=\d)", "e-", ast.unparse(node))


def prefix(node):
    """How the code calls tinyjax.numpy: "jnp" in `jnp.where(...)`."""
    func = getattr(node, "func", None)
    if not isinstance(func, ast.Attribute) or is_method(node):
        return "jnp"
    if isinstance(func.value, ast.Attribute) and func.value.attr == "numpy":
        return text(func.value)  # jax.numpy.sqrt
    while isinstance(func, ast.Attribute):
        func = func.value
    name = getattr(func, "id", "jnp")
    return "jnp" if name in NOT_NUMPY else name


NOT_NUMPY = ("jax", "lax", "nn", "linalg", "scipy", "special", "tinyjax")  # where no `where` is


class Replace(ast.NodeTransformer):
    """Puts another expression where an operand stands: there, or wherever its text stands."""

    def __init__(self, old, new, everywhere):
        self.old, self.new, self.everywhere = old, new, everywhere
        self.place, self.dump = position(old), ast.dump(plain(old))

    def visit(self, node):
        here = self.everywhere or position(node) == self.place
        if here and isinstance(node, ast.expr) and ast.dump(node) == self.dump:
            return self.new
        return self.generic_visit(node)


def position(node):
    """Where a node stands in its file."""
    return getattr(node, "lineno", None), getattr(node, "col_offset", None)


def replaced(node, old, new="safe", everywhere=False):
    """A copy of a node with another expression in place of an operand."""
    return Replace(old, ast.parse(new, mode="eval").body, everywhere).visit(plain(node))


def plain(node):
    """A copy without the links to parents."""
    parents = {n: n.__dict__.pop("parent", None) for n in ast.walk(node)}
    try:
        return copy.deepcopy(node)
    finally:
        for n, parent in parents.items():
            n.parent = parent


def inside(node, outer):
    """Whether a node is part of another."""
    while node is not None and node is not outer:
        node = getattr(node, "parent", None)
    return node is outer


def statement(node):
    """The statement that an expression is part of."""
    while not isinstance(node, ast.stmt):
        node = node.parent
    return node


def is_where(node):
    """Whether an expression is a choice, as jnp.where(condition, a, b)."""
    return callee(node) in ("where", "select") and len(operands(node)) == 3


def function_of(node):
    """The function or module that a node is part of."""
    while not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module):
        node = node.parent
    return node


def safe_name(node):
    """What to call the safe operand: a name that the function does not use."""
    used = {n.id for n in ast.walk(function_of(node)) if isinstance(n, ast.Name)}
    return next(n for n in ("safe", "harmless", "safe_operand_") if n not in used)


def double_where(where, risky, branch):
    """-> the lines of the double-where fix; the statements that they replace. Or None.

    where: the node of jnp.where(condition, a, b). branch: 1 or 2, the one not taken. risky:
    the node of what went wrong there. If that is in another function, which the branch calls, it is
    this call that gets a safe argument.
    """
    found = dangerous(risky)
    if found is None:
        return None
    operand, value = found
    name, chosen = safe_name(where), where.args[branch]
    within = inside(risky, chosen)
    if not within and function_of(risky) is not function_of(where):
        if not isinstance(chosen, ast.Call) or not chosen.args:
            return None
        operand, within = chosen.args[0], True
    condition, choose = text(where.args[0]), text(where.func)
    if callee(where) != "where":
        choose = "jnp.where"  # lax.select wants both of one type
    pair = [text(operand), value] if branch == 1 else [value, text(operand)]
    lines, replaces = [f"{name} = {choose}({condition}, {', '.join(pair)})"], []
    fixed = plain(where)
    if within:
        everywhere = isinstance(operand, ast.Name)
        fixed.args[branch] = replaced(chosen, operand, name, everywhere)
    else:
        replaces = [statement(risky)]
        lines.append(text(replaced(statement(risky), operand, name)))
    return [*lines, text(fixed)], replaces


def double_wheres_of_names(where, branch):
    """-> lines in which a name of the branch is safe wherever it stands there, for each name that
    the condition is about and each value that may be safe."""
    condition, chosen = where.args[0], where.args[branch]
    names = dict.fromkeys(n.id for n in ast.walk(condition) if isinstance(n, ast.Name))
    used = {n.id for n in ast.walk(chosen) if isinstance(n, ast.Name)}
    safe = safe_name(where)
    for name in names:
        if name not in used or name in MODULES:
            continue
        for value in ("1.0", "0.0", "2.0"):
            pair = [name, value] if branch == 1 else [value, name]
            old = next(n for n in ast.walk(chosen) if isinstance(n, ast.Name) and n.id == name)
            fixed = plain(where)
            fixed.args[branch] = replaced(chosen, old, safe, everywhere=True)
            yield ([f"{safe} = jnp.where({text(condition)}, {', '.join(pair)})", text(fixed)])
