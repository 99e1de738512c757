"""Meshes: devices in rows and columns whose axes have names."""

import contextlib
import enum
import math
from collections import OrderedDict
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

from tinyjax.core import EVAL, current_trace
from tinyjax.devices import devices as all_devices

# ---- what all meshes have ------------------------------------------------------------------------


class AxisType(enum.Enum):
    """Who decides how arrays are cut along an axis. Here the name is kept, and all are alike."""

    Auto = 1
    Explicit = 2
    Manual = 3

    def __repr__(self):
        return self.name


def checked_types(names, types, what):
    """The type of each axis: Auto unless others are given."""
    types = (AxisType.Auto,) * len(names) if types is None else types
    types = types if isinstance(types, tuple) else (types,)
    if not all(isinstance(t, AxisType) for t in types):
        raise TypeError(f"axis_types of {what} must be of type jax.sharding.AxisType, got {types}")
    if len(names) != len(types):
        raise ValueError(
            f"{what} needs one axis type for each axis name, got axis_names={names} and "
            f"axis_types={types}"
        )
    return types


class BaseMesh:
    """Names, sizes and types of axes."""

    axis_names: tuple
    axis_sizes: tuple
    axis_types: tuple

    shape_tuple = property(lambda self: tuple(zip(self.axis_names, self.axis_sizes)))
    shape = property(lambda self: OrderedDict(self.shape_tuple))
    empty = property(lambda self: self.size == 0)

    @property
    def size(self):
        """The number of devices."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    def _of_type(self, kind):
        return tuple(n for n, t in zip(self.axis_names, self.axis_types) if t is kind)

    auto_axes = property(lambda self: self._of_type(AxisType.Auto))
    explicit_axes = property(lambda self: self._of_type(AxisType.Explicit))
    manual_axes = property(lambda self: self._of_type(AxisType.Manual))

    def _all_of_type(self, kind):
        return bool(self.axis_types) and all(t is kind for t in self.axis_types)

    are_all_axes_auto = property(lambda self: self._all_of_type(AxisType.Auto))
    are_all_axes_explicit = property(lambda self: self._all_of_type(AxisType.Explicit))
    are_all_axes_manual = property(lambda self: self._all_of_type(AxisType.Manual))

    def _axes(self):
        return ", ".join(f"'{name}': {size}" for name, size in self.shape_tuple)


# ---- a mesh of devices ---------------------------------------------------------------------------


class Mesh(BaseMesh, contextlib.ContextDecorator):
    """Devices as an array whose axes have names.

    Args:
      devices: a NumPy array of devices, or a list of them.
      axis_names: one name for each axis of devices.
      axis_types: one AxisType for each axis, Auto if left out.

    Meshes with the same devices, names and types are equal.

    >>> import numpy as np, tinyjax as jax
    >>> mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))
    >>> mesh
    Mesh(axis_sizes=(2, 4), axis_names=('x', 'y'), axis_types=(Auto, Auto))
    >>> print(mesh.shape["y"], mesh.devices[1, 0])
    4 cpu:4
    """

    def __init__(self, devices, axis_names, axis_types=None):
        devices = np.array(devices, dtype=object)
        devices.flags.writeable = False
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if None in names:
            raise ValueError(f"Mesh axis names cannot be None. Got: {names}")
        if devices.ndim != len(names):
            raise ValueError(
                "Mesh requires one axis name for each axis of `devices`, but got "
                f"devices.ndim == {devices.ndim} and len(axis_names) == {len(names)}."
            )
        self.devices, self.axis_names = devices, names
        self.axis_types = checked_types(names, axis_types, "Mesh")
        self.key = tuple(devices.flat), devices.shape, names, self.axis_types
        self.hash = hash(self.key)

    axis_sizes = property(lambda self: self.devices.shape)
    device_ids = property(
        lambda self: np.array([d.id for d in self.devices.flat]).reshape(self.axis_sizes)
    )
    local_devices = property(lambda self: list(self.devices.flat))
    local_mesh = property(lambda self: self)
    is_multi_process = False
    is_scalar = False

    def __eq__(self, other):
        return isinstance(other, Mesh) and self.key == other.key

    def __hash__(self):
        return self.hash

    def __reduce__(self):
        return Mesh, (self.devices, self.axis_names, self.axis_types)

    def __str__(self):
        return "Mesh()" if self.empty else f"Mesh({self._axes()}, axis_types={self.axis_types})"

    def __repr__(self):
        types = "" if self.empty else f", axis_types={self.axis_types}"
        sizes = self.axis_sizes if self.axis_names else ()
        return f"Mesh(axis_sizes={sizes}, axis_names={self.axis_names!r}{types})"

    def update(self, devices=None, axis_names=None, axis_types=None):
        """The same with other devices, names or types."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    @property
    def abstract_mesh(self):
        """The mesh without its devices."""
        if not self.axis_names:
            return AbstractMesh((), ())
        first = self.devices.flat[0]
        kind = AbstractDevice(first.device_kind, None, first.platform)
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types, abstract_device=kind)

    def __enter__(self):
        self.setting = set_mesh(self)
        return self

    def __exit__(self, *exc):
        self.setting.__exit__()


