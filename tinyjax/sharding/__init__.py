"""Shardings: how arrays are cut, and which devices hold the parts.

tinyjax computes on several devices in pmap only. A sharding says where the data of an array are,
as `x.sharding`, and where `device_put` shall put them.
"""

from tinyjax.lazy import lazy_imports as _lazy_imports

with _lazy_imports(globals()):
    from tinyjax.sharding.mesh import (
        AbstractDevice,
        AbstractMesh,
        AxisType,
        Mesh,
        get_abstract_mesh,
        get_mesh,
        set_mesh,
    )
    from tinyjax.sharding.shardings import (
        NamedSharding,
        Sharding,
        SingleDeviceSharding,
        make_single_device_sharding,
    )
    from tinyjax.sharding.spec import PartitionSpec

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "get_abstract_mesh",
    "get_mesh",
    "make_single_device_sharding",
    "set_mesh",
]
