"""jvp_tape and vjp_tape: forward and reverse mode as tables."""

import numpy as np

from tinyjax.array import is_arraylike, lift
from tinyjax.tree_util import tree_leaves, tree_structure
from tinyjax.viz.canvas import INK, SIZE, SOFT, WIDTH, Canvas, called, count
from tinyjax.viz.tape import Tape, number

MARGIN = 12
LINE = 17  # height of a line of text
GAP = 4  # between rows
MIDDLE = 18  # between the program and its derivative
LEFT = 286  # the width of the program


def jvp_tape(f, primals, tangents):
    """Draw forward mode as a table: each equation with its value, beside it its tangent.

    Args:
      f: a function of arrays and pytrees.
      primals: a tuple of its arguments.
      tangents: a tuple of tangents, of the same structure.

    Returns a Picture; `facts["rows"]` are tuples (equation, values, linear equations, tangents).

    Raises TypeError for arguments that are no tuples or do not fit together.

    >>> from tinyjax import viz
    >>> picture = viz.jvp_tape(lambda x, y: x * y + y, (2.0, 3.0), (1.0, 0.0))
    >>> for equation, values, linear, tangents in picture.facts["rows"]:
    ...     print(equation, "->", float(values[0]), linear, float(tangents[0]))
    x -> 2.0 [] 1.0
    y -> 3.0 [] 0.0
    v1 = mul x y -> 6.0 ['t1 = mul dx 3', 't2 = mul 2 dy', 'dv1 = add_any t1 t2'] 3.0
    v2 = add v1 y -> 9.0 ['dv2 = add dv1 dy'] 3.0
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"jvp_tape: {name} must be a tuple of arguments, got {given!r}")
    if tree_structure(tuple(primals)) != tree_structure(tuple(tangents)):
        raise TypeError("jvp_tape: tangents must have the structure of primals")
    tape = Tape("jvp_tape", f, tuple(primals))
    given = map(lift, tree_leaves(tuple(tangents)))
    atoms = [row.atoms[0] for row in tape.rows if row.kind == "input"]
    tape.push([like("jvp_tape", "tangents", t, a.aval) for a, t in zip(atoms, given) if a])
    alt = f"A table of forward mode for {called(f)}, read from top to bottom. "
    alt += sentences(tape, "tangent")
    return draw(tape, ["program ↓", "value", "its derivative ↓", "tangent"], "orange", alt)


def vjp_tape(f, *primals, cotangent=None):
    """Draw reverse mode as a table: each equation with its value, beside it its cotangent.

    Values are read downwards; the linear program and the cotangents beside them, upwards.

    Args:
      f: a function of arrays and pytrees.
      primals: its arguments.
      cotangent: of the result, with its structure; ones, if there is none.

    Returns a Picture; `facts["rows"]` are tuples (equation, values, linear equations, cotangents).

    Raises TypeError for arguments that are no arrays, or a cotangent that does not fit.

    >>> from tinyjax import viz
    >>> picture = viz.vjp_tape(lambda x, y: x * y + y, 2.0, 3.0)
    >>> [float(row[3][0]) for row in picture.facts["rows"]]
    [3.0, 3.0, 1.0, 1.0]
    >>> print(picture.alt)  # doctest: +NORMALIZE_WHITESPACE
    A table of reverse mode for f. Values are computed from top to bottom, cotangents from bottom to
    top. x = 2 with cotangent 3; y = 3 with cotangent 1 + 2 = 3; v1 = mul x y = 6 with cotangent 1;
    v2 = add v1 y = 9 with cotangent 1.
    """
    tape = Tape("vjp_tape", f, primals)
    outs = [tape.trace.split(x)[0] for x in tape.outs]
    if cotangent is None:
        given = [lift(np.ones(x.shape, x.dtype)) for x in outs]
    else:
        given = [lift(c) for c in tree_leaves(cotangent) if is_arraylike(c)]
        if len(given) != len(outs):
            raise TypeError(
                f"vjp_tape: cotangent must have one leaf for each of {count(len(outs), 'result')}, "
                f"got {cotangent!r}"
            )
    tape.pull([like("vjp_tape", "cotangent", c, x.aval) for c, x in zip(given, outs)])
    alt = f"A table of reverse mode for {called(f)}. Values are computed from top to bottom, "
    alt += f"cotangents from bottom to top. {sentences(tape, 'cotangent')}"
    return draw(tape, ["program ↓", "value", "linear program", "cotangent ↑"], "purple", alt)


def like(who, name, x, aval):
    """A tangent at the dtype of its primal."""
    if x.shape != aval.shape:
        raise TypeError(f"{who}: {name} has shape {x.shape} where the primal has {aval.shape}")
    return lift(np.asarray(x, aval.dtype))


# ---- words --------------------------------------------------------------------------------------


def values_text(row):
    """The values of a row."""
    return " ".join(map(number, row.values))


def derivative_text(row):
    """The tangents or cotangents of a row; a sum shows its parts."""
    texts = []
    for x, terms in zip(row.derivatives, row.terms):
        if x is None:
            texts.append("none")
        elif terms and x.shape == ():
            parts = " + ".join(map(number, terms)).replace("+ -", "− ").replace("-", "−")
            texts.append(f"{parts} = {minus(x)}")
        else:
            texts.append(minus(x))
    return " ".join(texts)


def minus(x):
    """A value with a proper minus."""
    return number(x).replace("-", "−")


def sentences(tape, word):
    """The rows in words."""
    shown = tape.rows[:14]
    parts = [
        f"{row.text} = {values_text(row)} with {word} {derivative_text(row)}".replace("-", "−")
        for row in shown
    ]
    rest = f" {count(len(tape.rows) - 14, 'more row')} follow." if len(tape.rows) > 14 else ""
    return "; ".join(parts) + "." + rest


# ---- the table ----------------------------------------------------------------------------------


def draw(tape, titles, color, alt):
    """The table as a picture."""
    canvas = Canvas(WIDTH)
    right = MARGIN + LEFT + MIDDLE
    width = WIDTH - MARGIN - right
    places = [MARGIN + 10, MARGIN + LEFT - 10, right + 10, right + width - 10]
    for x, title, align in zip(places, titles, ("left", "right", "left", "right")):
        canvas.text(x, 18, title, align=align, bold=True)
    y = 34.0
    for row in tape.rows:
        shown, derivative = values_text(row).replace("-", "−"), derivative_text(row)
        taken = canvas.measure(derivative, mono=True, bold=True) + 12
        longest = max([canvas.measure(line, mono=True) for line in row.linear], default=0)
        below = bool(row.linear) and longest + taken > width - 20  # a line of its own
        height = LINE * max(len(row.linear) + below, 1) + 9
        kind = "green" if row.result else "blue" if row.kind == "input" else "grey"
        canvas.frame(MARGIN, y, LEFT, height, kind)
        canvas.frame(right, y, width, height, color)
        middle = y + height / 2
        text = f"{row.text}  → result" if row.result else row.text
        room = LEFT - 32 - canvas.measure(shown, mono=True)
        canvas.text(places[0], middle, text, INK, mono=True, room=room)
        canvas.text(places[1], middle, shown, INK, align="right", mono=True)
        for k, line in enumerate(row.linear):
            line_y = y + 4.5 + LINE * (k + 0.5)
            room = width - 20 - (0 if below else taken)
            canvas.text(places[2], line_y, line, SOFT, mono=True, room=room)
        at = y + height - 4.5 - LINE / 2 if below else middle
        canvas.text(places[3], at, derivative, INK, SIZE, "right", True, True, room=width - 20)
        y += height + GAP
    facts = [(row.text, row.values, row.linear, row.derivatives) for row in tape.rows]
    return canvas.finish(y + MARGIN - GAP, alt, rows=facts)
