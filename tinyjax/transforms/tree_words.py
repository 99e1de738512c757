"""Where two pytrees part, in few words: only what differs, never a whole tree."""

import ast
import re

from tinyjax.tree_util import equality_errors, keystr, tree_flatten_with_path

SHOWN = 3  # differences in one message


def readable(words, other):
    """How one side of a difference is described: "a dict without key 'b'" for a dict's keys."""
    match = re.fullmatch(r"<class '(\w+)'> with pytree metadata (\(.*\))", words)
    across = re.fullmatch(r"<class '(\w+)'> with pytree metadata (\(.*\))", other)
    if match and across and match[1] == across[1] == "dict":
        try:
            here, there = (ast.literal_eval(m[2]) for m in (match, across))
        except (SyntaxError, ValueError):  # keys that are no literals
            return words
        own = [k for k in here if k not in there]
        return f"a dict with key{'s'[: len(own) != 1]} {', '.join(map(repr, own[:4]))}"
    words = words.replace("<class 'tinyjax.avals.ShapedArray'>", "an array")
    return re.sub(r"<class '(\w+)'>", r"a \1", words)


def reason(words):
    """Why two sides of a difference do not match."""
    return words.replace("the pytree node metadata does not match", "the keys do not match")


def structure_differences(a, b, name_a, name_b):
    """Lines that say where the structures a and b (PyTreeDefs) part."""
    try:
        trees = [t.unflatten([0.0] * t.num_leaves) for t in (a, b)]
        found = list(equality_errors(*trees))
    except Exception:  # a class of the user's that does not take numbers for its leaves
        found = []
    if not found:
        return [f"  * {cut(name_a + ' has ' + str(a))}", f"  * {cut(name_b + ' has ' + str(b))}"]
    lines = [
        f"  * {name_a}{keystr(path)} is {leaf(readable(one, two))} but {name_b} has "
        f"{leaf(readable(two, one))} there"
        for path, one, two, _ in found[:SHOWN]
    ]
    return lines + [f"  * and {len(found) - SHOWN} more"] * (len(found) > SHOWN)


def leaf(words):
    """The numbers that stand for leaves are no news."""
    return words.replace("a float", "a leaf")


def cut(text, room=200):
    """A text that may be long."""
    return text if len(text) <= room else f"{text[: room - 4]} ..."


def compact(text):
    """A message about prefixes in fewer lines."""
    return re.sub(r"\n    ", " ", text)


def leaf_path(tree, i):
    """The key path of the i-th leaf of a structure; empty for a tree that is one leaf."""
    try:
        paths, _ = tree_flatten_with_path(tree.unflatten(range(tree.num_leaves)))
    except Exception:  # as above
        return f" (leaf {i})"
    return keystr(paths[i][0])
