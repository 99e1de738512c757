"""What to write instead of an expression that makes a NaN, with the user's own names."""

import ast
import functools

from tinyjax.nans.causes import PRINCIPLES, SAFE_ROOT, is_overflow, untaken_branch
from tinyjax.nans.code import (
    callee,
    dangerous,
    double_where,
    double_wheres_of_names,
    expression,
    is_where,
    operands,
    prefix,
    replaced,
    safe_name,
    text,
)
from tinyjax.nans.guard import safely
from tinyjax.nans.patterns import is_call, stable_forms
from tinyjax.nans.trial import passes

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


def fixes_of_log(node):
    """log: never at 0; a product with it is xlogy. Also: what is replaced."""
    first, parent = operands(node)[0], getattr(node, "parent", None)
    where = f"{prefix(node)}.where"
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult) and callee(node) == "log":
        other = parent.left if parent.right is node else parent.right
        if text(other) == text(first):  # x * log(x), whose derivative at 0 is infinite, too
            safe = f"safe = {where}({text(first)} > 0, {text(first)}, 1.0)"
            product = text(replaced(parent, first))
            yield [safe, f"{where}({text(first)} > 0, {product}, 0.0)"], parent
        xlogy = f"xlogy({text(other)}, {text(first)})"
        yield ["from tinyjax.scipy.special import xlogy", xlogy], parent
        if isinstance(other, ast.Name) and text(other) != text(first):
            name = text(other)
            safe = f"safe = {where}({name} > 0, {name}, 1.0)"
            if name in text(first):
                product = f"{name} * {text(replaced(node, other, 'safe', everywhere=True))}"
                yield [safe, f"{where}({name} > 0, {product}, 0.0)"], parent
    yield [text_with(node, f"{prefix(node)}.maximum({text(first)}, 1e-6)")], node


def text_with(node, operand):
    """An expression with another first operand."""
    return text(replaced(node, operands(node)[0], operand))


def fixes_of_division(node, step):
    """x / y, by a root, a standard deviation or a number. Also: what is replaced.

    It is the operand of the root that must be safe: the derivative of the root is infinite at 0,
    whatever becomes of the quotient.
    """
    divisor = operands(node)[1]
    for root in roots_of(divisor, step):
        first, more = text(operands(root)[0]), kept(root)
        if callee(root) == "std":
            yield [f"jnp.sqrt({call_of('var', root, first, keywords=more)} + 1e-6)"], root
        elif callee(root) == "norm":
            yield [f"jnp.sqrt({squares(root)} + 1e-12)"], root
        elif is_where(getattr(node, "parent", None)):
            continue
        else:
            variance = is_call(operands(root)[0], "var")
            yield [text_with(root, f"{first} + {'1e-6' if variance else '1e-12'}")], root
    yield guarded(node, f"{text(divisor)} != 0"), node


def roots_of(divisor, step):
    """The calls of norm, std or sqrt that made a divisor, in the text or in the program."""
    found = list(ast.walk(divisor))
    for made in step.makers if step is not None else ():
        found.append(expression(made.source) if made else None)
    return [n for n in dict.fromkeys(found) if is_call(n, "std", "norm", "sqrt")]


def fix_exp(node, step):
    """exp overflows: keep its operand small."""
    return [text_with(node, f"{prefix(node)}.minimum({text(operands(node)[0])}, 80.0)")]


def fix_softmax(node, step):
    """exp that is divided by a sum of exp: subtract the largest."""
    first = text(operands(node)[0])
    axis = ", axis=-1, keepdims=True" if step.args and step.args[0].shape else ""
    note = "  # as jax.nn.softmax and log_softmax do"
    return [text_with(node, f"({first}) - {prefix(node)}.max({first}{axis})") + note]


def fixes_of(node, step=None):
    """-> for each recipe: the lines to write instead of an expression, the node they replace."""
    name, found = callee(node), operands(node)
    if not found or any(isinstance(o, ast.Starred) for o in found):
        return
    if name in ("log", "log2", "log10"):
        yield from fixes_of_log(node)
    elif name in ("/", "divide", "true_divide") and len(found) == 2:
        yield from fixes_of_division(node, step)
    elif name in RECIPES:
        yield RECIPES[name](node, step), node
        if name == "norm":  # one that is never 0, to divide by
            yield [f"jnp.sqrt({squares(node)} + 1e-12)"], node
        elif name == "sqrt":
            yield [text_with(node, f"{text(found[0])} + 1e-12")], node


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


@safely(lambda step: ([], ""))
def fix(step):
    """-> the lines that avoid a NaN, and the expression for which the last one stands.

    They have been tried on the values that made the NaN. Without a recipe that helps: no lines.
    """
    if step.recipe is None:
        step.recipe = [], ""
        step.recipe = chosen(step)
    return step.recipe


def chosen(step):
    """The first recipe that helps."""
    if step.prim is None:
        return [], ""
    for lines, node, before in candidates(step):
        trial = functools.partial(passes, step, lines, node, expression(step.source), before)
        helps = trial()
        if helps is None and step.history.run_again():
            helps = trial()
        if helps:
            return lines, text(node)
    return [], ""


def candidates(step):
    """-> (lines, the node that the last one replaces, the statements that the others replace)."""
    culprits = [*step.infs, step]
    for culprit in culprits:
        for lines, node in stable_forms(expression(culprit.source)):
            yield lines, node, ()
    branch = untaken_branch(step)
    if branch is not None:
        where, number, risky = branch
        lines = risky is not None and double_where(where, risky, number)
        if lines:
            yield lines[0], where, lines[1]
        for lines in double_wheres_of_names(where, number):
            yield lines, where, ()
    for culprit in culprits:
        for lines, node in recipes_for(step, culprit):
            yield lines, node, ()


def recipes_for(step, culprit):
    """The recipes for the expression in which an infinity or the NaN was made."""
    node = expression(culprit.source)
    if culprit.prim is None:
        yield from without_infinity(node)
    elif callee(node) == "exp" and step.prim.name == "div" and operands(node):
        yield fix_softmax(node, culprit), node
    elif node is not None and (
        callee(node) == "exp" or culprit is step or not is_overflow(culprit)
    ):
        yield from fixes_of(node, culprit)


def without_infinity(node):
    """Where a mask puts -inf: the lowest finite number does as well, and its differences exist."""
    if not is_where(node):
        return
    for operand in operands(node)[1:]:
        if text(operand) in ("-jnp.inf", "-np.inf", "-numpy.inf", "float('-inf')"):
            yield [text(replaced(node, operand, "-1e30"))], node


def advice(step):
    """What to look at where no code can be given; "" if there is nothing to say."""
    if any(s.prim is not None and is_overflow(s) and callee(expression(s.source)) != "exp"
           for s in step.infs):  # fmt: skip
        return "the numbers have grown too large: try a smaller step size, or clip the gradient"
    if step.prim.name == "cholesky":
        return "add a little to the diagonal: matrix + 1e-6 * jnp.eye(n)"
    if step.prim.name in ("triangular_solve", "lu"):
        return "use jnp.linalg.lstsq or pinv, or add a little to the diagonal"
    return principle(step)


def principle(step):
    """In words, what makes an expression safe for which no recipe has helped."""
    if untaken_branch(step) is not None:
        return (
            "give the branch that is not taken operands that do no harm there: a second where, "
            "around what goes into it (the double where)"
        )
    for culprit in [*step.infs, step]:
        node = expression(culprit.source)
        if callee(node) == "/" and list(roots_of(operands(node)[1], culprit)):
            return SAFE_ROOT
        words = PRINCIPLES.get(callee(node))
        if words:
            return words
    return ""
