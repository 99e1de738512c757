"""The pure version of what reads or changes state, as code that can be typed.

Code is given only where it is sure to be right; otherwise the principle, as a comment in words.
What `...` stands for stays as it was.
"""

import ast
import re
from types import CodeType
from typing import NamedTuple

import numpy as np

from tinyjax.array import Array
from tinyjax.core import Tracer
from tinyjax.purity.code import is_a
from tinyjax.purity.lines import (
    base_name,
    called,
    definition,
    header,
    names_in,
    own_nodes,
    parameter_list,
    parameters,
    returned,
    statement,
    stored,
)
from tinyjax.purity.spots import MISSING, attributes
from tinyjax.source import Source

_METHODS = {  # what a method does to an object of a type -> what a pure function makes instead
    (list, "append", 1): "[*{0}, {1}]",
    (list, "extend", 1): "[*{0}, *{1}]",
    (list, "pop", 0): "{0}[:-1]",
    (list, "clear", 0): "[]",
    (list, "reverse", 0): "{0}[::-1]",
    (list, "sort", 0): "sorted({0})",
    (dict, "update", 1): "{{**{0}, **{1}}}",
    (dict, "setdefault", 2): "{{{1}: {2}, **{0}}}",
    (dict, "pop", 1): "{{k: v for k, v in {0}.items() if k != {1}}}",
    (dict, "clear", 0): "{{}}",
    (set, "add", 1): "{0} | {{{1}}}",
    (set, "discard", 1): "{0} - {{{1}}}",
    (set, "clear", 0): "set()",
    (np.ndarray, "fill", 1): "jnp.full_like({0}, {1})",
}
_AT = {ast.Add: "add", ast.Mult: "multiply", ast.Div: "divide", ast.Sub: "subtract"}


class Place(NamedTuple):
    """Where something happens, and what is known there."""

    code: CodeType
    source: Source
    values: dict  # the variables when the line ran first
    direct: bool  # whether the caller calls this very function, under the name that it has
    root: bool  # whether it is the function that was asked about, perhaps a method, perhaps wrapped


def in_words(text):
    """Advice that is no code."""
    return f"# {text}"


# ---- expressions ---------------------------------------------------------------------------------


