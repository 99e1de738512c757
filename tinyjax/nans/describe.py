"""The words of a report on a NaN: a few short lines, the fix at the end."""

import numpy as np

from tinyjax.nans.causes import derivative, untaken_branch, values, why_inf, why_nan
from tinyjax.nans.code import expression, text
from tinyjax.nans.fixes import advice, fix
from tinyjax.nans.guard import safely
from tinyjax.nans.history import PRODUCTS

SMALL = 6  # arrays of so many elements are printed
WIDE = 88  # longer lines are cut to the expression that matters


def number(x):
    """An element as text."""
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return str(x[()])
    short = f"{x:.6g}"
    return short if any(c in short for c in ".en") else short + ".0"


def shown(x, value):
    """An operand: the element that matters, the whole of a small array, or its type."""
    if value is not None:
        return number(value)
    if x.size <= SMALL and x.dtype.kind in "fciub":
        return " ".join(np.array2string(np.asarray(x.npy), precision=4, separator=", ").split())
    return x.aval.str_short(short_dtypes=True)


def call(step, word):
    """`div(0.0, 0.0)`: an operation on the operands that belong to its first bad result."""
    found = ", ".join(shown(a, v) for a, v in zip(step.args, values(step)))
    return f"{step.prim}({found})"


def operation(step, word):
    """`div(0.0, 0.0) = nan`; for arrays with the place and the equation."""
    out, where = step.index(word)
    result = f"{call(step, word)} = {number(out.npy[where])}"
    if not out.shape:
        return result
    types = [a.aval.str_short(short_dtypes=True) for a in (out, *step.args)]
    place = ", ".join(map(str, where))
    return f"{result} at index [{place}]  ({types[0]} = {step.prim} {' '.join(types[1:])})"


def at(step):
    """Where a step stands, with the line if there is one."""
    if step.source is None:
        return "an unknown place"
    line = step.source.text
    if len(line) > WIDE:
        node = expression(step.source)
        line = text(node) if node is not None else line[: WIDE - 3] + "..."
    return f"{step.source}: {line}" if line else str(step.source)


def from_outside(step, word):
    """The lines on an argument, a constant or an unknown array that is bad from the start."""
    where = step.index(word)[1]
    place = f"[{', '.join(map(str, where))}]" if where else ""
    kind = "NaN" if word == "nan" else "inf"
    if step.name:
        return [
            f"{kind} in the input: {step.name}{place} is {kind} before anything is computed.",
            "fix: look at where this argument is made; jnp.nan_to_num(x) replaces NaN and inf.",
        ]
    what = f"element {place} of an operand" if place else "an operand"
    return [
        f"{kind} in a constant or an array from outside: {what} is {kind} already.",
        f"used at {at(step)}",
        f"fix: find where this array is made (jnp.is{word}(x).any()); jnp.nan_to_num(x) replaces "
        "NaN and inf.",
    ]


def infinities(step):
    """A line on where the infinity comes from that became a NaN."""
    if not step.infs:
        return []
    made = step.infs[0]
    if made.prim is None:
        if made.name:
            return [f"inf was in the argument {made.name}"]
        return [f"inf was in a constant, used at {at(made)}"]
    reason = why_inf(made)
    line = f"inf was made by {call(made, 'inf')}"
    if not (made.source and step.source and made.source.line == step.source.line):
        line += f" at {at(made)}"
    return [line + (f": {reason}" if reason else "")]


def why(step):
    """A line on the cause."""
    reason = why_nan(step)
    branch = untaken_branch(step)
    if branch is None:
        if step.untaken is not None and step.prim.name in PRODUCTS:
            reason += "; the 0 is the cotangent of a branch that was not taken"
        return [f"why: {reason}"]
    node, number_, _ = branch
    condition, taken = text(node.args[0]), number_ == 2
    zero = "and" if step.prim.name in PRODUCTS else "but 0 * nan is nan:"
    return [
        f"why: `{condition}` is {taken} there, so `{text(node.func)}` did not take "
        f"`{text(node.args[number_])}`: its cotangent is 0, {zero} {reason}"
    ]


def in_general(step, word="nan", note="", batch=None, first=True):
    """The lines of a report when the cause could not be worked out."""
    lines = [note] if note else []
    if first:
        lines.append(f"NaN made by `{step.prim}`" if step.prim else "NaN from outside")
    lines.append(f"at {step.source}" if step.source else "at an unknown place")
    return [*lines, "why: an operand is infinite, or outside of where the function has a value"]


@safely(in_general)
def describe(step, word="nan", note="", batch=None, first=True):
    """The lines of a report on the step that made a NaN (or, word="inf", an infinity).

    first: with the line that says so (an error has said it already).
    """
    lines = [note] if note else []
    if step.prim is None:
        return lines + from_outside(step, word)
    loops = "".join(f", {loop}" for loop in reversed(step.loops))
    loops += f", batch element {batch}" if batch is not None else ""
    if first:
        part, rule = derivative(step), step.is_rule
        place = f"{'backward' if rule else step.phase} pass"
        place += " (a rule of custom_vjp)" if rule else f" (the derivative of {part})" * bool(part)
        lines.append(f"NaN made by `{step.prim}` in the {place}{loops}")
    place = at(step)
    if not first:
        place += (
            ", in the backward pass" if step.phase == "backward" or step.is_rule else ""
        ) + loops
    lines += [f"at {place}", operation(step, word)]
    if word == "inf":
        reason = why_inf(step)
        return lines + ([f"why: {reason}"] if reason else [])
    lines += infinities(step) + why(step)
    recipe, _ = fix(step)
    if len(recipe) == 1 and not first:  # an error is short
        return [*lines, f"fix: {recipe[0]}"]
    if recipe:
        return [*lines, "fix:", *[f"  {line}" for line in recipe]]
    hint = advice(step)
    return lines + ([f"fix: {hint}"] if hint else [])
