"""The structures of Vulkan that open a device, for scripts that call it by ctypes."""

from __future__ import annotations

from ctypes import Structure, c_uint32, c_void_p


def structure(name: str, *fields: tuple[str, type]) -> type[Structure]:
    """A Vulkan structure, which begins with its type and a pointer to the next."""
    return type(name, (Structure,), {"_fields_": [("type", c_uint32), ("next", c_void_p), *fields]})


InstanceInfo = structure(
    "InstanceInfo", ("flags", c_uint32), ("application", c_void_p), ("layers", c_uint32), ("layer_names", c_void_p),
    ("extensions", c_uint32), ("extension_names", c_void_p),
)
QueueInfo = structure("QueueInfo", ("flags", c_uint32), ("family", c_uint32), ("count", c_uint32), ("priorities", c_void_p))
DeviceInfo = structure(
    "DeviceInfo", ("flags", c_uint32), ("queues", c_uint32), ("queue_infos", c_void_p), ("layers", c_uint32), ("layer_names", c_void_p),
    ("extensions", c_uint32), ("extension_names", c_void_p), ("features", c_void_p),
)
