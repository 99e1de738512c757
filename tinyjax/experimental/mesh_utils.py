"""Choosing devices for a mesh."""

import math

import numpy as np

from tinyjax.devices import devices as all_devices


def create_device_mesh(
    mesh_shape, devices=None, *, contiguous_submeshes=False, allow_split_physical_axes=False
):
    """Devices as an array of a shape, for jax.sharding.Mesh.

    Args:
      mesh_shape: the size of each axis.
      devices: which devices; all by default.
      contiguous_submeshes, allow_split_physical_axes: accepted as JAX's; all devices are alike.

    Raises ValueError if the number of devices is another.

    >>> create_device_mesh((2, 1), all_devices()[:2])
    array([[CpuDevice(id=0)],
           [CpuDevice(id=1)]], dtype=object)
    """
    devices = all_devices() if devices is None else list(devices)
    if math.prod(mesh_shape) != len(devices):
        raise ValueError(
            f"create_device_mesh: the number of devices, {len(devices)}, must equal the product of "
            f"mesh_shape {tuple(mesh_shape)}"
        )
    return np.array(devices, dtype=object).reshape(mesh_shape)
