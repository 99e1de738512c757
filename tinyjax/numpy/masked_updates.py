"""x.at[mask].set(y) where the mask is traced.

How many elements a traced mask takes is not known, so x[mask] has no shape, and JAX refuses both to
read and to write. But to write, the shape is not needed if y has one value for all the elements of
the mask: update everything that the rest of the index takes, and let the mask choose.
"""

from tinyjax import lax
from tinyjax.numpy.checks import is_concrete
from tinyjax.numpy.index_parsing import ELLIPSIS, INT, MASK, NEW, SLICE


def traced_mask(items, x, y):
    """The place of the one traced mask among an index's items, if it can be a choice; else None."""
    found = [i for i, item in enumerate(items) if item.kind == MASK]
    if len(found) != 1 or is_concrete(items[found[0]].value):
        return None
    kinds = {item.kind for item in items} - {MASK}
    if not kinds <= {ELLIPSIS, INT, NEW, SLICE} or INT in kinds and y.ndim:
        return None
    mask = items[found[0]]
    if mask.value.shape != tuple(x.shape[d] for d in mask.axes):
        return None
    axis = y.ndim - 1 - axes_after(items, found[0], x)
    return found[0] if axis < 0 or y.shape[axis] == 1 else None


def axes_after(items, place, x):
    """How many axes of x[index] come after that of the mask."""
    rest = x.ndim - sum(len(item.axes) for item in items)
    return rest + sum(
        len(item.axes) + (item.kind == NEW) - (item.kind == INT) for item in items[place + 1 :]
    )


def masked_update(x, items, place, y, update):
    """x with update(x, index, y) where the mask says so; the index takes all that the mask might.

    >>> import tinyjax as jax
    >>> relu = jax.jit(lambda x: x.at[x < 0].set(0.0))
    >>> relu(jax.numpy.array([-1.0, 2.0]))
    Array([0., 2.], dtype=float32)
    """
    mask = items[place]
    axis = y.ndim - 1 - axes_after(items, place, x)
    if axis >= 0:  # y has an axis for the elements of the mask: now one per axis of the mask
        ones = (1,) * len(mask.axes)
        y = lax.reshape(y, y.shape[:axis] + ones + y.shape[axis + 1 :])
    before, after = items[:place], items[place + 1 :]
    index = [item.value for item in before] + [slice(None)] * len(mask.axes)
    updated = update(x, tuple(index + [item.value for item in after]), y)
    chosen = lax.broadcast_in_dim(mask.value, x.shape, mask.axes)
    return lax.select(chosen, updated, x)
