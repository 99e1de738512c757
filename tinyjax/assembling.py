"""Arrays made of parts for devices: device_put_sharded, device_put_replicated and others."""

from collections.abc import Sequence

import numpy as np

from tinyjax.array import Array, KeyArray, lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Tracer
from tinyjax.devices import CpuDevice
from tinyjax.dtypes import canonicalize_dtype
from tinyjax.parallel.engine import engine
from tinyjax.parallel.sharded import Layout, ShardedArray, ShardedKeys
from tinyjax.placement import placed
from tinyjax.primitives.stacking import stack
from tinyjax.putting import device_put
from tinyjax.tree_util import tree_flatten, tree_unflatten

# ---- one row for each device ---------------------------------------------------------------------


def device_put_sharded(shards, devices):
    """Stack arrays along a new first axis, so that row i of the result lies on devices[i].

    Args:
      shards: a sequence of pytrees of arrays, alike in structure, shapes and dtypes.
      devices: as many devices, each once.

    pmap over these devices takes the result as it is, without moving data.

    Raises ValueError if the numbers differ, if shards differ, or if a device is named twice.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> x = jax.device_put_sharded([jnp.zeros(2), jnp.ones(2)], jax.devices()[:2])
    >>> x
    Array([[0., 0.],
           [1., 1.]], dtype=float32)
    >>> x.sharding.spec
    P('_device_put_sharded',)
    """
    if not isinstance(shards, Sequence):
        raise TypeError(f"device_put_sharded: shards must be a sequence, got {type(shards)}")
    ids = device_ids("device_put_sharded", devices)
    if len(shards) != len(ids):
        raise ValueError(
            f"device_put_sharded: len(shards) = {len(shards)} must equal len(devices) = {len(ids)}."
        )
    leaves, trees = zip(*map(tree_flatten, shards))
    for i, tree in enumerate(trees):
        if tree != trees[0]:
            raise ValueError(
                f"device_put_sharded: shards must have one structure, but shards[0] is {trees[0]} "
                f"and shards[{i}] is {tree}"
            )
    return tree_unflatten(trees[0], [rows_on(ids, list(map(lift, rows))) for rows in zip(*leaves)])


def device_put_replicated(x, devices):
    """Copies of arrays on devices, stacked along a new first axis.

    Args:
      x: pytree of arrays.
      devices: the devices, each once.

    The data exist once, and all devices look at them. pmap over these devices takes the result as
    it is: as an operand mapped along its first axis.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.device_put_replicated(jnp.arange(2), jax.devices()[:3])
    Array([[0, 1],
           [0, 1],
           [0, 1]], dtype=int32)
    """
    ids = device_ids("device_put_replicated", devices)
    leaves, treedef = tree_flatten(x)
    return treedef.unflatten([copies_on(ids, lift(leaf)) for leaf in leaves])


def device_ids(name, devices):
    """The numbers of devices, which must be different."""
    if not isinstance(devices, Sequence) or not all(isinstance(d, CpuDevice) for d in devices):
        raise TypeError(f"{name}: devices must be a sequence of devices, got {devices!r}")
    ids = tuple(d.id for d in devices)
    if not ids:
        raise ValueError(f"{name}: devices must not be empty.")
    for i in ids:
        if ids.count(i) > 1:
            raise ValueError(f"{name}: each device may appear once, but devices has cpu:{i} twice")
    return ids


def rows_on(ids, rows):
    """Rows as one array, each on its device."""
    for i, row in enumerate(rows):
        if (row.shape, row.dtype) != (rows[0].shape, rows[0].dtype):
            raise ValueError(
                "device_put_sharded: shards must have equal shapes and dtypes, but shards[0] is "
                f"{rows[0].aval.str_short()} and shards[{i}] is {row.aval.str_short()}"
            )
    if any(isinstance(row, Tracer) for row in rows):
        return stack(rows)
    parts = tuple((i,) for i in ids)
    weak = all(row.weak_type for row in rows)
    whole = Array(np.stack([row.npy for row in rows]), weak)
    return stored(whole, whole.npy, parts, Layout(ids, "_device_put_sharded", 0))


