"""Devices of the system's Vulkan loader, and compute shaders on them, by ctypes. The environment chooses drivers and layers."""

from __future__ import annotations

import ctypes
import uuid
from ctypes import POINTER, Structure, byref, c_char_p, c_float, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass

from vulkan import DeviceInfo, InstanceInfo, QueueInfo, structure

# Numbers of VkStructureType and flags of Vulkan.
ID_PROPERTIES, FEATURES_2, PROPERTIES_2, PCI_BUS_INFO = 1000071004, 1000059000, 1000059001, 1000212000
STORAGE_BUFFER, STORAGE_USAGE, COMPUTE_STAGE, COMPUTE, VISIBLE_AND_COHERENT = 7, 0x20, 0x20, 1, 6

IdProperties = structure("IdProperties", ("device", c_uint8 * 16), ("others", c_uint8 * 40))
PciBusInfo = structure("PciBusInfo", ("domain", c_uint32), ("bus", c_uint32), ("device", c_uint32), ("function", c_uint32))
# VkPhysicalDeviceProperties is 824 bytes: versions and numbers, the type at byte 16, the name at byte 20.
Properties2 = structure("Properties2", ("properties", c_uint8 * 824))
Features2 = structure("Features2", ("features", c_uint32 * 55))
BufferInfo = structure(
    "BufferInfo", ("flags", c_uint32), ("size", c_uint64), ("usage", c_uint32), ("sharing", c_uint32), ("families", c_uint32),
    ("family_list", c_void_p),
)
MemoryInfo = structure("MemoryInfo", ("size", c_uint64), ("kind", c_uint32))
SetLayoutInfo = structure("SetLayoutInfo", ("flags", c_uint32), ("count", c_uint32), ("bindings", c_void_p))
LayoutInfo = structure(
    "LayoutInfo", ("flags", c_uint32), ("sets", c_uint32), ("layouts", c_void_p), ("ranges", c_uint32), ("range_list", c_void_p)
)
ModuleInfo = structure("ModuleInfo", ("flags", c_uint32), ("size", c_size_t), ("code", c_char_p))
StageInfo = structure(
    "StageInfo", ("flags", c_uint32), ("stage", c_uint32), ("module", c_uint64), ("entry", c_char_p), ("specialization", c_void_p)
)
PipelineInfo = structure("PipelineInfo", ("flags", c_uint32), ("stage", StageInfo), ("layout", c_uint64), ("base", c_uint64), ("base_index", c_int))
DescriptorPoolInfo = structure("DescriptorPoolInfo", ("flags", c_uint32), ("sets", c_uint32), ("count", c_uint32), ("sizes", c_void_p))
SetInfo = structure("SetInfo", ("pool", c_uint64), ("count", c_uint32), ("layouts", c_void_p))
Write = structure(
    "Write", ("set", c_uint64), ("binding", c_uint32), ("element", c_uint32), ("count", c_uint32), ("type_of", c_uint32), ("images", c_void_p),
    ("buffers", c_void_p), ("views", c_void_p),
)
CommandPoolInfo = structure("CommandPoolInfo", ("flags", c_uint32), ("family", c_uint32))
CommandsInfo = structure("CommandsInfo", ("pool", c_uint64), ("level", c_uint32), ("count", c_uint32))
BeginInfo = structure("BeginInfo", ("flags", c_uint32), ("inheritance", c_void_p))
SubmitInfo = structure(
    "SubmitInfo", ("waits", c_uint32), ("wait_list", c_void_p), ("wait_stages", c_void_p), ("commands", c_uint32),
    ("command_list", POINTER(c_void_p)), ("signals", c_uint32), ("signal_list", c_void_p),
)


class Binding(Structure):
    _fields_ = [("binding", c_uint32), ("type", c_uint32), ("count", c_uint32), ("stages", c_uint32), ("samplers", c_void_p)]


class Requirements(Structure):
    _fields_ = [("size", c_uint64), ("alignment", c_uint64), ("kinds", c_uint32)]


class PoolSize(Structure):
    _fields_ = [("type", c_uint32), ("count", c_uint32)]


class BufferRange(Structure):
    _fields_ = [("buffer", c_uint64), ("offset", c_uint64), ("size", c_uint64)]


class Extension(Structure):
    _fields_ = [("name", ctypes.c_char * 256), ("version", c_uint32)]


