"""Docstrings as Markdown, for the hooks beside this file."""

import re
import textwrap


def prose(docstring: str) -> str:
    """A docstring as Markdown: its paragraphs, lists of arguments, tables and examples."""
    return "\n\n".join(paragraph(text) for text in re.split(r"\n\s*\n", docstring) if text.strip())


def paragraph(text: str) -> str:
    """One paragraph."""
    head, _, rest = text.partition("\n")
    if head.startswith(">>> "):
        return fenced(text, "pycon")
    if head.endswith(":") and rest and all(line.startswith(" ") for line in rest.splitlines()):
        entries = re.sub(r"\n\s+", " ", textwrap.dedent(rest)).splitlines()
        title = "Parameters:" if head == "Args:" else escaped(head)
        return f"**{title}**\n\n" + "\n".join(f"- {named(entry)}" for entry in entries)
    if head.startswith(" ") or re.search(r"\S {3,}\S", text):
        return fenced(textwrap.dedent(text), "text")  # columns
    return escaped(text)


def named(entry: str) -> str:
    """An entry of a list: what it is about, as code, and what is said of it."""
    names, colon, says = entry.strip().partition(": ")
    is_name = colon and re.fullmatch(r"[\w*., /]+", names)
    return f"`{names}`: {escaped(says)}" if is_name else escaped(entry.strip())


def escaped(text: str) -> str:
    """Text whose signs, outside of `code`, mean nothing to Markdown."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(piece if piece.startswith("`") else plain(piece) for piece in pieces)


def plain(text: str) -> str:
    """Text without code in which no sign means anything."""
    return re.sub(r"([|*_\[\]#])", r"\\\1", text.replace("<", "&lt;"))


def fenced(code: str, language: str = "python") -> str:
    """A code block."""
    return f"```{language}\n{code}\n```"
