"""What a NaN means: why this operation made it."""

import numpy as np

from tinyjax.nans.code import callee, expression, inside, is_where
from tinyjax.nans.history import operand_at

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

SAFE_ROOT = "keep what is under the root away from 0: add a small number to it, or a double where"
SAFE_QUOTIENT = "choose the divisor before dividing: jnp.where around it, not around the quotient"
# What helps in principle, where no recipe for the expression has passed its trial.
PRINCIPLES = {
    **dict.fromkeys(["sqrt", "rsqrt", "norm", "std", "cbrt"], SAFE_ROOT),
    **dict.fromkeys(["/", "divide", "true_divide"], SAFE_QUOTIENT),
    **dict.fromkeys(
        ["log", "log2", "log10"],
        "keep the operand of log above 0, or compute the logarithm in another way than by log",
    ),
    **dict.fromkeys(
        ["**", "power", "pow", "float_power"],
        "keep the base above 0 before it is raised to a power that is not a whole number",
    ),
    **dict.fromkeys(
        ["exp", "exp2", "expm1"],
        "subtract the largest operand before exp, or keep the operand below the limit",
    ),
    **dict.fromkeys(
        ["arccos", "arcsin", "arctanh", "acos", "asin", "atanh"],
        "keep the operand between -1 and 1, and off the ends",
    ),
}


def values(step):
    """The operands' elements at the first bad place of a step; None where that is unclear."""
    return [operand_at(step, a) for a in step.args]


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
        empty = callee(expression(step.source)) in ("mean", "var", "std", "average", "nanmean")
        return "0 / 0 is nan" + (", the mean of no elements" if empty else "")
    if name in ("add", "sub", "add_any", "reduce_sum", "cumsum") and step.infs:
        return "inf - inf is nan"
    if name in ("triangular_solve", "lu"):
        return "the matrix is singular"
    return DOMAIN.get(name, f"{name} has no value there")


def why_inf(step):
    """A few words on why an operation makes an infinity."""
    prim, name = step.prim.name, callee(expression(step.source))
    if prim.startswith("exp") or prim in ("sinh", "cosh"):
        limit = "709" if step.outs[0].dtype == np.float64 else "88.7"
        return f"exp overflows above {limit}"
    if prim == "log":
        return "log(0) is -inf"
    if is_overflow(step):
        return f"the result is too large for {step.outs[0].dtype.name}"
    poles = {"div": "a division by 0", "integer_pow": "0 to a negative power"}
    return STEEP.get(name, poles.get(prim, ""))


def is_overflow(step):
    """Whether an infinity comes from large numbers, not from a pole of the function."""
    if step.prim.name in ("add", "sub", "add_any", "mul", "dot_general", "reduce_sum", "square"):
        return True
    found = [np.abs(v) for v in values(step) if v is not None]
    return bool(found) and min(found) > 0 and max(found) > 1e3


def derivative(step):
    """The function whose derivative a step of the forward pass belongs to, or ""."""
    name = callee(expression(step.source))
    made_by = FORWARD.get(name)
    plain_type = step.prim.name in ("convert_element_type", "broadcast_in_dim", "select_n")
    if step.phase == "backward" or made_by is None or plain_type:
        return ""
    return "" if step.prim.name in made_by else name


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
