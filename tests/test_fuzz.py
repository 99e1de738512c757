"""300 random programs over the public API (tests/fuzz.py), and the fuzzer's own parts."""

import dataclasses

import fuzz
import numpy as np
import pytest
from fuzz_programs import Program

import tinyjax


@pytest.mark.parametrize("seed", range(0, 300, 10))
def test_random_programs(seed):
    """Values, types and errors are the oracle's, eagerly and compiled."""
    reports = [fuzz.failure(s, forms=False) for s in range(seed, seed + 10)]
    assert not any(reports), "\n".join(filter(None, reports))


PROGRAM = Program(
    args=(("float32", (3,), 1), ("float32", (2, 3), 2)),
    lines=(("v0", "jnp.sin(x0)"), ("v1", "jnp.cos(x1)"), ("v2", "v0 * 2"), ("v3", "v1 + v2")),
    outputs=("v2", "v3"),
)


def wrong_cosine(monkeypatch):
    """tinyjax with one function broken."""
    right = tinyjax.numpy.cos
    monkeypatch.setattr(tinyjax.numpy, "cos", lambda x: right(x) * 1.01)


def test_a_wrong_function_is_found_and_the_program_made_small(monkeypatch):
    assert fuzz.judge(PROGRAM) is None
    wrong_cosine(monkeypatch)
    kind, text = fuzz.judge(PROGRAM)
    assert kind == "eager result" and "but jax" in text
    small = fuzz.minimised(PROGRAM, kind, forms=True)
    assert small.lines == (("v1", "jnp.cos(x1)"),) and small.outputs == ("v1",)
    assert all(seed == 0 for _, _, seed in small.args)


@pytest.mark.parametrize("call", ["grad", "jvp", "vmap", "vmap_grad", "grad_grad"])
def test_wrong_functions_are_found_under_transformations(monkeypatch, call):
    program = dataclasses.replace(PROGRAM, call=call, axes=(0, None))
    assert fuzz.judge(program, forms=False) is None
    wrong_cosine(monkeypatch)
    assert fuzz.judge(program, forms=False)[0] == "eager result"


def test_types_and_errors_count(monkeypatch):
    with monkeypatch.context() as patch:
        right = tinyjax.numpy.cos
        patch.setattr(tinyjax.numpy, "cos", lambda x: right(x).astype("float16"))
        assert "types" in fuzz.judge(dataclasses.replace(PROGRAM, outputs=("v1",)))[1]
    with monkeypatch.context() as patch:
        patch.setattr(tinyjax.numpy, "cos", None)  # nothing to call
        assert fuzz.judge(PROGRAM)[0] == "eager error"


def test_what_counts_as_different():
    one = np.float32([1.0, np.nan, np.inf])
    assert not fuzz.differ(one, one, [])
    assert fuzz.differ(one, np.float32([1.01, np.nan, np.inf]), [])
    assert fuzz.differ(one, np.float32([1.0, 0.0, np.inf]), [])
    assert fuzz.differ(one, np.float32([1.0, np.nan, -np.inf]), [])
    assert not fuzz.differ(np.int32([1]), np.int32([2]), [np.int32([1])])  # jax is of two minds
    assert fuzz.differ(np.int32([1]), np.int32([2]), [np.int32([2])])


def test_a_program_is_text_that_runs(capsys):
    """What a report shows can be pasted into a file."""
    text = "import {0} as jax, {0}.numpy as jnp\nfrom {0} import lax\nimport numpy as np\n"
    printed = []
    for world in ("tinyjax", "jax"):
        exec(text.format(world) + fuzz.program_of(3).text(), {})
        printed.append(capsys.readouterr().out)
    assert printed[0] and printed[0].count("Array") == printed[1].count("Array")
