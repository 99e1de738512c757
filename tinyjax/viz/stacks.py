"""vmap_axes: which axis vmap takes away from each argument, and where it comes back."""

import numpy as np

from tinyjax.mapping import vmap
from tinyjax.transforms.flat import arg_names, flatten_axes
from tinyjax.tree_util import tree_leaves, tree_structure
from tinyjax.viz.canvas import INK, SMALL, WIDTH, Canvas, called, count

CELL = 18  # pixels
LABEL = 34  # the height of the text above an array
CYCLE = ("orange", "blue", "green", "purple", "yellow")  # of the elements, in turn
MARGIN = 12
COLUMN = 215  # of arguments, calls, results


def vmap_axes(f, in_axes, *args, out_axes=0):
    """Draw how vmap maps a function: whole arguments, what one call of f sees, whole results.

    Args:
      f: a function of arrays and pytrees.
      in_axes: as vmap takes it: an int, None, or a tuple with one entry for each argument.
      args: the whole arguments.
      out_axes: where the mapped axis is in the results.

    Returns a Picture; `facts["inputs"]` are tuples (name, shape, mapped axis, shape that f sees),
    `facts["outputs"]` tuples (shape that f returns, axis, shape).

    Raises what vmap raises for axes that do not fit.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax import viz
    >>> w, xs = jnp.ones((3, 2)), jnp.ones((5, 2))
    >>> picture = viz.vmap_axes(lambda w, x: w @ x, (None, 0), w, xs)
    >>> print(picture.alt)  # doctest: +NORMALIZE_WHITESPACE
    vmap of f over 5 elements. w of shape (3, 2) is not mapped, each call sees all of it; x of shape
    (5, 2) is mapped along axis 0, each call sees shape (2,). One call returns shape (3,), all
    together shape (5, 3), mapped along axis 0.
    """
    if not callable(f):
        raise TypeError(f"vmap_axes: f must be a function, got {f!r}")
    if not args:
        raise ValueError("vmap_axes needs the arguments of f, to show their axes")
    seen: list = []

    def watched(*parts):
        out = f(*parts)
        seen[:] = [[np.shape(x) for x in tree_leaves(t)] for t in (parts, out)]
        return out

    result = vmap(watched, in_axes, out_axes)(*args)
    wanted = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    axes = flatten_axes("vmap in_axes", tree_structure(args), wanted, tupled_args=True)
    out = flatten_axes("vmap out_axes", tree_structure(result), out_axes)
    shapes = [np.shape(x) for x in tree_leaves(args)]
    names = arg_names(f, args, {})
    inputs = list(zip(names, shapes, map(positive, axes, shapes), seen[0]))
    shapes = [np.shape(x) for x in tree_leaves(result)]
    outputs = list(zip(seen[1], map(positive, out, shapes), shapes))
    canvas = Canvas(WIDTH)
    height = draw(canvas, called(f), inputs, outputs)
    return canvas.finish(height, words(called(f), inputs, outputs), inputs=inputs, outputs=outputs)


def positive(axis, shape):
    """An axis counted from the front, or None."""
    return None if axis is None else axis % len(shape)


def batch_size(inputs):
    """How many calls there are."""
    return next(shape[axis] for _, shape, axis, _ in inputs if axis is not None)


def words(name, inputs, outputs):
    """The picture in words."""
    parts = []
    for arg, shape, axis, part in inputs:
        if axis is None:
            parts.append(f"{arg} of shape {shape} is not mapped, each call sees all of it")
        else:
            parts.append(
                f"{arg} of shape {shape} is mapped along axis {axis}, each call sees shape {part}"
            )
    text = f"vmap of {name} over {count(batch_size(inputs), 'element')}. {'; '.join(parts)}."
    for part, axis, shape in outputs:
        where = "not mapped" if axis is None else f"mapped along axis {axis}"
        text += f" One call returns shape {part}, all together shape {shape}, {where}."
    return text


# ---- drawing ------------------------------------------------------------------------------------


