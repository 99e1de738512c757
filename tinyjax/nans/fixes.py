"""What to write instead of an expression that makes a NaN, with the user's own names."""

import ast

from tinyjax.nans.causes import is_overflow, untaken_branch
from tinyjax.nans.code import (
    callee,
    dangerous,
    double_where,
    expression,
    operands,
    plain,
    prefix,
    replaced,
    safe_name,
    text,
)

# ---- recipes -------------------------------------------------------------------------------------


def call_of(name, like, *args, keywords=()):
    """`jnp.name(args)`, where jnp is whatever the code calls it."""
    return f"{prefix(like)}.{name}({', '.join([*args, *map(text, keywords)])})"


def guarded(node, condition, value="0.0"):
    """A double where around an expression: the operand and the result are chosen by condition."""
    operand, safe = dangerous(node)
    choose = "jnp.where" if not isinstance(node, ast.Call) else f"{prefix(node)}.where"
    name, everywhere = safe_name(node), isinstance(operand, ast.Name)
    return [
        f"{name} = {choose}({condition}, {text(operand)}, {safe})",
        f"{choose}({condition}, {text(replaced(node, operand, name, everywhere))}, {value})",
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
    """exp overflows: keep its operand small."""
    return [text_with(node, f"{prefix(node)}.minimum({text(operands(node)[0])}, 80.0)")]


def fix_softmax(node, step):
    """exp that is divided by a sum of exp: subtract the largest."""
    first = text(operands(node)[0])
    axis = ", axis=-1, keepdims=True" if step.args and step.args[0].shape else ""
    note = "  # as jax.nn.softmax and log_softmax do"
    return [text_with(node, f"({first}) - {prefix(node)}.max({first}{axis})") + note]


def fix_logsumexp(node):
    """-> log(sum(exp(x))) in one, and its node; or nothing."""
    outer = [node.parent, getattr(node.parent, "parent", None)]
    if [callee(n) for n in outer] != ["sum", "log"]:
        return [], None
    keywords = [text(k) for k in outer[0].keywords if k.arg in ("axis", "keepdims")]
    return [f"jax.nn.logsumexp({', '.join([text(operands(node)[0]), *keywords])})"], outer[1]


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


# ---- which recipe --------------------------------------------------------------------------------


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
        if node is None or culprit.prim is None:
            continue
        lines, old = fix_of(node, culprit)
        if callee(node) == "exp":
            whole, above = fix_logsumexp(node)
            if whole:
                lines, old = whole, above
            elif step.prim.name == "div":
                lines = fix_softmax(node, culprit)
        elif culprit is not step and is_overflow(culprit):
            continue
        if lines:
            return lines, text(old)
    return [], ""


def advice(step):
    """What to look at where no code can be given; "" if there is nothing to say."""
    if any(s.prim is not None and is_overflow(s) and callee(expression(s.source)) != "exp"
           for s in step.infs):  # fmt: skip
        return "the numbers have grown too large: try a smaller step size, or clip the gradient"
    if step.prim.name == "cholesky":
        return "add a little to the diagonal: matrix + 1e-6 * jnp.eye(n)"
    if step.prim.name in ("triangular_solve", "lu"):
        return "use jnp.linalg.lstsq or pinv, or add a little to the diagonal"
    return ""
