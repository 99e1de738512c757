"""docs/coverage.md says what is true."""

import importlib

import api_table

import tinyjax


def test_the_page_is_the_table():
    """Run `make api-table` after adding a name."""
    assert api_table.PAGE.read_text() == api_table.page()


def test_names_that_are_known_to_exist_and_to_lack():
    table = api_table.coverage()
    assert "grad" in table["jax"][0] and hasattr(tinyjax, "grad")
    for path, (have, missing) in table.items():
        module = importlib.import_module(path)
        assert not [n for n in have + missing if not api_table.has(module, n)], path
    assert "norm.pdf" in table["jax.scipy.stats"][0] and "ArrayLike" in table["jax.typing"][0]


def test_what_is_left_out_is_jaxs_and_not_here():
    left_out = api_table.left_out()
    assert {name.rpartition(".")[2] for name in left_out} == set(api_table.ELSEWHERE.split())
    for name in left_out:
        path, _, last = name.rpartition(".")
        assert not hasattr(importlib.import_module(f"tiny{path}"), last), name
