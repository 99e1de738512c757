"""Where jax is wrong, tinyjax is right; and jax is still wrong, so that this list stays true."""

import jax
import numpy as np
import pytest
from oracle_faults import FAULTS, explains, mended

import tinyjax


def is_right(result, right):
    """Whether a result is the right one, to the sign of zeros and the dtype."""
    leaves, wanted = (tinyjax.tree_util.tree_leaves(x) for x in (result, right))
    return len(leaves) == len(wanted) and all(
        np.asarray(a).dtype == np.asarray(b).dtype
        and np.allclose(np.asarray(a, complex), np.asarray(b, complex), rtol=1e-2, atol=0)
        for a, b in zip(leaves, wanted, strict=True)
    )


@pytest.mark.parametrize("name", FAULTS)
def test_we_are_right(name):
    result = FAULTS[name].run(tinyjax)
    assert is_right(result, FAULTS[name].right), result


@pytest.mark.parametrize("name", FAULTS)
def test_jax_is_still_wrong(name):
    try:
        result = FAULTS[name].run(jax)
    except TypeError:
        return
    assert not is_right(result, FAULTS[name].right), result


def test_mended_functions_really_differ():
    """A function leaves the list when its programs are the same again."""
    for f, args in (("remainder", (1.5, 2.0)), ("log2", (3.0,))):
        ours, theirs = (str(w.make_jaxpr(getattr(w.numpy, f))(*args)) for w in (tinyjax, jax))
        assert ours != theirs and mended(theirs)
    assert not mended(str(jax.make_jaxpr(jax.numpy.floor_divide)(1.5, 2.0)))


def test_faults_explain_only_their_programs():
    assert explains("jnp.power(x, y)", "values 0, but jax: nan") == "zero_to_a_complex_power"
    assert explains("jnp.sin(x)", "values 0, but jax: nan") is None
    assert explains("jnp.power(x, y)", "values 0, but jax: 1") is None