def draw(canvas, name, inputs, outputs):
    """Three columns: whole arguments, one call, whole results -> the height."""
    left, middle, right = MARGIN, MARGIN + COLUMN, MARGIN + 2 * COLUMN
    size = batch_size(inputs)
    for x, title in ((left, "arguments"), (middle, f"call 0 of {size}"), (right, "results")):
        canvas.text(x, 18, title, bold=True)
    boxed = middle - 12, 34.0
    y = 48.0
    for arg, shape, axis, part in inputs:
        mapped = "not mapped" if axis is None else f"axis {axis} is mapped"
        first = draw_array(canvas, left, y, arg, shape, axis, mapped)
        sees = draw_array(canvas, middle, y, arg, part, None, "", color_of(axis))
        arrow_y = y + LABEL / 2
        canvas.line([(left + COLUMN - 62, arrow_y), (middle - 18, arrow_y)])
        canvas.head(middle - 15, arrow_y, "right")
        y = max(first, sees) + 16
    canvas.box(middle, y, 120, 30, "green", name)
    canvas.head(middle + 60, y - 2)
    canvas.line([(middle + 60, sees + 6), (middle + 60, y - 5)])
    canvas.line([(middle + 60, y + 30), (middle + 60, y + 39)])
    canvas.head(middle + 60, y + 44)
    y += 52
    for k, (part, axis, shape) in enumerate(outputs):
        label = "result" if len(outputs) == 1 else f"result {k}"
        sees = draw_array(canvas, middle, y, label, part, None, "", color_of(axis))
        mapped = "not mapped" if axis is None else f"axis {axis} is mapped"
        whole = draw_array(canvas, right, y, label, shape, axis, mapped)
        arrow_y = y + LABEL / 2
        canvas.line([(middle + COLUMN - 62, arrow_y), (right - 18, arrow_y)])
        canvas.head(right - 15, arrow_y, "right")
        y = max(sees, whole) + 16
    canvas.frame(*boxed, COLUMN - 34, y - boxed[1] - 4, "green", filled=False, dashed=True, round=8)
    return y + MARGIN


def color_of(axis):
    """What a call sees: element 0, or all of what is not mapped."""
    return "grey" if axis is None else CYCLE[0]


def draw_array(canvas, x, y, name, shape, axis, note, color="grey"):
    """An array: its name and shape, and its cells. axis: the mapped one, whose elements have
    different colors; without, all have the same -> the lowest point."""
    dims = ",".join(map(str, shape))
    canvas.text(x, y + 7, f"{name} [{dims}]", mono=True, room=COLUMN - 66)
    if note:
        canvas.text(x, y + 22, note, size=SMALL)
    y += LABEL if note else LABEL - 12
    if len(shape) > 3:
        return y
    sizes = (1,) * (3 - len(shape)) + tuple(shape)
    mapped = None if axis is None else axis + 3 - len(shape)
    sheets, rows, columns = map(shown, sizes, (4, 5, 5) if len(shape) == 3 else (7, 7, 7))
    top = y + (len(sheets) - 1) * CELL
    for s in reversed(range(len(sheets))):
        for r in range(len(rows)):
            for c in range(len(columns)):
                if s and r and c < len(columns) - 1:
                    continue  # behind the sheet in front
                place = (sheets[s], rows[r], columns[c])
                # one cell of each sheet, row or column says which it is; of a sheet in a stack,
                # the corner that can be seen
                seen = {
                    0: (r, c) == (0, len(columns) - 1),
                    1: (s, c) == (0, 0),
                    2: (s, r) == (0, 0),
                }
                marks = [d for d in range(3) if seen[d] and (place[d] is None or d == mapped)]
                index = None if mapped is None else place[mapped]
                left = x + (c + s) * CELL, top + (r - s) * CELL
                cell(canvas, *left, color, index, None in place, bool(marks))
    return top + len(rows) * CELL


def shown(n, most):
    """The indices of an axis that are drawn; None stands for those that are left out."""
    return list(range(n)) if n <= most else [*range(most - 2), None, n - 1]


def cell(canvas, x, y, color, index, left_out, marked):
    """One element of an array. index: along the mapped axis, if there is one."""
    if index is not None:
        color = CYCLE[index % len(CYCLE)]
    canvas.rectangle(x, y, CELL, CELL, "grey" if left_out else color)
    text = "…" if left_out else str(index)
    if marked and len(text) < 3:
        canvas.text(x + CELL / 2, y + CELL / 2, text, INK, SMALL, "center")
