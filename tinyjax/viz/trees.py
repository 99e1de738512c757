"""tree_diagram: what a pytree consists of."""

from tinyjax.array import is_arraylike, lift
from tinyjax.tree_util import keystr, tree_flatten_with_path, tree_structure
from tinyjax.viz.branches import MARGIN, Twig, draw_tree
from tinyjax.viz.canvas import Canvas, count, listed

LEAF = tree_structure(0)
MANY = 12  # children that are drawn; of more, the first and the last


def tree_diagram(tree):
    """Draw a pytree: containers, the way to each leaf, and the leaves' types.

    Args:
      tree: any pytree: arrays in dicts, tuples, lists, dataclasses, classes that are registered.

    Returns a Picture; `facts["leaves"]` are pairs of the path and what is there.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax import viz
    >>> picture = viz.tree_diagram({"w": jnp.ones((3, 2)), "b": [jnp.zeros(2), None]})
    >>> picture.facts["leaves"]
    [("['b'][0]", 'f32[2]'), ("['w']", 'f32[3,2]')]
    >>> print(picture.alt)
    A tree with a dict at its root and 2 leaves: ['b'][0] is f32[2] and ['w'] is f32[3,2].
    """
    leaves = [(keystr(path), leaf_text(x)) for path, x in tree_flatten_with_path(tree)[0]]
    root = twig(tree, "")
    canvas = Canvas()
    bottom = draw_tree(canvas, root)
    alt = f"A tree with a {type(tree).__name__} at its root and {count(len(leaves), 'leaf')}"
    alt = alt.replace("leafs", "leaves")
    if leaves:
        alt += ": " + listed(f"{path or 'the root'} is {text}" for path, text in leaves[:MANY])
        alt += " and more" * (len(leaves) > MANY)
    return canvas.finish(bottom + MARGIN, alt + ".", leaves=leaves)


def leaf_text(x):
    """The type of an array, or a Python value."""
    if isinstance(x, (bool, int, float, complex)):
        return repr(x)
    return lift(x).aval.str_short(short_dtypes=True) if is_arraylike(x) else type(x).__name__


def twig(tree, edge):
    """The box of a pytree. edge: how its parent calls it."""
    if tree is None:
        return Twig(*[edge] * bool(edge), "None: no leaf", dashed=True)
    if tree_structure(tree) == LEAF:
        return Twig(*[edge] * bool(edge), leaf_text(tree), color="green", round=10)
    pairs = tree_flatten_with_path(tree, is_leaf=lambda x: x is not tree)[0]
    children = [twig(child, keystr(path)) for path, child in pairs]
    if len(children) > MANY:
        left_out = Twig(f"… {len(children) - 6} more", dashed=True)
        children = [*children[:4], left_out, *children[-2:]]
    kind = type(tree).__name__ if children else f"empty {type(tree).__name__}"
    return Twig(*[edge] * bool(edge), kind, color="blue", children=children)
