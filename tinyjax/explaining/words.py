"""What the stages say about arguments, sizes and residuals."""

from tinyjax.avals import ShapedArray
from tinyjax.transforms.flat import flatten_axes, fun_name
from tinyjax.tree_util import tree_leaves, tree_structure


def plural(n, thing):
    """ "1 equation", "2 equations"."""
    return f"{n} {thing}" + "s" * (n != 1)


def typed(level):
    """The arguments with their types: "w: f32[3], x: f32[5,3]"."""
    texts = [
        f"{n}: {x.str_short(True)}" if isinstance(x, ShapedArray) else f"{n} = {short(x)}"
        for n, x in zip(level.names, level.leaves)
    ]
    if len(texts) > 8:
        texts = [*texts[:6], f"and {len(texts) - 6} more"]
    return ", ".join(texts) or "no arguments"


def short(x):
    """A constant argument, as text."""
    text = fun_name(x) if callable(x) else repr(x)
    return text if len(text) <= 30 else text[:27] + "..."


def bytes_of(avals):
    """How much memory arrays of these types take."""
    total = sum(a.size * getattr(a.dtype, "itemsize", 8) for a in avals)
    return plural(total, "byte") if total < 10_000 else f"{total / 1e6:.2f} MB"


def residual_words(kept, names):
    """ "2 residuals (16 bytes), kept for later: b:f32[3] c:f32[]"."""
    if not kept:
        return "no residuals"
    texts = [f"{names[v]}:{v.aval.str_short(True)}" if v in names else "a number" for v in kept]
    if len(texts) > 8:
        texts = [*texts[:7], f"and {len(texts) - 7} more"]
    size = bytes_of([v.aval for v in dict.fromkeys(kept)])
    return f"{plural(len(kept), 'residual')} ({size}), kept for the derivative: {' '.join(texts)}"


def mapped(level):
    """-> the size of the mapped axis; which axis of each argument is mapped, as a sentence."""
    options = level.layer.options
    tree, axes = tree_structure(level.args), options["in_axes"]
    dims = flatten_axes(f"{level.layer.transform} in_axes", tree, axes, tupled_args=True)
    dims += [0] * len(tree_leaves(level.kwargs))
    pieces, size = [], options.get("axis_size") or 0
    for name, x, dim in zip(level.names, level.leaves, dims):
        if not isinstance(x, ShapedArray):
            continue
        if dim is None:
            pieces.append(f"{name} is not mapped: all share the {x.str_short(True)}")
        else:
            row = list(x.shape)
            size = row.pop(dim)
            part = x.update(shape=tuple(row)).str_short(True)
            pieces.append(f"{name} along axis {dim}: {x.str_short(True)} is {size} times {part}")
    if len(pieces) > 8:
        pieces = [*pieces[:6], f"and so on for {len(pieces) - 6} more"]
    return size, "; ".join(pieces) + "." if pieces else ""
