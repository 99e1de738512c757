"""Keys: explicit random state. The same key gives the same numbers, so use each key once.

A key is an array of dtype key<fry>. Old-style keys, arrays of two uint32 words as PRNGKey makes
them, work everywhere too; functions that return keys then return old-style ones.
"""

from operator import index

import numpy as np

from tinyjax import dtypes
from tinyjax.array import is_arraylike, lift
from tinyjax.config import config
from tinyjax.numpy import asarray
from tinyjax.primitives.linear import canonicalize_shape
from tinyjax.primitives.random_bits import (
    once_more,
    random_clone_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
    random_unwrap_p,
    wrap,
)
from tinyjax.source import warn
from tinyjax.transforms.replay import recorded

IMPLEMENTATION = "threefry2x32"

# ---- what every function asks -------------------------------------------------------------------


def is_key(x):
    """Whether x is an array of typed keys."""
    return isinstance(getattr(x, "dtype", None), dtypes.KeyType)


def typed(name, key, batched=False):
    """-> a typed key, whether it came as an old-style one. name: the function, for messages."""
    if is_key(key):
        wrapped = False
    elif is_arraylike(key):
        check_legacy()
        if np.ndim(key) == 0:
            raise TypeError(
                f"{name} needs a key as its first argument, but got {key!r}. Did you pass a seed? "
                "Make a key of it with jax.random.key(seed)."
            )
        key, wrapped = wrap(key), True
    else:
        raise TypeError(f"unexpected PRNG key type {type(key)}: make one with jax.random.key(seed)")
    if key.ndim and not batched:
        shape = (*key.shape, 2) if wrapped else key.shape
        raise ValueError(
            f"{name} accepts a single key, but was given a key array of shape {shape} != (). "
            "Use jax.vmap for batching."
        )
    return key, wrapped


def check_legacy():
    """Warn of old-style keys, or refuse them, as the flag legacy_prng_key has it."""
    wish = config.legacy_prng_key
    if wish == "allow":
        return
    message = (
        "Legacy uint32 key array passed as key to jax.random function. Please create keys using "
        "jax.random.key(). If use of a raw key array was intended, set "
        'jax_legacy_prng_key="allow".'
    )
    if wish == "error":
        raise ValueError(message)
    warn(message)


def like(wrapped, key):
    """A key in the style in which its parent came."""
    return random_unwrap_p.bind(key) if wrapped and not config.enable_custom_prng else key


def check_impl(impl, dtype, name):
    """There is one generator; JAX's names for it are accepted."""
    if impl is not None and dtype is not None:
        raise ValueError(f"Cannot specify both `impl` and `dtype` arguments to {name}")
    wanted = impl if impl is not None else dtype
    if wanted in (None, IMPLEMENTATION) or is_key_type(wanted):
        return
    if not isinstance(wanted, str):
        raise TypeError(f"unrecognized type {type(wanted)} for specifying PRNG implementation.")
    if wanted in ("rbg", "unsafe_rbg"):
        raise ValueError(
            f'the PRNG implementation "{wanted}" is made by XLA, so it is not available here: use '
            f'"{IMPLEMENTATION}", the default.'
        )
    raise ValueError(
        f'unrecognized PRNG implementation "{wanted}". Did you mean "{IMPLEMENTATION}"? It is the '
        "only one there is."
    )


def is_key_type(dtype):
    """Whether this is the dtype of keys."""
    return isinstance(dtype, dtypes.KeyType)


# ---- making keys --------------------------------------------------------------------------------


