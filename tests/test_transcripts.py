"""JAX's documentation by topic: transcripts that must read the same in both worlds.

`tests/transcripts/` holds one script per topic of JAX's documentation, in cells that begin with
`# %%`. Each is run from top to bottom with jax, and again with the import lines changed, as in a
notebook: what a cell prints, the repr of its last expression and its error must be the same.

    python -m tests.test_transcripts jit pytrees     print where the two worlds differ

A line `# raises TypeError: scalar-output, (2,)` in a cell says that it must fail, and with which
words in the message. A line `# within 1e-5` says how far numbers may be apart (relative to the
largest); otherwise by four roundings of a float32 at most.
"""

import ast
import contextlib
import io
import re
import sys
import traceback
import warnings
from pathlib import Path

import jax
import pytest

import tinyjax

FOLDER = Path(__file__).parent / "transcripts"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|\d+e[-+]?\d+)")

# ---- running ------------------------------------------------------------------------------------


def translated(source):
    """The source with the import lines changed: jax is tinyjax."""
    source = re.sub(r"^(\s*)import jax$", r"\1import tinyjax as jax", source, flags=re.M)
    source = re.sub(r"^(\s*)from jax\b", r"\1from tinyjax", source, flags=re.M)
    source = re.sub(r"^(\s*import) jax\.([\w.]+ as)", r"\1 tinyjax.\2", source, flags=re.M)
    dotted = r"\1import tinyjax.\2; import tinyjax as jax"
    return re.sub(r"^(\s*)import jax\.([\w.]+)$", dotted, source, flags=re.M)


def cells(name):
    """The cells of a transcript."""
    parts = re.split(r"^# %%.*\n", (FOLDER / f"{name}.py").read_text(), flags=re.M)
    return [part for part in parts[1:] if part.strip()]


class Cell:
    """What became of one cell: what it printed, the repr of its last expression, its error."""

    def __init__(self, source, names, translate):
        tree = ast.parse(translate(source))
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        self.shown, self.error, self.trace, out = "", None, "", io.StringIO()
        with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                exec(compile(tree, "<cell>", "exec", dont_inherit=True), names)
                if last is not None:
                    value = eval(compile(last, "<cell>", "eval", dont_inherit=True), names)
                    if value is not None:
                        self.shown = repr(value)
            except Exception as error:
                self.error = error
                self.trace = traceback.format_exc()
        # JAX says nothing of two draws from one key, nor of constant indices out of bounds: these
        # pages make them to show what happens
        silent = {tinyjax.errors.KeyReuseWarning, tinyjax.errors.IndexOutOfBoundsWarning}
        told = {w.category for w in caught} - silent
        self.warned = [type.__name__ for type in told]
        self.printed = out.getvalue()


def run(name, ours):
    """Run a transcript from top to bottom in one world."""
    names = {"__name__": "transcript"}
    world = tinyjax if ours else jax
    before = {f: getattr(world.config, f) for f in FLAGS}
    try:
        return [Cell(c, names, translated if ours else str) for c in cells(name)]
    finally:
        for flag, value in before.items():
            world.config.update(flag, value)


FLAGS = ["jax_enable_x64", "jax_debug_nans", "jax_disable_jit", "jax_numpy_rank_promotion"]
FLAGS += ["jax_numpy_dtype_promotion", "jax_debug_key_reuse", "jax_enable_checks"]
FLAGS += ["jax_debug_infs", "jax_default_matmul_precision", "jax_check_tracer_leaks"]

# ---- comparing ----------------------------------------------------------------------------------


def neutral(text):
    """Texts without addresses, names of the package and widths of columns."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text.replace("tinyjax", "jax"))
    return re.sub(r"(?<=[\[( ]) +|(?<=\n) +", " ", text)


def close(text, other, within):
    """Whether two texts are the same, but for the last digits of floats."""
    text, other = neutral(text), neutral(other)
    if text == other:
        return True
    if re.sub(r"\s+", "", NUMBER.sub("#", text)) != re.sub(r"\s+", "", NUMBER.sub("#", other)):
        return False
    pairs = list(zip(NUMBER.findall(text), NUMBER.findall(other), strict=True))
    largest = max([abs(float(y)) for _, y in pairs if abs(float(y)) < float("inf")], default=0)
    for x, y in pairs:
        mantissa, _, power = min(x, y, key=len).partition("e")
        unit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))
        room = max(1.01 * unit, max(within, 5e-7) * largest)
        if abs(float(x) - float(y)) > room:
            return False
    return True


def differences(source, ours, theirs):
    """What differs between two runs of one cell: a list of texts."""
    found = []
    within = re.search(r"# within (\S+)", source)
    within = float(within[1]) if within else 0.0
    expected = re.search(r"# raises (\w+): ?(.*)", source)
    for what in ["printed", "shown"]:
        text, other = getattr(ours, what), getattr(theirs, what)
        if not close(text, other, within):
            found.append(f"{what}:\n{text}\nbut jax:\n{other}")
    if sorted(ours.warned) != sorted(theirs.warned):
        found.append(f"warned: {ours.warned}, but jax: {theirs.warned}")
    for who, cell in [("tinyjax", ours), ("jax", theirs)]:
        if cell.error is None:
            if expected:
                found.append(f"{who} raised nothing")
            continue
        if not expected:
            found.append(f"{who} raised:\n{cell.trace}")
            continue
        if type(cell.error).__name__ != expected[1]:
            found.append(f"{who} raised {type(cell.error).__name__}:\n{cell.trace}")
        words = [w.strip() for w in expected[2].split(", ")]
        lacking = [w for w in words if w.lower() not in str(cell.error).lower()]
        if lacking:
            found.append(f"{who} does not say {lacking}: {cell.error}")
    return found


def compare(name):
    """All differences of a transcript, with the cells in which they are."""
    report = []
    runs = zip(cells(name), run(name, ours=True), run(name, ours=False), strict=True)
    for number, (source, ours, theirs) in enumerate(runs):
        for text in differences(source, ours, theirs):
            report.append(f"== {name}, cell {number}\n{source.strip()}\n--\n{text}")
    return report


@pytest.mark.parametrize("name", NAMES)
def test_reads_as_in_jax(name):
    report = compare(name)
    assert not report, "\n\n".join(report)


if __name__ == "__main__":
    for topic in sys.argv[1:] or NAMES:
        report = compare(topic)
        print(
            "\n\n".join([*report, f"{topic}: {len(cells(topic))} cells, {len(report)} differences"])
        )
