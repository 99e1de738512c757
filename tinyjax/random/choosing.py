"""Random choices: permutations, samples with and without replacement, categories."""

import math

import numpy as np

from tinyjax import lax
from tinyjax.array import lift
from tinyjax.numpy import arange, argmax, asarray, cumsum, log, moveaxis, searchsorted, take, zeros
from tinyjax.numpy.checks import check_arraylike, concrete_or_error
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.primitives.linear import canonicalize_axis, canonicalize_shape
from tinyjax.random.distributions import gumbel
from tinyjax.random.draws import draws
from tinyjax.random.keys import typed
from tinyjax.random.uniform import check_shape, randint, raw_bits, two_keys, uniform
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import subprogram

# ---- permutations -------------------------------------------------------------------------------


@draws
@recorded
def permutation(key, x, axis=0, independent=False, *, out_sharding=None):
    """Shuffle an array along an axis, or the integers 0 ... x - 1.

    Args:
      key: a key.
      x: an array, or a number.
      axis: the axis that is shuffled.
      independent: shuffle every line along the axis in its own order.

    Raises TypeError when x is a scalar but no integer.

    >>> import tinyjax as jax
    >>> sorted(jax.random.permutation(jax.random.key(0), 5).tolist())
    [0, 1, 2, 3, 4]
    """
    key, _ = typed("permutation", key)
    check_arraylike("permutation", x)
    axis = canonicalize_axis(axis, np.ndim(x) or 1)
    if not np.ndim(x):
        if lift(x).dtype.kind not in "iu":
            raise TypeError("x must be an integer or at least 1-dimensional")
        count = concrete_or_error(int, x, "argument x of jax.random.permutation()")
        return _shuffle(key, arange(count), axis=axis)
    if independent or np.ndim(x) == 1:
        return _shuffle(key, x, axis=axis)
    order = _shuffle(key, arange(np.shape(x)[axis]), axis=0)
    return take(x, order, axis, unique_indices=True)


@subprogram(static_argnames=("axis",))
def _shuffle(key, x, axis):
    """Sort by random keys, so often that no two elements have all their keys in common."""
    x = lift(x)
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(2**32 - 1))
    for _ in range(rounds):
        key, subkey = two_keys(key)
        _, x = lax.sort_key_val(raw_bits(subkey, 32, x.shape), x, axis)
    return x


# ---- samples ------------------------------------------------------------------------------------


@draws
@recorded
def choice(key, a, shape=(), replace=True, p=None, axis=0, mode=None):
    """Draw elements of an array, or of the integers 0 ... a - 1.

    Args:
      key: a key.
      a: an array, of which rows along axis are drawn, or a number.
      shape: how many, in which shape.
      replace: whether an element may be drawn twice.
      p: the probability of each element; by default they are equal.
      axis: of the array.

    Raises ValueError when there are not enough elements, or p has another shape than (elements,);
    TypeError for a shape that is no sequence.

    >>> import tinyjax as jax
    >>> jax.random.choice(jax.random.key(0), 10, (3,), replace=False).shape
    (3,)
    """
    key, _ = typed("choice", key)
    if not isinstance(shape, (tuple, list)):
        raise TypeError(
            f"shape argument of jax.random.choice must be a sequence, got {shape}: give a tuple, "
            f"for example ({shape},)."
        )
    shape = canonicalize_shape(shape)
    check_arraylike("choice", a)
    arr = asarray(a)
    if arr.ndim:
        axis = canonicalize_axis(axis, arr.ndim)
        n = arr.shape[axis]
    else:
        n = concrete_or_error(int, a, "The error occurred in jax.random.choice()")
    draws = math.prod(shape)
    if draws == 0:
        return zeros(shape, arr.dtype)
    if n <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and draws > n:
        raise ValueError(
            f"Cannot take a larger sample (size {draws}) than population (size {n}) when "
            "'replace=False'"
        )
    if p is not None:
        chosen = weighted_indices(key, shape, draws, n, replace, p, mode)
    elif replace:
        chosen = randint(key, shape, 0, n)
    else:
        shuffled = permutation(key, arr if arr.ndim else n, axis)
        out = shuffled[(slice(None),) * axis + (slice(draws),)]
        return out.reshape(result_shape(arr, shape, axis))
    out = take(arr, chosen, axis) if arr.ndim else chosen
    return out.reshape(result_shape(arr, shape, axis))


def result_shape(arr, shape, axis):
    """The shape of what is drawn from an array, or from numbers."""
    return (*arr.shape[:axis], *shape, *arr.shape[axis + 1 :]) if arr.ndim else shape


def weighted_indices(key, shape, draws, n, replace, p, mode):
    """Indices drawn with given probabilities."""
    check_arraylike("choice", p)
    (p,) = promote_dtypes_inexact(p)
    if p.shape != (n,):
        raise ValueError(
            "p must be None or a 1D vector with the same size as a.shape[axis]. p has shape "
            f"{p.shape} and a.shape[axis] is {n}."
        )
    if replace:
        total = cumsum(p)
        r = total[-1] * (1 - uniform(key, shape, dtype=total.dtype))
        return searchsorted(total, r).astype(int)
    # the largest of log p + Gumbel noise are a sample without replacement
    noisy = gumbel(key, (n,), p.dtype, mode) + log(p)
    return lax.top_k(noisy, draws)[1].astype(int)


# ---- categories ---------------------------------------------------------------------------------


@draws
@recorded
def categorical(key, logits, axis=-1, shape=None, replace=True, mode=None, *, out_sharding=None):
    """Draw categories whose logarithmic probabilities, up to a constant, are given.

    Args:
      key: a key.
      logits: array of logarithms of probabilities.
      axis: along which the categories lie.
      shape: of the result; it must end with the shape of logits without axis, by default it is
        that.
      replace: whether a category may be drawn twice.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.random.categorical(jax.random.key(0), jnp.array([0.0, 50.0, 0.0]))
    Array(1, dtype=int32)
    """
    key, _ = typed("categorical", key)
    check_arraylike("categorical", logits)
    logits = asarray(logits)
    axis = canonicalize_axis(axis, logits.ndim) - logits.ndim
    batch = tuple(n for i, n in enumerate(logits.shape) if i != axis % logits.ndim)
    if shape is None:
        shape = batch
    else:
        shape = canonicalize_shape(shape)
        check_shape("categorical", shape, np.broadcast_to(0, batch))
    prefix = shape[: len(shape) - len(batch)]
    if not replace:
        return distinct_categories(key, logits, axis, shape, prefix, mode)
    full = list(shape[len(prefix) :])
    full.insert(axis % logits.ndim, logits.shape[axis])
    noise = gumbel(key, (*prefix, *full), logits.dtype, mode)
    return argmax(noise + lax.expand_dims(logits, tuple(range(len(prefix)))), axis=axis)


def distinct_categories(key, logits, axis, shape, prefix, mode):
    """Categories drawn without replacement."""
    noisy = logits + gumbel(key, logits.shape, logits.dtype, mode)
    k = math.prod(prefix)
    if k > logits.shape[axis]:
        raise ValueError(
            f"Number of samples without replacement ({k}) cannot exceed number of categories "
            f"({logits.shape[axis]})."
        )
    _, indices = lax.top_k(moveaxis(noisy, axis, -1), k)
    return lax.reshape(indices, shape, (indices.ndim - 1, *range(indices.ndim - 1)))
