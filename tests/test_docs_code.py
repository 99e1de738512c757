"""The code in the documentation runs, and prints what the page says.

    $ python tests/test_docs_code.py performance.md

writes below the print statements of a page what they print now. Read what it changed.
"""

import ast
import contextlib
import io
import re
import sys
import textwrap
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ["architecture.md", "trip.md", "performance.md", "explaining.md", "random.md"]
BLOCK = re.compile(r"^( *)```python\n(.*?)^ *```", re.M | re.S)


def printed(code, names):
    """What code prints, line by line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)
    return out.getvalue().splitlines()


def promises(lines):
    """Which lines of a block are comments below print statements, and so say what is printed."""
    found, before = [], ""
    for k, line in enumerate(lines):
        if line.startswith("# ") and before.startswith(("print", "#")):
            found.append(k)
        before = line
    return found


def refreshed(code, names):
    """Code with what its statements print below them, if there is anything below them now."""
    lines = code.splitlines()
    said = set(promises(lines))
    if not said:
        exec(code, names)
        return code
    out, waiting, done = [], [], 0
    for statement in ast.parse(code).body:
        kept = [k for k in range(done, statement.end_lineno) if k not in said]
        out += [lines[k] for k in kept]
        done = statement.end_lineno
        waiting += printed(compile(ast.Module([statement], []), "<page>", "exec"), names)
        if lines[statement.lineno - 1].startswith("print"):
            out += [f"# {line}" for line in waiting]
            waiting = []
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_print_what_the_page_says(page):
    names, checked = {}, 0
    for _, code in BLOCK.findall((DOCS / page).read_text()):
        code = textwrap.dedent(code)
        lines = code.splitlines()
        said = [lines[k][2:] for k in promises(lines)]
        out = printed(code, names)
        if said:
            assert out == said
            checked += 1
    assert checked


def test_a_block_is_refreshed():
    code = "# a comment\nx = 2\nprint(x)\n# 1\nprint(x, x)\n# 1 1\ny = 3  # a constant\n"
    assert refreshed(code, {}) == code.replace("# 1 1", "# 2 2").replace("# 1\n", "# 2\n")
    assert refreshed("print(1)\n", {}) == "print(1)\n"


def refresh(page):
    """Write a page's outputs."""
    names = {}

    def replace(match):
        code = refreshed(textwrap.dedent(match[2]), names)
        return textwrap.indent(f"```python\n{code}```", match[1])

    path = DOCS / page
    path.write_text(BLOCK.sub(replace, path.read_text()))


if __name__ == "__main__":
    for page in sys.argv[1:]:
        refresh(page)
