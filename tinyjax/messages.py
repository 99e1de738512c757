"""What errors of traced values say: what happened, where, and what to write instead.

A message begins with JAX's own words. Then it names the argument that the value depends on, shows
the user's line, and rewrites it where that can be done.
"""

import ast

from tinyjax import rewrites
from tinyjax.dependence import origin
from tinyjax.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    UnexpectedTracerError,
)
from tinyjax.format_messages import cannot_format, format_advice
from tinyjax.index_messages import concrete_index, concrete_mask, concrete_slice, unhashable
from tinyjax.logic_messages import concrete_bool
from tinyjax.numpy_names import equivalent
from tinyjax.user_code import careful, place, show
from tinyjax.wording import at_line, instead, make_static, named, whole_text

__all__ = [  # what core needs of other files
    "cannot_format",
    "concrete_bool",
    "concrete_index",
    "concrete_mask",
    "concrete_slice",
    "origin",
    "unhashable",
]

# ---- numbers -------------------------------------------------------------------------------------


@careful
def concrete_scalar(tracer, kind):
    """The error of `float(tracer)` and its kin."""
    found = place()
    what, new = None, None
    if found:
        node = found.inside(ast.Call)
        ours = equivalent(found)
        if ours:
            what, new = ours
        elif node is not None:
            what, new = _array_number(found, node, kind)
    general = [f"Use jnp functions instead of `{kind}()`; x.astype({kind}) converts an array."]
    if kind in ("item", "tolist"):
        general = [f"Leave out .{kind}(): arrays can be used as they are."]
    advice = instead(new) if new else general
    if found and _wants_integer(found):
        advice = make_static(tracer, "Make it static: ") or advice
    elif not new:
        advice = format_advice(found) or (found and _numpy_update(found)) or advice
    first = (
        "Abstract tracer value encountered where concrete value is expected: traced array with "
        f"shape {tracer.aval.str_short()}\nThe problem arose with the `{kind}` function."
    )
    return ConcretizationTypeError(whole_text(first, tracer, what, advice, found))


def _array_number(found, node, kind):
    """What to write for float(x), x.item()."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == kind:
        return show(node), show(node.func.value)
    if getattr(node.func, "id", None) == kind and len(node.args) == 1:
        operand = node.args[0]
        target = ast.Attribute(operand, "astype", ast.Load())
        if isinstance(operand, ast.Constant):
            return None, None
        return show(node), show(ast.Call(target, [ast.Name(kind, ast.Load())], []))
    return show(node), None


# ---- integers ------------------------------------------------------------------------------------

SHAPES = {"zeros", "ones", "full", "empty", "arange", "eye", "reshape", "linspace", "tri", "range"}
SHAPES |= {"broadcast_to", "iota", "identity", "repeat", "tile", "split", "normal", "uniform"}


def _wants_integer(found):
    """Whether the value says how large something is."""
    for node in (found.node, *found.parents):
        if isinstance(node, ast.Call):
            word = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if word in SHAPES:
                return True
        if isinstance(node, (ast.stmt, ast.Lambda)):
            return False
    return False


@careful
def concrete_setting(value, context):
    """The error of a traced setting, such as the `axis` of jnp.sum."""
    size = [
        "Give size=n, a known number: the result then has n elements, and the rest is filled."
    ] * ("size" in context)
    advice = (
        make_static(value, "Make it static: ")
        or size
        or [
            "Make the argument static with jit(f, static_argnames=...), or compute it with NumPy "
            "outside the traced function."
        ]
    )
    first = (
        "Abstract tracer value encountered where concrete value is expected: traced array with "
        f"shape {value.aval.str_short()}\n{context}"
    )
    found = place()
    what = named(found, value) if found else None
    return ConcretizationTypeError(whole_text(first, value, what, advice, found))


# ---- arrays --------------------------------------------------------------------------------------


@careful
def concrete_array(tracer):
    """The error of `np.sin(tracer)`."""
    found = place()
    ours = equivalent(found) if found else None
    what, advice = None, None
    if ours:
        what, advice = named(found, tracer), [f"NumPy cannot see traced values. Write {ours[1]}"]
        advice[0] += f" instead of {ours[0]}."
    elif found:
        advice = _numpy_update(found)
    advice = advice or [
        "NumPy functions compute at once and cannot be traced: use the function of the same name "
        "in tinyjax.numpy, or jax.pure_callback for one that is not there."
    ]
    return TracerArrayConversionError(
        whole_text(
            "The numpy.ndarray conversion method __array__() was called on traced array with shape "
            f"{tracer.aval.str_short()}.",
            tracer,
            what,
            advice,
            found,
        )
    )


def _numpy_update(found):
    """Advice for a[i] = x and a += x, where a is NumPy's."""
    statement = found.inside(ast.Assign, ast.AugAssign)
    if statement is None:
        return None
    new = _update(statement, f"{found.jnp}.asarray")
    return new and [f"NumPy arrays cannot hold traced values. Write {new}"]


METHODS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}
METHODS |= {ast.Pow: "power"}


