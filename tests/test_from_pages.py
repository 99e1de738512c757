"""The pages for those who come from elsewhere: each name they promise exists, here and in JAX."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
ALIASES = {"jax": "", "jnp": "numpy.", "lax": "lax."}
NAME = re.compile(r"\b(jax|jnp|lax)\.([A-Za-z_]\w*(?:\.\w+)*)")
MODULES = re.compile(r"\b(?:import|from) tinyjax\.?([\w.]*)")


def sections(page: str) -> dict[str, list[list[str]]]:
    """The rows of the tables of a page, as cells, by headline."""
    found: dict[str, list[list[str]]] = {"": []}
    headline = ""
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            headline = line[3:]
            found[headline] = []
        elif line.startswith("|") and not line.startswith("|---"):
            found[headline].append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def names_in(text: str) -> set[str]:
    """The names below `jax` that stand in pieces of code."""
    code = " ".join(re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.S)))
    return {ALIASES[root] + rest for root, rest in NAME.findall(code)}


def exists(package: str, name: str) -> bool:
    """Whether a package has this name; modules on the way are imported."""
    value, path = importlib.import_module(package), package
    for part in name.split("."):
        path = f"{path}.{part}"
        if not hasattr(value, part):
            try:
                importlib.import_module(path)
            except ImportError:
                return False
        value = getattr(value, part)
    return True


def names_of_column(page: str, headline: str, column: int) -> set[str]:
    """The names in one column of the tables below a headline."""
    return {name for row in sections(page)[headline] for name in names_in(row[column])}


@pytest.mark.parametrize("page", ["from_pytorch.md", "from_autograd.md"])
def test_every_name_is_in_jax_and_here(page):
    names = names_in((DOCS / page).read_text(encoding="utf-8"))
    assert len(names) > 15
    assert [name for name in names if not (exists("jax", name) and exists("tinyjax", name))] == []


def test_what_is_the_same_is_in_both():
    names = names_of_column("from_jax.md", "The same", 1)
    names |= names_of_column("from_jax.md", "Different", 2)
    assert len(names) > 40
    assert [name for name in names if not (exists("jax", name) and exists("tinyjax", name))] == []


def test_what_is_missing_is_in_jax_only():
    names = names_of_column("from_jax.md", "Missing", 1)
    assert len(names) > 12
    assert [name for name in names if not exists("jax", name)] == []
    assert [name for name in names if exists("tinyjax", name)] == []


def test_what_stands_in_for_it_is_here():
    names = names_of_column("from_jax.md", "Missing", 2)
    assert len(names) > 8
    assert [name for name in names if not exists("tinyjax", name)] == []


def test_what_is_only_here_is_not_in_jax():
    names = names_of_column("from_jax.md", "Only here", 0)
    assert len(names) > 4
    assert [name for name in names if not exists("tinyjax", name)] == []
    assert [name for name in names if exists("jax", name)] == []


@pytest.mark.parametrize("page", ["from_jax.md", "from_pytorch.md", "from_autograd.md"])
def test_modules_that_are_imported_exist(page):
    for module in MODULES.findall((DOCS / page).read_text(encoding="utf-8")):
        assert module in ("", "mpi") or exists("tinyjax", module.rstrip("."))


@pytest.mark.parametrize("page", ["index.md", "from_pytorch.md", "from_autograd.md"])
def test_the_examples_run_on_jax(page):
    """With another import line; the results are printed as the page shows them."""
    text = (DOCS / page).read_text(encoding="utf-8")
    text = text.replace("import tinyjax as jax", "import jax").replace(
        "import tinyjax", "import jax"
    )
    code = "\n".join(re.findall(r"^```pycon\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    report: list[str] = []
    example = doctest.DocTestParser().get_doctest(code, {}, page, page, 0)
    result = doctest.DocTestRunner().run(example, out=report.append)
    assert result.attempted and not result.failed, "".join(report)
