"""The pure version of what was found, as code that can be typed."""

import ast
import re

from tinyjax.purity.lines import (
    call_on,
    called,
    header,
    names_in,
    nodes_at,
    parameter_list,
    returned,
)

_METHODS = {  # what a method does to its object -> the object that a pure function makes instead
    "append": "[*{0}, {1}]",
    "extend": "[*{0}, *{1}]",
    "insert": "[*{0}[:{1}], {2}, *{0}[{1}:]]",
    "pop": "{0}[:-1]",
    "clear": "[]",
    "reverse": "{0}[::-1]",
    "sort": "sorted({0})",
    "update": "{{**{0}, **{1}}}",
    "setdefault": "{{{1}: {2}, **{0}}}",
    "add": "{0} | {{{1}}}",
    "discard": "{0} - {{{1}}}",
    "remove": "[x for x in {0} if x != {1}]",
    "fill": "jnp.full_like({0}, {1})",
}
_LOGGING = ("debug", "info", "warning", "error", "exception", "critical")
_AT = {ast.Add: "add", ast.Mult: "multiply", ast.Div: "divide", ast.Sub: "subtract"}
# NumPy's and Python's random functions -> ours, with what they need
_DRAWS = {
    **dict.fromkeys(("normal", "randn", "standard_normal", "gauss", "normalvariate"), "normal"),
    **dict.fromkeys(("uniform", "rand", "random", "random_sample"), "uniform"),
    **dict.fromkeys(("randint", "integers", "randrange"), "randint"),
    **dict.fromkeys(("choice", "choices", "sample"), "choice"),
    **dict.fromkeys(("permutation", "shuffle"), "permutation"),
    **dict.fromkeys(("exponential", "expovariate"), "exponential"),
    **{n: n for n in ("beta", "gamma", "poisson", "binomial", "dirichlet", "laplace", "gumbel")},
}


def changed_copy(stmt, kind="ArraySpot"):
    """A statement that makes a changed copy, for one that changes; None if it is another kind.

    kind: what is changed, as the name of a class of spots.
    """
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
        return _method_call(stmt.value)
    if isinstance(stmt, ast.AugAssign):
        value = ast.unparse(ast.BinOp(stmt.target, stmt.op, stmt.value))
        if type(stmt.op) in _AT and is_index(stmt.target) and kind == "ArraySpot":
            thing, key = ast.unparse(stmt.target.value), ast.unparse(stmt.target.slice)
            return f"{thing} = {thing}.at[{key}].{_AT[type(stmt.op)]}({ast.unparse(stmt.value)})"
        return replaced(stmt.target, value, kind)
    if isinstance(stmt, (ast.Assign, ast.AnnAssign)) and stmt.value is not None:
        return replaced(target_of(stmt), ast.unparse(stmt.value), kind)
    if isinstance(stmt, ast.Delete) and isinstance(stmt.targets[0], ast.Subscript):
        d, key = ast.unparse(stmt.targets[0].value), ast.unparse(stmt.targets[0].slice)
        copy = f"{{k: v for k, v in {d}.items() if k != {key}}}"
        return replaced(stmt.targets[0].value, copy)
    return None


def target_of(stmt):
    """What a statement assigns to; None if it does not."""
    return getattr(stmt, "target", None) or next(iter(getattr(stmt, "targets", ())), None)


def is_index(node):
    """Whether an expression is x[...] with an index, not with a key."""
    if not isinstance(node, ast.Subscript):
        return False
    return not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str))


def replaced(target, value, kind=""):
    """For `target = value`: new things instead, from the inside to the outside."""
    if isinstance(target, ast.Name):
        return f"{target.id} = {value}"
    thing = ast.unparse(target.value) if hasattr(target, "value") else ""
    if isinstance(target, ast.Attribute):
        return replaced(target.value, f"dataclasses.replace({thing}, {target.attr}={value})")
    key = ast.unparse(target.slice) if isinstance(target, ast.Subscript) else ""
    if is_index(target) and kind == "SequenceSpot" and key.isdecimal():
        return replaced(target.value, f"[*{thing}[:{key}], {value}, *{thing}[{int(key) + 1}:]]")
    if is_index(target) and kind != "DictSpot":
        return replaced(target.value, f"{thing}.at[{key}].set({value})")
    if isinstance(target, ast.Subscript):
        return replaced(target.value, f"{{**{thing}, {key}: {value}}}")
    return None