def _update(statement, convert=None):
    """`x = x.at[0].set(10)` for `x[0] = 10`, `x = x + y` for `x += y`, or None."""
    augmented = isinstance(statement, ast.AugAssign)
    target = statement.target if augmented else statement.targets[0]
    owner = target.value if isinstance(target, ast.Subscript) else target
    if not isinstance(owner, (ast.Name, ast.Attribute, ast.Subscript)):
        owner = ast.Name("x", ast.Load())
    array = rewrites.call(convert, owner) if convert else owner
    if not isinstance(target, ast.Subscript):
        if not augmented:
            return None
        return show(ast.Assign([target], ast.BinOp(array, statement.op, statement.value)))
    if augmented and type(statement.op) not in METHODS:
        return None
    method = METHODS[type(statement.op)] if augmented else "set"
    at = ast.Subscript(ast.Attribute(array, "at", ast.Load()), target.slice, ast.Load())
    new = ast.Call(ast.Attribute(at, method, ast.Load()), [statement.value], [])
    return show(ast.Assign([owner], new))


@careful
def container_operand(symbol, array, other, swap):
    """The error of [1, 2] + array and [0.0] * n."""
    kind = type(other).__name__
    a, b = (kind, type(array).__name__) if swap else (type(array).__name__, kind)
    first = f"unsupported operand type(s) for {symbol}: {a!r} and {b!r}."
    counts = array.shape == () and array.dtype.kind in "iu"
    if symbol != "*" or not counts or not isinstance(other, (list, tuple)):
        return TypeError(f"{first} Make the {kind} an array first, with jnp.array.")
    if hasattr(array, "npy") or array.concrete() is not None:  # its value is known
        return TypeError(f"{first} Write int(n) for the number of times that it is repeated.")
    advice = make_static(array, f"To repeat the {kind}, make the number static: ") or [
        f"A {kind} is repeated only if the number of times is known: let it be a static argument."
    ]
    advice += ["To multiply its elements: jnp.array(...) * n"]
    found = place()
    what = named(found, array) if found else None
    return TypeError(whole_text(first, array, what, advice, found))


# ---- in place ------------------------------------------------------------------------------------


@careful
def immutable(array, index, value):
    """The error of x[0] = 1."""
    found = place()
    statement = found and found.inside(ast.Assign, ast.AugAssign)
    new = None
    if statement is not None:
        new, old = _update(statement), show(statement)
    if not new:  # no source text: numbers can be shown all the same
        where = index if isinstance(index, int) else "idx"
        what = value if isinstance(value, (int, float, complex)) else "y"
        old, new = f"x[{where}] = {what}", f"x = x.at[{where}].set({what})"
    return TypeError(
        "JAX arrays are immutable and do not support in-place item assignment. Instead of "
        f"{old}, use {new}, which returns a new array." + at_line(found)
    )


@careful
def cannot_delete(array, index):
    """The error of del x[0]."""
    found = place()
    statement = found and found.inside(ast.Delete)
    old, new = "del x[0]", "x = jnp.delete(x, 0)"
    if statement is not None and isinstance(statement.targets[0], ast.Subscript):
        target = statement.targets[0]
        owner = show(target.value)
        old = show(statement)
        new = f"{owner} = {found.jnp}.delete({owner}, {show(target.slice)})"
    return AttributeError(
        f"__delitem__: JAX arrays are immutable. Instead of {old}, use {new}, which returns a new "
        "array." + at_line(found)
    )


# ---- functions -----------------------------------------------------------------------------------


@careful
def not_callable(value, name):
    """The error of jit(f(x))."""
    found = place()
    hint = f"write {name}(f)(x), not {name}(f(x))"
    node = found.node if found else None
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Call):
        inner = node.args[0]
        outer = ast.Call(node.func, [inner.func, *node.args[1:]], node.keywords)
        new = rewrites.fits(ast.Call(outer, inner.args, inner.keywords))
        hint = f"write {new} instead of {show(node)}" if new else hint
    return TypeError(
        f"Expected a callable value, got {value!r}: {name} takes a function, not its result. "
        f"If it is the result of a function, {hint}." + at_line(found)
    )


# ---- leaks ---------------------------------------------------------------------------------------


def leaked(tracer):
    """The error of a tracer that outlived its transformation."""
    return UnexpectedTracerError(
        f"Encountered an unexpected tracer. A function transformed by tinyjax had a side effect, "
        f"allowing for a reference to an intermediate value with type "
        f"{tracer.aval.str_short()} to escape the scope of the transformation.\n"
        f"{tracer.origin()}\n{_how_it_escaped(tracer)}" + at_line()
    )


def _how_it_escaped(tracer):
    if tracer.trace.alive:
        return (
            "Its transformation is still going on, so it was not saved for later. Either a "
            "custom_jvp or custom_vjp function (or its rule) has this closed-over value, whose "
            "derivative its rule cannot give: pass the value as an argument. Or another thread "
            "uses it."
        )
    return (
        "Transformed functions should not save intermediate values in globals, attributes or "
        "lists made outside: return them instead (has_aux=True in grad)."
    )


def check_backend(backend):
    """There is only one backend: RuntimeError for another."""
    if backend not in (None, "", "cpu"):
        raise RuntimeError(f"Unknown backend {backend}. Available backends are ['cpu']")
