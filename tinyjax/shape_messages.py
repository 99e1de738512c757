"""Shapes that do not fit, one under the other, with the axes that disagree marked.

    x: float32[2, 3]
    y: float32[   4]
                  ^ axis -1: 3 and 4

Operands have the names that the user gave them, where the source text is known.
"""

import ast
import math

import numpy as np

from tinyjax.source import here
from tinyjax.user_code import careful, place, quote, show

LINES = 8  # of a whole message
ROWS = 4  # operands in a table
ORDINALS = ["first", "second", "third", "fourth"]

# ---- tables --------------------------------------------------------------------------------------


def table(names, shapes, types, marks, word=""):
    """Lines: a row for each operand, aligned on the right, and a row that marks columns.

    marks: axes counted from the end (-1 is the last). word: what is said behind the marks.
    """
    rank = max(map(len, shapes), default=0)
    cells = [[""] * (rank - len(s)) + [str(n) for n in s] for s in shapes]
    widths = [max(len(row[i]) for row in cells) for i in range(rank)]
    heads = [f"    {name}: " for name in names]
    lead, room = max(map(len, heads)), max(map(len, types))
    lines = []
    for head, kind, row in zip(heads, types, cells):
        text = ""
        for i, cell in enumerate(row):
            separator = ", " if i and row[i - 1] else "  " if i else ""
            text += separator + cell.rjust(widths[i])
        lines.append(f"{head:<{lead}}{kind:>{room}}[{text}]")
    start = lead + room + 1
    ends = [start + sum(widths[: i + 1]) + 2 * i - 1 for i in range(rank)]
    carets = sorted(ends[m] for m in marks)
    below = "".join("^" if c in carets else " " for c in range(max(carets, default=-1) + 1))
    return [*lines, f"{below} {word}".rstrip()] if carets else lines


def disagreeing(shapes):
    """The axes, counted from the end, of shapes that do not broadcast."""
    rank, marks = max(map(len, shapes), default=0), []
    for axis in range(-rank, 0):
        sizes = {s[axis] for s in shapes if len(s) >= -axis} - {1}
        if len(sizes) > 1:
            marks.append(axis)
    return marks


def sizes_text(shapes, axes):
    """'axis -1: 3 and 4' for the marked axes."""
    parts = []
    for axis in axes:
        sizes = list(dict.fromkeys(s[axis] for s in shapes if len(s) >= -axis))
        sizes = [n for n in sizes if n != 1] if len(set(sizes) - {1}) > 1 else sizes
        parts.append(f"axis {axis}: {' and '.join(map(str, sizes[:ROWS]))}")
    return "; ".join(parts)


def chosen(shapes):
    """Which operands to show: all, or of many the first ones with the first of another shape."""
    if len(shapes) <= ROWS:
        return list(range(len(shapes)))
    other = next((i for i, s in enumerate(shapes) if s != shapes[0]), 0)
    return sorted({0, 1, other})


def complete(first, lines, advice=()):
    """The whole text: JAX's line, the table, the place as far as there is room, advice."""
    where = quote(here())
    room = LINES - first.count("\n") - 1 - len(lines) - len(advice)
    if len(where) > room:  # first the marks go, then the line
        where = where[:2] if room >= 2 else [where[0].removesuffix(":")]
    return "\n".join([first, *lines, *where, *advice])


# ---- operands ------------------------------------------------------------------------------------


def operands(shapes, types):
    """-> what the user calls the operands of the operation that failed, and their types.

    types: those they have inside, after promotion; a variable's own is what the user knows.
    """
    found = place()
    nodes = _operand_nodes(found) if found else []
    texts = [show(n) for n in nodes]
    short = len(texts) == len(shapes) and all(len(t) <= 30 for t in texts)
    if short and all(_matches(found, n, s) for n, s in zip(nodes, shapes)):
        own = [getattr(found.value(n), "dtype", t) for n, t in zip(nodes, types)]
        return texts, list(map(str, own))
    types = list(map(str, types))
    if len(shapes) > len(ORDINALS):
        return [f"operand {i}" for i in range(len(shapes))], types
    return [f"{ORDINALS[i]} operand" for i in range(len(shapes))], types


def _operand_nodes(found):
    node = found.node
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return [node.left, node.comparators[0]]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if not isinstance(node, ast.Call):
        return []
    args, owner = list(node.args), getattr(node.func, "value", None)
    if owner is not None and not isinstance(found.value(owner), type(ast)):
        args = [owner, *args]  # a method
    if args and isinstance(args[0], (ast.List, ast.Tuple)):
        return args[0].elts  # concatenate, stack
    if args and isinstance(args[0], ast.Constant) and isinstance(args[0].value, str):
        return args[1:]  # einsum
    return args


def _matches(found, node, shape):
    """Whether an expression can be the operand: a variable must have its shape."""
    if isinstance(node, ast.Constant):
        return shape == ()
    value = found.value(node)
    return value is None or np.shape(value) == tuple(shape)


def kinds(values, n):
    """The dtypes of operands; a word where they are not known."""
    if len(values) != n:
        return ["shape "] * n
    return [str(getattr(v, "dtype", type(v).__name__)) for v in values]


# ---- messages ------------------------------------------------------------------------------------


@careful
def broadcasting(first, shapes, values=()):
    """Shapes that do not broadcast: add, where, broadcast_shapes."""
    shapes = [tuple(s) for s in shapes]
    names, types = operands(shapes, kinds(values, len(shapes)))
    marks = disagreeing(shapes)
    rows = chosen(shapes)
    lines = table(
        [names[i] for i in rows],
        [shapes[i] for i in rows],
        [types[i] for i in rows],
        marks,
        sizes_text(shapes, marks),
    )
    advice = []
    if len(shapes) == 2 and len(marks) == 1:
        advice = _missing_axis(names, shapes)
    return complete(first, lines, advice)


