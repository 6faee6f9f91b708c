"""Devices of the system's Vulkan loader, and compute shaders on them, by ctypes; `test_hostile.py` uses this.

The environment chooses drivers and layers.
"""

from __future__ import annotations

import ctypes
import uuid
from ctypes import Structure, addressof, byref, c_char_p, c_float, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass

from vulkan import (
    ApplicationInfo, BeginInfo, BufferInfo, CommandPoolInfo, CommandsInfo, DeviceInfo, InstanceInfo, MemoryInfo, QueueInfo,
    Requirements, SubmitInfo, structure,
)

# Numbers of VkStructureType and flags of Vulkan.
ID_PROPERTIES, FEATURES_2, PROPERTIES_2, PCI_BUS_INFO = 1000071004, 1000059000, 1000059001, 1000212000
STORAGE_BUFFER, STORAGE_USAGE, COMPUTE_STAGE, COMPUTE, VISIBLE_AND_COHERENT = 7, 0x20, 0x20, 1, 6

IdProperties = structure("IdProperties", ("device", c_uint8 * 16), ("others", c_uint8 * 40))
PciBusInfo = structure(
    "PciBusInfo", ("domain", c_uint32), ("bus", c_uint32), ("device", c_uint32), ("function", c_uint32)
)
# VkPhysicalDeviceProperties is 824 bytes: versions and numbers, the type at byte 16, the name at byte 20.
Properties2 = structure("Properties2", ("properties", c_uint8 * 824))
Features2 = structure("Features2", ("features", c_uint32 * 55))
SetLayoutInfo = structure("SetLayoutInfo", ("flags", c_uint32), ("count", c_uint32), ("bindings", c_void_p))
LayoutInfo = structure(
    "LayoutInfo", ("flags", c_uint32), ("sets", c_uint32), ("layouts", c_void_p), ("ranges", c_uint32),
    ("range_list", c_void_p),
)
ModuleInfo = structure("ModuleInfo", ("flags", c_uint32), ("size", c_size_t), ("code", c_char_p))
StageInfo = structure(
    "StageInfo", ("flags", c_uint32), ("stage", c_uint32), ("module", c_uint64), ("entry", c_char_p),
    ("specialization", c_void_p),
)
PipelineInfo = structure(
    "PipelineInfo", ("flags", c_uint32), ("stage", StageInfo), ("layout", c_uint64), ("base", c_uint64), ("base_index", c_int)
)
DescriptorPoolInfo = structure(
    "DescriptorPoolInfo", ("flags", c_uint32), ("sets", c_uint32), ("count", c_uint32), ("sizes", c_void_p)
)
SetInfo = structure("SetInfo", ("pool", c_uint64), ("count", c_uint32), ("layouts", c_void_p))
Write = structure(
    "Write", ("set", c_uint64), ("binding", c_uint32), ("element", c_uint32), ("count", c_uint32), ("kind", c_uint32),
    ("images", c_void_p), ("buffers", c_void_p), ("views", c_void_p),
)


class Binding(Structure):
    _fields_ = [
        ("binding", c_uint32), ("kind", c_uint32), ("count", c_uint32), ("stages", c_uint32), ("samplers", c_void_p)
    ]


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
        about = ApplicationInfo(0, None, b"gpufeed", 0, b"gpufeed", 0, 1 << 22 | 1 << 12)
        info = InstanceInfo(1, None, 0, addressof(about), 0, None, 0, None)
        self.handle, count = c_void_p(), c_uint32()
        call("vkCreateInstance", byref(info), None, byref(self.handle))
        call("vkEnumeratePhysicalDevices", self.handle, byref(count), None)
        found = (c_void_p * count.value)()
        call("vkEnumeratePhysicalDevices", self.handle, byref(count), found)
        self.devices = [c_void_p(each) for each in found]

    def describe(self, device: c_void_p) -> Description:
        count = c_uint32()
        call("vkEnumerateDeviceExtensionProperties", device, None, byref(count), None)
        extensions = (Extension * count.value)()
        call("vkEnumerateDeviceExtensionProperties", device, None, byref(count), extensions)
        names = [each.name for each in extensions]
        if len(names) != len(set(names)):
            raise VulkanError("the device lists an extension twice")
        has_address = b"VK_EXT_pci_bus_info" in names
        pci = PciBusInfo(PCI_BUS_INFO, None, 0, 0, 0, 0)
        identity = IdProperties(ID_PROPERTIES, addressof(pci) if has_address else None)
        properties = Properties2(PROPERTIES_2, addressof(identity))
        call("vkGetPhysicalDeviceProperties2", device, byref(properties))
        raw = bytes(properties.properties)
        vendor, kind = (int.from_bytes(raw[at : at + 4], "little") for at in (8, 16))
        address = f"{pci.domain:04x}:{pci.bus:02x}:{pci.device:02x}.{pci.function}" if has_address else None
        name = raw[20:276].split(b"\0")[0].decode()
        return Description(name, vendor, kind, uuid.UUID(bytes=bytes(identity.device)), address)

    def close(self) -> None:
        call("vkDestroyInstance", self.handle, None)