def seeded(name, seed):
    """A typed key of a seed."""
    if is_key(seed):
        raise TypeError(f"{name} accepts a scalar seed, but was given a PRNG key.")
    if np.ndim(seed):
        raise TypeError(
            f"{name} accepts a scalar seed, but was given an array of shape {np.shape(seed)} != "
            "(). Use jax.vmap for batching"
        )
    if isinstance(seed, int):  # larger than int32: the lower half, unless x64 is on
        seed = np.int64(seed)
        wide = dtypes.canonicalize_dtype(np.int64)
        seed = lift(seed.astype(wide) if wide.itemsize == 8 else lower_half(seed))
    seed = lift(seed)
    if seed.dtype.kind not in "iu":
        raise TypeError(
            f"PRNG key seed must be an integer; got {seed!r}. For example: jax.random.key(42)."
        )
    return random_seed_p.bind(seed, impl="fry")


def lower_half(number):
    """The lower 32 bits of an int64, as int32."""
    return np.array(int(number) & 0xFFFFFFFF, np.uint32).view(np.int32)


def key(seed, *, impl=None, dtype=None):
    """Make a key of an integer.

    Args:
      seed: an integer.
      impl, dtype: "threefry2x32", the only generator.

    Returns a scalar array of dtype key<fry>.

    Raises TypeError for a seed that is not a scalar integer.

    >>> import tinyjax as jax
    >>> jax.random.key(42)
    Array((), dtype=key<fry>) overlaying:
    [ 0 42]
    """
    check_impl(impl, dtype, "jax.random.key")
    return seeded("key", seed)


def PRNGKey(seed, *, impl=None):
    """Make an old-style key, uint32[2], of an integer.

    >>> import tinyjax as jax
    >>> jax.random.PRNGKey(42)
    Array([ 0, 42], dtype=uint32)
    """
    check_impl(impl, None, "jax.random.PRNGKey")
    return like(True, seeded("PRNGKey", seed))


@recorded
def split(key, num=2):
    """Make new keys of a key, which must not be used again.

    Args:
      key: a key.
      num: how many keys, or the shape of their array.

    Raises ValueError for an array of keys: use vmap.

    >>> import tinyjax as jax
    >>> key, subkey = jax.random.split(jax.random.key(0))
    """
    key, wrapped = typed("split", key)
    shape = canonicalize_shape(num if isinstance(num, (tuple, list)) else (index(num),))
    return like(wrapped, random_split_p.bind(key, shape=shape))


@recorded
def fold_in(key, data):
    """Make a new key of a key and an integer, for example the number of a step.

    Raises TypeError when data is no scalar.

    >>> import tinyjax as jax
    >>> step_key = jax.random.fold_in(jax.random.key(0), 7)
    """
    key, wrapped = typed("fold_in", key)
    if np.ndim(data):
        raise TypeError(
            f"fold_in accepts a scalar, but was given an array of shape {np.shape(data)} != (). "
            "Use jax.vmap for batching."
        )
    return like(wrapped, random_fold_in_p.bind(key, asarray(data, "uint32")))


# ---- looking into keys --------------------------------------------------------------------------


def key_data(keys):
    """The words of keys, uint32[..., 2]."""
    return random_unwrap_p.bind(typed("key_data", keys, batched=True)[0])


def wrap_key_data(key_bits_array, *, impl=None, dtype=None):
    """Keys made of words, uint32[..., 2]: the inverse of key_data.

    Raises TypeError for another shape or dtype.

    >>> import tinyjax as jax
    >>> jax.random.wrap_key_data(jax.random.PRNGKey(42)).dtype
    key<fry>
    """
    check_impl(impl, dtype, "jax.random.wrap_key_data")
    return once_more(wrap(key_bits_array))


def key_dtype(impl_spec=None):
    """The dtype of keys, key<fry>.

    >>> import tinyjax as jax
    >>> jax.random.key_dtype()
    key<fry>
    """
    check_impl(impl_spec, None, "jax.random.key_dtype")
    return dtypes.key_fry


def key_impl(keys):
    """The name of the generator of keys."""
    typed("key_impl", keys, batched=True)
    return IMPLEMENTATION


def clone(key):
    """The same key, as one that may be used again: it tells the reader that this is meant."""
    if not is_key(key):
        return random_unwrap_p.bind(random_clone_p.bind(wrap(key)))
    return random_clone_p.bind(key)
