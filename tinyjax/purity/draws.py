"""Hidden randomness, input and output, clocks: the pure version, as code if that is sure."""

import ast

from tinyjax.purity.code import is_a
from tinyjax.purity.lines import (
    call_at,
    call_on,
    called,
    definition,
    header,
    names_in,
    nodes_at,
    own_nodes,
    parameters,
    parents_of,
    statement_of,
    stored,
)
from tinyjax.purity.rewrites import in_words, resolve

_LOGGING = ("debug", "info", "warning", "error", "exception", "critical")
_MATH = ("int", "float", "str", "bool", "round", "len")

# What is drawn, by the parameters of NumPy's and of Python's functions: (name, text of ours)
_NUMPY = {
    "normal": (("loc", "scale", "size"), "{loc} + {scale} * R.normal(key, {size})"),
    "standard_normal": (("size",), "R.normal(key, {size})"),
    "uniform": (("low", "high", "size"), "R.uniform(key, {size}, minval={low}, maxval={high})"),
    "random": (("size",), "R.uniform(key, {size})"),
    "random_sample": (("size",), "R.uniform(key, {size})"),
    "randint": (("low", "high", "size"), "R.randint(key, {size}, {low}, {high})"),
    "integers": (("low", "high", "size"), "R.randint(key, {size}, {low}, {high})"),
    "exponential": (("scale", "size"), "{scale} * R.exponential(key, {size})"),
    "permutation": (("x",), "R.permutation(key, {x})"),
}
_PYTHON = {
    "random": ((), "R.uniform(key)"),
    "uniform": (("low", "high"), "R.uniform(key, minval={low}, maxval={high})"),
    "gauss": (("loc", "scale"), "{loc} + {scale} * R.normal(key)"),
    "normalvariate": (("loc", "scale"), "{loc} + {scale} * R.normal(key)"),
    "randint": (("low", "high"), "R.randint(key, (), {low}, {high} + 1)"),
    "randrange": (("low", "high"), "R.randint(key, (), {low}, {high})"),
}
_DEFAULTS = {"loc": "0.0", "low": "0.0", "high": "1.0", "scale": "1.0", "size": "()"}


def draw(place, python=False):
    """For hidden randomness: a key. python: whether it is Python's generator, not NumPy's."""
    code = place.code
    known = _PYTHON if python else _NUMPY
    exact = call_at(place.source)
    own = set(ast.walk(definition(code))) if definition(code) else ()
    calls = [n for n in nodes_at(place.source) if isinstance(n, ast.Call) and n in own]
    calls = [c for c in calls if last_name(c) in {*known, "rand", "randn"}]
    if exact is not None:
        calls = [c for c in calls if exact in ast.walk(c)]
    text = drawn(calls[0], known, place.values) if len(calls) == 1 else None
    words = in_words("Take a key as an argument, and draw with jax.random from it.")
    stmt = statement_of(place.source, calls[0]) if text else None
    if (
        stmt is None
        or not place.direct
        or "key" in names_in(definition(code)) | set(parameters(code))
    ):
        return words
    old = ast.unparse(calls[0])
    if ast.unparse(stmt).count(old) > 1:
        return words
    new = tidy(ast.unparse(stmt).replace(old, text))
    lines = [header(code, ["key"]), *around(code, stmt, new)]
    split = "key, subkey = jax.random.split(key)  # key = jax.random.key(0) at the start"
    return "\n".join([*lines, split, called(code, ["subkey"])])


def tidy(text):
    """The same code without needless parentheses."""
    return ast.unparse(ast.parse(text))


