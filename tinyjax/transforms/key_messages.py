"""What is said when a random key is used twice: both places, the name of the key, and the fix."""

import ast
import itertools
import linecache

from tinyjax.errors import KeyReuseError

LONGEST = 100  # characters of a line that are shown
FIXES = (
    "Give each use a key of its own: `{key}, sub = jax.random.split({key})`, then use sub;\n"
    "in a loop, `sub = jax.random.fold_in({key}, i)`. On purpose? `jax.random.clone({key})`."
)


def reused(lead, first, again):
    """The KeyReuseError of a key that was consumed at `first`, and is once more.

    lead: JAX's words. first, again: the Sources; None if nobody knows.
    """
    return KeyReuseError(f"{lead}\n{both_places(first, again)}\n{fixes(again)}")


def in_loop(lead, inside):
    """The KeyReuseError of a loop's body that consumes the same key in every step."""
    key = name_of_key(inside) or "key"
    return KeyReuseError(
        f"{lead}\n{place('It is used in the loop', inside)}\n"
        "Every step of the loop would draw the same numbers. Make a new key in each step, with\n"
        f"`sub = jax.random.fold_in({key}, i)`; or carry the key along, `{key}, sub = "
        f"jax.random.split({key})`;\nor scan over the rows of `jax.random.split({key}, steps)`."
    )


def drawn_twice(first, again):
    """The words of the warning that two draws were made from one key."""
    key = name_of_key(again)
    who = f"the key `{key}`" if key else "one key"
    return (
        f"Two draws from {who}: they are not independent, but made of the same random bits.\n"
        f"{both_places(first, again)}\n{fixes(again)}\n"
        '(No such warnings: jax.config.update("jax_warn_key_reuse", False).)'
    )


def unused_rows(rows, count, source):
    """The words of the warning that keys were made which nobody uses."""
    which = ", ".join(map(str, rows))
    return (
        f"Of the {count} keys that jax.random.split made, number {which} (from 0) is never used.\n"
        f"{place('Made', source)}\n"
        "Was the old key, or the same new one, meant to be used twice? Use each new key once; to\n"
        "leave one out on purpose, call it _: `_, sub = jax.random.split(key)`."
    )


# ---- parts --------------------------------------------------------------------------------------


def both_places(first, again):
    """Two lines: where a key was used first, where again."""
    if first is not None and first == again:
        return f"{place('Used', again)}\nand once more in the same line, when it ran again."
    return f"{place('Used first', first)}\n{place('used again', again)}"


def place(what, source):
    """'what at file:line (function): the line'."""
    if source is None:
        return f"{what} at an unknown place"
    text = source.text if len(source.text) <= LONGEST else source.text[: LONGEST - 4] + " ..."
    return f"{what} at {source}" + (f": {text}" if text else "")


def fixes(source):
    """What to write instead, with the user's name of the key."""
    return FIXES.format(key=name_of_key(source) or "key")


def name_of_key(source):
    """The name of the first argument of the call at a place; None if it is no name."""
    node = expression(source)
    if not isinstance(node, ast.Call):
        return None
    named = [k.value for k in node.keywords if k.arg == "key"]
    first = (named or node.args or [None])[0]
    return first.id if isinstance(first, ast.Name) else None


def expression(source):
    """The tree of the expression at a place; None without its text."""
    if source is None:
        return None
    positions = itertools.islice(source.code.co_positions(), source.instruction // 2, None)
    line, end_line, start, end = next(positions, (None,) * 4)
    if None in (line, end_line, start, end):
        return None
    lines = [linecache.getline(source.code.co_filename, n) for n in range(line, end_line + 1)]
    lines[-1] = lines[-1].encode()[:end].decode(errors="ignore")
    lines[0] = lines[0].encode()[start:].decode(errors="ignore")
    try:
        return ast.parse(f"({''.join(lines)})", mode="eval").body
    except SyntaxError:
        return None


def called_name(source):
    """The last part of the name of the function that is called at a place; None without its text.

    That of `jax.random.split(key)` is "split".
    """
    node = expression(source)
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", getattr(function, "id", None))
