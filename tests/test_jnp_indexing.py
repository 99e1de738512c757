"""x[...] and x.at[...] against the oracle: known, traced, with index arrays and masks."""

import jax
import numpy as np
import pytest
from jnp_check import F, M, N, T, check, check_error

import tinyjax

IDX, IDX2 = np.array([0, 2]), np.array([[0, 1], [2, 0]])
KEYS = {
    "int": 0, "negative": -1, "beyond": 10, "slice": slice(1, 3), "step": slice(None, None, 2),
    "reversed": slice(None, None, -1), "reversed_step": slice(3, 0, -2), "ellipsis": Ellipsis,
    "none": None, "pair": (0, 1), "column": (slice(None), 1), "trailing_none": (Ellipsis, None),
    "none_int": (None, 0), "two_slices": (slice(1, None), slice(None, None, -1)),
    "backwards": slice(5, 2), "int_ellipsis": (0, Ellipsis), "negatives": (-1, -2), "empty": (),
    "nothing": slice(0, 0), "numpy_int": np.int64(1),
    "array": IDX, "negative_array": np.array([-1, 0]), "array_int": (IDX, 1),
    "slice_array": (slice(None), IDX), "same_array_twice": (IDX, IDX), "matrix": IDX2,
    "lists": ([0, 1], [1, 2]), "mask": np.array([True, False, True]), "full_mask": M > 0.5,
    "mask_int": (np.array([True, False, True]), 1), "true": True, "false": False,
    "array_step": (IDX, slice(None, None, 2)), "window_array": (slice(1, 3), IDX),
    "none_array": (None, IDX), "array_none": (IDX, None),
    "reversed_array": (slice(None, None, -1), IDX), "apart": (IDX, None, IDX),
    "unsigned": np.array([0, 1], np.uint8), "no_indices": np.array([], int),
    "two_masks": (np.array([True, False, True]), np.array([True, False, True, False])),
}  # fmt: skip
KEYS_3D = {
    "apart": (0, slice(None), IDX), "arrays_apart": (np.array([0, 1]), slice(None), IDX),
    "last_two": (slice(None), IDX, IDX), "int_array": (slice(None), 0, IDX),
    "ellipsis_array": (Ellipsis, IDX), "ints": (1, Ellipsis, 2),
    "slices": (slice(None), slice(1, 3), slice(None, None, 2)), "nones": (None, 0, None, 1),
    "mask_2d": (np.ones((2, 3), bool), 1),
}  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_get(key):
    """x[key]."""
    check(lambda jnp, x: x[KEYS[key]], M)


@pytest.mark.parametrize("key", KEYS)
def test_set_and_add(key):
    """x.at[key].set and .add."""
    check(lambda jnp, x: x.at[KEYS[key]].set(7.0), M)
    check(lambda jnp, x: x.at[KEYS[key]].add(1), N)


@pytest.mark.parametrize("key", KEYS_3D)
def test_three_axes(key):
    """Three axes."""
    check(lambda jnp, x: x[KEYS_3D[key]], T)
    check(lambda jnp, x: x.at[KEYS_3D[key]].mul(2.0), T)


TRACED = {
    "get": lambda jnp, x, i: x[i],
    "get_pair": lambda jnp, x, i: x[i, 0],
    "get_twice": lambda jnp, x, i: x[i, i],
    "get_column": lambda jnp, x, i: x[:, i],
    "get_window": lambda jnp, x, i: x[i, 1:3],
    "get_step": lambda jnp, x, i: x[i, ::2],
    "get_none": lambda jnp, x, i: x[None, i],
    "get_reversed": lambda jnp, x, i: x[i, ::-1],
    "get_fill": lambda jnp, x, i: x.at[i].get(mode="fill", fill_value=-1.0),
    "get_clip": lambda jnp, x, i: x.at[i].get(mode="clip"),
    "get_no_wrap": lambda jnp, x, i: x.at[i].get(wrap_negative_indices=False),
    "set": lambda jnp, x, i: x.at[i].set(0.0),
    "set_column": lambda jnp, x, i: x.at[:, i].set(1.0),
    "set_drop": lambda jnp, x, i: x.at[i].set(1.0, mode="drop"),
    "set_clip": lambda jnp, x, i: x.at[i].set(1.0, mode="clip"),
    "add": lambda jnp, x, i: x.at[i, 1].add(3.0),
    "subtract": lambda jnp, x, i: x.at[i].subtract(3.0),
    "multiply": lambda jnp, x, i: x.at[i].multiply(3.0),
    "divide": lambda jnp, x, i: x.at[i].divide(2.0),
    "power": lambda jnp, x, i: x.at[i].power(2.0),
    "min": lambda jnp, x, i: x.at[i].min(0.3),
    "max": lambda jnp, x, i: x.at[i].max(0.3),
    "apply": lambda jnp, x, i: x.at[i].apply(jnp.sin),
}


@pytest.mark.parametrize("what", TRACED)
@pytest.mark.parametrize("i", [np.int32(1), np.array([0, 2], np.int32)], ids=["int", "array"])
def test_traced(what, i):
    """Indices that are arguments."""
    check(TRACED[what], M, i)