class VulkanError(Exception):
    """A call of Vulkan did not succeed."""


def call(name: str, *arguments: object) -> None:
    function = getattr(ctypes.CDLL("libvulkan.so.1"), name)
    function.restype = c_int
    result = function(*arguments)
    if not name.startswith(("vkCmd", "vkGet", "vkUpdate", "vkDestroy")) and result != 0:
        raise VulkanError(f"{name}: {result}")


@dataclass
class Description:
    """What a device says of itself; the PCI address as Linux writes it."""

    name: str
    vendor: int
    kind: int
    uuid: uuid.UUID
    address: str | None


class Instance:
    """An instance of Vulkan 1.1 with the layers that the environment names."""

    def __init__(self) -> None:
        # VkApplicationInfo with the version 1.1, of which VkPhysicalDeviceIDProperties is.
        application = structure("Application", ("name", c_char_p), ("version", c_uint32), ("engine", c_char_p), ("engine_version", c_uint32), ("api", c_uint32))
        self.handle = c_void_p()
        about = application(0, None, b"gpufeed", 0, b"gpufeed", 0, 1 << 22 | 1 << 12)
        call("vkCreateInstance", byref(InstanceInfo(1, None, 0, ctypes.addressof(about), 0, None, 0, None)), None, byref(self.handle))
        count = c_uint32()
        call("vkEnumeratePhysicalDevices", self.handle, byref(count), None)
        list_of_all = (c_void_p * count.value)()
        call("vkEnumeratePhysicalDevices", self.handle, byref(count), list_of_all)
        self.devices = [c_void_p(each) for each in list_of_all]

    def describe(self, device: c_void_p) -> Description:
        count = c_uint32()
        call("vkEnumerateDeviceExtensionProperties", device, None, byref(count), None)
        extensions = (Extension * count.value)()
        call("vkEnumerateDeviceExtensionProperties", device, None, byref(count), extensions)
        names = [each.name for each in extensions]
        if len(names) != len(set(names)):
            raise VulkanError("the device lists an extension twice")
        address = PciBusInfo(PCI_BUS_INFO, None, 0, 0, 0, 0)
        has_address = b"VK_EXT_pci_bus_info" in names
        identity = IdProperties(ID_PROPERTIES, ctypes.addressof(address) if has_address else None)
        properties = Properties2(PROPERTIES_2, ctypes.addressof(identity))
        call("vkGetPhysicalDeviceProperties2", device, byref(properties))
        raw = bytes(properties.properties)
        where = f"{address.domain:04x}:{address.bus:02x}:{address.device:02x}.{address.function}" if has_address else None
        name = raw[20:276].split(b"\0")[0].decode()
        return Description(name, int.from_bytes(raw[8:12], "little"), int.from_bytes(raw[16:20], "little"), uuid.UUID(bytes=bytes(identity.device)), where)

    def close(self) -> None:
        call("vkDestroyInstance", self.handle, None)


