"""The pages of the source hold the files, in order; the table of primitives says what is true."""

import html
import importlib
import itertools
import pkgutil
import re
import sys
from pathlib import Path

import markdown
import numpy as np
import pytest
import site_pages
import test_cards

import tinyjax
from tinyjax.compiler.drive import Driver
from tinyjax.compiler.executable import compile_jaxpr
from tinyjax.compiler.fusion import CallOut
from tinyjax.core import Primitive, all_eqns

ROOT = Path(tinyjax.__file__).parent
sys.path.insert(0, str(ROOT.parent / "docs/hooks"))
primitives_hook = importlib.import_module("primitives")
source_hook = importlib.import_module("source")
names_hook = importlib.import_module("names")
prose_hook = importlib.import_module("prose")
prose, escaped = prose_hook.prose, prose_hook.escaped

# ---- files ---------------------------------------------------------------------------------------


def squeezed(text):
    """Text without white space and what Markdown may change or a heading drop."""
    return "".join(c for c in text if not c.isspace() and c not in "-`#'\"")


@pytest.mark.parametrize("name", source_hook.FILES)
def test_the_parts_of_a_file_are_the_whole_file(name):
    text = (ROOT / f"{name}.py").read_text(encoding="utf-8")
    parts = source_hook.split(text)
    kept = squeezed("\n".join(part.docstring + part.code + part.title for part in parts))
    for line in text.split('"""', 2)[2].splitlines():
        assert squeezed(line) in kept, line


@pytest.mark.slow
def test_the_site_shows_the_files_with_an_anchor_for_each_definition(site, pages):
    for name in source_hook.FILES:
        text = (ROOT / f"{name}.py").read_text(encoding="utf-8")
        parts = source_hook.split(text)
        shown = (site / f"source/{name}.html").read_text(encoding="utf-8")
        shown = html.unescape(site_pages.without_tags(shown))
        for part in parts:
            assert not part.code or part.code in shown, (name, part.title)
        names = {part.title for part in parts if part.kind == "definition"}
        assert names <= pages[f"source/{name}.html"].anchors


@pytest.mark.slow
def test_the_files_can_be_read_one_after_the_other(site, pages):
    for before, after in itertools.pairwise(source_hook.FILES):
        here = f"source/{before}.html"
        targets = {site_pages.target_of(here, link)[0] for link in pages[here].links}
        assert f"source/{after}.html" in targets
        assert 'class="md-footer__link md-footer__link--next"' in (site / here).read_text()


def test_what_a_docstring_becomes():
    said = prose("One *line*.\n\nArgs:\n  x: a\n    thing\n  y: [b]\n\n>>> 1\n1")
    parameters = "**Parameters:**\n\n- `x`: a thing\n- `y`: \\[b\\]"
    assert said == f"One \\*line\\*.\n\n{parameters}\n\n```pycon\n>>> 1\n1\n```"


def test_signs_mean_nothing_outside_of_code():
    html_of = markdown.Markdown(extensions=["tables"]).convert
    text = "a < b_c_d | *e* [f] # `x*y_`"
    shown = html.unescape(site_pages.without_tags(html_of(escaped(text))))
    assert shown == text.replace("`", "")


def test_a_banner_takes_its_comment_along():
    text = '"""Doc."""\n\n# ---- parts ----\n#\n# Why.\n\nx = 1\ny = 2\n\n\n'
    text += '# near\ndef f():\n    """F."""\n    return 1\n'
    banner, code, f = source_hook.split(text)
    assert banner == ("banner", "parts", "Why.", "")
    assert code == ("code", "", "", "x = 1\ny = 2")
    assert f == ("definition", "f", "F.", "# near\ndef f():\n    return 1")


# ---- primitives ----------------------------------------------------------------------------------

CARDS = [card for _, cards in primitives_hook.by_file() for card in cards]