def make_mesh(axis_shapes, axis_names, axis_types=None, *, devices=None):
    """A mesh of a shape, of the first devices.

    Args:
      axis_shapes: the size of each axis.
      axis_names: the name of each axis.
      axis_types: one AxisType for each axis, Explicit if left out.
      devices: the devices to take, all if left out.

    Raises ValueError if there are not enough devices.

    >>> make_mesh((2, 2), ("rows", "columns")).device_ids
    array([[0, 1],
           [2, 3]])
    """
    try:
        shape = tuple(int(size) for size in axis_shapes)
    except TypeError:
        raise TypeError(
            f"make_mesh: axis_shapes must be a sequence of ints, got {axis_shapes}"
        ) from None
    devices = all_devices() if devices is None else list(devices)
    if math.prod(shape) > len(devices):
        raise ValueError(
            f"make_mesh: {len(devices)} devices are not enough for the product of the sizes {shape}"
        )
    chosen = np.array(devices[: math.prod(shape)], dtype=object).reshape(shape)
    types = (AxisType.Explicit,) * len(shape) if axis_types is None else axis_types
    return Mesh(chosen, axis_names, types)


# ---- a mesh without devices ----------------------------------------------------------------------


class AbstractDevice(NamedTuple):
    """What kind of device an AbstractMesh is for."""

    device_kind: str
    num_cores: int | None
    platform: str


class AbstractMesh(BaseMesh):
    """Sizes, names and types of axes, without devices.

    >>> AbstractMesh((2, 4), ("x", "y"))
    AbstractMesh('x': 2, 'y': 4, axis_types=(Auto, Auto))
    """

    def __init__(self, axis_sizes, axis_names, axis_types=None, *, abstract_device=None):
        self.axis_sizes, self.axis_names = tuple(axis_sizes), tuple(axis_names)
        self.axis_types = checked_types(self.axis_names, axis_types, "AbstractMesh")
        self.abstract_device = abstract_device
        self.key = self.axis_sizes, self.axis_names, self.axis_types, abstract_device

    abstract_mesh = property(lambda self: self)

    def __eq__(self, other):
        return isinstance(other, AbstractMesh) and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __repr__(self):
        kind = self.abstract_device
        text = "" if kind is None else "".join(f", {k}={v}" for k, v in kind._asdict().items())
        return f"AbstractMesh({self._axes() or '()'}, axis_types={self.axis_types}{text})"

    def update(self, axis_sizes=None, axis_names=None, axis_types=None):
        """The same with other sizes, names or types."""
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
            abstract_device=self.abstract_device,
        )

    def _no_devices(self):
        raise ValueError("an AbstractMesh has no devices: use a jax.sharding.Mesh here")

    devices = device_ids = local_devices = local_mesh = property(_no_devices)


# ---- the mesh in use -----------------------------------------------------------------------------

NO_MESH = Mesh(np.empty((), dtype=object), ())
_mesh = ContextVar("mesh", default=NO_MESH)


class set_mesh:
    """Name the mesh that a PartitionSpec alone refers to: from now on, or in a `with` block.

    Args:
      mesh: a Mesh; None: no mesh.

    >>> import tinyjax as jax
    >>> with set_mesh(make_mesh((2,), ("x",))):
    ...     print(jax.device_put(jax.numpy.arange(4), jax.P("x")).sharding.mesh)
    Mesh('x': 2, axis_types=(Explicit,))
    """

    def __init__(self, mesh):
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ValueError(f"set_mesh takes a jax.sharding.Mesh, got {mesh!r}")
        if current_trace() is not EVAL:
            raise ValueError("`set_mesh` can only be used outside of `jax.jit`.")
        self.before = _mesh.get()
        _mesh.set(NO_MESH if mesh is None else mesh)

    def __enter__(self):
        return

    def __exit__(self, *exc):
        _mesh.set(self.before)


def get_mesh():
    """The mesh that set_mesh named; an empty one if there is none."""
    return _mesh.get()


def get_abstract_mesh():
    """The same without its devices."""
    return _mesh.get().abstract_mesh