class Device:
    """A device that runs compute shaders with the entry point `main` and storage buffers at the bindings 0 and 1."""

    def __init__(self, physical: c_void_p, extensions: tuple[bytes, ...] = (), features_in_chain: bool = False) -> None:
        priority = c_float(1.0)
        queues = QueueInfo(2, None, 0, 0, 1, ctypes.addressof(priority))
        self.handle, self.queue = c_void_p(), c_void_p()
        names = (c_char_p * len(extensions))(*extensions)
        # No feature is asked for, in one of the two places where Vulkan takes features.
        chain, beside = Features2(FEATURES_2, None), (c_uint32 * 55)()
        places = (ctypes.addressof(chain), None) if features_in_chain else (None, ctypes.addressof(beside))
        info = DeviceInfo(
            3, places[0], 0, 1, ctypes.addressof(queues), 0, None, len(extensions), ctypes.addressof(names), places[1]
        )
        call("vkCreateDevice", physical, byref(info), None, byref(self.handle))
        call("vkGetDeviceQueue", self.handle, 0, 0, byref(self.queue))
        properties = (c_uint32 * 130)()
        call("vkGetPhysicalDeviceMemoryProperties", physical, byref(properties))
        # The number of kinds, then the flags and the heap of each.
        self.memory_flags = [properties[1 + 2 * i] for i in range(properties[0])]

    def buffer(self, size: int) -> tuple[c_uint64, c_void_p]:
        """A buffer and the address of its memory, which lives as long as the device."""
        buffer, memory, needed, address = c_uint64(), c_uint64(), Requirements(), c_void_p()
        call("vkCreateBuffer", self.handle, byref(BufferInfo(12, None, 0, size, STORAGE_USAGE, 0, 0, None)), None, byref(buffer))
        call("vkGetBufferMemoryRequirements", self.handle, buffer, byref(needed))
        fitting = (i for i, flags in enumerate(self.memory_flags) if needed.kinds >> i & 1 and flags & VISIBLE_AND_COHERENT == VISIBLE_AND_COHERENT)
        call("vkAllocateMemory", self.handle, byref(MemoryInfo(5, None, needed.size, next(fitting))), None, byref(memory))
        call("vkBindBufferMemory", self.handle, buffer, memory, c_uint64(0))
        call("vkMapMemory", self.handle, memory, c_uint64(0), c_uint64(size), 0, byref(address))
        return buffer, address

    def run(self, code: bytes, given: bytes, bytes_out: int, groups: int) -> bytes:
        """What the shader writes to the binding 1 where it finds `given` at the binding 0."""
        (source, source_at), (target, target_at) = self.buffer(len(given)), self.buffer(bytes_out)
        ctypes.memmove(source_at, given, len(given))
        of_set, layout, module, pipeline = c_uint64(), c_uint64(), c_uint64(), c_uint64()
        bindings = (Binding * 2)(*(Binding(i, STORAGE_BUFFER, 1, COMPUTE_STAGE, None) for i in range(2)))
        call("vkCreateDescriptorSetLayout", self.handle, byref(SetLayoutInfo(32, None, 0, 2, ctypes.addressof(bindings))), None, byref(of_set))
        call("vkCreatePipelineLayout", self.handle, byref(LayoutInfo(30, None, 0, 1, ctypes.addressof(of_set), 0, None)), None, byref(layout))
        call("vkCreateShaderModule", self.handle, byref(ModuleInfo(16, None, 0, len(code), code)), None, byref(module))
        stage = StageInfo(18, None, 0, COMPUTE_STAGE, module, b"main", None)
        info = PipelineInfo(29, None, 0, stage, layout, 0, -1)
        call("vkCreateComputePipelines", self.handle, c_uint64(0), 1, byref(info), None, byref(pipeline))

        descriptors, of_buffers, pool, commands = c_uint64(), c_uint64(), c_uint64(), c_void_p()
        size = PoolSize(STORAGE_BUFFER, 2)
        call("vkCreateDescriptorPool", self.handle, byref(DescriptorPoolInfo(33, None, 0, 1, 1, ctypes.addressof(size))), None, byref(descriptors))
        call("vkAllocateDescriptorSets", self.handle, byref(SetInfo(34, None, descriptors, 1, ctypes.addressof(of_set))), byref(of_buffers))
        ranges = [BufferRange(source, 0, len(given)), BufferRange(target, 0, bytes_out)]
        writes = (Write * 2)(*(Write(35, None, of_buffers, i, 0, 1, STORAGE_BUFFER, None, ctypes.addressof(ranges[i]), None) for i in range(2)))
        call("vkUpdateDescriptorSets", self.handle, 2, writes, 0, None)
        call("vkCreateCommandPool", self.handle, byref(CommandPoolInfo(39, None, 0, 0)), None, byref(pool))
        call("vkAllocateCommandBuffers", self.handle, byref(CommandsInfo(40, None, pool, 0, 1)), byref(commands))
        call("vkBeginCommandBuffer", commands, byref(BeginInfo(42, None, 1, None)))
        call("vkCmdBindPipeline", commands, COMPUTE, pipeline)
        call("vkCmdBindDescriptorSets", commands, COMPUTE, layout, 0, 1, byref(of_buffers), 0, None)
        call("vkCmdDispatch", commands, groups, 1, 1)
        call("vkEndCommandBuffer", commands)
        call("vkQueueSubmit", self.queue, 1, byref(SubmitInfo(4, None, 0, None, None, 1, ctypes.pointer(commands), 0, None)), c_uint64(0))
        call("vkDeviceWaitIdle", self.handle)
        return ctypes.string_at(target_at, bytes_out)