def drawn(call, known, values):
    """Our expression for a draw of NumPy or Python; None if it is not sure to be the same."""
    name, args = last_name(call), list(call.args)
    if any(isinstance(a, ast.Starred) for a in args) or any(k.arg is None for k in call.keywords):
        return None
    if name in ("rand", "randn"):
        shape = ", ".join(map(ast.unparse, args)) + ("," if len(args) == 1 else "")
        ours = {"rand": "uniform", "randn": "normal"}[name]
        return f"jax.random.{ours}(key, ({shape}))" if not call.keywords else None
    names, form = known[name]
    if len(args) > len(names) or not {k.arg for k in call.keywords} <= {*names}:
        return None
    given = {**_DEFAULTS, **dict(zip(names, map(ast.unparse, args)))}
    given |= {k.arg: ast.unparse(k.value) for k in call.keywords}
    sizes = [k.value for k in call.keywords if k.arg == "size"]
    sizes += args[names.index("size") :] if "size" in names else []
    if sizes:
        given["size"] = shape_of(sizes[0], values)
        if given["size"] is None:
            return None
    if form.startswith("R.randint"):
        if not args:
            return None
        if "high" not in {k.arg for k in call.keywords} and len(args) == 1:  # one bound: the upper
            given["low"], given["high"] = "0", given["low"]
    for part in ("loc", "scale", "high"):
        given[part] = atom(given[part])
    if "x" in names and "x" not in given:
        return None
    vague = [n for n in ("loc", "scale", "low", "high") if n in names and not number(given[n])]
    if vague and not sizes and "size" in names:
        return None  # an array there would decide the shape
    if "{high} + 1" in form and given["high"].isdecimal():
        form, given["high"] = form.replace("{high} + 1", "{high}"), str(int(given["high"]) + 1)
    for part, sign, neutral in (("loc", "+", 0), ("scale", "*", 1)):
        if number(given[part]) and float(given[part]) == neutral:
            form = form.replace(f"{{{part}}} {sign} ", "")
    text = form.format(**given).replace("R.", "jax.random.")
    text = text.replace(", minval=0.0, maxval=1.0", "")
    return text if text.startswith("jax.random.") else f"({text})"


def number(text):
    """Whether a text is a number."""
    try:
        return isinstance(ast.literal_eval(text), (int, float))
    except ValueError:
        return False


