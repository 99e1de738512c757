"""x.at[mask] with a traced mask: what the oracle gives for a mask that it knows."""

import numpy as np
import pytest
from worlds import ORACLE, OURS

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 7
ROWS, COLUMNS, LAST = (np.arange(n) % 2 == 0 for n in X.shape)
INDICES = {
    "everything": lambda ms: X > 3,
    "rows": lambda ms: ms[0],
    "an axis": lambda ms: (slice(None), ms[1]),
    "the last": lambda ms: (..., ms[2]),
    "two axes": lambda ms: (slice(None), (X > 3)[0]),
    "part of a slice": lambda ms: (slice(0, 1), ms[1], slice(None, None, -1)),
    "a new axis": lambda ms: (None, ms[0]),
    "an integer before": lambda ms: (1, ms[1]),
    "an integer after": lambda ms: (ms[0], slice(None), -1),
    "nothing": lambda ms: X > 100,
    "one answer": lambda ms: True,
}
VALUES = {
    "everything": [[2.5]],
    "rows": [X[:1] * 2, X[0, :1]],
    "an axis": [X[:, :1], X[0, 0]],
    "the last": [X[..., :1], X[0, :, :1]],
    "two axes": [X[:, 0, :1]],
    "one answer": [X * 2],
}
UPDATES = ["set", "add", "subtract", "multiply", "divide", "power", "min", "max"]


def is_mask(entry):
    return isinstance(entry, (np.ndarray, bool))


def split(index):
    """-> the mask, and a function from it to the index."""
    entries = index if isinstance(index, tuple) else (index,)
    mask = next(e for e in entries if is_mask(e))
    return mask, lambda m: tuple([m if is_mask(e) else e for e in entries])


def known(world, index, method, *args):
    """The update with a mask that is known."""
    return getattr(world.numpy.asarray(X).at[index], method)(*args)


@pytest.mark.parametrize("transform", ["jit", "vmap"])
@pytest.mark.parametrize("method", UPDATES)
@pytest.mark.parametrize("name", INDICES)
def test_a_traced_mask_chooses(name, method, transform):
    index = INDICES[name]((ROWS, COLUMNS, LAST))
    mask, make = split(index)
    for y in [2.0, *VALUES.get(name, ())]:
        f = lambda m, y=y: getattr(OURS.numpy.asarray(X).at[make(m)], method)(y)
        if transform == "jit":
            ours = OURS.jit(f)(mask)
        else:
            ours = OURS.vmap(f)(np.stack([mask, mask]))[1]
        theirs = known(ORACLE, index, method, y)
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_apply():
    ours = OURS.jit(lambda m: OURS.numpy.asarray(X).at[m].apply(OURS.numpy.exp))(X > 3)
    np.testing.assert_allclose(ours, known(ORACLE, X > 3, "apply", ORACLE.numpy.exp), rtol=1e-6)


def test_gradients():
    """Values that are overwritten have no influence; the new value has that of all its copies."""

    def f(x, y):
        return (x.at[x > 3].set(y) ** 2).sum()

    for world in (OURS, ORACLE):
        both = world.grad(f, (0, 1))
        ours = both(world.numpy.asarray(X), 2.0) if world is ORACLE else OURS.jit(both)(X, 2.0)
        np.testing.assert_allclose(ours[0], np.where(X > 3, 0, 2 * X))
        np.testing.assert_allclose(ours[1], 2 * 2.0 * (X > 3).sum())


@pytest.mark.parametrize(
    "update",
    [
        lambda x, m: x[m],
        lambda x, m: x.at[m].get(),
        lambda x, m: x.at[m].set(-x[0, 0, 0] * np.ones((3, 3, 4), np.float32)),  # as many as True?
        lambda x, m: x.at[m, np.array([0, 1])].set(1.0),
        lambda x, m: x.at[m, :, m].set(1.0),
        lambda x, m: x.at[m, 0].set(np.ones(4, np.float32)),
    ],
)
def test_what_depends_on_the_number_of_true_elements_is_refused(update):
    with pytest.raises(OURS.errors.NonConcreteBooleanIndexError, match="must be concrete"):
        OURS.jit(update)(X, ROWS)


def test_masks_must_fit():
    with pytest.raises(IndexError):
        OURS.jit(lambda x, m: x.at[m].set(1.0))(X, np.ones(3, bool))