def _method_call(call):
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _METHODS:
        return None
    thing, args = ast.unparse(call.func.value), [ast.unparse(a) for a in call.args]
    name = call.func.attr
    if name == "update" and call.keywords:
        args = ["dict(" + ", ".join(map(ast.unparse, call.keywords)) + ")"]
    try:
        return replaced(call.func.value, _METHODS[name].format(thing, *args))
    except IndexError:  # called with fewer arguments than such a method takes
        return None


# ---- by kind -------------------------------------------------------------------------------------


def as_argument(code, variable):
    """For a variable that is read: hand it in."""
    name = variable.rpartition(".")[2].partition("[")[0]
    call = called(code, [re.sub(r"^self\b", "model", variable.partition("[")[0])])
    if code.co_name == "<lambda>":
        return f"f = lambda {', '.join([*parameter_list(code), name])}: {returned(code)}\n{call}"
    return f"{header(code, [name])}\n    ...\n{call}"


def returned_too(code, stmt, variable):
    """For a variable that is written: take it in, if it is read, and return the new one."""
    name = variable.rpartition(".")[2]
    if isinstance(target_of(stmt), ast.Attribute):
        return attribute_write(code, stmt, target_of(stmt))
    new = changed_copy(stmt) or f"{name} = ..."
    reads = isinstance(stmt, ast.AugAssign) or new.endswith("...")
    reads = reads or name in names_in(getattr(stmt, "value", stmt))
    lines = [header(code, [name] if reads else []), f"    {new}"]
    lines.append(f"    return {returned(code)}, {name}")
    return "\n".join([*lines, f"y, {variable} = {called(code, [variable] if reads else [])}"])


def mutation(code, stmt, variable, kind):
    """For a thing that is changed in place: make a changed copy and return it."""
    dotted = variable.partition("[")[0]
    if isinstance(target_of(stmt), ast.Attribute):
        return attribute_write(code, stmt, target_of(stmt))
    name, new = dotted.rpartition(".")[2], changed_copy(stmt, kind)
    if new and "." in dotted:  # self.items = ...: an attribute becomes a variable
        new = re.sub(r"^\w+ = dataclasses\.replace\(\w+, (\w+)=(.*)\)$", r"\1 = \2", new)
        new = named(new, dotted, name)
    elif new:  # in a function that got the thing, it may have another name
        name = new.partition(" =")[0]
    extra = [] if name in code.co_varnames else [name]
    new = new or f"{name} = ...  # a changed copy"
    lines = [header(code, extra)] if extra else []
    indent = "    " if extra else ""
    lines += [f"{indent}{new}", f"{indent}return {named(returned(code), dotted, name)}, {name}"]
    outside = re.sub(r"^self\b", "model", dotted) if "." in dotted else name
    return "\n".join([*lines, f"y, {outside} = {called(code, [outside] if extra else [])}"])


def named(text, old, new):
    """A text with one name instead of another."""
    return re.sub(rf"(?<![\w.]){re.escape(old)}(?!\w)", new, text)


def attribute_write(code, stmt, target):
    """For self.w = value: return the value, and let the caller keep it."""
    value, thing, call = stmt.value, ast.unparse(target), called(code)
    if isinstance(stmt, ast.AugAssign):
        value = ast.BinOp(stmt.target, stmt.op, stmt.value)
    name = thing.rpartition(".")[2]
    result = named(returned(code), thing, name)
    lines = [f"{name} = {ast.unparse(value)}", f"return {result}, {name}"]
    if thing.startswith("self."):
        thing = thing.replace("self", "model", 1)
    return "\n".join([*lines, f"y, {thing} = {call}"])


def base_name_of(path):
    """'params' for "params['w'][0]"."""
    return path.partition("[")[0].partition(".")[0]


def leak(code, stmt, variable, outermost):
    """For a traced value that is put somewhere: return it.

    outermost: whether it is the checked function itself that does it, whose call can be shown.
    """
    target, value, after = target_of(stmt), variable, f"{variable} = kept"
    if isinstance(target, (ast.Name, ast.Attribute)) and outermost:
        return attribute_write(code, stmt, target)
    if isinstance(stmt, ast.Assign):
        value, after = ast.unparse(stmt.value), f"{ast.unparse(target)} = kept"
    elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and stmt.value.args:
        args = [ast.unparse(a) for a in stmt.value.args]
        value = args[-1]
        after = f"{ast.unparse(stmt.value.func)}({', '.join([*args[:-1], 'kept'])})"
    lines = [f"return {returned(code)}, {value}"]
    if outermost:
        after = re.sub(r"^self\b", "model", after)
        lines += [f"y, kept = {called(code)}", f"{after}  # outside of {code.co_name}"]
    return "\n".join(lines)