FUNCTIONS = {
    "take": lambda jnp, x: jnp.take(x, IDX),
    "take_axis": lambda jnp, x: jnp.take(x, np.array([0, 5]), axis=1),
    "take_clip": lambda jnp, x: jnp.take(x, np.array([0, 5]), axis=1, mode="clip"),
    "take_wrap": lambda jnp, x: jnp.take(x, np.array([0, 5]), axis=1, mode="wrap"),
    "take_one": lambda jnp, x: jnp.take(x, 1, axis=0),
    "along_1": lambda jnp, x: jnp.take_along_axis(x, np.array([[0], [1], [2]]), axis=1),
    "along_0": lambda jnp, x: jnp.take_along_axis(x, np.array([[0, 1, 2, 0]]), axis=0),
    "along_flat": lambda jnp, x: jnp.take_along_axis(x, np.array([0, 3]), axis=None),
    "put_along": lambda jnp, x: jnp.put_along_axis(
        x, np.array([[0], [1], [2]]), 9.0, axis=1, inplace=False
    ),
    "iterate": lambda jnp, x: list(x),
    "unpack": lambda jnp, x: (lambda a, b, c: a + b * c)(*x),
    "length": lambda jnp, x: x * len(x),
    "get_fill": lambda jnp, x: x.at[10].get(mode="fill", fill_value=0.0),
    "put": lambda jnp, x: jnp.put(x, np.array([1, 5]), 3.0, inplace=False),
    "place": lambda jnp, x: jnp.place(x, x > 0.5, np.array([1.0, 2.0], np.float32), inplace=False),
    "unravel_index": lambda jnp, x: jnp.unravel_index(jnp.array([1, 5]), (3, 4)),
    "ravel_multi_index": lambda jnp, x: jnp.ravel_multi_index(
        (jnp.array([0, 2]), jnp.array([1, 5])), (3, 4), mode="clip"
    ),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions(function):
    """take and its kin."""
    check(FUNCTIONS[function], M)


def test_duplicate_indices_accumulate():
    """An index that occurs twice adds twice."""
    check(lambda jnp, x: x.at[np.array([1, 1, 2])].add(2.5), F)


GRADIENTS = {
    "slice": lambda x: x[1, ::2].sum() ** 2,
    "gather": lambda x: (x[np.array([0, 2, 0]), 1] ** 2).sum(),
    "reversed": lambda x: (x[::-1, 0] * x[:, 1]).sum(),
    "mask": lambda x: (x[M > 0.5] ** 3).sum(),
    "set": lambda x: (x.at[0].set(2.0) ** 2).sum(),
    "set_value": lambda x: (x.at[:, 1].set(x[:, 0] ** 2) ** 2).sum(),
    "add": lambda x: (x.at[np.array([0, 0])].add(x[1]) ** 2).sum(),
    "multiply": lambda x: (x.at[1].multiply(x[0]) ** 2).sum(),
    "max": lambda x: (x.at[1].max(0.9) ** 2).sum(),
}


@pytest.mark.parametrize("what", GRADIENTS)
def test_gradients(what):
    """Gradients flow through reads and updates."""
    want = jax.grad(GRADIENTS[what])(jax.numpy.asarray(M))
    got = tinyjax.grad(GRADIENTS[what])(tinyjax.numpy.asarray(M))
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("what", ["get", "get_window", "get_column", "set", "add", "get_fill"])
def test_batched_indices(what):
    """vmap over the index is a loop."""
    import tinyjax.numpy as jnp

    i = jnp.array([2, 0, 1])
    got = tinyjax.vmap(lambda i: TRACED[what](jnp, jnp.asarray(M), i))(i)
    want = [TRACED[what](jax.numpy, jax.numpy.asarray(M), int(k)) for k in i]
    np.testing.assert_allclose(got, np.stack(want), rtol=1e-6)


REFUSED = {
    "too_many": (lambda jnp, x: x[0, 0, 0], ("Too many indices: array is 2-dimensional",)),
    "float": (lambda jnp, x: x[1.5], ("integer or boolean type",)),
    "list": (lambda jnp, x: x[[0, 1]], ("non-tuple sequence", "array(seq)")),
    "string": (lambda jnp, x: x["a"], ("string indexing",)),
    "two_ellipses": (lambda jnp, x: x[..., ...], ("single ellipsis",)),
    "mask_shape": (lambda jnp, x: x[np.array([True, False])], ("boolean index did not match",)),
    "assignment": (lambda jnp, x: x.__setitem__(0, 10), ("immutable", "x.at[0].set(10)")),
    "put_inplace": (lambda jnp, x: jnp.put(x, 0, 1.0), ("inplace=False",)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors(case):
    """Bad indices are refused."""
    f, words = REFUSED[case]
    words = words if case != "assignment" else words[:1]
    check_error(f, M, words=words)


def test_assignment_shows_what_to_write():
    """x[0] = 10 names the update that does it."""
    with pytest.raises(TypeError, match=r"x\.at\[0\]\.set\(10\)"):
        tinyjax.numpy.zeros(3)[0] = 10


@pytest.mark.parametrize(
    "f, words",
    [
        (lambda x, m: x[m], "jnp.where"),
        (lambda x, m: x[: m.sum()], "Slice entries must be static integers"),
    ],
)
def test_traced_masks_and_slices(f, words):
    """What needs a known size says so under jit."""
    mask = tinyjax.numpy.asarray(np.array([True, False, True]))
    with pytest.raises(IndexError, match=words):
        tinyjax.jit(f)(tinyjax.numpy.asarray(M), mask)
