"""The structures of Vulkan that open a device and submit work to it, for scripts that call it by ctypes."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_char_p, c_uint32, c_uint64, c_void_p


def structure(name: str, *fields: tuple[str, type]) -> type[Structure]:
    """A Vulkan structure, which begins with its type and a pointer to the next."""
    return type(name, (Structure,), {"_fields_": [("type", c_uint32), ("next", c_void_p), *fields]})


ApplicationInfo = structure(
    "ApplicationInfo", ("name", c_char_p), ("version", c_uint32), ("engine", c_char_p), ("engine_version", c_uint32),
    ("api", c_uint32),
)
InstanceInfo = structure(
    "InstanceInfo", ("flags", c_uint32), ("application", c_void_p), ("layers", c_uint32), ("layer_names", c_void_p),
    ("extensions", c_uint32), ("extension_names", c_void_p),
)
QueueInfo = structure("QueueInfo", ("flags", c_uint32), ("family", c_uint32), ("count", c_uint32), ("priorities", c_void_p))
DeviceInfo = structure(
    "DeviceInfo", ("flags", c_uint32), ("queues", c_uint32), ("queue_infos", c_void_p), ("layers", c_uint32), ("layer_names", c_void_p),
    ("extensions", c_uint32), ("extension_names", c_void_p), ("features", c_void_p),
)
BufferInfo = structure(
    "BufferInfo", ("flags", c_uint32), ("size", c_uint64), ("usage", c_uint32), ("sharing", c_uint32), ("families", c_uint32),
    ("family_list", c_void_p),
)
MemoryInfo = structure("MemoryInfo", ("size", c_uint64), ("kind", c_uint32))
CommandPoolInfo = structure("CommandPoolInfo", ("flags", c_uint32), ("family", c_uint32))
CommandsInfo = structure("CommandsInfo", ("pool", c_uint64), ("level", c_uint32), ("count", c_uint32))
BeginInfo = structure("BeginInfo", ("flags", c_uint32), ("inheritance", c_void_p))
SubmitInfo = structure(
    "SubmitInfo", ("waits", c_uint32), ("wait_list", c_void_p), ("wait_stages", c_void_p), ("commands", c_uint32),
    ("command_list", POINTER(c_void_p)), ("signals", c_uint32), ("signal_list", c_void_p),
)


class Requirements(Structure):
    _fields_ = [("size", c_uint64), ("alignment", c_uint64), ("kinds", c_uint32)]
