"""What the errors of indices say that are traced values: of lists, of dicts, of arrays."""

import ast

from tinyjax import rewrites
from tinyjax.errors import NonConcreteBooleanIndexError, TracerIntegerConversionError
from tinyjax.user_code import careful, place, show
from tinyjax.wording import instead, make_static, named, whole_text

# ---- integers ------------------------------------------------------------------------------------


@careful
def concrete_index(tracer):
    """The error of `range(tracer)`, `[1, 2, 3][tracer]`, `jnp.zeros(tracer)`."""
    found = place()
    what, advice = _index_advice(tracer, found) if found else (None, _general_index(tracer))
    return TracerIntegerConversionError(
        whole_text(
            "The __index__() method was called on traced array with shape "
            f"{tracer.aval.str_short()}.",
            tracer,
            what,
            advice,
            found,
        )
    )


def _general_index(tracer):
    return make_static(tracer, "A size must be known: make it static with ") or [
        "Turn a list that is indexed into jnp.array(list); use lax.fori_loop for a loop; sizes "
        "must be known: give them as static arguments, jit(f, static_argnames=...)."
    ]


def _index_advice(tracer, found):
    node = found.node
    if isinstance(node, ast.Subscript):
        what = named(found, tracer) or show(node.slice)
        return what, _element_advice(found, node) + make_static(tracer, "Or make it static: ")
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range":
        inner = node.args[min(1, len(node.args) - 1)]
        return named(found, tracer) or show(inner), _range_advice(tracer, found)
    return named(found, tracer) or show(node), _general_index(tracer)


def _range_advice(tracer, found):
    """A loop of a traced number of steps."""
    advice = make_static(tracer, "Make it static: ")
    loop = found.parents[0] if found.parents else None
    if not isinstance(loop, ast.For):
        return advice or _general_index(tracer)
    logic = rewrites.Logic(found.jnp, found.lax, True, found.scope)
    text = rewrites.fits(rewrites.for_statement(logic, loop))
    if text:
        return [*advice, "Or write:" if advice else "Write instead:", f"    {text}"]
    words = "{}rite {}.fori_loop(start, stop, body, s), where s holds the loop's variables"
    words = words.format("Or w" if advice else "W", found.lax)
    counts = "; lax.while_loop where the step is not 1." if len(found.node.args) > 2 else "."
    return [*advice, words + counts]


def _element_advice(found, node):
    """What to write for a list, a tuple or a text that is indexed."""
    if isinstance(node.slice, ast.Slice):
        words = "is for arrays: where it begins may be traced, its size must be known."
        return [f"{found.lax}.dynamic_slice_in_dim(x, start, size) {words}"]
    shape = shape_of(found, node.value)
    if shape:
        array = rewrites.call(f"{found.jnp}.array", node.value)
        return instead(show(ast.Subscript(array, node.slice, ast.Load())))
    elements = getattr(node.value, "elts", [])
    if elements and all(callable(found.value(e)) for e in elements):
        return [f"Write {found.lax}.switch(i, [f, g, ...], x) to call one of several functions."]
    return [
        f"Numbers can be indexed with it as an array, {found.jnp}.array(numbers)[i]; functions can "
        f"be called by number, {found.lax}.switch(i, functions, x); a text needs a known index."
    ]


