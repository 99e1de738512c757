"""The two worlds that the tests compare: jax, the oracle, and tinyjax."""

import jax
import numpy as np

import tinyjax

ORACLE, OURS = jax, tinyjax


def attempt(run, world):
    """-> (result, None), or (None, the error that was raised)."""
    try:
        return run(world), None
    except Exception as error:
        return None, error


def described(leaf, weak=True):
    """dtype, shape and (if it counts) weak type of an output."""
    if isinstance(leaf, (bool, int, float, complex)):
        leaf = jax.numpy.asarray(leaf)  # jax hands some numbers on as they are, we make arrays
    weak = weak and bool(getattr(leaf, "weak_type", False))
    return np.dtype(leaf.dtype).name, tuple(np.shape(leaf)), weak


def compare(got, want, rtol=3e-3, atol=1e-4, weak=True):
    """Assert that two results agree in structure, shapes, dtypes, weak types and values."""
    leaves, tree = tinyjax.tree_util.tree_flatten(got)
    wanted, wanted_tree = jax.tree_util.tree_flatten(want)
    assert str(tree) == str(wanted_tree), f"{tree}\n\nbut jax: {wanted_tree}"
    types, wanted_types = ([described(x, weak) for x in xs] for xs in (leaves, wanted))
    assert types == wanted_types, f"{types}\n\nbut jax: {wanted_types}"
    for x, y in zip(leaves, wanted, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if y.dtype == jax.dtypes.float0:
            continue
        scale = max(1.0, np.max(np.abs(y), initial=0))
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol * scale)


def compare_errors(got, want, words):
    """Assert that both worlds raised errors of one class, ours with these words."""
    assert got is not None, "tinyjax raised nothing"
    assert want is not None, "jax raised nothing"
    assert type(got).__name__ == type(want).__name__, f"{got!r}\n\nbut jax: {want!r}"
    text = str(got).lower()
    missing = [w for w in words if w.lower() not in text]
    assert not missing, f"{missing} missing in: {got}"


def same(run, **tolerances):
    """Run a program in both worlds and compare the results."""
    compare(run(OURS), run(ORACLE), **tolerances)


def same_error(run, *words):
    """Run a program in both worlds: both raise errors of one class. Returns our message."""
    _, error = attempt(run, OURS)
    _, oracle_error = attempt(run, ORACLE)
    compare_errors(error, oracle_error, words)
    return str(error)
