"""What a NaN means: why this operation made it, and what to write instead."""

import ast

import numpy as np

from tinyjax.nans.code import (
    callee,
    dangerous,
    double_where,
    expression,
    inside,
    is_where,
    operands,
    plain,
    prefix,
    replaced,
    text,
)
from tinyjax.nans.watch import operand_at

# ---- why -----------------------------------------------------------------------------------------

# Functions whose derivative is infinite somewhere: where.
STEEP = {
    "sqrt": "the derivative of sqrt is infinite at 0",
    "norm": "norm is a square root, and the derivative of sqrt is infinite at 0",
    "std": "std is a square root, and the derivative of sqrt is infinite at 0",
    "cbrt": "the derivative of cbrt is infinite at 0",
    **dict.fromkeys(
        ["**", "power", "pow", "float_power"], "the derivative of x ** p is infinite at 0 if p < 1"
    ),
    **{
        name: f"the derivative of {name} is infinite at -1 and 1"
        for name in ("arccos", "arcsin", "arctanh", "acos", "asin", "atanh")
    },
    **dict.fromkeys(["arccosh", "acosh"], "the derivative of arccosh is infinite at 1"),
    **dict.fromkeys(["log", "log2", "log10"], "log(0) is -inf, and its derivative is infinite"),
}
# The primitives that functions of the user are made of; whatever else they run is a derivative.
FORWARD = {
    "sqrt": ["sqrt"],
    "log": ["log"],
    "exp": ["exp"],
    "arctan2": ["atan2"],
    "atan2": ["atan2"],
    "arccos": ["acos"],
    "arcsin": ["asin"],
    "arctanh": ["atanh"],
    "arccosh": ["acosh"],
    "cbrt": ["cbrt"],
    "/": ["div"],
    "divide": ["div"],
    "**": ["pow", "integer_pow", "square", "mul", "sqrt"],
    "power": ["pow", "integer_pow", "square", "mul"],
    "norm": ["sqrt", "mul", "square", "reduce_sum"],
    "std": ["sqrt", "div", "mul", "square", "reduce_sum", "sub"],
}
DOMAIN = {
    "log": "log of a negative number",
    "log1p": "log1p below -1",
    "sqrt": "square root of a negative number",
    "rsqrt": "square root of a negative number",
    "pow": "a negative number to a power that is not whole",
    "acos": "arccos outside of [-1, 1]",
    "asin": "arcsin outside of [-1, 1]",
    "atanh": "arctanh outside of [-1, 1]",
    "acosh": "arccosh below 1",
    "rem": "the remainder of a division by 0",
    "cholesky": "the matrix is not positive definite",
    "eigh": "the matrix has bad elements, or the method did not converge",
    "erf_inv": "erf_inv outside of [-1, 1]",
    **dict.fromkeys(["sin", "cos", "tan"], "sine and cosine of an infinity do not exist"),
}


def values(step, word="nan"):
    """The operands' elements at the first bad place of a step; None where that is unclear."""
    out, where = step.index(word)
    return [operand_at(a, out, where) for a in step.args]


def why_nan(step):
    """A few words on why an operation makes a NaN of its operands."""
    name, found = step.prim.name, values(step)
    known = [v for v in found if v is not None and np.issubdtype(np.asarray(v).dtype, np.number)]
    zero, infinite = any(v == 0 for v in known), any(np.isinf(v) for v in known)
    if name in ("mul", "dot_general") and (infinite or step.infs):
        return "0 * inf is nan"
    if name == "div" and infinite:
        return "inf / inf is nan"
    if name == "div" and zero:
        return "0 / 0 is nan"
    if name in ("add", "sub", "add_any", "reduce_sum", "cumsum") and step.infs:
        return "inf - inf is nan"
    if name in ("triangular_solve", "lu"):
        return "the matrix is singular"
    return DOMAIN.get(name, f"{name} has no value there")


