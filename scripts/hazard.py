#!/usr/bin/env python3
"""A Vulkan program with a mistake, by which `scripts/validation.py` shows that Khronos' validation layer is awake.

    scripts/hazard.py barrier     writes a buffer twice, without a barrier between the two (synchronization validation)
    scripts/hazard.py usage       writes a buffer that was not made to be written to (core validation)
    scripts/hazard.py none        writes a buffer once: no message

It calls the system's Vulkan loader by ctypes; the environment chooses the driver and the layer.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_float, c_int, c_uint32, c_uint64, c_void_p

from vulkan import (
    BeginInfo, BufferInfo, CommandPoolInfo, CommandsInfo, DeviceInfo, InstanceInfo, MemoryInfo, QueueInfo, Requirements,
    SubmitInfo,
)

TRANSFER_SRC, TRANSFER_DST = 1, 2
BYTES = 256


def main(mistake: str) -> None:
    vulkan = ctypes.CDLL("libvulkan.so.1")

    def call(name: str, *arguments: object) -> None:
        function = getattr(vulkan, name)
        function.restype = c_int
        result = function(*arguments)
        # VK_INCOMPLETE: one device of several is enough.
        if not name.startswith(("vkCmd", "vkGet")) and result not in (0, 5):
            raise SystemExit(f"{name}: {result}")

    instance, physical, count = c_void_p(), c_void_p(), c_uint32(1)
    call("vkCreateInstance", byref(InstanceInfo(1, None, 0, None, 0, None, 0, None)), None, byref(instance))
    call("vkEnumeratePhysicalDevices", instance, byref(count), byref(physical))
    priority = c_float(1.0)
    queues = QueueInfo(2, None, 0, 0, 1, ctypes.addressof(priority))
    device, queue = c_void_p(), c_void_p()
    info = DeviceInfo(3, None, 0, 1, ctypes.addressof(queues), 0, None, 0, None, None)
    call("vkCreateDevice", physical, byref(info), None, byref(device))
    call("vkGetDeviceQueue", device, 0, 0, byref(queue))

    buffer, memory, needed = c_uint64(), c_uint64(), Requirements()
    usage = TRANSFER_SRC if mistake == "usage" else TRANSFER_DST
    call("vkCreateBuffer", device, byref(BufferInfo(12, None, 0, BYTES, usage, 0, 0, None)), None, byref(buffer))
    call("vkGetBufferMemoryRequirements", device, buffer, byref(needed))
    kind = (needed.kinds & -needed.kinds).bit_length() - 1
    call("vkAllocateMemory", device, byref(MemoryInfo(5, None, needed.size, kind)), None, byref(memory))
    call("vkBindBufferMemory", device, buffer, memory, c_uint64(0))

    pool, commands = c_uint64(), c_void_p()
    call("vkCreateCommandPool", device, byref(CommandPoolInfo(39, None, 0, 0)), None, byref(pool))
    call("vkAllocateCommandBuffers", device, byref(CommandsInfo(40, None, pool, 0, 1)), byref(commands))
    call("vkBeginCommandBuffer", commands, byref(BeginInfo(42, None, 1, None)))
    for value in range(2 if mistake == "barrier" else 1):
        call("vkCmdFillBuffer", commands, buffer, c_uint64(0), c_uint64(BYTES), c_uint32(value))
    call("vkEndCommandBuffer", commands)
    submit = SubmitInfo(4, None, 0, None, None, 1, ctypes.pointer(commands), 0, None)
    call("vkQueueSubmit", queue, 1, byref(submit), c_uint64(0))
    call("vkDeviceWaitIdle", device)
    vulkan.vkDestroyCommandPool(device, pool, None)
    vulkan.vkDestroyBuffer(device, buffer, None)
    vulkan.vkFreeMemory(device, memory, None)
    vulkan.vkDestroyDevice(device, None)
    vulkan.vkDestroyInstance(instance, None)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("barrier", "usage", "none"):
        raise SystemExit(__doc__)
    main(sys.argv[1])
