"""When the outcomes of a check, of two solutions, are the same.

An outcome is JSON: the `value` that a check returned, or the `error` that it ended in with its
`message` and `traceback`; and `mutated`, the inputs that were changed in place.
"""

import re
from typing import Any

from tinyjax.learn.values import decode, same


def agrees(got: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether a check came out as it does for the reference."""
    if "error" in got or "error" in expected or "mutated" in got:
        return False
    return same(decode(got["value"]), decode(expected["value"]))


def is_fingerprint(outcome: dict[str, Any]) -> bool:
    """Whether an outcome says enough to tell who made it: a bare True or None does not."""
    return "error" in outcome or not isinstance(outcome["value"], bool | None)


def coincides(got: dict[str, Any], wrong: dict[str, Any]) -> bool:
    """Whether the student's outcome is a wrong solution's: same value, or same error and words."""
    if got.get("mutated") != wrong.get("mutated") or ("error" in got) != ("error" in wrong):
        return False
    if "error" in got:
        return got["error"] == wrong["error"] and said_first(got) == said_first(wrong)
    return is_fingerprint(got) and same(decode(got["value"]), decode(wrong["value"]))


SENTENCE_END = re.compile(r"\n|(?<!e\.g)(?<!i\.e)\. ")
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+|\bid=\d+")


def said_first(outcome: dict[str, Any]) -> str:
    """What an error says before it quotes the student, whose names are not the wrong solution's.

    Addresses differ from run to run; where too deep a recursion is noticed depends on many things.
    """
    if outcome["error"] == "RecursionError":
        return ""
    return ADDRESS.sub("0x", SENTENCE_END.split(outcome["message"], maxsplit=1)[0])