def why_inf(step):
    """A few words on why an operation makes an infinity; "" if its name says it all."""
    node = expression(step.source)
    name, prim = callee(node), step.prim.name if step.prim else ""
    if prim.startswith("exp") or prim in ("sinh", "cosh"):
        limit = "709" if step.outs[0].dtype == np.float64 else "88.7"
        return f"exp overflows above {limit}"
    if prim == "log":
        return "log(0) is -inf"
    if name in STEEP:
        return STEEP[name]
    return "a division by 0" if prim == "div" else ""


def derivative(step):
    """The function whose derivative a step of the forward pass belongs to, or ""."""
    name = callee(expression(step.source))
    made_by = FORWARD.get(name)
    plain_type = step.prim.name in ("convert_element_type", "broadcast_in_dim", "select_n")
    if step.phase == "backward" or made_by is None or plain_type:
        return ""
    return "" if step.prim.name in made_by else name


# ---- the fix -------------------------------------------------------------------------------------


def call_of(name, like, *args, keywords=()):
    """`jnp.name(args)`, where jnp is whatever the code calls it."""
    return f"{prefix(like)}.{name}({', '.join([*args, *map(text, keywords)])})"


def guarded(node, condition, value="0.0"):
    """A double where around an expression: the operand and the result are chosen by condition."""
    operand, safe = dangerous(node)
    choose = "jnp.where" if not isinstance(node, ast.Call) else f"{prefix(node)}.where"
    named = isinstance(operand, ast.Name)
    return [
        f"safe = {choose}({condition}, {text(operand)}, {safe})",
        f"{choose}({condition}, {text(replaced(node, operand, everywhere=named))}, {value})",
    ]


def kept(node):
    """The keywords of a reduction that say along which axis."""
    return [k for k in node.keywords if k.arg in ("axis", "keepdims")]


def fix_root(node, step):
    """sqrt, norm, std, cbrt: another way at 0."""
    name, first = callee(node), text(operands(node)[0])
    if name == "norm":
        total = squares(node)
        return [
            f"square = {total}",
            "safe = jnp.where(square > 0, square, 1.0)",
            "jnp.where(square > 0, jnp.sqrt(safe), 0.0)",
        ]
    if name == "std":
        return [f"jnp.sqrt({call_of('var', node, first, keywords=kept(node))} + 1e-6)"]
    return guarded(node, f"{first} {'!=' if name == 'cbrt' else '>'} 0")


def squares(node):
    """The sum of squares whose root a norm is."""
    first = operands(node)[0]
    base = text(first) if isinstance(first, ast.Name | ast.Call) else f"({text(first)})"
    return f"jnp.sum({', '.join([f'{base} ** 2', *map(text, kept(node))])})"


def fix_log(node):
    """log: never at 0; a product with it is xlogy. Also: what is replaced."""
    first, parent = operands(node)[0], getattr(node, "parent", None)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult) and callee(node) == "log":
        other = parent.left if parent.right is node else parent.right
        if text(other) == text(first):  # x * log(x), whose derivative at 0 is infinite, too
            safe = f"safe = {prefix(node)}.where({text(first)} > 0, {text(first)}, 1.0)"
            product = text(replaced(parent, first))
            return [safe, f"{prefix(node)}.where({text(first)} > 0, {product}, 0.0)"], parent
        return [
            "from tinyjax.scipy.special import xlogy",
            f"xlogy({text(other)}, {text(first)})",
        ], parent
    return [text_with(node, f"{prefix(node)}.maximum({text(first)}, 1e-6)")], node


def text_with(node, operand):
    """An expression with another first operand."""
    changed = plain(node)
    changed.args[0] = ast.parse(operand, mode="eval").body
    return text(changed)


def fix_division(node, step):
    """x / y, by a norm, a standard deviation or a number. Also: what is replaced."""
    divisor = operands(node)[1]
    root = root_of(divisor, step)
    if root is not None and callee(root) in ("std", "norm"):
        first, more = text(operands(root)[0]), kept(root)
        if callee(root) == "std":
            new = f"jnp.sqrt({call_of('var', root, first, keywords=more)} + 1e-6)"
        else:
            new = f"jnp.sqrt({squares(root)} + 1e-12)"
        return [new], root
    return guarded(node, f"{text(divisor)} != 0"), node