def draw(source):
    """For hidden randomness: a key."""
    code, ours, shape = source.code, "uniform", "shape"
    for node in [n for n in nodes_at(source) if isinstance(n, ast.Call)]:
        last = ast.unparse(node.func).rpartition(".")[2]
        if last in _DRAWS:
            ours, shape = _DRAWS[last], _shape(node, last)
    extra = {"randint": f"key, {shape}, low, high", "choice": "key, a", "permutation": "key, x"}
    call = f"jax.random.{ours}({extra.get(ours, f'key, {shape}')})"
    return (
        f"{header(code, ['key'])}\n    ... {call}\n"
        f"key, subkey = jax.random.split(key)  # key = jax.random.key(0) at the start\n"
        f"{called(code, ['subkey'])}"
    )


def _shape(call, name):
    """The shape that is drawn, as text."""
    for keyword in call.keywords:
        if keyword.arg == "size":
            text = ast.unparse(keyword.value)
            return f"({text},)" if isinstance(keyword.value, ast.Constant) else text
    if name in ("rand", "randn", "random", "standard_normal") and call.args:
        args = [ast.unparse(a) for a in call.args]
        if len(args) == 1 and isinstance(call.args[0], ast.Tuple):
            return args[0]
        return f"({args[0]},)" if len(args) == 1 else f"({', '.join(args)})"
    return "()"


def effect(kind, name, source):
    """For I/O, time and the like."""
    code = source.code
    call = call_on(source, name)
    if name == "open" and call is not None and len(call.args) > 1:
        mode = ast.unparse(call.args[1])
        if any(letter in mode for letter in "wax"):
            return f"y = {called(code)}\nwith {ast.unparse(call)} as file:  # after\n    ..."
    if name == "print":
        return printing(call)
    if kind == "time" and name.startswith("time."):
        clock = "perf_counter" if "sleep" in name else name.partition(".")[2]
        return (
            f"start = time.{clock}()\n"
            f"y = jax.block_until_ready({called(code)})\n"
            f"print(time.{clock}() - start)  # outside of {code.co_name}"
        )
    if kind == "time":
        return f"{header(code, ['now'])}\n    ...\n{called(code, [f'{name}()'])}"
    if kind == "entropy":
        return draw(source)
    text = ast.unparse(call) if call is not None else f"{name}(...)"
    if kind == "I/O" and call is not None and name.rpartition(".")[2] in _LOGGING:
        args = ", ".join([name, *map(ast.unparse, call.args)])
        return f"jax.debug.callback({args})"
    text = text if len(text) < 60 else f"{name}(...)"
    if name.endswith(("write", "writelines")) and call is not None and call.args:
        written = ast.unparse(call.args[0])
        after = f"{ast.unparse(call.func)}(text)  # outside of {code.co_name}"
        return f"return {returned(code)}, {written}\ny, text = {called(code)}\n{after}"
    value = "value" if name in ("input", "open") or "read" in name or "load" in name else None
    if value:
        call = called(code, ["value"])
        return f"value = {text}  # before\n{header(code, ['value'])}\n    ...\n{call}"
    return f"y = {called(code)}\n{text}  # after"


def printing(call):
    """print(...) as jax.debug.print(...)."""
    if call is None or not call.args:
        return 'jax.debug.print("x = {}", x)'
    words, values = [], []
    for arg in call.args:
        if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
            words.append(arg.value.replace("{", "{{").replace("}", "}}"))
        elif isinstance(arg, ast.JoinedStr):
            for part in arg.values:
                if isinstance(part, ast.FormattedValue):
                    values.append(ast.unparse(part.value))
            words.append(
                "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in arg.values)
            )
        else:
            words.append("{}")
            values.append(ast.unparse(arg))
    text = '"' + " ".join(words).replace('"', '\\"').replace("\n", "\\n") + '"'
    return f"jax.debug.print({', '.join([text, *values])})"