def _missing_axis(names, shapes):
    """x[:, None] where the shorter shape is the longer one's beginning."""
    short, long = sorted((0, 1), key=lambda i: len(shapes[i]))
    a, b = shapes[short], shapes[long]
    if len(a) + 1 == len(b) and a == b[:-1] and names[short].isidentifier():
        return [f"If its axes are the first ones: {names[short]}[..., None]"]
    return []


@careful
def to_target(first, shape, dtype, target):
    """An array that does not broadcast to a shape: broadcast_to, x.at[i].set."""
    name, wanted = _target_names(place(), shape)
    lead = len(target) - len(shape)
    marks = [i - len(shape) for i, n in enumerate(shape) if n not in (1, target[lead + i])]
    word = "; ".join(f"axis {m}: {shape[m]} does not stretch to {target[m]}" for m in marks)
    lines = table([name, wanted], [shape, target], [str(dtype), ""], marks, word)
    return complete(first, lines)


def _target_names(found, shape):
    node = found.node if found else None
    if isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute):
        name, owner = show(node.args[0]), node.func.value
        if isinstance(owner, ast.Subscript) and getattr(owner.value, "attr", "") == "at":
            return name, show(ast.Subscript(owner.value.value, owner.slice, ast.Load()))
        if node.func.attr == "broadcast_to" and _matches(found, node.args[0], shape):
            return name, "wanted"
    return "array", "wanted"


@careful
def contracting(first, shapes, types, axes):
    """The axes over which a product sums: each operand has its own."""
    names, types = operands(shapes, types)
    lines, width = [], max(map(len, names))
    for name, shape, kind, contracted in zip(names, shapes, types, axes):
        marks = [a - len(shape) for a in contracted]
        word = "summed: " + ", ".join(str(shape[a]) for a in contracted)
        lines += table([name.rjust(width)], [shape], [str(kind)], marks, word)
    return complete(first, lines, _transposed(names, shapes, axes))


def _transposed(names, shapes, axes):
    """x @ y.T, where that fits."""
    if [len(s) for s in shapes] != [2, 2] or axes != ((1,), (0,)):
        return []
    (a, b), (x, y) = shapes, [n if n.isidentifier() else f"({n})" for n in names]
    if " operand" in x:
        x, y = "x", "y"
    if a[1] == b[1]:
        return [f"Write {x} @ {y}.T if that is meant."]
    return [f"Write {x}.T @ {y} if that is meant."] if a[0] == b[0] else []


@careful
def joining(first, values, axis=None, names=None):
    """concatenate and stack: all axes but `axis` must agree. names: of the operands, if known."""
    shapes, types = [tuple(v.shape) for v in values], kinds(values, len(values))
    if names is None:
        names, types = operands(shapes, types)
    rows = chosen(shapes)
    marks, word = [], ""
    if len({len(s) for s in shapes}) == 1:
        rank = len(shapes[0])
        differ = [i for i in range(rank) if i != axis and len({s[i] for s in shapes}) > 1]
        marks = [i - rank for i in differ]
        word = "; ".join(
            f"axis {i}: {' and '.join(map(str, dict.fromkeys(s[i] for s in shapes)))}"
            for i in differ
        )
    lines = table([names[i] for i in rows], [shapes[i] for i in rows], [types[i] for i in rows],
                  marks, word)  # fmt: skip
    return complete(first, lines)


def reshaping(first, size, shape):
    """The sizes that do not multiply to the number of elements; -1 where one fits."""
    found, fitting = [], []
    for i in range(len(shape)):
        others = math.prod(shape[:i] + shape[i + 1 :])
        if others > 0 and size % others == 0 and -1 not in shape[:i] + shape[i + 1 :]:
            new = [*shape[:i], -1, *shape[i + 1 :]]
            found.append(f"reshape({', '.join(map(str, new))})")
            fitting.append(str((*shape[:i], size // others, *shape[i + 1 :])))
    product = " * ".join(map(str, shape)) or "1"
    lines = [] if -1 in shape else [f"    {product} = {math.prod(shape)}, not {size}"]
    lines += [f"    {f} gives shape {s}" for f, s in list(zip(found, fitting))[:2]]
    return complete(first, lines)


def sizes(rows):
    """Lines 'name: float32[3, 2]  size 3 along axis 0', in columns; the commonest size first.

    rows: (name, type, axis, size)
    """
    counts: dict[int, int] = {}
    for *_, n in rows:
        counts[n] = counts.get(n, 0) + 1
    common = max(counts, key=lambda n: counts[n])
    odd = [r for r in rows if r[3] != common]
    if len(rows) > ROWS:
        rows = [r for r in rows if r[3] == common][:1] + odd[: ROWS - 1]
    name, kind = max(len(r[0]) for r in rows), max(len(r[1]) for r in rows)
    return [f"  * {n:<{name}}  {t:<{kind}}  axis {a} has size {s}" for n, t, a, s in rows]


@careful
def labels(first, letter, terms, values):
    """einsum: each operand that has the letter, with the axis that the letter names marked."""
    names, types = operands([v.shape for v in values], kinds(values, len(values)))
    lines: list[str] = []
    seen: set[tuple] = set()
    for name, kind, term, value in zip(names, types, terms, values):
        marks = [i - len(term) for i, c in enumerate(term) if c == letter]
        size = tuple(value.shape[m] for m in marks)
        if marks and size not in seen and len(seen) < 2:
            seen.add(size)
            word = f"{letter} = {' and '.join(map(str, dict.fromkeys(size)))} in '{term}'"
            lines += table([name], [value.shape], [kind], marks, word)
    return complete(first, lines)