def root_of(divisor, step):
    """The call of norm or std that made a divisor, in the text or in the program."""
    for node in ast.walk(divisor):
        if callee(node) in ("std", "norm"):
            return node
    for made in step.makers if step is not None else ():
        node = expression(made.source) if made else None
        if callee(node) in ("std", "norm"):
            return node
    return None


def fix_exp(node, step):
    """exp overflows: subtract the largest."""
    first = text(operands(node)[0])
    rows = bool(step is not None and step.args and step.args[0].shape)
    axis = ", axis=-1, keepdims=True" if rows else ""
    note = "  # jax.nn.softmax, log_softmax and logsumexp do this"
    return [text_with(node, f"({first}) - {prefix(node)}.max({first}{axis})") + note]


def fix_of(node, step=None):
    """-> the lines to write instead of an expression, and the node of what they replace."""
    name, found = callee(node), operands(node)
    if not found or any(isinstance(o, ast.Starred) for o in found):
        return [], node
    if name in ("log", "log2", "log10"):
        return fix_log(node)
    if name in ("/", "divide", "true_divide") and len(found) == 2:
        return fix_division(node, step)
    recipe = RECIPES.get(name)
    return (recipe(node, step) if recipe else []), node


def fix_power(node, step):
    """x ** p: another way where x is not positive."""
    return guarded(node, f"{text(operands(node)[0])} > 0")


def fix_ends(node, step):
    """arccos and its kin: stay away from -1 and 1."""
    first = text(operands(node)[0])
    return [text_with(node, f"{prefix(node)}.clip({first}, -1 + 1e-6, 1 - 1e-6)")]


def fix_above_one(node, step):
    """arccosh: stay above 1."""
    return [text_with(node, f"{prefix(node)}.maximum({text(operands(node)[0])}, 1 + 1e-6)")]


def fix_angle(node, step):
    """arctan2: another x where both are 0."""
    y, x = map(text, operands(node)[:2])
    safe = f"safe = {prefix(node)}.where(({x} != 0) | ({y} != 0), {x}, 1.0)"
    return [safe, text(replaced(node, operands(node)[1]))]


RECIPES = {
    **dict.fromkeys(["sqrt", "norm", "std", "cbrt", "rsqrt"], fix_root),
    **dict.fromkeys(["**", "power", "pow", "float_power"], fix_power),
    **dict.fromkeys(["arccos", "arcsin", "arctanh", "acos", "asin", "atanh"], fix_ends),
    **dict.fromkeys(["arccosh", "acosh"], fix_above_one),
    **dict.fromkeys(["arctan2", "atan2"], fix_angle),
    **dict.fromkeys(["exp", "exp2", "expm1"], fix_exp),
}


# ---- a where's other branch ----------------------------------------------------------------------


def untaken_branch(step):
    """-> (the node of the where, 1 or 2 for the branch not taken, the dangerous node) or None."""
    masked = step.untaken
    node = expression(masked.source) if masked else None
    if node is None or not is_where(node):
        return None
    risky = next((n for n in map(expression, sources(step)) if n is not None), None)
    for branch in (1, 2):
        if risky is not None and inside(risky, node.args[branch]):
            return node, branch, risky
    zeros = [not np.any(case.npy) for case in masked.args[1:]]
    if zeros.count(True) == 1:
        return node, 1 + zeros.index(True), risky
    out, where = step.index()
    which = operand_at(masked.args[0], out, where)
    return node, 2 if which else 1, risky


def sources(step):
    """Where the trouble may have begun: the infinities, then the step itself."""
    return [s.source for s in [*step.infs, step] if s.source is not None]


def fix(step):
    """-> the lines that avoid a NaN, and the expression for which the last one stands.

    Without a recipe: no lines.
    """
    if step.prim is None:
        return [], ""
    branch = untaken_branch(step)
    if branch is not None and branch[2] is not None:
        where, number, risky = branch
        lines = double_where(where, risky, number)
        if lines:
            return lines, text(where)
    for culprit in [*step.infs, step]:
        node = expression(culprit.source)
        lines, old = fix_of(node, culprit) if node is not None else ([], node)
        if lines:
            return lines, text(old)
    return [], ""
