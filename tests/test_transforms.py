"""The transformations, in every combination: the same programs in tinyjax and in jax."""

import pytest
from programs import PROGRAMS
from worlds import ORACLE, OURS, attempt, compare, compare_errors

# `make check` runs the value, grad, jit_grad and vmap_jit_grad of each function only
FAST = ("value", "grad", "jit_grad", "vmap_jit_grad")


def marked(program):
    """The program as a test's parameter."""
    name, _, mode = program.name.partition("/")
    slow = mode not in ("", *FAST) or name.endswith(("_in_jit", "_in_grad"))
    return pytest.param(program, id=program.name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.filterwarnings("error::RuntimeWarning")  # every program must compile
@pytest.mark.parametrize("program", list(map(marked, PROGRAMS)))
def test_program(program):
    """Values, dtypes and weak types are jax's; or the error's class is, and its words teach."""
    got, error = attempt(program.run, OURS)
    want, oracle_error = attempt(program.run, ORACLE)
    if program.error is not None:
        assert program.error.name == type(oracle_error).__name__
        compare_errors(error, oracle_error, program.error.words)
        return
    assert oracle_error is None, f"jax raised {oracle_error!r}"
    if error is not None:
        raise error
    compare(got, want, weak=program.weak)