def every_primitive():
    """All primitives that the package makes, wherever."""
    for info in pkgutil.walk_packages(tinyjax.__path__, "tinyjax."):
        if not info.name.endswith("__main__") and "mpi" not in info.name:
            for value in vars(importlib.import_module(info.name)).values():
                if isinstance(value, Primitive):
                    yield value


def test_every_primitive_is_in_the_table():
    assert {id(card) for card in every_primitive()} == {id(card) for card in CARDS}
    assert len(CARDS) == len({id(card) for card in CARDS})


def test_every_row_says_what_the_primitive_computes():
    for card in CARDS:
        says = primitives_hook.meaning(card)
        assert says and not says.endswith("`"), (card, says)
        assert "corresponding elements" not in says, "that is the family's docstring"


MARKS = {card.name: primitives_hook.rules(card) for card in CARDS}


def test_what_kernels_compute_has_the_mark():
    found = set()
    for case in test_cards.CASES:
        jaxpr = tinyjax.make_jaxpr(test_cards.ours(case))(*test_cards.as_arrays(case))
        segments = [s for _, s in Driver(jaxpr, "f", compile_jaxpr).segments]
        fused = [item for s in segments if type(s) is not CallOut for item in s]
        found |= {eqn.primitive.name for item in fused for eqn in item.eqns}
    assert {"sin", "gather", "reduce_sum", "select_n", "dot_general"} <= found
    assert [name for name in sorted(found) if not MARKS[name]["kernel"]] == []


def takes_floats(jaxpr, name):
    """Whether such an equation of a program has a real or complex operand."""
    operands = [v for eqn in all_eqns(jaxpr) if eqn.primitive.name == name for v in eqn.invars]
    return any(tinyjax.dtypes.issubdtype(v.aval.dtype, np.inexact) for v in operands)


def has_derivative(case):
    """Whether a case can be differentiated by its floats; None if its primitive sees none."""
    args = test_cards.as_arrays(case)
    floats = {i: a for i, a in enumerate(args) if test_cards.inexact(case.args[i])}
    jaxpr = tinyjax.make_jaxpr(test_cards.ours(case))(*args)
    if not floats or not takes_floats(jaxpr, case.prim_name):
        return None

    def f(*xs):
        filled = dict(zip(floats, xs))
        return test_cards.ours(case)(*[filled.get(i, a) for i, a in enumerate(args)])

    try:
        xs = list(floats.values())
        tinyjax.make_jaxpr(lambda *xs: tinyjax.jvp(f, xs, xs)[1])(*xs)
    except (NotImplementedError, ValueError):
        return False
    return True


def test_what_has_a_derivative_has_the_mark():
    found = {}
    for case in test_cards.CASES:
        found.setdefault(case.prim_name, set()).add(has_derivative(case))
    for name, answers in found.items():
        if MARKS[name]["jvp"]:
            assert answers & {True, None}, name
        else:
            assert True not in answers, name


# ---- reference -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["numpy", "lax", "random", "nn", "tree_util"])
def test_every_name_has_an_entry(name):
    module = importlib.import_module(f"tinyjax.{name}")
    written = dict(names_hook.pages(module, "numpy.md"))
    table = names_hook.table(module)
    for public, address in names_hook.places(module).items():
        page, _, anchor = address.partition("#")
        assert f"{{ #{anchor} }}" in written[page]
        assert f"`{public}" in table
    assert {"numpy": 300, "lax": 150}.get(name, 15) < table.count("](reference/")


def every_reference_page():
    """address -> text, of all modules of which a page lists the names."""
    found = {}
    for path in sorted((ROOT.parent / "docs").glob("*.md")):
        for place in names_hook.PLACE.finditer(path.read_text(encoding="utf-8")):
            found.update(names_hook.pages(importlib.import_module(place["module"]), path.name))
    return found


def in_jax(name):
    """JAX's thing for a name such as tinyjax.scipy.stats.norm.pdf, or None."""
    return pkgutil.resolve_name(name.replace("tinyjax", "jax", 1))


