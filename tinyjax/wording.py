"""Parts that messages are made of: the sentence, the user's line, advice."""

import ast

from tinyjax.dependence import arguments_of, could_be_static, explain
from tinyjax.source import here
from tinyjax.user_code import quote


def whole_text(first, tracer, what, advice, found):
    """The lines of a message."""
    source = found.source if found else here()
    sentence = explain(tracer, f"`{what}`" if what else "This value")
    return "\n".join([first, sentence, *quote(source), *advice])


def named(found, tracer):
    """The user's name of a traced value, somewhere in the expression that failed."""
    for node in ast.walk(found.node):
        if isinstance(node, ast.Name) and found.scope.get(node.id) is tracer:
            return node.id
    return None


def instead(new):
    """Advice: the line to write."""
    return ["Write instead:", f"    {new}"]


def make_static(tracer, why=""):
    """Advice: the arguments that could be static, if there are any; a list of at most one line."""
    if not could_be_static(tracer):
        return []
    names, function = arguments_of(tracer)
    which = f'"{names[0]}"' if len(names) == 1 else str(tuple(names)).replace("'", '"')
    label = "f" if function == "<lambda>" else function
    return [f"{why}jit({label}, static_argnames={which})"]


def at_line(found=None):
    return "".join(["\n" + line for line in quote(found.source if found else here())])
