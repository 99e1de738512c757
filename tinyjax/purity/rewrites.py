"""The pure version of what was found, as code that can be typed."""

import ast
import re

from tinyjax.purity.lines import call_on, called, header, returned, statement

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


def base_name(node):
    """The variable at the beginning of x[0].a['b']."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def changed_copy(stmt):
    """A statement that makes a changed copy, for one that changes; None if it is another kind."""
    if isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
        return _method_call(stmt.value)
    if isinstance(stmt, ast.AugAssign):
        target, value = stmt.target, ast.unparse(stmt.value)
        if isinstance(target, ast.Name):
            return f"{target.id} = {ast.unparse(ast.BinOp(target, stmt.op, stmt.value))}"
        return _set(target, ast.unparse(ast.BinOp(target, stmt.op, stmt.value)), stmt.op, value)
    if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
        return _set(stmt.targets[0], ast.unparse(stmt.value))
    if isinstance(stmt, ast.Delete) and isinstance(stmt.targets[0], ast.Subscript):
        d, key = ast.unparse(stmt.targets[0].value), ast.unparse(stmt.targets[0].slice)
        return f"{d} = {{k: v for k, v in {d}.items() if k != {key}}}"
    return None


def _method_call(call):
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _METHODS:
        return None
    thing, args = ast.unparse(call.func.value), [ast.unparse(a) for a in call.args]
    name = call.func.attr
    if name == "update" and call.keywords:
        args = ["dict(" + ", ".join(map(ast.unparse, call.keywords)) + ")"]
    try:
        return f"{thing} = {_METHODS[name].format(thing, *args)}"
    except IndexError:
        return None


def _set(target, value, op=None, operand=""):
    """For `target = value`: what makes a copy."""
    if isinstance(target, ast.Attribute):
        thing = ast.unparse(target.value)
        return f"{thing} = dataclasses.replace({thing}, {target.attr}={value})"
    if isinstance(target, ast.Subscript):
        thing, key = ast.unparse(target.value), ast.unparse(target.slice)
        if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
            return f"{thing} = {{**{thing}, {key}: {value}}}"
        if type(op) in _AT:
            return f"{thing} = {thing}.at[{key}].{_AT[type(op)]}({operand})"
        return f"{thing} = {thing}.at[{key}].set({value})"
    return ast.unparse(target) + f" = {value}" if isinstance(target, ast.Name) else None


# ---- by kind -------------------------------------------------------------------------------------


def as_argument(code, variable):
    """For a variable that is read: hand it in."""
    name = variable.rpartition(".")[2].partition("[")[0]
    call = called(code, [re.sub(r"^self\b", "model", variable)])
    if code.co_name == "<lambda>":
        return f"f = {header(code, [name])}\n{call}"
    return f"{header(code, [name])}\n    ...\n{call}"


def returned_too(code, stmt, variable):
    """For a variable that is written: take it in, return the new one."""
    name = variable.rpartition(".")[2]
    new = changed_copy(stmt) if stmt is not None else None
    lines = [header(code, [name] if isinstance(stmt, ast.AugAssign) or not new else [])]
    lines += [f"    {new or f'{name} = ...'}", f"    return {returned(code)}, {name}"]
    extra = [variable] if isinstance(stmt, ast.AugAssign) or not new else []
    return "\n".join([*lines, f"y, {variable} = {called(code, extra)}"])


def mutation(code, stmt, variable, root):
    """For a thing that is changed in place: make a changed copy and return it."""
    name = base_name_of(variable)
    new = changed_copy(stmt) if stmt is not None else None
    if isinstance(stmt, (ast.Assign, ast.AugAssign)) and (root == "attribute" or "." in variable):
        target = stmt.targets[0] if isinstance(stmt, ast.Assign) else stmt.target
        if isinstance(target, ast.Attribute):
            return attribute_write(code, stmt, target)
    extra = [] if name in code.co_varnames else [name]
    if name == "self":
        extra, name = [variable.rpartition(".")[2]], variable.rpartition(".")[2]
        new = new and new.replace(f"self.{name}", name)
    new = new or f"{name} = ...  # a changed copy"
    lines = [header(code, extra)] if extra else []
    lines += [f"    {new}" if extra else new]
    lines += [("    " if extra else "") + f"return {returned(code)}, {name}"]
    return "\n".join([*lines, f"y, {name} = {called(code, extra)}"])


def attribute_write(code, stmt, target):
    """For self.w = value: return the value, and let the caller keep it."""
    value, thing, call = stmt.value, ast.unparse(target), called(code)
    if isinstance(stmt, ast.AugAssign):
        value = ast.BinOp(stmt.target, stmt.op, stmt.value)
    name = thing.rpartition(".")[2]
    result = re.sub(rf"(?<![\w.]){re.escape(thing)}(?![\w])", name, returned(code))
    lines = [f"{name} = {ast.unparse(value)}", f"return {result}, {name}"]
    if thing.startswith("self."):
        thing = thing.replace("self", "model", 1)
    return "\n".join([*lines, f"y, {thing} = {call}"])


def base_name_of(path):
    """'params' for "params['w'][0]"."""
    return path.partition("[")[0].partition(".")[0]


def leak(code, stmt, variable):
    """For a traced value that is put somewhere: return it."""
    value, after = None, None
    target = getattr(stmt, "target", None) or next(iter(getattr(stmt, "targets", ())), None)
    if isinstance(target, (ast.Name, ast.Attribute)):
        return attribute_write(code, stmt, target)
    if isinstance(target, ast.Subscript) and isinstance(stmt, ast.Assign):
        value, after = ast.unparse(stmt.value), f"{ast.unparse(target)} = kept"
    elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call) and stmt.value.args:
        args = [ast.unparse(a) for a in stmt.value.args]
        value = args[-1]
        after = f"{ast.unparse(stmt.value.func)}({', '.join([*args[:-1], 'kept'])})"
    value, after = value or variable, after or f"{variable} = kept"
    after = re.sub(r"^self\b", "model", after)
    return (
        f"return {returned(code)}, {value}\n"
        f"y, kept = {called(code)}\n"
        f"{after}  # outside of {code.co_name}"
    )


def draw(source, name):
    """For hidden randomness: a key."""
    code, stmt = source.code, statement(source)
    ours, shape = "normal", "shape"
    calls = [n for n in ast.walk(stmt) if isinstance(n, ast.Call)] if stmt else []
    for node in calls:
        last = ast.unparse(node.func).rpartition(".")[2]
        if last in _DRAWS:
            ours, shape = _DRAWS[last], _shape(node, last)
    extra = {"randint": f"key, {shape}, low, high", "choice": "key, a", "permutation": "key, x"}
    call = f"jax.random.{ours}({extra.get(ours, f'key, {shape}')})"
    if code.co_name == "<lambda>":
        return (
            f"def f({', '.join([*code.co_varnames[: code.co_argcount], 'key'])}):\n    ... {call}"
        )
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
        return draw(source, name)
    text = ast.unparse(call) if call is not None else f"{name}(...)"
    if name.startswith("logging.") and call is not None:
        args = ", ".join(map(ast.unparse, call.args))
        return f"jax.debug.callback({ast.unparse(call.func)}, {args})"
    text = text if len(text) < 60 else f"{name}(...)"
    if name.endswith(("write", "writelines")) and call is not None and call.args:
        written = ast.unparse(call.args[0])
        after = f"{ast.unparse(call.func)}(text)  # outside of {code.co_name}"
        return f"return {returned(code)}, {written}\ny, text = {called(code)}\n{after}"
    value = "value" if name in ("input", "open") or "read" in name or "load" in name else None
    if value and code.co_name != "<lambda>":
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