def resolve(node, values):
    """What an expression of names, attributes and keys stands for, without running the user's code;
    MISSING if that is not sure."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return values.get(node.id, MISSING)
    if isinstance(node, ast.Attribute):
        return attributes(resolve(node.value, values)).get(node.attr, MISSING)
    if isinstance(node, ast.Subscript):
        thing, key = resolve(node.value, values), resolve(node.slice, values)
        if type(thing) in (list, tuple, dict) and type(key) in (int, str):
            try:
                return thing[key]
            except (KeyError, IndexError, TypeError):
                return MISSING
    return MISSING


def changed_copy(stmt, values):
    """`name = a changed copy` for a statement that changes what a name stands for; or None."""
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
        return _method_call(stmt.value, values)
    if isinstance(stmt, ast.AugAssign):
        at = _AT.get(type(stmt.op))
        if at and isinstance(stmt.target, ast.Subscript):
            thing, key = ast.unparse(stmt.target.value), ast.unparse(stmt.target.slice)
            if is_a(resolve(stmt.target.value, values), (np.ndarray, Array, Tracer)):
                value = f"jnp.asarray({thing}).at[{key}].{at}({ast.unparse(stmt.value)})"
                return replaced(stmt.target.value, value, values)
        value = combined(stmt, values)
        if value is None:
            return None
        return replaced(stmt.target, value, values)
    if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
        return replaced(stmt.targets[0], ast.unparse(stmt.value), values)
    if isinstance(stmt, ast.Delete) and len(stmt.targets) == 1:
        target = stmt.targets[0]
        if isinstance(target, ast.Subscript) and type(resolve(target.value, values)) is dict:
            d, key = ast.unparse(target.value), ast.unparse(target.slice)
            copy = f"{{k: v for k, v in {d}.items() if k != {key}}}"
            return replaced(target.value, copy, values)
    return None


def combined(stmt, values):
    """The new value of `target op= value`; None if that is not target op value."""
    kind = type(resolve(stmt.target, values))
    thing, value = ast.unparse(stmt.target), ast.unparse(stmt.value)
    if kind is list:  # which takes any iterable
        return f"[*{thing}, *{value}]" if isinstance(stmt.op, ast.Add) else None
    if kind is dict:
        return f"{{**{thing}, **dict({value})}}" if isinstance(stmt.op, ast.BitOr) else None
    return ast.unparse(ast.BinOp(stmt.target, stmt.op, stmt.value))


def replaced(target, value, values):
    """For `target = value`: new things instead, from the inside to the outside; or None."""
    if isinstance(target, ast.Name):
        return f"{target.id} = {value}"
    if not isinstance(target, ast.Subscript):
        return None
    thing, key = ast.unparse(target.value), ast.unparse(target.slice)
    kind = type(resolve(target.value, values))
    if kind is list and key.isdecimal():
        return replaced(
            target.value, f"[*{thing}[:{key}], {value}, *{thing}[{int(key) + 1}:]]", values
        )
    if issubclass(kind, (np.ndarray, Array, Tracer)):
        return replaced(target.value, f"jnp.asarray({thing}).at[{key}].set({value})", values)
    if kind is dict and not isinstance(target.slice, ast.Slice):
        return replaced(target.value, f"{{**{thing}, {key}: {value}}}", values)
    return None


def _method_call(call, values):
    if not isinstance(call.func, ast.Attribute):
        return None
    kind = type(resolve(call.func.value, values))
    thing, args = ast.unparse(call.func.value), [ast.unparse(a) for a in call.args]
    name = call.func.attr
    if kind is dict and name == "update" and call.keywords and not args:
        args = ["dict(" + ", ".join(map(ast.unparse, call.keywords)) + ")"]
    elif call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    form = _METHODS.get((kind, name, len(args)))
    return replaced(call.func.value, form.format(thing, *args), values) if form else None


def named(text, old, new):
    """A text with one name instead of another."""
    return re.sub(rf"(?<![\w.]){re.escape(old)}(?!\w)", new, text)


# ---- functions -----------------------------------------------------------------------------------


def body_of(code):
    """The statements of a function that ends in its only return of a value; None for others."""
    node = definition(code)
    if not isinstance(node, ast.FunctionDef) or returned(code) == "...":
        return None
    returns = [n for n in own_nodes(node) if isinstance(n, ast.Return)]
    return node.body if returns == [node.body[-1]] else None


def written_out(place, stmt, new, name, extra):
    """The function with a statement replaced, and the name returned, too; and its call."""
    body, result = body_of(place.code), returned(place.code)
    if name in parameters(place.code):  # the head stays as it is
        return f"{new}\nreturn {result}, {name}\ny, {name} = {called(place.code)}"
    quiet = (ast.Global, ast.Nonlocal, ast.Return)
    others = [s for s in body if s is not stmt and not isinstance(s, quiet) and not is_text(s)]
    before = [s for s in others if s.lineno < stmt.lineno]
    lines = [header(place.code, extra), *(["    ..."] if before else []), f"    {new}"]
    lines += ["    ..."] if len(before) < len(others) else []
    lines.append(f"    return {result}, {name}")
    return "\n".join([*lines, f"y, {name} = {called(place.code, extra)}"])


def is_text(stmt):
    """Whether a statement is a docstring."""
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def as_argument(place, variable):
    """For a variable that is read: hand it in."""
    name, code = variable.partition("[")[0], place.code
    if "." in name or not place.direct or not name.isidentifier():
        function = "the lambda" if code.co_name == "<lambda>" else code.co_name
        return in_words(f"Make `{name}` an argument of {function}.")
    if code.co_name == "<lambda>":
        if returned(code) == "...":
            return in_words(f"Make `{name}` an argument of the lambda.")
        extra = ", ".join([*parameter_list(code), name])
        return f"f = lambda {extra}: {returned(code)}\n{called(code, [name])}"
    return f"{header(code, [name])}\n    ...\n{called(code, [name])}"


def changed(place, variable, root):
    """For what is written or changed in place: take it in, make a changed copy, and return it."""
    dotted = variable.partition("[")[0]
    words = in_words(f"Take `{dotted}` as an argument, and return a changed copy of it.")
    if root in ("argument", "object") and place.root:
        words = in_words(
            f"Return a changed copy of `{dotted}` instead, and let the caller keep it."
        )
    if root == "default":
        words = f"Let `{dotted}` be None by default; make a new one in the function and return it."
        return in_words(words)
    if not place.root and place.code.co_name[0] != "<":
        who = place.code.co_name
        words = in_words(f"Let {who} take `{dotted}` as an argument, and return a changed copy.")
    name, body = dotted, body_of(place.code)
    stmt = statement(place.source, base_name_of(dotted))
    if stmt is None or body is None or stmt not in body:
        return words
    target = getattr(stmt, "target", None) or next(iter(getattr(stmt, "targets", ())), None)
    if isinstance(target, ast.Attribute) and place.root:
        return attribute_write(place, stmt, target) or words
    new = changed_copy(stmt, place.values) if "." not in dotted and place.direct else None
    if not new or new.partition(" =")[0] != name:
        return words
    known = name in parameters(place.code)
    reads = isinstance(stmt, ast.AugAssign) or not isinstance(target, ast.Name)
    reads = reads or name in names_in(stmt.value) or name in used_before(body, stmt)
    return written_out(place, stmt, new, name, [name] if reads and not known else [])


def used_before(body, stmt):
    """The names in the statements before one."""
    return {name for s in body[: body.index(stmt)] for name in names_in(s)}


def attribute_write(place, stmt, target):
    """For self.w = value: return the value, and let the caller keep it; or None."""
    if not isinstance(target.value, ast.Name) or not isinstance(stmt, (ast.Assign, ast.AugAssign)):
        return None
    code, body, value, thing = place.code, body_of(place.code), stmt.value, ast.unparse(target)
    if isinstance(stmt, ast.AugAssign):
        value = ast.BinOp(target, stmt.op, stmt.value)
    name, later = target.attr, body[body.index(stmt) + 1 : -1]
    taken = name in {*names_in(definition(code)), *parameters(code)}
    if taken or any(thing in ast.unparse(s) for s in later):
        return None
    result = named(returned(code), thing, name)
    lines = [f"{name} = {ast.unparse(value)}", f"return {result}, {name}"]
    if not place.direct:
        return "\n".join([*lines, in_words(f"and the caller keeps it in `{thing}`")])
    return "\n".join([*lines, f"y, {thing} = {called(code)}"])


def one_of_many(text, is_draw):
    """The part of a rewrite that is right beside others: the new statement, the rest in words."""
    if is_draw:
        words = "Take a key, split it, and draw each of the random numbers from a key of its own."
        return in_words(words)
    lines = [line.strip() for line in text.splitlines()]
    end = next((i for i, line in enumerate(lines) if line.startswith("return ")), 0)
    kept = [line for line in lines[:end] if line != "..." and not line.startswith("def ")]
    taken = lines[0].startswith("def ")
    words = "Return it" if kept else "Return the value"
    words = "Take it as an argument, and return it" if taken else words
    return "\n".join([*kept, in_words(f"{words} together with all else that is changed.")])


def base_name_of(path):
    """'params' for "params['w'][0]"."""
    return path.partition("[")[0].partition(".")[0]


def leak(place, variable, root):
    """For a traced value that is put somewhere: return it."""
    code, name = place.code, base_name_of(variable)
    stmt, body = statement(place.source, name), body_of(code)
    words = "Return the value, and let the caller keep it."
    if not place.root and code.co_name[0] != "<":
        words = f"Return the value from {code.co_name} (from a loop: as part of what it carries)."
    elif stmt is not None and body is not None and stmt not in body:
        words = "Collect such values in a list of the function's own, and return that."
    if stmt is None or body is None or stmt not in body or not place.root:
        return in_words(words)
    target = getattr(stmt, "target", None) or next(iter(getattr(stmt, "targets", ())), None)
    if isinstance(target, (ast.Name, ast.Attribute)):
        return changed(place, variable, root)
    later = {name for s in body[body.index(stmt) + 1 :] for name in stored(s)}
    pair = kept_value(stmt, target)
    if pair is None or not place.direct or root not in ("global", "closure"):
        return in_words(words)
    value, after = pair
    if later & names_in(ast.parse(value)) or names_in(ast.parse(after)) - {name, "kept"}:
        return in_words(words)
    lines = [f"return {returned(code)}, {value}", f"y, kept = {called(code)}"]
    return "\n".join([*lines, f"{after}  # outside of {code.co_name}"])


def kept_value(stmt, target):
    """-> (the value that a statement keeps, the statement that keeps `kept`); or None."""
    if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1 and base_name(target):
        return ast.unparse(stmt.value), f"{ast.unparse(target)} = kept"
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    method = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr
    known = method in ("append", "add", "appendleft")
    if known and len(call.args) == 1 and not call.keywords:
        return ast.unparse(call.args[0]), f"{ast.unparse(call.func)}(kept)"
    return None
