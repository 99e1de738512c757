"""Formulas that have a stable form of their own: log(1 + exp(x)) is softplus, and so on.

Each pattern takes a node and gives the code of the better form, or "".
"""

import ast

from tinyjax.nans.code import callee, operands, prefix, text


def is_one(node):
    """Whether a node is the number 1."""
    return isinstance(node, ast.Constant) and node.value == 1


def is_binary(node, kind):
    """Whether a node is an operation such as ast.Add of two operands."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, kind)


def is_call(node, *names):
    """Whether a node calls a function of one of these names, with an operand."""
    return isinstance(node, ast.Call) and callee(node) in names and bool(operands(node))


def operand_of(node, *names):
    """The operand of a call of one of these functions; None for other nodes."""
    return operands(node)[0] if is_call(node, *names) else None


def one_plus_exp(node):
    """x of 1 + exp(x); None for other nodes."""
    if not is_binary(node, ast.Add):
        return None
    other = node.right if is_one(node.left) else node.left if is_one(node.right) else None
    return operand_of(other, "exp")


def negative(node):
    """The text of -x."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return text(node.operand)
    return f"-{text(node)}" if isinstance(node, ast.Name | ast.Call) else f"-({text(node)})"


def softplus(node):
    """log(1 + exp(x)) and log1p(exp(x))."""
    x = one_plus_exp(operand_of(node, "log"))
    if x is None:
        x = operand_of(operand_of(node, "log1p"), "exp")
    return f"jax.nn.softplus({text(x)})" if x is not None else ""


def sigmoid_of(node):
    """The text of x if a node is the sigmoid of x: a call, or 1 / (1 + exp(-x)); or ""."""
    x = operand_of(node, "sigmoid", "expit")
    if x is not None:
        return text(x)
    if is_binary(node, ast.Div) and is_one(node.left):
        x = one_plus_exp(node.right)
        return negative(x) if x is not None else ""
    return ""


def log_sigmoid(node):
    """log(sigmoid(x)) and log(1 - sigmoid(x))."""
    inner = operand_of(node, "log")
    x = sigmoid_of(inner)
    if x:
        return f"jax.nn.log_sigmoid({x})"
    if is_binary(inner, ast.Sub) and is_one(inner.left) and sigmoid_of(inner.right):
        return f"jax.nn.log_sigmoid(-({sigmoid_of(inner.right)}))"
    return ""


def sigmoid(node):
    """1 / (1 + exp(-x)), or another numerator."""
    if not is_binary(node, ast.Div) or one_plus_exp(node.right) is None:
        return ""
    new = f"jax.nn.sigmoid({negative(one_plus_exp(node.right))})"
    if is_one(node.left):
        return new
    left = text(node.left)
    simple = isinstance(node.left, ast.Name | ast.Call)
    return f"{left if simple else f'({left})'} * {new}"


def log_softmax(node):
    """log(softmax(x)), and log(softmax(x)[i])."""
    inner, index = operand_of(node, "log"), ""
    while isinstance(inner, ast.Subscript):
        inner, index = inner.value, f"[{text(inner.slice)}]{index}"
    if not is_call(inner, "softmax"):
        return ""
    arguments = ", ".join(map(text, [*inner.args, *inner.keywords]))
    where = text(inner.func.value) if isinstance(inner.func, ast.Attribute) else "jax.nn"
    return f"{where}.log_softmax({arguments}){index}"


def logsumexp(node):
    """log(sum(exp(x))), with any axis."""
    total = operand_of(node, "log")
    x = operand_of(operand_of(total, "sum"), "exp")
    if x is None:
        return ""
    more = operands(total)[1:]
    more = [f"axis={text(more[0])}"] if len(more) == 1 else []
    more += [text(k) for k in total.keywords if k.arg in ("axis", "keepdims")]
    return f"jax.nn.logsumexp({', '.join([text(x), *more])})"


def softmax(node):
    """exp(x) / sum(exp(x)), with any axis."""
    if not is_binary(node, ast.Div):
        return ""
    x, total = operand_of(node.left, "exp"), operand_of(node.right, "sum")
    if x is None or total is None or text(total) != text(node.left):
        return ""
    axes = [text(k.value) for k in node.right.keywords if k.arg == "axis"]
    axes += [text(o) for o in operands(node.right)[1:2]]
    return f"jax.nn.softmax({text(x)}, axis={axes[0] if axes else None})"


PATTERNS = [softplus, log_sigmoid, log_softmax, logsumexp, sigmoid, softmax]


def logit(node):
    """log(p / (1 - p)): the lines with p kept away from 0 and 1, or nothing."""
    ratio = operand_of(node, "log")
    if not is_binary(ratio, ast.Div) or not is_binary(ratio.right, ast.Sub):
        return []
    p = text(ratio.left)
    if not is_one(ratio.right.left) or text(ratio.right.right) != p:
        return []
    choose = prefix(node)
    return [
        f"safe = {choose}.clip({p}, 1e-6, 1 - 1e-6)",
        f"{text(node.func)}(safe / (1 - safe))",
    ]


def stable_forms(node):
    """-> (lines, the node that they replace) for each expression around a node that has one."""
    while isinstance(node, ast.expr):
        for pattern in PATTERNS:
            new = pattern(node)
            if new:
                yield [new], node
        if logit(node):
            yield logit(node), node
        node = getattr(node, "parent", None)
        while isinstance(node, ast.keyword):
            node = node.parent
