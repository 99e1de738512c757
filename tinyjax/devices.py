"""Devices: what they are called, and where an array is.

There are as many as the flag `num_devices` says, all of them made of this machine's processor. An
array that was not put elsewhere is on the first (or on that of `default_device`).
"""

import contextlib
import dataclasses
from contextvars import ContextVar
from typing import Any

from tinyjax import errors
from tinyjax.array import Array
from tinyjax.config import config
from tinyjax.core import Tracer
from tinyjax.printer import install

# ---- devices -------------------------------------------------------------------------------------


class CpuDevice:
    """A device: prints as `cpu:0`, is shown as `CpuDevice(id=0)`."""

    __slots__ = ("id",)
    platform = device_kind = "cpu"
    process_index = host_id = task_id = 0
    local_hardware_id = property(lambda self: self.id)

    def __init__(self, id):
        self.id = id

    def __str__(self):
        return f"cpu:{self.id}"

    def __repr__(self):
        return f"CpuDevice(id={self.id})"

    def __eq__(self, other):
        return isinstance(other, CpuDevice) and self.id == other.id

    def __hash__(self):
        return hash((CpuDevice, self.id))

    def memory_stats(self):
        """JAX's CPU devices know nothing of their memory either."""
        return


Device = CpuDevice


def devices(backend=None):
    """The devices, as a list; RuntimeError for a backend other than "cpu".

    >>> devices()[:2]
    [CpuDevice(id=0), CpuDevice(id=1)]
    """
    check_backend(backend)
    return [CpuDevice(i) for i in range(config.num_devices)]


def check_backend(backend):
    """There is only one backend."""
    if backend not in (None, "", "cpu"):
        raise RuntimeError(f"Unknown backend {backend}. Available backends are ['cpu']")


def local_devices(process_index=None, backend=None, host_id=None):
    """The devices of this process: all of them.

    Raises ValueError for a process that does not exist.
    """
    process_index = host_id if process_index is None else process_index
    if process_index not in (None, 0):
        raise ValueError(f"Unknown process_index {process_index}")
    return devices(backend)


def device_count(backend=None):
    """The number of devices."""
    return len(devices(backend))


def local_device_count(backend=None):
    """The number of devices of this process."""
    return device_count(backend)


def default_backend():
    """The name of the platform: "cpu"."""
    return "cpu"


def process_index(backend=None):
    """The number of this process among those that compute together: 0."""
    check_backend(backend)
    return 0


def process_count(backend=None):
    """How many processes compute together: 1."""
    check_backend(backend)
    return 1


def process_indices(backend=None):
    """The numbers of the processes."""
    return [process_index(backend)]


host_id, host_count, host_ids = process_index, process_count, process_indices

# ---- the default ---------------------------------------------------------------------------------

_default = ContextVar("default_device", default=None)


@contextlib.contextmanager
def default_device(new_val=None):
    """In a `with` block of this thread, arrays are on this device unless they are put elsewhere.

    >>> import tinyjax as jax
    >>> with default_device(devices()[1]):
    ...     print(jax.device_put(1.0).device)
    cpu:1
    """
    token = _default.set(new_val)
    try:
        yield
    finally:
        _default.reset(token)


def current_device():
    """The device of new arrays."""
    chosen = _default.get() or config.jax_default_device
    return devices()[0] if chosen in (None, "cpu") else chosen


# ---- where an array is ---------------------------------------------------------------------------


class SingleDeviceSharding:
    """The whole array is on one device."""

    is_fully_addressable = is_fully_replicated = True

    def __init__(self, device, *, memory_kind=None):
        self._device, self.memory_kind = device, memory_kind or "device"
        self.device_set, self.num_devices = {device}, 1
        self.addressable_devices = self.device_set

    def __repr__(self):
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"

    def __eq__(self, other):
        return isinstance(other, SingleDeviceSharding) and self._device == other._device

    def __hash__(self):
        return hash((SingleDeviceSharding, self._device))

    def devices_indices_map(self, global_shape):
        """Which part each device holds: {device: slices}."""
        return {self._device: (slice(None),) * len(global_shape)}

    addressable_devices_indices_map = devices_indices_map

    def shard_shape(self, global_shape):
        """The shape of the part on each device."""
        return tuple(global_shape)

    def is_equivalent_to(self, other, ndim):
        """Whether arrays of this rank lie alike in both."""
        return self == other


@dataclasses.dataclass(frozen=True, repr=False)
class Shard:
    """The part of an array that one device holds."""

    device: Any
    index: tuple
    replica_id: int
    data: Any

    def __repr__(self):
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


class PlacedArray(Array):
    """An Array that was put on a device by name."""

    __slots__ = ("place",)


def put_on(array, device):
    """A copy of an Array on a device; None: wherever it is, or the default."""
    if isinstance(device, SingleDeviceSharding):
        (device,) = device.device_set
    if device is not None and not isinstance(device, CpuDevice):
        raise ValueError(f"device_put takes a device or a sharding of one device, got {device!r}")
    place = device or getattr(array, "place", None) or _default.get()
    copy = Array(array.npy, array.weak_type)
    if place is not None and type(copy) is Array:
        copy = PlacedArray(array.npy, array.weak_type)
        copy.place = place
    return copy


def device_of(x):
    """The device that holds an Array."""
    return getattr(x, "place", None) or current_device()


def sharding_of(x):
    """Which devices hold an Array."""
    return SingleDeviceSharding(device_of(x))


def shards_of(x):
    """The parts of an Array: one, on one device."""
    return [Shard(device_of(x), (slice(None),) * x.ndim, 0, x)]


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
    return {device_of(x)}


for _cls in (Array, Tracer):
    install(
        _cls,
        devices=devices_method,
        device=on_value("device", device_of, no_attribute),
        sharding=on_value("sharding", sharding_of, no_attribute),
        committed=on_value("committed", lambda x: isinstance(x, PlacedArray), not_concrete),
        addressable_shards=on_value("addressable_shards", shards_of, not_concrete),
        global_shards=on_value("global_shards", shards_of, not_concrete),
        is_fully_addressable=on_value("is_fully_addressable", lambda x: True, not_concrete),
        is_fully_replicated=on_value("is_fully_replicated", lambda x: True, not_concrete),
    )
install(
    Array,
    addressable_data=lambda x, index: shards_of(x)[index].data,
    on_device_size_in_bytes=lambda x: x.nbytes,
    copy_to_host_async=lambda x: None,
)


# ---- drawing -------------------------------------------------------------------------------------


def draw_sharding(shape, sharding, scale=1.0, min_width=9, max_width=80):
    """The picture of an array of one or two dimensions in a box, with the name of its device."""
    height = int(10 * scale)
    width = int(int(height * (shape[1] if len(shape) == 2 else 1) / shape[0]) * 2.5)
    width = min(max(width, min_width), max_width)
    (device,) = sharding.device_set
    name = f"{device.platform.upper()} {device.id}"
    left, more = divmod(width - len(name) - 2, 2)
    above, below = 0, 0
    if len(shape) == 2:
        above, rest = divmod(height - 2, 2)
        below = above + rest
    inside = left + len(name) + left + more
    empty = f"│{' ' * inside}│"
    middle = f"│{' ' * left}{name}{' ' * (left + more)}│"
    rows = [empty] * max(above, 0) + [middle] + [empty] * max(below, 0)
    return "\n".join([f"┌{'─' * inside}┐", *rows, f"└{'─' * inside}┘"])
