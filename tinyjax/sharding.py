"""Where arrays are: the whole array on one device."""

from tinyjax.devices import SingleDeviceSharding

Sharding = SingleDeviceSharding

__all__ = ["Sharding", "SingleDeviceSharding"]
