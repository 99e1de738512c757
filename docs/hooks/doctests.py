"""A Griffe extension: the doctests of a docstring become code blocks of the reference page."""

from typing import Any

import griffe


class FenceDoctests(griffe.Extension):
    """Puts every run of lines from `>>>` to the next blank line between code fences."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring:
            obj.docstring.value = fence(obj.docstring.value)


def fence(text: str) -> str:
    """The text with its doctests fenced."""
    lines: list[str] = []
    indent = None  # of the doctest we are in
    for line in [*text.splitlines(), ""]:
        bare = line.lstrip()
        if indent is None and bare.startswith(">>> "):
            indent = line[: len(line) - len(bare)]
            lines += ["", f"{indent}```pycon"]
        elif indent is not None and not bare:
            lines.append(f"{indent}```")
            indent = None
        lines.append(line)
    return "\n".join(lines)
