"""Where an array is: the devices that hold it, its sharding, and its parts.

An array that was not put elsewhere is on the default device. Operations do not look at this: their
results are ordinary arrays again. Only pmap's results are on its devices.
"""

import math
from functools import cache

from tinyjax import errors
from tinyjax.array import Array, KeyArray
from tinyjax.core import Tracer
from tinyjax.devices import CpuDevice, current_device
from tinyjax.parallel.sharded import ShardedArray, ShardedKeys
from tinyjax.printer import install
from tinyjax.sharding.mesh import Mesh
from tinyjax.sharding.shardings import NamedSharding, SingleDeviceSharding
from tinyjax.sharding.spec import P

# ---- arrays that were put somewhere --------------------------------------------------------------


class PlacedArray(Array):
    """An Array that was put somewhere. place: its sharding; by_name: not by `default_device`."""

    __slots__ = ("by_name", "place")


class PlacedKeyArray(KeyArray):
    """The same, of random keys."""

    __slots__ = ("by_name", "place")


def placed(array, sharding, committed=True):
    """An Array with the same data, in the place that a sharding says."""
    copy = object.__new__(PlacedKeyArray if isinstance(array, KeyArray) else PlacedArray)
    copy.npy, copy.weak_type, copy.literal = array.npy, array.weak_type, False
    copy.place, copy.by_name = sharding, committed
    return copy


# ---- questions -----------------------------------------------------------------------------------


@cache
def layout_sharding(layout):
    """The sharding of an array that pmap returned."""
    name = str(layout.axis_name)
    mesh = Mesh([CpuDevice(i) for i in layout.devices], (name,))
    return NamedSharding(mesh, P() if layout.cut is None else P(*[None] * layout.cut, name))


def sharding_of(x):
    """Which devices hold which parts of an Array."""
    if isinstance(x, (ShardedArray, ShardedKeys)):
        return layout_sharding(x.layout)
    return getattr(x, "place", None) or SingleDeviceSharding(current_device())


def device_of(x):
    """The device that holds an Array; its sharding, if there are several."""
    sharding = sharding_of(x)
    return sharding if sharding.num_devices > 1 else sharding._device_assignment[0]


def is_committed(x):
    """Whether an Array was put where it is by name, or by pmap."""
    return isinstance(x, (ShardedArray, ShardedKeys)) or getattr(x, "by_name", False)


class Shard:
    """The part of an array that one device holds."""

    __slots__ = ("_array", "device", "index", "replica_id")

    def __init__(self, array, device, index, replica_id):
        self._array, self.device = array, device
        self.index, self.replica_id = index, replica_id

    @property
    def data(self):
        """The part as an Array on this device. Asking for it waits for the value."""
        part = Array(self._array.npy[self.index], self._array.weak_type)
        return placed(part, SingleDeviceSharding(self.device))

    def __repr__(self):
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def shards_of(x):
    """The parts of an Array, one for each device. Copies of a part are counted by replica_id."""
    shards, copies = [], {}
    for device, index in sharding_of(x).devices_indices_map(x.shape).items():
        part = tuple((s.start, s.stop) for s in index)
        replica_id = copies[part] = copies.get(part, -1) + 1
        shards.append(Shard(x, device, index, replica_id))
    return shards


def bytes_on_devices(x):
    """The memory that all parts of an Array take together, copies included."""
    sharding = sharding_of(x)
    return math.prod(sharding.shard_shape(x.shape)) * x.itemsize * sharding.num_devices


# ---- as attributes of arrays ---------------------------------------------------------------------


def on_value(name, read, tracer_error):
    """A property of Arrays that tracers do not have."""

    def get(x):
        if isinstance(x, Tracer):
            raise tracer_error(x, name)
        return read(x)

    return property(get)


def no_attribute(x, name):
    """Tracers do not know where they are."""
    return AttributeError(
        f"The '{name}' attribute is not available on traced array with shape "
        f"{x.aval.str_short()}. To query sharding information on tracers, use `jax.typeof(x)`."
    )


def not_concrete(x, name):
    """Tracers are nowhere."""
    return errors.ConcretizationTypeError(
        "Abstract tracer value encountered where concrete value is expected: traced array with "
        f"shape {x.aval.str_short()}\nThe '{name}' attribute is not available on traced arrays, "
        f"whose values are nowhere yet.\n{x.origin()}"
    )


def devices_method(x):
    """The set of devices that hold the array."""
    if isinstance(x, Tracer):
        raise not_concrete(x, "devices")
    return sharding_of(x).device_set


def is_replicated(x):
    """Whether every device holds the whole Array."""
    return sharding_of(x).is_fully_replicated


for _cls in (Array, Tracer):
    install(
        _cls,
        devices=devices_method,
        device=on_value("device", device_of, no_attribute),
        sharding=on_value("sharding", sharding_of, no_attribute),
        committed=on_value("committed", is_committed, not_concrete),
        addressable_shards=on_value("addressable_shards", shards_of, not_concrete),
        global_shards=on_value("global_shards", shards_of, not_concrete),
        is_fully_addressable=on_value("is_fully_addressable", lambda x: True, not_concrete),
        is_fully_replicated=on_value("is_fully_replicated", is_replicated, not_concrete),
    )
install(
    Array,
    addressable_data=lambda x, index: shards_of(x)[index].data,
    on_device_size_in_bytes=bytes_on_devices,
    copy_to_host_async=lambda x: None,
)