def test_every_entry_is_a_name_of_jax_or_an_extra():
    extras = {f"{module}.{name}" for module, names in names_hook.EXTRAS.items() for name in names}
    texts = every_reference_page()
    anchors = [a for text in texts.values() for a in re.findall(r"^## .*\{ #(\S+) \}$", text, re.M)]
    assert len(anchors) > 1000
    for anchor in set(anchors) - extras:
        assert in_jax(anchor) is not None
    assert extras <= set(anchors)
    headlines = [text.partition("\n")[0] for text in texts.values()]
    assert len(headlines) == len(set(headlines))


@pytest.mark.slow
def test_methods_in_the_reference_are_methods_of_jax(pages):
    shown = {a for page in ("api.html", "api_arrays.html") for a in pages[page].anchors}
    methods = [a for a in shown if a.startswith("tinyjax.") and a.rpartition(".")[0] in shown]
    assert {"tinyjax.custom_jvp.defjvp", "tinyjax.P.update"} <= set(methods)
    for method in methods:
        assert in_jax(method) is not None


@pytest.mark.slow
def test_pages_have_titles_of_their_own_and_no_headline_is_left_out(site, pages):
    titles, jumps = {}, []
    for page in pages:
        text = (site / page).read_text(encoding="utf-8")
        titles.setdefault(re.search(r"<title>(.*?)</title>", text, re.S)[1], []).append(page)
        levels = [1, *map(int, re.findall(r"<h([1-6])\b", text))]
        if any(after > before + 1 for before, after in itertools.pairwise(levels)):
            jumps.append(page)
    assert {title: found for title, found in titles.items() if len(found) > 1} == {}
    assert [page for page in jumps if page.startswith(("source/", "reference/"))] == []


def test_a_definition_without_a_banner_stands_below_the_title():
    shown = source_hook.page("x", '"""Doc."""\n\n\nx = 1\n\n\ndef f():\n    pass\n')
    assert "\n## `f` { #f }" in shown


def test_an_entry_has_signature_parameters_errors_and_example():
    text = names_hook.entry("here", "array", tinyjax.numpy.array, [])
    assert "array(object, dtype=None, *, copy=True, order='K', ndmin=0, device=None)" in text
    assert "- `dtype`: of the result" in text
    assert "**Raises:**\n\n- `TypeError`: " in text
    assert "```pycon\n>>> import tinyjax.numpy as jnp\n" in text


def test_an_enumeration_shows_its_members():
    text = names_hook.entry("here", "Precision", tinyjax.lax.Precision, [])
    assert "```python\nPrecision.DEFAULT\nPrecision.HIGH\nPrecision.HIGHEST\n```" in text


def test_a_long_signature_takes_several_lines():
    def long(first="a, b", *, second_of_the_parameters=float, third_of_the_parameters=np):
        """Nothing."""

    shown = names_hook.signature(long)
    assert names_hook.signature(lambda x, y=1: x) == "(x, y=1)"
    assert "second_of_the_parameters=float" in shown and "third_of_the_parameters=..." in shown


def test_the_reference_asks_for_functions_not_for_files():
    """A name that is also a file's would show the file, with all that is in it."""
    for page in ("api.md", "api_arrays.md"):
        text = (ROOT.parent / "docs" / page).read_text(encoding="utf-8")
        for name in re.findall(r"^::: tinyjax\.(\S+)", text, re.MULTILINE):
            assert not (ROOT / name.replace(".", "/")).with_suffix(".py").exists(), name


@pytest.mark.slow
def test_names_lead_to_their_entries(pages):
    targets = {site_pages.target_of("numpy.html", link) for link in pages["numpy.html"].links}
    assert ("reference/numpy/reductions.html", "tinyjax.numpy.mean") in targets
    assert "tinyjax.numpy.mean" in pages["reference/numpy/reductions.html"].anchors
