"""Shardings: which part of an array each device holds.

Every sharding answers two questions, from which the rest follows: into how many pieces each axis
of an array is cut, and which piece each device holds.
"""

import math
from collections import Counter

import numpy as np

from tinyjax.devices import CpuDevice, check_memory_kind
from tinyjax.sharding.mesh import AbstractMesh, Mesh
from tinyjax.sharding.spec import PartitionSpec, names_of


class IndivisibleError(ValueError):
    """An axis of an array cannot be cut into equal pieces."""


class DuplicateSpecError(Exception):
    """A PartitionSpec names an axis of the mesh twice."""


# ---- what all shardings can do -------------------------------------------------------------------


class Sharding:
    """Which part of an array each device holds."""

    memory_kind: str | None = None
    is_fully_addressable = has_addressable_devices = True

    @property
    def _device_assignment(self):
        """The devices, in order."""
        raise NotImplementedError("Subclasses should implement this method.")

    def ways(self, ndim):
        """Into how many pieces each axis of an array of this rank is cut."""
        raise NotImplementedError("Subclasses should implement this method.")

    def pieces(self, ndim):
        """For each device, in order: the number of its piece along each axis."""
        raise NotImplementedError("Subclasses should implement this method.")

    # ---- what follows --------------------------------------------------------------------

    device_set = property(lambda self: set(self._device_assignment))
    addressable_devices = device_set
    num_devices = property(lambda self: len(self._device_assignment))
    is_fully_replicated = property(lambda self: self.num_devices == 1)

    def check_compatible_aval(self, aval_shape):
        """Raise ValueError if arrays of this shape have too few axes."""

    def shard_shape(self, global_shape):
        """The shape of the part on each device.

        Raises ValueError if the array has too few axes, or an axis cannot be cut evenly.
        """
        self.check_compatible_aval(global_shape)
        ways = self.ways(len(global_shape))
        for axis, (size, count) in enumerate(zip(global_shape, ways)):
            if size % count:
                raise IndivisibleError(
                    f"Sharding {self} implies that array axis {axis} is partitioned {count} times, "
                    f"but the dimension size is {size} (full shape: {tuple(global_shape)}); each "
                    f"axis must be a multiple of {tuple(ways)}."
                )
        return tuple(size // count for size, count in zip(global_shape, ways))

    def devices_indices_map(self, global_shape):
        """Which part each device holds: {device: a slice for each axis}."""
        shape, ways = self.shard_shape(global_shape), self.ways(len(global_shape))
        found = {}
        for device, piece in zip(self._device_assignment, self.pieces(len(shape))):
            found[device] = tuple(
                slice(None) if count == 1 else slice(k * size, (k + 1) * size)
                for k, size, count in zip(piece, shape, ways)
            )
        return found

    addressable_devices_indices_map = devices_indices_map

    def is_equivalent_to(self, other, ndim):
        """Whether arrays of this rank lie alike in both: equal parts on equal devices."""
        return (
            self.memory_kind == other.memory_kind
            and self._device_assignment == other._device_assignment
            and self.ways(ndim) == other.ways(ndim)
            and self.pieces(ndim) == other.pieces(ndim)
        )


# ---- one device ----------------------------------------------------------------------------------


class SingleDeviceSharding(Sharding):
    """The whole array is on one device.

    >>> import tinyjax as jax
    >>> SingleDeviceSharding(jax.devices()[0])
    SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """

    def __init__(self, device, *, memory_kind=None):
        if not isinstance(device, CpuDevice):
            raise TypeError(f"SingleDeviceSharding takes a device, got {device!r}")
        self._device, self.memory_kind = device, check_memory_kind(memory_kind or "device")

    _device_assignment = property(lambda self: (self._device,))

    def __repr__(self):
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"

    def __eq__(self, other):
        own = self._device, self.memory_kind
        return isinstance(other, SingleDeviceSharding) and own == (other._device, other.memory_kind)

    def __hash__(self):
        return hash((SingleDeviceSharding, self._device, self.memory_kind))

    def ways(self, ndim):
        return (1,) * ndim

    def pieces(self, ndim):
        return [(0,) * ndim]

    def with_memory_kind(self, kind):
        """The same in another kind of memory."""
        return SingleDeviceSharding(self._device, memory_kind=kind)


def make_single_device_sharding(device, *, memory_kind=None):
    """A SingleDeviceSharding."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


# ---- a mesh and a spec ---------------------------------------------------------------------------


class NamedSharding(Sharding):
    """The axes of an array are cut by the named axes of a mesh.

    Args:
      mesh: a Mesh, or an AbstractMesh.
      spec: a PartitionSpec; its names are axes of the mesh, each at most once.
      memory_kind: "device" if left out.

    Raises ValueError for a name that the mesh has not, DuplicateSpecError for one used twice.

    >>> import tinyjax as jax
    >>> sharding = NamedSharding(jax.make_mesh((2, 4), ("x", "y")), jax.P("y"))
    >>> sharding.shard_shape((8, 3))
    (2, 3)
    >>> sharding.devices_indices_map((8, 3))[jax.devices()[5]]
    (slice(2, 4, None), slice(None, None, None))
    """

    def __init__(self, mesh, spec, *, memory_kind=None):
        if not isinstance(mesh, (Mesh, AbstractMesh)):
            raise TypeError(f"NamedSharding: mesh must be a jax.sharding.Mesh, got {mesh!r}")
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"NamedSharding: spec must be a jax.sharding.PartitionSpec, got {spec!r}"
            )
        check_names(mesh, spec)
        self.mesh, self.spec = mesh, spec
        if memory_kind is not None:
            check_memory_kind(memory_kind)
        elif isinstance(mesh, Mesh):
            memory_kind = "device"
        self.memory_kind = memory_kind

    num_devices = property(lambda self: self.mesh.size)

    @property
    def _device_assignment(self):
        return tuple(self.mesh.devices.flat)

    def __repr__(self):
        memory = "" if self.memory_kind is None else f", memory_kind={self.memory_kind}"
        return f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}{memory})"

    def __eq__(self, other):
        own = self.mesh, self.spec, self.memory_kind
        return isinstance(other, NamedSharding) and own == (
            other.mesh,
            other.spec,
            other.memory_kind,
        )

    def __hash__(self):
        return hash((self.mesh, self.spec, self.memory_kind))

    @property
    def is_fully_replicated(self):
        """Whether every device holds the whole array."""
        return math.prod(self.ways(len(self.spec))) == 1

    @property
    def replicated_axes(self):
        """The axes of the mesh along which devices hold the same."""
        return frozenset(self.mesh.axis_names).difference(*map(names_of, self.spec))

    def check_compatible_aval(self, aval_shape):
        """Raise ValueError if arrays of this shape have fewer axes than the spec."""
        if len(aval_shape) < len(self.spec):
            hint = "" if aval_shape else " For scalars the PartitionSpec should be P()"
            raise ValueError(
                f"Sharding {self} is only valid for values of rank at least {len(self.spec)}, but "
                f"was applied to a value of rank {len(aval_shape)}.{hint}"
            )

    def ways(self, ndim):
        names = [names_of(value) for value in self.spec] + [()] * (ndim - len(self.spec))
        return tuple(math.prod(self.mesh.shape[name] for name in group) for group in names)

    def pieces(self, ndim):
        sizes, places = self.mesh.axis_sizes, {n: i for i, n in enumerate(self.mesh.axis_names)}
        groups = [[places[n] for n in names_of(value)] for value in self.spec]
        groups += [[]] * (ndim - len(groups))
        found = []
        for at in np.ndindex(*sizes):
            piece = []
            for group in groups:
                number = 0
                for place in group:  # the last name runs fastest
                    number = number * sizes[place] + at[place]
                piece.append(number)
            found.append(tuple(piece))
        return found

    def with_memory_kind(self, kind):
        """The same in another kind of memory."""
        return self.update(memory_kind=kind)

    def update(self, **changes):
        """The same with another mesh, spec or memory_kind."""
        own = {"mesh": self.mesh, "spec": self.spec, "memory_kind": self.memory_kind} | changes
        if not isinstance(own["spec"], PartitionSpec):
            own["spec"] = PartitionSpec(*own["spec"])
        return NamedSharding(own["mesh"], own["spec"], memory_kind=own["memory_kind"])


def check_names(mesh, spec):
    """Raise if a spec names what the mesh has not, or one axis twice."""
    counts = Counter(name for value in spec for name in names_of(value))
    twice = sorted(f"`{name}`" for name, count in counts.items() if count > 1)
    if twice:
        raise DuplicateSpecError(
            "A single NamedSharding spec can map every mesh axis to at most one axis of an array, "
            f"but {spec} has duplicate entries for {', '.join(twice)}"
        )
    for name in counts:
        if name not in mesh.axis_names:
            raise ValueError(
                f"Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}."
            )
