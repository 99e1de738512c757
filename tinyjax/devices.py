"""Devices: what they are called, how many there are, and which one is the default.

There are as many as the flag `num_devices` says, all of them made of this machine's processor; in
an MPI job, as many as it has ranks for them.
"""

import contextlib
from contextvars import ContextVar

from tinyjax.config import config
from tinyjax.messages import check_backend
from tinyjax.parallel.engine import num_devices

# ---- one device ----------------------------------------------------------------------------------

MEMORY_KINDS = ("device", "pinned_host", "unpinned_host")  # JAX's names for one and the same


class CpuDevice:
    """A device: prints as `cpu:0`, is shown as `CpuDevice(id=0)`."""

    __slots__ = ("id",)
    platform = device_kind = "cpu"
    process_index = host_id = task_id = 0
    local_hardware_id = property(lambda self: self.id)
    client = property(lambda self: Client())

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

    def memory(self, kind):
        """The memory of a kind ("device" ...); ValueError if there is no such kind."""
        return Memory(self, check_memory_kind(kind))

    def default_memory(self):
        """The memory where arrays are."""
        return Memory(self, "device")

    def addressable_memories(self):
        """All kinds of memory. They name the same memory, this machine's."""
        return [Memory(self, kind) for kind in MEMORY_KINDS]


Device = CpuDevice


class Memory:
    """A kind of memory of a device."""

    __slots__ = ("device", "kind")
    platform, process_index = "cpu", 0

    def __init__(self, device, kind):
        self.device, self.kind = device, kind

    def __repr__(self):
        name = "CPU_DEVICE" if self.kind == "device" else self.kind.upper()
        return f"{name}_{len(MEMORY_KINDS) * self.device.id + MEMORY_KINDS.index(self.kind)}"

    def __eq__(self, other):
        return isinstance(other, Memory) and repr(self) == repr(other)

    def __hash__(self):
        return hash(repr(self))

    def attached_to_devices(self):
        """The devices that reach this memory."""
        return [self.device]

    addressable_by_devices = attached_to_devices


def check_memory_kind(kind):
    """A kind of memory as it is; ValueError if there is no such kind."""
    if kind not in MEMORY_KINDS:
        raise ValueError(
            f"Could not find memory of kind {kind!r}: a CPU device has {', '.join(MEMORY_KINDS)}."
        )
    return kind


class Client:
    """The devices together, as JAX's runtime calls them."""

    platform = "cpu"

    def __eq__(self, other):
        return isinstance(other, Client)

    def __hash__(self):
        return hash(Client)

    def devices(self):
        """All devices."""
        return devices()

    local_devices = devices

    def device_count(self):
        """The number of devices."""
        return device_count()

    local_device_count = device_count

    def process_index(self):
        """The number of this process: 0."""
        return 0

    host_id = task_id = process_index


# ---- all of them ---------------------------------------------------------------------------------


def devices(backend=None):
    """The devices, as a list; RuntimeError for a backend other than "cpu".

    >>> devices()[:2]
    [CpuDevice(id=0), CpuDevice(id=1)]
    """
    check_backend(backend)
    return [CpuDevice(i) for i in range(num_devices())]


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


chosen_device = _default.get  # that of the innermost `with default_device` block, or None


def current_device():
    """The device of new arrays."""
    chosen = chosen_device() or config.jax_default_device
    return devices()[0] if chosen in (None, "cpu") else chosen