def atom(text):
    """An expression that can be a factor."""
    node = ast.parse(text, mode="eval").body
    simple = isinstance(node, (ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return text if simple else f"({text})"


def shape_of(node, values):
    """A size as a shape, (3,) for 3; None if it is not known what it is."""
    text, value = ast.unparse(node), resolve(node, values)
    if value is None:
        return "()"
    if isinstance(node, ast.Tuple) or is_a(value, tuple) or text.endswith(".shape"):
        return text
    return f"({text},)" if is_a(value, int) else None


def last_name(call):
    """'normal' for np.random.normal(...)."""
    return ast.unparse(call.func).rpartition(".")[2]


# ---- calls ---------------------------------------------------------------------------------------


def effect(kind, name, place):
    """For I/O, time and the like."""
    code, source = place.code, place.source
    call = call_at(source) or call_on(source, name)
    last = name.rpartition(".")[2]
    if name == "print":
        return printing(call)
    if kind == "time":
        return clock(name, call, place)
    if name == "id":
        return in_words("Give things names or numbers of your own.")
    if name == "set.pop":
        return in_words("Sort the set first.")
    if kind == "thread":
        return in_words("Start threads outside.")
    if kind == "entropy":
        return in_words("Take a key or a number as an argument; draw with jax.random.")
    if last in _LOGGING and call is not None and not call.keywords:
        return f"jax.debug.callback({', '.join(map(ast.unparse, [call.func, *call.args]))})"
    mode = ast.unparse(call.args[1]) if name == "open" and call and len(call.args) > 1 else ""
    if any(letter in mode for letter in "wax"):
        return in_words("Write it outside, after the call: return what is to be written.")
    if (
        name.startswith("os.environ")
        or name in ("input", "open")
        or "read" in name
        or "load" in last
    ):
        return read_before(name, call, place)
    stmt = statement_of(source, call) if call is not None else None
    local = names_in(call) & {*stored(definition(code)), *parameters(code)} if call else {"?"}
    alone = isinstance(stmt, ast.Expr) and stmt.value is call
    if alone and place.direct and not local and len(ast.unparse(call)) < 60:
        return f"y = {called(code)}\n{ast.unparse(call)}  # after"
    return in_words("Do it outside: return what is needed for it, or use jax.debug.callback.")


def read_before(name, call, place):
    """For what is read from outside: read it before the call, and hand it in."""
    words = in_words(f"Read it before, and hand the value to {place.code.co_name}.")
    if call is None or not place.direct or place.code.co_varnames.count("value"):
        return words
    whole, parent, stmt = climbed(place, call)
    local = names_in(whole) & {*stored(definition(place.code)), *parameters(place.code)}
    if local or isinstance(parent, (ast.withitem, ast.Call)):
        return words
    unfit = isinstance(whole, ast.Call) and last_name(whole) in ("open", "read", "input", "get")
    if unfit or len(ast.unparse(whole)) > 60 or stmt is None:  # no number: jit takes no text
        return words
    lines = [f"value = {ast.unparse(whole)}  # before"]
    return "\n".join([*lines, *with_value(place, whole, "value"), called(place.code, ["value"])])


def with_value(place, expression, name):
    """The function that takes a value which it computed before."""
    stmt = statement_of(place.source, expression)
    new = tidy(ast.unparse(stmt).replace(ast.unparse(expression), name))
    return [header(place.code, [name]), *around(place.code, stmt, new)]


def around(code, stmt, new):
    """The lines of a function's body, with a new statement; `...` for what stays as it was."""
    node = definition(code)
    alone = isinstance(node, ast.Lambda) or node.body == [stmt]
    lines = [] if alone else ["    ..."]
    return [*lines, f"    {new}", *([] if isinstance(stmt, ast.Return) else ["    ..."])]


def climbed(place, call):
    """-> the expression around a call that only works on its value, what is around it, and the
    statement."""
    parents, node = parents_of(place.source), call
    while True:
        parent = parents.get(node)
        attribute = isinstance(parent, ast.Attribute)
        method = isinstance(parent, ast.Call) and parent.func is node
        cast = isinstance(parent, ast.Call) and parent.args == [node] and not parent.keywords
        cast = cast and not isinstance(parent.func, ast.Subscript)
        convert = cast and ast.unparse(parent.func) in (*_MATH, "json.load", "pickle.load")
        if not (attribute or method or convert):
            return node, parent, statement_of(place.source, call)
        node = parent


def clock(name, call, place):
    """For a look at the clock: an argument, if its value is used; otherwise how to time."""
    code = place.code
    tree = definition(code)
    calls = [n for n in own_nodes(tree) if isinstance(n, ast.Call)] if tree else []
    looks = [c for c in calls if call is not None and ast.dump(c) == ast.dump(call)]
    if name == "time.sleep":
        return in_words("Wait outside, before or after the call.")
    if len(looks) > 1:
        if not place.direct:
            return in_words("Measure outside, around the call, with jax.block_until_ready.")
        text = ast.unparse(call)
        lines = [f"start = {text}", f"y = jax.block_until_ready({called(code)})"]
        return "\n".join([*lines, f"print({text} - start)  # outside of {code.co_name}"])
    whole, _, stmt = climbed(place, call) if call is not None else (None, None, None)
    number = whole is not None and (name.startswith("time.") or isinstance(whole, ast.Attribute))
    local = stmt is None or "now" in {*names_in(tree), *parameters(code)}
    text = "ctime" in name or "strftime" in name or "localtime" in name or "gmtime" in name
    if not number or local or text or not place.direct or (stmt and ast.unparse(whole) == "str"):
        return in_words("Look at the clock outside, and hand the number in as an argument.")
    return "\n".join([*with_value(place, whole, "now"), called(code, [ast.unparse(whole)])])


def printing(call):
    """print(...) as jax.debug.print(...)."""
    if call is None or call.keywords or any(isinstance(a, ast.Starred) for a in call.args):
        return in_words('Use jax.debug.print("x is {}", x).')
    words, values = [], []
    parts = [p for a in call.args if isinstance(a, ast.JoinedStr) for p in a.values]
    for part in [p for p in parts if isinstance(p, ast.FormattedValue)]:
        spec = part.format_spec.values if part.format_spec else []
        if part.conversion != -1 or not all(isinstance(p, ast.Constant) for p in spec):
            return in_words("Use jax.debug.print.")
    for arg in call.args:
        if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
            words.append(arg.value.replace("{", "{{").replace("}", "}}"))
        elif isinstance(arg, ast.JoinedStr):
            for part in arg.values:
                if isinstance(part, ast.FormattedValue):
                    values.append(ast.unparse(part.value))
            words.append("".join(map(_field, arg.values)))
        else:
            words.append("{}")
            values.append(ast.unparse(arg))
    text = " ".join(words)
    for old, new in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(old, new)
    return "jax.debug.print(" + ", ".join([f'"{text}"', *values]) + ")"


def _field(part):
    """A part of an f-string as a part of a format."""
    if isinstance(part, ast.Constant):
        return part.value.replace("{", "{{").replace("}", "}}")
    if part.format_spec is None:
        return "{}"
    spec = part.format_spec.values
    return "{:" + "".join(p.value for p in spec if isinstance(p, ast.Constant)) + "}"
