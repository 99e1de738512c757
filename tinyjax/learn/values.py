"""Values on their way between two processes: JSON both ways, so that reading them runs no code.

Arrays travel as bytes; anything we do not know travels as its repr and equals nothing but itself.
"""

import base64
from typing import Any

import numpy as np

MAX_ARRAY_BYTES = 4_000_000


def encode(value: Any) -> Any:
    """A JSON-able description of a value."""
    if isinstance(value, int) and value.bit_length() > 64:
        return {"object": f"a whole number of {value.bit_length()} bits"}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item) for item in value]}
    try:
        array = np.asarray(value)
    except Exception:  # a value that is no array may raise anything at all
        return {"object": repr(value)[:500]}
    if array.dtype.kind not in "biufc" or array.nbytes > MAX_ARRAY_BYTES:
        return {"object": repr(value)[:500]}
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
    return {"array": data, "dtype": array.dtype.str, "shape": list(array.shape)}


class Opaque(str):
    """The repr of a value that cannot travel."""

    __slots__ = ()
    __repr__ = str.__str__


def decode(code: Any) -> Any:
    """The value that `encode` described: arrays come back as NumPy arrays."""
    if isinstance(code, list):
        return [decode(item) for item in code]
    if not isinstance(code, dict):
        return code
    if "dict" in code:
        return {decode(key): decode(item) for key, item in code["dict"]}
    if "tuple" in code:
        return tuple(decode(item) for item in code["tuple"])
    if "object" in code:
        return Opaque(code["object"])
    array = np.frombuffer(base64.b64decode(code["array"]), dtype=code["dtype"])
    return array.reshape(code["shape"]).copy()


def same(got: Any, expected: Any, rtol: float = 1e-4, atol: float = 1e-5) -> bool:
    """Whether two decoded values agree: numbers within a tolerance, lists of numbers as arrays."""
    if isinstance(expected, dict) or isinstance(got, dict):
        return (
            isinstance(got, dict)
            and isinstance(expected, dict)
            and got.keys() == expected.keys()
            and all(same(got[key], expected[key], rtol, atol) for key in expected)
        )
    if isinstance(expected, str | None) or isinstance(got, str | None):
        return type(got) is type(expected) and got == expected
    if isinstance(expected, list | tuple) and isinstance(got, list | tuple):
        return len(got) == len(expected) and all(
            same(a, b, rtol, atol) for a, b in zip(got, expected)
        )
    try:
        a, b = np.asarray(got), np.asarray(expected)
    except ValueError:  # a ragged list has no shape
        return False
    if a.shape != b.shape or a.dtype.kind not in "biufc" or b.dtype.kind not in "biufc":
        return False
    return bool(np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


WIDTH = 80


def show(value: Any) -> str:
    """A value in a line or a few, for a person: several lines of text stay several lines."""
    if isinstance(value, dict):
        parts = [f"{key!r}: {show(item)}" for key, item in value.items()]
        return laid_out("{", parts, "}")
    if isinstance(value, tuple):
        return laid_out("(", [show(item) for item in value], ",)" if len(value) == 1 else ")")
    if isinstance(value, list):
        return laid_out("[", [show(item) for item in value], "]")
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=6, threshold=20, max_line_width=WIDTH)
    if isinstance(value, np.generic):
        return str(value)
    if isinstance(value, str) and "\n" in value:
        return shortened(value.strip("\n"))
    return shortened(repr(value))


def shortened(text: str) -> str:
    """A text that fits on a screen."""
    return text if len(text) <= 4000 else f"{text[:4000]} ... ({len(text):,} characters)"


def laid_out(opening: str, parts: list[str], closing: str) -> str:
    """The parts of a container: in one line if they fit, else each on lines of its own."""
    line = opening + ", ".join(parts) + closing
    if len(line) <= WIDTH and "\n" not in line:
        return line
    inner = ",\n".join(parts).replace("\n", "\n  ")
    return f"{opening}\n  {inner}\n{closing}"
