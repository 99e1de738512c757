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
        assert not [n for n in have + missing if not hasattr(module, n)], path
