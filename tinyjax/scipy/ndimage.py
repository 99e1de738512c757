"""jax.scipy.ndimage: values of an array between its elements."""

import functools
import itertools
import math
import operator

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.transforms.subprogram import subprogram

__all__ = ["map_coordinates"]


def mirrored(index, size):
    """Back and forth, without repeating the ends."""
    last = size - 1
    return jnp.abs((index + last) % (2 * last) - last)


def reflected(index, size):
    """Back and forth, with the ends twice."""
    return jnp.floor_divide(mirrored(2 * index + 1, 2 * size + 1) - 1, 2)


#: What an index outside of the array stands for.
INSIDE = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": mirrored,
    "reflect": reflected,
}


def rounded(x):
    """To whole numbers, halves away from zero."""
    return x if x.dtype.kind in "iu" else lax.round(x)


def nearest(coordinate):
    """-> one (index, weight)."""
    return [(rounded(coordinate).astype(np.int32), coordinate.dtype.type(1))]


def neighbours(coordinate):
    """-> (index, weight) of the elements on both sides."""
    lower = jnp.floor(coordinate)
    above = coordinate - lower
    below = 1 - above
    index = lower.astype(np.int32)
    return [(index, below), (index + 1, above)]


@subprogram(static_argnames=("order", "mode", "cval"))
def _map_coordinates(input, coordinates, order, mode, cval):
    """map_coordinates, of arrays."""
    x, coordinates = jnp.asarray(input), [jnp.asarray(c) for c in coordinates]
    cval = jnp.asarray(cval, x.dtype)
    if len(coordinates) != x.ndim:
        raise ValueError(
            "coordinates must be a sequence of length input.ndim, but "
            f"{len(coordinates)} != {x.ndim}"
        )
    if mode not in INSIDE:
        raise NotImplementedError(
            f"jax.scipy.ndimage.map_coordinates does not yet support mode {mode}. Currently "
            f"supported modes are {set(INSIDE)}."
        )
    if order not in (0, 1):
        raise NotImplementedError("jax.scipy.ndimage.map_coordinates currently requires order<=1")
    axes = []
    for coordinate, size in zip(coordinates, x.shape):
        axes.append([])
        for index, weight in neighbours(coordinate) if order else nearest(coordinate):
            inside = INSIDE[mode](index, size)
            valid = (index >= 0) & (index < size) if mode == "constant" else None
            axes[-1].append((inside, valid, weight))
    terms = []
    for corner in itertools.product(*axes):
        places, valid, weights = zip(*corner)
        if mode == "constant":
            value = jnp.where(functools.reduce(operator.and_, valid), x[places], cval)
        else:
            value = x[places]
        terms.append(math.prod(weights[1:], start=weights[0]) * value)
    out = sum(terms[1:], terms[0])
    return (rounded(out) if x.dtype.kind in "iu" else out).astype(x.dtype)


def map_coordinates(input, coordinates, order, mode="constant", cval=0.0):
    """The values of an array at coordinates that need not be whole numbers.

    Args:
      input: array.
      coordinates: for each axis an array of coordinates; all of one shape.
      order: 0: the nearest element; 1: between the neighbours, linearly.
      mode: what lies outside: 'constant' (cval), 'nearest', 'wrap', 'mirror', 'reflect'.
      cval: the constant.

    Raises ValueError unless there is one array of coordinates per axis, NotImplementedError for
    other orders and modes.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy.ndimage import map_coordinates
    >>> map_coordinates(jnp.array([0.0, 10.0, 20.0]), [jnp.array([0.5, 1.25])], order=1)
    Array([ 5. , 12.5], dtype=float32)
    """
    return _map_coordinates(input, coordinates, order, mode, cval)