def shape_of(found, node):
    """The shape of the array that an expression of numbers makes; None if that is not certain."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return _common([shape_of(found, e) for e in node.elts])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return shape_of(found, node.operand)
    value = node.value if isinstance(node, ast.Constant) else found.value(node)
    return shape_of_value(value)


def shape_of_value(value):
    """The shape of numbers, arrays and lists of them; None for everything else."""
    if rewrites.is_number(value):
        return ()
    if isinstance(value, (list, tuple)):
        return _common(list(map(shape_of_value, value)))
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return tuple(value.shape) if kind and kind in "biufcV" else None


def _common(shapes):
    """The shape of a list of things that have the same shape."""
    if not shapes or None in shapes or len(set(shapes)) > 1:
        return None
    return (len(shapes), *shapes[0])


@careful
def unhashable(tracer):
    """The error of {0: 1}[tracer], {tracer: 1} and tracer in {1, 2}."""
    found = place()
    first = f"unhashable type: '{type(tracer).__name__}': its value is not known yet"
    if not tracer.trace.alive:
        return TypeError(first)
    advice = [
        "Dicts, sets and caches need a value. jnp.array([...])[i] finds a number by its place, "
        "lax.switch(i, [f, g], x) a function."
    ]
    what = named(found, tracer) if found else None
    if found and isinstance(found.node, ast.Subscript):
        new = _table_advice(found)
        advice = new or advice
    elif found and isinstance(found.node, ast.Compare) and len(found.node.ops) == 1:
        logic = rewrites.Logic(found.jnp, found.lax, True, found.scope)
        new = rewrites.value_of(logic, found.node)
        known = isinstance(found.node.comparators[0], ast.Set) and new is not None
        advice = instead(show(new)) if known else advice
    advice = advice + make_static(tracer, "Or make it static: ")
    return TypeError(whole_text(first, tracer, what, advice, found))


def _table_advice(found):
    """jnp.array([5, 6])[x] for {0: 5, 1: 6}[x], whose keys count from 0."""
    node, values = found.node.value, None
    table = found.value(node)
    if isinstance(node, ast.Dict):
        keys = [getattr(k, "value", None) for k in node.keys]
        values = ast.List(node.values, ast.Load())
        certain = shape_of(found, values)
    elif isinstance(table, dict):
        keys = list(table)
        values = rewrites.call("list", rewrites.call(f"{show(node)}.values"))
        certain = shape_of_value(list(table.values()))
    if values is None or not certain or keys != list(range(len(keys))):
        return None
    array = rewrites.call(f"{found.jnp}.array", values)
    return instead(show(ast.Subscript(array, found.node.slice, ast.Load())))


# ---- masks ---------------------------------------------------------------------------------------

SAME_PLACE = {"sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "abs", "square", "maximum"}
SAME_PLACE |= {"minimum", "power", "sign", "add", "subtract", "multiply", "divide"}
OPERATORS = {"add": ast.Add(), "subtract": ast.Sub(), "multiply": ast.Mult(), "divide": ast.Div()}
OPERATORS["power"] = ast.Pow()
UPDATE = (
    "Write jnp.where(mask, new, x), where `new` is computed for all elements, and where mask and "
    "new have the shape of x."
)


@careful
def concrete_mask(tracer, shape, update=None):
    """The error of x[mask], whose size depends on the mask's values.

    shape: x's. update: the values in x.at[mask].set(values).
    """
    found = place()
    whole = tracer.aval.shape == tuple(shape)
    what, advice = None, None
    if found:
        what = named(found, tracer)
        advice = _update_advice(found, whole, shape, update)
        node = found.node
        if advice is None and isinstance(node, ast.Subscript):
            what = show(node.slice)
            advice = _reading_advice(found, node) if whole else None
    advice = advice or [
        UPDATE
        if update is not None
        else "Write jnp.where(mask, x, 0) to keep the size, x.sum(where=mask) to reduce, or "
        "jnp.nonzero(mask, size=n) for a fixed number of indices."
    ]
    return NonConcreteBooleanIndexError(
        whole_text(
            f"Array boolean indices must be concrete; got {tracer.aval.str_short()}.\n"
            "The shape of x[mask] depends on the values of the mask.",
            tracer,
            what,
            advice,
            found,
        )
    )


def _reading_advice(found, node):
    """jnp.where(m, x, 0) for x[m]; x.sum(where=m) for x[m].sum()."""
    if not isinstance(node.value, (ast.Name, ast.Attribute)) or isinstance(node.slice, ast.Tuple):
        return None
    what, owner = show(node.slice), found.parents[0] if found.parents else None
    if getattr(owner, "attr", "") in ("sum", "mean", "prod", "std", "var"):
        return instead(f"{show(node.value)}.{owner.attr}(where={what})")
    kept = rewrites.call(f"{found.jnp}.where", node.slice, node.value, ast.Constant(0))
    return instead(show(kept) + "  # keeps the size")


def _update_advice(found, whole, shape, update):
    """jnp.where(m, v, x) for x.at[m].set(v), also while v is computed from x[m].

    None if the mask is not that of an update.
    """
    for node in (found.node, *found.parents):
        if isinstance(node, ast.stmt):
            return None
        parts = _parts_of_update(node)
        if parts is not None:
            break
    else:
        return None
    array, mask, method, value = parts
    if update is None:
        value = _for_all(found, value, mask, tuple(shape))
    elif tuple(update.shape) != tuple(shape):
        value = None
    if value is None or not whole or method not in {"set", *OPERATORS}:
        return [UPDATE]
    if method != "set":
        value = ast.BinOp(array, OPERATORS[method], value)
    text = rewrites.fits(rewrites.call(f"{found.jnp}.where", mask, value, array))
    return instead(text) if text else [UPDATE]


def _parts_of_update(node):
    """-> (x, m, "set", v) of x.at[m].set(v), or None."""
    function = node.func if isinstance(node, ast.Call) else None
    owner = function.value if isinstance(function, ast.Attribute) else None
    if not isinstance(owner, ast.Subscript) or getattr(owner.value, "attr", "") != "at":
        return None
    if len(node.args) != 1 or node.keywords or isinstance(owner.slice, ast.Tuple):
        return None
    return owner.value.value, owner.slice, function.attr, node.args[0]


def _for_all(found, node, mask, shape):
    """x * 2 for x[m] * 2; None unless each element depends on the one in the same place."""
    if isinstance(node, ast.Subscript) and show(node.slice) == show(mask):
        return node.value if shape_of(found, node.value) == shape else None
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        sides = [_for_all(found, side, mask, shape) for side in (node.left, node.right)]
        return None if None in sides else ast.BinOp(sides[0], node.op, sides[1])
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        operand = _for_all(found, node.operand, mask, shape)
        return operand and ast.UnaryOp(node.op, operand)
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in SAME_PLACE:
        args = [_for_all(found, arg, mask, shape) for arg in node.args]
        module = found.value(node.func.value)
        ours = getattr(module, "__name__", "") in ("tinyjax.numpy", "tinyjax.lax")
        return ast.Call(node.func, args, []) if ours and args and None not in args else None
    return node if shape_of(found, node) == () else None


# ---- slices --------------------------------------------------------------------------------------


@careful
def concrete_slice(entry, position):
    """The error of x[:n], whose size depends on n."""
    first = f"Slice entries must be static integers. Got {entry} at position {position}."
    ends = [e for e in (entry.start, entry.stop, entry.step) if hasattr(e, "trace")]
    advice = [
        "Where a slice begins may be traced, its size must be known: "
        "lax.dynamic_slice(x, start, size)."
    ]
    found = place()
    if not ends:
        return IndexError(f"{first}\n{advice[0]}")
    what = named(found, ends[0]) if found else None
    advice += make_static(ends[0], "Or make it static: ")
    return IndexError(whole_text(first, ends[0], what, advice, found))