def copies_on(ids, value):
    """A value as one array of equal rows, each on its device."""
    if isinstance(value, Tracer):
        return stack([value] * len(ids))
    rows = np.broadcast_to(value.npy, (len(ids), *value.shape))
    whole = Array(rows, value.weak_type)
    return stored(whole, rows[:1], (ids,), Layout(ids, "_device_put_replicated", 0))


def stored(whole, parts, holders, layout):
    """An array whose parts, along a first axis, are in the memory of devices."""
    if isinstance(whole, KeyArray):  # they are kept here
        return ShardedKeys(whole.npy, layout)
    current = engine()
    aval = ShapedArray(whole.shape, whole.dtype, whole.weak_type)
    return ShardedArray(aval, current.put(np.ascontiguousarray(parts), holders), layout, current)


# ---- the parts of a sharding ---------------------------------------------------------------------


def make_array_from_callback(shape, sharding, data_callback, dtype=None):
    """An array whose parts a function computes.

    Args:
      shape: the shape of the whole array.
      sharding: which part each device holds.
      data_callback: called with an index (a tuple of slices) for each device; returns that part.
      dtype: the dtype of the array; that of the parts if left out.

    Raises ValueError for a part of the wrong shape.

    >>> import numpy as np, tinyjax as jax
    >>> cut = jax.NamedSharding(jax.make_mesh((2,), ("x",)), jax.P("x"))
    >>> jax.make_array_from_callback((4,), cut, lambda index: np.arange(4)[index] * 10)
    Array([ 0, 10, 20, 30], dtype=int32)
    """
    indices = list(sharding.devices_indices_map(tuple(shape)).values())
    return assembled(shape, sharding, indices, [lift(data_callback(i)) for i in indices], dtype)


def make_array_from_single_device_arrays(shape, sharding, arrays, *, dtype=None):
    """The array whose parts are on devices already.

    Args:
      shape: the shape of the whole array.
      sharding: which part each device holds.
      arrays: one array for each device of the sharding, on that device.
      dtype: accepted as JAX's.

    Raises ValueError for an array of the wrong shape, or if a device has none or two.
    """
    indices = sharding.devices_indices_map(tuple(shape))
    held = [x.device for x in arrays]
    if len(held) != len(indices) or set(held) != set(indices):
        raise ValueError(
            "make_array_from_single_device_arrays: there must be one array on each of the devices "
            f"{[d.id for d in indices]}, got arrays on {[getattr(d, 'id', d) for d in held]}"
        )
    return assembled(shape, sharding, [indices[d] for d in held], arrays, dtype)


def make_array_from_process_local_data(sharding, local_data, global_shape=None):
    """The array of which this process has its part of the data: all, since there is one process.

    Args:
      sharding: which part each device holds.
      local_data: an array.
      global_shape: the shape of the whole array: that of local_data.

    >>> import numpy as np, tinyjax as jax
    >>> cut = jax.NamedSharding(jax.make_mesh((2,), ("x",)), jax.P("x"))
    >>> jax.make_array_from_process_local_data(cut, np.arange(4)).addressable_data(1)
    Array([2, 3], dtype=int32)
    """
    shape = np.shape(local_data)
    if global_shape is not None and tuple(global_shape) != shape:
        raise ValueError(
            "make_array_from_process_local_data: one process has all data, so global_shape must be "
            f"{shape}, got {tuple(global_shape)}"
        )
    return device_put(local_data, sharding)


def assembled(shape, sharding, indices, parts, dtype):
    """Put parts where their indices say."""
    wanted = sharding.shard_shape(tuple(shape))
    for part in parts:
        if part.shape != wanted:
            raise ValueError(
                f"Expected shard shape {wanted} does not match the shape {part.shape} of a part. "
                f"The whole array has shape {tuple(shape)} and sharding {sharding}"
            )
    first = parts[0].npy
    whole = np.empty(shape, first.dtype if dtype is None else canonicalize_dtype(dtype))
    for index, part in reversed(list(zip(indices, parts))):  # of copies, the first counts
        whole[index] = part.npy
    return placed(Array(whole), sharding)
