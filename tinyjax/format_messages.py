"""What the errors of text say that is made of traced values: jax.debug.print prints it instead."""

import ast
import re

from tinyjax import rewrites
from tinyjax.user_code import careful, place
from tinyjax.wording import instead, whole_text

GENERAL = 'A text can only be printed, when f runs: jax.debug.print("{}", x).'
OPTIONS = {"fmt", "ordered", "partitioned", "skip_format_check"}  # jax.debug.print's own
PERCENT = re.compile(r"%(?:%|s|([ +0]*\d*(?:\.\d+)?[feEgG]))")  # what str.format has, too


@careful
def cannot_format(tracer):
    """The error of f"{tracer:.2f}"."""
    found = place()
    first = f"unsupported format string passed to {type(tracer).__name__}.__format__"
    return TypeError(whole_text(first, tracer, None, format_advice(found) or [GENERAL], found))


def format_advice(found):
    """Lines: the jax.debug.print that prints the text being made; [] if it is not certain."""
    around = (found.node, *found.parents) if found else ()
    for i, node in enumerate(around):
        if isinstance(node, (ast.stmt, ast.Lambda)):
            break
        printed = printing(found, node, around[i + 1 :])
        text = printed and rewrites.fits(printed)
        if text and is_print(around[i + 1 : i + 2]):
            return instead(text)
        if text:
            return ["A text can only be printed, when the function runs:", f"    {text}"]
    return []


def is_print(parents):
    """Whether a text is all that `print(...)` prints."""
    node = parents[0] if parents else None
    named = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    return named and len(node.args) == 1 and not node.keywords


def printing(found, node, parents):
    """jax.debug.print(...) as a tree, for the node that makes a text; None for other nodes."""
    if isinstance(node, ast.JoinedStr):
        is_spec = parents and getattr(parents[0], "format_spec", None) is node
        parts = None if is_spec else template(node)
        if parts is None:
            return None
        pattern, values = parts
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and is_text(node.left):
        values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        pattern = from_percent(node.left.value, len(values))
        if pattern is None:
            return None
    elif isinstance(node, ast.Call) and is_format(node):
        if not isinstance(node.func, ast.Attribute):  # format(x, ".2f")
            pattern, values = "{:" + node.args[1].value + "}", node.args[:1]
        else:
            function = rewrites.name(f"{found.jax}.debug.print")
            return ast.Call(function, [node.func.value, *node.args], node.keywords)
    else:
        return None
    named = all(isinstance(v, ast.Name) and v.id not in OPTIONS for v in values)
    if named and isinstance(node, ast.JoinedStr):
        pattern = re.sub(r"{{|{(?=[!:}])", named_fields(values), pattern)
        keywords = {v.id: v for v in values}
        return rewrites.call(f"{found.jax}.debug.print", ast.Constant(pattern), **keywords)
    return rewrites.call(f"{found.jax}.debug.print", ast.Constant(pattern), *values)


def named_fields(values):
    """A function for re.sub: '{' becomes '{x', name after name."""
    names = iter(values)
    return lambda match: match[0] if match[0] == "{{" else "{" + next(names).id


def is_format(node):
    """Whether a call is that of `"...".format(...)` or `format(x, "...")`, of a literal text."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr == "format" and is_text(node.func.value)
    known = getattr(node.func, "id", "") == "format" and len(node.args) == 2
    return known and is_text(node.args[1])


def is_text(node):
    """Whether a tree is a literal text."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def template(text):
    """An f-string as (what str.format wants, its values); None if a format is made of values."""
    pattern, values = "", []
    for part in text.values:
        if isinstance(part, ast.Constant):
            pattern += part.value.replace("{", "{{").replace("}", "}}")
            continue
        spec = part.format_spec.values if part.format_spec else []
        if not all(map(is_text, spec)):
            return None
        kind = "" if part.conversion == -1 else "!" + chr(part.conversion)
        tail = "".join([s.value for s in spec])
        pattern += "{" + kind + (f":{tail}" if tail else "") + "}"
        values.append(part.value)
    return pattern, values


def from_percent(text, n):
    """The text of `"%.2f" % x`, with n fields, as str.format wants it; None if that is unsure."""
    fields = [m for m in PERCENT.finditer(text) if m[0] != "%%"]
    if len(fields) != n or "%" in PERCENT.sub("", text):
        return None
    text = text.replace("{", "{{").replace("}", "}}")
    return PERCENT.sub(lambda m: "%" if m[0] == "%%" else as_field(m), text)


def as_field(match):
    """'{:.2f}' for '%.2f'."""
    return "{:" + match[1] + "}" if match[1] else "{}"