class Device:
    """A device that runs compute shaders with the entry point `main` and storage buffers at the bindings 0 and 1.

    Nothing that it makes is destroyed before the process ends.
    """

    def __init__(
        self, physical: c_void_p, extensions: tuple[bytes, ...] = (), features_in_chain: bool = False
    ) -> None:
        priority = c_float(1.0)
        queues = QueueInfo(2, None, 0, 0, 1, addressof(priority))
        names = (c_char_p * len(extensions))(*extensions)
        # No feature is asked for, in one of the two places where Vulkan takes features.
        chain, beside = Features2(FEATURES_2, None), (c_uint32 * 55)()
        places = (addressof(chain), None) if features_in_chain else (None, addressof(beside))
        info = DeviceInfo(
            3, places[0], 0, 1, addressof(queues), 0, None, len(extensions), addressof(names), places[1]
        )
        self.handle, self.queue = c_void_p(), c_void_p()
        call("vkCreateDevice", physical, byref(info), None, byref(self.handle))
        call("vkGetDeviceQueue", self.handle, 0, 0, byref(self.queue))
        # The number of kinds of memory, then the flags and the heap of each, then the heaps.
        memory = (c_uint32 * 130)()
        call("vkGetPhysicalDeviceMemoryProperties", physical, byref(memory))
        self.memory_flags = [memory[1 + 2 * kind] for kind in range(memory[0])]

    def make(self, name: str, info: Structure) -> c_uint64:
        made = c_uint64()
        call(name, self.handle, byref(info), None, byref(made))
        return made

    def buffer(self, size: int) -> tuple[c_uint64, c_void_p]:
        """A buffer, and the address of its memory."""
        buffer = self.make("vkCreateBuffer", BufferInfo(12, None, 0, size, STORAGE_USAGE, 0, 0, None))
        needed, address = Requirements(), c_void_p()
        call("vkGetBufferMemoryRequirements", self.handle, buffer, byref(needed))
        kinds = [
            kind for kind, flags in enumerate(self.memory_flags)
            if needed.kinds >> kind & 1 and flags & VISIBLE_AND_COHERENT == VISIBLE_AND_COHERENT
        ]
        memory = self.make("vkAllocateMemory", MemoryInfo(5, None, needed.size, kinds[0]))
        call("vkBindBufferMemory", self.handle, buffer, memory, c_uint64(0))
        call("vkMapMemory", self.handle, memory, c_uint64(0), c_uint64(size), 0, byref(address))
        return buffer, address

    def run(self, code: bytes, given: bytes, bytes_out: int, groups: int) -> bytes:
        """What the shader writes to the binding 1 where it finds `given` at the binding 0."""
        (source, source_at), (target, target_at) = self.buffer(len(given)), self.buffer(bytes_out)
        ctypes.memmove(source_at, given, len(given))
        bindings = (Binding * 2)(*(Binding(i, STORAGE_BUFFER, 1, COMPUTE_STAGE, None) for i in range(2)))
        of_set = self.make("vkCreateDescriptorSetLayout", SetLayoutInfo(32, None, 0, 2, addressof(bindings)))
        layout = self.make("vkCreatePipelineLayout", LayoutInfo(30, None, 0, 1, addressof(of_set), 0, None))
        module = self.make("vkCreateShaderModule", ModuleInfo(16, None, 0, len(code), code))
        stage, pipeline = StageInfo(18, None, 0, COMPUTE_STAGE, module, b"main", None), c_uint64()
        info = PipelineInfo(29, None, 0, stage, layout, 0, -1)
        call("vkCreateComputePipelines", self.handle, c_uint64(0), 1, byref(info), None, byref(pipeline))

        sizes, of_buffers, commands = PoolSize(STORAGE_BUFFER, 2), c_uint64(), c_void_p()
        pool = self.make("vkCreateDescriptorPool", DescriptorPoolInfo(33, None, 0, 1, 1, addressof(sizes)))
        call("vkAllocateDescriptorSets", self.handle, byref(SetInfo(34, None, pool, 1, addressof(of_set))), byref(of_buffers))
        ranges = [BufferRange(source, 0, len(given)), BufferRange(target, 0, bytes_out)]
        for i, each in enumerate(ranges):
            write = Write(35, None, of_buffers, i, 0, 1, STORAGE_BUFFER, None, addressof(each), None)
            call("vkUpdateDescriptorSets", self.handle, 1, byref(write), 0, None)
        commands_pool = self.make("vkCreateCommandPool", CommandPoolInfo(39, None, 0, 0))
        call("vkAllocateCommandBuffers", self.handle, byref(CommandsInfo(40, None, commands_pool, 0, 1)), byref(commands))
        call("vkBeginCommandBuffer", commands, byref(BeginInfo(42, None, 1, None)))
        call("vkCmdBindPipeline", commands, COMPUTE, pipeline)
        call("vkCmdBindDescriptorSets", commands, COMPUTE, layout, 0, 1, byref(of_buffers), 0, None)
        call("vkCmdDispatch", commands, groups, 1, 1)
        call("vkEndCommandBuffer", commands)
        submit = SubmitInfo(4, None, 0, None, None, 1, ctypes.pointer(commands), 0, None)
        call("vkQueueSubmit", self.queue, 1, byref(submit), c_uint64(0))
        call("vkDeviceWaitIdle", self.handle)
        return ctypes.string_at(target_at, bytes_out)
