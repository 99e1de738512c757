"""The code in the documentation runs, and prints what the page says."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ["architecture.md", "performance.md"]


def blocks(text):
    """Python code blocks, without the indentation of lists they stand in."""
    for match in re.finditer(r"^( *)```python\n(.*?)^ *```", text, re.M | re.S):
        indent = len(match.group(1))
        yield "\n".join(line[indent:] for line in match.group(2).splitlines())


def promised(block):
    """What the comments below print statements say."""
    lines = block.splitlines()
    said = []
    for before, line in zip(lines, lines[1:]):
        follows = before.startswith(("print", "#"))
        if line.startswith("# ") and follows:
            said.append(line[2:])
    return said


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_print_what_the_page_says(page):
    names, checked = {}, 0
    for block in blocks((DOCS / page).read_text()):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(block, names)
        said = promised(block)
        if said:
            assert out.getvalue().splitlines() == said
            checked += 1
    assert checked
