"""Constant indices that lie outside of their axis: JAX takes them silently, here they are named."""

import ast

import numpy as np

from tinyjax.errors import IndexOutOfBoundsWarning
from tinyjax.source import warn
from tinyjax.user_code import place, show

INTEGERS = {int, *[np.dtype(code).type for code in "bBhHiIlLqQ"]}


def outside(index, shape):
    """The first integer of an index that lies outside of its axis, as (integer, axis); or None."""
    entries = index if type(index) is tuple else (index,)
    counts = list(map(_axes_taken, entries))
    if None in counts or sum(counts) > len(shape):
        return None  # something rare, or an error that is about to be raised
    axis = 0
    for entry, count in zip(entries, counts):
        if entry is Ellipsis:
            count = len(shape) - sum(counts)
        elif _is_integer(entry) and not -shape[axis] <= entry < shape[axis]:
            return int(entry), axis
        axis += count
    return None


def _is_integer(entry):
    return type(entry) in INTEGERS


def _axes_taken(entry):
    """How many axes an entry of an index consumes (an ellipsis: 0); None if that takes thought."""
    if _is_integer(entry) or isinstance(entry, slice):
        return 1
    if entry is None or entry is Ellipsis or isinstance(entry, (bool, np.bool_)):
        return 0
    dtype = getattr(entry, "dtype", None)
    if dtype is None:
        return None
    return entry.ndim if dtype.kind == "b" else 1


def check_reading(x, index):
    """Warn about x[index] where a constant is out of bounds."""
    found = None if _is_harmless(index, x.shape) else outside(index, x.shape)
    if found is None or not x.shape[found[1]]:
        return
    number, axis = found
    update, text = _words(index)
    _warn(
        found,
        x.shape,
        f"{text} reads the nearest element, at {0 if number < 0 else x.shape[axis] - 1}",
        f'{update}.get(mode="clip"); {update}.get(mode="fill", fill_value=0) gives another value',
    )


def check_writing(x, index, method):
    """Warn about x.at[index].set(...) where a constant is out of bounds."""
    found = None if _is_harmless(index, x.shape) else outside(index, x.shape)
    if found is None:
        return
    update, _ = _words(index)
    _warn(
        found,
        x.shape,
        f"{update}.{method}(...) drops the value and changes nothing",
        f'{update}.{method}(..., mode="drop"); mode="clip" takes the nearest element',
    )


def _is_harmless(index, shape):
    """The quick answer for most indices: no integer in it, or one that fits."""
    kind = type(index)
    if kind is int:
        return not shape or -shape[0] <= index < shape[0]
    if kind is tuple:
        return INTEGERS.isdisjoint(map(type, index))
    return kind not in INTEGERS


def _warn(found, shape, effect, instead):
    number, axis = found
    warn(
        f"index {number} is out of bounds for axis {axis} with size {shape[axis]}: {effect}.\n"
        "JAX clamps an index where it reads and drops it where it writes. If that is meant, write "
        f"{instead}.",
        IndexOutOfBoundsWarning,
    )


def _words(index):
    """-> 'x.at[5]' and 'x[5]', with the user's own name and index if they are known."""
    found = place()
    node = found.node if found else None
    if isinstance(node, ast.Call):  # x.at[5].set(1)
        node = getattr(node.func, "value", None)
    if not isinstance(node, ast.Subscript):
        entries = index if type(index) is tuple else (index,)
        inner = ", ".join(map(str, entries)) if all(map(_is_integer, entries)) else "i"
        return f"x.at[{inner}]", f"x[{inner}]"
    text, array = show(node), show(node.value)
    brackets = text[len(array) :]
    array = array.removesuffix(".at")
    return f"{array}.at{brackets}", f"{array}{brackets}"
