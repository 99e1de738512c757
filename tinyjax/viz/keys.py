"""key_tree: where keys come from, what is drawn from them, and which are used twice."""

from tinyjax.viz.branches import MARGIN, Twig, draw_tree
from tinyjax.viz.canvas import Canvas, count, listed
from tinyjax.viz.key_watch import KeyWatch, watch_keys

MANY = 8  # keys of one split that are drawn; of more, the first and those that matter


def key_tree(f_or_watched, *args):
    """Draw the keys that a function makes and uses. A key that is used twice is red and says so.

    Args:
      f_or_watched: a function, which is called with args; or what `with viz.watch_keys() as
        watched` has written down, without args.
      args: its arguments.

    Returns a Picture; `facts["keys"]` are pairs of how a key was made and what used it, and
    `facts["reused"]` are those that were used more than once.

    Raises TypeError for anything else, and inside of jit, grad and vmap, where keys have no values.

    >>> import tinyjax as jax
    >>> from tinyjax import viz
    >>> def noise():
    ...     key = jax.random.key(0)
    ...     x = jax.random.normal(key, (3,))
    ...     key, subkey = jax.random.split(key)
    ...     return x + jax.random.uniform(subkey, (3,))
    >>> picture = viz.key_tree(noise)
    >>> picture.facts["reused"]
    ['key(0)']
    >>> print(picture.alt)
    A tree of 3 keys, 1 of them reused: key(0) (normal and split). From split[1] is drawn: uniform.
    """
    if isinstance(f_or_watched, KeyWatch):
        watched = f_or_watched
    elif callable(f_or_watched):
        with watch_keys() as watched:
            f_or_watched(*args)
    else:
        raise TypeError(
            "key_tree takes a function or what viz.watch_keys() has seen, got "
            f"f_or_watched={f_or_watched!r}"
        )
    seen = set()
    roots = [grown(watched, note, seen) for note in watched.roots]
    canvas, bottom, width = Canvas(), MARGIN, 240
    for root in roots:
        bottom = draw_tree(canvas, root, bottom) + 16
        width = max(width, canvas.width)
    canvas.width = width
    if not roots:
        canvas.text(MARGIN, 20, "no key was made or used")
        bottom = 46
    notes = list(watched.keys.values())
    return canvas.finish(
        bottom - 16 + MARGIN,
        words(notes),
        keys=[(note.made, [use.what for use in note.uses]) for note in notes],
        reused=[note.made for note in notes if note.reused],
    )


def grown(watched, note, seen):
    """The twig of a key, with all that was made and drawn from it. seen: keys that are drawn."""
    seen.add(note.words)
    children = []
    for use in note.uses:
        if not use.children:
            children.append(drawn(use, note))
            continue
        fresh = [watched.keys[w] for w in use.children if w not in seen]
        if not fresh:
            text = "the same keys again" if use.what == "split" else "the same key again"
            children.append(
                Twig(use.what, text, color="red" if note.reused else "grey", dashed=True)
            )
        children += offspring(watched, fresh, seen)
    code = "{:08x} {:08x}".format(*note.words)
    if note.reused:
        times = sum(use.consumes for use in note.uses)
        mark = f"✗ reused: {times} uses"
        return Twig(note.made, code, mark, color="red", children=children, round=8)
    lines = (note.made, code) if note.uses else (note.made, code, "not used")
    return Twig(*lines, color="blue", children=children, round=8, dashed=not note.uses)


def drawn(use, note):
    """The twig of numbers that were drawn."""
    return Twig(
        f"{use.what} {use.detail}".strip(), color="red" if note.reused else "green", round=2
    )


def offspring(watched, notes, seen):
    """The twigs of the keys that one split has made."""
    if len(notes) <= MANY:
        return [grown(watched, note, seen) for note in notes]
    kept = [note for k, note in enumerate(notes) if k < 3 or k == len(notes) - 1 or note.reused]
    kept = kept[: MANY - 1] + kept[-1:] if len(kept) > MANY else kept
    rest = [note for note in notes if note not in kept]
    seen.update(note.words for note in rest)
    used = sum(bool(note.uses) for note in rest)
    left_out = Twig(f"… {len(rest)} more keys", f"{used} of them used", dashed=True)
    twigs = [grown(watched, note, seen) for note in kept]
    return [*twigs[:-1], left_out, twigs[-1]]


def words(notes):
    """The picture in words."""
    reused = [note for note in notes if note.reused]
    text = f"A tree of {count(len(notes), 'key')}, "
    text += f"{len(reused)} of them reused: " if reused else "none of them reused."
    described = [f"{n.made} ({listed(u.what for u in n.uses if u.consumes)})" for n in reused[:6]]
    text += f"{listed(described)}." if reused else ""
    draws = [
        f"From {n.made} is drawn: {listed(u.what for u in n.uses if not u.children)}."
        for n in notes
        if not n.reused and any(not u.children for u in n.uses)
    ]
    rest = [f"{len(draws) - 6} more keys are drawn from."] if len(draws) > 6 else []
    return " ".join([text, *draws[:6], *rest])
