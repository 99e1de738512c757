"""What the errors of `if`, `while`, `and`, `or`, `not` and `bool` say about traced values."""

import ast

from tinyjax import rewrites
from tinyjax.errors import TracerBoolConversionError
from tinyjax.user_code import careful, place, show
from tinyjax.wording import at_line, instead, make_static, whole_text


@careful
def concrete_bool(tracer):
    """The error of `if tracer:`."""
    if tracer.aval.size != 1:
        return _ambiguous(tracer)
    found = place()
    what, advice = _logic_advice(tracer, found) if found else (None, _general_logic())
    return TracerBoolConversionError(
        whole_text(
            f"Attempted boolean conversion of traced array with shape {tracer.aval.str_short()}.",
            tracer,
            what,
            advice,
            found,
        )
    )


def _ambiguous(tracer):
    """The error of `if array:`, whether its values are known or not: NumPy's."""
    kind = "an array with more than one element" if tracer.aval.size else "an empty array"
    return ValueError(
        f"The truth value of {kind} is ambiguous. Use a.any() or a.all(); for a choice element by "
        "element, jnp.where(cond, a, b)." + at_line(place())
    )


def _general_logic():
    return [
        "Write jnp.where(cond, a, b) or lax.cond(cond, f, g, x) for `if`, lax.while_loop for "
        "`while`, & | ~ for `and`, `or`, `not`."
    ]


def _logic_advice(tracer, found):
    """-> the condition's text, and the lines that say what to write."""
    logic = rewrites.Logic(found.jnp, found.lax, tracer.aval.dtype == bool, found.scope)
    if found.inside(ast.match_case):
        return None, [f"Write {found.lax}.switch(i, [f, g, h], x) for a choice by number."]
    if hasattr(found.node, "test"):  # Python blames the whole `if` where its test is just a name
        found.node, found.parents = found.node.test, (found.node, *found.parents)
    node = _whole_test(found)
    around = [n for n in (node, *found.parents) if n is not None]
    owner = next((n for n in around if getattr(n, "test", None) is node), None)
    what, new, words = show(node), None, None
    if isinstance(owner, ast.If):
        parents = found.parents[found.parents.index(owner) + 1 :]
        new = rewrites.if_statement(logic, owner, parents)
        words = f"{found.lax}.cond({_pure(logic, node)}, f, g, x), with each branch a function of x"
        if any(isinstance(s, ast.Raise) for s in owner.body):
            words = _checked(found, _pure(logic, node))
        if any(isinstance(s, (ast.Break, ast.Continue)) for s in owner.body):
            words = f"{found.lax}.while_loop(lambda s: ~({_pure(logic, node)}), body, s)"
    elif isinstance(owner, ast.IfExp):
        new = rewrites.value_of(logic, owner)
        words = f"{found.jnp}.where({_pure(logic, node)}, a, b)"
    elif isinstance(owner, ast.While):
        new = rewrites.while_statement(logic, owner)
        words = (
            f"{found.lax}.while_loop(lambda s: ..., body, s), where s holds the variables of the "
            "loop and body(s) gives their new values"
        )
    elif isinstance(owner, ast.Assert):
        words = _checked(found, _pure(logic, node))
    else:
        new = _replaced_call(logic, node)
        words = "jnp.where, jnp.logical_and, jnp.any or jnp.all of the arrays"
    text = new and rewrites.fits(new)
    advice = instead(text) if text else [f"Write {words}."]
    if what.isidentifier():
        advice += make_static(tracer, "Or, if there are few different values: ")
    return what, advice


def _checked(found, test):
    return f'{found.jax}.debug.print("{{}}", {test}), or check outside of jit'


def _pure(logic, node):
    """The condition for arrays; a word where nobody knows."""
    test = rewrites.test_of(logic, node)
    return show(test) if test is not None else "cond"


def _whole_test(found):
    """The whole condition that the failing expression is a part of."""
    node = found.node
    for parent in found.parents:
        inner = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
        if not inner and not isinstance(parent, (ast.BoolOp, ast.Compare)):
            break
        node = parent
    return node


def _replaced_call(logic, node):
    """What to write for bool(x), max(x, y), a and b."""
    new = rewrites.value_of(logic, node)
    return new if new is not None and show(new) != show(node) else None
